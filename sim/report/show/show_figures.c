/* What follows from a model, a GPU, a software profile, a library or a kind of NIC by itself,
 * as figures for `stoker show`; clusters and scenarios are in show_cluster.c
 * and show_scenario.c.
 */
#include "report/show/show_figures.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/numbers.h"
#include "plan/cost.h"

#include <inttypes.h>

/* ---- model ------------------------------------------------------------------------ */

/* Long enough for the linear part to prevail, and a length that many models train at. */
#define SEQUENCE_SHOWN 4096

static void add_part(struct sheet *table, const char *part, int64_t parameters, int64_t total)
{
    sheet_text(table, NULL, part);
    sheet_number_as(table, NULL, (double)parameters,
                    number_grouped(sheet_arena(table), (double)parameters));
    const double share = (double)parameters / (double)total;
    sheet_number_as(table, NULL, share, arena_printf(sheet_arena(table), "%.2f", 100 * share));
}

/* "32 dense layers", all together and one. */
static void add_kinds(struct sheet *table, const struct model *model, uint32_t first, uint32_t end,
                      bool with_each, int64_t total)
{
    struct arena *arena = sheet_arena(table);
    for (uint32_t i = first; i < end; i++) {
        const struct layer_kind *kind = &model->kinds[i];
        const int64_t layer = cost_layer(model, kind).total;
        if (!kind->is_mtp) {
            add_part(table, arena_printf(arena, "%" PRId64 " %s layers", kind->layers, kind->name),
                     kind->layers * layer, total);
        }
        if (with_each && !kind->is_mtp) {
            add_part(table, arena_printf(arena, "each %s layer", kind->name), layer, total);
        }
    }
}

static void add_layers(struct sheet *table, const struct model *model,
                       const struct parameter_count *count)
{
    struct arena *arena = sheet_arena(table);
    const int64_t with_experts = model_expert_layers(model, 0, model->layers);
    const int64_t dense = model->layers - model->block_layers - with_experts;
    const int64_t in_dense = dense * count->layer;
    const int64_t in_moe = with_experts * count->moe_layer;
    sim_assert(count->embedding + count->blocks + in_dense + in_moe + count->final_norm +
                   count->head ==
               count->total);
    if (in_dense > 0) {
        const char *kind = with_experts > 0 ? "dense layers" : "layers";
        add_part(table, arena_printf(arena, "%" PRId64 " %s", dense, kind), in_dense, count->total);
        add_part(table, with_experts > 0 ? "each dense layer" : "each layer", count->layer,
                 count->total);
        add_part(table, "matrices of a layer", count->layer_matrix, count->total);
    }
    if (in_moe > 0) {
        add_part(table, arena_printf(arena, "%" PRId64 " layers with experts", with_experts),
                 in_moe, count->total);
        add_part(table, "each layer with experts", count->moe_layer, count->total);
    }
}

static void add_parameter_table(struct show_sheet *sheet, const struct model *model,
                                const struct parameter_count *count)
{
    static const struct field fields[] = {
        {"part", FIELD_LEFT("part")},
        {"parameters", FIELD_COUNT("parameters")},
        {"share", FIELD_COUNT("%")},
    };
    struct sheet *table = show_sheet_table(sheet, "parameters_by_part", FIELD_LIST(fields));
    add_part(table, "embedding", count->embedding, count->total);
    add_kinds(table, model, 0, model->block_kinds, false, count->total);
    if (model->pattern != NULL) {
        add_kinds(table, model, model->block_kinds, model->kind_count, true, count->total);
    } else {
        add_layers(table, model, count);
    }
    const bool in_moe = model->experts > 0;
    if (in_moe) {
        add_part(table, "each expert", count->expert, count->total);
        add_part(table, "each router", count->router, count->total);
    }
    add_part(table, "final norm", count->final_norm, count->total);
    add_part(table, "output matrix", count->head, count->total);
    add_part(table, "total", count->total, count->total);
    if (in_moe) {
        add_part(table, "active", count->active, count->total);
        add_part(table, "active, without the embedding", count->active - count->embedding,
                 count->total);
    }
    if (count->mtp > 0) {
        add_part(table, "multi-token prediction, besides", count->mtp, count->total);
    }
}

/* A training step spends three times the forward pass: once forward, twice backward. */
static void add_flop_row(struct sheet *table, const struct model *model, int64_t length)
{
    struct arena *arena = sheet_arena(table);
    const struct token_flop flop = cost_token_flop(model, length);
    const double columns[] = {
        3 * flop.linear,
        3 * flop.core_causal,
        3 * flop.logits,
        cost_train_flop_causal(&flop),
        cost_train_flop_full(&flop),
    };
    sheet_integer(table, NULL, length);
    for (uint32_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        sheet_number_as(table, NULL, columns[i], arena_printf(arena, "%.3f", columns[i] / 1e9));
    }
}

static void add_flop_table(struct show_sheet *sheet, const struct model *model)
{
    static const struct field fields[] = {
        {"sequence_length", FIELD_COUNT("sequence length")},
        {"linear_flop", FIELD_COUNT("matrices GFLOP")},
        {"core_causal_flop", FIELD_COUNT("attention, causal")},
        {"logits_flop", FIELD_COUNT("logits")},
        {"causal_flop", FIELD_COUNT("sum, of mfu")},
        {"full_flop", FIELD_COUNT("sum, full attention")},
    };
    struct sheet *table = show_sheet_table(sheet, "train_flop_per_token", FIELD_LIST(fields));
    if (model->max_positions != SEQUENCE_SHOWN) {
        add_flop_row(table, model, SEQUENCE_SHOWN);
    }
    add_flop_row(table, model, model->max_positions);
}

void show_figures_model(struct show_sheet *sheet, const struct model *model)
{
    const struct parameter_count count = cost_parameters(model);
    show_sheet_count(sheet, "parameters", count.total);
    if (model->experts > 0) {
        show_sheet_count(sheet, "active_parameters", count.active);
    }
    if (model->advertised_parameters > 0) {
        const double excess = (double)count.total / model->advertised_parameters - 1;
        show_sheet_number(sheet, "advertised_parameters", model->advertised_parameters,
                          number_billions(sheet->arena, model->advertised_parameters));
        show_sheet_number(sheet, "excess_over_advertised", excess,
                          arena_printf(sheet->arena, "%+.2f %%", 100 * excess));
    }
    add_parameter_table(sheet, model, &count);
    add_flop_table(sheet, model);
}

/* ---- GPU --------------------------------------------------------------------------- */

static void add_peak(struct sheet *table, const struct gpu *gpu, uint32_t precision)
{
    struct arena *arena = sheet_arena(table);
    const double peak = gpu->peak_flop_per_s[precision];
    const double sustained = peak * gpu_gemm(gpu, (enum precision)precision).sustained;
    const double bandwidth = gpu->memory_bandwidth_bytes_per_s;
    const double streamed = bandwidth * gpu->memory_kernel_efficiency;
    sheet_text(table, NULL, precision_names[precision]);
    sheet_number_as(table, NULL, peak, number_quantity(arena, peak, DIM_FLOP_PER_S));
    sheet_number_as(table, NULL, sustained, number_quantity(arena, sustained, DIM_FLOP_PER_S));
    sheet_number_as(table, NULL, peak / bandwidth, arena_printf(arena, "%.1f", peak / bandwidth));
    sheet_number_as(table, NULL, sustained / streamed,
                    arena_printf(arena, "%.1f", sustained / streamed));
}

/* The ridge point: a kernel that does fewer FLOP a byte is bound by memory
 * (Williams, Waterman, Patterson 2009, "Roofline"). FLOP/s / (bytes/s) = FLOP/byte. */
void show_figures_gpu(struct show_sheet *sheet, const struct gpu *gpu)
{
    static const struct field fields[] = {
        {"precision", FIELD_LEFT("precision")},
        {"peak_flop_per_s", FIELD_COUNT("peak, dense")},
        {"gemm_flop_per_s", FIELD_COUNT("large GEMM")},
        {"ridge_flop_per_byte", FIELD_COUNT("ridge FLOP/B")},
        {"ridge_achieved_flop_per_byte", FIELD_COUNT("as achieved")},
    };
    show_sheet_quantity(sheet, "memory_kernel_bytes_per_s",
                        gpu->memory_bandwidth_bytes_per_s * gpu->memory_kernel_efficiency,
                        DIM_BYTES_PER_S);
    show_sheet_quantity(sheet, "idle_power_w", gpu->tdp_w * gpu->idle_power_fraction, DIM_WATT);
    show_sheet_quantity(sheet, "busy_power_w", gpu->tdp_w * gpu->busy_power_fraction, DIM_WATT);
    struct sheet *table = show_sheet_table(sheet, "peaks", FIELD_LIST(fields));
    for (uint32_t i = 0; i < PRECISION_COUNT_; i++) {
        if (gpu->peak_flop_per_s[i] > 0) {
            add_peak(table, gpu, i);
        }
    }
}

/* ---- software ------------------------------------------------------------------------ */

void show_figures_software(struct show_sheet *sheet, const struct software *software)
{
    const struct {
        bool is_true;
        const char *name;
    } overlaps[] = {
        {software->overlaps_tp_backward, "tensor parallel backward"},
        {software->overlaps_dp_gradients, "gradients"},
        {software->overlaps_dp_parameters, "parameters"},
        {software->overlaps_p2p, "point to point"},
    };
    const char *names[sizeof overlaps / sizeof *overlaps];
    uint32_t count = 0;
    for (uint32_t i = 0; i < sizeof overlaps / sizeof *overlaps; i++) {
        if (overlaps[i].is_true) {
            names[count++] = overlaps[i].name;
        }
    }
    show_sheet_text(sheet, "overlaps_with_compute", sheet_joined(sheet->arena, names, count));
}

/* ---- collective library --------------------------------------------------------------- */

/* What each architecture pays for an algorithm's protocols before the first round, on one
 * node. */
static void add_library_row(struct sheet *table, const struct library *library,
                            uint32_t architecture, uint32_t algorithm)
{
    const struct library_architecture *costs = &library->architectures[architecture];
    sheet_text(table, NULL, gpu_architecture_names[architecture]);
    sheet_text(table, NULL, collective_algorithm_names[algorithm]);
    sheet_bool(table, NULL, library->shapes[algorithm].is_automatic);
    for (uint32_t p = 0; p < PROTOCOL_COUNT_; p++) {
        const struct library_cost *cost = &costs->costs[algorithm][p];
        const double base_s = cost->launch_s[SPAN_ONE_NODE] + cost->base_s[SPAN_ONE_NODE];
        sheet_number(table, NULL, cost->is_offered ? base_s : ABSENT);
    }
}

void show_figures_library(struct show_sheet *sheet, const struct library *library)
{
    static const struct field fields[] = {
        {"architecture", FIELD_LEFT("architecture")},
        {"algorithm", FIELD_LEFT("algorithm")},
        {"automatic", FIELD_LEFT("automatic")},
        {"ll_s", FIELD_RIGHT("LL us", "%.1f", 1e6)},
        {"ll128_s", FIELD_RIGHT("LL128 us", "%.1f", 1e6)},
        {"simple_s", FIELD_RIGHT("Simple us", "%.1f", 1e6)},
    };
    struct sheet *table = show_sheet_table(sheet, "start_of_a_collective", FIELD_LIST(fields));
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        for (uint32_t a = 0; a < ALGORITHM_COUNT_; a++) {
            add_library_row(table, library, i, a);
        }
    }
}

/* ---- assumptions ------------------------------------------------------------------------ */

/* The reason stands in the file, which is named; a default has no file. */
static const char *origin_text(struct arena *arena, const struct assumption *assumption)
{
    const struct place *place = &assumption->place;
    if (place->file == NULL) {
        return assumption->reason;
    }
    return place->line == 0 ? place->file
                            : arena_printf(arena, "%s:%" PRIu32, place->file, place->line);
}

void show_figures_assumptions(struct show_sheet *sheet, const struct assumptions *assumptions)
{
    static const struct field fields[] = {
        {"name", FIELD_LEFT("constant")},
        {"value", FIELD_LEFT("value")},
        {"origin", FIELD_LEFT("where")},
    };
    struct sheet *table = show_sheet_table(sheet, "assumed", FIELD_LIST(fields));
    for (size_t i = 0; i < assumptions->count; i++) {
        const struct assumption *item = &assumptions->items[i];
        sheet_text(table, NULL, item->name);
        sheet_text(table, NULL, item->value);
        sheet_text(table, NULL, origin_text(sheet->arena, item));
    }
}

/* ---- kinds of NIC ------------------------------------------------------------------- */

void show_figures_nic(struct show_sheet *sheet, const struct nic *nic)
{
    const double achieved = nic->rates_bytes_per_s[0] * nic->efficiency;
    show_sheet_rate(sheet, "achieved_bytes_per_s", achieved);
    if (nic->core_bytes_per_s > 0.0) {
        const double cores = achieved / nic->core_bytes_per_s;
        show_sheet_number(sheet, "cores", cores, arena_printf(sheet->arena, "%.2f", cores));
    }
}
