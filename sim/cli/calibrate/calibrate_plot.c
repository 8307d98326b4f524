/* Measured bus bandwidth as points, predicted as a line: a small panel for each curve, all on
 * one page. The script and its data stay, so the picture can be drawn again without us. */
#include "cli/calibrate.h"

#include "base/arena.h"
#include "report/plot/gnuplot.h"
#include "base/path.h"

#include <errno.h>
#include <string.h>

enum { PANELS_ACROSS = 6, PANEL_WIDTH = 300, PANEL_HEIGHT = 210 };

/* A curve's rows, and two blank lines: gnuplot's next index. */
static void write_curve(const struct calibrator *calibrator, const struct curve *curve, FILE *out)
{
    const struct measurement *measurement = curve->measurement;
    const double factor = measurement_bus_factor(measurement->operation, curve->shape.ranks);
    fprintf(out, "# %s: bytes, measured and predicted bus bandwidth in GB/s\n", measurement->id);
    for (uint32_t i = 0; i < measurement->point_count; i++) {
        const struct measured_point *point = &measurement->points[i];
        struct transfer_quote quote;
        curve_predict(curve, calibrator->library, point->bytes, &quote);
        const double bus_gb = factor * point->bytes / 1e9;
        fprintf(out, "%.17g %.6g %.6g\n", point->bytes, bus_gb / point->time_s,
                bus_gb / quote.time_s);
    }
    fputs("\n\n", out);
}

/* One terminal; measured sizes differ, so each panel has its own axes. */
static void write_page(const struct calibrator *calibrator, uint32_t panels, const char *name,
                       const char *terminal, const char *suffix, FILE *out)
{
    fprintf(out,
            "set terminal %s\nset output '%s.%s'\n"
            "set multiplot layout %u,%d title 'Bus bandwidth in GB/s by buffer size: points "
            "measured, line predicted'\n",
            terminal, name, suffix, (panels + PANELS_ACROSS - 1) / PANELS_ACROSS, PANELS_ACROSS);
    uint32_t panel = 0;
    for (uint32_t i = 0; i < calibrator->list.count; i++) {
        if (calibrator->curves[i].skipped == NULL) {
            fprintf(
                out,
                "set title '%s'\n"
                "plot '%s.dat' index %u using 1:2 with points pointtype 7 pointsize 0.5 "
                "linecolor rgb '#d55e00', '' index %u using 1:3 with lines linewidth 2 "
                "linecolor rgb '#0072b2'\n",
                arena_printf(calibrator->options.cli->arena, "%.40s", calibrator->list.items[i].id),
                name, panel, panel);
            panel++;
        }
    }
    fputs("unset multiplot\nset output\n", out);
}

static void write_script(const struct calibrator *calibrator, uint32_t panels, const char *name,
                         FILE *out)
{
    struct arena *arena = calibrator->options.cli->arena;
    const uint32_t width = PANELS_ACROSS * PANEL_WIDTH;
    const uint32_t height = (panels + PANELS_ACROSS - 1) / PANELS_ACROSS * PANEL_HEIGHT + 40;
    fputs("set encoding utf8\nunset key\nset logscale x 2\nset yrange [0:*]\nset grid\n"
          "set xtics ('1 K' 1024, '32 K' 32768, '1 M' 1048576, '32 M' 33554432, '1 G' 1073741824, "
          "'16 G' 17179869184)\n",
          out);
    write_page(calibrator, panels, name,
               arena_printf(arena,
                            "svg size %u,%u dynamic standalone noenhanced font 'DejaVu Sans,9' "
                            "background rgb 'white'",
                            width, height),
               "svg", out);
    write_page(calibrator, panels, name,
               arena_printf(arena,
                            "pngcairo size %u,%u noenhanced font 'DejaVu Sans,9' background rgb "
                            "'white'",
                            width, height),
               "png", out);
}

static FILE *open_file(const struct calibrator *calibrator, const char *suffix)
{
    struct cli *cli = calibrator->options.cli;
    const char *path = arena_printf(cli->arena, "%s.%s", calibrator->plot, suffix);
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        diag_add(cli->diag, DIAG_FAILURE, NULL, "cannot write %s: %s", path, strerror(errno));
    }
    return out;
}

/* gnuplot takes the name without quoting it. */
static bool is_safe(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-";
    return name[0] != '\0' && name[strspn(name, letters)] == '\0';
}

bool calibrate_plot(const struct calibrator *calibrator)
{
    struct cli *cli = calibrator->options.cli;
    const char *slash = strrchr(calibrator->plot, '/');
    const char *name = slash != NULL ? slash + 1 : calibrator->plot;
    const char *directory = slash == NULL ? "."
                                          : arena_strndup(cli->arena, calibrator->plot,
                                                          (size_t)(slash - calibrator->plot));
    if (!is_safe(name)) {
        return diag_add(cli->diag, DIAG_USAGE, NULL,
                        "--plot %s: letters, digits, '.', '_' and '-' make a name",
                        calibrator->plot);
    }
    if (!path_make_directories(cli->arena, calibrator->plot, cli->diag)) {
        return false;
    }
    FILE *data = open_file(calibrator, "dat");
    FILE *script = data != NULL ? open_file(calibrator, "gp") : NULL;
    uint32_t panels = 0;
    for (uint32_t i = 0; script != NULL && i < calibrator->list.count; i++) {
        if (calibrator->curves[i].skipped == NULL) {
            write_curve(calibrator, &calibrator->curves[i], data);
            panels++;
        }
    }
    if (script != NULL) {
        write_script(calibrator, panels, name, script);
    }
    const bool is_data_closed = data != NULL && fclose(data) == 0;
    const bool is_script_closed = script != NULL && fclose(script) == 0;
    if (!is_data_closed || !is_script_closed) {
        return diag_add(cli->diag, DIAG_FAILURE, NULL, "cannot write %s.gp and .dat",
                        calibrator->plot);
    }
    return panels == 0 || gnuplot_run(cli->arena, directory, name, cli->diag);
}
