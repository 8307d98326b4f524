/* What a report leans on: measured runs, assumed constants, and what is left out. */
#include "report/study/report_words.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/scenario_keys.h"
#include "input/schema/schema.h"
#include "report/against_sheet.h"
#include "bands/unproven.h"
#include "report/sheet.h"

#include <string.h>

enum { REASON_CHARACTERS = 120, VALUES_BYTES = 28 };

/* ---- assumptions ---------------------------------------------------------------------------- */

/* By what they move, as the schema has it: steps first. */
enum { MOVES_COUNT = 3 };

static uint32_t moves_of(const char *name)
{
    const struct schema *schema = NULL;
    const struct schema_row *row = scenario_key_find(name, &schema);
    const enum schema_moves moves =
        row != NULL ? schema_moves_of(schema, row) : SCHEMA_MOVES_MONTHS;
    return moves == SCHEMA_MOVES_STEPS ? 0 : moves == SCHEMA_MOVES_MONTHS ? 1 : 2;
}

/* Bytes of the section that a key lies in. */
static size_t section_bytes(const char *name)
{
    const char *dot = strrchr(name, '.');
    return dot != NULL ? (size_t)(dot - name) : 0;
}

/* Keys of one section that one source tells are one row. */
static bool are_together(const struct store_assumption *a, const struct store_assumption *b)
{
    const size_t length = section_bytes(a->name);
    const char *mine = a->reason != NULL ? a->reason : "";
    const char *its = b->reason != NULL ? b->reason : "";
    return length == section_bytes(b->name) && strncmp(a->name, b->name, length) == 0 &&
           strcmp(mine, its) == 0 && moves_of(a->name) == moves_of(b->name);
}

/* The section, its keys with their values, what they move, and where they are from; what is too
 * long for a row goes on in one that says no more. Returns the next assumption. */
static uint32_t add_together(const struct reported *all, uint32_t first, struct sheet *table)
{
    static const char *const words[MOVES_COUNT] = {"steps", "loading, failures",
                                                   "money, power, memory"};
    struct arena *arena = sheet_arena(table);
    const struct store_assumption *one = &all->assumptions[first];
    const size_t section = section_bytes(one->name);
    const char *reason =
        one->reason != NULL ? sheet_shortened(arena, one->reason, REASON_CHARACTERS) : NULL;
    uint32_t i = first;
    for (bool is_next = false; i < all->assumption_count && are_together(one, &all->assumptions[i]);
         is_next = true) {
        const char *values = NULL;
        do {
            const struct store_assumption *next = &all->assumptions[i++];
            const char *key = next->name + section + (section > 0 ? 1 : 0);
            const char *value = arena_printf(arena, "%s %s", key, next->value);
            values = values == NULL ? value : arena_printf(arena, "%s, %s", values, value);
        } while (i < all->assumption_count && are_together(one, &all->assumptions[i]) &&
                 strlen(values) < VALUES_BYTES);
        sheet_text(table, NULL, is_next ? "" : arena_strndup(arena, one->name, section));
        sheet_text(table, NULL, values);
        sheet_text(table, NULL, is_next ? "" : words[moves_of(one->name)]);
        sheet_text(table, NULL, is_next ? "" : reason);
    }
    return i;
}

static void add_assumptions(const struct reported *all, struct sheet *sheet)
{
    static const struct field fields[] = {
        {"name", FIELD_AT(struct store_assumption, name)},
        {"value", FIELD_AT(struct store_assumption, value)},
        {"reason", FIELD_AT(struct store_assumption, reason)},
    };
    static const struct field columns[] = {
        {NULL, FIELD_LEFT("section")},
        {NULL, FIELD_LEFT("assumed")},
        {NULL, FIELD_LEFT("moves"), .gives_way = 1},
        {NULL, FIELD_LEFT("where from"), .gives_way = 2},
    };
    sheet_heading(sheet, "Assumptions");
    sheet_list(sheet, "assumptions", FIELD_LIST(fields), all->assumptions, all->assumption_count,
               sizeof *all->assumptions);
    if (all->assumption_count == 0) {
        sheet_say(sheet, "None: every constant is measured, fitted or of a datasheet.\n");
        return;
    }
    sheet_say(
        sheet,
        "Constants that nobody measured, of the best point; `stoker explain --rank` ranks them "
        "by how much they move.\n");
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(columns));
    for (uint32_t moves = 0; moves < MOVES_COUNT; moves++) {
        for (uint32_t i = 0; i < all->assumption_count;) {
            i = moves_of(all->assumptions[i].name) == moves ? add_together(all, i, table) : i + 1;
        }
    }
}

/* ---- bands ---------------------------------------------------------------------------------- */

static const struct field nearest[] = {
    {"id", FIELD_AT(struct band_run, id), FIELD_LEFT("nearest measured run")},
    {"source", FIELD_AT(struct band_run, source), FIELD_LEFT("source")},
    {"measured_over_predicted", FIELD_AT(struct band_run, ratio),
     FIELD_RIGHT("measured/predicted", "%.2f", 1)},
};

static void add_nearest(const struct band *band, struct sheet *sheet)
{
    struct sheet *table = sheet_table(sheet, "nearest", FIELD_LIST(nearest));
    sheet_rows(table, band->nearest, band->nearest_count, sizeof *band->nearest);
    for (uint32_t i = 0; i < band->outside_count; i++) {
        sheet_item(sheet, "Outside of what was measured: %s.", band->outside[i]);
    }
    for (uint32_t i = 0; i < band->unproven_count; i++) {
        sheet_item(sheet, "Not validated: %s.", band->unproven[i]);
    }
}

static void add_bands(const struct reported *reported, struct sheet *sheet)
{
    const struct band *band = &reported->best->band;
    sheet_heading(sheet, "How far to believe it");
    if (band->votes == 0) {
        sheet_say(sheet, "Of the step no band is known: %s.\n", band->reason);
    } else if (band->is_ratio) {
        sheet_say(sheet,
                  "The step is relative to a measured one (its anchor), and within a factor of "
                  "%.3f in four of five cases.\n",
                  band->high);
    } else {
        sheet_say(
            sheet,
            "In four of five cases the measured step is %.2f to %.2f of the predicted one, as "
            "the errors of %u measured runs say, each predicted by what other sources had "
            "published before it. %u of them are like this one: %s.\n",
            band->low, band->high, band->all_votes, band->votes, band->like);
        add_nearest(band, sheet);
    }
    if (!is_absent(reported->best->row->interruptions)) {
        sheet_say(sheet, "Days are the mean of histories with failures; how far these lie apart "
                         "is not stored.\n");
    }
    if (reported->count > 1) {
        against_say(sheet, reported->against, reported->count);
    }
}

/* ---- what is left out ----------------------------------------------------------------------- */

static void add_not_modelled(const struct scenario *scenario, struct sheet *sheet)
{
    uint32_t count = 0;
    const char *const *texts = unproven_left_out(sheet_arena(sheet), scenario, &count);
    sheet_heading(sheet, "Not modelled");
    sheet_texts(sheet, "not_modelled", texts, count);
    for (uint32_t i = 0; i < count; i++) {
        sheet_item(sheet, "%s", texts[i]);
    }
}

void report_add_trust(const struct reported *reported, struct sheet *sheet)
{
    const struct scenario *scenario = reported->best->scenario;
    add_bands(reported, sheet);
    add_assumptions(reported, sheet);
    if (scenario != NULL) {
        add_not_modelled(scenario, sheet);
    }
}
