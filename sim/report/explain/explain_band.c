/* Section 9 of `stoker explain`: how far measured runs lay from their predictions. */
#include "report/explain/explain_sections.h"
#include "report/explain/explain_text.h"

#include "base/absent.h"
#include "base/arena.h"

#include <math.h>

static void add_off(struct sheet *in, const char *key, const void *record)
{
    const struct band_run *run = record;
    (void)key;
    sheet_say(in, "%+.1f", 100 * (1.0 / run->ratio - 1.0));
}

static const struct field fields[] = {
    {"id", FIELD_AT(struct band_run, id), FIELD_LEFT("nearest measured run")},
    {"source", FIELD_AT(struct band_run, source), FIELD_LEFT("source")},
    {"measured_over_predicted", FIELD_AT(struct band_run, ratio),
     FIELD_RIGHT("measured/predicted", "%.3f", 1)},
    {NULL, FIELD_RIGHT("error %", "%.1f", 1), .add = add_off},
};

/* What makes the band wider than that of its class. */
static void say_widths(const struct band *band, struct sheet *in)
{
    if (band->widening > 1) {
        sheet_say(in,
                  "Beyond what was measured, the band's logarithm is %.2f times as wide: a factor "
                  "of %.3f.\n",
                  band->widening, pow(band->alike, band->widening));
    }
    if (band->knows_box) {
        sheet_say(in,
                  "What was measured of this box leaves open %.1f %% of such a step that boxes of "
                  "its kind differ by\nand no measured run holds; what these hold of it is off: a "
                  "factor of %.3f.\n",
                  100 * band->box_spread, band->high);
    } else if (band->box_spread > 0) {
        sheet_say(in,
                  "Boxes of this GPU differ by %.1f %% of such a step (standard deviation, by "
                  "gemm.box_spread\nof its file): with that a factor of %.3f.\n",
                  100 * band->box_spread, band->high);
    }
}

static const struct field parts[] = {
    {"name", FIELD_AT(struct band_part, name)},
    {"times", FIELD_AT(struct band_part, times)},
};

void explain_band(const struct explanation *explanation, struct sheet *in)
{
    const struct band *band = explanation->result->band;
    const bool is_known = band != NULL && band->votes > 0;
    sheet_number(in, "p10", is_known ? band->low : ABSENT);
    sheet_number(in, "p90", is_known ? band->high : ABSENT);
    sheet_list(in, "parts", FIELD_LIST(parts), is_known ? band->parts : NULL,
               is_known ? band->part_count : 0, sizeof *band->parts);
    sheet_number(in, "widening", is_known ? band->widening : ABSENT);
    sheet_number(in, "box_spread", is_known ? band->box_spread : ABSENT);
    sheet_texts(in, "outside", is_known ? band->outside : NULL, is_known ? band->outside_count : 0);
    if (!is_known) {
        sheet_say(in, "no band: %s\n", band != NULL ? band->reason : "nobody asked");
        return;
    }
    if (band->is_ratio) {
        sheet_say(in,
                  "The prediction is relative to its anchor: from measured runs the ratio of two "
                  "that differ likewise,\nand how far each is off by itself, it is within a factor "
                  "of %.3f in 80 %% of cases (%u pairs).\n",
                  band->high, band->all_votes);
        return;
    }
    sheet_say(
        in,
        "Four of five measured runs like it, each predicted by what other sources had published "
        "before it, were\noff by less than a factor of %.3f, as a regression of the errors of all "
        "%u has it; %u are of this\nclass: %s.\n",
        band->alike, band->all_votes, band->votes, band->like);
    for (uint32_t i = 0; i < band->part_count; i++) {
        sheet_say(in, "  %.2f times as wide (logarithms): %s\n", band->parts[i].times,
                  band->parts[i].says);
    }
    for (uint32_t i = 0; i < band->outside_count; i++) {
        sheet_say(in, "  outside: %s\n", band->outside[i]);
    }
    if (band->unproven_count > 0) {
        explain_paragraph(
            in, 0,
            "Not validated: %s. Public reports of that were off by up to a factor of %.3g, and the "
            "band is no narrower.",
            sheet_joined(sheet_arena(in), band->unproven, band->unproven_count),
            fmax(1, band->reported));
    }
    say_widths(band, in);
    struct sheet *table = sheet_table(in, "nearest", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    sheet_rows(table, band->nearest, band->nearest_count, sizeof *band->nearest);
}
