/* Which piece of the model has how many layers. An explicit list wins; else what the first
 * and the last stage have may be said, and the rest is spread; else all are spread, with the
 * embedding and the loss as layers where the user counts them so.
 *
 * Pieces, not stages, are in model order: layout_piece says which a stage holds.
 */
#include "input/layout.h"

#include "input/scenario.h"

#include "base/arena.h"

enum { LAYERS_MAX = 10 * 1000 };

/* What is worked on here. */
struct layout {
    struct arena *arena;
    struct scenario *scenario;
    struct diag *diag;
};

/* ---- near-even ---- */

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

/* The same where the embedding, the loss or both stand for a layer: their pieces are full
 * sooner, and what is too many is taken from the others first. */
static int64_t *distribute_slots(struct arena *arena, int64_t layers, int64_t pieces,
                                 const bool *has_slot)
{
    const int64_t first = has_slot[0] ? 1 : 0;
    const int64_t last = has_slot[1] ? 1 : 0;
    const int64_t most = (layers + first + last + pieces - 1) / pieces;
    int64_t deficit = most * pieces - (layers + first + last);
    int64_t *counts = arena_array(arena, (size_t)pieces, sizeof *counts);
    for (int64_t i = 0; i < pieces; i++) {
        counts[i] = most;
    }
    counts[0] -= first;
    counts[pieces - 1] -= last;
    const int64_t between = pieces - first - last;
    for (int64_t i = 0; i < between && deficit > 0; i++, deficit--) {
        counts[i % 2 == 0 ? first + i / 2 : pieces - 1 - last - i / 2] -= 1;
    }
    counts[pieces - 1] -= deficit > 0 ? 1 : 0; /* both ends have slots, and nothing is between */
    return counts;
}

/* ---- layers_per_stage ---- */

/* Of one stage; with DualPipe both chunks are pieces that other stages have too. */
static int64_t pieces_per_stage(const struct parallel *parallel)
{
    return layout_pieces(parallel) / parallel->pp;
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
    const int64_t pieces = layout_pieces(parallel);
    if (list->kind != DOC_SEQUENCE) {
        return diag_add(layout->diag, DIAG_INPUT, &list->place,
                        "layers_per_stage must be a list of counts, or even");
    }
    if (entries == parallel->pp || entries == pieces) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, &list->place,
             "layers_per_stage has %lld entries for pp %lld", (long long)entries,
             (long long)parallel->pp);
    if (pieces == parallel->pp) {
        diag_help(layout->diag, "write %lld entries", (long long)pieces);
    } else {
        diag_help(layout->diag, "write %lld entries (stages) or %lld (chunks)",
                  (long long)parallel->pp, (long long)pieces);
    }
    return false;
}

/* Stage `stage` has `layers`, the same in each of its pieces. */
static void put_stage(struct parallel *parallel, int64_t stage, int64_t layers)
{
    const int64_t each = pieces_per_stage(parallel);
    for (int64_t chunk = 0; chunk < each; chunk++) {
        parallel->layers_per_chunk[layout_piece(parallel, stage, chunk)] = layers / each;
    }
}

/* `layers_per_stage: [7, 8, ...]` instead of the automatic distribution. */
static bool read_layers_per_stage(const struct layout *layout, const struct doc_node *list)
{
    struct parallel *parallel = &layout->scenario->parallel;
    if (!check_list_length(layout, list)) {
        return false;
    }
    const bool of_stages = doc_child_count(list) == parallel->pp;
    int64_t sum = 0;
    int64_t index = 0;
    bool is_good = true;
    for (const struct doc_node *entry = list->child; entry; entry = entry->next, index++) {
        const int64_t each = of_stages ? pieces_per_stage(parallel) : 1;
        int64_t layers = 0;
        is_good = read_stage_layers(layout, entry, each, &layers) && is_good;
        sum += layers;
        if (of_stages) {
            put_stage(parallel, index, layers);
        } else {
            parallel->layers_per_chunk[index] = layers;
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

/* ---- first_stage_layers, last_stage_layers ---- */

const char *const layout_stage_keys[LAYOUT_STAGE_KEYS] = {
    "parallel.layers_per_stage", "parallel.first_stage_layers", "parallel.last_stage_layers",
    "parallel.embedding_slot", "parallel.loss_slot"};

enum { NOT_SAID = -1 };

/* A key of `parallel`; NULL: it is not written. */
static const struct doc_node *node_of(const struct layout *layout, const char *key)
{
    const struct doc_node *section = doc_find(layout->scenario->document, "parallel");
    return section != NULL ? doc_find(section, key) : NULL;
}

/* Where it is written, or else the section: a layout that is tried has no file. */
static const struct place *place_of(const struct layout *layout, const char *key)
{
    const struct doc_node *node = node_of(layout, key);
    return node != NULL ? &node->place : &layout->scenario->parallel.place;
}

/* What `key` of `parallel`, which has this many layers, says where it is written, or a layout that
 * is tried says; or NOT_SAID. */
static bool find_end(const struct layout *layout, const char *key, int64_t written, int64_t *layers)
{
    const int64_t each = pieces_per_stage(&layout->scenario->parallel);
    *layers = written > 0 || node_of(layout, key) != NULL ? written : NOT_SAID;
    if (*layers == NOT_SAID || written % each == 0) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, key),
             "%s %lld does not split evenly over virtual_stages %lld", key, (long long)written,
             (long long)each);
    diag_help(layout->diag, "%s may be %s; or write layers_per_stage with one entry per chunk", key,
              layout_multiples(layout->arena, written, each));
    return false;
}

/* The stages between the ends cannot have what is left. */
static bool report_ends(const struct layout *layout, const int64_t *ends, int64_t left,
                        int64_t pieces)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    const char *key = ends[0] != NOT_SAID ? "first_stage_layers" : "last_stage_layers";
    const int64_t sum = layout->scenario->model.layers - left;
    diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, key),
             "%lld layers in the first and last stages leave %lld of %lld for the other %lld",
             (long long)sum, (long long)left, (long long)layout->scenario->model.layers,
             (long long)(pieces / pieces_per_stage(parallel)));
    diag_help(layout->diag, "every other stage needs a layer; or write layers_per_stage");
    return false;
}

/* What is left for the pieces of no end goes over them near-evenly, in model order. */
static bool place_around_ends(const struct layout *layout, const int64_t *ends)
{
    struct parallel *parallel = &layout->scenario->parallel;
    const int64_t all = layout_pieces(parallel);
    const int64_t each = pieces_per_stage(parallel);
    const int64_t stages[] = {0, parallel->pp - 1};
    int64_t left = layout->scenario->model.layers;
    int64_t pieces = all;
    for (int64_t i = 0; i < all; i++) {
        parallel->layers_per_chunk[i] = NOT_SAID;
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (ends[i] != NOT_SAID) {
            put_stage(parallel, stages[i], ends[i]);
            left -= ends[i];
            pieces -= each;
        }
    }
    if (pieces < 0 || left < pieces / each || (pieces == 0 && left > 0)) {
        return report_ends(layout, ends, left, pieces > 0 ? pieces : 0);
    }
    if (pieces == 0) {
        return true;
    }
    const int64_t *spread = layout_distribute(layout->arena, left, pieces);
    for (int64_t i = 0, next = 0; i < all; i++) {
        if (parallel->layers_per_chunk[i] == NOT_SAID) {
            parallel->layers_per_chunk[i] = spread[next++];
        }
    }
    return true;
}

/* ---- the whole ---- */

static bool report_slots(const struct layout *layout, bool is_embedding)
{
    const char *key = is_embedding ? "embedding_slot" : "loss_slot";
    diag_add(layout->diag, DIAG_INFEASIBLE, place_of(layout, key),
             "%s counts for an even distribution, but the ends are given", key);
    diag_help(layout->diag, "leave out the slots, or first_stage_layers and last_stage_layers");
    return false;
}

/* NULL: there is none; "even" is as if nothing were said. */
static const struct doc_node *list_of(const struct scenario *scenario)
{
    const struct doc_node *list = doc_find(scenario->document, "parallel.layers_per_stage");
    return doc_is(list, "even") ? NULL : list;
}

bool layout_lists_layers(const struct scenario *scenario)
{
    return list_of(scenario) != NULL;
}

bool layout_place_layers(struct arena *arena, struct scenario *scenario, struct diag *diag)
{
    const struct layout layout = {arena, scenario, diag};
    struct parallel *parallel = &scenario->parallel;
    const int64_t pieces = layout_pieces(parallel);
    const struct doc_node *list = list_of(scenario);
    const bool has_slot[2] = {parallel->has_embedding_slot, parallel->has_loss_slot};
    int64_t ends[2];
    const bool is_good =
        find_end(&layout, "first_stage_layers", parallel->first_stage_layers, &ends[0]);
    if (!find_end(&layout, "last_stage_layers", parallel->last_stage_layers, &ends[1]) ||
        !is_good) {
        return false;
    }
    parallel->layers_per_chunk = arena_array(arena, (size_t)pieces, sizeof(int64_t));
    if (list != NULL) {
        return read_layers_per_stage(&layout, list);
    }
    const bool has_ends = ends[0] != NOT_SAID || ends[1] != NOT_SAID;
    const bool has_slots = has_slot[0] || has_slot[1];
    if (has_ends) {
        return has_slots ? report_slots(&layout, has_slot[0]) : place_around_ends(&layout, ends);
    }
    parallel->layers_per_chunk =
        has_slots && pieces > 1 ? distribute_slots(arena, scenario->model.layers, pieces, has_slot)
                                : layout_distribute(arena, scenario->model.layers, pieces);
    return true;
}
