/* Connects the fit with the simulator. A value of a constant becomes an
 * override of a key in all rows that use its file; the rows are predicted as
 * `stoker validate` predicts them, on as many processes as are wanted.
 */
#include "lab/fit/fit_rows.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/catalogue.h"
#include "input/doc/doc.h"
#include "input/doc/name_table.h"
#include "lab/fit/fit_priors.h"
#include "measured/published/published_rules.h"
#include "measured/score.h"

#include <math.h>
#include <string.h>

enum { TEXT_DIGITS = 9 };

/* ---- which rows, which constants -------------------------------------------------------- */

static bool is_of_row(const struct fit_constant *constant, const struct validated_row *row)
{
    return fit_constant_is_of(constant, row->software) ||
           fit_constant_is_of(constant, row->gpu_file);
}

static bool check_files(const struct fit_rows *rows, const struct fit_constant *constant,
                        struct diag *diag)
{
    const char *folder = catalogue_folders[fit_constant_kind(constant)];
    for (uint32_t i = 0; i < constant->file_count; i++) {
        if (catalogue_find(rows->arena, rows->catalogue, folder, constant->files[i]) == NULL) {
            uint32_t count;
            const char **names = catalogue_list(rows->arena, rows->catalogue, folder, &count);
            const char *nearest = diag_nearest(constant->files[i], names, count);
            diag_add(diag, DIAG_INPUT, &constant->place, "there is no file '%s' in %s",
                     constant->files[i], folder);
            diag_help_nearest(diag, nearest, NULL);
            return false;
        }
    }
    return true;
}

/* Files of which nothing can be fitted: what is wrong with the first row that was asked for. */
static bool refuse_all(const struct fit_rows *rows, const struct validated_row *first,
                       struct diag *diag)
{
    diag_add(diag, DIAG_INPUT, NULL, "there is no row to fit to in %s%s", rows->tables[0]->path,
             rows->table_count > 1 ? " and the others" : "");
    if (first != NULL) {
        const char *reason = first->status != ROW_OK ? first->reason
                             : first->measured_s > 0 ? "it is suspect"
                                                     : "it has no measured_step_s";
        diag_help(diag, "'%s': %s", first->id, reason);
    }
    return false;
}

/* ---- tables ------------------------------------------------------------------------------- */

static bool check_ids(const struct fit_rows *rows, struct diag *diag)
{
    struct name_table ids;
    name_table_init(&ids, rows->arena);
    bool is_good = true;
    for (uint32_t t = 0; t < rows->table_count; t++) {
        const struct published_table *table = rows->tables[t];
        for (uint32_t row = 0; row < table->row_count; row++) {
            bool is_new = true;
            (void)name_table_add(&ids, published_text(table, row, "id"), &is_new);
            if (!is_new && table->problems[row].what == NULL) {
                const struct place place = published_place(table, row, "id");
                is_good = diag_add(diag, DIAG_INPUT, &place, "another table has a row '%s', too",
                                   published_text(table, row, "id"));
                diag_help(diag, "a run counts once: take it out of one of them");
            }
        }
    }
    return is_good;
}

/* Marks the texts of `without` that the source has. */
static bool is_wanted(const struct fit_rows *rows, const char *source, bool *is_met)
{
    bool is_in = true;
    for (uint32_t i = 0; i < rows->without_count; i++) {
        if (strstr(source, rows->without[i]) != NULL) {
            is_met[i] = true;
            is_in = false;
        }
    }
    return is_in;
}

static bool check_without(const struct fit_rows *rows, const bool *is_met, struct diag *diag)
{
    struct name_table sources;
    name_table_init(&sources, rows->arena);
    for (uint32_t t = 0; t < rows->table_count; t++) {
        for (uint32_t row = 0; row < rows->tables[t]->row_count; row++) {
            (void)name_table_index(&sources, published_text(rows->tables[t], row, "source"));
        }
    }
    bool is_good = true;
    for (uint32_t i = 0; i < rows->without_count; i++) {
        if (!is_met[i]) {
            is_good = diag_add(diag, DIAG_INPUT, NULL, "--without: no row's source has '%s' in it",
                               rows->without[i]);
            diag_help_nearest(diag, diag_nearest(rows->without[i], sources.names, sources.count),
                              NULL);
        }
    }
    return is_good;
}

/* The rows asked for, of all tables. */
static uint32_t choose_rows(struct fit_rows *rows, uint32_t *row, uint32_t *table_of, bool *is_met)
{
    uint32_t count = 0;
    for (uint32_t t = 0; t < rows->table_count; t++) {
        for (uint32_t i = 0; i < rows->tables[t]->row_count; i++) {
            if (is_wanted(rows, published_text(rows->tables[t], i, "source"), is_met)) {
                row[count] = i;
                table_of[count++] = t;
            }
        }
    }
    return count;
}

/* Rows of several tables; those of one stand together. */
static const struct validated_row *validate_all(const struct fit_rows *rows, struct arena *arena,
                                                struct validate_request request,
                                                const uint32_t *table_of)
{
    struct validated_row *found = arena_array(arena, (size_t)request.row_count + 1, sizeof *found);
    const uint32_t *asked = request.rows;
    const uint32_t count = request.row_count;
    uint32_t end;
    for (uint32_t first = 0; first < count; first = end) {
        end = first;
        while (end < count && table_of[end] == table_of[first]) {
            end++;
        }
        request.rows = asked + first;
        request.row_count = end - first;
        const struct validated_row *part =
            validate_rows(arena, rows->tables[table_of[first]], &request);
        memcpy(found + first, part, (end - first) * sizeof *part);
    }
    return found;
}

/* Constants that a row uses; what is left out is noted by name. */
static void narrow_plan(struct fit_rows *rows)
{
    const struct fit_plan *plan = rows->plan;
    bool *is_kept = arena_array(rows->arena, plan->count, sizeof *is_kept);
    const char **unused = arena_array(rows->arena, plan->count, sizeof *unused);
    for (uint32_t k = 0; k < plan->count; k++) {
        for (uint32_t i = 0; i < rows->count; i++) {
            is_kept[k] = is_kept[k] || is_of_row(&plan->constants[k], &rows->rows[i]);
        }
        if (!is_kept[k]) {
            unused[rows->unused_count++] = plan->constants[k].name;
        }
    }
    rows->unused = unused;
    rows->plan = fit_plan_narrow(rows->arena, plan, is_kept);
}

static bool has_constants(const struct fit_rows *rows, struct diag *diag)
{
    if (rows->plan->count == 0) {
        diag_add(diag, DIAG_INPUT, NULL, "no constant of %s is of a profile or GPU that a row uses",
                 rows->plan->path);
        diag_help(diag, "row '%s' is predicted with software %s and GPU %s", rows->rows[0].id,
                  rows->rows[0].software, rows->rows[0].gpu_file);
    }
    return rows->plan->count > 0;
}

/* Constants that were fitted without a row are others. */
static bool check_failed_rows(const struct validated_row *rows, uint32_t count, struct diag *diag)
{
    for (uint32_t i = 0; i < count; i++) {
        if (rows[i].has_failed) {
            return diag_add(diag, DIAG_FAILURE, NULL, "row '%s' was not predicted: %s", rows[i].id,
                            rows[i].reason);
        }
    }
    return true;
}

/* Those that count, in their order. */
static void keep_rows(struct fit_rows *rows, const struct validated_row *all,
                      const uint32_t *table_of, uint32_t count)
{
    const size_t room = (size_t)count + 1;
    struct validated_row *kept = arena_array(rows->arena, room, sizeof *kept);
    uint32_t *kept_of = arena_array(rows->arena, room, sizeof *kept_of);
    rows->residual = arena_array(rows->arena, room, sizeof *rows->residual);
    for (uint32_t i = 0; i < count; i++) {
        if (score_is_scored(&all[i])) {
            rows->residual[rows->count] = log(all[i].predicted_s / all[i].measured_s);
            kept_of[rows->count] = table_of[i];
            kept[rows->count++] = all[i];
        }
    }
    rows->rows = kept;
    rows->table_of = kept_of;
}

/* Releases of one configuration, and several sources' runs of it, are one scenario: whatever a
 * constant does to one it does to the other, so one of them is simulated. */
static void find_twins(struct fit_rows *rows)
{
    uint32_t *twin = arena_array(rows->arena, (size_t)rows->count + 1, sizeof *twin);
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct validated_row *row = &rows->rows[i];
        const struct validated_row *first = rows->rows;
        while (first < row &&
               (first->likeness != row->likeness || strcmp(first->software, row->software) != 0 ||
                strcmp(first->gpu_file, row->gpu_file) != 0)) {
            first++;
        }
        twin[i] = (uint32_t)(first - rows->rows);
        sim_assert(fabs(first->predicted_s - row->predicted_s) <= 0);
    }
    rows->twin = twin;
}

/* Files are kept by the process that reads them (input/doc/doc_files): read here, they are there in
 * each that simulates. */
static void read_files(const struct fit_rows *rows)
{
    const struct published_base base = {.catalogue = rows->catalogue};
    struct arena *arena = arena_new();
    for (uint32_t i = 0; i < rows->count; i++) {
        struct published_scenario made;
        (void)published_resolve(arena, rows->tables[rows->table_of[i]], rows->rows[i].row, &base,
                                &made, diag_new(arena));
        arena_reset(arena);
    }
    arena_free(arena);
}

bool fit_rows_open(struct fit_rows *rows, struct diag *diag)
{
    bool is_good = check_ids(rows, diag);
    size_t most = 1;
    for (uint32_t k = 0; k < rows->plan->count; k++) {
        is_good = check_files(rows, &rows->plan->constants[k], diag) && is_good;
    }
    for (uint32_t t = 0; t < rows->table_count; t++) {
        most += rows->tables[t]->row_count;
    }
    uint32_t *asked = arena_array(rows->arena, most, sizeof *asked);
    uint32_t *table_of = arena_array(rows->arena, most, sizeof *table_of);
    bool *is_met = arena_array(rows->arena, (size_t)rows->without_count + 1, sizeof *is_met);
    const uint32_t count = choose_rows(rows, asked, table_of, is_met);
    if (!check_without(rows, is_met, diag) || !is_good) {
        return false;
    }
    rows->known = known_steps_new(rows->arena);
    const struct validate_request request = {.catalogue = rows->catalogue,
                                             .jobs = rows->jobs,
                                             .rows = asked,
                                             .row_count = count,
                                             .known = rows->known};
    const struct validated_row *all = validate_all(rows, rows->arena, request, table_of);
    if (!check_failed_rows(all, count, diag)) {
        return false;
    }
    keep_rows(rows, all, table_of, count);
    find_twins(rows);
    read_files(rows);
    if (rows->count == 0) {
        return refuse_all(rows, count > 0 ? &all[0] : NULL, diag);
    }
    narrow_plan(rows);
    return has_constants(rows, diag);
}

/* ---- predictions ------------------------------------------------------------------------ */

/* Constants at their values; the assignments of a removal (NULL: none) stand behind them and are
 * not counted. */
static uint32_t overrides_of(const struct fit_rows *rows, struct arena *arena, const double *values,
                             const struct fit_removal *removal, struct published_override **list)
{
    const struct fit_plan *plan = rows->plan;
    uint32_t count = 0;
    for (uint32_t k = 0; k < plan->count; k++) {
        count += plan->constants[k].file_count;
    }
    const uint32_t more = removal != NULL ? removal->set_count : 0;
    *list = arena_array(arena, (size_t)count + more, sizeof **list);
    for (uint32_t i = 0; i < more; i++) {
        (*list)[count + i] = (struct published_override){NULL, removal->sets[i]};
    }
    count = 0;
    for (uint32_t k = 0; k < plan->count; k++) {
        const struct fit_constant *constant = &plan->constants[k];
        const char *assignment =
            arena_printf(arena, "%s=%s", constant->key,
                         fit_constant_text(arena, constant, values[k], TEXT_DIGITS));
        for (uint32_t i = 0; i < constant->file_count; i++) {
            (*list)[count++] = (struct published_override){constant->files[i], assignment};
        }
    }
    return count;
}

/* A row that could be predicted as the catalogue stands, and cannot with these values. */
static bool complain(const struct fit_rows *rows, const struct validated_row *row)
{
    if (row->has_failed) {
        return diag_add(rows->diag, DIAG_FAILURE, NULL, "row '%s' was not predicted: %s", row->id,
                        row->reason);
    }
    diag_add(rows->diag, DIAG_INPUT, NULL,
             "row '%s' cannot be predicted with the constants of %s: %s", row->id, rows->plan->path,
             row->reason);
    for (uint32_t k = 0; k < rows->plan->count; k++) {
        if (is_of_row(&rows->plan->constants[k], row)) {
            diag_help(rows->diag, "it uses, among others, '%s'", rows->plan->constants[k].name);
            break;
        }
    }
    return false;
}

/* Rows as the catalogue stands but for the overrides; of twins one is simulated. */
static const struct validated_row *predict_with(const struct fit_rows *rows, struct arena *arena,
                                                const struct published_override *overrides,
                                                uint32_t override_count, const uint32_t *indices,
                                                uint32_t count)
{
    uint32_t *asked = arena_array(arena, (size_t)count + 1, sizeof *asked);
    uint32_t *table_of = arena_array(arena, (size_t)count + 1, sizeof *table_of);
    uint32_t *place = arena_array(arena, (size_t)rows->count + 1, sizeof *place); /* + 1 */
    uint32_t asked_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t twin = rows->twin[indices[i]];
        if (place[twin] == 0) {
            asked[asked_count] = rows->rows[twin].row;
            table_of[asked_count++] = rows->table_of[twin];
            place[twin] = asked_count;
        }
    }
    const struct validate_request request = {
        .catalogue = rows->catalogue,
        .jobs = rows->jobs,
        .overrides = overrides,
        .override_count = override_count,
        .rows = asked,
        .row_count = asked_count,
        .known = rows->known,
    };
    const struct validated_row *found = validate_all(rows, arena, request, table_of);
    struct validated_row *all = arena_array(arena, (size_t)count + 1, sizeof *all);
    for (uint32_t i = 0; i < count; i++) {
        all[i] = found[place[rows->twin[indices[i]]] - 1];
    }
    return all;
}

static bool take_times(const struct fit_rows *rows, const struct validated_row *found,
                       const uint32_t *indices, uint32_t count, double *predicted_s)
{
    for (uint32_t i = 0; i < count; i++) {
        predicted_s[i] = found[i].predicted_s;
        if (found[i].status != ROW_OK) {
            struct validated_row bad = rows->rows[indices[i]];
            bad.reason = arena_strdup(rows->arena, found[i].reason);
            bad.has_failed = found[i].has_failed;
            return complain(rows, &bad);
        }
    }
    return true;
}

static bool predict(void *context, const double *values, const uint32_t *indices, uint32_t count,
                    double *predicted_s)
{
    const struct fit_rows *rows = context;
    struct arena *arena = arena_new();
    struct published_override *overrides;
    const uint32_t override_count = overrides_of(rows, arena, values, NULL, &overrides);
    const struct validated_row *found =
        predict_with(rows, arena, overrides, override_count, indices, count);
    const bool is_good = take_times(rows, found, indices, count, predicted_s);
    arena_free(arena);
    return is_good;
}

/* ---- parts of the model removed --------------------------------------------------------- */

/* A key that some file of the catalogue has: rows without it are of other GPUs or profiles. */
static bool is_known(const struct fit_rows *rows, const char *assignment)
{
    const size_t length = strcspn(assignment, "=");
    const char *key = arena_strndup(rows->arena, assignment, length);
    const char *dot = strchr(key, '.');
    for (uint32_t kind = 0; kind < CATALOGUE_KIND_COUNT_ && dot != NULL; kind++) {
        const size_t size = strlen(catalogue_keys[kind]);
        if (size != (size_t)(dot - key) || strncmp(key, catalogue_keys[kind], size) != 0) {
            continue;
        }
        uint32_t count;
        const char *folder = catalogue_folders[kind];
        const char **names = catalogue_list(rows->arena, rows->catalogue, folder, &count);
        for (uint32_t i = 0; i < count; i++) {
            const char *path = catalogue_find(rows->arena, rows->catalogue, folder, names[i]);
            const struct doc_node *root =
                path != NULL ? doc_load(rows->arena, path, rows->diag) : NULL;
            if (root != NULL && doc_find(root, dot + 1) != NULL) {
                return true;
            }
        }
    }
    return false;
}

/* What every row refuses, and no file knows, is a mistake. */
static bool check_taken(const struct fit_rows *rows, const struct fit_removal *removal,
                        const struct validated_row *found, uint32_t count)
{
    uint64_t refused = UINT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        refused &= found[i].refused;
    }
    for (uint32_t i = 0; i < removal->set_count && count > 0; i++) {
        if ((refused >> i & 1) != 0 && !is_known(rows, removal->sets[i])) {
            diag_add(rows->diag, DIAG_INPUT, &removal->place, "no row takes '%s' of ablation '%s'",
                     removal->sets[i], removal->name);
            diag_help(rows->diag, "stoker run SCENARIO --set '%s' says why", removal->sets[i]);
            return false;
        }
    }
    return true;
}

/* ---- rules left out --------------------------------------------------------------------- */

/* Tables that are read by the rules without the removal's. False after a diagnosis: none of them
 * says such a thing. */
static bool tables_without(const struct fit_rows *rows, struct arena *arena,
                           const struct fit_removal *removal,
                           const struct published_table ***tables)
{
    const struct published_keys keys = {removal->rules, removal->rule_count, removal->has_columns};
    *tables = arena_array(arena, rows->table_count, sizeof **tables);
    for (uint32_t t = 0; t < rows->table_count; t++) {
        struct published_table *table = arena_alloc(arena, sizeof *table);
        uint32_t dropped;
        *table = *rows->tables[t];
        table->rules = published_rules_without(arena, table->rules, &keys, &dropped);
        (*tables)[t] = table;
        if (dropped == 0) {
            diag_add(rows->diag, DIAG_INPUT, &removal->place,
                     "no rule sets what ablation '%s' leaves out", removal->name);
            diag_help(rows->diag, "stoker-lab validate FILE.csv --rules lists what rules set");
            return false;
        }
    }
    return true;
}

/* Rows that are others by these rules. *lost: those of which they make none. */
static uint32_t changed_rows(const struct fit_rows *rows, struct arena *arena,
                             const struct published_table *const *tables, uint32_t *indices,
                             uint32_t *lost)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint32_t t = rows->table_of[i];
        const uint32_t row = rows->rows[i].row;
        const struct published_scenario before =
            published_scenario(arena, rows->tables[t], row, rows->catalogue);
        const struct published_scenario after =
            published_scenario(arena, tables[t], row, rows->catalogue);
        *lost += after.skipped != NULL ? 1 : 0;
        if (after.skipped == NULL && !published_is_same(&before, &after)) {
            indices[count++] = i;
        }
    }
    return count;
}

/* Rows that cannot be predicted by the others stay as they are, and count as refusing. Each is
 * simulated: what were twins by all rules need not be so by fewer. */
static bool remove_rules(const struct fit_rows *rows, const struct fit_removal *removal,
                         const double *values, double *predicted_s, uint32_t *refused)
{
    struct arena *arena = arena_new();
    struct published_override *overrides;
    const struct published_table **tables;
    const uint32_t override_count = overrides_of(rows, arena, values, NULL, &overrides);
    uint32_t *indices = arena_array(arena, rows->count + (size_t)1, sizeof *indices);
    uint32_t *alone = arena_array(arena, rows->count + (size_t)1, sizeof *alone);
    struct fit_rows others = *rows;
    *refused = 0;
    const bool is_good = tables_without(rows, arena, removal, &tables);
    if (is_good) {
        const uint32_t count = changed_rows(rows, arena, tables, indices, refused);
        for (uint32_t i = 0; i < rows->count; i++) {
            alone[i] = i;
        }
        others.tables = tables;
        others.twin = alone;
        const struct validated_row *found =
            predict_with(&others, arena, overrides, override_count, indices, count);
        for (uint32_t i = 0; i < count; i++) {
            const bool is_predicted = found[i].status == ROW_OK;
            *refused += is_predicted ? 0 : 1;
            predicted_s[indices[i]] = is_predicted ? found[i].predicted_s : predicted_s[indices[i]];
        }
    }
    arena_free(arena);
    return is_good;
}

/* Rows that it is not for stay as they are. */
static bool remove_part(void *context, uint32_t number, const double *values, double *predicted_s,
                        uint32_t *refused)
{
    const struct fit_rows *rows = context;
    const struct fit_removal *removal = &rows->plan->removals[number];
    if (removal->rule_count > 0) {
        return remove_rules(rows, removal, values, predicted_s, refused);
    }
    struct arena *arena = arena_new();
    struct published_override *overrides;
    const uint32_t plain = overrides_of(rows, arena, values, removal, &overrides);
    uint32_t *indices = arena_array(arena, rows->count, sizeof *indices);
    double *times = arena_array(arena, rows->count, sizeof *times);
    uint32_t count = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        if (fit_removal_is_of(removal, rows->rows[i].software, rows->rows[i].gpu_file)) {
            indices[count++] = i;
        }
    }
    const struct validated_row *found =
        predict_with(rows, arena, overrides, plain + removal->set_count, indices, count);
    const bool is_good =
        take_times(rows, found, indices, count, times) && check_taken(rows, removal, found, count);
    sim_assert(removal->set_count > 0 && removal->set_count <= PUBLISHED_FOR_ALL_MAX);
    const uint64_t all = UINT64_MAX >> (PUBLISHED_FOR_ALL_MAX - removal->set_count);
    *refused = 0;
    for (uint32_t i = 0; i < count; i++) {
        predicted_s[indices[i]] = times[i];
        *refused += found[i].refused == all ? 1 : 0;
    }
    arena_free(arena);
    return is_good;
}

struct fit_problem fit_rows_problem(struct fit_rows *rows)
{
    struct arena *arena = rows->arena;
    const uint32_t n = rows->plan->count;
    double *measured_s = arena_array(arena, rows->count, sizeof *measured_s);
    bool *is_used = arena_array(arena, (size_t)rows->count * n, sizeof *is_used);
    for (uint32_t i = 0; i < rows->count; i++) {
        const struct validated_row *row = &rows->rows[i];
        measured_s[i] = row->measured_s;
        for (uint32_t k = 0; k < n; k++) {
            is_used[(size_t)i * n + k] = is_of_row(&rows->plan->constants[k], row);
        }
    }
    return (struct fit_problem){
        .plan = rows->plan,
        .votes = votes_of_rows(arena, rows->rows, rows->count),
        .measured_s = measured_s,
        .is_used = is_used,
        .predict = predict,
        .remove = remove_part,
        .context = rows,
    };
}
