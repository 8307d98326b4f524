/* Names of limits are written into scripts, with what means nothing to gnuplot alone left of them:
 * they are a metric, a sign and a quantity, which were read as such.
 */
#include "report/plot/plot_limits.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

enum { NAME_GAP = 20, NAME_LINE = 18 };
#define NEAR 0.6 /* of the span of the values, or of the highest one, beyond them */

void plot_limits_find(const struct plot_page *page, const char *metric, double factor, double *low,
                      double *high, struct plot_limits *limits)
{
    const double reach = NEAR * fmax(*high - *low, fabs(*high));
    const double from = *low - reach;
    const double to = *high + reach;
    *limits = (struct plot_limits){.count = 0};
    for (uint32_t i = 0; i < page->request->limit_count; i++) {
        const struct plot_limit *limit = &page->request->limits[i];
        const double at = limit->value * factor;
        if (strcmp(limit->metric, metric) == 0 && at >= from && at <= to &&
            limits->count < PLOT_LIMITS_MAX) {
            limits->items[limits->count] = limit;
            limits->at[limits->count++] = at;
            *low = fmin(*low, at);
            *high = fmax(*high, at);
        }
    }
}

static bool has(const struct plot_limits *limits, const struct plot_limit *limit)
{
    for (uint32_t i = 0; limits != NULL && i < limits->count; i++) {
        if (limits->items[i] == limit) {
            return true;
        }
    }
    return false;
}

void plot_limits_note(struct plot_page *page, const struct plot_limits *across,
                      const struct plot_limits *up)
{
    const char *others = "";
    const bool has_lines = (across != NULL && across->count > 0) || (up != NULL && up->count > 0);
    for (uint32_t i = 0; i < page->request->limit_count; i++) {
        const struct plot_limit *limit = &page->request->limits[i];
        if (!has(across, limit) && !has(up, limit)) {
            others = arena_printf(page->arena, "%s%s%s", others, others[0] != '\0' ? ", " : "",
                                  limit->text);
        }
    }
    if (others[0] != '\0') {
        plot_add_note(
            page, arena_printf(page->arena, "required%s: %s", has_lines ? ", too" : "", others));
    }
}

uint32_t plot_limits_right(const struct plot_limits *limits)
{
    double width = 0;
    for (uint32_t i = 0; i < limits->count; i++) {
        width = fmax(width, plot_text_width(limits->items[i]->text, PLOT_LETTER));
    }
    return limits->count > 0 ? (uint32_t)width + NAME_GAP : 0;
}

uint32_t plot_limits_above(const struct plot_limits *limits)
{
    return limits->count * NAME_LINE;
}

static const char *name_of(struct arena *arena, const struct plot_limit *limit)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "_.<>=/ %+-";
    char *name = arena_strdup(arena, limit->text);
    for (char *letter = name; *letter != '\0'; letter++) {
        if (strchr(safe, *letter) == NULL) {
            *letter = '_';
        }
    }
    return name;
}

#define LINE_STYLE "nohead lw 1.6 dt 3 lc rgb '#222222' front"

void plot_limits_write_level(const struct plot_page *page, const struct plot_limits *limits,
                             const double *heights)
{
    for (uint32_t i = 0; i < limits->count; i++) {
        fprintf(page->script,
                "set arrow from graph 0, first %.10g to graph 1, first %.10g " LINE_STYLE "\n"
                "set label '%s' at graph 1, first LOW + %.6g * PIXEL left offset 0.8,0 "
                "textcolor rgb '#222222'\n",
                limits->at[i], limits->at[i], name_of(page->arena, limits->items[i]), heights[i]);
    }
}

/* One above the other, so that none covers another. */
void plot_limits_write_upright(const struct plot_page *page, const struct plot_limits *limits,
                               double middle)
{
    for (uint32_t i = 0; i < limits->count; i++) {
        const double above = (i + 0.5) * NAME_LINE / page->frame.plot_height;
        fprintf(page->script,
                "set arrow from first %.10g, graph 0 to first %.10g, graph %.6g " LINE_STYLE "\n"
                "set label ' %s ' at first %.10g, graph %.6g %s textcolor rgb '#222222'\n",
                limits->at[i], limits->at[i], 1 + above, name_of(page->arena, limits->items[i]),
                limits->at[i], 1 + above, limits->at[i] > middle ? "right" : "left");
    }
}
