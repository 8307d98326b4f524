/* Messages are a list in the order of their addition. Text that came from a
 * user may hold terminal escapes or broken UTF-8, so every text is cleaned:
 * message and help when they are added, names and quoted lines when printed.
 */
#include "base/diag.h"

#include "base/arena.h"
#include "base/printable.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

enum {
    ERRORS_PRINTED_MAX = 20,
    QUOTE_BYTES_MAX = 100,   /* of a source line */
    QUOTE_BYTES_BEFORE = 60, /* of these, before the caret */
    NEAREST_LENGTH_MAX = 63, /* longer words get no suggestion */
    NEAREST_DISTANCE_MAX = 3
};

struct message {
    enum diag_kind kind;
    bool has_place;
    struct place place;
    const char *text;
    const char *help; /* lines, or NULL */
    struct message *next;
};

struct diag {
    struct arena *arena;
    struct message *first;
    struct message *last;
    uint32_t error_count;
    enum diag_kind worst;
    bool is_deaf;
};

struct kind_row {
    const char *label;
    int exit_status;
};

/* By enum diag_kind, whose order is that of severity. */
static const struct kind_row KINDS[] = {
    [DIAG_NOTE] = {"note", 0},   [DIAG_WARNING] = {"warning", 0},  [DIAG_FAILURE] = {"error", 1},
    [DIAG_USAGE] = {"error", 2}, [DIAG_INFEASIBLE] = {"error", 4}, [DIAG_INPUT] = {"error", 3},
};

static bool is_error(enum diag_kind kind)
{
    return kind >= DIAG_FAILURE;
}

/* ---- cleaning ---------------------------------------------------------- */

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Copies `text` to `out`, which has as much room, with '?' for what must not
 * reach a terminal and a space for a tab. Returns `out`. */
static char *clean_into(char *out, const char *text)
{
    char *end = out;
    while (*text != '\0') {
        const size_t width = printable_width(text);
        if (*text == '\t') {
            *end++ = ' ';
        } else if (!printable_is(text, width)) {
            *end++ = '?';
        } else {
            memcpy(end, text, width);
            end += width;
        }
        text += width == 0 ? 1 : width;
    }
    *end = '\0';
    return out;
}

static const char *clean(struct arena *arena, const char *text)
{
    return clean_into(arena_alloc(arena, strlen(text) + 1), text);
}

/* ---- adding ------------------------------------------------------------ */

struct diag *diag_new(struct arena *arena)
{
    struct diag *diag = arena_alloc(arena, sizeof *diag);
    diag->arena = arena;
    diag->worst = DIAG_NOTE;
    return diag;
}

struct diag *diag_new_deaf(struct arena *arena)
{
    struct diag *diag = diag_new(arena);
    diag->is_deaf = true;
    return diag;
}

bool diag_is_deaf(const struct diag *diag)
{
    return diag->is_deaf;
}

bool diag_add(struct diag *diag, enum diag_kind kind, const struct place *place, const char *format,
              ...)
{
    diag->error_count += is_error(kind);
    diag->worst = kind > diag->worst ? kind : diag->worst;
    if (diag->is_deaf) {
        return false;
    }
    struct message *message = arena_alloc(diag->arena, sizeof *message);
    va_list arguments;
    va_start(arguments, format);
    message->text = clean(diag->arena, arena_vprintf(diag->arena, format, arguments));
    va_end(arguments);
    message->kind = kind;
    message->has_place = place != NULL && place->file != NULL;
    if (message->has_place) {
        message->place = *place;
    }
    if (diag->last == NULL) {
        diag->first = message;
    } else {
        diag->last->next = message;
    }
    diag->last = message;
    return false;
}

void diag_help(struct diag *diag, const char *format, ...)
{
    if (diag->is_deaf) {
        return;
    }
    sim_assert(diag->last != NULL);
    va_list arguments;
    va_start(arguments, format);
    const char *help = clean(diag->arena, arena_vprintf(diag->arena, format, arguments));
    va_end(arguments);
    const char *before = diag->last->help == NULL ? "" : diag->last->help;
    diag->last->help = arena_printf(diag->arena, "%s   = help: %s\n", before, help);
}

void diag_help_nearest(struct diag *diag, const char *nearest, const char *otherwise)
{
    if (nearest != NULL) {
        diag_help(diag, "did you mean '%s'?", nearest);
    } else if (otherwise != NULL) {
        diag_help(diag, "%s", otherwise);
    }
}

bool diag_is_empty(const struct diag *diag)
{
    return diag->first == NULL;
}

bool diag_has_error(const struct diag *diag)
{
    return diag->error_count > 0;
}

uint32_t diag_error_count(const struct diag *diag)
{
    return diag->error_count;
}

int diag_exit_status(const struct diag *diag)
{
    return KINDS[diag->worst].exit_status;
}

static const struct message *first_error(const struct diag *diag)
{
    const struct message *message = diag->first;
    while (message != NULL && !is_error(message->kind)) {
        message = message->next;
    }
    return message;
}

const char *diag_first_error(const struct diag *diag)
{
    const struct message *message = first_error(diag);
    return message != NULL ? message->text : NULL;
}

const struct place *diag_first_error_place(const struct diag *diag)
{
    const struct message *message = first_error(diag);
    return message != NULL && message->has_place ? &message->place : NULL;
}

const char *diag_first_help(struct arena *arena, const struct diag *diag)
{
    const struct message *message = first_error(diag);
    if (message == NULL || message->help == NULL) {
        return NULL;
    }
    const char *text = strstr(message->help, ": ") + 2; /* "   = help: TEXT\n" */
    return arena_strndup(arena, text, strcspn(text, "\n"));
}

const char *diag_first_error_at(struct arena *arena, const struct diag *diag)
{
    const struct message *message = first_error(diag);
    if (message == NULL || !message->has_place) {
        return message != NULL ? message->text : NULL;
    }
    const struct place *place = &message->place;
    return place->line > 0 ? arena_printf(arena, "%s:%" PRIu32 ":%" PRIu32 ": %s", place->file,
                                          place->line, place->column, message->text)
                           : arena_printf(arena, "%s: %s", place->file, message->text);
}

bool diag_has(const struct diag *diag, enum diag_kind kind)
{
    for (const struct message *message = diag->first; message != NULL; message = message->next) {
        if (message->kind == kind) {
            return true;
        }
    }
    return false;
}

bool diag_is_verdict(const struct diag *diag)
{
    return diag_has(diag, DIAG_INFEASIBLE) && !diag_has(diag, DIAG_INPUT) &&
           !diag_has(diag, DIAG_USAGE) && !diag_has(diag, DIAG_FAILURE);
}

void diag_add_from(struct diag *diag, const struct diag *from, enum diag_kind kind)
{
    for (const struct message *message = from->first; message != NULL; message = message->next) {
        if (message->kind != kind) {
            continue;
        }
        struct place place = {.file = NULL};
        if (message->has_place) {
            place = message->place;
            place.file = arena_strdup(diag->arena, place.file);
            place.source_text = NULL;
        }
        diag_add(diag, kind, &place, "%s", message->text);
        if (message->help != NULL) {
            diag->last->help = arena_strdup(diag->arena, message->help);
        }
    }
}

/* ---- printing ---------------------------------------------------------- */

/* A piece of the file, as bytes [begin, end). */
struct span {
    const char *begin;
    const char *end;
};

/* The line numbered `line` (from 1) without its end; empty if there is none. */
static struct span source_line(const char *text, uint32_t line)
{
    for (uint32_t at = 1; at < line && text != NULL; at++) {
        text = strchr(text, '\n');
        text = text == NULL ? NULL : text + 1;
    }
    if (text == NULL) {
        return (struct span){"", ""};
    }
    size_t length = strcspn(text, "\n");
    length -= length > 0 && text[length - 1] == '\r';
    return (struct span){text, text + length};
}

/* The part of `line` that is shown: about QUOTE_BYTES_MAX around the caret,
 * cut between characters. */
static struct span window_of(struct span line, const char *caret)
{
    struct span window = line;
    if (line.end - line.begin <= QUOTE_BYTES_MAX) {
        return window;
    }
    if (caret - line.begin > QUOTE_BYTES_BEFORE) {
        window.begin = caret - QUOTE_BYTES_BEFORE;
    }
    if (window.end - window.begin > QUOTE_BYTES_MAX) {
        window.end = window.begin + QUOTE_BYTES_MAX;
    }
    while (window.begin < caret && is_continuation(*window.begin)) {
        window.begin++;
    }
    const ptrdiff_t extra = line.end - window.end; /* a character has three bytes more at most */
    for (ptrdiff_t i = 0; i < 3 && i < extra && is_continuation(*window.end); i++) {
        window.end++;
    }
    return window;
}

/* Screen columns of the cleaned text of a span: one for each character. */
static int columns_of(struct span span)
{
    int columns = 0;
    for (const char *at = span.begin; at < span.end;) {
        const size_t width = printable_width(at);
        at += width == 0 ? 1 : width;
        columns++;
    }
    return columns;
}

static void print_quote(const struct place *place, FILE *out)
{
    const uint32_t skipped = place->first_line > 0 ? place->first_line - 1 : 0;
    const struct span line = source_line(place->source_text, place->line - skipped);
    const ptrdiff_t length = line.end - line.begin;
    if (length == 0) {
        return;
    }
    const ptrdiff_t column = place->column == 0 ? 0 : (ptrdiff_t)place->column - 1;
    const char *caret = line.begin + (column > length ? length : column);
    const struct span window = window_of(line, caret);
    /* A window is QUOTE_BYTES_MAX and the rest of one character at most. */
    char piece[QUOTE_BYTES_MAX + 8];
    char shown[sizeof piece];
    const size_t piece_bytes = (size_t)(window.end - window.begin);
    sim_assert(piece_bytes < sizeof piece);
    memcpy(piece, window.begin, piece_bytes);
    piece[piece_bytes] = '\0';

    const char *left = window.begin > line.begin ? "..." : "";
    const char *right = window.end < line.end ? "..." : "";
    fprintf(out, "%5" PRIu32 " | %s%s%s\n", place->line, left, clean_into(shown, piece), right);
    if (place->column > 0) {
        const int before = columns_of((struct span){window.begin, caret}) + (int)strlen(left);
        const int gutter = place->line > 99999 ? snprintf(NULL, 0, "%" PRIu32, place->line) : 5;
        fprintf(out, "%*s | %*s^\n", gutter, "", before, "");
    }
}

static void print_place(const struct place *place, FILE *out)
{
    /* Long names are cut; a name is for the eye and for an editor's jump. */
    char name[4096];
    char shown[sizeof name];
    snprintf(name, sizeof name, "%s", place->file);
    fprintf(out, "%s:", clean_into(shown, name));
    if (place->line > 0) {
        fprintf(out, "%" PRIu32 ":", place->line);
    }
    if (place->line > 0 && place->column > 0) {
        fprintf(out, "%" PRIu32 ":", place->column);
    }
    fputc(' ', out);
}

static void print_message(const struct message *message, FILE *out)
{
    if (message->has_place) {
        print_place(&message->place, out);
    }
    fprintf(out, "%s: %s\n", KINDS[message->kind].label, message->text);
    if (message->has_place && message->place.source_text != NULL && message->place.line > 0) {
        print_quote(&message->place, out);
    }
    if (message->help != NULL) {
        fputs(message->help, out);
    }
}

void diag_print(const struct diag *diag, FILE *out)
{
    uint32_t errors_printed = 0;
    const struct message *message = diag->first;
    for (; message != NULL && errors_printed < ERRORS_PRINTED_MAX; message = message->next) {
        print_message(message, out);
        errors_printed += is_error(message->kind);
    }
    const uint32_t left = diag->error_count - errors_printed;
    if (left > 0) {
        fprintf(out, "... and %" PRIu32 " more error%s\n", left, left == 1 ? "" : "s");
    }
}

/* ---- suggestions ------------------------------------------------------- */

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static bool same_letter(char a, char b)
{
    return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Edits (insert, delete, replace, swap of neighbours) that turn a into b: the
 * optimal string alignment distance, three rows of the usual table. */
static uint32_t edit_distance(const char *a, uint32_t a_length, const char *b, uint32_t b_length)
{
    uint32_t rows[3][NEAREST_LENGTH_MAX + NEAREST_DISTANCE_MAX + 1];
    for (uint32_t j = 0; j <= b_length; j++) {
        rows[0][j] = j;
    }
    for (uint32_t i = 1; i <= a_length; i++) {
        uint32_t *row = rows[i % 3];
        const uint32_t *above = rows[(i + 2) % 3];
        row[0] = i;
        for (uint32_t j = 1; j <= b_length; j++) {
            const uint32_t replaced = above[j - 1] + !same_letter(a[i - 1], b[j - 1]);
            row[j] = smaller(replaced, smaller(above[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && same_letter(a[i - 1], b[j - 2]) &&
                same_letter(a[i - 2], b[j - 1])) {
                row[j] = smaller(row[j], rows[(i + 1) % 3][j - 2] + 1);
            }
        }
    }
    return rows[a_length % 3][b_length];
}

const char *diag_nearest(const char *word, const char *const *candidates, uint32_t count)
{
    const size_t length = strlen(word);
    if (length > NEAREST_LENGTH_MAX) {
        return NULL;
    }
    uint32_t limit = smaller((uint32_t)length / 3, NEAREST_DISTANCE_MAX);
    limit = limit == 0 ? 1 : limit;
    const char *nearest = NULL;
    uint32_t nearest_score = 2 * limit + 1;
    for (uint32_t i = 0; i < count; i++) {
        const size_t candidate_length = strlen(candidates[i]);
        if (candidate_length > length + limit || candidate_length + limit < length) {
            continue;
        }
        const uint32_t distance =
            edit_distance(word, (uint32_t)length, candidates[i], (uint32_t)candidate_length);
        const bool begins = strncmp(candidates[i], word, length) == 0;
        const uint32_t score = 2 * distance - (begins && distance > 0);
        if (score < nearest_score) {
            nearest = candidates[i];
            nearest_score = score;
        }
    }
    return nearest;
}
