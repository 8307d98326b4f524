/* A file is read in memory of its own, by the reader of its kind, its last run that has steps; what
 * it says first of the run, and the first file's steps, are kept.
 */
#include "foreign/logs/log_ranks.h"

#include "base/arena.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <string.h>

struct log_ranks log_ranks_new(struct importer *importer, const struct log_reader *reader)
{
    return (struct log_ranks){.importer = importer, .reader = reader};
}

/* ---- settings ------------------------------------------------------------------------------- */

static const struct log_fact *find_fact(const struct log_ranks *ranks, const char *name)
{
    for (size_t i = 0; i < ranks->fact_count; i++) {
        if (strcmp(ranks->facts[i].name, name) == 0) {
            return &ranks->facts[i];
        }
    }
    return NULL;
}

static void keep_fact(struct log_ranks *ranks, const struct training_log *log,
                      const struct log_setting *setting)
{
    struct arena *arena = ranks->importer->arena;
    ranks->facts = arena_grow(arena, ranks->facts, &ranks->fact_capacity, ranks->fact_count + 1,
                              sizeof *ranks->facts);
    ranks->facts[ranks->fact_count++] = (struct log_fact){
        .name = arena_strdup(arena, setting->name),
        .value = arena_strdup(arena, setting->value),
        .file = arena_strdup(arena, log->importer->file.path),
        .line = log_place(log, setting->at).line,
    };
}

static bool agree_in_settings(struct log_ranks *ranks, const struct training_log *log)
{
    for (size_t i = 0; i < log->setting_count; i++) {
        const struct log_setting *setting = &log->settings[i];
        if (ranks->reader->matters == NULL || !ranks->reader->matters(setting->name)) {
            continue;
        }
        const struct log_fact *fact = find_fact(ranks, setting->name);
        if (fact == NULL) {
            keep_fact(ranks, log, setting);
        } else if (strcmp(fact->value, setting->value) != 0) {
            ranks->at = (size_t)(setting->at - log->text);
            ranks->what =
                arena_printf(ranks->importer->arena, "%s is '%s' here, and '%s' in %s:%" PRIu32,
                             setting->name, setting->value, fact->value, fact->file, fact->line);
            return false;
        }
    }
    return true;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void keep_steps(struct log_ranks *ranks, const struct training_log *log)
{
    struct arena *arena = ranks->importer->arena;
    ranks->steps = arena_array(arena, log->step_count, sizeof *ranks->steps);
    memcpy(ranks->steps, log->steps, log->step_count * sizeof *ranks->steps);
    ranks->step_count = log->step_count;
    ranks->steps_file = arena_strdup(arena, log->importer->file.path);
}

static bool refuse_step(struct log_ranks *ranks, const struct training_log *log,
                        const struct log_step *step, const char *what)
{
    ranks->at = (size_t)(step->at - log->text);
    ranks->what = what;
    return false;
}

/* Both lists are in order of their numbers, as far as a log is (log_step). */
static bool agree_in_steps(struct log_ranks *ranks, const struct training_log *log)
{
    struct arena *arena = log->importer->arena;
    double *ratios = arena_array(arena, log->step_count, sizeof *ratios);
    const struct log_step *last = NULL;
    size_t common = 0;
    for (size_t i = 0, k = 0; i < log->step_count; i++) {
        const struct log_step *step = &log->steps[i];
        while (k < ranks->step_count && ranks->steps[k].number < step->number) {
            k++;
        }
        const struct log_step *other = &ranks->steps[k];
        if (k == ranks->step_count || other->number != step->number) {
            continue;
        }
        if (step->batch > 0 && other->batch > 0 && step->batch != other->batch) {
            return refuse_step(ranks, log, step,
                               arena_printf(ranks->importer->arena,
                                            "step %" PRId64 " has %" PRId64
                                            " sequences here, and %" PRId64 " in %s",
                                            step->number, step->batch, other->batch,
                                            ranks->steps_file));
        }
        ratios[common++] = step->value / other->value;
        last = step;
    }
    if (common == 0) {
        return true;
    }
    gsl_sort(ratios, 1, common);
    const double ratio = gsl_stats_median_from_sorted_data(ratios, 1, common);
    return (ratio <= LOG_SLOW && ratio >= 1 / LOG_SLOW) ||
           refuse_step(ranks, log, last,
                       arena_printf(ranks->importer->arena,
                                    "steps take %.3g times as long here as the same ones in %s",
                                    ratio, ranks->steps_file));
}

/* ---- a file --------------------------------------------------------------------------------- */

bool log_ranks_add(struct log_ranks *ranks, const struct text_file *file)
{
    struct arena *scratch = arena_new();
    struct importer importer = *ranks->importer;
    struct training_log log;
    importer.arena = scratch;
    importer.diag = diag_new(scratch);
    importer.file = *file;
    log_open(&log, &importer);
    ranks->reader->read(&log);
    bool is_good = true;
    if (log_choose_run(&log)) {
        is_good = agree_in_settings(ranks, &log) &&
                  (ranks->step_count == 0 || agree_in_steps(ranks, &log));
        if (ranks->step_count == 0 && log.step_count > 0) {
            keep_steps(ranks, &log);
        }
    }
    arena_free(scratch);
    return is_good;
}
