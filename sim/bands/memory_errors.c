/* The file has bytes in GB with four digits behind the point, so that an error read from it is that
 * of the prediction to a hundredth of a per cent.
 */
#include "bands/memory_errors.h"

#include "base/absent.h"
#include "base/arena.h"
#include "bands/quantile.h"
#include "bands/table_file.h"
#include "input/scenario.h"

#include <math.h>
#include <string.h>

static const char *const cut_words[] = {"0", "1"};

#define TEXT(name_, member_) TABLE_TEXT(name_, struct memory_error, member_)
#define SIZE(name_, member_)                                                           \
    TABLE_NUMBER(name_, struct memory_error, member_, 1e-9, 1e6, "%.4f"), .unit = 1e9, \
                                                                          .what = "size in GB"

static const struct table_column columns[] = {
    {TABLE_QUOTED("id", struct memory_error, id)},
    {TABLE_QUOTED("source", struct memory_error, source)},
    {TEXT("gpu", gpu)},
    {TEXT("software", software)},
    {TEXT("architecture", architecture)},
    {TABLE_SWITCH("is_cut", struct memory_error, is_cut, cut_words),
     .wrong = "is_cut '%s' is neither 0 nor 1"},
    {SIZE("measured_gb", measured_bytes)},
    {SIZE("predicted_gb", predicted_bytes)},
};

static const struct table_file errors_file = {
    TABLE_FILE(struct memory_error, columns),
    .remedy = "`stoker calibrate memory FILE.csv -o " MEMORY_ERRORS_FILE "` writes the file anew"};

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

double memory_over(double needed_bytes, double limit_bytes)
{
    return needed_bytes / limit_bytes - 1.0;
}

bool memory_errors_are_near(const struct memory_errors *errors, double over)
{
    return errors != NULL && fabs(over) <= errors->near;
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

bool memory_errors_write(struct arena *arena, const struct memory_errors *errors, const char *path,
                         struct diag *diag)
{
    return table_file_save(arena, path, &errors_file, errors->items, errors->count, diag);
}

bool memory_errors_read(struct arena *arena, const char *path, struct memory_errors *errors,
                        struct diag *diag)
{
    void *items = NULL;
    const struct published_table *table = table_file_read(arena, path, &errors_file, &items, diag);
    if (table == NULL) {
        return false;
    }
    if (table->row_count < MEMORY_ERRORS_MIN) {
        const struct place place = {.file = path};
        return diag_add(diag, DIAG_INPUT, &place, "it has %u peaks, and %d are needed",
                        table->row_count, MEMORY_ERRORS_MIN);
    }
    *errors = (struct memory_errors){.items = items, .count = table->row_count};
    memory_errors_sum(arena, errors);
    return true;
}

static bool read_wish(struct arena *arena, const char *path, void *into, struct diag *diag)
{
    return memory_errors_read(arena, path, into, diag);
}

bool memory_errors_load(struct arena *arena, const struct catalogue *catalogue,
                        struct memory_errors *errors, const char **reason, struct diag *diag)
{
    const struct catalogue_wish wish = {MEMORY_ERRORS_FILE, "error of memory", NULL, read_wish};
    *errors = (struct memory_errors){0};
    return catalogue_wish_load(arena, catalogue, &wish, errors, reason, diag);
}

const struct memory_errors *memory_errors_open(struct arena *arena,
                                               const struct catalogue *catalogue, struct diag *diag)
{
    struct memory_errors *errors = arena_alloc(arena, sizeof *errors);
    const char *reason = NULL;
    if (memory_errors_load(arena, catalogue, errors, &reason, diag)) {
        return errors;
    }
    diag_add(diag, DIAG_NOTE, NULL, "what nearly fits is not told from what does not: %s", reason);
    return NULL;
}

const struct memory_doubt *memory_doubt_new(struct arena *arena, const struct catalogue *catalogue,
                                            const struct result *result, struct diag *diag)
{
    struct memory_doubt *doubt = arena_alloc(arena, sizeof *doubt);
    *doubt = memory_doubt_of(arena, memory_errors_open(arena, catalogue, diag), result->scenario,
                             &result->step.memory);
    return doubt;
}
