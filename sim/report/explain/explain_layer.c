/* Section 2 of `stoker explain`: the kernels of one layer on one GPU, and what they add up to in a
 * step.
 */
#include "input/job/optimizer.h"
#include "input/job/token_routing.h"
#include "input/scenario.h"
#include "report/explain/explain_timed.h"
#include "report/explain/matrix_update.h"
#include "report/explain/explain_text.h"

#include "base/arena.h"

#include <inttypes.h>

/* ---- examples ------------------------------------------------------------------ */

/* The kernel of a kind that takes longest; NULL if there is none. */
static const struct timed_kernel *longest_of(const struct timed_phase *phase, enum kernel_kind kind)
{
    const struct timed_kernel *longest = NULL;
    for (uint32_t i = 0; i < phase->count; i++) {
        const struct timed_segment *segment = &phase->segments[i];
        for (uint32_t j = 0; j < segment->count; j++) {
            const struct timed_kernel *timed = &segment->kernels[j];
            if (timed->kernel.kind == kind &&
                (longest == NULL || timed->busy_ns > longest->busy_ns)) {
                longest = timed;
            }
        }
    }
    return longest;
}

/* Of each kind of kernel the longest of a forward pass, of products that of a backward pass, too,
 * as their times are computed. */
static const struct ledger *record_examples(const struct explanation *explanation,
                                            const struct timed_phase *phases)
{
    const struct timing_runner runner = timing_runner_of(explanation->scenario);
    struct ledger *ledger = ledger_new(explanation->arena);
    for (enum kernel_kind kind = 0; kind < KERNEL_KIND_COUNT_; kind++) {
        const enum phase last = kind == KERNEL_GEMM ? PHASE_BACKWARD : PHASE_FORWARD;
        for (enum phase phase = PHASE_FORWARD; phase <= last; phase++) {
            const struct timed_kernel *longest = longest_of(&phases[phase], kind);
            if (longest != NULL) {
                timing_count_kernel(&runner, &longest->kernel, ledger);
            }
        }
    }
    return ledger;
}

static const char *graphs_text(const struct software *software)
{
    if (software_captures(software, GRAPH_ITERATION)) {
        return " (of the optimizer only: the rest is one CUDA graph)";
    }
    if (software_captures(software, GRAPH_LAYERS)) {
        return " (but in layers: CUDA graphs)";
    }
    return software_captures_any(software) ? " (but in CUDA graphs of parts of layers)" : "";
}

static const char *gaps_text(const struct scenario *scenario, struct arena *arena)
{
    return software_captures_any(&scenario->software)
               ? arena_printf(arena, ", %g us in CUDA graphs",
                              scenario->gpu.launch_in_graph_s * 1e6)
               : "";
}

static const char *product_text(const struct software *software, struct arena *arena)
{
    return software->host_per_product_s > 0.0 ? arena_printf(arena, ", %g us more for a product",
                                                             software->host_per_product_s * 1e6)
                                              : "";
}

static void say_rules(const struct scenario *scenario, struct arena *arena, struct sheet *in)
{
    const struct gpu *gpu = &scenario->gpu;
    const struct software *software = &scenario->software;
    sheet_say(in,
              "  gaps      %g us before each kernel%s%s\n"
              "  host      %g us a kernel%s%s, up to %" PRId64
              " launches ahead; the GPU waits for a "
              "launch when\n            kernels are too short for too long\n\n",
              gpu->launch_s * 1e6, gaps_text(scenario, arena),
              software->is_blocking ? ", and the host's time: it waits for each" : "",
              software->host_per_kernel_s * 1e6, product_text(software, arena),
              graphs_text(software), software->host_queue);
    explain_paragraph(in, 2,
                      "A product takes the longest of what its tiles take, wave by wave, of its "
                      "FLOP at the rate that the power limit leaves, and of its bytes; of several "
                      "tiles the fastest is taken, with all of the rate for %" PRId64 "x%" PRId64
                      " and its transpose, less for smaller ones (after @). Attention (%s)%s; "
                      "other kernels take what their bytes do. The longest of each:",
                      gpu->gemm_tile_m, gpu->gemm_tile_n, attention_names[software->attention],
                      software->attention == ATTENTION_UNFUSED
                          ? " is products over the full mask"
                          : " deals tiles of queries (backward: of keys) over the SMs");
}

/* ---- tables of kernels ----------------------------------------------------------- */

static const char *size_text(struct arena *arena, const struct kernel *kernel)
{
    switch (kernel->kind) {
    case KERNEL_GEMM:
        return arena_printf(
            arena, "%" PRId64 " %" PRId64 " %" PRId64 "%s", kernel->m, kernel->n, kernel->k,
            kernel->count > 1 ? arena_printf(arena, " x%" PRId64, kernel->count) : "");
    case KERNEL_ATTENTION:
        return arena_printf(arena, "rows %" PRId64 " x%" PRId64 " s %" PRId64, kernel->m,
                            kernel->count, kernel->length);
    case KERNEL_SCAN:
    case KERNEL_SPARSE:
        return arena_printf(arena, "%" PRId64 " x%" PRId64 " of %" PRId64, kernel->m, kernel->count,
                            kernel->length);
    case KERNEL_MEMORY:
    case KERNEL_KIND_COUNT_:
        break;
    }
    return "";
}

/* "compute 28 x 256x128": waves and tile; a smaller tile's share; units other than usual. */
static const char *bound_text(const struct explanation *explanation,
                              const struct timed_kernel *timed)
{
    const struct scenario *scenario = explanation->scenario;
    const struct gemm_tiling *tiling = &timed->tiling;
    if (timed->is_memory_bound) {
        return "memory";
    }
    if (timed->kernel.kind == KERNEL_ATTENTION) {
        const struct attention_work *work = &timed->attention;
        return arena_printf(explanation->arena, "compute p %.0f d %" PRId64, work->pairs,
                            work->head_dim);
    }
    if (timed->kernel.kind != KERNEL_GEMM) {
        return "compute";
    }
    const enum precision precision = timed->kernel.precision;
    const double peak = scenario->gpu.peak_flop_per_s[precision];
    const char *units = precision == scenario->precision
                            ? ""
                            : arena_printf(explanation->arena, " %s", precision_names[precision]);
    const char *share =
        tiling->relative < 1 ? arena_printf(explanation->arena, " @%.2f", tiling->relative) : "";
    if (tiling->sustained_s >= tiling->tiles_s) {
        return arena_printf(explanation->arena, "sustained rate%s",
                            tiling->peak_flop_per_s < peak ? " fp32 units" : units);
    }
    return arena_printf(explanation->arena, "compute %.4g x %" PRId64 "x%" PRId64 "%s%s",
                        tiling->counted_waves, tiling->tile_m, tiling->tile_n, share,
                        tiling->peak_flop_per_s < peak ? " fp32 units" : units);
}

static void say_amounts(struct sheet *table, double flop, double bytes, int64_t busy_ns)
{
    const bool has_rate = flop > 0 && busy_ns > 0;
    sheet_number_as(table, NULL, flop, flop > 0 ? NULL : "");
    sheet_number(table, NULL, bytes);
    sheet_integer(table, NULL, busy_ns);
    sheet_number_as(table, NULL, has_rate ? flop / (double)busy_ns : 0, has_rate ? NULL : "");
}

static void say_sum(struct sheet *table, const char *title, const struct timed_sum *sum)
{
    sheet_say(table, "= %s", title);
    sheet_nothing(table);
    say_amounts(table, sum->flop, sum->bytes, sum->work.busy_ns);
    sheet_say(table, "gaps %.3f us", (double)sum->work.launch_ns / 1e3);
}

static void say_phase(const struct explanation *explanation, const struct timed_phase *timed,
                      struct sheet *in)
{
    struct arena *arena = explanation->arena;
    const struct field fields[] = {
        {NULL, FIELD_LEFT(arena_printf(arena, "  %s", timed->title))},
        {NULL, FIELD_LEFT("m n k, or length")},
        {NULL, FIELD_RIGHT("GFLOP", "%.2f", 1e-9)},
        {NULL, FIELD_RIGHT("MB", "%.1f", 1e-6)},
        {NULL, FIELD_RIGHT("us", "%.3f", 1e-3)},
        {NULL, FIELD_RIGHT("TFLOP/s", "%.1f", 1e-3)},
        {NULL, FIELD_LEFT("bound by")},
    };
    struct sheet *table = sheet_table(in, NULL, FIELD_LIST(fields));
    for (uint32_t i = 0; i < timed->count; i++) {
        const struct timed_segment *segment = &timed->segments[i];
        for (uint32_t j = 0; j < segment->count; j++) {
            const struct timed_kernel *kernel = &segment->kernels[j];
            sheet_say(table, "  %s", kernel->kernel.name);
            sheet_text(table, NULL, size_text(arena, &kernel->kernel));
            say_amounts(table, kernel->kernel.flop, kernel->kernel.bytes, kernel->busy_ns);
            sheet_text(table, NULL, bound_text(explanation, kernel));
        }
        if (segment->count > 0) {
            say_sum(table, segment->title, &segment->sum);
        }
    }
    say_sum(table, "all", &timed->sum);
    sheet_say(in, "\n");
}

/* ---- JSON -------------------------------------------------------------------------- */

static const char *const bounds[] = {"compute", "memory"};

static const struct field kernel_fields[] = {
    {"name", FIELD_AT(struct timed_kernel, kernel.name)},
    {"kind", FIELD_AT(struct timed_kernel, kernel.kind), FIELD_NAMES(kernel_kind_names)},
    {"m", FIELD_AT(struct timed_kernel, kernel.m)},
    {"n", FIELD_AT(struct timed_kernel, kernel.n)},
    {"k", FIELD_AT(struct timed_kernel, kernel.k)},
    {"count", FIELD_AT(struct timed_kernel, kernel.count)},
    {"length", FIELD_AT(struct timed_kernel, kernel.length)},
    {"flop", FIELD_AT(struct timed_kernel, kernel.flop)},
    {"bytes", FIELD_AT(struct timed_kernel, kernel.bytes)},
    {"time_ns", FIELD_AT(struct timed_kernel, busy_ns)},
    {"launch_ns", FIELD_AT(struct timed_kernel, launch_ns)},
    {"compute_s", FIELD_AT(struct timed_kernel, compute_s)},
    {"memory_s", FIELD_AT(struct timed_kernel, memory_s)},
    {"bound_by", FIELD_AT(struct timed_kernel, is_memory_bound), FIELD_NAMES(bounds)},
    {"tile_m", FIELD_AT(struct timed_kernel, tiling.tile_m)},
    {"tile_n", FIELD_AT(struct timed_kernel, tiling.tile_n)},
    {"tile_share", FIELD_AT(struct timed_kernel, tiling.relative)},
    {"waves", FIELD_AT(struct timed_kernel, tiling.waves)},
    {"counted_waves", FIELD_AT(struct timed_kernel, tiling.counted_waves)},
    {"tiles_s", FIELD_AT(struct timed_kernel, tiling.tiles_s)},
    {"sustained_s", FIELD_AT(struct timed_kernel, tiling.sustained_s)},
    {"mean_keys", FIELD_AT(struct timed_kernel, kernel.mean_keys)},
    {"even_s", FIELD_AT(struct timed_kernel, attention.even_s)},
    {"longest_s", FIELD_AT(struct timed_kernel, attention.longest_s)},
};

static void put_sum(struct sheet *in, const struct timed_sum *sum)
{
    sheet_integer(in, "time_ns", sum->work.busy_ns);
    sheet_integer(in, "launch_ns", sum->work.launch_ns);
    sheet_number(in, "flop", sum->flop);
    sheet_number(in, "bytes", sum->bytes);
}

static void put_phase(const struct timed_phase *timed, struct sheet *in)
{
    put_sum(in, &timed->sum);
    struct sheet *segments = sheet_array(in, "segments");
    for (uint32_t i = 0; i < timed->count; i++) {
        const struct timed_segment *segment = &timed->segments[i];
        struct sheet *object = sheet_object(segments, NULL);
        sheet_text(object, "name", segment->title);
        put_sum(object, &segment->sum);
        sheet_list(object, "kernels", FIELD_LIST(kernel_fields), segment->kernels, segment->count,
                   sizeof *segment->kernels);
    }
}

static void put_constants(const struct scenario *scenario, struct sheet *in)
{
    const struct gpu *gpu = &scenario->gpu;
    const struct gemm_figures figures = gpu_gemm(gpu, (enum precision)scenario->precision);
    struct sheet *constants = sheet_object(in, "constants");
    sheet_number(constants, "peak_flop_per_s", gpu->peak_flop_per_s[scenario->precision]);
    sheet_integer(constants, "sms", gpu->sms);
    sheet_integer(constants, "communication_sms", scenario->software.reserved_sms);
    sheet_number(constants, "gemm_efficiency", figures.efficiency);
    sheet_number(constants, "gemm_derate", scenario->software.gemm_derate);
    sheet_number(constants, "memory_derate", scenario->software.memory_derate);
    sheet_number(constants, "strided_share", scenario->software.strided_share);
    sheet_number(constants, "attention_derate", scenario->software.attention_derate);
    sheet_number(constants, "gemm_k_half", figures.k_half);
    sheet_number(constants, "gemm_sustained", figures.sustained);
    sheet_number(constants, "gemm_tile_loss", gpu->gemm_tile_loss);
    sheet_number(constants, "gemm_balance", gpu->gemm_balance);
    sheet_number(constants, "gemm_wgrad_loss", gpu->gemm_wgrad_loss);
    sheet_number(constants, "memory_bandwidth_bytes_per_s", gpu->memory_bandwidth_bytes_per_s);
    sheet_number(constants, "memory_kernel_efficiency", gpu->memory_kernel_efficiency);
    sheet_number(constants, "launch_s", gpu->launch_s);
    if (software_captures_any(&scenario->software)) {
        sheet_number(constants, "launch_in_graph_s", gpu->launch_in_graph_s);
    }
    sheet_number(constants, "host_per_kernel_s", scenario->software.host_per_kernel_s);
    sheet_number(constants, "host_per_product_s", scenario->software.host_per_product_s);
    sheet_number(constants, "host_per_step_s", software_host_step_s(&scenario->software));
    sheet_integer(constants, "host_queue", scenario->software.host_queue);
}

/* ---- what they add up to --------------------------------------------------------- */

/* After the step's own sums. */
static void record_updates(const struct explanation *explanation, struct ledger *ledger)
{
    const struct scenario *scenario = explanation->scenario;
    const struct memory_job memory = memory_job_of(scenario);
    struct segment update;
    cost_optimizer(1, &scenario->optimizer, (enum precision)scenario->precision,
                   (enum update_kind)scenario->software.update, &update);
    double bytes = 0;
    for (uint32_t i = 0; i < update.count; i++) {
        bytes += update.kernels[i].bytes;
    }
    const double norm = scenario->optimizer.clips
                            ? state_bytes((enum state_format)scenario->optimizer.gradients)
                            : 0.0;
    ledger_say(ledger, "parameters updated", "", program_updated_parameters(&memory, 0),
               ledger_text(ledger, "stage 0, %g B each, and %g B each of %s for the norm", bytes,
                           norm,
                           number_quantity(explanation->arena,
                                           program_owned_parameters(&memory.split, 0), DIM_COUNT)));
}

static const struct field step_fields[] = {
    {"step_sums_s.compute", FIELD_AT(struct timed_step, compute_s)},
    {"step_sums_s.recompute", FIELD_AT(struct timed_step, recompute_s)},
    {"step_sums_s.optimizer", FIELD_AT(struct timed_step, optimizer_s)},
    {"step_sums_s.launch", FIELD_AT(struct timed_step, launch_s)},
    {"step_sums_s.host_wait", FIELD_AT(struct timed_step, host_wait_s)},
};

/* ", cp 2, 2 of 8 experts": what else divides a layer. Redundant experts are copies. */
static const char *shares_text(const struct explanation *explanation)
{
    const struct scenario *scenario = explanation->scenario;
    const struct parallel *parallel = &scenario->parallel;
    struct arena *arena = explanation->arena;
    const char *cp = parallel->cp > 1 ? arena_printf(arena, ", cp %" PRId64, parallel->cp) : "";
    if (scenario->model.experts == 0) {
        return cp;
    }
    const int64_t copies = scenario->routing.redundant_experts;
    const int64_t experts = scenario->model.experts + copies;
    return arena_printf(
        arena, "%s, %" PRId64 " of %" PRId64 " experts a GPU%s%s", cp, experts / parallel->ep,
        experts, copies > 0 ? arena_printf(arena, " (%" PRId64 " are copies)", copies) : "",
        routing_is_even(&scenario->model, &scenario->routing) ? ", " ROUTING_EVEN_TEXT : "");
}

static void say_layer(const struct explanation *explanation, struct sheet *in)
{
    const struct scenario *scenario = explanation->scenario;
    explain_paragraph(in, 2,
                      "%s, %s: tp %" PRId64 "%s%s, a microbatch of %" PRId64
                      " x %s tokens. A product of m x k by k x n is 2 m n k FLOP.",
                      scenario->gpu.title, precision_names[scenario->precision],
                      scenario->parallel.tp,
                      scenario->parallel.is_sequence_parallel ? " with sequence parallelism" : "",
                      shares_text(explanation), scenario->batch.micro,
                      number_grouped(explanation->arena, (double)scenario->batch.sequence_length));
    const struct model *model = &scenario->model;
    if (model->pattern != NULL && model->pattern->type_count > 1) {
        explain_paragraph(in, 2,
                          "Of %" PRIu32 " types of layers this is %s; sums of steps have all.",
                          model->pattern->type_count, model->kinds[model_shown_kind(model)].name);
    }
}

static void say_phases(const struct explanation *explanation, const struct timed_phase *phases,
                       struct sheet *in)
{
    say_phase(explanation, &phases[PHASE_FORWARD], in);
    say_phase(explanation, &phases[PHASE_BACKWARD], in);
    if (explanation->scenario->recompute.kind == RECOMPUTE_SELECTIVE) {
        say_phase(explanation, &phases[PHASE_RECOMPUTE], in);
    } else if (explanation->scenario->recompute.kind == RECOMPUTE_FULL) {
        sheet_say(in, "  recomputed before each backward: the forward pass, again\n\n");
    }
    say_phase(explanation, &phases[PHASE_ENDS], in);
}

void explain_layer(const struct explanation *explanation, struct sheet *in)
{
    const struct scenario *scenario = explanation->scenario;
    put_constants(scenario, in);
    struct timed_phase phases[PHASE_COUNT_];
    for (uint32_t i = 0; i < PHASE_COUNT_; i++) {
        explain_time_phase(explanation, (enum phase)i, &phases[i]);
        put_phase(&phases[i], sheet_object(in, phases[i].key));
    }
    struct ledger *ledger = ledger_new(explanation->arena);
    const struct timed_step step = explain_time_step(explanation, ledger);
    record_updates(explanation, ledger);
    matrix_update_record(scenario, ledger);
    sheet_members(in, FIELD_LIST(step_fields), &step);
    say_layer(explanation, in);
    say_rules(scenario, explanation->arena, in);
    explain_ledger(in, "sums", record_examples(explanation, phases));
    say_phases(explanation, phases, in);
    explain_paragraph(in, 2,
                      "A step: microbatches x (layers x (forward + backward) + embedding and "
                      "head) / stages, mean of all GPUs%s:",
                      scenario->slow_count > 0 ? " (slow ones: simulated is more)" : "");
    explain_ledger(in, "step_time_sums", ledger);
}
