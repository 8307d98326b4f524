/* Each kind of the catalogue is one list of fields, read from the struct that its file fills; the
 * files are read one by one into the same memory. */
#include "report/show/show_catalogue.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/cluster.h"
#include "input/failures/failures.h"
#include "input/failures/spot.h"
#include "input/job/matrix_rule_keys.h"
#include "input/network/prices.h"
#include "input/library.h"
#include "input/model.h"
#include "input/network/nic.h"
#include "input/recipe.h"
#include "input/scenario_load.h"
#include "input/software.h"
#include "plan/cost.h"
#include "report/numbers.h"
#include "report/show/show_name.h"

#include <string.h>

/* ---- how numbers are shown; "-" stands for what is not there ------------------------------ */

static const char *billions(struct arena *arena, double count)
{
    return count > 0 ? number_billions(arena, count) : "-";
}

static const char *flop_per_s(struct arena *arena, double rate)
{
    return rate > 0 ? number_quantity(arena, rate, DIM_FLOP_PER_S) : "-";
}

static const char *bytes(struct arena *arena, double size)
{
    return size > 0 ? number_quantity(arena, size, DIM_BYTES) : "-";
}

static const char *bytes_per_s(struct arena *arena, double rate)
{
    return rate > 0 ? number_quantity(arena, rate, DIM_BYTES_PER_S) : "-";
}

static const char *watt(struct arena *arena, double power)
{
    return power > 0 ? number_quantity(arena, power, DIM_WATT) : "-";
}

static const char *dollars(struct arena *arena, double price)
{
    return arena_printf(arena, "%.2f", price);
}

/* ---- models and GPUs ------------------------------------------------------------------- */

static void add_parameters(struct sheet *in, const char *key, const void *record)
{
    sheet_number(in, key, (double)cost_parameters(record).total);
}

static const struct field model_fields[] = {
    {"name", FIELD_AT(struct model, name), FIELD_LEFT("model")},
    {"layers", FIELD_AT(struct model, layers), FIELD_COUNT("layers")},
    {"hidden", FIELD_AT(struct model, hidden), FIELD_COUNT("hidden")},
    {"heads", FIELD_AT(struct model, heads), FIELD_COUNT("heads")},
    {"kv_heads", FIELD_AT(struct model, kv_heads), FIELD_COUNT("KV heads")},
    {"parameters", .add = add_parameters, FIELD_SHOW("parameters", billions)},
    {"advertised_parameters", FIELD_AT(struct model, advertised_parameters),
     FIELD_SHOW("advertised", billions)},
    {"title", FIELD_AT(struct model, title), FIELD_LEFT("title")},
};

/* A GPU has no peak of a precision that it does not compute in. */
static void add_peak(struct sheet *in, const char *key, const void *record,
                     enum precision precision)
{
    const double peak = ((const struct gpu *)record)->peak_flop_per_s[precision];
    sheet_number(in, key, peak > 0 ? peak : ABSENT);
}

static void add_peak_bf16(struct sheet *in, const char *key, const void *record)
{
    add_peak(in, key, record, PRECISION_BF16);
}

static void add_peak_fp16(struct sheet *in, const char *key, const void *record)
{
    add_peak(in, key, record, PRECISION_FP16);
}

static const struct field gpu_fields[] = {
    {"name", FIELD_AT(struct gpu, name), FIELD_LEFT("GPU")},
    {"peak_bf16_flop_per_s", .add = add_peak_bf16, FIELD_SHOW("bf16, dense", flop_per_s)},
    {"peak_fp16_flop_per_s", .add = add_peak_fp16, FIELD_SHOW("fp16, dense", flop_per_s)},
    {"memory_bytes", FIELD_AT(struct gpu, memory_bytes), FIELD_SHOW("memory", bytes)},
    {"memory_bandwidth_bytes_per_s", FIELD_AT(struct gpu, memory_bandwidth_bytes_per_s),
     FIELD_SHOW("bandwidth", bytes_per_s)},
    {"tdp_w", FIELD_AT(struct gpu, tdp_w), FIELD_SHOW("TDP", watt)},
    {"gpu_hour_usd", FIELD_AT(struct gpu, gpu_hour_usd), FIELD_SHOW("USD/h", dollars)},
    {"title", FIELD_AT(struct gpu, title), FIELD_LEFT("title")},
};

/* ---- clusters and software --------------------------------------------------------------- */

/* NICs of a node together, one way. */
static double node_bytes_per_s(const struct cluster *cluster)
{
    return (double)cluster->nics_per_node * cluster->nic_bytes_per_s;
}

static void add_of_gpu(struct sheet *in, const char *key, const void *record)
{
    const struct cluster *cluster = record;
    sheet_number(in, key, node_bytes_per_s(cluster) / (double)cluster->gpus_per_node);
}

static void add_of_node(struct sheet *in, const char *key, const void *record)
{
    sheet_number(in, key, node_bytes_per_s(record));
}

/* NICs may be of no kind, or of no rate of theirs. */
static void add_nic_kind(struct sheet *in, const char *key, const void *record)
{
    const char *kind = ((const struct cluster *)record)->nic_kind;
    sheet_text(in, key, kind[0] != '\0' ? kind : NULL);
}

static const struct field cluster_fields[] = {
    {"name", FIELD_AT(struct cluster, name), FIELD_LEFT("cluster")},
    {"gpu", FIELD_AT(struct cluster, gpu_name), FIELD_LEFT("GPU")},
    {"gpus_per_node", FIELD_AT(struct cluster, gpus_per_node), FIELD_COUNT("GPUs/node")},
    {"nics_per_node", FIELD_AT(struct cluster, nics_per_node), FIELD_COUNT("NICs/node")},
    {"gpu_bytes_per_s", .add = add_of_gpu, FIELD_SHOW("net/GPU", number_gbps)},
    {"node_bytes_per_s", .add = add_of_node, FIELD_SHOW("net/node", number_gbps)},
    {"scale_up_bytes_per_s", FIELD_AT(struct cluster, scale_up_bytes_per_s),
     FIELD_SHOW("scale-up/GPU", bytes_per_s)},
    {"fabric", FIELD_AT(struct cluster, fabric_kind), FIELD_NAMES(fabric_kind_names),
     FIELD_LEFT("fabric")},
    {"oversubscription", FIELD_AT(struct cluster, oversubscription),
     FIELD_RIGHT("oversub.", "%.4g", 1)},
    {"pod_oversubscription", FIELD_AT(struct cluster, pod_oversubscription),
     FIELD_RIGHT("of pods", "%.4g", 1)},
    {"storage_write_bytes_per_s", FIELD_AT(struct cluster, storage_write_bytes_per_s),
     FIELD_SHOW("storage", bytes_per_s)},
    {"nic_kind", .add = add_nic_kind, FIELD_LEFT("NIC")},
    {"title", FIELD_AT(struct cluster, title), FIELD_LEFT("title")},
};

/* Only of TCP do the host's cores move the data. */
static void add_core_rate(struct sheet *in, const char *key, const void *record)
{
    const double rate = ((const struct nic *)record)->core_bytes_per_s;
    sheet_number(in, key, rate > 0 ? rate : ABSENT);
}

static const struct field nic_fields[] = {
    {"name", FIELD_AT(struct nic, name), FIELD_LEFT("NIC")},
    {"bytes_per_s", FIELD_AT(struct nic, rates_bytes_per_s[0]), FIELD_SHOW("rate", number_gbps)},
    {"efficiency", FIELD_AT(struct nic, efficiency), FIELD_RIGHT("reached", "%.2f", 1)},
    {"latency_s", FIELD_AT(struct nic, latency_s), FIELD_RIGHT("latency us", "%.1f", 1e6)},
    {"round_latency_s", FIELD_AT(struct nic, round_latency_s),
     FIELD_RIGHT("and software", "%.1f", 1e6)},
    {"core_bytes_per_s", .add = add_core_rate, FIELD_SHOW("a core moves", number_gbps)},
    {"title", FIELD_AT(struct nic, title), FIELD_LEFT("title")},
};

/* "tp, dp gradients": what runs beside compute. */
static void add_overlaps(struct sheet *in, const char *key, const void *record)
{
    const struct software *software = record;
    const struct {
        bool is_true;
        const char *name;
    } overlaps[] = {
        {software->overlaps_tp_backward, "tp"},
        {software->overlaps_dp_gradients, "dp gradients"},
        {software->overlaps_dp_parameters, "dp parameters"},
        {software->overlaps_p2p, "p2p"},
    };
    const char *names[sizeof overlaps / sizeof *overlaps];
    uint32_t count = 0;
    for (uint32_t i = 0; i < sizeof overlaps / sizeof *overlaps; i++) {
        if (overlaps[i].is_true) {
            names[count++] = overlaps[i].name;
        }
    }
    sheet_text(in, key, sheet_joined(sheet_arena(in), names, count));
}

static const struct field software_fields[] = {
    {"name", FIELD_AT(struct software, name), FIELD_LEFT("software")},
    {"framework", FIELD_AT(struct software, framework), FIELD_LEFT("framework")},
    {"year", FIELD_AT(struct software, year), FIELD_COUNT("year")},
    {"attention", FIELD_AT(struct software, attention), FIELD_NAMES(attention_names),
     FIELD_LEFT("attention")},
    {"overlaps", .add = add_overlaps, FIELD_LEFT("overlapped")},
    {"title", FIELD_AT(struct software, title), FIELD_LEFT("title")},
};

/* ---- collective libraries ---------------------------------------------------------------- */

/* "ampere, hopper": those with constants of measured curves. */
static void add_fitted(struct sheet *in, const char *key, const void *record)
{
    const struct library *library = record;
    const char *names[GPU_ARCHITECTURE_COUNT_];
    uint32_t count = 0;
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        if (library->architectures[i].fitted_to_bytes > 0.0) {
            names[count++] = gpu_architecture_names[i];
        }
    }
    sheet_text(in, key, sheet_joined(sheet_arena(in), names, count));
}

static const struct field library_fields[] = {
    {"name", FIELD_AT(struct library, name), FIELD_LEFT("library")},
    {"fitted", .add = add_fitted, FIELD_LEFT("fitted for")},
    {"title", FIELD_AT(struct library, title), FIELD_LEFT("title")},
};

/* ---- recipes ------------------------------------------------------------------------------ */

static const struct field recipe_fields[] = {
    {"name", FIELD_AT(struct recipe, name), FIELD_LEFT("recipe")},
    {"title", FIELD_AT(struct recipe, title), FIELD_LEFT("title")},
};

/* ---- failures ----------------------------------------------------------------------------- */

static void add_counted(struct sheet *in, const char *key, const void *record)
{
    sheet_text(in, key, failure_count_names[((const struct failures *)record)->counts]);
}

static void add_classes(struct sheet *in, const char *key, const void *record)
{
    sheet_integer(in, key, ((const struct failures *)record)->kind_count);
}

static const struct field failures_fields[] = {
    {"name", FIELD_AT(struct failures, name), FIELD_LEFT("failures")},
    {"counts", .add = add_counted, FIELD_LEFT("counts")},
    {"classes", .add = add_classes, FIELD_COUNT("classes")},
    {"title", FIELD_AT(struct failures, title), FIELD_LEFT("title")},
};

/* ---- spot --------------------------------------------------------------------------------- */

static void add_held(struct sheet *in, const char *key, const void *record)
{
    sheet_number(in, key, 1 / ((const struct spot_plan *)record)->rate_per_s / SECONDS_PER_HOUR);
}

static void add_back(struct sheet *in, const char *key, const void *record)
{
    sheet_number(in, key, ((const struct spot_plan *)record)->back.mean_s / SECONDS_PER_HOUR);
}

static const struct field spot_fields[] = {
    {"name", FIELD_AT(struct spot_plan, name), FIELD_LEFT("spot")},
    {"notice_s", FIELD_AT(struct spot_plan, notice_s), FIELD_RIGHT("notice, s", "%.0f", 1)},
    {"held_h", .add = add_held, FIELD_RIGHT("held, h", "%.2f", 1)},
    {"together", FIELD_AT(struct spot_plan, together), FIELD_RIGHT("nodes at once", "%.2f", 1)},
    {"back_h", .add = add_back, FIELD_RIGHT("away, h", "%.2f", 1)},
    {"title", FIELD_AT(struct spot_plan, title), FIELD_LEFT("title")},
};

/* ---- prices of networks ------------------------------------------------------------------- */

static void add_part_count(struct sheet *in, const char *key, const void *record)
{
    sheet_integer(in, key, ((const struct price_list *)record)->part_count);
}

static const struct field prices_fields[] = {
    {"name", FIELD_AT(struct price_list, name), FIELD_LEFT("prices")},
    {"parts", .add = add_part_count, FIELD_COUNT("parts")},
    {"spares", FIELD_AT(struct price_list, spares), FIELD_RIGHT("spares %", "%.1f", 100)},
    {"title", FIELD_AT(struct price_list, title), FIELD_LEFT("title")},
};

/* ---- optimizers ---------------------------------------------------------------------------- */

static const struct field optimizer_fields[] = {
    {"name", FIELD_AT(struct matrix_rule, name), FIELD_LEFT("optimizer")},
    {"moments", FIELD_AT(struct matrix_rule, moments), FIELD_COUNT("moments")},
    {"steps", FIELD_AT(struct matrix_rule, steps), FIELD_COUNT("steps")},
    {"title", FIELD_AT(struct matrix_rule, title), FIELD_LEFT("title")},
};

/* ---- any of them ------------------------------------------------------------------------- */

union part {
    struct model model;
    struct gpu gpu;
    struct cluster cluster;
    struct software software;
    struct library library;
    struct nic nic;
    struct recipe recipe;
    struct failures failures;
    struct spot_plan spot;
    struct price_list prices;
    struct matrix_rule optimizer;
};

struct doc_node *catalogue_part(struct arena *arena, const struct catalogue *catalogue,
                                enum catalogue_kind kind, const struct doc_node *reference,
                                struct diag *diag)
{
    switch (kind) {
    case CATALOGUE_LIBRARY:
        return library_open(arena, catalogue, reference, diag);
    case CATALOGUE_RECIPE:
        return recipe_open(arena, catalogue, reference, diag);
    default:
        return catalogue_open(arena, catalogue, kind, reference, diag);
    }
}

static bool read_part(const struct catalogue_view *view, enum catalogue_kind kind, const char *name,
                      union part *part)
{
    struct assumptions assumptions;
    assumptions_init(&assumptions, view->arena);
    struct diag *diag = view->diag;
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name};
    struct doc_node *node = catalogue_part(view->arena, view->catalogue, kind, &reference, diag);
    if (node == NULL) {
        return false;
    }
    memset(part, 0, sizeof *part);
    switch (kind) {
    case CATALOGUE_MODEL:
        return model_read(node, &part->model, &assumptions, diag);
    case CATALOGUE_GPU:
        return gpu_read(node, &part->gpu, &assumptions, diag);
    case CATALOGUE_CLUSTER:
        return nic_settle(view->arena, view->catalogue, node, diag) &&
               cluster_read(node, &part->cluster, &assumptions, diag);
    case CATALOGUE_SOFTWARE:
        return software_read(node, &part->software, &assumptions, diag);
    case CATALOGUE_LIBRARY:
        return library_read(node, &part->library, &assumptions, diag);
    case CATALOGUE_NIC:
        return nic_read(node, &part->nic, &assumptions, diag);
    case CATALOGUE_RECIPE:
        return recipe_read(node, &part->recipe, &assumptions, diag);
    case CATALOGUE_FAILURES:
        return failures_read(node, &part->failures, &assumptions, diag);
    case CATALOGUE_SPOT:
        return spot_read(node, &part->spot, &assumptions, diag);
    case CATALOGUE_PRICES:
        return price_list_read(node, &part->prices, &assumptions, diag);
    case CATALOGUE_OPTIMIZER:
        return matrix_rule_read(node, &part->optimizer, &assumptions, diag);
    case CATALOGUE_KIND_COUNT_:
        break;
    }
    return false;
}

/* An empty list tells where it looked: nothing at all is no answer. */
static const char **names_in(const struct catalogue_view *view, const char *folder, uint32_t *count)
{
    const char **names = catalogue_list(view->arena, view->catalogue, folder, count);
    if (*count == 0) {
        diag_add(view->diag, DIAG_WARNING, NULL, "the catalogue has no %s; looked for in %s",
                 folder, catalogue_sought(view->arena, view->catalogue, folder));
    }
    return names;
}

struct sheet *catalogue_view_parts(const struct catalogue_view *view, enum catalogue_kind kind)
{
    static const struct {
        const struct field *fields;
        uint32_t count;
    } lists[CATALOGUE_KIND_COUNT_] = {
        [CATALOGUE_MODEL] = {FIELD_LIST(model_fields)},
        [CATALOGUE_GPU] = {FIELD_LIST(gpu_fields)},
        [CATALOGUE_CLUSTER] = {FIELD_LIST(cluster_fields)},
        [CATALOGUE_SOFTWARE] = {FIELD_LIST(software_fields)},
        [CATALOGUE_LIBRARY] = {FIELD_LIST(library_fields)},
        [CATALOGUE_NIC] = {FIELD_LIST(nic_fields)},
        [CATALOGUE_RECIPE] = {FIELD_LIST(recipe_fields)},
        [CATALOGUE_FAILURES] = {FIELD_LIST(failures_fields)},
        [CATALOGUE_SPOT] = {FIELD_LIST(spot_fields)},
        [CATALOGUE_PRICES] = {FIELD_LIST(prices_fields)},
        [CATALOGUE_OPTIMIZER] = {FIELD_LIST(optimizer_fields)},
    };
    struct sheet *table =
        sheet_table(view->sheet, view->key, lists[kind].fields, lists[kind].count);
    uint32_t count = 0;
    const char **names = names_in(view, catalogue_folders[kind], &count);
    union part *part = arena_alloc(view->arena, sizeof *part);
    for (uint32_t i = 0; i < count; i++) {
        if (read_part(view, kind, names[i], part)) {
            sheet_row(table, part);
        }
    }
    return table;
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

static void add_scenario(const struct catalogue_view *view, struct sheet *table, const char *path)
{
    const struct doc_node *document = scenario_load_document(view->arena, path, view->diag);
    if (document == NULL) {
        return;
    }
    const uint32_t points = view->points_of(view, document);
    sheet_text(table, NULL, path);
    sheet_text(table, NULL, text_at(document, "gpus"));
    sheet_text(table, NULL, text_at(document, "model"));
    sheet_text(table, NULL, text_at(document, "cluster"));
    sheet_number_as(table, NULL, points, points > 0 ? NULL : "");
    sheet_text(table, NULL, text_at(document, "scenario"));
}

struct sheet *catalogue_view_scenarios(const struct catalogue_view *view)
{
    static const struct field fields[] = {
        {"path", FIELD_LEFT("scenario")},  {"gpus", FIELD_LEFT("GPUs")},
        {"model", FIELD_LEFT("model")},    {"cluster", FIELD_LEFT("cluster")},
        {"points", FIELD_COUNT("points")}, {"title", FIELD_LEFT("title")},
    };
    struct sheet *table = sheet_table(view->sheet, view->key, FIELD_LIST(fields));
    uint32_t count = 0;
    const char **names = names_in(view, SCENARIO_FOLDER, &count);
    for (uint32_t i = 0; i < count; i++) {
        const char *path = catalogue_find(view->arena, view->catalogue, SCENARIO_FOLDER, names[i]);
        if (path != NULL) {
            add_scenario(view, table, strncmp(path, "./", 2) == 0 ? path + 2 : path);
        }
    }
    return table;
}
