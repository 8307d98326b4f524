/* A document as Markdown (CommonMark with tables, as GitHub and others read it). What a letter
 * would mean there is taken from it by a backslash.
 */
#include "base/arena.h"
#include "base/printable.h"
#include "report/sheet_tree.h"

#include <string.h>

static void put_letters(struct arena *arena, const char *text, FILE *out)
{
    for (const char *at = printable_line(arena, text); *at != '\0'; at++) {
        if (strchr("\\`*_<>[]|&", *at) != NULL) {
            fputc('\\', out);
        }
        fputc(*at, out);
    }
}

/* "# " or "1. " at the beginning of a line is no heading and no list. */
static void put_line(struct arena *arena, const char *before, const char *text, FILE *out)
{
    fputs(before, out);
    if (before[0] == '\0' && strchr("#-+=", text[0]) != NULL) {
        fputc('\\', out);
    }
    put_letters(arena, text, out);
    fputc('\n', out);
}

/* Each line that says something is a paragraph. */
static void put_paragraphs(struct arena *arena, const char *before, const char *text, FILE *out)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        if (length > strspn(text, " \n")) {
            const size_t blanks = strspn(text, " ");
            put_line(arena, before, arena_strndup(arena, text + blanks, length - blanks), out);
            fputc('\n', out);
        }
        text += length + (text[length] == '\n' ? 1 : 0);
    }
}

/* A fence that is longer than any in the text. */
static void put_verbatim(const struct sheet *node, FILE *out)
{
    size_t longest = 2;
    for (const char *at = node->shown; (at = strchr(at, '`')) != NULL;) {
        const size_t run = strspn(at, "`");
        longest = run > longest ? run : longest;
        at += run;
    }
    char *fence = arena_array(node->arena, longest + 2, 1);
    memset(fence, '`', longest + 1);
    if (node->title != NULL) {
        put_line(node->arena, "", node->title, out);
        fputc('\n', out);
    }
    const char *text = printable_lines(node->arena, node->shown);
    const size_t length = strlen(text);
    fprintf(out, "%s\n%s%s%s\n\n", fence, text, length > 0 && text[length - 1] == '\n' ? "" : "\n",
            fence);
}

static void put_said(const struct sheet *node, FILE *out)
{
    struct arena *arena = node->arena;
    switch (node->role) {
    case ROLE_LETTERS:
        put_paragraphs(arena, "", node->shown, out);
        break;
    case ROLE_TITLE:
        put_line(arena, "# ", node->shown, out);
        fputc('\n', out);
        break;
    case ROLE_ANSWER:
        put_paragraphs(arena, "> ", node->shown, out);
        break;
    case ROLE_HEADING:
        put_line(arena, "## ", node->shown, out);
        fputc('\n', out);
        break;
    case ROLE_ITEM:
        put_line(arena, "- ", node->shown, out);
        break;
    case ROLE_VERBATIM:
        put_verbatim(node, out);
        break;
    case ROLE_CHART:
        break;
    }
}

static bool is_item(const struct sheet *node)
{
    return node != NULL && node->kind == SHEET_SAID && node->role == ROLE_ITEM;
}

void sheet_print_markdown(const struct sheet *sheet, FILE *out)
{
    struct sheet_walk walk = {.depth = 0};
    bool is_in_list = false;
    sheet_enter(&walk, sheet);
    while (walk.depth > 0) {
        const struct sheet *node = sheet_step(&walk);
        if (is_in_list && !is_item(node)) {
            fputc('\n', out);
        }
        is_in_list = is_item(node);
        if (node == NULL) {
            walk.depth--;
        } else if (node->kind == SHEET_SAID) {
            put_said(node, out);
        } else if (sheet_is_shown_table(node)) {
            if (node->shown != NULL) {
                put_paragraphs(node->arena, "", node->shown, out);
            }
            sheet_print_table(node, SHEET_AS_MARKDOWN, out);
            fputc('\n', out);
        } else if (sheet_holds_others(node)) {
            sheet_enter(&walk, node);
        }
    }
}
