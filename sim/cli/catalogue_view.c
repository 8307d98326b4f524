/* One function for each kind of the catalogue, all alike: columns first, then
 * each file is opened and becomes a row.
 */
#include "cli/catalogue_view.h"

#include "base/arena.h"
#include "report/numbers.h"
#include "report/show/show_name.h"
#include "base/version.h"
#include "plan/cost.h"
#include "study/study.h"
#include "input/scenario_load.h"

#include <string.h>

struct head {
    const char *key;
    const char *title;
    bool is_number;
};

static void add_columns(struct listing *listing, const struct head *heads, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        listing_column(listing, heads[i].key, heads[i].title, heads[i].is_number);
    }
}

/* "-" stands for what is not there. */
static void add_quantity(struct listing *listing, double value, enum dimension dimension)
{
    listing_number(listing, value,
                   value > 0 ? number_quantity(listing->arena, value, dimension) : "-");
}

static void add_billions(struct listing *listing, double count)
{
    listing_number(listing, count, count > 0 ? number_billions(listing->arena, count) : "-");
}

static void add_gbps(struct listing *listing, double bytes_per_s)
{
    listing_number(listing, bytes_per_s, number_gbps(listing->arena, bytes_per_s));
}

/* An empty list tells where it looked: nothing at all is no answer. */
static const char **names_in(const struct parts *parts, const char *folder, uint32_t *count)
{
    const char **names = catalogue_list(parts->arena, parts->catalogue, folder, count);
    if (*count == 0) {
        diag_add(parts->diag, DIAG_WARNING, NULL, "the catalogue has no %s; looked for in %s",
                 folder, catalogue_sought(parts->arena, parts->catalogue, folder));
    }
    return names;
}

static const char **names_of(const struct parts *parts, enum catalogue_kind kind, uint32_t *count)
{
    return names_in(parts, catalogue_folders[kind], count);
}

/* ---- models and GPUs ------------------------------------------------------------------- */

static void add_model(struct listing *listing, const char *name, const struct model *model)
{
    listing_text(listing, name);
    listing_count(listing, model->layers);
    listing_count(listing, model->hidden);
    listing_count(listing, model->heads);
    listing_count(listing, model->kv_heads);
    add_billions(listing, (double)cost_parameters(model).total);
    add_billions(listing, model->advertised_parameters);
    listing_text(listing, model->title);
}

void catalogue_view_models(const struct parts *parts, struct listing *listing)
{
    static const struct head heads[] = {
        {"name", "model", false},
        {"layers", "layers", true},
        {"hidden", "hidden", true},
        {"heads", "heads", true},
        {"kv_heads", "KV heads", true},
        {"parameters", "parameters", true},
        {"advertised_parameters", "advertised", true},
        {"title", "title", false},
    };
    add_columns(listing, heads, sizeof heads / sizeof *heads);
    uint32_t count = 0;
    const char **names = names_of(parts, CATALOGUE_MODEL, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct model model;
        if (parts_model(parts, names[i], &model)) {
            add_model(listing, names[i], &model);
        }
    }
}

static void add_gpu(struct listing *listing, const char *name, const struct gpu *gpu)
{
    listing_text(listing, name);
    add_quantity(listing, gpu->peak_flop_per_s[PRECISION_BF16], DIM_FLOP_PER_S);
    add_quantity(listing, gpu->peak_flop_per_s[PRECISION_FP16], DIM_FLOP_PER_S);
    add_quantity(listing, gpu->memory_bytes, DIM_BYTES);
    add_quantity(listing, gpu->memory_bandwidth_bytes_per_s, DIM_BYTES_PER_S);
    add_quantity(listing, gpu->tdp_w, DIM_WATT);
    listing_number(listing, gpu->gpu_hour_usd,
                   gpu->gpu_hour_usd > 0 ? arena_printf(listing->arena, "%.2f", gpu->gpu_hour_usd)
                                         : "-");
    listing_text(listing, gpu->title);
}

void catalogue_view_gpus(const struct parts *parts, struct listing *listing)
{
    static const struct head heads[] = {
        {"name", "GPU", false},
        {"peak_bf16_flop_per_s", "bf16, dense", true},
        {"peak_fp16_flop_per_s", "fp16, dense", true},
        {"memory_bytes", "memory", true},
        {"memory_bandwidth_bytes_per_s", "bandwidth", true},
        {"tdp_w", "TDP", true},
        {"gpu_hour_usd", "USD/h", true},
        {"title", "title", false},
    };
    add_columns(listing, heads, sizeof heads / sizeof *heads);
    uint32_t count = 0;
    const char **names = names_of(parts, CATALOGUE_GPU, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct gpu gpu;
        if (parts_gpu(parts, names[i], &gpu)) {
            add_gpu(listing, names[i], &gpu);
        }
    }
}

/* ---- clusters and software --------------------------------------------------------------- */

static void add_ratio(struct listing *listing, double ratio)
{
    listing_number(listing, ratio, arena_printf(listing->arena, "%.4g", ratio));
}

static void add_cluster(struct listing *listing, const char *name, const struct cluster *cluster)
{
    const double node_bytes_per_s = parts_node_bytes_per_s(cluster);
    listing_text(listing, name);
    listing_text(listing, cluster->gpu_name);
    listing_count(listing, cluster->gpus_per_node);
    listing_count(listing, cluster->nics_per_node);
    add_gbps(listing, node_bytes_per_s / (double)cluster->gpus_per_node);
    add_gbps(listing, node_bytes_per_s);
    add_quantity(listing, cluster->scale_up_bytes_per_s, DIM_BYTES_PER_S);
    listing_text(listing, fabric_kind_names[cluster->fabric_kind]);
    add_ratio(listing, cluster->oversubscription);
    add_ratio(listing, cluster->pod_oversubscription);
    add_quantity(listing, cluster->storage_write_bytes_per_s, DIM_BYTES_PER_S);
    listing_text(listing, cluster->title);
}

void catalogue_view_clusters(const struct parts *parts, struct listing *listing)
{
    static const struct head heads[] = {
        {"name", "cluster", false},
        {"gpu", "GPU", false},
        {"gpus_per_node", "GPUs/node", true},
        {"nics_per_node", "NICs/node", true},
        {"gpu_bytes_per_s", "net/GPU", true},
        {"node_bytes_per_s", "net/node", true},
        {"scale_up_bytes_per_s", "scale-up/GPU", true},
        {"fabric", "fabric", false},
        {"oversubscription", "oversub.", true},
        {"pod_oversubscription", "of pods", true},
        {"storage_write_bytes_per_s", "storage", true},
        {"title", "title", false},
    };
    add_columns(listing, heads, sizeof heads / sizeof *heads);
    uint32_t count = 0;
    const char **names = names_of(parts, CATALOGUE_CLUSTER, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct cluster cluster;
        if (parts_cluster(parts, names[i], &cluster)) {
            add_cluster(listing, names[i], &cluster);
        }
    }
}

/* "tp, dp gradients": what runs beside compute. */
static const char *overlaps_text(struct arena *arena, const struct software *software)
{
    const struct {
        bool is_true;
        const char *name;
    } overlaps[] = {
        {software->overlaps_tp_backward, "tp"},
        {software->overlaps_dp_gradients, "dp gradients"},
        {software->overlaps_dp_parameters, "dp parameters"},
        {software->overlaps_p2p, "p2p"},
    };
    const char *text = "";
    for (uint32_t i = 0; i < sizeof overlaps / sizeof *overlaps; i++) {
        if (overlaps[i].is_true) {
            text =
                arena_printf(arena, "%s%s%s", text, text[0] != '\0' ? ", " : "", overlaps[i].name);
        }
    }
    return text[0] != '\0' ? text : "nothing";
}

void catalogue_view_software(const struct parts *parts, struct listing *listing)
{
    static const struct head heads[] = {
        {"name", "software", false},
        {"framework", "framework", false},
        {"year", "year", true},
        {"attention", "attention", false},
        {"overlaps", "overlapped", false},
        {"title", "title", false},
    };
    add_columns(listing, heads, sizeof heads / sizeof *heads);
    uint32_t count = 0;
    const char **names = names_of(parts, CATALOGUE_SOFTWARE, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct software software;
        if (!parts_software(parts, names[i], &software)) {
            continue;
        }
        listing_text(listing, names[i]);
        listing_text(listing, software.framework);
        listing_count(listing, software.year);
        listing_text(listing, attention_names[software.attention]);
        listing_text(listing, overlaps_text(parts->arena, &software));
        listing_text(listing, software.title);
    }
}

/* ---- collective libraries ---------------------------------------------------------------- */

/* "ampere, hopper": those with constants of measured curves. */
static const char *fitted_text(struct arena *arena, const struct library *library)
{
    const char *text = "";
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        if (library->architectures[i].fitted_to_bytes > 0.0) {
            text = arena_printf(arena, "%s%s%s", text, text[0] != '\0' ? ", " : "",
                                gpu_architecture_names[i]);
        }
    }
    return text[0] != '\0' ? text : "nothing";
}

void catalogue_view_libraries(const struct parts *parts, struct listing *listing)
{
    static const struct head heads[] = {
        {"name", "library", false}, {"fitted", "fitted for", false}, {"title", "title", false}};
    add_columns(listing, heads, sizeof heads / sizeof *heads);
    uint32_t count = 0;
    const char **names = names_of(parts, CATALOGUE_LIBRARY, &count);
    struct library *library = arena_alloc(parts->arena, sizeof *library);
    for (uint32_t i = 0; i < count; i++) {
        if (!parts_library(parts, names[i], library)) {
            continue;
        }
        listing_text(listing, names[i]);
        listing_text(listing, fitted_text(parts->arena, library));
        listing_text(listing, library->title);
    }
}

/* ---- scenarios --------------------------------------------------------------------------- */

/* A part that is written in place has no name of its own to show. */
static const char *text_at(const struct doc_node *document, const char *path)
{
    const struct doc_node *node = doc_find(document, path);
    if (node == NULL) {
        return "";
    }
    return node->kind == DOC_SCALAR ? node->text : "(in the file)";
}

/* 0 when the scenario stands alone; errors go to the diag. */
static uint32_t points_of(const struct parts *parts, const struct doc_node *document)
{
    const struct study_base base = {.catalogue = parts->catalogue, .build = stoker_build()};
    struct study study = {.count = 0};
    const bool is_study = study_is_asked(document);
    return is_study && study_expand(parts->arena, document, &base, &study, parts->diag)
               ? study.count
               : 0;
}

static void add_scenario(const struct parts *parts, struct listing *listing, const char *path)
{
    const struct doc_node *document = scenario_load_document(parts->arena, path, parts->diag);
    if (document == NULL) {
        return;
    }
    const uint32_t points = points_of(parts, document);
    listing_text(listing, path);
    listing_text(listing, text_at(document, "gpus"));
    listing_text(listing, text_at(document, "model"));
    listing_text(listing, text_at(document, "cluster"));
    listing_number(listing, points, points > 0 ? arena_printf(parts->arena, "%u", points) : "");
    listing_text(listing, text_at(document, "scenario"));
}

void catalogue_view_scenarios(const struct parts *parts, struct listing *listing)
{
    static const struct head heads[] = {
        {"path", "scenario", false},   {"gpus", "GPUs", false},    {"model", "model", false},
        {"cluster", "cluster", false}, {"points", "points", true}, {"title", "title", false},
    };
    add_columns(listing, heads, sizeof heads / sizeof *heads);
    uint32_t count = 0;
    const char **names = names_in(parts, SCENARIO_FOLDER, &count);
    for (uint32_t i = 0; i < count; i++) {
        const char *path =
            catalogue_find(parts->arena, parts->catalogue, SCENARIO_FOLDER, names[i]);
        if (path != NULL) {
            add_scenario(parts, listing, strncmp(path, "./", 2) == 0 ? path + 2 : path);
        }
    }
}
