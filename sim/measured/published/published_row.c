/* Finds a row of a table of measured runs by its id, and makes of it the same scenario that `stoker
 * validate` would predict.
 */
#include "measured/published/published_row.h"

#include "base/arena.h"
#include "measured/published/published_columns.h"
#include "measured/published/published_rows.h"

#include <string.h>

enum { NEAREST_MAX = 5 };

bool published_is_table(const char *path)
{
    static const char *const ends[] = {".csv", ".csv.gz"};
    const size_t length = strlen(path);
    bool is_one = false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t end = strlen(ends[i]);
        is_one = is_one || (length > end && strcmp(path + length - end, ends[i]) == 0);
    }
    return is_one;
}

/* ---- which row ------------------------------------------------------------------------- */

/* How long a beginning two texts share. */
static size_t shared_length(const char *a, const char *b)
{
    size_t length = 0;
    while (a[length] != '\0' && a[length] == b[length]) {
        length++;
    }
    return length;
}

/* The ids that begin most like the wanted one, in the order of the file: "'a', 'b', ...". */
static const char *nearest_ids(struct arena *arena, const char *const *ids, uint32_t count,
                               const char *wanted)
{
    size_t longest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const size_t length = shared_length(ids[i], wanted);
        longest = length > longest ? length : longest;
    }
    const char *text = "";
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (shared_length(ids[i], wanted) == longest && ++found <= NEAREST_MAX) {
            text = arena_printf(arena, "%s%s'%s'", text, found == 1 ? "" : ", ", ids[i]);
        }
    }
    return found > NEAREST_MAX ? arena_printf(arena, "%s and %u more", text, found - NEAREST_MAX)
                               : text;
}

/* The row of that id; row_count, with a message, when there is none. */
static uint32_t find_row(struct arena *arena, const struct published_table *table, const char *id,
                         struct diag *diag)
{
    const char **ids = arena_array(arena, table->row_count + (size_t)1, sizeof *ids);
    for (uint32_t i = 0; i < table->row_count; i++) {
        ids[i] = published_text(table, i, "id");
        if (strcmp(ids[i], id) == 0) {
            return i;
        }
    }
    const struct place place = {.file = table->path};
    diag_add(diag, DIAG_INPUT, &place, "there is no row '%s'", id);
    const char *nearest = diag_nearest(id, ids, table->row_count);
    if (nearest != NULL) {
        diag_help(diag, "did you mean '%s'?", nearest);
    } else if (table->row_count > 0) {
        diag_help(diag, "there are %s", nearest_ids(arena, ids, table->row_count, id));
    }
    return table->row_count;
}

/* ---- its scenario ----------------------------------------------------------------------- */

/* Skipped, or refused for what `found` says: at the column that says it. */
static void tell_refused(struct diag *diag, const struct published_table *table, uint32_t row,
                         const struct published_scenario *made, const struct diag *found)
{
    const char *column = made->wrong.column != NULL ? made->wrong.column : "id";
    const struct place place = published_place(table, row, column);
    const bool is_verdict = made->skipped == NULL && diag_is_verdict(found);
    diag_add(diag, is_verdict ? DIAG_INFEASIBLE : DIAG_INPUT, &place, "%s",
             made->skipped != NULL ? made->skipped : diag_first_error(found));
    if (made->wrong.help != NULL) {
        diag_help(diag, "%s", made->wrong.help);
    }
}

struct scenario *published_row_scenario(struct arena *arena, const struct published_row *of,
                                        uint32_t *number, struct diag *diag)
{
    const struct published_table *table = of->table;
    const uint32_t row = find_row(arena, table, of->id, diag);
    *number = row;
    if (row == table->row_count) {
        return NULL;
    }
    const struct published_base base = {.catalogue = of->catalogue};
    struct published_scenario made;
    struct diag *found = diag_new(arena);
    struct scenario *scenario = published_resolve(arena, table, row, &base, &made, found);
    diag_add_from(diag, found, DIAG_WARNING);
    diag_add_from(diag, found, DIAG_FAILURE);
    if (scenario == NULL) {
        tell_refused(diag, table, row, &made, found);
        return NULL;
    }
    if (made.filled[0] != '\0') {
        const struct place place = published_place(table, row, "id");
        diag_add(diag, DIAG_NOTE, &place, "not stated, so filled: %s", made.filled);
    }
    return scenario;
}
