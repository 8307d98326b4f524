/* Checks that a pipeline schedule can have these stages, chunks and
 * microbatches. One row for each schedule says what it needs; the checks go
 * through the row.
 */
#include "input/feasible_schedule.h"

#include "input/layout.h"
#include "input/scenario.h"
#include "input/schedule_file.h"

#include "base/arena.h"

struct needs {
    int64_t chunks;           /* of each stage; 0: two or more */
    int64_t stages_min;       /* as many or more */
    int64_t stages_unit;      /* a multiple of it */
    int64_t microbatches_min; /* times pp; 0: one */
    int64_t microbatches_unit;
};

static const struct needs needs[SCHEDULE_COUNT_] = {
    [SCHEDULE_GPIPE] = {1, 1, 1, 0, 1},       [SCHEDULE_1F1B] = {1, 1, 1, 0, 1},
    [SCHEDULE_INTERLEAVED] = {0, 2, 1, 0, 1}, /* and groups_fit */
    [SCHEDULE_ZB_H1] = {1, 1, 1, 0, 1},       [SCHEDULE_ZB_H2] = {1, 1, 1, 0, 1},
    [SCHEDULE_ZB_V] = {2, 2, 1, 0, 1},        [SCHEDULE_DUALPIPE] = {2, 2, 2, 2, 2},
    [SCHEDULE_DUALPIPEV] = {2, 2, 1, 2, 1},   [SCHEDULE_FILE] = {0, 1, 1, 0, 1},
};

static const struct needs *needs_of(const struct scenario *scenario)
{
    return &needs[scenario->parallel.schedule];
}

/* ---- what would fit ---- */

/* Every chunk but the first and the last has a layer. */
static bool chunks_fit(const struct scenario *scenario, int64_t chunks)
{
    return chunks == 1 || chunks <= scenario->model.layers + 2;
}

static bool stages_fit(const struct scenario *scenario, int64_t pp)
{
    const struct schedule_file *file = scenario->parallel.schedule_file;
    const struct needs *need = needs_of(scenario);
    return pp >= need->stages_min && pp % need->stages_unit == 0 &&
           (file == NULL || pp == file->stages);
}

bool feasible_pp_fits(const struct scenario *scenario, int64_t pp)
{
    struct parallel changed = scenario->parallel;
    changed.pp = pp;
    return stages_fit(scenario, pp) && scenario->gpus % (changed.tp * changed.cp * pp) == 0 &&
           chunks_fit(scenario, layout_pieces(&changed));
}

static bool virtual_stages_fit(const struct scenario *scenario, int64_t virtual_stages)
{
    return chunks_fit(scenario, scenario->parallel.pp * virtual_stages);
}

static int64_t group_of(const struct parallel *parallel)
{
    return parallel->microbatch_group > 0 ? parallel->microbatch_group : parallel->pp;
}

/* Megatron-LM's rule (schedules.py, forward_backward_pipelining_with_interleaving): a group fills
 * the pipeline, the last one, too. */
bool feasible_group_fits(int64_t pp, int64_t microbatches, int64_t group)
{
    const int64_t last = microbatches % group;
    return group >= pp && group <= microbatches && (last == 0 || last >= pp);
}

static bool groups_fit(const struct scenario *scenario, int64_t group)
{
    return feasible_group_fits(scenario->parallel.pp, scenario->batch.microbatches, group);
}

int64_t feasible_batch_unit(const struct scenario *scenario)
{
    const struct parallel *parallel = &scenario->parallel;
    const bool is_interleaved = parallel->schedule == SCHEDULE_INTERLEAVED;
    const int64_t microbatches =
        is_interleaved ? group_of(parallel) : needs_of(scenario)->microbatches_unit;
    return parallel->dp * scenario->batch.micro * microbatches;
}

/* ---- checks ---- */

static bool check_chunks(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const int64_t chunks = layout_pieces(parallel);
    if (chunks_fit(scenario, chunks)) {
        return true;
    }
    const long long layers = (long long)scenario->model.layers;
    if (chunks == parallel->pp) {
        diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "pp"),
                 "pp %lld is too many for %lld layers", (long long)parallel->pp, layers);
        feasible_help(layout, "pp", parallel->pp, feasible_pp_fits);
        return false;
    }
    const bool is_chosen = parallel->schedule == SCHEDULE_INTERLEAVED;
    diag_add(layout->diag, DIAG_INFEASIBLE,
             feasible_place(layout, "parallel", is_chosen ? "virtual_stages" : "pp"),
             "pp %lld x virtual_stages %lld = %lld is too many for %lld layers",
             (long long)parallel->pp, (long long)parallel->virtual_stages, (long long)chunks,
             layers);
    if (is_chosen) {
        feasible_help(layout, "virtual_stages", parallel->virtual_stages, virtual_stages_fit);
    } else {
        feasible_help(layout, "pp", parallel->pp, feasible_pp_fits);
    }
    return false;
}

static bool check_virtual_stages(const struct layout *layout)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    const int64_t wanted = needs_of(layout->scenario)->chunks;
    const struct place *place = feasible_place(layout, "parallel", "virtual_stages");
    if (wanted == 0 || parallel->virtual_stages == wanted) {
        return true;
    }
    if (wanted > 1) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "schedule %s has %lld chunks per stage, not virtual_stages %lld",
                 schedule_names[parallel->schedule], (long long)wanted,
                 (long long)parallel->virtual_stages);
        diag_help(layout->diag, "leave virtual_stages out, or write %lld", (long long)wanted);
        return false;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, place,
             "schedule %s has one chunk per stage, not virtual_stages %lld",
             schedule_names[parallel->schedule], (long long)parallel->virtual_stages);
    diag_help(layout->diag, "use schedule interleaved, or virtual_stages 1");
    return false;
}

static bool check_stages(const struct layout *layout)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    const struct needs *need = needs_of(layout->scenario);
    const long long pp = (long long)parallel->pp;
    if (parallel->pp >= need->stages_min && parallel->pp % need->stages_unit == 0) {
        return true;
    }
    if (parallel->schedule == SCHEDULE_INTERLEAVED) {
        diag_add(layout->diag, DIAG_INFEASIBLE,
                 feasible_place(layout, "parallel", "virtual_stages"),
                 "an interleaved schedule needs at least 2 stages, not pp 1");
    } else {
        diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "pp"),
                 need->stages_unit > 1 ? "schedule %s needs an even number of stages, not pp %lld"
                                       : "schedule %s needs at least 2 stages, not pp %lld",
                 schedule_names[parallel->schedule], pp);
    }
    feasible_help(layout, "pp", parallel->pp, feasible_pp_fits);
    return false;
}

/* "has 4 stages, but pp is 8": a size that a file of orders and the scenario say differently. */
static bool check_file_size(const struct layout *layout, const char *of_file, int64_t size,
                            const char *key, int64_t given)
{
    const struct schedule_file *file = layout->scenario->parallel.schedule_file;
    if (size == given) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", key),
             "schedule %s has %lld %s%s, but %s is %lld", file->name, (long long)size, of_file,
             size == 1 ? "" : "s", key, (long long)given);
    diag_help(layout->diag, "%s may be %lld", key, (long long)size);
    return false;
}

static bool check_file(const struct layout *layout)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    const struct schedule_file *file = parallel->schedule_file;
    if (file == NULL) {
        return true;
    }
    const bool is_good = check_file_size(layout, "stage", file->stages, "pp", parallel->pp);
    return check_file_size(layout, "chunk", file->chunks, "virtual_stages",
                           parallel->virtual_stages) &&
           is_good;
}

static bool check_group_is_of_use(const struct layout *layout)
{
    struct parallel *parallel = &layout->scenario->parallel;
    if (parallel->schedule == SCHEDULE_INTERLEAVED) {
        parallel->microbatch_group = group_of(parallel);
        return true;
    }
    if (parallel->microbatch_group == 0) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "microbatch_group"),
             "microbatch_group is for schedule interleaved, not %s",
             schedule_names[parallel->schedule]);
    diag_help(layout->diag, "use virtual_stages of 2 or more, or leave microbatch_group out");
    return false;
}

bool feasible_schedule(const struct layout *layout)
{
    return check_virtual_stages(layout) && check_group_is_of_use(layout) && check_stages(layout) &&
           check_file(layout) && check_chunks(layout);
}

/* ---- microbatches ---- */

/* What else would do than another batch: the smallest group that fits. */
static const char *other_groups(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    if (scenario->parallel.schedule != SCHEDULE_INTERLEAVED) {
        return "";
    }
    for (int64_t group = scenario->parallel.pp; group <= scenario->batch.microbatches; group++) {
        if (groups_fit(scenario, group)) {
            return arena_printf(layout->arena, ", or microbatch_group %lld", (long long)group);
        }
    }
    return "";
}

static bool report_microbatches(const struct layout *layout, const char *why, int64_t global_min)
{
    const struct scenario *scenario = layout->scenario;
    const bool in_tokens = doc_find(scenario->document, "batch.global_tokens") != NULL;
    const int64_t unit = feasible_batch_unit(scenario);
    diag_add(layout->diag, DIAG_INFEASIBLE,
             feasible_place(layout, "batch", in_tokens ? "global_tokens" : "global"),
             "%s, not %lld", why, (long long)scenario->batch.microbatches);
    if (scenario->batch.global < global_min) {
        diag_help(layout->diag, "global may be %lld sequences or more", (long long)global_min);
    } else {
        diag_help(layout->diag, "global may be %s sequences%s",
                  layout_multiples(layout->arena, scenario->batch.global, unit),
                  other_groups(layout));
    }
    return false;
}

static bool report_groups(const struct layout *layout, int64_t group)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const int64_t count = scenario->batch.microbatches;
    if (group == parallel->pp || count < parallel->pp) {
        const char *wanted = group == parallel->pp ? "a multiple of" : "at least";
        return report_microbatches(
            layout,
            arena_printf(layout->arena, "an interleaved schedule needs %s pp %lld microbatches",
                         wanted, (long long)parallel->pp),
            0);
    }
    const char *why =
        group < parallel->pp ? arena_printf(layout->arena, "is smaller than pp")
        : group > count
            ? arena_printf(layout->arena, "is more than the %lld microbatches, and pp is",
                           (long long)count)
            : arena_printf(layout->arena, "leaves %lld of %lld microbatches, fewer than pp",
                           (long long)(count % group), (long long)count);
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "microbatch_group"),
             "microbatch_group %lld %s %lld", (long long)group, why, (long long)parallel->pp);
    feasible_help(layout, "microbatch_group", group, groups_fit);
    return false;
}

/* Of a space with all groups most end here: what nobody reads is not put together. */
static bool check_groups(const struct layout *layout)
{
    const int64_t group = group_of(&layout->scenario->parallel);
    return groups_fit(layout->scenario, group) ||
           (!diag_is_deaf(layout->diag) && report_groups(layout, group));
}

bool feasible_microbatches(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const struct schedule_file *file = parallel->schedule_file;
    const int64_t count = scenario->batch.microbatches;
    const int64_t together = parallel->dp * scenario->batch.micro;
    const int64_t least = needs_of(scenario)->microbatches_min * parallel->pp;
    const char *name = schedule_names[parallel->schedule];
    const long long pp = (long long)parallel->pp;
    if (file != NULL && count != file->microbatches) {
        const bool in_tokens = doc_find(scenario->document, "batch.global_tokens") != NULL;
        diag_add(layout->diag, DIAG_INFEASIBLE,
                 feasible_place(layout, "batch", in_tokens ? "global_tokens" : "global"),
                 "schedule %s has %lld microbatches, but global %lld gives %lld", file->name,
                 (long long)file->microbatches, (long long)scenario->batch.global,
                 (long long)count);
        diag_help(layout->diag, "global may be %lld sequences",
                  (long long)(file->microbatches * together));
        return false;
    }
    if (parallel->schedule == SCHEDULE_INTERLEAVED && !check_groups(layout)) {
        return false;
    }
    if (count < least) {
        return report_microbatches(
            layout,
            arena_printf(layout->arena,
                         "schedule %s needs at least 2 x pp %lld = %lld microbatches", name, pp,
                         (long long)least),
            least * together);
    }
    if (count % needs_of(scenario)->microbatches_unit != 0) {
        return report_microbatches(
            layout,
            arena_printf(layout->arena, "schedule %s needs an even number of microbatches", name),
            0);
    }
    return true;
}
