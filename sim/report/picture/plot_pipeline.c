/* Boxes go to the CSV; the script makes polygons of them, one for all boxes of one look, since a
 * picture of an element for each box is ten times as large. In a polygon each box stands on its
 * row's base line, so parts that lie higher are drawn first.
 */
#include "report/picture/plot_pipeline.h"

#include "base/arena.h"
#include "report/plot/plot_kinds.h"
#include "report/picture/plot_pipeline_layout.h"

#include <inttypes.h>
#include <math.h>

enum {
    HATCHED_FROM = 5,  /* pixels wide */
    OUTLINED_FROM = 3, /* narrower parts of the path are lines */
    TICS = 8,
};

/* ---- the CSV --------------------------------------------------------------------------------- */

static bool is_dark(uint32_t colour)
{
    return 0.3 * (colour >> 16 & 0xff) + 0.59 * (colour >> 8 & 0xff) + 0.11 * (colour & 0xff) < 150;
}

static bool has_same_look(const struct pipeline_box *a, const struct pipeline_box *b)
{
    return a->lane == b->lane && a->part == b->part && a->chunk == b->chunk;
}

static void write_box(struct plot_page *page, const struct pipeline_drawing *drawing,
                      uint32_t number, uint32_t polygon, const struct pipeline_box *box)
{
    const struct pipeline_panel *panel = &drawing->panels[number];
    const uint32_t colour = pipeline_colour(drawing->timeline, box->part, box->chunk);
    const char *label = pipeline_label(drawing, panel, box);
    const double width = pipeline_x(panel, box->end) - pipeline_x(panel, box->start);
    plot_row(page,
             PLOT_NUMBERS(number, box->row, box->lane,
                          box->chunk != PIPELINE_NO_CHUNK ? (double)box->chunk : -1,
                          box->label != PIPELINE_NO_LABEL ? (double)box->label : -1,
                          sim_time_to_s(box->start), sim_time_to_s(box->end), box->low, box->high,
                          polygon, box->ends_bar && width >= PIPELINE_GAP_FROM,
                          is_dark(colour) ? 0xffffff : 0x222222,
                          pipeline_base(panel, box->row, box->lane)),
             PLOT_TEXTS(pipeline_part_name(box->part),
                        pipeline_row_name(drawing->arena, drawing->timeline, box->row), label));
}

static uint32_t write_boxes(struct plot_page *page, const struct pipeline_drawing *drawing)
{
    uint32_t polygon = 0;
    for (uint32_t i = 0; i < drawing->panel_count; i++) {
        const struct pipeline_boxes *boxes = &drawing->panels[i].boxes;
        for (size_t k = 0; k < boxes->count; k++) {
            polygon += k == 0 || !has_same_look(&boxes->items[k], &boxes->items[k - 1]);
            write_box(page, drawing, i, polygon, &boxes->items[k]);
        }
    }
    return polygon;
}

/* Of each panel what of the path lies in it; `low` is the place of the row it comes from, from
 * above, `high` where to; halves: of a row that is not shown. */
static size_t write_runs(struct plot_page *page, const struct pipeline_drawing *drawing)
{
    size_t count = 0;
    for (uint32_t i = 0; i < drawing->panel_count; i++) {
        const struct pipeline_panel *panel = &drawing->panels[i];
        const struct pipeline_view *view = &panel->view;
        for (size_t k = 0; k < drawing->run_count; k++) {
            const struct pipeline_run *run = &drawing->runs[k];
            if (run->end <= view->from || run->start >= view->to) {
                continue;
            }
            const sim_time start = run->start > view->from ? run->start : view->from;
            const sim_time end = run->end < view->to ? run->end : view->to;
            plot_row(page,
                     PLOT_NUMBERS(i, run->row, -1, -1, -1, sim_time_to_s(start), sim_time_to_s(end),
                                  panel->places[run->row], panel->places[run->to], 0, 0, 0, -1),
                     PLOT_TEXTS(run->row == run->to ? "critical path" : "critical path, message",
                                pipeline_row_name(drawing->arena, drawing->timeline, run->row),
                                ""));
            count++;
        }
    }
    return count;
}

/* ---- the script: shapes ---------------------------------------------------------------------- */

/* Arrays of the columns, and of what each polygon stands on. */
static void write_arrays(const struct plot_page *page, const struct pipeline_drawing *drawing,
                         size_t row_count)
{
    FILE *script = page->script;
    fprintf(script, "array FROM[%u]\narray SCALE[%u]\n", drawing->panel_count,
            drawing->panel_count);
    for (uint32_t i = 0; i < drawing->panel_count; i++) {
        const struct pipeline_view *view = &drawing->panels[i].view;
        fprintf(script, "FROM[%u] = %.12g; SCALE[%u] = %.12g\n", i + 1, sim_time_to_s(view->from),
                i + 1, view->pixels / sim_time_to_s(view->to - view->from));
    }
    static const char *const columns[] = {"panel", "start_s", "end_s", "low",
                                          "high",  "polygon", "gap",   "base_px"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        fprintf(script, "array %s_[%zu]\n", columns[i], row_count);
    }
    fputs("stats DATA using (", script);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        fprintf(script, "%s_[int($0)+1] = column('%s'), ", columns[i], columns[i]);
    }
    fputs("0) nooutput\n"
          "left(i) = (start_s_[i] - FROM[panel_[i]+1]) * SCALE[panel_[i]+1]\n"
          "right(i) = (end_s_[i] - FROM[panel_[i]+1]) * SCALE[panel_[i]+1] - 0.8 * gap_[i]\n"
          "point(x, y) = sprintf('%.2f,%.2f', x, y)\n",
          script);
}

/* Each polygon of boxes: how high a full box of it is, its colour. It goes along the base of a row
 * from the left, back to the left, and on to the next row: so all boxes of one look are one. */
static void write_polygons(const struct plot_page *page, const struct pipeline_drawing *drawing,
                           uint32_t polygons, size_t boxes)
{
    FILE *script = page->script;
    fprintf(script, "array HEIGHT[%u]\narray COLOUR[%u]\n", polygons, polygons);
    uint32_t polygon = 0;
    for (uint32_t i = 0; i < drawing->panel_count; i++) {
        const struct pipeline_panel *panel = &drawing->panels[i];
        for (size_t k = 0; k < panel->boxes.count; k++) {
            const struct pipeline_box *box = &panel->boxes.items[k];
            if (k == 0 || !has_same_look(box, box - 1)) {
                polygon++;
                fprintf(script, "HEIGHT[%u] = %.6g; COLOUR[%u] = 0x%06" PRIx32 "\n", polygon,
                        pipeline_height(panel, box->lane), polygon,
                        pipeline_colour(drawing->timeline, box->part, box->chunk));
            }
        }
    }
    fprintf(script,
            "is_next(i) = i > 1 && i <= %zu ? polygon_[i-1] == polygon_[i] : 0\n"
            "is_in_row(i) = is_next(i) ? base_px_[i-1] == base_px_[i] : 0\n"
            "joins(i) = is_in_row(i) ? start_s_[i] <= end_s_[i-1] && gap_[i-1] == 0 : 0\n"
            "set print $boxes\n"
            "do for [i=1:%zu] {\n"
            "    base = base_px_[i]\n"
            "    top = base - high_[i] * HEIGHT[polygon_[i]]\n"
            "    if (i > 1 && !is_next(i)) {\n        print ''\n        print ''\n    }\n"
            "    if (!is_next(i)) {\n        print 'x,y'\n    }\n"
            "    if (!is_in_row(i)) {\n        print point(0, base)\n    }\n"
            "    if (!joins(i)) {\n        print point(left(i), base)\n    }\n"
            "    print point(left(i), top)\n"
            "    print point(right(i), top)\n"
            "    if (!joins(i+1)) {\n        print point(right(i), base)\n    }\n"
            "    if (!is_in_row(i+1)) {\n        print point(0, base)\n    }\n"
            "}\nset print\n",
            boxes, boxes);
}

static bool is_hatched(const struct pipeline_panel *panel, const struct pipeline_box *box)
{
    return box->lane == 0 && box->part >= PART_CAUSE_FIRST_ && box->low <= 0 &&
           pipeline_x(panel, box->end) - pipeline_x(panel, box->start) >= HATCHED_FROM;
}

/* Waits that are all of a column are hatched: one polygon of each panel. Returns their number. */
static uint32_t write_hatched(const struct plot_page *page, const struct pipeline_drawing *drawing)
{
    FILE *script = page->script;
    uint32_t polygons = 0;
    fputs("$hatched << END\n", script);
    for (uint32_t i = 0; i < drawing->panel_count; i++) {
        const struct pipeline_panel *panel = &drawing->panels[i];
        bool is_open = false;
        for (size_t k = 0; k < panel->boxes.count; k++) {
            const struct pipeline_box *box = &panel->boxes.items[k];
            if (!is_hatched(panel, box)) {
                continue;
            }
            fputs(is_open ? "" : polygons == 0 ? "x,y\n" : "\n\nx,y\n", script);
            polygons += !is_open;
            is_open = true;
            const double left = pipeline_x(panel, box->start);
            const double right = pipeline_x(panel, box->end);
            const double base = pipeline_base(panel, box->row, 0);
            const double top = base - box->high * panel->row_height;
            fprintf(script, "0,%.2f\n%.2f,%.2f\n%.2f,%.2f\n%.2f,%.2f\n%.2f,%.2f\n0,%.2f\n", base,
                    left, base, left, top, right, top, right, base, base);
        }
    }
    fputs("END\n", script);
    return polygons;
}

/* The path: a frame round a row where it is wide enough, else a line, and lines of messages. */
static void write_path(const struct plot_page *page, const struct pipeline_drawing *drawing,
                       size_t boxes, size_t rows)
{
    FILE *script = page->script;
    fprintf(script, "array TOP[%u]\narray ROW[%u]\narray PITCH[%u]\n", drawing->panel_count,
            drawing->panel_count, drawing->panel_count);
    for (uint32_t i = 0; i < drawing->panel_count; i++) {
        const struct pipeline_panel *panel = &drawing->panels[i];
        fprintf(script, "TOP[%u] = %.6g; ROW[%u] = %.6g; PITCH[%u] = %.6g\n", i + 1, panel->top,
                i + 1, panel->row_height, i + 1,
                pipeline_row_top(panel, 1) - pipeline_row_top(panel, 0));
    }
    fprintf(
        script,
        "above(i, row) = TOP[panel_[i]+1] + row * PITCH[panel_[i]+1]\n"
        "below(i, row) = above(i, row) + ROW[panel_[i]+1]\n"
        "half(i, row) = (above(i, row) + below(i, row)) / 2\n"
        "set print $path\nprint 'x,y'\n"
        "do for [i=%zu:%zu] {\n"
        "    if (low_[i] == high_[i] && low_[i] == floor(low_[i]) && right(i) - left(i) >= %d) {\n"
        "        print point(left(i), half(i, low_[i]))\n"
        "        print ''\n"
        "        print point(left(i), below(i, low_[i]))\n"
        "        print point(left(i), above(i, low_[i]))\n"
        "        print point(right(i), above(i, low_[i]))\n"
        "        print point(right(i), below(i, low_[i]))\n"
        "        print point(left(i), below(i, low_[i]))\n"
        "        print ''\n"
        "        print point(right(i), half(i, low_[i]))\n"
        "    } else {\n"
        "        print point(left(i), half(i, low_[i]))\n"
        "        print point(right(i), half(i, high_[i]))\n"
        "    }\n"
        "    if (i < %zu && panel_[i+(i<%zu)] != panel_[i]) {\n        print ''\n    }\n"
        "}\nset print\n",
        boxes + 1, rows, OUTLINED_FROM, rows, rows);
}

/* ---- the script: words ----------------------------------------------------------------------- */

static void write_label(const struct plot_page *page, const char *text, double x, double y,
                        const char *style)
{
    fprintf(page->script, "set label '%s' at %.6g,%.6g %s\n", text, x, y, style);
}

static void write_line(const struct plot_page *page, double x, double y, double to_x, double to_y,
                       const char *style)
{
    fprintf(page->script, "set arrow from %.6g,%.6g to %.6g,%.6g nohead %s\n", x, y, to_x, to_y,
            style);
}

/* Each, or, where rows are lower than letters, one of several: slow GPUs before stages. */
static bool is_named(const struct pipeline_drawing *drawing, const struct pipeline_panel *panel,
                     uint32_t i)
{
    const double pitch = pipeline_row_top(panel, 1) - pipeline_row_top(panel, 0);
    const uint32_t every = (uint32_t)ceil((PIPELINE_SMALL + 1) / pitch);
    const uint32_t first_slow = drawing->timeline->stages;
    bool is_free = panel->rows[i] >= first_slow || i % every == 0;
    for (uint32_t k = i + 1 > every ? i + 1 - every : 0; k < i + every; k++) {
        is_free = is_free && (k >= panel->row_count || panel->rows[k] < first_slow || k == i ||
                              (k > i && panel->rows[i] >= first_slow));
    }
    return is_free;
}

static void write_names(const struct plot_page *page, const struct pipeline_drawing *drawing,
                        const struct pipeline_panel *panel)
{
    for (uint32_t i = 0; i < panel->row_count; i++) {
        const uint32_t row = panel->rows[i];
        if (is_named(drawing, panel, i)) {
            write_label(page, pipeline_row_name(drawing->arena, drawing->timeline, row), -8,
                        pipeline_row_top(panel, i) + panel->row_height / 2,
                        "right font 'DejaVu Sans,11' textcolor rgb '#222222'");
        }
        for (uint32_t lane = 0; lane < panel->view.lane_count; lane++) {
            if (panel->lane_height >= PIPELINE_SMALL) {
                write_label(page, pipeline_lane_name(drawing->arena, drawing->lanes[lane]), -8,
                            pipeline_base(panel, row, lane + 1) - panel->lane_height / 2,
                            "right font 'DejaVu Sans,11' textcolor rgb '#666666'");
            }
        }
    }
}

/* Behind the lanes of each row. */
static void write_bands(const struct plot_page *page, const struct pipeline_drawing *drawing,
                        const struct pipeline_panel *panel)
{
    for (uint32_t i = 0; panel->view.lane_count > 0 && i < panel->row_count; i++) {
        fprintf(page->script,
                "set object rectangle from 0,%.6g to %.6g,%.6g behind fillcolor rgb '#f0f0f0' "
                "fillstyle solid 1 noborder\n",
                pipeline_base(panel, panel->rows[i], 0) + 2, drawing->width,
                pipeline_base(panel, panel->rows[i], panel->view.lane_count));
    }
}

/* 1, 2 or 5 times a power of ten, so that there are about TICS. */
static double tic_step(double length)
{
    const double least = length / TICS;
    const double power = pow(10, floor(log10(least)));
    return power * (least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10);
}

static void write_axis(const struct plot_page *page, const struct pipeline_drawing *drawing,
                       const struct pipeline_panel *panel)
{
    const double y = pipeline_bottom(panel);
    fprintf(page->script, "# panel: %.6g to %.6g, %.6g wide\n", panel->top, y, drawing->width);
    const double from = sim_time_to_s(panel->view.from) * drawing->unit;
    const double to = sim_time_to_s(panel->view.to) * drawing->unit;
    const double step = tic_step(to - from);
    write_line(page, 0, y, drawing->width, y, "lc rgb '#444444' lw 1");
    for (double tic = ceil(from / step); tic * step <= to; tic += 1) {
        const double x = (tic * step - from) / (to - from) * drawing->width;
        write_line(page, x, y, x, y + 4, "lc rgb '#444444' lw 1");
        write_label(page, arena_printf(drawing->arena, "%.8g", tic * step), x, y + 13,
                    "center font 'DejaVu Sans,11' textcolor rgb '#444444'");
    }
    if (panel->caption[0] != '\0') {
        write_label(page, panel->caption, drawing->width / 2, panel->top - 11,
                    "center font 'DejaVu Sans,12' textcolor rgb '#222222'");
    }
}

/* In the whole step, what the panel below magnifies. */
static void write_window(const struct plot_page *page, const struct pipeline_drawing *drawing)
{
    const struct pipeline_panel *whole = &drawing->panels[0];
    const struct pipeline_panel *part = &drawing->panels[1];
    const double left = pipeline_x(whole, part->view.from);
    const double right = pipeline_x(whole, part->view.to);
    const double bottom = pipeline_bottom(whole);
    fprintf(page->script,
            "set object rectangle from %.6g,%.6g to %.6g,%.6g front fillstyle empty "
            "border lc rgb '#a50026' lw 1.6\n",
            left, whole->top - 3, right, bottom);
    write_line(page, left, bottom, 0, part->top - 2, "lc rgb '#a50026' lw 0.8 dt 3");
    write_line(page, right, bottom, drawing->width, part->top - 2, "lc rgb '#a50026' lw 0.8 dt 3");
}

/* ---- the page -------------------------------------------------------------------------------- */

static uint32_t add_keys(const struct plot_page *page, const struct pipeline_drawing *drawing,
                         struct plot_key *keys)
{
    uint32_t count = 0;
    for (uint32_t part = 0; part < PART_COUNT_; part++) {
        if (drawing->has_part[part]) {
            const uint32_t colour = pipeline_colour(drawing->timeline, part, PIPELINE_NO_CHUNK);
            keys[count++] = plot_key_patch(page->arena, pipeline_part_name(part),
                                           arena_printf(page->arena, "#%06" PRIx32, colour));
        }
    }
    keys[count++] =
        plot_key_of(page->arena, "critical path", "pt 4 ps 1.3 lw 1.8 lc rgb '#000000'");
    return count;
}

/* "1f1b, 8 microbatches; thin lanes: transfers under way (TP, PP); hatched, ..." */
static const char *note_of(const struct pipeline_drawing *drawing, const char *fixed)
{
    struct arena *arena = drawing->arena;
    const char *lanes = "";
    for (uint32_t i = 0; i < drawing->lane_count; i++) {
        lanes = arena_printf(arena, "%s%s%s", lanes, i > 0 ? ", " : "",
                             pipeline_lane_name(arena, drawing->lanes[i]));
    }
    const char *note = fixed;
    if (drawing->lane_count > 0) {
        note = arena_printf(
            arena,
            "%s; thin lanes: transfers under way, as high as the share of time that they take (%s)",
            note, lanes);
    }
    if (drawing->has_wait) {
        note =
            arena_printf(arena, "%s; hatched, or on top of a bar: the GPU waits, by cause", note);
    }
    if (drawing->timeline->slow_left_out > 0) {
        note = arena_printf(arena, "%s; %" PRIu32 " more slow GPUs have no row", note,
                            drawing->timeline->slow_left_out);
    }
    return note;
}

static const char *plot_command(const struct plot_page *page, uint32_t polygons, uint32_t hatched)
{
    const char *hatching =
        hatched > 0 ? arena_printf(page->arena,
                                   "     for [i=0:%u] $hatched index i using 1:2 with filledcurves "
                                   "closed fillstyle transparent pattern 4 noborder fc rgb "
                                   "'#ffffff', \\\n",
                                   hatched - 1)
                    : "";
    return arena_printf(
        page->arena,
        "plot for [i=1:%u] $boxes index (i-1) using 1:2 with filledcurves closed fillstyle solid 1 "
        "noborder fc rgb COLOUR[i], \\\n"
        "%s     $path using 1:2 with lines lw 1.5 dt 1 lc rgb '#000000', \\\n"
        "     DATA using (has_label(int($0)+1) ? (left(int($0)+1)+right(int($0)+1))/2 : NaN):"
        "(has_label(int($0)+1) ? middle(int($0)+1) : NaN):(label[int($0)+1]):"
        "(column('label_colour')) with labels font 'DejaVu Sans,11' textcolor rgb variable",
        polygons, hatching);
}

/* What is to be drawn. */
struct pipeline_subject {
    const struct timeline *timeline;
    const char *fixed;
};

static bool write_gantt(struct plot_page *page)
{
    static const char *const numbers[] = {
        "panel", "row",  "lane",    "chunk", "microbatch",   "start_s", "end_s",
        "low",   "high", "polygon", "gap",   "label_colour", "base_px"};
    static const char *const texts[] = {"what", "name", "label"};
    const struct pipeline_drawing *drawing = page->subject;
    PLOT_HEAD(page, numbers, texts);
    const uint32_t polygons = write_boxes(page, drawing);
    size_t boxes = 0;
    for (uint32_t i = 0; i < drawing->panel_count; i++) {
        boxes += drawing->panels[i].boxes.count;
    }
    const size_t rows = boxes + write_runs(page, drawing);
    plot_script_begin(page, (uint32_t)rows);
    write_arrays(page, drawing, rows);
    fprintf(page->script,
            "set border 0\nunset grid\nunset tics\nset key off\n"
            "set xrange [0:%.6g]\nset yrange [%.6g:0]\n",
            drawing->width, drawing->height);
    write_polygons(page, drawing, polygons, boxes);
    const uint32_t hatched = write_hatched(page, drawing);
    write_path(page, drawing, boxes, rows);
    fprintf(page->script,
            "has_label(i) = i <= %zu ? label[i] ne '-' : 0\n"
            "middle(i) = base_px_[i] - (low_[i] + high_[i]) / 2 * HEIGHT[polygon_[i]]\n",
            boxes);
    for (uint32_t i = 0; i < drawing->panel_count; i++) {
        write_bands(page, drawing, &drawing->panels[i]);
        write_names(page, drawing, &drawing->panels[i]);
        write_axis(page, drawing, &drawing->panels[i]);
    }
    if (drawing->panel_count > 1) {
        write_window(page, drawing);
    }
    write_label(page, arena_printf(page->arena, "time, %s", drawing->unit_name), drawing->width,
                drawing->height - PIPELINE_AXIS_TITLE / 2.0, "right textcolor rgb '#222222'");
    plot_script_end(page, plot_command(page, polygons, hatched));
    return true;
}

static void set_frame(struct plot_page *page, const struct pipeline_drawing *drawing)
{
    struct plot_key *keys = arena_array(page->arena, PART_COUNT_ + 1, sizeof *keys);
    plot_frame_set(page, &(struct plot_frame){.width = PIPELINE_WIDTH,
                                              .plot_height = (uint32_t)ceil(drawing->height),
                                              .left = (uint32_t)drawing->left,
                                              .right = PIPELINE_RIGHT,
                                              .bottom = 4,
                                              .keys = keys,
                                              .key_count = add_keys(page, drawing, keys)});
}

/* What is around the plot is known when its parts are: a page of a size is laid out twice. */
static bool write_fitted(struct plot_page *page)
{
    const struct pipeline_subject *subject = page->subject;
    struct pipeline_page room = {.width = plot_frame_width(page, PIPELINE_WIDTH)};
    struct pipeline_drawing *drawing = arena_alloc(page->arena, sizeof *drawing);
    *drawing = pipeline_lay_out(page->arena, subject->timeline, &room);
    page->note = note_of(drawing, subject->fixed);
    set_frame(page, drawing);
    if (page->size->height > 0) {
        room.height = page->frame.plot_height;
        *drawing = pipeline_lay_out(page->arena, subject->timeline, &room);
        page->note = note_of(drawing, subject->fixed);
        set_frame(page, drawing);
        page->frame.plot_height = (uint32_t)fmax(page->frame.plot_height, ceil(drawing->height));
        drawing->height = page->frame.plot_height;
    }
    page->subject = drawing;
    return write_gantt(page);
}

bool plot_pipeline(struct arena *arena, const struct timeline *timeline, const char *fixed,
                   const struct plot_request *request, struct diag *diag)
{
    const struct pipeline_subject subject = {.timeline = timeline, .fixed = fixed};
    struct plot_page page = {.arena = arena, .request = request, .subject = &subject, .diag = diag};
    return plot_page_draw(&page, write_fitted);
}
