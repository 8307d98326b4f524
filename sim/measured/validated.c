/* Rows of all tables, one after the other; then they are sorted by what may be scored. */
#include "measured/validated.h"

#include "base/arena.h"
#include "base/check.h"
#include "measured/published/published_columns.h"
#include "measured/score.h"

#include <string.h>

enum { WARNINGS_MAX = 20, COLUMNS_MAX = 64 };

bool validated_check_column(const char *column, struct diag *diag)
{
    const char *names[COLUMNS_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < published_known_count; i++) {
        const struct published_column *known = &published_known[i];
        if (known->kind == COLUMN_COUNT || known->kind == COLUMN_NUMBER) {
            sim_assert(count < COLUMNS_MAX);
            names[count++] = known->name;
        }
    }
    for (uint32_t i = 0; i < count && column != NULL; i++) {
        if (strcmp(names[i], column) == 0) {
            return true;
        }
    }
    if (column == NULL) {
        return true;
    }
    diag_add(diag, DIAG_USAGE, NULL, "--ratios: there is no column of numbers '%s'", column);
    diag_help_nearest(diag, diag_nearest(column, names, count),
                      "such as inter_node_gbps_per_node, gpus or micro_batch");
    return false;
}

bool validated_open(struct arena *arena, const struct validated_files *files,
                    struct validated *validated, struct diag *diag)
{
    const struct published_table **tables = arena_array(arena, files->count, sizeof *tables);
    for (uint32_t i = 0; i < files->count; i++) {
        tables[i] = published_load_runs(arena, files->paths[i], files->catalogue, diag);
        if (tables[i] == NULL) {
            return false;
        }
        if (files->are_typed) {
            tables[i] = published_as_typed(arena, tables[i]);
        }
    }
    *validated = (struct validated){.tables = tables, .table_count = files->count};
    return true;
}

/* ---- rows ------------------------------------------------------------------------------- */

static bool is_wanted(const char *wanted, const struct published_table *table, uint32_t row)
{
    return wanted == NULL || strstr(published_text(table, row, "id"), wanted) != NULL ||
           strstr(published_text(table, row, "source"), wanted) != NULL;
}

uint32_t validated_count_wanted(const struct validated *validated, const char *wanted)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < validated->table_count; i++) {
        for (uint32_t k = 0; k < validated->tables[i]->row_count; k++) {
            count += is_wanted(wanted, validated->tables[i], k);
        }
    }
    return count;
}

bool validated_refuse_nothing(const struct validated *validated, const char *wanted,
                              struct diag *diag)
{
    const struct place place = {.file = validated->tables[0]->path};
    if (wanted != NULL) {
        return diag_add(diag, DIAG_INPUT, &place, "no row has '%s' in its id or source", wanted);
    }
    diag_add(diag, DIAG_INPUT, &place, "there is no run in it");
    diag_help(diag, "a line for each, below the one that names the columns");
    return false;
}

/* Adds the rows of a table that are wanted. */
static void predict_table(struct arena *arena, const struct validated_asked *asked,
                          const struct published_table *table, uint32_t *next,
                          struct validated *validated)
{
    uint32_t *rows = arena_array(arena, table->row_count + (size_t)1, sizeof *rows);
    uint32_t count = 0;
    for (uint32_t i = 0; i < table->row_count; i++) {
        rows[count] = i;
        count += is_wanted(asked->wanted, table, i) && shard_has(asked->shard, (*next)++);
    }
    struct validate_request request = asked->request;
    request.rows = rows;
    request.row_count = count;
    const struct validated_row *found = validate_rows(arena, table, &request);
    for (uint32_t i = 0; i < count; i++) {
        validated->rows[validated->row_count++] = found[i];
    }
}

bool validated_predict(struct arena *arena, const struct validated_asked *asked,
                       struct validated *validated, struct diag *diag)
{
    uint32_t next = 0; /* of the rows of all tables that are wanted */
    size_t count = 0;
    for (uint32_t i = 0; i < validated->table_count; i++) {
        count += validated->tables[i]->row_count;
    }
    validated->rows = arena_array(arena, count + 1, sizeof *validated->rows);
    validated->is_given = asked->request.given != NULL;
    for (uint32_t i = 0; i < validated->table_count; i++) {
        predict_table(arena, asked, validated->tables[i], &next, validated);
    }
    const bool is_empty_shard = next > 0; /* the rows are in others */
    return validated->row_count > 0 || is_empty_shard ||
           validated_refuse_nothing(validated, asked->wanted, diag);
}

void validated_warn(const struct validated *validated, struct diag *diag)
{
    uint32_t warnings = 0;
    for (uint32_t i = 0; i < validated->row_count; i++) {
        const struct validated_row *row = &validated->rows[i];
        if (row->wrong.column == NULL || ++warnings > WARNINGS_MAX) {
            continue;
        }
        const struct place place = published_place(row->table, row->row, row->wrong.column);
        diag_add(diag, DIAG_WARNING, &place, "%s; the row is skipped", row->reason);
        if (row->wrong.help != NULL) {
            diag_help(diag, "%s", row->wrong.help);
        }
    }
    if (warnings > WARNINGS_MAX) {
        diag_add(diag, DIAG_WARNING, NULL, "and %u more rows are wrong", warnings - WARNINGS_MAX);
    }
}

static void sort_out(struct arena *arena, struct validated *validated)
{
    const uint32_t count = validated->row_count;
    validated->scored = arena_array(arena, count, sizeof *validated->scored);
    validated->suspect = arena_array(arena, count, sizeof *validated->suspect);
    for (uint32_t i = 0; i < count; i++) {
        const struct validated_row *row = &validated->rows[i];
        if (score_is_scored(row)) {
            validated->scored[validated->scored_count++] = *row;
        } else if (row->status != ROW_OK) {
            validated->skipped_count++;
        } else if (row->measured_s > 0) {
            validated->suspect[validated->suspect_count++] = *row;
        }
    }
}

void validated_score(struct arena *arena, const struct catalogue *catalogue,
                     struct validated *validated, struct diag *diag)
{
    const char *reason = NULL;
    if (band_load(arena, catalogue, &validated->bands, &reason, diag)) {
        score_put_bands(arena, &validated->bands, validated->rows, validated->row_count);
    } else {
        validated->no_bands = reason;
    }
    sort_out(arena, validated);
}

bool validated_check_failed(const struct validated *validated, struct diag *diag)
{
    for (uint32_t i = 0; i < validated->row_count; i++) {
        const struct validated_row *row = &validated->rows[i];
        if (row->has_failed) {
            const struct place place = published_place(row->table, row->row, "id");
            diag_add(diag, DIAG_FAILURE, &place, "row '%s' was not predicted: %s", row->id,
                     row->reason);
            diag_help(diag, "nothing is scored with it; run the same command again");
        }
    }
    return !diag_has(diag, DIAG_FAILURE);
}
