/* The tree is walked as its text is (report/sheet_text.c); a list is open while things of one
 * follow each other. */
#include "report/html/html.h"

#include "base/arena.h"
#include "base/printable.h"
#include "report/html/html_parts.h"

#include <string.h>

/* A longer file is folded. */
enum { OPEN_BYTES = 1600 };

static void put_escaped(const char *text, FILE *out)
{
    for (const char *at = text; *at != '\0'; at++) {
        switch (*at) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        case '"':
            fputs("&quot;", out);
            break;
        case '\'':
            fputs("&#39;", out);
            break;
        default:
            fputc(*at, out);
        }
    }
}

void html_line(struct arena *arena, const char *text, FILE *out)
{
    put_escaped(printable_line(arena, text), out);
}

void html_lines(struct arena *arena, const char *text, FILE *out)
{
    put_escaped(printable_lines(arena, text), out);
}

static void put_element(struct arena *arena, const char *open, const char *text, const char *close,
                        FILE *out)
{
    fputs(open, out);
    html_line(arena, text, out);
    fputs(close, out);
}

/* A paragraph for each line that says something. */
static void put_paragraphs(struct arena *arena, const char *open, const char *text, FILE *out)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        if (length > strspn(text, " \n")) {
            put_element(arena, open, arena_strndup(arena, text, length), "</p>\n", out);
        }
        text += length + (text[length] == '\n' ? 1 : 0);
    }
}

static void put_verbatim(const struct sheet *node, FILE *out)
{
    struct arena *arena = node->arena;
    const bool is_folded = node->title != NULL && strlen(node->shown) > OPEN_BYTES;
    if (node->title != NULL) {
        put_element(arena, is_folded ? "<details><summary>" : "<p class=\"of\">", node->title,
                    is_folded ? "</summary>\n" : "</p>\n", out);
    }
    fputs("<pre>", out);
    html_lines(arena, node->shown, out);
    fputs(is_folded ? "</pre></details>\n" : "</pre>\n", out);
}

static void put_said(const struct sheet *node, FILE *out)
{
    struct arena *arena = node->arena;
    switch (node->role) {
    case ROLE_LETTERS:
        put_paragraphs(arena, "<p>", node->shown, out);
        break;
    case ROLE_TITLE:
        put_element(arena, "<h1>", node->shown, "</h1>\n", out);
        break;
    case ROLE_ANSWER:
        fputs("<div class=\"answer\">\n", out);
        put_paragraphs(arena, "<p>", node->shown, out);
        fputs("</div>\n", out);
        break;
    case ROLE_HEADING:
        put_element(arena, "<h2>", node->shown, "</h2>\n", out);
        break;
    case ROLE_ITEM:
        put_element(arena, "<li>", node->shown, "</li>\n", out);
        break;
    case ROLE_VERBATIM:
        put_verbatim(node, out);
        break;
    case ROLE_CHART:
        html_chart(node->chart, out);
        break;
    }
}

static bool is_item(const struct sheet *node)
{
    return node != NULL && node->kind == SHEET_SAID && node->role == ROLE_ITEM;
}

/* What is said and shown, in order; values for programs are passed over. */
static void put_all(const struct sheet *sheet, FILE *out)
{
    struct sheet_walk walk = {.depth = 0};
    bool is_in_list = false;
    sheet_enter(&walk, sheet);
    while (walk.depth > 0) {
        const struct sheet *node = sheet_step(&walk);
        if (is_in_list != is_item(node)) {
            is_in_list = !is_in_list;
            fputs(is_in_list ? "<ul>\n" : "</ul>\n", out);
        }
        if (node == NULL) {
            walk.depth--;
        } else if (node->kind == SHEET_SAID) {
            put_said(node, out);
        } else if (sheet_is_shown_table(node)) {
            if (node->shown != NULL) {
                put_paragraphs(node->arena, "<p class=\"of\">", node->shown, out);
            }
            html_table(node, out);
        } else if (sheet_holds_others(node)) {
            sheet_enter(&walk, node);
        }
    }
}

void html_print(const struct sheet *sheet, const struct html_page *page, FILE *out)
{
    html_begin(sheet->arena, page->title, out);
    put_all(sheet, out);
    put_element(sheet->arena, "<footer>", page->foot, "</footer>\n", out);
    html_end(out);
}
