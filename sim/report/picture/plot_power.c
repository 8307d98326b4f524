/* Power is drawn as steps, one a bin, from 0, so that a swing is seen against the whole.
 */
#include "report/picture/plot_power.h"

#include "base/arena.h"
#include "report/plot/plot_kinds.h"

#include <math.h>

enum { WIDTH = 1280, PLOT_HEIGHT = 340 };

static void lay_out(struct plot_page *page, const struct power_trace *trace, bool is_in_mw)
{
    struct arena *arena = page->arena;
    struct plot_key *keys = arena_array(arena, 3, sizeof *keys);
    keys[0] = plot_key_patch(
        arena, arena_printf(arena, "a bin of %.3g ms", 1e3 * sim_time_to_s(trace->bin_ns)),
        "#0072b2");
    keys[1] = plot_key_patch(arena, "mean", "#d55e00");
    keys[2] = plot_key_patch(arena, "cap", "#cc79a7");
    plot_frame_set(page,
                   &(struct plot_frame){
                       .width = WIDTH,
                       .plot_height = PLOT_HEIGHT,
                       .left = 64,
                       .right = 24,
                       .bottom = PLOT_TICS,
                       .x_title = "'time, s'",
                       .y_title = is_in_mw ? "'power of the site, MW'" : "'power of the site, kW'",
                       .keys = keys,
                       .key_count = trace->cap_w > 0 ? 3 : 2,
                   });
}

static bool write_power(struct plot_page *page)
{
    static const char *const numbers[] = {"start_s", "power_w"};
    const struct power_trace *trace = page->subject;
    const double highest_w = fmax(trace->most_w, trace->cap_w);
    const bool is_in_mw = highest_w >= 1e6;
    lay_out(page, trace, is_in_mw);
    plot_head(page, numbers, 2, NULL, 0);
    for (uint32_t i = 0; i < trace->count; i++) {
        plot_row(page, PLOT_NUMBERS(sim_time_to_s(i * trace->bin_ns), trace->power_w[i]), NULL);
    }
    plot_script_begin(page, trace->count);
    fprintf(page->script,
            "SCALE = %s\nset key off\n"
            "set xrange [0:%.10g]\nset yrange [0:%.10g]\n",
            is_in_mw ? "1e-6" : "1e-3", sim_time_to_s(trace->end),
            1.1 * highest_w * (is_in_mw ? 1e-6 : 1e-3));
    plot_script_end(
        page,
        arena_printf(page->arena,
                     "plot DATA using 1:(SCALE * column(2)) with steps lw 1 lc rgb '#0072b2', \\\n"
                     "     SCALE * %.10g with lines lw 1 dt 2 lc rgb '#d55e00'%s",
                     trace->mean_w,
                     trace->cap_w > 0
                         ? arena_printf(page->arena,
                                        ", SCALE * %.10g with lines lw 2 lc rgb '#cc79a7'",
                                        trace->cap_w)
                         : ""));
    return true;
}

bool plot_power(struct arena *arena, const struct power_trace *trace,
                const struct plot_request *request, struct diag *diag)
{
    struct plot_page page = {.arena = arena, .request = request, .subject = trace, .diag = diag};
    return plot_page_draw(&page, write_power);
}
