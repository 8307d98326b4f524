/* The file has bytes in GB with four digits behind the point, so that an error read from it is that
 * of the prediction to a hundredth of a per cent.
 */
#include "bands/memory_errors.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/path.h"
#include "bands/csv.h"
#include "bands/published_table.h"
#include "bands/quantile.h"
#include "input/scenario.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const columns[] = {"id",           "source", "gpu",         "software",
                                      "architecture", "is_cut", "measured_gb", "predicted_gb"};
enum { FILE_COLUMNS = sizeof columns / sizeof *columns };

static const double GB = 1e9;

/* ---- what errors say --------------------------------------------------------------------- */

void memory_errors_sum(struct arena *arena, struct memory_errors *errors)
{
    errors->like = "";
    double *ratios = arena_array(arena, errors->count + (size_t)1, sizeof *ratios);
    double *sizes = arena_array(arena, errors->count + (size_t)1, sizeof *sizes);
    for (uint32_t i = 0; i < errors->count; i++) {
        ratios[i] = errors->items[i].predicted_bytes / errors->items[i].measured_bytes;
        sizes[i] = fabs(ratios[i] - 1.0);
    }
    errors->median = quantile_of(sizes, errors->count, 0.5);
    errors->near = fmin(errors->median, MEMORY_ERRORS_MOST);
    errors->low = quantile_of(ratios, errors->count, 0.1);
    errors->high = quantile_of(ratios, errors->count, 0.9);
    errors->ratios = ratios;
}

double memory_errors_share(const struct memory_errors *errors, double over)
{
    uint32_t below = 0;
    while (below < errors->count && errors->ratios[below] < 1.0 + over) {
        below++;
    }
    return errors->count > 0 ? (double)(errors->count - below) / errors->count : ABSENT;
}

/* ---- classes ----------------------------------------------------------------------------- */

bool memory_is_cut(const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    return parallel->tp > 1 || parallel->pp > 1 || parallel->cp > 1;
}

/* Those that are cut so, and of that architecture (NULL: of any). */
static struct memory_errors class_of(struct arena *arena, const struct memory_errors *errors,
                                     const char *architecture, bool is_cut)
{
    struct memory_error *items = arena_array(arena, errors->count + (size_t)1, sizeof *items);
    struct memory_errors found = {.items = items};
    for (uint32_t i = 0; i < errors->count; i++) {
        const struct memory_error *error = &errors->items[i];
        if (error->is_cut == is_cut &&
            (architecture == NULL || strcmp(error->architecture, architecture) == 0)) {
            items[found.count++] = *error;
        }
    }
    memory_errors_sum(arena, &found);
    found.like = arena_printf(arena, "%s%scut by %s", architecture != NULL ? architecture : "",
                              architecture != NULL ? ", " : "",
                              is_cut ? "tp, pp or cp" : "data parallelism alone");
    return found;
}

struct memory_errors memory_errors_alike(struct arena *arena, const struct memory_errors *errors,
                                         const char *architecture, bool is_cut)
{
    const struct memory_errors nearest = class_of(arena, errors, architecture, is_cut);
    if (nearest.count >= MEMORY_CLASS_MIN) {
        return nearest;
    }
    const struct memory_errors wider = class_of(arena, errors, NULL, is_cut);
    return wider.count >= MEMORY_CLASS_MIN ? wider : *errors;
}

struct memory_doubt memory_doubt_of(struct arena *arena, const struct memory_errors *errors,
                                    const struct scenario *scenario,
                                    const struct memory_verdict *verdict)
{
    struct memory_doubt doubt = {.is_in_doubt = false, .share = ABSENT, .like = ""};
    if (errors == NULL) {
        return doubt;
    }
    const struct memory_errors alike = memory_errors_alike(
        arena, errors, gpu_architecture_names[scenario->gpu.architecture], memory_is_cut(scenario));
    doubt.share =
        memory_errors_share(&alike, verdict->worst.total_bytes / verdict->limit_bytes - 1);
    doubt.is_in_doubt = verdict->fits_gpu && doubt.share < MEMORY_SURE;
    doubt.peaks = alike.count;
    doubt.like = alike.like;
    return doubt;
}

/* ---- the file ---------------------------------------------------------------------------- */

static bool put_errors(const void *context, FILE *out)
{
    const struct memory_errors *errors = context;
    for (uint32_t i = 0; i < FILE_COLUMNS; i++) {
        fprintf(out, "%s%s", i == 0 ? "" : ",", columns[i]);
    }
    fputc('\n', out);
    for (uint32_t i = 0; i < errors->count; i++) {
        const struct memory_error *error = &errors->items[i];
        csv_write_quoted(error->id, out);
        fputc(',', out);
        csv_write_quoted(error->source, out);
        fprintf(out, ",%s,%s,%s,%d,%.4f,%.4f\n", error->gpu, error->software, error->architecture,
                error->is_cut, error->measured_bytes / GB, error->predicted_bytes / GB);
    }
    return ferror(out) == 0;
}

bool memory_errors_write(struct arena *arena, const struct memory_errors *errors, const char *path,
                         struct diag *diag)
{
    const struct path_content content = {put_errors, errors, "write it to a place with room",
                                         false};
    return path_write_whole(arena, path, &content, diag);
}

static bool read_bytes(const struct published_table *table, uint32_t row, const char *column,
                       double *bytes, struct diag *diag)
{
    double gigabytes = 0;
    if (published_number(table, row, column, &gigabytes) && gigabytes > 0 && gigabytes < 1e6) {
        *bytes = gigabytes * GB;
        return true;
    }
    const struct place place = published_place(table, row, column);
    diag_add(diag, DIAG_INPUT, &place, "%s '%s' is no size in GB", column,
             published_text(table, row, column));
    diag_help(diag,
              "`stoker calibrate memory FILE.csv -o " MEMORY_ERRORS_FILE "` writes the file anew");
    return false;
}

static bool read_error(const struct published_table *table, uint32_t row,
                       struct memory_error *error, struct diag *diag)
{
    if (table->problems[row].what != NULL) {
        const struct place place = published_place(table, row, "");
        return diag_add(diag, DIAG_INPUT, &place, "%s", table->problems[row].what);
    }
    *error = (struct memory_error){
        .id = published_text(table, row, "id"),
        .source = published_text(table, row, "source"),
        .gpu = published_text(table, row, "gpu"),
        .software = published_text(table, row, "software"),
        .architecture = published_text(table, row, "architecture"),
        .is_cut = strcmp(published_text(table, row, "is_cut"), "1") == 0,
    };
    return read_bytes(table, row, "measured_gb", &error->measured_bytes, diag) &&
           read_bytes(table, row, "predicted_gb", &error->predicted_bytes, diag);
}

bool memory_errors_read(struct arena *arena, const char *path, struct memory_errors *errors,
                        struct diag *diag)
{
    const struct published_table *table = published_load(arena, path, diag);
    if (table == NULL || !published_has_columns(table, columns, FILE_COLUMNS, diag)) {
        return false;
    }
    if (table->row_count < MEMORY_ERRORS_MIN) {
        const struct place place = {.file = path};
        return diag_add(diag, DIAG_INPUT, &place, "it has %u peaks, and %d are needed",
                        table->row_count, MEMORY_ERRORS_MIN);
    }
    struct memory_error *items = arena_array(arena, table->row_count, sizeof *items);
    for (uint32_t i = 0; i < table->row_count; i++) {
        if (!read_error(table, i, &items[i], diag)) {
            return false;
        }
    }
    *errors = (struct memory_errors){.items = items, .count = table->row_count};
    memory_errors_sum(arena, errors);
    return true;
}

bool memory_errors_load(struct arena *arena, const struct catalogue *catalogue,
                        struct memory_errors *errors, const char **reason, struct diag *diag)
{
    const char *path = catalogue_file(arena, catalogue, MEMORY_ERRORS_FILE);
    struct diag *own = diag_new(arena);
    *errors = (struct memory_errors){0};
    *reason = "the catalogue has no " MEMORY_ERRORS_FILE;
    if (path == NULL) {
        return false;
    }
    if (memory_errors_read(arena, path, errors, own)) {
        return true;
    }
    *reason = diag_first_error_at(arena, own);
    if (diag_exit_status(own) == 1) { /* not its contents: a disk that fails, no memory */
        diag_add(diag, DIAG_FAILURE, NULL, "no error of memory: %s", *reason);
    }
    return false;
}
