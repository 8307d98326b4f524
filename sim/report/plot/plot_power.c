/* Power is drawn as steps, one a bin, from 0, so that a swing is seen against the whole.
 */
#include "report/plot/plot_power.h"

#include "base/arena.h"
#include "report/plot/plot_kinds.h"

#include <math.h>

enum { WIDTH = 1280, HEIGHT = 480 };

struct drawing {
    const struct power_trace *trace;
    const char *title;
};

/* None where nothing caps. */
static const char *cap_line(struct arena *arena, const struct power_trace *trace)
{
    return trace->cap_w > 0 ? arena_printf(arena,
                                           ", \\\n     SCALE * %.10g with lines lw 2 "
                                           "lc rgb '#cc79a7' title 'cap'",
                                           trace->cap_w)
                            : "";
}

static bool write_power(struct plot_page *page)
{
    static const char *const numbers[] = {"start_s", "power_w"};
    static const char *const texts[] = {"plot_title"};
    const struct drawing *drawing = page->subject;
    const struct power_trace *trace = drawing->trace;
    PLOT_HEAD(page, numbers, texts);
    for (uint32_t i = 0; i < trace->count; i++) {
        plot_row(page, PLOT_NUMBERS(sim_time_to_s(i * trace->bin_ns), trace->power_w[i]),
                 PLOT_TEXTS(drawing->title));
    }
    const double highest_w = fmax(trace->most_w, trace->cap_w);
    const bool is_in_mw = highest_w >= 1e6;
    plot_script_begin(page, trace->count);
    fprintf(page->script,
            "SCALE = %s\nset xlabel 'time (s)'\nset ylabel 'power of the site (%s)'\n"
            "set xrange [0:%.10g]\nset yrange [0:%.10g]\nset key outside top center horizontal\n",
            is_in_mw ? "1e-6" : "1e-3", is_in_mw ? "MW" : "kW", sim_time_to_s(trace->end),
            1.1 * highest_w * (is_in_mw ? 1e-6 : 1e-3));
    plot_script_end(page, WIDTH, HEIGHT,
                    arena_printf(page->arena,
                                 "plot DATA using 1:(SCALE * column(2)) with steps lw 1 "
                                 "lc rgb '#0072b2' title 'a bin of %.3g ms', \\\n"
                                 "     SCALE * %.10g with lines lw 1 dt 2 lc rgb '#d55e00' "
                                 "title 'mean'%s",
                                 1e3 * sim_time_to_s(trace->bin_ns), trace->mean_w,
                                 cap_line(page->arena, trace)));
    return true;
}

bool plot_power(struct arena *arena, const struct power_trace *trace, const char *title,
                const char *path_base, struct diag *diag)
{
    const struct drawing drawing = {.trace = trace, .title = title};
    const struct plot_request request = {.title = title, .path_base = path_base};
    struct plot_page page = {
        .arena = arena, .request = &request, .subject = &drawing, .diag = diag};
    return plot_page_draw(&page, write_power);
}
