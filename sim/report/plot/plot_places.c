/* Which end an axis up has is decided here alone, so that two pictures of one study have the same.
 */
#include "report/plot/plot_places.h"

#include <math.h>

#define HEADROOM 1.1   /* above the highest value */
#define BREAK_FROM 0.7 /* lowest value by the highest from which the axis does not begin at 0 */

struct x_range {
    double low, high;
};

static struct x_range range_of(const struct plot_axis *x)
{
    const double first = x->values[0];
    const double last = x->values[x->count - 1];
    if (x->is_log2) {
        const double room = fmax(1.06, pow(last / first, 0.03));
        return (struct x_range){first / room, last * room};
    }
    const double margin = !x->is_numeric ? 0.5 : last > first ? 0.03 * (last - first) : 1;
    return (struct x_range){first - margin, last + margin};
}

double plot_place_pixel(const struct plot_page *page, const struct plot_axis *x, uint32_t place)
{
    const struct x_range range = range_of(x);
    const double value = x->values[place];
    const double share = x->is_log2 ? log(value / range.low) / log(range.high / range.low)
                                    : (value - range.low) / (range.high - range.low);
    return share * (page->frame.width - page->frame.left - page->frame.right);
}

double plot_places_narrowest(const struct plot_page *page, const struct plot_axis *x)
{
    double room = page->frame.width;
    for (uint32_t i = 1; i < x->count; i++) {
        room = fmin(room, plot_place_pixel(page, x, i) - plot_place_pixel(page, x, i - 1));
    }
    return room;
}

void plot_places_up(double lowest, double highest, double *low, double *high)
{
    const bool is_broken = lowest > BREAK_FROM * highest && highest > lowest;
    *low = is_broken ? lowest - 0.25 * (highest - lowest) : fmin(lowest, 0);
    *high = *low + HEADROOM * (highest > *low ? highest - *low : 1);
}

void plot_places_write_across(FILE *script, const struct plot_axis *x)
{
    const struct x_range range = range_of(x);
    fprintf(script, "%sset xrange [%.10g:%.10g]\n", x->is_log2 ? "set logscale x 2\n" : "",
            range.low, range.high);
}

void plot_places_write_up(FILE *script, double low, double high)
{
    const double wanted = (high - low) / 6;
    const double power = pow(10, floor(log10(wanted)));
    const double share = wanted / power;
    const double step = power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
    fprintf(script, "set ytics %.10g, %.10g\n", step * ceil(low / step - 1e-9), step);
    if (low > 0) {
        fputs("set label '≈' at graph 0, first LOW center offset 0,0.5 front\n", script);
    }
}
