/* A file of models/spot, and what it says beside the other keys of a scenario.
 */
#include "input/failures/spot.h"

#include "input/failures/failures.h"
#include "input/failures/rate.h"

/* A file with its rate as it is written. */
struct written_spot {
    struct spot_plan spot;
    struct written_rate rate;
};

#define SCHEMA_OBJECT struct written_spot
#include "input/failures/rate_rows.h"

static const struct schema_row rows[] = {
    {TEXT("spot", spot.name, "Its name, which is that of its file, too."), .note = "inline"},
    {TEXT("title", spot.title, "What people call it."), AS(const char *, spot.name)},
    {QUANTITY("notice", spot.notice_s, DIM_SECONDS, 0.0, 1e6,
              "How long before nodes go the job is told; 0 s: they are gone."),
     .is_required = true},
    RATE_ROWS(rate, "Of so many nodes."),
    {QUANTITY("together", spot.together, DIM_COUNT, 1.0, 1e6,
              "Nodes that are taken at once, in the mean; how many it is is geometric."),
     .standard = "1"},
    {LAW("back", spot.back,
         "From when a node is taken until there is another in its place, booted and checked."),
     .is_required = true},
    {BOOL("back_together", spot.back_together,
          "What was taken at once comes back at once; else each by itself."),
     .standard = "false"},
};
const struct schema spot_schema = SCHEMA_OF("spot", "spot.", rows);

bool spot_read(const struct doc_node *node, struct spot_plan *spot, struct assumptions *assumptions,
               struct diag *diag)
{
    struct written_spot written = {.spot = {.name = "inline"}};
    if (!schema_read_document(&spot_schema, node, &written, assumptions, diag)) {
        return false;
    }
    const char *wrong = rate_settle(&written.rate, FAILURE_OF_NODE, &written.spot.rate_per_s);
    if (wrong != NULL) {
        diag_add(diag, DIAG_INPUT, &written.rate.place, "spot has no rate: %s", wrong);
        diag_help(diag, "of nodes: {mttf: 20 h}, {per_1000_node_days: 1200}, or {count: 330, "
                        "components: 4, days: 17.8}");
        return false;
    }
    *spot = written.spot;
    return true;
}
