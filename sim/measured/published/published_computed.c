/* Layers over the chunks of a pipeline, other sums that rules ask for, and what a model has that a
 * row only names. */
#define _GNU_SOURCE /* strcasestr */
#include "measured/published/published_computed.h"

#include "base/arena.h"
#include "base/diag.h"
#include "input/model.h"
#include "measured/published/published_reading.h"

#include <stdbool.h>
#include <string.h>

enum {
    VIRTUAL_STAGES_MOST = 4,
    RACK_GPUS = 72, /* of one NVLink domain: topologies/gb200-nvl72.yaml */
};

static const char *count_text(struct arena *arena, int64_t value)
{
    return value > 0 ? arena_printf(arena, "%lld", (long long)value) : "";
}

static int64_t at_least(int64_t value, int64_t least)
{
    return value > least ? value : least;
}

/* ---- pipelines ---- */

static const char *virtual_stages(struct arena *arena, const struct published_reading *reading)
{
    const int64_t layers = published_read_count(reading, "layers");
    const int64_t stages = published_read_count(reading, "pp");
    if (stages == 0 || layers < stages) {
        return "";
    }
    int64_t chunks = VIRTUAL_STAGES_MOST;
    while (chunks > 1 && layers / stages % chunks != 0) {
        chunks--;
    }
    return count_text(arena, chunks);
}

/* Of the whole pipeline. */
static int64_t chunks_of(const struct published_reading *reading)
{
    const bool is_interleaved = published_read_count(reading, "virtual_pp") > 1;
    return at_least(published_read_count(reading, "pp"), 1) *
           (is_interleaved ? published_read_count(reading, "virtual_pp") : 1);
}

static const char *uneven_layers(struct arena *arena, const struct published_reading *reading)
{
    (void)arena;
    const int64_t layers = published_read_count(reading, "layers");
    const int64_t chunks = chunks_of(reading);
    if (layers % chunks == 0 || chunks > layers) { /* also where layers are blank */
        return "";
    }
    return (layers + 2) % chunks == 0 ? "ends" : "last";
}

static const char *layers_last_lighter(struct arena *arena, const struct published_reading *reading)
{
    int64_t left = published_read_count(reading, "layers");
    const int64_t chunks = chunks_of(reading);
    const int64_t most = (left + chunks - 1) / chunks;
    const char *text = "";
    for (int64_t i = 0; i < chunks; i++) {
        const int64_t count = left < most ? left : most;
        text = arena_printf(arena, "%s%s%lld", text, i == 0 ? "" : ", ", (long long)count);
        left -= count;
    }
    return text;
}

/* ---- others ---- */

static const char *batch_of_stage(struct arena *arena, const struct published_reading *reading)
{
    const int64_t global = published_read_count(reading, "global_batch_sequences");
    const int64_t pipelines = at_least(published_read_count(reading, "pp"), 1) *
                              at_least(published_read_count(reading, "dp"), 1);
    return global % pipelines == 0 ? count_text(arena, global / pipelines) : "";
}

static const char *half_layers(struct arena *arena, const struct published_reading *reading)
{
    return count_text(arena, published_read_count(reading, "layers") / 2);
}

static const char *four_hidden(struct arena *arena, const struct published_reading *reading)
{
    return count_text(arena, 4 * published_read_count(reading, "hidden"));
}

/* "1" where the model's name says that it is trained by adapters. */
static const char *lora_in_name(struct arena *arena, const struct published_reading *reading)
{
    (void)arena;
    return strcasestr(published_read_text(reading, "model_name"), "lora") != NULL ? "1" : "";
}

/* "1" where the job takes whole racks of an NVL72, so that no rack's GPUs stay idle. */
static const char *whole_racks(struct arena *arena, const struct published_reading *reading)
{
    (void)arena;
    const int64_t gpus = published_read_count(reading, "gpus");
    return gpus > 0 && gpus % RACK_GPUS == 0 ? "1" : "";
}

/* ---- the model of the catalogue that rules up to here name ---- */

/* False: columns describe it, or there is none of that name. */
static bool named_model(struct arena *arena, const struct published_reading *reading,
                        struct model *model)
{
    const struct catalogue *catalogue = &reading->rules->catalogue;
    const char *name = published_read_set(reading, "model");
    const char *path =
        name != NULL ? catalogue_find(arena, catalogue, catalogue_folders[CATALOGUE_MODEL], name)
                     : NULL;
    struct diag *unheard = diag_new(arena);
    const struct doc_node *node =
        path != NULL ? doc_files_load(catalogue->files, arena, path, unheard) : NULL;
    struct assumptions unasked;
    assumptions_init(&unasked, arena);
    return node != NULL && doc_files_read(&model_reader, node, model, &unasked, unheard);
}

static const char *model_experts(struct arena *arena, const struct published_reading *reading)
{
    struct model model;
    return named_model(arena, reading, &model) ? count_text(arena, model.experts)
                                               : published_read_text(reading, "experts");
}

static const char *model_sinks(struct arena *arena, const struct published_reading *reading)
{
    struct model model;
    return named_model(arena, reading, &model) && model.has_sinks ? "1" : "";
}

/* ---- the table ---- */

const struct published_computed published_computed[] = {
    {"virtual_stages", virtual_stages},
    {"uneven_layers", uneven_layers},
    {"layers_last_lighter", layers_last_lighter},
    {"batch_of_stage", batch_of_stage},
    {"half_layers", half_layers},
    {"four_hidden", four_hidden},
    {"lora_in_name", lora_in_name},
    {"whole_racks", whole_racks},
    {"model_experts", model_experts},
    {"model_sinks", model_sinks},
};
const uint32_t published_computed_count = sizeof published_computed / sizeof *published_computed;

const struct published_computed *published_computed_find(const char *name)
{
    for (uint32_t i = 0; i < published_computed_count; i++) {
        if (strcmp(published_computed[i].name, name) == 0) {
            return &published_computed[i];
        }
    }
    return NULL;
}
