/* Peaks are predicted by plan/memory alone: nothing is simulated. */
#include "measured/published/memory_rows.h"

#include "base/arena.h"
#include "input/scenario.h"
#include "measured/published/published_columns.h"
#include "plan/memory/memory.h"

#include <inttypes.h>

/* What is predicted of what was measured. */
static double comparable_bytes(const struct memory_use *use, enum published_memory what)
{
    return what == PUBLISHED_MEMORY_RESERVED ? use->allocated_bytes + use->fragmentation_bytes
                                             : use->total_bytes;
}

/* NULL, or why it is not predicted. */
static const char *predict_row(struct arena *arena, const struct published_table *table,
                               uint32_t row, const struct catalogue *catalogue,
                               struct memory_error *error)
{
    const struct published_base base = {.catalogue = catalogue};
    double measured = 0;
    const enum published_memory what = published_memory(arena, table, row, &measured);
    if (what == PUBLISHED_MEMORY_NONE) {
        return PUBLISHED_PEAK " is blank";
    }
    struct published_scenario made;
    struct diag *diag = diag_new(arena);
    const struct scenario *scenario = published_resolve(arena, table, row, &base, &made, diag);
    if (scenario == NULL) {
        return made.skipped != NULL ? made.skipped : diag_first_error_at(arena, diag);
    }
    const struct memory_verdict verdict = memory_check(scenario);
    *error = (struct memory_error){
        .id = published_text(table, row, "id"),
        .source = published_text(table, row, "source"),
        .gpu = made.gpu,
        .software = made.software,
        .architecture = gpu_architecture_names[scenario->gpu.architecture],
        .is_cut = memory_is_cut(scenario),
        .measured_bytes = measured,
        .predicted_bytes = comparable_bytes(&verdict.worst, what),
    };
    return NULL;
}

struct memory_rows memory_rows_predict(struct arena *arena, const struct published_table *table,
                                       const struct catalogue *catalogue)
{
    const size_t count = (size_t)table->row_count + 1;
    struct memory_error *items = arena_array(arena, count, sizeof *items);
    struct memory_skipped *skipped = arena_array(arena, count, sizeof *skipped);
    struct memory_rows rows = {.errors.items = items, .skipped = skipped};
    for (uint32_t i = 0; i < table->row_count; i++) {
        const char *why = table->problems[i].what != NULL
                              ? table->problems[i].what
                              : predict_row(arena, table, i, catalogue, &items[rows.errors.count]);
        if (why != NULL) {
            skipped[rows.skipped_count++] = (struct memory_skipped){i, why};
        } else {
            rows.errors.count++;
        }
    }
    memory_errors_sum(arena, &rows.errors);
    return rows;
}

void memory_rows_warn(const struct published_table *table, const struct memory_rows *rows,
                      struct diag *diag)
{
    for (uint32_t i = 0; i < rows->skipped_count; i++) {
        const struct place place = published_place(table, rows->skipped[i].row, "id");
        diag_add(diag, DIAG_WARNING, &place, "%s; the row is skipped", rows->skipped[i].why);
    }
}

bool memory_rows_check(const struct memory_rows *rows, const char *path, bool is_written,
                       struct diag *diag)
{
    const struct place place = {.file = path};
    if (rows->errors.count == 0) {
        return diag_add(diag, DIAG_INPUT, &place, "no peak could be predicted");
    }
    if (is_written && rows->errors.count < MEMORY_ERRORS_MIN) {
        return diag_add(diag, DIAG_INPUT, &place,
                        "%" PRIu32 " peaks are too few to write: %d are needed", rows->errors.count,
                        MEMORY_ERRORS_MIN);
    }
    return true;
}
