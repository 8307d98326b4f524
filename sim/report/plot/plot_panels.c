/* gnuplot's multiplot draws a panel after the other; each is told where it stands, and what stands
 * around all of them is drawn with the first.
 */
#include "report/plot/plot_panels.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/plot/plot_kinds.h"

#include <inttypes.h>
#include <math.h>

enum {
    WIDTH = 960,
    PANEL_WIDTH = 230, /* with its axis' numbers and the gap to the next */
    PANEL_HEIGHT = 190,
    PANEL_WIDTH_MIN = 165,
    PANEL_HEIGHT_MIN = 124,
    ACROSS_MAX = 4,
    AXIS_WIDTH = 46, /* a panel's numbers, to the left */
    AXIS_HEIGHT = 30,
    TITLE_HEIGHT = 24,
    TIC_WIDTH = 50, /* "512 M" and a gap */
    TIC_HEIGHT = 19,
};

#define MARGIN 1.25 /* around the values, a factor */

struct grid {
    uint32_t across, down, shown;
    double width, height; /* of a panel with all that is its */
};

/* ---- data ---------------------------------------------------------------------------- */

static void write_data(struct plot_page *page, const struct panels *panels)
{
    static const char *const numbers[] = {"panel", "bytes", "measured_gb_per_s", "before_gb_per_s",
                                          "predicted_gb_per_s"};
    static const char *const texts[] = {"name"};
    PLOT_HEAD(page, numbers, texts);
    for (uint32_t i = 0; i < panels->count; i++) {
        const struct panel *panel = &panels->items[i];
        for (uint32_t k = 0; k < panel->count; k++) {
            const struct panel_point *point = &panel->points[k];
            plot_row(page,
                     PLOT_NUMBERS(i, point->bytes, point->measured / 1e9,
                                  is_absent(point->before) ? ABSENT : point->before / 1e9,
                                  point->predicted / 1e9),
                     PLOT_TEXTS(panel->name));
        }
    }
}

/* ---- layout -------------------------------------------------------------------------- */

static const char *errors_of(struct arena *arena, double before, double after)
{
    return is_absent(before) ? arena_printf(arena, "%.1f %%", 100 * after)
                             : arena_printf(arena, "%.1f to %.1f %%", 100 * before, 100 * after);
}

/* As many beside each other as are wide enough; of fewer panels as many as make it even. */
static void choose_grid(const struct plot_page *page, uint32_t count, struct grid *grid)
{
    const double width = page->frame.width - page->frame.left - page->frame.right;
    const uint32_t most = (uint32_t)(width / PANEL_WIDTH_MIN);
    const uint32_t even = (uint32_t)ceil(sqrt(count));
    grid->across = even < most ? even : most;
    grid->across = page->size->height == 0 && grid->across > ACROSS_MAX ? ACROSS_MAX : grid->across;
    grid->down = (count + grid->across - 1) / grid->across;
    const uint32_t rows = (uint32_t)(page->frame.plot_height / PANEL_HEIGHT_MIN);
    if (page->size->height > 0 && grid->down > rows) {
        grid->across = most;
        grid->down = (count + most - 1) / most;
        grid->down = grid->down < rows ? grid->down : rows;
    }
    grid->shown = count < grid->across * grid->down ? count : grid->across * grid->down;
    grid->width = width / grid->across;
    grid->height = (double)page->frame.plot_height / grid->down;
}

static void lay_out(struct plot_page *page, const struct panels *panels, struct grid *grid)
{
    const bool has_before = !is_absent(panels->error_before);
    struct plot_key *keys = arena_array(page->arena, 3, sizeof *keys);
    uint32_t count = 0;
    keys[count++] = plot_key_of(page->arena, "measured", "pt 6 ps 0.7 lw 1.2 lc rgb '#222222'");
    if (has_before) {
        keys[count++] =
            plot_key_of(page->arena, "predicted before (dashed)", "pt 5 ps 1.2 lc rgb '#999999'");
    }
    keys[count++] = plot_key_of(page->arena, has_before ? "predicted after" : "predicted",
                                "pt 5 ps 1.2 lc rgb '#0072B2'");
    plot_add_note(page, arena_printf(page->arena, "median of how far off predictions are: %s",
                                     errors_of(page->arena, panels->error_before, panels->error)));
    const uint32_t even = (uint32_t)ceil(sqrt(panels->count));
    const uint32_t across = even < ACROSS_MAX ? even : ACROSS_MAX;
    const struct plot_frame frame = {
        .width = across == ACROSS_MAX ? WIDTH : 200 + across * PANEL_WIDTH,
        .plot_height = (panels->count + across - 1) / across * PANEL_HEIGHT,
        .left = 10,
        .right = 14,
        .bottom = 4,
        .x_title = "'buffer, bytes'",
        .y_title = "'bus bandwidth, GB/s'",
        .keys = keys,
        .key_count = count,
    };
    plot_frame_set(page, &frame);
    choose_grid(page, panels->count, grid);
    if (grid->shown < panels->count) {
        plot_add_note(page, arena_printf(page->arena, "the first %lu of %lu curves",
                                         (unsigned long)grid->shown, (unsigned long)panels->count));
        plot_frame_set(page, &frame);
        choose_grid(page, panels->count, grid);
    }
}

/* ---- script -------------------------------------------------------------------------- */

static const char *size_text(struct arena *arena, double bytes)
{
    static const char *const units[] = {"", " K", " M", " G", " T"};
    uint32_t unit = 0;
    while (bytes >= 1024 && unit < 4) {
        bytes /= 1024;
        unit++;
    }
    return arena_printf(arena, "%.4g%s", bytes, units[unit]);
}

/* Powers of two, so far apart that their labels have room. */
static void write_x_tics(struct plot_page *page, const struct panel *panel, double pixels)
{
    const int low = (int)floor(log2(panel->points[0].bytes / MARGIN)) + 1;
    const int high = (int)floor(log2(panel->points[panel->count - 1].bytes * MARGIN));
    const int step = (int)ceil(fmax(high - low, 1) / fmax(1, floor(pixels / TIC_WIDTH)));
    fputs("set xtics ()\n", page->script);
    for (int power = low; power <= high; power += step) {
        fprintf(page->script, "set xtics add ('%s' %.17g)\n", size_text(page->arena, exp2(power)),
                exp2(power));
    }
}

/* Powers of ten, and twice and five times them where there is room. */
static void write_y_tics(struct plot_page *page, double low, double high, double pixels)
{
    const double decades = log10(high / low);
    const double room = fmax(1, floor(pixels / TIC_HEIGHT));
    const bool has_parts = 3 * decades <= room;
    const int step = has_parts ? 1 : (int)ceil(decades / room);
    const int last = (int)floor(log10(high));
    fputs("set ytics ()\n", page->script);
    for (int power = (int)floor(log10(low)); power <= last; power += step) {
        for (uint32_t part = 0; part < (has_parts ? 3u : 1u); part++) {
            const double value = pow(10, power) * (part == 0 ? 1 : part == 1 ? 2 : 5);
            if (value >= low && value <= high) {
                fprintf(page->script, "set ytics add ('%.10g' %.10g)\n", value, value);
            }
        }
    }
}

static void find_range(const struct panel *panel, double *low, double *high)
{
    *low = *high = panel->points[0].measured;
    for (uint32_t k = 0; k < panel->count; k++) {
        const struct panel_point *point = &panel->points[k];
        const double before = is_absent(point->before) ? point->measured : point->before;
        *low = fmin(*low, fmin(before, fmin(point->measured, point->predicted)));
        *high = fmax(*high, fmax(before, fmax(point->measured, point->predicted)));
    }
    *low /= MARGIN * 1e9;
    *high *= MARGIN / 1e9;
}

/* The place of a panel, in shares of the picture from its lower left. */
static void write_place(const struct plot_page *page, const struct grid *grid, uint32_t number)
{
    const double width = page->frame.width;
    const double height = plot_frame_height(page);
    const uint32_t row = number / grid->across;
    const uint32_t column = number % grid->across;
    const double left = page->frame.left + column * grid->width;
    const double top = plot_frame_top(page) + row * grid->height;
    fprintf(page->script,
            "set lmargin at screen %.6g\nset rmargin at screen %.6g\n"
            "set tmargin at screen %.6g\nset bmargin at screen %.6g\n",
            (left + AXIS_WIDTH) / width, (left + grid->width - 8) / width,
            1 - (top + TITLE_HEIGHT) / height, 1 - (top + grid->height - AXIS_HEIGHT) / height);
}

static void write_panel(struct plot_page *page, const struct panels *panels,
                        const struct grid *grid, uint32_t number)
{
    const struct panel *panel = &panels->items[number];
    const char *errors = errors_of(page->arena, panel->error_before, panel->error);
    const char *name;
    double low, high;
    find_range(panel, &low, &high);
    plot_text_wrap(page->arena, panel->name,
                   grid->width - 16 - plot_text_width(errors, PLOT_LETTER), &name, 1);
    const char *x = arena_printf(page->arena, "(column('panel') == %lu ? column('bytes') : NaN)",
                                 (unsigned long)number);
    const char *before =
        is_absent(panel->error_before)
            ? ""
            : arena_printf(page->arena,
                           "DATA using %s:(column('before_gb_per_s')) with lines lw 1.4 dt 2 "
                           "lc rgb '#999999', \\\n     ",
                           x);
    write_place(page, grid, number);
    write_x_tics(page, panel, grid->width - AXIS_WIDTH - 8);
    write_y_tics(page, low, high, grid->height - TITLE_HEIGHT - AXIS_HEIGHT);
    fprintf(page->script,
            "set xrange [%.17g:%.17g]\nset yrange [%.10g:%.10g]\n"
            "set label 1000 NAME[%lu][1:%lu]%s.'  %s' at graph 0, graph 1 left offset -3,0.7 "
            "font 'DejaVu Sans,12' textcolor rgb '#222222'\n"
            "plot %sDATA using %s:(column('predicted_gb_per_s')) with lines lw 2 dt 1 "
            "lc rgb '#0072B2', \\\n"
            "     DATA using %s:(column('measured_gb_per_s')) with points pt 6 ps 0.5 lw 1.2 "
            "lc rgb '#222222'\n"
            "unset label\n",
            panel->points[0].bytes / MARGIN, panel->points[panel->count - 1].bytes * MARGIN, low,
            high, number + 1ul, (unsigned long)plot_letters(name),
            plot_letters(name) < plot_letters(panel->name) ? ".'…'" : "", errors, before, x, x);
}

static void write_all(struct plot_page *page)
{
    const struct panels *panels = page->subject;
    struct grid grid;
    choose_grid(page, panels->count, &grid);
    fputs("set multiplot\n", page->script);
    for (uint32_t i = 0; i < grid.shown; i++) {
        write_panel(page, panels, &grid, i);
    }
    fputs("unset multiplot\n", page->script);
}

static bool write_page(struct plot_page *page)
{
    const struct panels *panels = page->subject;
    struct grid grid;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < panels->count; i++) {
        rows += panels->items[i].count;
    }
    lay_out(page, panels, &grid);
    write_data(page, panels);
    plot_script_begin(page, rows);
    fprintf(page->script,
            "array NAME[%lu]\n"
            "stats DATA using (NAME[int(column('panel'))+1] = name[int($0)+1], 0) nooutput\n"
            "set logscale x 2\nset logscale y 10\nset key off\nunset mxtics\nunset mytics\n"
            "set grid xtics ytics lc rgb '#e4e4e4' lw 0.8 lt 1\n"
            "set tics font 'DejaVu Sans,11'\n",
            (unsigned long)panels->count);
    plot_script_end_with(page, write_all);
    return true;
}

bool plot_panels(struct arena *arena, const struct panels *panels,
                 const struct plot_request *request, struct diag *diag)
{
    struct plot_page page = {.arena = arena, .request = request, .subject = panels, .diag = diag};
    return plot_page_draw(&page, write_page);
}
