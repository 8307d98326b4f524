/* Reading checks nothing but bounds: whether the sizes go together is for
 * spec/feasible, when everything has been read.
 */
#include "spec/layout.h"

#include "spec/scenario.h"
#include "spec/section.h"

#include "base/arena.h"

#include <string.h>

const char *const schedule_names[SCHEDULE_COUNT_] = {"gpipe", "1f1b", "interleaved"};

enum {
    DEGREE_MAX = 1000 * 1000,
    LAYERS_MAX = 10 * 1000,
    SEQUENCE_MAX = 100 * 1000 * 1000,
};
static const int64_t GLOBAL_MAX = 1000000000;
static const int64_t GLOBAL_TOKENS_MAX = 1000000000000000;

/* ---- reading ---- */

static void read_dp(struct doc_map *map, struct parallel *parallel)
{
    const struct doc_node *node = doc_take(map, "dp");
    if (node != NULL && node->kind == DOC_SCALAR && strcmp(node->text, "auto") == 0) {
        parallel->dp = 0;
        return;
    }
    doc_get_count(map, "dp", 1, DEGREE_MAX, &parallel->dp);
}

static void read_parallel(struct doc_map *scenario_map, struct scenario *scenario)
{
    struct parallel *parallel = &scenario->parallel;
    struct doc_map map;
    section_open(&map, scenario_map, "parallel", "scenario", &scenario->assumptions);
    parallel->place = map.node != NULL ? map.node->place : scenario_map->node->place;
    doc_get_count(&map, "tp", 1, DEGREE_MAX, &parallel->tp);
    doc_get_count(&map, "cp", 1, DEGREE_MAX, &parallel->cp);
    doc_get_count(&map, "pp", 1, DEGREE_MAX, &parallel->pp);
    doc_get_count(&map, "ep", 1, DEGREE_MAX, &parallel->ep);
    read_dp(&map, parallel);
    doc_get_count(&map, "zero", 0, 3, &parallel->zero);
    doc_get_count(&map, "virtual_stages", 1, LAYERS_MAX, &parallel->virtual_stages);
    doc_get_choice(&map, "schedule", schedule_names, SCHEDULE_COUNT_, &parallel->schedule);
    if (doc_take(&map, "schedule") == NULL && parallel->virtual_stages > 1) {
        parallel->schedule = SCHEDULE_INTERLEAVED;
    }
    if (parallel->schedule == SCHEDULE_INTERLEAVED && parallel->virtual_stages == 1) {
        parallel->schedule = SCHEDULE_1F1B; /* one chunk a stage: the same order */
    }
    doc_get_bool(&map, "sequence_parallel", &parallel->is_sequence_parallel);
    parallel->is_sequence_parallel = parallel->is_sequence_parallel && parallel->tp > 1;
    doc_take(&map, "layers_per_stage"); /* read_layers_per_stage */
    section_close(&map, scenario_map);
}

const char *layout_multiples(struct arena *arena, int64_t wanted, int64_t unit)
{
    const int64_t below = wanted / unit * unit;
    const long long above = (long long)(below + unit);
    return below > 0 ? arena_printf(arena, "%lld or %lld", (long long)below, above)
                     : arena_printf(arena, "%lld", above);
}

/* A batch in tokens is a whole number of sequences. */
static void read_global_tokens(struct doc_map *map, struct scenario *scenario)
{
    struct batch *batch = &scenario->batch;
    const struct doc_node *node = doc_take(map, "global_tokens");
    int64_t tokens = 0;
    if (doc_take(map, "global") != NULL) {
        diag_add(map->diag, DIAG_INPUT, &node->place,
                 "global and global_tokens both say how large the batch is");
        map->is_bad = true;
        return;
    }
    if (!doc_get_count(map, "global_tokens", 1, GLOBAL_TOKENS_MAX, &tokens) ||
        batch->sequence_length == 0) {
        return;
    }
    batch->global = tokens / batch->sequence_length;
    if (tokens % batch->sequence_length != 0) {
        diag_add(map->diag, DIAG_INFEASIBLE, &node->place,
                 "global_tokens %lld is not a multiple of sequence_length %lld", (long long)tokens,
                 (long long)batch->sequence_length);
        diag_help(map->diag, "global_tokens may be %s",
                  layout_multiples(scenario->assumptions.arena, tokens, batch->sequence_length));
        map->is_bad = true;
    } else if (batch->global > GLOBAL_MAX) {
        diag_add(map->diag, DIAG_INPUT, &node->place, "a batch of %lld sequences is more than %lld",
                 (long long)batch->global, (long long)GLOBAL_MAX);
        map->is_bad = true;
    }
}

static void read_batch(struct doc_map *scenario_map, struct scenario *scenario)
{
    struct batch *batch = &scenario->batch;
    struct doc_map map;
    section_need(&map, scenario_map, "batch", "scenario", &scenario->assumptions);
    batch->place = map.node != NULL ? map.node->place : scenario_map->node->place;
    doc_get_count(&map, "micro", 1, DEGREE_MAX, &batch->micro);
    batch->sequence_length = scenario->model.max_positions;
    doc_get_count(&map, "sequence_length", 1, SEQUENCE_MAX, &batch->sequence_length);
    if (doc_take(&map, "global_tokens") != NULL) {
        read_global_tokens(&map, scenario);
    } else {
        section_need_count(&map, "global", 1, GLOBAL_MAX, &batch->global);
    }
    section_close(&map, scenario_map);
}

bool layout_read(struct doc_map *map, struct scenario *scenario)
{
    read_parallel(map, scenario);
    read_batch(map, scenario);
    return !map->is_bad;
}

/* ---- layers of each chunk ---- */

/* What is worked on here. */
struct layout {
    struct arena *arena;
    struct scenario *scenario;
    struct diag *diag;
};

int64_t *layout_distribute(struct arena *arena, int64_t layers, int64_t chunks)
{
    sim_assert(layers > 0);
    sim_assert(chunks > 0);
    int64_t *counts = arena_array(arena, (size_t)chunks, sizeof *counts);
    const int64_t most = (layers + chunks - 1) / chunks;
    const int64_t deficit = most * chunks - layers;
    sim_assert(deficit < chunks); /* so no chunk gives up two */
    for (int64_t i = 0; i < chunks; i++) {
        counts[i] = most;
    }
    for (int64_t i = 0; i < deficit; i++) {
        counts[i % 2 == 0 ? i / 2 : chunks - 1 - i / 2] -= 1;
    }
    return counts;
}

/* One entry of layers_per_stage: of a stage (split evenly over its chunks) or of a chunk. */
static bool read_stage_layers(const struct layout *layout, const struct doc_node *entry,
                              int64_t chunks_per_entry, int64_t *layers)
{
    if (!doc_node_count(entry, 0, LAYERS_MAX, layers, layout->diag)) {
        return false;
    }
    if (*layers % chunks_per_entry != 0) {
        diag_add(layout->diag, DIAG_INFEASIBLE, &entry->place,
                 "%lld layers do not split evenly over virtual_stages %lld", (long long)*layers,
                 (long long)chunks_per_entry);
        diag_help(layout->diag,
                  "write a multiple of %lld, or one entry per chunk (pp x "
                  "virtual_stages of them) in model order",
                  (long long)chunks_per_entry);
        return false;
    }
    return true;
}

static bool check_list_length(const struct layout *layout, const struct doc_node *list)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    const int64_t entries = doc_child_count(list);
    const int64_t chunks = parallel->pp * parallel->virtual_stages;
    if (list->kind != DOC_SEQUENCE) {
        return diag_add(layout->diag, DIAG_INPUT, &list->place,
                        "layers_per_stage must be a list of counts");
    }
    if (entries == parallel->pp || entries == chunks) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, &list->place,
             "layers_per_stage has %lld entries for pp %lld", (long long)entries,
             (long long)parallel->pp);
    if (chunks == parallel->pp) {
        diag_help(layout->diag, "write %lld entries", (long long)chunks);
    } else {
        diag_help(layout->diag, "write %lld entries (stages) or %lld (chunks)",
                  (long long)parallel->pp, (long long)chunks);
    }
    return false;
}

/* `layers_per_stage: [7, 8, ...]` instead of the automatic distribution. */
static bool read_layers_per_stage(const struct layout *layout, const struct doc_node *list)
{
    struct parallel *parallel = &layout->scenario->parallel;
    if (!check_list_length(layout, list)) {
        return false;
    }
    const int64_t entries = doc_child_count(list);
    const int64_t chunks = parallel->pp * parallel->virtual_stages;
    const int64_t chunks_per_entry = chunks / entries;
    parallel->layers_per_chunk = arena_array(layout->arena, (size_t)chunks, sizeof(int64_t));
    int64_t sum = 0;
    int64_t index = 0;
    bool is_good = true;
    for (const struct doc_node *entry = list->child; entry; entry = entry->next, index++) {
        int64_t layers = 0;
        is_good = read_stage_layers(layout, entry, chunks_per_entry, &layers) && is_good;
        sum += layers;
        for (int64_t chunk = index; chunk < chunks; chunk += entries) {
            parallel->layers_per_chunk[chunk] = layers / chunks_per_entry;
        }
    }
    if (is_good && sum != layout->scenario->model.layers) {
        diag_add(layout->diag, DIAG_INFEASIBLE, &list->place,
                 "layers_per_stage sums to %lld, but model %s has %lld layers", (long long)sum,
                 layout->scenario->model.name, (long long)layout->scenario->model.layers);
        return false;
    }
    return is_good;
}

bool layout_place_layers(struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    const struct layout layout = {arena, scenario, diag};
    struct parallel *parallel = &scenario->parallel;
    const struct doc_node *list = doc_find(scenario->document, "parallel.layers_per_stage");
    if (list != NULL) {
        return read_layers_per_stage(&layout, list);
    }
    parallel->layers_per_chunk =
        layout_distribute(arena, scenario->model.layers, parallel->pp * parallel->virtual_stages);
    return true;
}

int64_t layout_first_layer(const struct parallel *parallel, int64_t piece)
{
    int64_t layers = 0;
    for (int64_t i = 0; i < piece; i++) {
        layers += parallel->layers_per_chunk[i];
    }
    return layers;
}
