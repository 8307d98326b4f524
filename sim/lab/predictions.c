/* Lines are found by their id, sources by their name, in hash tables. */
#include "lab/predictions.h"

#include "base/arena.h"
#include "input/doc/name_table.h"

#include <math.h>
#include <string.h>

const char *const held_out_names[HELD_OUT_COUNT_] = {"nothing", "fold", "source"};

static const char *const time_columns[HELD_OUT_COUNT_] = {
    [HELD_OUT_NOTHING] = "fitted_s",
    [HELD_OUT_FOLD] = "out_of_fold_s",
    [HELD_OUT_SOURCE] = "source_left_out_s",
};

static const double SAME = 1e-4; /* six digits are written of a time measured */

struct predictions {
    const struct published_table *table;
    const char *column;
    struct name_table ids, sources; /* an id's index is its line's */
};

/* As validation calls them. */
static const char *source_of(const struct published_table *table, uint32_t row)
{
    const char *source = published_text(table, row, "source");
    return source[0] != '\0' ? source : "no source";
}

static bool check_time(const struct predictions *predictions, uint32_t line, const char *column,
                       struct diag *diag)
{
    double time_s = 0;
    if (published_number(predictions->table, line, column, &time_s) && time_s > 0) {
        return true;
    }
    const struct place place = published_place(predictions->table, line, column);
    return diag_add(diag, DIAG_INPUT, &place, "%s '%s' is no time", column,
                    published_text(predictions->table, line, column));
}

static bool read_line(struct predictions *predictions, uint32_t line, struct diag *diag)
{
    const struct published_table *table = predictions->table;
    bool is_new = true;
    if (table->problems[line].what != NULL) {
        const struct place place = published_place(table, line, "");
        return diag_add(diag, DIAG_INPUT, &place, "%s", table->problems[line].what);
    }
    (void)name_table_add(&predictions->ids, published_text(table, line, "id"), &is_new);
    if (!is_new) {
        const struct place place = published_place(table, line, "id");
        return diag_add(diag, DIAG_INPUT, &place, "row '%s' is predicted twice",
                        published_text(table, line, "id"));
    }
    (void)name_table_index(&predictions->sources, source_of(table, line));
    return check_time(predictions, line, "measured_step_s", diag) &&
           check_time(predictions, line, predictions->column, diag);
}

const struct predictions *predictions_load(struct arena *arena, const char *path,
                                           enum held_out held_out, struct diag *diag)
{
    struct predictions *predictions = arena_alloc(arena, sizeof *predictions);
    predictions->column = time_columns[held_out];
    predictions->table = published_load(arena, path, diag);
    const char *const needed[] = {"id", "source", "measured_step_s", predictions->column};
    if (predictions->table == NULL ||
        !published_has_columns(predictions->table, needed, sizeof needed / sizeof *needed, diag)) {
        diag_help(diag, "`stoker-lab calibrate steps FILE.csv --predictions OUT.csv` writes such a "
                        "file");
        return NULL;
    }
    name_table_init(&predictions->ids, arena);
    name_table_init(&predictions->sources, arena);
    for (uint32_t i = 0; i < predictions->table->row_count; i++) {
        if (!read_line(predictions, i, diag)) {
            return NULL;
        }
    }
    return predictions;
}

/* ---- of which rows ------------------------------------------------------------------------- */

static bool refuse(const struct predictions *predictions, uint32_t line, const char *column,
                   const char *why, struct diag *diag)
{
    const struct place place = published_place(predictions->table, line, column);
    diag_add(diag, DIAG_INPUT, &place, "these are predictions of other rows: '%s' %s",
             published_text(predictions->table, line, "id"), why);
    diag_help(diag,
              "`stoker-lab calibrate steps FILE.csv --predictions %s` predicts those of a table",
              predictions->table->path);
    return false;
}

struct found {
    const struct published_table *table;
    uint32_t row;
};

static bool check_line(const struct predictions *predictions, uint32_t line,
                       const struct found *found, struct diag *diag)
{
    double told_s = 0, measured_s = 0;
    if (found->table == NULL) {
        return refuse(predictions, line, "id", "is none of the table's", diag);
    }
    (void)published_number(predictions->table, line, "measured_step_s", &told_s);
    const bool is_measured =
        published_number(found->table, found->row, "measured_step_s", &measured_s);
    if (!is_measured || fabs(told_s - measured_s) > SAME * measured_s) {
        return refuse(predictions, line, "measured_step_s", "was measured otherwise", diag);
    }
    if (strcmp(source_of(found->table, found->row), source_of(predictions->table, line)) != 0) {
        return refuse(predictions, line, "source", "is of another source", diag);
    }
    return true;
}

bool predictions_check(struct arena *arena, const struct predictions *predictions,
                       const struct published_table *const *tables, uint32_t count,
                       struct diag *diag)
{
    struct found *found = arena_array(arena, predictions->ids.count + (size_t)1, sizeof *found);
    for (uint32_t t = 0; t < count; t++) {
        for (uint32_t row = 0; row < tables[t]->row_count; row++) {
            const uint32_t line =
                name_table_find(&predictions->ids, published_text(tables[t], row, "id"));
            if (line != NAME_NONE) {
                found[line] = (struct found){tables[t], row};
            }
        }
    }
    for (uint32_t line = 0; line < predictions->ids.count; line++) {
        if (!check_line(predictions, line, &found[line], diag)) {
            return false;
        }
    }
    return true;
}

enum prediction_kind predictions_find(const struct predictions *predictions,
                                      const struct published_table *table, uint32_t row,
                                      double *predicted_s)
{
    const uint32_t line = name_table_find(&predictions->ids, published_text(table, row, "id"));
    if (line == NAME_NONE) {
        return name_table_find(&predictions->sources, source_of(table, row)) == NAME_NONE
                   ? PREDICTION_UNSEEN
                   : PREDICTION_MISSING;
    }
    (void)published_number(predictions->table, line, predictions->column, predicted_s);
    return PREDICTION_FOUND;
}

static enum prediction_kind find_given(const void *context, const struct published_table *table,
                                       uint32_t row, double *predicted_s)
{
    return predictions_find(context, table, row, predicted_s);
}

struct given_predictions predictions_given(const struct predictions *predictions)
{
    return (struct given_predictions){find_given, predictions, predictions->table->path};
}
