/* What follows from a model, a GPU, a software profile or a library by itself,
 * as figures for `stoker show`; clusters and scenarios are in show_cluster.c
 * and show_scenario.c.
 */
#include "report/show/show_figures.h"

#include "base/arena.h"
#include "report/numbers.h"
#include "plan/cost.h"

#include <inttypes.h>

/* ---- model ------------------------------------------------------------------------ */

/* Long enough for the linear part to prevail, and a length that many models train at. */
#define SEQUENCE_SHOWN 4096

static void add_part(struct listing *table, const char *part, int64_t parameters, int64_t total)
{
    listing_text(table, part);
    listing_number(table, (double)parameters, number_grouped(table->arena, (double)parameters));
    const double share = (double)parameters / (double)total;
    listing_number(table, share, arena_printf(table->arena, "%.2f", 100 * share));
}

static void add_parameter_table(struct show_sheet *sheet, const struct model *model,
                                const struct parameter_count *count)
{
    struct listing *table = show_sheet_table(sheet, "parameters_by_part");
    listing_column(table, "part", "part", false);
    listing_column(table, "parameters", "parameters", true);
    listing_column(table, "share", "%", true);
    const int64_t with_experts = model_expert_layers(model, 0, model->layers);
    const int64_t dense = model->layers - model->block_layers - with_experts;
    const int64_t in_dense = dense * count->layer;
    const int64_t in_moe = with_experts * count->moe_layer;
    sim_assert(count->embedding + count->blocks + in_dense + in_moe + count->final_norm +
                   count->head ==
               count->total);
    add_part(table, "embedding", count->embedding, count->total);
    for (uint32_t i = 0; i < model->block_kinds; i++) {
        const struct layer_kind *block = &model->kinds[i];
        add_part(table,
                 arena_printf(sheet->arena, "%" PRId64 " %s layers", block->layers, block->name),
                 block->layers * cost_layer(model, block).total, count->total);
    }
    if (in_dense > 0) {
        const char *kind = with_experts > 0 ? "dense layers" : "layers";
        add_part(table, arena_printf(sheet->arena, "%" PRId64 " %s", dense, kind), in_dense,
                 count->total);
        add_part(table, with_experts > 0 ? "each dense layer" : "each layer", count->layer,
                 count->total);
        add_part(table, "matrices of a layer", count->layer_matrix, count->total);
    }
    if (in_moe > 0) {
        add_part(table, arena_printf(sheet->arena, "%" PRId64 " layers with experts", with_experts),
                 in_moe, count->total);
        add_part(table, "each layer with experts", count->moe_layer, count->total);
        add_part(table, "each expert", count->expert, count->total);
        add_part(table, "each router", count->router, count->total);
    }
    add_part(table, "final norm", count->final_norm, count->total);
    add_part(table, "output matrix", count->head, count->total);
    add_part(table, "total", count->total, count->total);
    if (in_moe > 0) {
        add_part(table, "active", count->active, count->total);
    }
    if (count->mtp > 0) {
        add_part(table, "multi-token prediction, besides", count->mtp, count->total);
    }
}

/* A training step spends three times the forward pass: once forward, twice backward. */
static void add_flop_row(struct listing *table, const struct model *model, int64_t length)
{
    struct arena *arena = table->arena;
    const struct token_flop flop = cost_token_flop(model, length);
    const double columns[] = {
        3 * flop.linear,
        3 * flop.core_causal,
        3 * flop.logits,
        cost_train_flop_causal(&flop),
        cost_train_flop_full(&flop),
    };
    listing_count(table, length);
    for (uint32_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        listing_number(table, columns[i], arena_printf(arena, "%.3f", columns[i] / 1e9));
    }
}

static void add_flop_table(struct show_sheet *sheet, const struct model *model)
{
    struct listing *table = show_sheet_table(sheet, "train_flop_per_token");
    listing_column(table, "sequence_length", "sequence length", true);
    listing_column(table, "linear_flop", "matrices GFLOP", true);
    listing_column(table, "core_causal_flop", "attention, causal", true);
    listing_column(table, "logits_flop", "logits", true);
    listing_column(table, "causal_flop", "sum, of mfu", true);
    listing_column(table, "full_flop", "sum, full attention", true);
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

static void add_peak(struct listing *table, const struct gpu *gpu, uint32_t precision)
{
    struct arena *arena = table->arena;
    const double peak = gpu->peak_flop_per_s[precision];
    const double sustained = peak * gpu_gemm(gpu, (enum precision)precision).sustained;
    const double bandwidth = gpu->memory_bandwidth_bytes_per_s;
    const double streamed = bandwidth * gpu->memory_kernel_efficiency;
    listing_text(table, precision_names[precision]);
    listing_number(table, peak, number_quantity(arena, peak, DIM_FLOP_PER_S));
    listing_number(table, sustained, number_quantity(arena, sustained, DIM_FLOP_PER_S));
    listing_number(table, peak / bandwidth, arena_printf(arena, "%.1f", peak / bandwidth));
    listing_number(table, sustained / streamed, arena_printf(arena, "%.1f", sustained / streamed));
}

/* The ridge point: a kernel that does fewer FLOP a byte is bound by memory
 * (Williams, Waterman, Patterson 2009, "Roofline"). FLOP/s / (bytes/s) = FLOP/byte. */
void show_figures_gpu(struct show_sheet *sheet, const struct gpu *gpu)
{
    struct listing *table = show_sheet_table(sheet, "peaks");
    listing_column(table, "precision", "precision", false);
    listing_column(table, "peak_flop_per_s", "peak, dense", true);
    listing_column(table, "gemm_flop_per_s", "large GEMM", true);
    listing_column(table, "ridge_flop_per_byte", "ridge FLOP/B", true);
    listing_column(table, "ridge_achieved_flop_per_byte", "as achieved", true);
    for (uint32_t i = 0; i < PRECISION_COUNT_; i++) {
        if (gpu->peak_flop_per_s[i] > 0) {
            add_peak(table, gpu, i);
        }
    }
    show_sheet_quantity(sheet, "memory_kernel_bytes_per_s",
                        gpu->memory_bandwidth_bytes_per_s * gpu->memory_kernel_efficiency,
                        DIM_BYTES_PER_S);
    show_sheet_quantity(sheet, "idle_power_w", gpu->tdp_w * gpu->idle_power_fraction, DIM_WATT);
    show_sheet_quantity(sheet, "busy_power_w", gpu->tdp_w * gpu->busy_power_fraction, DIM_WATT);
}

/* ---- software ------------------------------------------------------------------------ */

/* "a, b": `text` may be NULL. */
static const char *and_also(struct arena *arena, const char *text, const char *more)
{
    return text == NULL ? more : arena_printf(arena, "%s, %s", text, more);
}

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
    const char *text = NULL;
    for (uint32_t i = 0; i < sizeof overlaps / sizeof *overlaps; i++) {
        text = overlaps[i].is_true ? and_also(sheet->arena, text, overlaps[i].name) : text;
    }
    show_sheet_text(sheet, "overlaps_with_compute", text != NULL ? text : "nothing");
}

/* ---- collective library --------------------------------------------------------------- */

/* What each architecture pays for an algorithm's protocols before the first round, on one
 * node. */
static void add_library_row(struct listing *table, const struct library *library,
                            uint32_t architecture, uint32_t algorithm)
{
    const struct library_architecture *costs = &library->architectures[architecture];
    listing_text(table, gpu_architecture_names[architecture]);
    listing_text(table, library_algorithm_names[algorithm]);
    listing_text(table, library->shapes[algorithm].is_automatic ? "yes" : "no");
    for (uint32_t p = 0; p < LIBRARY_PROTOCOL_COUNT; p++) {
        const struct library_cost *cost = &costs->costs[algorithm][p];
        const double base_s = cost->launch_s[SPAN_ONE_NODE] + cost->base_s[SPAN_ONE_NODE];
        listing_number(table, cost->is_offered ? base_s : 0.0,
                       cost->is_offered ? arena_printf(table->arena, "%.1f", base_s * 1e6) : "-");
    }
}

void show_figures_library(struct show_sheet *sheet, const struct library *library)
{
    struct listing *table = show_sheet_table(sheet, "start_of_a_collective");
    listing_column(table, "architecture", "architecture", false);
    listing_column(table, "algorithm", "algorithm", false);
    listing_column(table, "automatic", "automatic", false);
    listing_column(table, "ll_s", "LL us", true);
    listing_column(table, "ll128_s", "LL128 us", true);
    listing_column(table, "simple_s", "Simple us", true);
    for (uint32_t i = 0; i < GPU_ARCHITECTURE_COUNT_; i++) {
        for (uint32_t a = 0; a < LIBRARY_ALGORITHM_COUNT; a++) {
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
    struct listing *table = show_sheet_table(sheet, "assumed");
    listing_column(table, "name", "constant", false);
    listing_column(table, "value", "value", false);
    listing_column(table, "origin", "where", false);
    for (size_t i = 0; i < assumptions->count; i++) {
        const struct assumption *item = &assumptions->items[i];
        listing_text(table, item->name);
        listing_text(table, item->value);
        listing_text(table, origin_text(sheet->arena, item));
    }
}
