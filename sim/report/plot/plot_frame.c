/* gnuplot is told where everything stands, in shares of the picture, so that it has nothing to
 * choose: its own title, key and label of the upright axis cover each other or stand upright.
 */
#include "report/plot/plot_frame.h"

#include "report/plot/plot_kinds.h"

#include "base/arena.h"
#include "base/version.h"

#include <math.h>
#include <string.h>

enum {
    EDGE = 14,       /* between the picture's border and text */
    TITLE_SIZE = 16, /* bold */
    NOTE_SIZE = 12,
    TITLE_LINE = 22, /* from one line to the next */
    NOTE_LINE = 17,
    KEY_LINE = 21,
    KEY_MARK = 19, /* from a key's left end to its text */
    KEY_GAP = 22,  /* from its text to the next */
    X_TITLE_LINE = 24,
    Y_TITLE_LINE = 26,
    ABOVE_PLOT = 10,
    FOOT_LINE = 22,
};
#define LOWEST 0.25 /* plot, of a page of a size */
#define BOLD 1.13   /* wider than the usual letters */

const char *const plot_word_columns[PLOT_WORD_COUNT_] = {"plot_title", "plot_title_2", "plot_note",
                                                         "plot_note_2", "plot_foot"};

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Of slides 1280 x 720 pixels with text of 19; a square of 1080; 17.8 cm of a printed page at
 * 300 dots an inch, with text of 9 points and fine lines. */
#define SIZES(X)                           \
    X(usual, 0, 0, 1.5, 1)                 \
    X(slide, 864, 486, 1280.0 / 864, 1.15) \
    X(square, 720, 720, 1.5, 1)            \
    X(print, 700, 500, 3, 0.75)
#define SIZE_ROW(name, ...) {__VA_ARGS__},
#define SIZE_NAME(name, ...) #name,

const struct plot_size plot_size_table[] = {SIZES(SIZE_ROW)};
const char *const plot_size_names[PLOT_SIZE_COUNT] = {SIZES(SIZE_NAME)};

uint32_t plot_frame_width(const struct plot_page *page, uint32_t usual)
{
    return page->size->width > 0 ? page->size->width : usual;
}

double plot_frame_scaled(const struct plot_page *page, uint32_t usual, double pixels)
{
    return pixels * plot_frame_width(page, usual) / usual;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Of letters one em high: the means of DejaVu Sans. */
static double letter_width(unsigned char letter)
{
    if (strchr("iljI.,'|:; ", letter) != NULL) {
        return 0.32;
    }
    if (strchr("ftr-/()[]!", letter) != NULL) {
        return 0.40;
    }
    if (strchr("mwMW%@", letter) != NULL) {
        return 0.95;
    }
    return letter >= 'A' && letter <= 'Z' ? 0.71 : 0.63;
}

uint32_t plot_letters(const char *text)
{
    uint32_t letters = 0;
    for (; *text != '\0'; text++) {
        letters += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return letters;
}

double plot_text_width(const char *text, double size)
{
    double width = 0;
    for (; *text != '\0'; text++) {
        if (((unsigned char)*text & 0xc0) != 0x80) {
            width += letter_width((unsigned char)*text);
        }
    }
    return width * size;
}

static const char *part_of(struct arena *arena, const char *text, size_t length, const char *end)
{
    return arena_printf(arena, "%.*s%s", (int)length, text, end);
}

/* How many bytes of the text fit: whole words, or, where one is too long, whole letters. */
static size_t length_that_fits(struct arena *arena, const char *text, double width, double size)
{
    size_t words = 0;
    size_t letters = 0;
    for (size_t i = 1; text[i - 1] != '\0'; i++) {
        if (((unsigned char)text[i] & 0xc0) == 0x80) {
            continue;
        }
        if (plot_text_width(part_of(arena, text, i, ""), size) > width) {
            return words > 0 ? words : letters;
        }
        letters = i;
        if (text[i] == ' ' || text[i] == '\0') {
            words = i;
        }
    }
    return letters;
}

static void wrap(struct arena *arena, const char *text, double width, double size,
                 const char **lines, uint32_t line_count)
{
    for (uint32_t i = 0; i < line_count; i++) {
        size_t length = length_that_fits(arena, text, width, size);
        const bool is_cut = i + 1 == line_count && text[length] != '\0';
        if (is_cut) {
            length = length_that_fits(arena, text, width - size, size);
        }
        lines[i] = part_of(arena, text, length, is_cut ? "…" : "");
        text += length;
        text += strspn(text, " ");
    }
}

void plot_text_wrap(struct arena *arena, const char *text, double width, const char **lines,
                    uint32_t line_count)
{
    wrap(arena, text, width, PLOT_LETTER, lines, line_count);
}

void plot_frame_words(const struct plot_page *page, const char *words[PLOT_WORD_COUNT_])
{
    struct arena *arena = page->arena;
    const double width = page->frame.width - 2.0 * EDGE;
    wrap(arena, page->title, width, BOLD * TITLE_SIZE, &words[PLOT_TITLE], 2);
    wrap(arena, page->note, width, NOTE_SIZE, &words[PLOT_NOTE], 2);
    words[PLOT_FOOT] =
        arena_printf(arena, "stoker %s, data in %s.csv", stoker_version(), page->name);
}

struct plot_key plot_key_of(struct arena *arena, const char *text, const char *style)
{
    return (struct plot_key){arena_printf(arena, "'%s'", text), plot_text_width(text, PLOT_LETTER),
                             style};
}

struct plot_key plot_key_patch(struct arena *arena, const char *text, const char *colour)
{
    return plot_key_of(arena, text, arena_printf(arena, "pt 5 ps 1.4 lc rgb '%s'", colour));
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Where a key begins: from the left, on which line of keys. */
struct key_spot {
    double x;
    uint32_t line;
};

/* The place of the next key, which takes it from what is `free`. */
static struct key_spot next_spot(const struct plot_frame *frame, const struct plot_key *key,
                                 struct key_spot *free)
{
    const double width = KEY_MARK + key->width + KEY_GAP;
    if (free->x > EDGE && free->x + width - KEY_GAP > frame->width - EDGE) {
        *free = (struct key_spot){EDGE, free->line + 1};
    }
    const struct key_spot spot = *free;
    free->x += width;
    return spot;
}

static uint32_t key_lines(const struct plot_frame *frame)
{
    struct key_spot free = {EDGE, 0};
    for (uint32_t i = 0; i < frame->key_count; i++) {
        next_spot(frame, &frame->keys[i], &free);
    }
    return frame->key_count > 0 ? free.line + 1 : 0;
}

/* Where each part begins, from the top. */
struct heights {
    uint32_t note, keys, y_title, plot, below, whole;
};

static struct heights heights_of(const struct plot_page *page)
{
    const struct plot_frame *frame = &page->frame;
    const char *words[PLOT_WORD_COUNT_];
    plot_frame_words(page, words);
    struct heights heights;
    const uint32_t titles = words[PLOT_TITLE_2][0] != '\0' ? 2 : 1;
    const uint32_t notes = words[PLOT_NOTE_2][0] != '\0' ? 2 : words[PLOT_NOTE][0] != '\0' ? 1 : 0;
    heights.note = EDGE + titles * TITLE_LINE;
    heights.keys = heights.note + notes * NOTE_LINE;
    heights.y_title = heights.keys + key_lines(frame) * KEY_LINE;
    heights.plot =
        heights.y_title + (frame->y_title != NULL ? Y_TITLE_LINE : 0) + frame->above + ABOVE_PLOT;
    heights.below = heights.plot + frame->plot_height;
    heights.whole =
        heights.below + frame->bottom + (frame->x_title != NULL ? X_TITLE_LINE : 0) + FOOT_LINE;
    return heights;
}

void plot_frame_set(struct plot_page *page, const struct plot_frame *frame)
{
    page->frame = *frame;
    if (page->size->height > 0) {
        page->frame.width = page->size->width;
        const double around = plot_frame_height(page) - frame->plot_height;
        page->frame.plot_height =
            (uint32_t)fmax(page->size->height - around, LOWEST * page->size->height);
    }
}

uint32_t plot_frame_height(const struct plot_page *page)
{
    return heights_of(page).whole;
}

uint32_t plot_frame_top(const struct plot_page *page)
{
    return heights_of(page).plot;
}

/* A text of one line, whose middle is so far from the top. */
struct label {
    double x, y;
    const char *text, *style; /* as gnuplot reads them */
};

static void write_label(const struct plot_page *page, const struct heights *heights,
                        const struct label *label)
{
    fprintf(page->script, "set label %s at screen %.6g, screen %.6g %s\n", label->text,
            label->x / page->frame.width, 1 - label->y / heights->whole, label->style);
}

static void write_words(const struct plot_page *page, const struct heights *heights)
{
    const char *words[PLOT_WORD_COUNT_];
    plot_frame_words(page, words);
    for (uint32_t i = PLOT_TITLE; i <= PLOT_NOTE_2; i++) {
        if (words[i][0] == '\0') {
            continue;
        }
        const bool is_title = i <= PLOT_TITLE_2;
        const double y = is_title ? EDGE + ((i - PLOT_TITLE) + 0.5) * TITLE_LINE
                                  : heights->note + ((i - PLOT_NOTE) + 0.5) * NOTE_LINE;
        write_label(
            page, heights,
            &(struct label){EDGE, y, arena_printf(page->arena, "%s[1]", plot_word_columns[i]),
                            is_title ? "left font 'DejaVu Sans:Bold,16' textcolor rgb '#222222'"
                                     : "left font 'DejaVu Sans,12' textcolor rgb '#666666'"});
    }
    write_label(page, heights,
                &(struct label){page->frame.width - EDGE, heights->whole - FOOT_LINE / 2.0,
                                arena_printf(page->arena, "%s[1]", plot_word_columns[PLOT_FOOT]),
                                "right font 'DejaVu Sans,11' textcolor rgb '#767676'"});
}

static void write_keys(const struct plot_page *page, const struct heights *heights)
{
    const struct plot_frame *frame = &page->frame;
    struct key_spot free = {EDGE, 0};
    for (uint32_t i = 0; i < frame->key_count; i++) {
        const struct plot_key *key = &frame->keys[i];
        const struct key_spot spot = next_spot(frame, key, &free);
        const double y = heights->keys + (spot.line + 0.5) * KEY_LINE;
        write_label(page, heights,
                    &(struct label){spot.x + 5, y, "''",
                                    arena_printf(page->arena, "point %s", key->style)});
        write_label(
            page, heights,
            &(struct label){spot.x + KEY_MARK, y, key->text, "left textcolor rgb '#222222'"});
    }
}

void plot_frame_write(const struct plot_page *page)
{
    const struct plot_frame *frame = &page->frame;
    const struct heights heights = heights_of(page);
    const double width = frame->width;
    const double height = heights.whole;
    fprintf(page->script,
            "set lmargin at screen %.6g\nset rmargin at screen %.6g\n"
            "set tmargin at screen %.6g\nset bmargin at screen %.6g\n",
            frame->left / width, 1 - frame->right / width, 1 - heights.plot / height,
            1 - heights.below / height);
    write_words(page, &heights);
    write_keys(page, &heights);
    if (frame->x_title != NULL) {
        write_label(page, &heights,
                    &(struct label){(frame->left + width - frame->right) / 2,
                                    heights.whole - FOOT_LINE - X_TITLE_LINE / 2.0, frame->x_title,
                                    "center textcolor rgb '#222222'"});
    }
    if (frame->y_title != NULL) {
        write_label(page, &heights,
                    &(struct label){frame->left, heights.y_title + Y_TITLE_LINE / 2.0,
                                    frame->y_title, "left textcolor rgb '#222222'"});
    }
}
