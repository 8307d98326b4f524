/* The pipeline of Megatron's arguments: chunks, and which layers they have. A layout that is
 * written out (megatron/core/transformer/pipeline_parallel_layer_layout.py) is of chunks in the
 * model's order.
 */
#include "foreign/megatron/megatron_run.h"

#include "base/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t virtual_stages(struct told *told, int64_t pp)
{
    const int64_t told_stages =
        told_count(told, "virtual_pipeline_model_parallel_size",
                   told_count(told, "num_virtual_stages_per_pipeline_rank", 0));
    const int64_t layers = told_count(told, "num_layers_per_virtual_pipeline_stage", 0);
    return told_stages == 0 && layers > 0
               ? told_count(told, "num_layers", 0) / (pp > 0 ? pp : 1) / layers
               : told_stages;
}

/* The number behind "*" at `at`, which moves behind it; 1: there is none. */
static int64_t times_at(const char **at)
{
    int64_t times = 1;
    const size_t digits = **at == '*' ? strspn(*at + 1, "0123456789") : 0;
    if (digits > 0 && text_span_count((struct text_span){*at + 1, *at + 1 + digits}, &times)) {
        *at += 1 + digits;
    }
    return times;
}

enum { WRITTEN_MAX = 20000 };

/* Letters of one item, each with its star where it is of a group. False: there is no more room. */
static bool write_item(const char *begin, const char *end, bool is_group, char *out, size_t *length)
{
    for (const char *at = begin; at < end;) {
        const char letter = *at++;
        const int64_t times = is_group ? times_at(&at) : 1;
        for (int64_t i = 0; i < times && strchr(", \\", letter) == NULL; i++) {
            if (*length == WRITTEN_MAX) {
                return false;
            }
            out[(*length)++] = letter;
        }
    }
    return true;
}

/* "Et*3|(tt|)*2L" without brackets, stars, commas and backslashes: "Ettt|tt|tt|L". NULL: none. */
static const char *written_out(struct arena *arena, const char *text)
{
    char *out = arena_alloc(arena, WRITTEN_MAX + 1);
    size_t length = 0;
    while (*text != '\0') {
        const bool is_group = *text == '(';
        const char *begin = is_group ? text + 1 : text;
        const char *end = is_group ? strchr(begin, ')') : begin + 1;
        if (end == NULL || strchr("tEmL|, (\\", *text) == NULL) {
            return NULL;
        }
        text = end + (is_group ? 1 : 0);
        size_t before = SIZE_MAX; /* what writes nothing writes nothing again */
        for (int64_t times = times_at(&text); times > 0 && length != before; times--) {
            before = length;
            if (!write_item(begin, end, is_group, out, &length)) {
                return NULL;
            }
        }
    }
    out[length] = '\0';
    return out;
}

/* Layers of each chunk: t is one, | ends a chunk. *chunks: how many. */
static const char *layers_of_layout(struct told *told, int64_t *chunks)
{
    struct arena *arena = told->importer->arena;
    const char *text = written_out(arena, told_text(told, "pipeline_model_parallel_layout"));
    const char *list = "[";
    int64_t layers = 0;
    *chunks = 1;
    for (const char *at = text; at != NULL && *at != '\0'; at++) {
        layers += *at == 't' ? 1 : 0;
        if (*at == '|' && at[1] != '\0') {
            list = arena_printf(arena, "%s%" PRId64 ", ", list, layers);
            layers = 0;
            ++*chunks;
        }
    }
    return text != NULL && *chunks < 4096 ? arena_printf(arena, "%s%" PRId64 "]", list, layers)
                                          : NULL;
}

static void put_stage_layout(struct told *told, int64_t pp)
{
    static const char name[] = "pipeline_model_parallel_layout";
    int64_t chunks = 0;
    const char *list = layers_of_layout(told, &chunks);
    if (list == NULL || chunks % pp != 0) {
        told_refuse(told, name,
                    list == NULL ? "this is no layout of a pipeline"
                                 : arena_printf(told->importer->arena,
                                                "%" PRId64 " chunks are no multiple of pp %" PRId64,
                                                chunks, pp),
                    "like 'Et*3|(tt|)*29,m|L': t a layer, | the end of a chunk");
        return;
    }
    told_put(told, "parallel.layers_per_stage", list, name);
    if (chunks > pp) {
        told_put(told, "parallel.schedule", "interleaved", name);
        told_put_count(told, "parallel.virtual_stages", chunks / pp, name);
    }
}

static void put_stages(struct told *told, int64_t pp)
{
    static const struct {
        const char *path, *name;
        bool is_count;
    } rows[] = {
        {"parallel.first_stage_layers", "decoder_first_pipeline_num_layers", true},
        {"parallel.last_stage_layers", "decoder_last_pipeline_num_layers", true},
        {"parallel.embedding_slot", "account_for_embedding_in_pipeline_split", false},
        {"parallel.loss_slot", "account_for_loss_in_pipeline_split", false},
        {"parallel.microbatch_group", "microbatch_group_size_per_vp_stage", true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].is_count && told_has(told, rows[i].name)) {
            told_put_count(told, rows[i].path, told_need(told, rows[i].name), rows[i].name);
        } else if (!rows[i].is_count && told_truth(told, rows[i].name, false)) {
            told_put(told, rows[i].path, "true", rows[i].name);
        }
    }
    if (told_has(told, "pipeline_model_parallel_layout")) {
        put_stage_layout(told, pp);
    }
}

/* Megatron wants as many layers on each chunk, unless it is told how they lie. */
static void check_stages(struct told *told, int64_t chunks)
{
    static const char *const others[] = {
        "decoder_first_pipeline_num_layers", "decoder_last_pipeline_num_layers",
        "account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split",
        "pipeline_model_parallel_layout"};
    const char *text = told_key(told, "model.layers");
    const int64_t layers = text != NULL ? strtoll(text, NULL, 10) : 0;
    bool is_other = told->is_whole || megatron_is_deepspeed(told) || chunks < 1;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        is_other = is_other || told_has(told, others[i]);
    }
    if (!is_other && layers % chunks != 0) {
        told_refuse(told, "num_layers",
                    arena_printf(told->importer->arena,
                                 "%" PRId64 " layers are no multiple of the %" PRId64
                                 " pieces that a pipeline cuts them into",
                                 layers, chunks),
                    "--decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers or "
                    "--pipeline-model-parallel-layout say how they lie");
    }
}

void megatron_pipeline(struct told *told, int64_t pp)
{
    const int64_t stages = virtual_stages(told, pp);
    if (pp < 2) {
        return;
    }
    told_put(told, "parallel.schedule", stages > 1 ? "interleaved" : "1f1b",
             "pipeline_model_parallel_size");
    if (stages > 1) {
        told_put_count(told, "parallel.virtual_stages", stages,
                       told_has(told, "num_layers_per_virtual_pipeline_stage")
                           ? "num_layers_per_virtual_pipeline_stage"
                           : "virtual_pipeline_model_parallel_size");
    }
    check_stages(told, pp * (stages > 1 && stages < 1000000 ? stages : 1));
    put_stages(told, pp);
    if (told_truth(told, "defer_embedding_wgrad_compute", false)) {
        const int64_t limit = told_count(told, "wgrad_deferral_limit", 0);
        told_put_count(told, "parallel.deferred_heads", limit > 0 ? limit : 1000000000,
                       "defer_embedding_wgrad_compute");
    }
}
