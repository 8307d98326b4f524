/* What `stoker-lab validate --rules` says: a line for each entry of the catalogue's rules. */
#include "base/arena.h"
#include "lab/cli/lab_validate.h"
#include "lab/rules_worth.h"
#include "report/sheet.h"

enum { DOES_WIDTH = 60 };

#define WORTH(member) FIELD_AT(struct rule_worth, member)

static void say_does(struct sheet *in, const char *key, const void *record)
{
    const struct rule_worth *worth = record;
    (void)key;
    sheet_say(in, "%s", sheet_shortened(sheet_arena(in), worth->does, DOES_WIDTH));
}

static const struct field fields[] = {
    {"place", WORTH(place), FIELD_LEFT("entry")},
    {"rows", WORTH(rows), FIELD_COUNT("rows")},
    {"changed", WORTH(changed), FIELD_COUNT("changed")},
    {"lost", WORTH(lost), FIELD_COUNT("lost")},
    {"moved", WORTH(moved), FIELD_RIGHT("moved %", "%.1f", 100)},
    {"mean_without", WORTH(mean_without), FIELD_RIGHT("mean without %", "%+.2f", 100)},
    {NULL, FIELD_LEFT("sets or fills"), .add = say_does},
    {"does", WORTH(does)},
    {"source", WORTH(source)},
};

void validate_rules_print(const struct lab_validation *lab, struct sheet *sheet)
{
    const struct validation *validation = &lab->validation;
    struct arena *arena = validation->options.cli->arena;
    const struct catalogue catalogue = options_catalogue(&validation->options);
    const struct validate_request request = {.catalogue = &catalogue,
                                             .jobs = (uint32_t)validation->jobs};
    uint32_t count = 0;
    const struct rule_worth *worths =
        rules_worth(arena, validation->found.rows, validation->found.row_count, &request, &count);
    struct sheet *table = sheet_table(sheet, "rules", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    sheet_rows(table, worths, count, sizeof *worths);
    sheet_say(sheet,
              "rows: that it fits; changed: predicted otherwise without it, by so much in the "
              "mean; lost: not predicted\nwithout it; the mean of votes would change by so much. "
              "What only says what a column means is not left out.\n");
}
