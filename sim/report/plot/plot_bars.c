/* See plot_bars.h.
 */
#include "report/plot/plot_bars.h"

#include "base/arena.h"

#include <math.h>

enum {
    LEFT_MIN = 40,
    NAME_GAP = 26, /* from the picture's border to a name, and from there to the axis */
    LINES_MAX = 2,
};

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

void plot_bars_axes(FILE *script, const struct plot_bars *bars)
{
    fprintf(script,
            "set yrange [%.10g:-0.6]\nset key off\nset border 1\n"
            "unset grid\nset grid xtics lc rgb '#dddddd' lw 0.8 lt 1\n"
            "set ytics ()\nset for [i=1:%u] ytics add (tic(%s) %s)\nset ytics scale 0\n",
            bars->last + 0.6, bars->count, bars->name, bars->place);
}
