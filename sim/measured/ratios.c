/* Each row is held against each later one: the square of some hundred rows, with a comparison that
 * mostly ends at the first column.
 */
#include "measured/ratios.h"

#include "base/absent.h"
#include "base/arena.h"
#include "measured/published/published_columns.h"

#include <math.h>
#include <string.h>

/* What follows from other columns, or is not of the run. */
static bool follows(const char *column)
{
    static const char *const columns[] = {"dp", "micro_num", "params_b", "intra_node_link"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (strcmp(columns[i], column) == 0) {
            return true;
        }
    }
    return false;
}

static const char *text_of(const struct validated_row *row, const char *column)
{
    return published_text(row->table, row->row, column);
}

/* All that is stated is equal, but in `column`. The table of columns has those that tell what was
 * run between the framework and the optimizer. */
static bool is_same_work(const struct validated_row *a, const struct validated_row *b,
                         const char *column)
{
    bool is_inside = false;
    bool is_same = strcmp(text_of(a, "source"), text_of(b, "source")) == 0;
    for (uint32_t i = 0; is_same && i < published_known_count; i++) {
        const char *name = published_known[i].name;
        is_inside = is_inside || strcmp(name, "framework") == 0;
        if (is_inside && strcmp(name, column) != 0 && !follows(name)) {
            is_same = strcmp(text_of(a, name), text_of(b, name)) == 0;
        }
        if (strcmp(name, "optimizer") == 0) {
            break;
        }
    }
    return is_same;
}

static struct ratio ratio_between(const struct validated_row *a, double a_value,
                                  const struct validated_row *b, double b_value)
{
    const bool is_up = a_value < b_value;
    const struct validated_row *first = is_up ? a : b;
    const struct validated_row *second = is_up ? b : a;
    const double measured = second->measured_s / first->measured_s;
    const double predicted = second->predicted_s / first->predicted_s;
    return (struct ratio){.first = first,
                          .second = second,
                          .from = is_up ? a_value : b_value,
                          .to = is_up ? b_value : a_value,
                          .measured = measured,
                          .predicted = predicted,
                          .error = predicted / measured - 1.0};
}

struct ratio *ratios_of(struct arena *arena, const struct validated_row *rows, uint32_t count,
                        const char *column, uint32_t *ratio_count)
{
    struct ratio *ratios =
        arena_array(arena, (size_t)count * (count + (size_t)1) / 2 + 1, sizeof *ratios);
    *ratio_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1; k < count; k++) {
            double a = 0;
            double b = 0;
            if (published_number(rows[i].table, rows[i].row, column, &a) &&
                published_number(rows[k].table, rows[k].row, column, &b) && (a < b || b < a) &&
                is_same_work(&rows[i], &rows[k], column)) {
                ratios[(*ratio_count)++] = ratio_between(&rows[i], a, &rows[k], b);
            }
        }
    }
    return ratios;
}

struct ratio_score ratios_score(const struct ratio *ratios, uint32_t count)
{
    double errors = 0;
    double products = 0;
    double squares = 0;
    uint32_t right = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double measured = log(ratios[i].measured);
        const double predicted = log(ratios[i].predicted);
        errors += fabs(ratios[i].error);
        products += measured * predicted;
        squares += measured * measured;
        right += (measured > 0) == (predicted > 0) ? 1 : 0;
    }
    return (struct ratio_score){.pairs = count,
                                .mean = count > 0 ? errors / count : ABSENT,
                                .right_sign = count > 0 ? (double)right / count : ABSENT,
                                .slope = squares > 0 ? products / squares : ABSENT};
}
