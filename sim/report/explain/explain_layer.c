/* Section 2 of `stoker explain`: the kernels of one layer on one GPU, and what
 * they add up to in a step.
 */
#include "report/explain/explain_timed.h"
#include "report/explain/explain_text.h"

#include "base/arena.h"
#include "report/table.h"

#include <inttypes.h>

/* ---- examples ------------------------------------------------------------------ */

/* Of each kind of kernel the longest of a pass, as its time is computed. */
static const struct ledger *record_examples(const struct explanation *explanation)
{
    static const struct {
        enum phase phase;
        enum kernel_kind kind;
    } examples[] = {{PHASE_FORWARD, KERNEL_GEMM},
                    {PHASE_BACKWARD, KERNEL_GEMM},
                    {PHASE_FORWARD, KERNEL_ATTENTION},
                    {PHASE_FORWARD, KERNEL_MEMORY}};
    const struct timing_runner runner = timing_runner_of(explanation->scenario);
    struct ledger *ledger = ledger_new(explanation->arena);
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        struct timed_phase timed;
        explain_time_phase(explanation, examples[i].phase, &timed);
        const struct timed_kernel *longest = explain_longest(&timed, examples[i].kind);
        if (longest != NULL) {
            timing_count_kernel(&runner, &longest->kernel, ledger);
        }
    }
    return ledger;
}

static void print_rules(const struct explanation *explanation, FILE *out)
{
    const struct scenario *scenario = explanation->scenario;
    const struct gpu *gpu = &scenario->gpu;
    struct arena *arena = explanation->arena;
    fprintf(out,
            "  gaps      %g us before each kernel%s\n"
            "  host      %g us a kernel%s, up to %" PRId64 " launches ahead; the GPU waits for a "
            "launch when\n            kernels are too short for too long\n\n",
            gpu->launch_s * 1e6,
            scenario->software.is_blocking ? ", and the host's time: it waits for each" : "",
            scenario->software.host_per_kernel_s * 1e6,
            scenario->software.has_graphs ? " (but in layers: CUDA graphs)" : "",
            scenario->software.host_queue);
    explain_paragraph(
        out, 2,
        arena_printf(arena,
                     "A product takes the longest of what its tiles take, wave by wave, of its "
                     "FLOP at the rate that the power limit leaves, and of its bytes; of several "
                     "tiles the fastest is taken, with all of the rate for %" PRId64 "x%" PRId64
                     " and its transpose, less for smaller ones (after @). Attention (%s)%s; other "
                     "kernels take what their bytes do. The longest of each:",
                     gpu->gemm_tile_m, gpu->gemm_tile_n,
                     attention_names[scenario->software.attention],
                     scenario->software.attention == ATTENTION_UNFUSED
                         ? " is products over the full mask"
                         : " deals tiles of queries (backward: of keys) over the SMs"));
    explain_print_ledger(record_examples(explanation), arena, out);
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
    case KERNEL_MEMORY:
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

static void add_amounts(struct table *table, double flop, double bytes, int64_t busy_ns)
{
    if (flop > 0) {
        table_cell(table, "%.2f", flop / 1e9);
    } else {
        table_cell(table, "%s", "");
    }
    table_cell(table, "%.1f", bytes / 1e6);
    table_cell(table, "%.3f", (double)busy_ns / 1e3);
    if (flop > 0 && busy_ns > 0) {
        table_cell(table, "%.1f", flop / (double)busy_ns / 1e3);
    } else {
        table_cell(table, "%s", "");
    }
}

static void add_segment(const struct explanation *explanation, struct table *table,
                        const struct timed_segment *segment)
{
    if (segment->count == 0) {
        return;
    }
    for (uint32_t i = 0; i < segment->count; i++) {
        const struct timed_kernel *timed = &segment->kernels[i];
        table_cell(table, "  %s", timed->kernel.name);
        table_cell(table, "%s", size_text(explanation->arena, &timed->kernel));
        add_amounts(table, timed->kernel.flop, timed->kernel.bytes, timed->busy_ns);
        table_cell(table, "%s", bound_text(explanation, timed));
    }
    table_cell(table, "= %s", segment->title);
    table_cell(table, "%s", "");
    add_amounts(table, segment->flop, segment->bytes, segment->work.busy_ns);
    table_cell(table, "gaps %.3f us", (double)segment->work.launch_ns / 1e3);
}

static void print_phase(const struct explanation *explanation, enum phase phase, FILE *out)
{
    struct timed_phase timed;
    explain_time_phase(explanation, phase, &timed);
    struct table *table = table_new(explanation->arena);
    table_column(table, arena_printf(explanation->arena, "  %s", timed.title), TABLE_LEFT);
    table_column(table, "m n k, or length", TABLE_LEFT);
    table_column(table, "GFLOP", TABLE_RIGHT);
    table_column(table, "MB", TABLE_RIGHT);
    table_column(table, "us", TABLE_RIGHT);
    table_column(table, "TFLOP/s", TABLE_RIGHT);
    table_column(table, "bound by", TABLE_LEFT);
    for (uint32_t i = 0; i < timed.count; i++) {
        add_segment(explanation, table, &timed.segments[i]);
    }
    table_cell(table, "= all");
    table_cell(table, "%s", "");
    add_amounts(table, timed.flop, timed.bytes, timed.work.busy_ns);
    table_cell(table, "gaps %.3f us", (double)timed.work.launch_ns / 1e3);
    table_print(table, out);
    fputc('\n', out);
}

/* ---- what they add up to --------------------------------------------------------- */

static const struct ledger *record_step(const struct explanation *explanation)
{
    struct ledger *ledger = ledger_new(explanation->arena);
    explain_time_step(explanation, ledger);
    const struct scenario *scenario = explanation->scenario;
    struct segment adam;
    cost_optimizer(1, &scenario->optimizer, (enum precision)scenario->precision, &adam);
    const double norm = scenario->optimizer.clips
                            ? state_bytes((enum state_format)scenario->optimizer.gradients)
                            : 0.0;
    ledger_say(ledger, "parameters updated", "", program_updated_parameters(scenario, 0),
               ledger_text(ledger, "stage 0, %g B each, and %g B each of %s for the norm",
                           adam.kernels[0].bytes, norm,
                           number_quantity(explanation->arena,
                                           program_owned_parameters(scenario, 0), DIM_COUNT)));
    return ledger;
}

static void print_sums(const struct explanation *explanation, FILE *out)
{
    const struct scenario *scenario = explanation->scenario;
    struct arena *arena = explanation->arena;
    const char *slow = scenario->slow_count > 0 ? " (slow ones: simulated is more)" : "";
    explain_paragraph(
        out, 2,
        arena_printf(arena,
                     "A step: microbatches x (layers x (forward + backward) + embedding and "
                     "head) / stages, mean of all GPUs%s:",
                     slow));
    explain_print_ledger(record_step(explanation), arena, out);
}

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
    return arena_printf(arena, "%s, %" PRId64 " of %" PRId64 " experts a GPU%s", cp,
                        experts / parallel->ep, experts,
                        copies > 0 ? arena_printf(arena, " (%" PRId64 " are copies)", copies) : "");
}

void explain_layer_print(const struct explanation *explanation, FILE *out)
{
    const struct scenario *scenario = explanation->scenario;
    explain_paragraph(
        out, 2,
        arena_printf(explanation->arena,
                     "%s, %s: tp %" PRId64 "%s%s, a microbatch of %" PRId64
                     " x %s tokens. A product of m x k by k x n is 2 m n k FLOP.",
                     scenario->gpu.title, precision_names[scenario->precision],
                     scenario->parallel.tp,
                     scenario->parallel.is_sequence_parallel ? " with sequence parallelism" : "",
                     shares_text(explanation), scenario->batch.micro,
                     explain_count(explanation->arena, scenario->batch.sequence_length)));
    print_rules(explanation, out);
    print_phase(explanation, PHASE_FORWARD, out);
    print_phase(explanation, PHASE_BACKWARD, out);
    if (scenario->recompute.kind == RECOMPUTE_SELECTIVE) {
        print_phase(explanation, PHASE_RECOMPUTE, out);
    } else if (scenario->recompute.kind == RECOMPUTE_FULL) {
        explain_paragraph(out, 2, "recomputed before each backward: the forward pass, again");
        fputc('\n', out);
    }
    print_phase(explanation, PHASE_ENDS, out);
    print_sums(explanation, out);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void put_kernel(struct json *json, const struct timed_kernel *timed)
{
    static const char *const kinds[] = {
        [KERNEL_GEMM] = "gemm", [KERNEL_ATTENTION] = "attention", [KERNEL_MEMORY] = "memory"};
    const struct kernel *kernel = &timed->kernel;
    json_object_open(json, NULL);
    json_text(json, "name", kernel->name);
    json_text(json, "kind", kinds[kernel->kind]);
    json_integer(json, "m", kernel->m);
    json_integer(json, "n", kernel->n);
    json_integer(json, "k", kernel->k);
    json_integer(json, "count", kernel->count);
    json_integer(json, "length", kernel->length);
    json_number(json, "flop", kernel->flop);
    json_number(json, "bytes", kernel->bytes);
    json_integer(json, "time_ns", timed->busy_ns);
    json_integer(json, "launch_ns", timed->launch_ns);
    json_number(json, "compute_s", timed->compute_s);
    json_number(json, "memory_s", timed->memory_s);
    json_text(json, "bound_by", timed->is_memory_bound ? "memory" : "compute");
    json_integer(json, "tile_m", timed->tiling.tile_m);
    json_integer(json, "tile_n", timed->tiling.tile_n);
    json_number(json, "tile_share", timed->tiling.relative);
    json_integer(json, "waves", timed->tiling.waves);
    json_number(json, "counted_waves", timed->tiling.counted_waves);
    json_number(json, "tiles_s", timed->tiling.tiles_s);
    json_number(json, "sustained_s", timed->tiling.sustained_s);
    json_number(json, "mean_keys", kernel->mean_keys);
    json_number(json, "even_s", timed->attention.even_s);
    json_number(json, "longest_s", timed->attention.longest_s);
    json_object_close(json);
}

static void put_phase(struct json *json, const struct timed_phase *timed)
{
    json_object_open(json, timed->key);
    json_integer(json, "time_ns", timed->work.busy_ns);
    json_integer(json, "launch_ns", timed->work.launch_ns);
    json_number(json, "flop", timed->flop);
    json_number(json, "bytes", timed->bytes);
    json_array_open(json, "segments");
    for (uint32_t i = 0; i < timed->count; i++) {
        const struct timed_segment *segment = &timed->segments[i];
        json_object_open(json, NULL);
        json_text(json, "name", segment->title);
        json_integer(json, "time_ns", segment->work.busy_ns);
        json_integer(json, "launch_ns", segment->work.launch_ns);
        json_number(json, "flop", segment->flop);
        json_number(json, "bytes", segment->bytes);
        json_array_open(json, "kernels");
        for (uint32_t j = 0; j < segment->count; j++) {
            put_kernel(json, &segment->kernels[j]);
        }
        json_array_close(json);
        json_object_close(json);
    }
    json_array_close(json);
    json_object_close(json);
}

static void put_constants(struct json *json, const struct scenario *scenario)
{
    const struct gpu *gpu = &scenario->gpu;
    const struct gemm_figures figures = gpu_gemm(gpu, (enum precision)scenario->precision);
    json_object_open(json, "constants");
    json_number(json, "peak_flop_per_s", gpu->peak_flop_per_s[scenario->precision]);
    json_integer(json, "sms", gpu->sms);
    json_integer(json, "communication_sms", scenario->software.reserved_sms);
    json_number(json, "gemm_efficiency", figures.efficiency);
    json_number(json, "gemm_derate", scenario->software.gemm_derate);
    json_number(json, "memory_derate", scenario->software.memory_derate);
    json_number(json, "attention_derate", scenario->software.attention_derate);
    json_number(json, "gemm_k_half", figures.k_half);
    json_number(json, "gemm_sustained", figures.sustained);
    json_number(json, "gemm_tile_loss", gpu->gemm_tile_loss);
    json_number(json, "gemm_balance", gpu->gemm_balance);
    json_number(json, "gemm_wgrad_loss", gpu->gemm_wgrad_loss);
    json_number(json, "memory_bandwidth_bytes_per_s", gpu->memory_bandwidth_bytes_per_s);
    json_number(json, "memory_kernel_efficiency", gpu->memory_kernel_efficiency);
    json_number(json, "launch_s", gpu->launch_s);
    json_number(json, "host_per_kernel_s", scenario->software.host_per_kernel_s);
    json_number(json, "host_per_step_s", scenario->software.host_per_step_s);
    json_integer(json, "host_queue", scenario->software.host_queue);
    json_object_close(json);
}

void explain_layer_json(const struct explanation *explanation, struct json *json)
{
    const struct timed_step step = explain_time_step(explanation, NULL);
    put_constants(json, explanation->scenario);
    for (uint32_t i = 0; i < PHASE_COUNT_; i++) {
        struct timed_phase timed;
        explain_time_phase(explanation, (enum phase)i, &timed);
        put_phase(json, &timed);
    }
    json_object_open(json, "step_sums_s");
    json_number(json, "compute", step.compute_s);
    json_number(json, "recompute", step.recompute_s);
    json_number(json, "optimizer", step.optimizer_s);
    json_number(json, "launch", step.launch_s);
    json_number(json, "host_wait", step.host_wait_s);
    json_object_close(json);
    explain_put_ledger("sums", record_examples(explanation), explanation->arena, json);
    explain_put_ledger("step_time_sums", record_step(explanation), explanation->arena, json);
}
