/* Names are measured before there is a frame, rows counted when there is one: so the frame is set
 * twice, for what is left out is said in its note, which may take a line of its own.
 */
#include "report/plot/plot_bars.h"

#include "base/arena.h"

#include <math.h>

enum {
    LEFT_MIN = 40,
    NAME_GAP = 26, /* from the picture's border to a name, and from there to the axis */
    LINES_MAX = 2,
};
#define BESIDE 0.6   /* rows from the middle of the first and the last to the plot's edges */
#define THICKEST 1.5 /* usual rows */
#define BETWEEN 3    /* pixels between the names of two rows */

static uint32_t rows_height(uint32_t count, double height)
{
    return (uint32_t)(height * (count + 2 * BESIDE - 1));
}

uint32_t plot_bars_room(const struct plot_page *page, uint32_t lines)
{
    const double least = PLOT_BARS_LINE * lines + BETWEEN;
    const double rows = floor(page->frame.plot_height / least - (2 * BESIDE - 1));
    return page->size->height == 0 ? UINT32_MAX : rows < 1 ? 1 : (uint32_t)rows;
}

uint32_t plot_bars_set(struct plot_page *page, const struct plot_frame *frame,
                       const struct plot_rows *rows)
{
    const uint32_t all = rows->count_all > rows->count ? rows->count_all : rows->count;
    struct plot_frame own = *frame;
    own.plot_height = rows_height(rows->count, rows->height);
    plot_frame_set(page, &own);
    const char *note = page->note;
    uint32_t count = rows->count;
    for (uint32_t pass = 0; pass < 2; pass++) { /* the note takes a line of its own from them */
        const uint32_t room = plot_bars_room(page, rows->lines);
        count = room < count ? room : count;
        page->note = note;
        if (count < all) {
            plot_add_note(page, arena_printf(page->arena, "the %s %lu of %lu %s", rows->which,
                                             (unsigned long)count, (unsigned long)all, rows->what));
        }
        plot_frame_set(page, &own);
    }
    return count;
}

uint32_t plot_bars_left(struct arena *arena, const char *const *names, uint32_t count,
                        uint32_t line_count, double most)
{
    double width = LEFT_MIN;
    sim_assert(line_count <= LINES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        const char *lines[LINES_MAX];
        plot_text_wrap(arena, names[i], most, lines, line_count);
        for (uint32_t line = 0; line < line_count; line++) {
            width = fmax(width, plot_text_width(lines[line], PLOT_LETTER));
        }
    }
    return (uint32_t)width + NAME_GAP;
}

void plot_bars_axes(const struct plot_page *page, const struct plot_bars *bars)
{
    const double row = page->frame.plot_height / (bars->last + 2 * BESIDE);
    fprintf(page->script,
            "THICK = %.4g\nset yrange [%.10g:%.10g]\nset key off\nset border 1\n"
            "unset grid\nset grid xtics lc rgb '#dddddd' lw 0.8 lt 1\n"
            "set ytics ()\nset for [i=1:%u] ytics add (tic(%s) %s)\nset ytics scale 0\n",
            fmin(1, THICKEST * bars->height / row), bars->last + BESIDE, -BESIDE, bars->count,
            bars->name, bars->place);
}
