/* Reads a scenario's layout. Reading checks nothing but bounds: whether the
 * sizes go together is for input/feasible, when everything has been read.
 */
#include "input/layout.h"

#include "input/scenario.h"
#include "input/schedule_file.h"
#include "input/doc/section.h"

#include "base/arena.h"

#include <string.h>

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

/* Two chunks a stage, whatever virtual_stages says. */
static bool is_two_way(uint32_t schedule)
{
    return schedule == SCHEDULE_ZB_V || schedule == SCHEDULE_DUALPIPE ||
           schedule == SCHEDULE_DUALPIPEV;
}

/* A name, or what stood in the file of one (input/resolve put it there). */
static void read_schedule_name(struct doc_map *map, struct scenario *scenario)
{
    struct parallel *parallel = &scenario->parallel;
    const struct doc_node *node = doc_take(map, "schedule");
    if (node == NULL || node->kind != DOC_MAPPING) {
        if (!doc_get_choice(map, "schedule", schedule_names, SCHEDULE_FILE, &parallel->schedule) &&
            node != NULL) {
            diag_help(map->diag, "or the path of a file of orders, like schedules/mine.yaml");
        }
        return;
    }
    parallel->schedule = SCHEDULE_FILE;
    parallel->schedule_file = schedule_file_read(scenario->assumptions.arena, node, map->diag);
    map->is_bad = map->is_bad || parallel->schedule_file == NULL;
}

/* Before: the map is open. Chunks that a schedule has by itself need not be said. */
static void read_schedule(struct doc_map *map, struct scenario *scenario)
{
    struct parallel *parallel = &scenario->parallel;
    read_schedule_name(map, scenario);
    const bool has_chunks =
        doc_get_count(map, "virtual_stages", 1, LAYERS_MAX, &parallel->virtual_stages);
    doc_get_count(map, "microbatch_group", 1, GLOBAL_MAX, &parallel->microbatch_group);
    if (!has_chunks && is_two_way(parallel->schedule)) {
        parallel->virtual_stages = 2;
    } else if (!has_chunks && parallel->schedule_file != NULL) {
        parallel->virtual_stages = parallel->schedule_file->chunks;
    }
    if (doc_take(map, "schedule") == NULL && parallel->virtual_stages > 1) {
        parallel->schedule = SCHEDULE_INTERLEAVED;
    }
    if (parallel->schedule == SCHEDULE_INTERLEAVED && parallel->virtual_stages == 1) {
        parallel->schedule = SCHEDULE_1F1B; /* one chunk a stage: the same order */
    }
}

/* The axis that `text` begins with; AXIS_COUNT_ if none. */
static uint32_t axis_at(const char *text)
{
    uint32_t axis = 0;
    while (axis < AXIS_COUNT_ && strncmp(text, parallel_axis_names[axis], 2) != 0) {
        axis++;
    }
    return axis;
}

/* "tp-cp-ep-dp-pp" in any order: each axis once. */
static bool parse_order(const char *text, uint8_t *order)
{
    bool is_seen[AXIS_COUNT_] = {false};
    for (uint32_t i = 0; i < AXIS_COUNT_; i++) {
        const uint32_t axis = axis_at(text);
        const bool is_last = i + 1 == AXIS_COUNT_;
        if (axis == AXIS_COUNT_ || is_seen[axis] || text[2] != (is_last ? '\0' : '-')) {
            return false;
        }
        is_seen[axis] = true;
        order[i] = (uint8_t)axis;
        text += 3;
    }
    return true;
}

static void read_order(struct doc_map *map, struct parallel *parallel)
{
    const char *text = NULL;
    uint8_t order[AXIS_COUNT_];
    if (!doc_get_text(map, "order", &text)) {
        return;
    }
    if (!parse_order(text, order)) {
        diag_add(map->diag, DIAG_INPUT, &doc_take(map, "order")->place,
                 "order '%.40s' does not name each of tp, cp, ep, dp and pp once", text);
        diag_help(map->diag, "write it like tp-cp-ep-dp-pp, neighbours in a node first");
        map->is_bad = true;
        return;
    }
    memcpy(parallel->order, order, sizeof order);
}

/* How large each axis is. */
static void read_degrees(struct doc_map *map, struct parallel *parallel)
{
    doc_get_count(map, "tp", 1, DEGREE_MAX, &parallel->tp);
    doc_get_count(map, "cp", 1, DEGREE_MAX, &parallel->cp);
    doc_get_count(map, "pp", 1, DEGREE_MAX, &parallel->pp);
    doc_get_count(map, "ep", 1, DEGREE_MAX, &parallel->ep);
    parallel->etp = parallel->tp;
    doc_get_count(map, "etp", 1, DEGREE_MAX, &parallel->etp);
    read_dp(map, parallel);
    doc_get_count(map, "zero_group", 1, DEGREE_MAX, &parallel->zero_group);
}

static void read_parallel(struct doc_map *scenario_map, struct scenario *scenario)
{
    static const char *const of_layers[] = {"layers_per_stage", "first_stage_layers",
                                            "last_stage_layers", "embedding_slot", "loss_slot"};
    struct parallel *parallel = &scenario->parallel;
    struct doc_map map;
    section_open(&map, scenario_map, "parallel", "scenario", &scenario->assumptions);
    parallel->place = map.node != NULL ? map.node->place : scenario_map->node->place;
    read_degrees(&map, parallel);
    doc_get_count(&map, "zero", 0, 3, &parallel->zero);
    doc_get_choice(&map, "reshard", reshard_names, RESHARD_COUNT_, &parallel->reshard);
    doc_get_choice(&map, "cp_type", context_names, CONTEXT_COUNT_, &parallel->context);
    read_order(&map, parallel);
    read_schedule(&map, scenario);
    doc_get_bool(&map, "overlap_experts", &parallel->overlaps_experts);
    doc_get_bool(&map, "sequence_parallel", &parallel->is_sequence_parallel);
    parallel->is_sequence_parallel = parallel->is_sequence_parallel && parallel->tp > 1;
    for (size_t i = 0; i < sizeof of_layers / sizeof *of_layers; i++) {
        doc_take(&map, of_layers[i]); /* layout_place_layers */
    }
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

/* ---- which chunk of which stage holds a piece of the model ---- */

static int64_t loop_piece(const struct parallel *parallel, int64_t stage, int64_t chunk)
{
    return chunk * parallel->pp + stage;
}

/* Forth through the stages and back. */
static int64_t vee_piece(const struct parallel *parallel, int64_t stage, int64_t chunk)
{
    return chunk == 0 ? stage : 2 * parallel->pp - 1 - stage;
}

/* Both ways at once: every piece is on two stages. */
static int64_t dual_piece(const struct parallel *parallel, int64_t stage, int64_t chunk)
{
    return chunk == 0 ? stage : parallel->pp - 1 - stage;
}

static int64_t (*const piece_rows[SCHEDULE_COUNT_])(const struct parallel *parallel, int64_t stage,
                                                    int64_t chunk) = {
    [SCHEDULE_GPIPE] = loop_piece,         [SCHEDULE_1F1B] = loop_piece,
    [SCHEDULE_INTERLEAVED] = loop_piece,   [SCHEDULE_ZB_H1] = loop_piece,
    [SCHEDULE_ZB_H2] = loop_piece,         [SCHEDULE_ZB_V] = vee_piece,
    [SCHEDULE_DUALPIPE] = dual_piece,      [SCHEDULE_DUALPIPEV] = vee_piece,
    [SCHEDULE_FILE] = schedule_file_piece,
};

int64_t layout_piece(const struct parallel *parallel, int64_t stage, int64_t chunk)
{
    sim_assert(stage >= 0 && stage < parallel->pp);
    sim_assert(chunk >= 0 && chunk < parallel->virtual_stages);
    return piece_rows[parallel->schedule](parallel, stage, chunk);
}

int64_t layout_pieces(const struct parallel *parallel)
{
    const bool is_dual = parallel->schedule == SCHEDULE_DUALPIPE;
    return is_dual ? parallel->pp : parallel->pp * parallel->virtual_stages;
}

int64_t layout_first_layer(const struct parallel *parallel, int64_t piece)
{
    int64_t layers = 0;
    for (int64_t i = 0; i < piece; i++) {
        layers += parallel->layers_per_chunk[i];
    }
    return layers;
}
