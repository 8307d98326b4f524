/* A scenario is written line by line, each key with what it is. */
#include "report/study/start_text.h"

#include "base/arena.h"
#include "base/version.h"
#include "report/near.h"
#include "report/numbers.h"
#include "study/search/search_software.h"
#include "study/search/search_study.h"

#include <inttypes.h>
#include <string.h>

static const char *value_of(struct arena *arena, const struct search_found *found,
                            enum search_axis axis)
{
    return search_layout_value(arena, &found->layout, axis);
}

/* "15.6T", as scenarios write tokens. */
static const char *tokens_text(struct arena *arena, double tokens)
{
    const double unit = tokens >= 1e12 ? 1e12 : tokens >= 1e9 ? 1e9 : 1;
    return arena_printf(arena, "%.15g%s", tokens / unit,
                        unit >= 1e12  ? "T"
                        : unit >= 1e9 ? "B"
                                      : "");
}

static const char *head_text(const struct start_asked *asked, const struct start_found *start)
{
    struct arena *arena = asked->arena;
    const struct search_result *result = &start->result;
    const struct search_found *found = &result->found[0];
    const char *software = asked->software != NULL ? asked->software : start->software;
    return arena_printf(
        arena,
        "# Written by stoker %s: the fastest of %s layouts%s (gap %.2g %%); %.4g s a step, "
        "%.1f of %.1f GB.\n"
        "scenario: %s\n"
        "model: %-24s # stoker list models, or a config.json of Hugging Face\n"
        "cluster: %-22s # stoker list clusters\n"
        "gpus: %" PRId64 "\n"
        "software: %-21s # what the framework does: stoker list software\n"
        "precision: %-20s # or fp8, where GPU and software have it\n",
        stoker_version(), number_grouped(arena, (double)result->counts.layouts),
        result->lacking.layouts > 0 ? arena_printf(arena, " that %s has", start->software) : "",
        100 * (result->is_certified ? START_GAP : result->gap), found->step_s,
        found->memory_bytes / 1e9, start->gpu_memory_bytes / 1e9, start_scalar(arena, start->title),
        start_scalar(arena, asked->model), start_scalar(arena, asked->cluster), asked->gpus,
        start_scalar(arena, software), start->precision);
}

/* What of a layout is said only where it is not as usual, a line each. */
static const char *staying_text(struct arena *arena, const struct relayout *layout)
{
    static const char *const remarks[SEARCH_AXIS_COUNT_] = {
        [SEARCH_CP_TYPE] = "how keys and values are exchanged",
        [SEARCH_LAYERS] = "the last has the loss, too",
        [SEARCH_ZERO_GROUP] = "GPUs that share states; others have copies",
        [SEARCH_MICROBATCH_GROUP] = "microbatches that pass a chunk before the next",
        [SEARCH_RESHARD] = "until when gathered weights are kept",
        [SEARCH_OVERLAP_EXPERTS] = "exchanges beside compute",
        [SEARCH_ORDER] = "which ranks are neighbours",
    };
    const char *text = "";
    for (uint32_t i = SEARCH_STAYING; i < SEARCH_OFFLOAD_OPTIMIZER; i++) {
        const enum search_axis axis = (enum search_axis)i;
        if (search_layout_set(arena, layout, axis) != NULL) {
            const char *key = arena_printf(arena, "%s: %s", search_axis_word(search_axis_paths[i]),
                                           search_layout_value(arena, layout, axis));
            text = arena_printf(arena, "%s  %-29s # %s\n", text, key, remarks[i]);
        }
    }
    return text;
}

static const char *parallel_text(struct arena *arena, const struct search_found *found)
{
    const bool has_experts = strcmp(value_of(arena, found, SEARCH_EP), "1") != 0;
    const char *etp = found->layout.etp == 0
                          ? ""
                          : arena_printf(arena, "  etp: %-24s # of these, GPUs that share each\n",
                                         value_of(arena, found, SEARCH_ETP));
    return arena_printf(
        arena,
        "parallel:\n"
        "  tp: %-25s # GPUs that share each layer's matrices\n"
        "  pp: %-25s # stages of the pipeline\n"
        "%s%s%s"
        "  dp: auto                      # replicas: the GPUs that are left\n"
        "  zero: %-23s # what replicas share out: 1 optimizer, 3 weights, too\n"
        "  schedule: %-19s # order of microbatches in the pipeline\n"
        "  virtual_stages: %-13s # chunks of a stage, when interleaved\n"
        "  sequence_parallel: %s\n",
        value_of(arena, found, SEARCH_TP), value_of(arena, found, SEARCH_PP),
        has_experts ? arena_printf(arena, "  ep: %-25s # GPUs that share the experts of a layer\n",
                                   value_of(arena, found, SEARCH_EP))
                    : "",
        etp, staying_text(arena, &found->layout), value_of(arena, found, SEARCH_ZERO),
        value_of(arena, found, SEARCH_SCHEDULE), value_of(arena, found, SEARCH_VIRTUAL_STAGES),
        value_of(arena, found, SEARCH_SEQUENCE_PARALLEL));
}

const char *start_text(const struct start_asked *asked, const struct start_found *start)
{
    struct arena *arena = asked->arena;
    const struct search_found *found = &start->result.found[0];
    return arena_printf(
        arena,
        "%s%s"
        "batch:\n"
        "  global: %-21" PRId64 " # sequences of a step\n"
        "  micro: %-22s # of a microbatch\n"
        "  sequence_length: %" PRId64 "\n"
        "recompute: %-20s # or selective, full: less memory, more time\n"
        "run:\n"
        "  tokens: %-21s # of the whole training; failures: true adds what breaks\n"
        "  checkpoint: {every: 30 min, mode: async}\n"
        "# Next: stoker run FILE, stoker whatif FILE,\n"
        "# stoker sweep FILE --axis cluster.network=\"400 Gbps,3200 Gbps\" --best layout\n",
        head_text(asked, start), parallel_text(arena, found), start->global,
        value_of(arena, found, SEARCH_MICRO), start->sequence,
        value_of(arena, found, SEARCH_RECOMPUTE), tokens_text(arena, asked->tokens));
}

void start_tell_none(const struct start_asked *asked, const struct start_found *start,
                     struct diag *diag)
{
    struct arena *arena = asked->arena;
    const struct search_space *found_in = &start->space;
    const struct search_result *result = &start->result;
    const char *left_out = search_software_left_out(arena, found_in, result);
    diag_add(diag, DIAG_INFEASIBLE, NULL, "no layout of %s fits on %" PRId64 " GPUs of %s%s",
             asked->model, asked->gpus, asked->cluster,
             near_margin_clause(arena, start->memory_margin));
    diag_help(diag, "%s",
              result->counts.layouts > 0
                  ? arena_printf(arena, "the nearest is %s: %s; ask for more GPUs",
                                 search_layout_label(arena, found_in, &result->nearest),
                                 search_lack(arena, found_in, &result->nearest))
              : left_out != NULL ? left_out
                                 : "no sizes go together: try another --gpus or --batch");
}
