/* Every row of every schema of a resolved scenario is held against the other's, by the text of the
 * value that holds.
 */
#include "bands/differences.h"

#include "base/arena.h"
#include "input/scenario.h"
#include "input/scenario_keys.h"

#include <math.h>
#include <string.h>

#define LENGTH(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

/* ---- the table -------------------------------------------------------------------------- */

#define NO_STEP ""
#define UNMEASURED NULL
#define MACHINE "machine" /* what comes with a GPU; by itself no axis has it */

static const uint32_t MACHINE_COLUMN = AXIS_COLUMNS_MAX - 1; /* beyond those of bands/axes */

/* What a key is, and all below it that have no row of their own. */
static const struct key_row {
    const char *path;
    const char *column; /* of bands/axes, or one of these */
} key_rows[] = {
    {"scenario", NO_STEP},
    {"recipe", NO_STEP}, /* its keys stand for themselves */
    {"box", NO_STEP},    /* likewise */
    {"seed", NO_STEP},
    {"run", NO_STEP},
    {"price", NO_STEP},
    {"memory", NO_STEP},
    {"name", NO_STEP}, /* of a study */
    {"set", NO_STEP},
    {"sweep", NO_STEP},
    {"variants", NO_STEP},
    {"search", NO_STEP},
    {"require", NO_STEP},
    {"defaults", NO_STEP}, /* what it says stands in the keys themselves */
    {"gpus", "gpus"},
    {"precision", "precision"},
    {"parallel.tp", "tp"},
    {"parallel.cp", "cp"},
    {"parallel.cp_type", UNMEASURED},
    {"parallel.pp", "pp"},
    {"parallel.dp", "dp"},
    {"parallel.ep", "ep"},
    {"parallel.etp", "ep"},
    {"parallel.zero", "zero_stage"},
    {"parallel.zero_group", "zero_group"},
    {"parallel.zero_quantized_weights", UNMEASURED},
    {"parallel.zero_local_weights", UNMEASURED},
    {"parallel.zero_quantized_gradients", UNMEASURED},
    {"parallel.zero_local_group", UNMEASURED},
    {"parallel.reshard", "zero_stage"},
    {"parallel.order", UNMEASURED},
    {"parallel.schedule", "pp_schedule"},
    {"parallel.virtual_stages", "virtual_pp"},
    {"parallel.microbatch_group", "virtual_pp"},
    {"parallel.overlap_experts", "moe_dispatcher"},
    {"parallel.sequence_parallel", "sequence_parallel"},
    {"parallel.layers_per_stage", "pp"},
    {"parallel.first_stage_layers", "pp"},
    {"parallel.last_stage_layers", "pp"},
    {"parallel.embedding_slot", "pp"},
    {"parallel.loss_slot", "pp"},
    {"parallel", UNMEASURED},
    {"batch.micro", "micro_batch"},
    {"batch.sequence_length", "seq_len"},
    {"batch.global", "global_batch_sequences"},
    {"batch.global_tokens", "global_batch_sequences"},
    {"batch", UNMEASURED},
    {"loss", UNMEASURED},
    {"recompute.layers", "full_recompute_layers"},
    {"recompute", "recompute"},
    {"offload.optimizer", "cpu_offload"},
    {"offload.activation_layers", "offload_layers"},
    {"optimizer", UNMEASURED},
    {"routing", UNMEASURED},
    {"lora", UNMEASURED},
    {"data", UNMEASURED},
    {"slow", UNMEASURED},
    {"collectives", UNMEASURED},
    {"power_cap", UNMEASURED},
    {"anchor", UNMEASURED},
    {"ideal", UNMEASURED},
    {"ideal.network", "inter_node_gbps_per_node"},
    {"placement", UNMEASURED},
    {"replaced", UNMEASURED},
    {"jobs", UNMEASURED},
    {"library", MACHINE},
    {"model.title", NO_STEP},
    {"model.advertised_parameters", NO_STEP},
    {"model", UNMEASURED},
    {"gpu.title", NO_STEP},
    {"gpu.price", NO_STEP},
    {"gpu.purchase", NO_STEP},
    {"gpu.power", NO_STEP},
    {"gpu.platform", NO_STEP},
    {"gpu", "gpu"},
    {"cluster", MACHINE},
    {"cluster.cluster", NO_STEP},
    {"cluster.title", NO_STEP},
    {"cluster.nodes", NO_STEP},
    {"cluster.storage", NO_STEP},
    {"cluster.host", NO_STEP},
    {"cluster.gpu", "gpu"},
    {"cluster.gpus_per_node", "gpus_per_node"},
    {"cluster.scale_up", MACHINE},
    {"cluster.network", "inter_node_gbps_per_node"},
    {"cluster.nics", "inter_node_gbps_per_node"},
    {"cluster.fabric.uplink", "inter_node_gbps_per_node"},
    {"software.software", NO_STEP},
    {"software.title", NO_STEP},
    {"software.checkpoint", NO_STEP},
    {"software.framework", "framework"},
    {"software.year", "framework_year"},
    {"software.attention", "flash_attention"},
    {"software.overlap.tp_backward", "async_tp"},
    {"software.overlap.tp_pieces", "async_tp"},
    {"software.overlap.dp_gradients", "overlapped_optimizer"},
    {"software.overlap.dp_parameters", "overlapped_optimizer"},
    {"software.host.graphs", "cuda_graph"},
    {"software.experts", "moe_dispatcher"},
    {"software.fusion", "torch_compile"},
    {"software.fp8", "fp8_recipe"},
    {"software", "release"},
};

/* The row of the longest path that holds the key. */
static const struct key_row *row_of(const char *key)
{
    const struct key_row *found = NULL;
    for (uint32_t i = 0; i < LENGTH(key_rows); i++) {
        const char *path = key_rows[i].path;
        const size_t length = strlen(path);
        if (strncmp(path, key, length) == 0 && (key[length] == '\0' || key[length] == '.') &&
            (found == NULL || length > strlen(found->path))) {
            found = &key_rows[i];
        }
    }
    return found;
}

enum difference_effect differences_effect(const char *key, uint32_t *column)
{
    const struct key_row *row = row_of(key);
    if (row == NULL) {
        return DIFFERENCE_UNKNOWN;
    }
    if (row->column == UNMEASURED) {
        return DIFFERENCE_UNMEASURED;
    }
    if (strcmp(row->column, NO_STEP) == 0) {
        return DIFFERENCE_NONE;
    }
    *column = strcmp(row->column, MACHINE) == 0 ? MACHINE_COLUMN : axis_column_find(row->column);
    sim_assert(*column < axis_column_count || *column == MACHINE_COLUMN);
    return DIFFERENCE_COLUMN;
}

/* ---- what is held against each other ------------------------------------------------------ */

/* A key that says what moves a step. */
struct compared_row {
    const struct scenario_part *part;
    const struct schema_row *row;
    const char *key;
    enum difference_effect effect; /* not DIFFERENCE_NONE */
    uint32_t column;
};

struct difference_table {
    struct axis *axes;
    uint64_t kind, size, batch, width; /* sets of one column: gpu, gpus, global batch, dp */
    struct compared_row *rows;         /* those of a part together */
    uint32_t row_count;
    size_t row_capacity;
    struct compared_row library; /* all of one */
};

/* A section is what its rows are; a part of the scenario is what its schema's are. */
static bool is_whole(const struct schema *schema, const struct schema_row *row, const char *key)
{
    bool is_part = false;
    for (const struct scenario_part *part = scenario_parts; part->schema != NULL; part++) {
        const size_t length = strlen(key);
        is_part = is_part || (strncmp(part->schema->prefix, key, length) == 0 &&
                              strcmp(part->schema->prefix + length, ".") == 0);
    }
    return is_part || (schema_has_inner(schema, row) && row->kind != SCHEMA_CHOICE &&
                       row->kind != SCHEMA_SWITCH);
}

static bool is_repeated(const struct schema *schema, const struct schema_row *row)
{
    bool is_each = row->kind == SCHEMA_EACH;
    for (; row != NULL; row = schema_parent(schema, row)) {
        is_each = is_each || row->kind == SCHEMA_EACH;
    }
    return is_each;
}

static struct compared_row compared_row_of(const struct scenario_part *part,
                                           const struct schema_row *row, const char *key)
{
    struct compared_row compared = {.part = part, .row = row, .key = key};
    compared.effect = differences_effect(key, &compared.column);
    return compared;
}

/* Keys that repeat are only the library's: a library that differs anywhere is one difference. */
static void list_rows(struct arena *arena, struct difference_table *table)
{
    for (const struct scenario_part *part = scenario_parts; part->schema != NULL; part++) {
        for (uint32_t i = 0; i < part->schema->count; i++) {
            const struct schema_row *row = &part->schema->rows[i];
            const char *key = arena_printf(arena, "%s%s", part->schema->prefix, row->path);
            const struct compared_row compared = compared_row_of(part, row, key);
            if (compared.effect == DIFFERENCE_NONE || is_repeated(part->schema, row) ||
                is_whole(part->schema, row, key)) {
                continue;
            }
            table->rows = arena_grow(arena, table->rows, &table->row_capacity,
                                     table->row_count + 1u, sizeof *table->rows);
            table->rows[table->row_count++] = compared;
        }
    }
    table->library = compared_row_of(NULL, NULL, "library");
}

static uint64_t column_named(const char *name)
{
    return UINT64_C(1) << axis_column_find(name);
}

const struct difference_table *difference_table_new(struct arena *arena)
{
    struct difference_table *table = arena_alloc(arena, sizeof *table);
    *table = (struct difference_table){
        .axes = arena_array(arena, axis_count, sizeof *table->axes),
        .kind = column_named("gpu"),
        .size = column_named("gpus"),
        .batch = column_named("global_batch_sequences"),
        .width = column_named("dp"), /* what the others leave */
    };
    for (uint32_t i = 0; i < axis_count; i++) {
        table->axes[i] = axis_get(i);
    }
    list_rows(arena, table);
    return table;
}

/* ---- keys --------------------------------------------------------------------------------- */

struct finder {
    struct arena *arena;
    const struct scenario *a, *b;
    struct differences *found;
    const char **keys; /* that differ and are in a column */
    uint32_t *columns; /* of these */
    uint32_t key_count;
    size_t key_capacity, column_capacity, unmeasured_capacity;
};

static const char *written(struct arena *arena, const struct scenario *scenario, const char *key)
{
    const struct doc_node *node = doc_find(scenario->document, key);
    return node != NULL ? doc_to_text(arena, node) : NULL;
}

static bool is_same(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static bool is_same_value(const struct finder *finder, const struct scenario_part *part,
                          const struct schema_row *row)
{
    return schema_is_same_value(row, (const char *)finder->a + part->offset,
                                (const char *)finder->b + part->offset);
}

static const struct doc_node *child_of(const struct doc_node *node, const char *key, size_t length)
{
    const struct doc_node *child = node != NULL && node->kind == DOC_MAPPING ? node->child : NULL;
    while (child != NULL && (child->key[0] != key[0] || strncmp(child->key, key, length) != 0 ||
                             child->key[length] != '\0')) {
        child = child->next;
    }
    return child;
}

/* The same node, or a copy of it with the same children. */
static bool is_shared(const struct doc_node *a, const struct doc_node *b)
{
    return a != NULL && b != NULL && a->kind == b->kind && a->child == b->child &&
           a->text == b->text && a->is_quoted == b->is_quoted;
}

/* Nodes of both documents at one place. */
struct node_pair {
    const struct doc_node *a, *b;
    bool is_one; /* they share what is written there, or something above it */
};

/* Down a path, with a dot behind each of its names but the last. */
static struct node_pair go_down(struct node_pair nodes, const char *path)
{
    while (!nodes.is_one && *path != '\0' && (nodes.a != NULL || nodes.b != NULL)) {
        const size_t length = strcspn(path, ".");
        nodes.a = child_of(nodes.a, path, length);
        nodes.b = child_of(nodes.b, path, length);
        nodes.is_one = is_shared(nodes.a, nodes.b);
        path += length + (path[length] == '.' ? 1 : 0);
    }
    return nodes;
}

/* Most keys are alike, and that is soon seen, without making texts: nobody writes them, or both
 * documents have the same node on the way to them, or the same word there. */
static bool is_alike(const struct finder *finder, const struct scenario_part *part,
                     const struct schema_row *row, struct node_pair above)
{
    const struct node_pair nodes = go_down(above, row->path);
    const struct doc_node *a = nodes.a;
    const struct doc_node *b = nodes.b;
    if (a == NULL && b == NULL) {
        return true;
    }
    const bool is_word = a != NULL && b != NULL && a->kind == DOC_SCALAR && b->kind == DOC_SCALAR;
    return (nodes.is_one ||
            (is_word && a->is_quoted == b->is_quoted && strcmp(a->text, b->text) == 0)) &&
           is_same_value(finder, part, row);
}

/* What an ideal makes perfect follows from it, whatever is written. */
static bool differs_by_ideal(const struct finder *finder)
{
    return memcmp(&finder->a->ideal, &finder->b->ideal, sizeof finder->a->ideal) != 0;
}

static bool differs(const struct finder *finder, const struct compared_row *compared)
{
    const struct scenario_part *part = compared->part;
    const struct schema_row *row = compared->row;
    const void *of_a = (const char *)finder->a + part->offset;
    const void *of_b = (const char *)finder->b + part->offset;
    const char *mine = written(finder->arena, finder->a, compared->key);
    const char *theirs = written(finder->arena, finder->b, compared->key);
    if (is_same(mine, theirs) &&
        (mine == NULL || schema_is_same_value(row, of_a, of_b) || differs_by_ideal(finder))) {
        return false;
    }
    if (schema_is_other_quantity(row, of_a, of_b)) {
        return true;
    }
    const char *a = schema_value_text(finder->arena, row, of_a);
    const char *b = schema_value_text(finder->arena, row, of_b);
    return a == NULL && b == NULL ? !is_same(mine, theirs) : !is_same(a, b);
}

/* All of a profile, where it is another year's: what a release changed. */
static bool is_of_release(const struct finder *finder, const char *key)
{
    return strncmp(key, "software.", strlen("software.")) == 0 &&
           strcmp(key, "software.framework") != 0 &&
           finder->a->software.year != finder->b->software.year;
}

static void add_key(struct finder *finder, const struct compared_row *compared)
{
    struct differences *found = finder->found;
    if (compared->effect == DIFFERENCE_COLUMN) {
        const bool is_release = is_of_release(finder, compared->key);
        const uint32_t column = is_release ? axis_column_find("release") : compared->column;
        finder->keys = arena_grow(finder->arena, finder->keys, &finder->key_capacity,
                                  finder->key_count + (size_t)1, sizeof *finder->keys);
        finder->columns = arena_grow(finder->arena, finder->columns, &finder->column_capacity,
                                     finder->key_count + (size_t)1, sizeof *finder->columns);
        finder->keys[finder->key_count] = compared->key;
        finder->columns[finder->key_count++] = column;
        found->columns |= UINT64_C(1) << column;
        return;
    }
    found->unmeasured = arena_grow(finder->arena, found->unmeasured, &finder->unmeasured_capacity,
                                   found->unmeasured_count + (size_t)1, sizeof *found->unmeasured);
    found->unmeasured[found->unmeasured_count++] = compared->key;
}

static struct node_pair nodes_above(const struct finder *finder, const struct scenario_part *part)
{
    return go_down((struct node_pair){finder->a->document, finder->b->document, false},
                   part->schema->prefix);
}

static void find_keys(struct finder *finder, const struct difference_table *table)
{
    const struct scenario_part *part = NULL;
    struct node_pair above = {0};
    for (uint32_t i = 0; i < table->row_count; i++) {
        const struct compared_row *compared = &table->rows[i];
        if (part != compared->part) {
            part = compared->part;
            above = nodes_above(finder, part);
        }
        if (!is_alike(finder, part, compared->row, above) && differs(finder, compared)) {
            add_key(finder, compared);
        }
    }
    if (!is_same(written(finder->arena, finder->a, "library"),
                 written(finder->arena, finder->b, "library"))) {
        add_key(finder, &table->library);
    }
}

/* ---- kinds -------------------------------------------------------------------------------- */

static uint32_t bits_of(uint64_t mask)
{
    uint32_t count = 0;
    for (; mask != 0; mask &= mask - 1) {
        count++;
    }
    return count;
}

/* The columns that an axis explains between these two. */
static uint64_t explained(const struct difference_table *table, const struct axis *axis,
                          const struct scenario *a, const struct scenario *b)
{
    const double sizes = (double)a->gpus / (double)b->gpus;
    const double batches = (double)a->batch.global / (double)b->batch.global;
    const uint64_t machine =
        (axis->defining & table->kind) != 0 ? UINT64_C(1) << MACHINE_COLUMN : 0;
    const uint64_t all = axis->defining | axis->follows | machine;
    switch (axis->condition) {
    case AXIS_LIKE_SIZES:
        return sizes > 1 / 4.01 && sizes < 4.01 ? all : all & ~(table->size | table->batch);
    case AXIS_LIKE_BATCHES:
        return fabs(sizes / batches - 1) < 1e-9 ? all : 0;
    default:
        return all;
    }
}

/* The axis that explains most of what is left; axis_count: none does. */
static uint32_t choose(const struct difference_table *table, uint64_t left,
                       const struct scenario *a, const struct scenario *b)
{
    uint32_t best = axis_count, most = 0;
    for (uint32_t i = 0; i < axis_count; i++) {
        const struct axis *axis = &table->axes[i];
        const uint64_t mask = explained(table, axis, a, b);
        const uint32_t count = (left & axis->defining & mask) != 0 ? bits_of(left & mask) : 0;
        if (count > most) {
            best = i;
            most = count;
        }
    }
    return best;
}

struct differences differences_of(struct arena *arena, const struct scenario *a,
                                  const struct scenario *b, const struct difference_table *table)
{
    struct differences found = {0};
    struct finder finder = {.arena = arena, .a = a, .b = b, .found = &found};
    const struct difference_table *by = table != NULL ? table : difference_table_new(arena);
    find_keys(&finder, by);
    uint64_t left = found.columns & ~by->width;
    for (uint32_t axis = choose(by, left, a, b); axis < axis_count; axis = choose(by, left, a, b)) {
        found.axes[found.axis_count++] = axis;
        left &= ~explained(by, &by->axes[axis], a, b);
    }
    for (uint32_t i = 0; i < finder.key_count; i++) {
        if ((left >> finder.columns[i] & 1) != 0) {
            found.unmeasured =
                arena_grow(arena, found.unmeasured, &finder.unmeasured_capacity,
                           found.unmeasured_count + (size_t)1, sizeof *found.unmeasured);
            found.unmeasured[found.unmeasured_count++] = finder.keys[i];
        }
    }
    return found;
}
