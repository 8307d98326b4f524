/* A line is looked through once, with the quotes and brackets that are open: each place where it
 * may be broken is noted, then lines are filled by the greedy rule.
 */
#include "report/yaml_page.h"

#include "base/arena.h"
#include "report/page.h"

#include <stdbool.h>
#include <string.h>

enum { INDENT = 2 };

/* ---- comments ----------------------------------------------------------------------------- */

/* Where words go on: below the last column of a table, else below the first word. */
static size_t hang_of(const char *text, size_t room)
{
    const size_t first = strspn(text, " ");
    size_t gap = first;
    for (size_t i = first; text[i] != '\0'; i++) {
        gap = text[i] != ' ' && i >= 2 && text[i - 1] == ' ' && text[i - 2] == ' ' ? i : gap;
    }
    return gap > first && 2 * gap <= room ? gap : gap > first ? first + INDENT : first;
}

/* From the "#" on, which stands in column `at`. */
static void put_comment(const char *comment, size_t at, size_t width, FILE *out)
{
    const char *text = comment + 1;
    const size_t room = width > at + 1 ? width - at - 1 : 1;
    const size_t hang = hang_of(text, room);
    size_t column = 0;
    bool has_word = false;
    fputc('#', out);
    while (*text != '\0') {
        const size_t blanks = strspn(text, " ");
        const size_t bytes = strcspn(text + blanks, " ");
        size_t letters = 0;
        for (size_t i = 0; i < bytes; i++) {
            letters += ((unsigned char)text[blanks + i] & 0xc0) != 0x80;
        }
        if (has_word && column + blanks + letters > room) {
            fprintf(out, "\n%*s#%*s", (int)at, "", (int)hang, "");
            column = hang;
        } else {
            fprintf(out, "%*s", (int)blanks, "");
            column += blanks;
        }
        fwrite(text + blanks, 1, bytes, out);
        column += letters;
        has_word = true;
        text += blanks + bytes;
    }
    fputc('\n', out);
}

/* ---- values ------------------------------------------------------------------------------- */

struct scan {
    const char *line;
    size_t first; /* letter, of a key or an item */
    size_t value; /* where it begins: before that nothing is broken; 0: not met */
    char quote;   /* that is open; 0: none */
    char closed;  /* by the letter before; 0: none */
    int depth;    /* of brackets */
    bool is_key;  /* may be what is in quotes: such is not broken */
};

static bool ends_key(const struct scan *scan, size_t i)
{
    return scan->quote == 0 && scan->depth == 0 && scan->line[i] == ':' && scan->line[i + 1] == ' ';
}

/* Behind an odd number of backslashes stands a letter of the text, as does the second of two single
 * quotes: the first closes the text, and the second opens it again. */
static bool is_escaped(const char *line, size_t i)
{
    size_t backslashes = 0;
    while (backslashes < i && line[i - 1 - backslashes] == '\\') {
        backslashes++;
    }
    return backslashes % 2 == 1;
}

static bool ends_quote(const struct scan *scan, size_t i)
{
    return scan->line[i] == scan->quote && !(scan->quote == '"' && is_escaped(scan->line, i));
}

static bool begins_word(const struct scan *scan, size_t i)
{
    return i == scan->first || i == scan->value ||
           (scan->depth > 0 && strchr(" [{", scan->line[i - 1]) != NULL);
}

/* The byte at `i` is passed. */
static void pass(struct scan *scan, size_t i)
{
    const char letter = scan->line[i];
    const bool is_value = scan->value > 0 && i == scan->value;
    const char closed = scan->closed;
    scan->closed = 0;
    if (scan->quote != 0) {
        if (ends_quote(scan, i)) {
            scan->closed = scan->quote;
            scan->quote = 0;
        }
    } else if (closed == '\'' && letter == '\'') {
        scan->quote = letter;
    } else if (strchr("\"'", letter) != NULL && begins_word(scan, i)) {
        scan->quote = letter;
        scan->is_key = !is_value && (i < 2 || scan->line[i - 2] != ':');
    } else if (strchr("[{", letter) != NULL) {
        scan->depth += is_value || scan->depth > 0;
    } else if (strchr("]}", letter) != NULL) {
        scan->depth -= scan->depth > 0;
    } else if (scan->value == 0 && ends_key(scan, i)) {
        scan->value = i + 2;
    }
}

/* The blank at `i` may be the end of a line. */
static bool may_break(const struct scan *scan, size_t i)
{
    const char *line = scan->line;
    if (scan->value == 0 || i <= scan->value || line[i] != ' ' || line[i - 1] == ' ' ||
        line[i + 1] == ' ' || line[i + 1] == '\0' || line[i + 1] == '#') {
        return false;
    }
    if (scan->quote != 0 && scan->is_key) {
        return false;
    }
    if (scan->depth > 0 && scan->quote == 0) {
        return line[i - 1] == ',';
    }
    return line[i - 1] != '\\' && line[i - 1] != scan->quote;
}

static bool begins_comment(const struct scan *scan, size_t i)
{
    return scan->quote == 0 && scan->line[i] == '#' && (i == 0 || scan->line[i - 1] == ' ');
}

/* The line as it is filled. */
struct filled {
    size_t begun;  /* where what stands on this line of the page begins */
    size_t before; /* columns that are taken before that */
    size_t last;   /* where it may be broken; 0: nowhere yet */
    size_t hang;
    size_t width;
};

/* At `i` it may be broken: it is where it may be before that, if there is no room up to here. */
static void fill(struct arena *arena, const char *line, size_t i, struct filled *filled, FILE *out)
{
    const char *piece = arena_strndup(arena, line + filled->begun, i - filled->begun);
    if (filled->last > 0 && filled->before + page_text_width(piece) > filled->width) {
        fprintf(out, "%.*s\n%*s", (int)(filled->last - filled->begun), line + filled->begun,
                (int)filled->hang, "");
        filled->begun = filled->last + 1;
        filled->before = filled->hang;
    }
    filled->last = i;
}

/* What is left up to `i`, and a comment there. */
static void put_rest(const char *line, size_t i, const struct filled *filled, FILE *out)
{
    const size_t indent = strspn(line, " ");
    const size_t at = filled->before + i - filled->begun;
    const bool is_below = line[i] != '\0' && 2 * at > filled->width && i > indent;
    size_t end = i;
    while (is_below && end > filled->begun && line[end - 1] == ' ') {
        end--;
    }
    fprintf(out, "%.*s", (int)(end - filled->begun), line + filled->begun);
    if (line[i] == '\0') {
        fputc('\n', out);
    } else if (is_below) { /* beside it there is no room */
        fprintf(out, "\n%*s", (int)indent, "");
        put_comment(line + i, indent, filled->width, out);
    } else {
        put_comment(line + i, at, filled->width, out);
    }
}

void yaml_page_line(struct arena *arena, const char *line, size_t width, FILE *out)
{
    if (page_text_width(line) <= width) {
        fprintf(out, "%s\n", line);
        return;
    }
    const size_t indent = strspn(line, " ");
    const bool is_item = strncmp(line + indent, "- ", 2) == 0;
    struct scan scan = {.line = line, .first = indent + (is_item ? 2 : 0)};
    scan.value = is_item && strchr("\"'[{", line[scan.first]) != NULL ? scan.first : 0;
    struct filled filled = {.hang = scan.first + INDENT, .width = width};
    size_t i = 0;
    for (; line[i] != '\0' && !begins_comment(&scan, i); i++) {
        if (may_break(&scan, i)) {
            fill(arena, line, i, &filled, out);
        }
        pass(&scan, i);
    }
    fill(arena, line, i - (line[i] == '#' && i > 0 ? 1 : 0), &filled, out);
    put_rest(line, i, &filled, out);
}

/* ---- a whole text ------------------------------------------------------------------------- */

FILE *yaml_page_begin(struct yaml_page *page, struct arena *arena, FILE *out)
{
    *page = (struct yaml_page){.arena = arena, .out = out, .width = page_file_width(out)};
    page->draft = page->width != PAGE_UNBOUND ? tmpfile() : NULL;
    return page->draft != NULL ? page->draft : out;
}

bool yaml_page_end(struct yaml_page *page)
{
    enum { PIECE = 4096 };
    if (page->draft == NULL) {
        return true;
    }
    char piece[PIECE];
    const bool is_whole = fflush(page->draft) == 0 && ferror(page->draft) == 0;
    const char *begun = "";
    rewind(page->draft);
    while (fgets(piece, sizeof piece, page->draft) != NULL) {
        const size_t bytes = strlen(piece);
        const bool ends = bytes > 0 && piece[bytes - 1] == '\n';
        begun = arena_printf(page->arena, "%s%.*s", begun, (int)(ends ? bytes - 1 : bytes), piece);
        if (ends) {
            yaml_page_line(page->arena, begun, page->width, page->out);
            begun = "";
        }
    }
    if (*begun != '\0') {
        fputs(begun, page->out);
    }
    fclose(page->draft);
    page->draft = NULL;
    return is_whole;
}
