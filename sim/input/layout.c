/* Reads a scenario's layout. Reading checks nothing but bounds: whether the
 * sizes go together is for input/feasible, when everything has been read.
 */
#include "input/layout.h"

#include "input/job/parallel_order.h"
#include "input/scenario.h"
#include "input/schedule_file.h"

#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

/* ---- reading ---- */

static struct parallel *parallel_of(const struct schema_reader *reader)
{
    return &((struct scenario *)reader->object)->parallel;
}

void layout_read_dp(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    if (node != NULL && !doc_is(node, row->standard)) {
        schema_read_key(reader, row);
    }
}

/* Two chunks a stage, whatever virtual_stages says. */
static bool is_two_way(uint32_t schedule)
{
    return schedule == SCHEDULE_ZB_V || schedule == SCHEDULE_DUALPIPE ||
           schedule == SCHEDULE_DUALPIPEV;
}

/* A name, or what stood in the file of one (input/resolve put it there). */
void layout_read_schedule(const struct schema_reader *reader, const struct schema_row *row)
{
    struct parallel *parallel = parallel_of(reader);
    struct doc_map *map = reader->map;
    const struct doc_node *node = doc_take(map, schema_key(row));
    if (node == NULL || node->kind != DOC_MAPPING) {
        if (!schema_read_key(reader, row) && node != NULL) {
            diag_help(map->diag, "or the path of a file of orders, like schedules/mine.yaml");
        }
        return;
    }
    parallel->schedule = SCHEDULE_FILE;
    parallel->schedule_file = schedule_file_read(reader->assumptions->arena, node, map->diag);
    map->is_bad = map->is_bad || parallel->schedule_file == NULL;
}

/* Before: the schedule. Chunks that a schedule has by itself need not be said. */
void layout_read_virtual_stages(const struct schema_reader *reader, const struct schema_row *row)
{
    struct parallel *parallel = parallel_of(reader);
    const bool has_chunks = schema_read_key(reader, row);
    if (!has_chunks && is_two_way(parallel->schedule)) {
        parallel->virtual_stages = 2;
    } else if (!has_chunks && parallel->schedule_file != NULL) {
        parallel->virtual_stages = parallel->schedule_file->chunks;
    }
    if (doc_find(reader->map->node, "schedule") == NULL && parallel->virtual_stages > 1) {
        parallel->schedule = SCHEDULE_INTERLEAVED;
    }
    if (parallel->schedule == SCHEDULE_INTERLEAVED && parallel->virtual_stages == 1) {
        parallel->schedule = SCHEDULE_1F1B; /* one chunk a stage: the same order */
    }
}

void layout_read_order(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    const char *text = row->standard;
    uint8_t order[AXIS_COUNT_];
    doc_get_text(map, schema_key(row), &text);
    if (parallel_order_parse(text, order)) {
        memcpy(parallel_of(reader)->order, order, sizeof order);
        return;
    }
    diag_add(map->diag, DIAG_INPUT, &doc_take(map, schema_key(row))->place,
             "order '%.40s' does not name each of tp, cp, ep, dp and pp once", text);
    diag_help(map->diag, "write it like %s, neighbours in a node first", row->standard);
    map->is_bad = true;
}

/* Without tensor parallelism there is nothing to cut. */
void layout_read_sequence_parallel(const struct schema_reader *reader, const struct schema_row *row)
{
    struct parallel *parallel = parallel_of(reader);
    schema_read_key(reader, row);
    parallel->is_sequence_parallel = parallel->is_sequence_parallel && parallel->tp > 1;
}

const char *layout_multiples(struct arena *arena, int64_t wanted, int64_t unit)
{
    const int64_t below = wanted / unit * unit;
    const long long above = (long long)(below + unit);
    return below > 0 ? arena_printf(arena, "%lld or %lld", (long long)below, above)
                     : arena_printf(arena, "%lld", above);
}

/* A batch in tokens is a whole number of sequences. Before: the sequence length. */
void layout_read_global_tokens(const struct schema_reader *reader, const struct schema_row *row)
{
    struct batch *batch = &((struct scenario *)reader->object)->batch;
    struct doc_map *map = reader->map;
    const struct doc_node *node = doc_take(map, schema_key(row));
    int64_t tokens = 0;
    if (node == NULL) {
        return;
    }
    if (doc_find(map->node, "global") != NULL) {
        diag_add(map->diag, DIAG_INPUT, &node->place,
                 "global and global_tokens both say how large the batch is");
        map->is_bad = true;
        return;
    }
    if (!doc_get_count(map, schema_key(row), 1, LAYOUT_GLOBAL_TOKENS_MAX, &tokens) ||
        batch->sequence_length == 0) {
        return;
    }
    batch->global = tokens / batch->sequence_length;
    if (tokens % batch->sequence_length != 0) {
        diag_add(map->diag, DIAG_INFEASIBLE, &node->place,
                 "global_tokens %lld is not a multiple of sequence_length %lld", (long long)tokens,
                 (long long)batch->sequence_length);
        diag_help(map->diag, "global_tokens may be %s",
                  layout_multiples(reader->assumptions->arena, tokens, batch->sequence_length));
        map->is_bad = true;
    } else if (batch->global > LAYOUT_GLOBAL_MAX) {
        diag_add(map->diag, DIAG_INPUT, &node->place, "a batch of %lld sequences is more than %lld",
                 (long long)batch->global, (long long)LAYOUT_GLOBAL_MAX);
        map->is_bad = true;
    }
}

/* Sequences, where the batch is not said in tokens. */
void layout_read_global(const struct schema_reader *reader, const struct schema_row *row)
{
    doc_take(reader->map, schema_key(row)); /* beside tokens an error, which was told */
    const bool in_tokens = doc_find(reader->map->node, "global_tokens") != NULL;
    if (!in_tokens && reader->map->node != NULL && schema_require(reader, row)) {
        schema_read_key(reader, row);
    }
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

/* One count for each chunk, in the order in which layers_per_stage takes them. */
const char *layout_layers_text(struct arena *arena, const void *object)
{
    const struct parallel *parallel = &((const struct scenario *)object)->parallel;
    const int64_t chunks = layout_pieces(parallel);
    struct doc_node *counts = arena_array(arena, (size_t)chunks, sizeof *counts);
    for (int64_t i = 0; i < chunks; i++) {
        counts[i].kind = DOC_SCALAR;
        counts[i].text = arena_printf(arena, "%" PRId64, parallel->layers_per_chunk[i]);
        counts[i].next = i + 1 < chunks ? &counts[i + 1] : NULL;
    }
    const struct doc_node list = {.kind = DOC_SEQUENCE, .child = counts};
    return doc_to_text(arena, &list);
}
