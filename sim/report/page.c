/* Lines are gathered until they end, for what is said comes in pieces, then broken by the greedy
 * rule: a word goes on the line where it has room.
 */
#include "report/page.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { HANGS_BY = 2 };

static size_t told_width(FILE *out)
{
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col < PAGE_WIDTH_MAX ? size.ws_col : PAGE_WIDTH_MAX;
    }
    const char *columns = getenv("COLUMNS");
    const long width = columns != NULL ? strtol(columns, NULL, 10) : 0;
    return width > 0 ? (size_t)width : PAGE_WIDTH_USUAL;
}

size_t page_width(FILE *out)
{
    const size_t width = told_width(out);
    return width < PAGE_WIDTH_MIN ? PAGE_WIDTH_MIN : width;
}

static size_t width_of(const char *text, size_t bytes)
{
    size_t width = 0;
    for (size_t i = 0; i < bytes; i++) {
        width += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return width;
}

size_t page_text_width(const char *text)
{
    return width_of(text, strlen(text));
}

/* Bytes of the next word; a number and its "%" are one. */
static size_t word_bytes(const char *text, size_t bytes)
{
    size_t word = 0;
    while (word < bytes &&
           (text[word] != ' ' || (word > 0 && word + 1 < bytes && text[word + 1] == '%'))) {
        word++;
    }
    return word;
}

/* A line without its end. Blanks between words stay as they are, but where it is broken. */
static void put_line(const struct page *page, const char *line, size_t bytes)
{
    const size_t indent = strspn(line, " ");
    const size_t hangs = indent > 0 ? indent + HANGS_BY : 0;
    size_t column = 0;
    for (size_t at = 0; at < bytes;) {
        size_t blanks = 0;
        while (at + blanks < bytes && line[at + blanks] == ' ') {
            blanks++;
        }
        const size_t word = word_bytes(line + at + blanks, bytes - at - blanks);
        const size_t width = width_of(line + at + blanks, word);
        if (column > indent && column + blanks + width > page->width) {
            fprintf(page->out, "\n%*s", (int)hangs, "");
            column = hangs;
        } else {
            fprintf(page->out, "%*s", (int)blanks, "");
            column += blanks;
        }
        fwrite(line + at + blanks, 1, word, page->out);
        column += width;
        at += blanks + word;
    }
}

void page_put(struct page *page, const char *text)
{
    const char *at = text;
    for (const char *end = strchr(at, '\n'); end != NULL; end = strchr(at, '\n')) {
        const char *line = at;
        size_t bytes = (size_t)(end - at);
        if (page->begun != NULL) {
            line = arena_printf(page->arena, "%s%.*s", page->begun, (int)bytes, at);
            bytes = strlen(line);
            page->begun = NULL;
        }
        put_line(page, line, bytes);
        fputc('\n', page->out);
        at = end + 1;
    }
    if (*at != '\0') {
        page->begun = arena_printf(page->arena, "%s%s", page->begun != NULL ? page->begun : "", at);
    }
}

void page_end(struct page *page)
{
    if (page->begun != NULL) {
        put_line(page, page->begun, strlen(page->begun));
        page->begun = NULL;
    }
}
