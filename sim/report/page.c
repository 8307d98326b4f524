/* Lines are gathered until they end, for what is said comes in pieces, then broken by the greedy
 * rule: a word goes on the line where it has room. One that has to be broken waits for the next,
 * which may go on with its sentence.
 */
#include "report/page.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { HANGS_BY = 2 };

/* 0: nothing tells it. */
static size_t told_width(FILE *out)
{
    struct winsize size;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        return size.ws_col < PAGE_WIDTH_MAX ? size.ws_col : PAGE_WIDTH_MAX;
    }
    const char *columns = getenv("COLUMNS");
    char *end = NULL;
    const long width = columns != NULL ? strtol(columns, &end, 10) : 0;
    return width > 0 && *end == '\0' ? (size_t)width : 0;
}

size_t page_width(FILE *out)
{
    const size_t width = told_width(out);
    return width == 0 ? PAGE_WIDTH_USUAL : width < PAGE_WIDTH_MIN ? PAGE_WIDTH_MIN : width;
}

size_t page_file_width(FILE *out)
{
    return told_width(out) == 0 ? PAGE_UNBOUND : page_width(out);
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

static size_t to_blank(const char *text, size_t bytes)
{
    size_t word = 0;
    while (word < bytes && text[word] != ' ') {
        word++;
    }
    return word;
}

/* "%", "GB", "GB/s," */
static bool is_unit(const char *word, size_t bytes)
{
    static const char *const units[] = {
        "%",  "x",  "s", "ms", "us", "ns", "B",   "kB",   "MB",  "GB",  "TB",  "MiB",  "GiB",
        "kW", "MW", "W", "k",  "M",  "T",  "USD", "days", "kWh", "MWh", "GWh", "Gbps",
    };
    size_t letters = 0;
    while (letters < bytes && strchr(",.;:)/", word[letters]) == NULL) {
        letters++;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strlen(units[i]) == letters && memcmp(units[i], word, letters) == 0) {
            return true;
        }
    }
    return false;
}

/* Bytes of the next word; a number and its unit are one ("9.53 s", "7.31 k USD"). */
static size_t word_bytes(const char *text, size_t bytes)
{
    size_t word = to_blank(text, bytes);
    bool has_unit = word > 0 && text[word - 1] >= '0' && text[word - 1] <= '9';
    while (has_unit && word + 1 < bytes) {
        const size_t unit = to_blank(text + word + 1, bytes - word - 1);
        has_unit = is_unit(text + word + 1, unit);
        word += has_unit ? unit + 1 : 0;
    }
    return word;
}

/* A line without its end. Blanks between words stay as they are, but where it is broken. Lines of a
 * paragraph begin below each other. */
static void put_line(const struct page *page, const char *line, size_t bytes, bool is_paragraph)
{
    const size_t indent = strspn(line, " ");
    const size_t hangs = indent > 0 && !is_paragraph ? indent + HANGS_BY : indent;
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

/* ---- what goes on ---- */

static void put_held(struct page *page)
{
    if (page->held != NULL) {
        put_line(page, page->held, strlen(page->held), page->holds_paragraph);
        fputc('\n', page->out);
    }
    page->held = NULL;
    page->holds_paragraph = false;
}

static bool is_small_letter(char letter)
{
    return letter >= 'a' && letter <= 'z';
}

/* A paragraph that was broken for a wider page: the line ends in the middle of a sentence, and what
 * comes next begins there, as far in. At the edge of the page every line is a note of its own. */
static bool goes_on(const char *held, const char *line)
{
    enum { BROKEN_BY_HAND = 70 };
    const size_t length = strlen(held);
    const size_t indent = strspn(line, " ");
    return indent > 0 && length >= BROKEN_BY_HAND && strspn(held, " ") == indent &&
           is_small_letter(line[indent]) && strstr(line + indent, "  ") == NULL &&
           (is_small_letter(held[length - 1]) || strchr(",)%", held[length - 1]) != NULL);
}

static void end_line(struct page *page, const char *line)
{
    if (page->held != NULL && goes_on(page->held, line)) {
        page->held = arena_printf(page->arena, "%s %s", page->held, line + strspn(line, " "));
        page->holds_paragraph = true;
        return;
    }
    put_held(page);
    page->held = line;
    if (page_text_width(line) <= page->width) {
        put_held(page);
    }
}

void page_put(struct page *page, const char *text)
{
    const char *at = text;
    for (const char *end = strchr(at, '\n'); end != NULL; end = strchr(at, '\n')) {
        end_line(page, arena_printf(page->arena, "%s%.*s", page->begun != NULL ? page->begun : "",
                                    (int)(end - at), at));
        page->begun = NULL;
        at = end + 1;
    }
    if (*at != '\0') {
        page->begun = arena_printf(page->arena, "%s%s", page->begun != NULL ? page->begun : "", at);
    }
}

void page_end(struct page *page)
{
    put_held(page);
    if (page->begun != NULL) {
        put_line(page, page->begun, strlen(page->begun), false);
        page->begun = NULL;
    }
}
