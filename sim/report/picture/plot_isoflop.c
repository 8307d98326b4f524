/* All curves are in one table, told apart by their number; a row of each is where it is least.
 */
#include "report/picture/plot_isoflop.h"

#include "base/arena.h"
#include "report/plot/plot_kinds.h"

enum { WIDTH = 900, PLOT_HEIGHT = 380, COLOURS = 5 };

struct isoflop {
    const struct isoflop_curve *curves;
    uint32_t count;
};

static const char *const colours[COLOURS] = {"#56b4e9", "#009e73", "#d55e00", "#0072b2", "#cc79a7"};

static void lay_out(struct plot_page *page, const struct isoflop *isoflop)
{
    struct plot_key *keys = arena_array(page->arena, isoflop->count, sizeof *keys);
    for (uint32_t i = 0; i < isoflop->count; i++) {
        keys[i] = plot_key_patch(page->arena, isoflop->curves[i].name, colours[i % COLOURS]);
    }
    plot_frame_set(page, &(struct plot_frame){
                             .width = WIDTH,
                             .plot_height = PLOT_HEIGHT,
                             .left = 64,
                             .right = 24,
                             .bottom = PLOT_TICS,
                             .x_title = "'parameters; the dots are where the loss is least'",
                             .y_title = "'loss, nats a token'",
                             .keys = keys,
                             .key_count = isoflop->count,
                         });
}

static void write_curve(struct plot_page *page, uint32_t number, const struct isoflop_curve *curve)
{
    for (uint32_t k = 0; k < curve->count; k++) {
        plot_row(page, PLOT_NUMBERS(number, curve->parameters[k], curve->loss[k], 0),
                 PLOT_TEXTS(curve->name));
    }
    plot_row(page, PLOT_NUMBERS(number, curve->best_parameters, curve->best_loss, 1),
             PLOT_TEXTS(curve->name));
}

static bool write_isoflop(struct plot_page *page)
{
    static const char *const numbers[] = {"curve", "parameters", "loss", "is_best"};
    static const char *const texts[] = {"flop"};
    const struct isoflop *isoflop = page->subject;
    uint32_t rows = 0;
    lay_out(page, isoflop);
    PLOT_HEAD(page, numbers, texts);
    for (uint32_t i = 0; i < isoflop->count; i++) {
        write_curve(page, i, &isoflop->curves[i]);
        rows += isoflop->curves[i].count + 1;
    }
    plot_script_begin(page, rows);
    fprintf(page->script, "set key off\nset logscale x\nset format x '%%.0s %%c'\n");
    const char *plot = "plot";
    for (uint32_t i = 0; i < isoflop->count; i++) {
        const struct isoflop_curve *curve = &isoflop->curves[i];
        plot = arena_printf(
            page->arena,
            "%s%s DATA using (column('curve') == %u && column('is_best') == 0 ? "
            "column('parameters') : NaN):'loss' with lines dt 1 lw %u lc rgb '%s', \\\n"
            "     DATA using (column('curve') == %u && column('is_best') == 1 ? "
            "column('parameters') : NaN):'loss' with points pt 7 ps %s lc rgb '%s'",
            plot, i > 0 ? ", \\\n    " : "", i, curve->is_asked ? 3u : 1u, colours[i % COLOURS], i,
            curve->is_asked ? "1.2" : "0.7", colours[i % COLOURS]);
    }
    plot_script_end(page, plot);
    return true;
}

bool plot_isoflop(struct arena *arena, const struct isoflop_curve *curves, uint32_t count,
                  const struct plot_request *request, struct diag *diag)
{
    const struct isoflop isoflop = {curves, count};
    struct plot_page page = {.arena = arena,
                             .request = request,
                             .title = request->title,
                             .subject = &isoflop,
                             .diag = diag};
    return plot_page_draw(&page, write_isoflop);
}
