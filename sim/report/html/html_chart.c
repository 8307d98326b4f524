/* A chart: a grid of names, pictures and values. Places are per cents of the picture's width, so
 * that it fits any page without a script.
 */
#include "base/absent.h"
#include "base/arena.h"
#include "report/html/html_parts.h"

#include <math.h>

enum { HEIGHT = 24, MIDDLE = HEIGHT / 2, THICKNESS = 14, RADIUS = 5 };

/* Where a value lies, in per cent. */
static double place(const struct chart_axis *axis, double value)
{
    return 100 * (fmin(fmax(value, axis->from), axis->to) - axis->from) / (axis->to - axis->from);
}

/* On a dark page: half of the way to white, or dark blue and grey are not seen. */
static uint32_t on_dark(uint32_t colour)
{
    uint32_t light = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        const uint32_t part = colour >> shift & 0xff;
        light |= (part + (0xff - part) * 2 / 5) << shift;
    }
    return light;
}

static void put_colours(uint32_t colour, FILE *out)
{
    fprintf(out, " style=\"--c:#%06x;--d:#%06x\"", (unsigned)colour, (unsigned)on_dark(colour));
}

static void put_grid(const struct chart *chart, const struct chart_axis *axis, FILE *out)
{
    for (uint32_t i = 0; i < axis->count; i++) {
        const double x = place(axis, axis->first + i * axis->step);
        fprintf(out, "<line class=\"g\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\"/>", x, x,
                HEIGHT);
    }
    if (!is_absent(chart->reference)) {
        const double x = place(axis, chart->reference);
        fprintf(out, "<line class=\"z\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"0\" y2=\"%d\"/>", x, x,
                HEIGHT);
    }
}

static void put_dot(const struct chart_mark *mark, const struct chart_axis *axis, bool is_hollow,
                    FILE *out)
{
    if (!is_absent(mark->from) && !is_absent(mark->to)) {
        fprintf(out, "<line class=\"k\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%d\" y2=\"%d\"/>",
                place(axis, mark->from), place(axis, mark->to), MIDDLE, MIDDLE);
    }
    fprintf(out, "<circle class=\"%s\" cx=\"%.2f%%\" cy=\"%d\" r=\"%d\"/>", is_hollow ? "h" : "d",
            place(axis, mark->at), MIDDLE, RADIUS);
}

static void put_piece(const struct chart *chart, const struct chart_mark *mark,
                      const struct chart_axis *axis, FILE *out)
{
    const double x = place(axis, mark->from);
    const double width = place(axis, mark->to) - x;
    if (width >= 0.005) { /* else nothing of it is written */
        fprintf(out, "<rect class=\"p\" x=\"%.2f%%\" width=\"%.2f%%\" y=\"%d\" height=\"%d\"", x,
                width, MIDDLE - THICKNESS / 2, THICKNESS);
        put_colours(chart->colours[mark->series], out);
        fputs("/>", out);
    }
}

static void put_row(const struct chart *chart, const struct chart_row *row,
                    const struct chart_axis *axis, FILE *out)
{
    fputs("<div class=\"fr\"><span class=\"nm\">", out);
    html_line(chart->arena, row->name, out);
    fprintf(out, "</span><svg aria-hidden=\"true\" height=\"%d\">", HEIGHT);
    put_grid(chart, axis, out);
    for (uint32_t i = 0; i < row->mark_count; i++) {
        const struct chart_mark *mark = &row->marks[i];
        if (is_absent(mark->at)) {
            put_piece(chart, mark, axis, out);
        } else {
            put_dot(mark, axis, row->is_reference, out);
        }
    }
    fputs("</svg><span class=\"vl\">", out);
    html_line(chart->arena, row->value, out);
    if (row->beside != NULL && row->beside[0] != '\0') {
        fputs(" <span>", out);
        html_line(chart->arena, row->beside, out);
        fputs("</span>", out);
    }
    fputs("</span></div>\n", out);
}

/* A number at the edge would leave the picture: it stands inside of it. */
static const char *anchor_of(double x)
{
    return x < 4 ? "start" : x > 96 ? "end" : "middle";
}

static void put_axis(const struct chart *chart, const struct chart_axis *axis, FILE *out)
{
    fputs("<div class=\"fr ax\"><span class=\"nm\"></span><svg aria-hidden=\"true\" height=\"18\">",
          out);
    for (uint32_t i = 0; i < axis->count; i++) {
        const double value = axis->first + i * axis->step;
        const double x = place(axis, value);
        const double shown = fabs(value) < axis->step / 1000 ? 0 : value; /* 1e-17 */
        fprintf(out, "<text x=\"%.2f%%\" y=\"13\" text-anchor=\"%s\">%g", x, anchor_of(x), shown);
        html_line(chart->arena, i + 1 == axis->count ? chart->unit : "", out);
        fputs("</text>", out);
    }
    fputs("</svg><span class=\"vl\"></span></div>\n", out);
}

static void put_key(const struct chart *chart, FILE *out)
{
    fputs("<ul class=\"key\">", out);
    for (uint32_t i = 0; i < chart->series_count; i++) {
        fputs("<li><i", out);
        put_colours(chart->colours[i], out);
        fputs("></i>", out);
        html_line(chart->arena, chart->series[i], out);
        fputs("</li>", out);
    }
    fputs("</ul>\n", out);
}

void html_chart(const struct chart *chart, FILE *out)
{
    const struct chart_axis axis = chart_axis_of(chart);
    fputs("<figure><figcaption>", out);
    html_line(chart->arena, chart->title, out);
    fputs("</figcaption>\n", out);
    if (chart->series_count > 0) {
        put_key(chart, out);
    }
    for (uint32_t i = 0; i < chart->row_count; i++) {
        put_row(chart, &chart->rows[i], &axis, out);
    }
    put_axis(chart, &axis, out);
    fputs("</figure>\n", out);
}
