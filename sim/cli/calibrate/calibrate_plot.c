/* The picture of a calibration: each curve's points, as measured, as the library predicts them, and
 * as the one that it was fitted from did.
 */
#include "cli/calibrate.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/plot/plot_panels.h"

static double bandwidth(const struct curve *curve, const struct library *library, double bytes)
{
    struct transfer_quote quote;
    curve_predict(curve, library, bytes, &quote);
    return measurement_bus_factor(curve->measurement->operation, curve->shape.ranks) * bytes /
           quote.time_s;
}

static struct panel panel_of(const struct calibrator *calibrator, const struct curve *curve)
{
    struct arena *arena = calibrator->options.cli->arena;
    const struct measurement *measurement = curve->measurement;
    const double factor = measurement_bus_factor(measurement->operation, curve->shape.ranks);
    const struct library *before = calibrator->before;
    struct panel_point *points = arena_array(arena, measurement->point_count, sizeof *points);
    for (uint32_t i = 0; i < measurement->point_count; i++) {
        const struct measured_point *point = &measurement->points[i];
        points[i] = (struct panel_point){
            .bytes = point->bytes,
            .measured = factor * point->bytes / point->time_s,
            .before = before != NULL ? bandwidth(curve, before, point->bytes) : ABSENT,
            .predicted = bandwidth(curve, calibrator->library, point->bytes)};
    }
    return (struct panel){
        .name = measurement->id,
        .points = points,
        .count = measurement->point_count,
        .error = curve_errors_of(arena, curve, calibrator->library, 0).median,
        .error_before = before != NULL ? curve_errors_of(arena, curve, before, 0).median : ABSENT};
}

bool calibrate_plot(const struct calibrator *calibrator)
{
    struct arena *arena = calibrator->options.cli->arena;
    const uint32_t count = calibrator->list.count;
    struct panel *items = arena_array(arena, count, sizeof *items);
    struct panels panels = {.items = items};
    for (uint32_t i = 0; i < count; i++) {
        if (calibrator->curves[i].skipped == NULL) {
            items[panels.count++] = panel_of(calibrator, &calibrator->curves[i]);
        }
    }
    if (panels.count == 0) {
        return true;
    }
    panels.error =
        curves_errors_of(arena, calibrator->curves, count, calibrator->library, 0).median;
    panels.error_before =
        calibrator->before != NULL
            ? curves_errors_of(arena, calibrator->curves, count, calibrator->before, 0).median
            : ABSENT;
    return plot_panels(arena, &panels,
                       &(struct plot_request){.title = "Collectives, measured and predicted",
                                              .path_base = calibrator->plot,
                                              .size = calibrator->size},
                       calibrator->options.cli->diag);
}
