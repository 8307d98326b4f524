/* Checks that the sizes of a layout divide those of the model. Each rule is
 * one predicate, used for the check and for finding the choices that would do.
 */
#include "input/feasible_model.h"

#include "input/layout.h"
#include "input/scenario.h"

#include "base/arena.h"

/* ---- tp ---- */

/* A size that tp must divide and does not. */
struct obstacle {
    const char *kind; /* of layer, when it is not the model's; or NULL */
    const char *what; /* NULL: there is none */
    int64_t size;
    bool is_partial; /* a projection that would leave sums in parts: it has no size */
};

static bool shares_heads(int64_t heads, int64_t tp)
{
    return heads % tp == 0 || tp % heads == 0;
}

/* A tensor of a mixer that tp does not cut, or a projection inside that leaves sums in parts. Heads
 * that are fewer than ranks are copied, but where ranks add up what they make of their own. */
static struct obstacle mixer_obstacle(const struct layer_kind *kind, int64_t tp)
{
    const struct mixer *mixer = kind->mixer;
    const struct mixer_operator *partial = mixer_partial(mixer);
    if (partial != NULL && tp > 1) {
        return (struct obstacle){.kind = kind->name, .what = partial->name, .is_partial = true};
    }
    for (uint32_t i = MIXER_OWN_; i < mixer->tensor_count; i++) {
        const struct mixer_tensor *tensor = &mixer->tensors[i];
        if (tensor->heads > 0 && (!shares_heads(tensor->heads, tp) ||
                                  (tensor->heads < tp && mixer_is_projected(mixer, i)))) {
            return (struct obstacle){
                .kind = kind->name, .what = tensor->name, .size = tensor->heads};
        }
    }
    return (struct obstacle){.what = NULL};
}

/* Of the layers of a kind. */
static struct obstacle kind_obstacle(const struct model *model, const struct layer_kind *kind,
                                     int64_t tp)
{
    const char *name =
        kind->heads != model->heads || kind->hidden != model->hidden ? kind->name : NULL;
    if (layer_mixes(kind) && kind->heads % tp != 0) {
        return (struct obstacle){.kind = name, .what = "heads", .size = kind->heads};
    }
    if (layer_mixes(kind) && !shares_heads(kind->kv_heads, tp)) {
        return (struct obstacle){.kind = name, .what = "kv_heads", .size = kind->kv_heads};
    }
    if (layer_is_dense(kind) && kind->ffn_hidden % tp != 0) {
        return (struct obstacle){.kind = name, .what = "ffn_hidden", .size = kind->ffn_hidden};
    }
    return layer_mixes(kind) && kind->mixer != NULL ? mixer_obstacle(kind, tp)
                                                    : (struct obstacle){.what = NULL};
}

/* Experts are cut by etp, which is tp where nothing else is said. */
static struct obstacle tp_obstacle(const struct scenario *scenario, int64_t tp)
{
    const struct model *model = &scenario->model;
    const bool follows = scenario->parallel.etp == scenario->parallel.tp;
    for (uint32_t i = 0; i < model->kind_count; i++) {
        const struct obstacle found = kind_obstacle(model, &model->kinds[i], tp);
        if (found.what != NULL) {
            return found;
        }
    }
    if (model->experts > 0 && follows && model->expert_hidden % tp != 0) {
        return (struct obstacle){.what = "expert_hidden", .size = model->expert_hidden};
    }
    if (model->experts > 0 && model->shared_hidden % tp != 0) {
        return (struct obstacle){.what = "shared_hidden", .size = model->shared_hidden};
    }
    return (struct obstacle){.what = NULL};
}

static bool tp_fits(const struct scenario *scenario, int64_t tp)
{
    return tp_obstacle(scenario, tp).what == NULL;
}

bool feasible_tp(const struct layout *layout)
{
    const int64_t tp = layout->scenario->parallel.tp;
    const struct obstacle found = tp_obstacle(layout->scenario, tp);
    if (found.what == NULL) {
        return true;
    }
    const char *of_kind =
        found.kind != NULL ? arena_printf(layout->arena, "%s layers of ", found.kind) : "";
    if (found.is_partial) {
        diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "tp"),
                 "tp %lld cuts what projection %s of %smodel %s reads, whose result is whole",
                 (long long)tp, found.what, of_kind, layout->scenario->model.name);
    } else {
        diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "tp"),
                 "tp %lld does not divide %s %lld of %smodel %s", (long long)tp, found.what,
                 (long long)found.size, of_kind, layout->scenario->model.name);
    }
    feasible_help(layout, "tp", tp, tp_fits);
    return false;
}

/* ---- experts ---- */

/* Experts and their copies. */
static int64_t expert_places(const struct scenario *scenario)
{
    return scenario->model.experts + scenario->routing.redundant_experts;
}

/* Ranks of a stage; experts are dealt over them. dp is known. */
static int64_t plane_size(const struct parallel *parallel)
{
    return parallel->tp * parallel->cp * parallel->dp;
}

static bool ep_fits(const struct scenario *scenario, int64_t ep)
{
    const struct parallel *parallel = &scenario->parallel;
    if (scenario->model.experts == 0) {
        return ep == 1;
    }
    return expert_places(scenario) % ep == 0 && plane_size(parallel) % (ep * parallel->etp) == 0;
}

static bool etp_fits(const struct scenario *scenario, int64_t etp)
{
    return scenario->model.expert_hidden % etp == 0 && plane_size(&scenario->parallel) % etp == 0;
}

/* What ep times etp must divide, in the words of who left etp alone and of who did not. */
static void report_plane(const struct layout *layout, const struct place *place)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    const long long ep = (long long)parallel->ep;
    const long long etp = (long long)parallel->etp;
    if (parallel->etp == parallel->tp) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "ep %lld does not divide cp %lld x dp %lld = %lld", ep, (long long)parallel->cp,
                 (long long)parallel->dp, (long long)(parallel->cp * parallel->dp));
        return;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, place,
             "ep %lld x etp %lld = %lld does not divide tp %lld x cp %lld x dp %lld = %lld", ep,
             etp, ep * etp, (long long)parallel->tp, (long long)parallel->cp,
             (long long)parallel->dp, (long long)plane_size(parallel));
}

/* Of experts that follow tp: whole ones may lie on more ranks. */
static void help_whole_experts(const struct layout *layout)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    const bool is_cut = parallel->is_sequence_parallel || parallel->tp == 1;
    if (parallel->etp != parallel->tp || parallel->tp == 1 ||
        expert_places(layout->scenario) % parallel->ep != 0 ||
        plane_size(parallel) % parallel->ep != 0) {
        return;
    }
    diag_help(
        layout->diag,
        "or write etp: 1%s: experts are whole on a GPU each, and ep %lld divides tp %lld x cp "
        "%lld x dp %lld = %lld",
        is_cut ? "" : " and sequence_parallel: true", (long long)parallel->ep,
        (long long)parallel->tp, (long long)parallel->cp, (long long)parallel->dp,
        (long long)plane_size(parallel));
}

static bool report_ep(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const struct model *model = &scenario->model;
    const struct place *place = feasible_place(layout, "parallel", "ep");
    const long long ep = (long long)parallel->ep;
    const long long copies = (long long)scenario->routing.redundant_experts;
    if (model->experts == 0) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place, "ep %lld, but model %s has no experts", ep,
                 model->name);
    } else if (parallel->ep > expert_places(scenario)) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "ep %lld is more than the %lld experts of model %s", ep,
                 (long long)expert_places(scenario), model->name);
    } else if (expert_places(scenario) % parallel->ep != 0 && copies > 0) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "ep %lld does not divide the %lld experts of model %s and %lld redundant ones", ep,
                 (long long)model->experts, model->name, copies);
    } else if (expert_places(scenario) % parallel->ep != 0) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "ep %lld does not divide the %lld experts of model %s", ep,
                 (long long)model->experts, model->name);
    } else {
        report_plane(layout, place);
    }
    feasible_help(layout, "ep", parallel->ep, ep_fits);
    if (model->experts > 0) {
        help_whole_experts(layout);
    }
    return false;
}

static bool is_written(const struct layout *layout, const char *path)
{
    const struct doc_node *root = layout->scenario->document;
    return root != NULL && doc_find(root, path) != NULL;
}

static bool check_etp(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const struct model *model = &scenario->model;
    const struct place *place = feasible_place(layout, "parallel", "etp");
    if (parallel->etp == parallel->tp || parallel->etp == 1) {
        return true;
    }
    if (model->experts == 0) {
        return !is_written(layout, "parallel.etp") ||
               diag_add(layout->diag, DIAG_INFEASIBLE, place,
                        "etp %lld, but model %s has no experts", (long long)parallel->etp,
                        model->name);
    }
    if (etp_fits(scenario, parallel->etp)) {
        return true;
    }
    if (model->expert_hidden % parallel->etp != 0) {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "etp %lld does not divide expert_hidden %lld of model %s",
                 (long long)parallel->etp, (long long)model->expert_hidden, model->name);
    } else {
        diag_add(layout->diag, DIAG_INFEASIBLE, place,
                 "etp %lld does not divide tp %lld x cp %lld x dp %lld = %lld",
                 (long long)parallel->etp, (long long)parallel->tp, (long long)parallel->cp,
                 (long long)parallel->dp, (long long)plane_size(parallel));
    }
    feasible_help(layout, "etp", parallel->etp, etp_fits);
    return false;
}

/* Ranks of a tensor-parallel group that do not share experts send tokens of their own. */
static bool check_shares(const struct layout *layout)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    if (layout->scenario->model.experts == 0 || parallel->etp == parallel->tp ||
        parallel->tp == 1 || parallel->is_sequence_parallel) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "etp"),
             "etp %lld beside tp %lld needs sequence_parallel: else all %lld ranks would send the "
             "same tokens to experts",
             (long long)parallel->etp, (long long)parallel->tp, (long long)parallel->tp);
    diag_help(layout->diag, "write sequence_parallel: true, or leave etp out");
    return false;
}

/* What is exchanged can hide behind another microbatch only where forwards meet backwards. */
static bool check_overlap(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const struct place *place = feasible_place(layout, "parallel", "overlap_experts");
    if (!parallel->overlaps_experts) {
        return true;
    }
    if (scenario->model.experts == 0) {
        return diag_add(layout->diag, DIAG_INFEASIBLE, place,
                        "overlap_experts, but model %s has no experts", scenario->model.name);
    }
    if (parallel->schedule == SCHEDULE_1F1B || parallel->schedule == SCHEDULE_INTERLEAVED) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, place, "overlap_experts does not go with schedule %s",
             schedule_names[parallel->schedule]);
    diag_help(layout->diag, "use schedule 1f1b or interleaved; dualpipe and dualpipev overlap by "
                            "themselves");
    return false;
}

bool feasible_experts(const struct layout *layout)
{
    const bool has_split = check_etp(layout);
    bool is_good = has_split;
    if (has_split && !ep_fits(layout->scenario, layout->scenario->parallel.ep)) {
        is_good = report_ep(layout);
    }
    is_good = is_good && check_shares(layout);
    return check_overlap(layout) && is_good;
}

/* ---- sequences ---- */

/* Ulysses deals out whole sequences; else each is cut into 2 cp pieces, dealt in pairs so that
 * causal attention is balanced. */
static int64_t pieces_of(const struct parallel *parallel)
{
    const int64_t pairs = parallel->context == CONTEXT_ULYSSES ? 1 : 2;
    return parallel->cp > 1 ? pairs * parallel->cp : 1;
}

/* Sequence parallelism cuts what a rank has once more. */
static bool splits(const struct parallel *parallel, int64_t length)
{
    const int64_t tp = parallel->is_sequence_parallel ? parallel->tp : 1;
    return length % pieces_of(parallel) == 0 && length / parallel->cp % tp == 0;
}

static bool length_fits(const struct scenario *scenario, int64_t length)
{
    return splits(&scenario->parallel, length);
}

/* Ulysses gives each rank of a sequence some of the heads that tp leaves. */
static const char *unsplit_heads(const struct scenario *scenario, int64_t cp, int64_t *heads)
{
    const struct model *model = &scenario->model;
    const int64_t tp = scenario->parallel.tp;
    for (uint32_t i = 0; i < model->kind_count; i++) {
        const struct layer_kind *kind = &model->kinds[i];
        if (!layer_mixes(kind)) {
            continue;
        }
        *heads = kind->heads / tp;
        if (*heads % cp != 0) {
            return "heads";
        }
        if (layer_scans(kind)) { /* beside attention of other heads */
            const struct mixer_tensor *value = mixer_read(kind->mixer, kind->mixer->scan, 2);
            *heads = value->heads / tp;
            if (*heads % cp != 0) {
                return "heads of scans";
            }
        }
        *heads = kind->kv_heads > tp ? kind->kv_heads / tp : 1;
        if (*heads % cp != 0) {
            return "kv_heads";
        }
    }
    return NULL;
}

/* An index chooses of all keys of a sequence, which a rank has where they are gathered. */
static bool context_chooses(const struct scenario *scenario, int64_t cp)
{
    return cp == 1 || scenario->parallel.context == CONTEXT_ALL_GATHER ||
           !model_has(&scenario->model, layer_chooses);
}

/* Asked of each candidate, of which there may be a million: a scenario is too large to be copied so
 * often. */
bool feasible_cp_fits(const struct scenario *scenario, int64_t cp)
{
    struct parallel changed = scenario->parallel;
    int64_t heads = 0;
    changed.cp = cp;
    return scenario->gpus % (changed.tp * cp * changed.pp) == 0 &&
           splits(&changed, scenario->batch.sequence_length) && context_chooses(scenario, cp) &&
           (changed.context != CONTEXT_ULYSSES || unsplit_heads(scenario, cp, &heads) == NULL);
}

/* What is wrong is the length, or the ranks it is split over: choices of both. */
static bool report_split(const struct layout *layout, const struct place *place)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    const int64_t length = layout->scenario->batch.sequence_length;
    const bool is_ulysses = parallel->context == CONTEXT_ULYSSES;
    const bool is_cut = parallel->is_sequence_parallel && length % pieces_of(parallel) == 0;
    const char *into =
        is_cut ? arena_printf(layout->arena, "parts that tp %lld divides", (long long)parallel->tp)
               : arena_printf(layout->arena, "%s%lld equal pieces", is_ulysses ? "" : "2 x ",
                              (long long)parallel->cp);
    diag_add(layout->diag, DIAG_INFEASIBLE, place,
             "cp %lld does not split sequence_length %lld into %s", (long long)parallel->cp,
             (long long)length, into);
    feasible_help(layout, "sequence_length", length, length_fits);
    feasible_help(layout, "cp", parallel->cp, feasible_cp_fits);
    return false;
}

static bool check_length(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    const int64_t length = scenario->batch.sequence_length;
    const struct place *place = feasible_place(layout, "batch", "sequence_length");
    if (length_fits(scenario, length)) {
        return true;
    }
    if (parallel->cp > 1) {
        return report_split(layout, place);
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, place,
             "sequence_parallel: tp %lld does not divide sequence_length %lld",
             (long long)parallel->tp, (long long)length);
    diag_help(layout->diag, "sequence_length may be %s",
              layout_multiples(layout->arena, length, parallel->tp));
    return false;
}

/* Sequences of another length than the decoder's: an encoder's. */
static bool check_block_lengths(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct model *model = &scenario->model;
    for (uint32_t i = 0; i < model->kind_count; i++) {
        const struct layer_kind *kind = &model->kinds[i];
        if (kind->tokens > 0 && !length_fits(scenario, kind->tokens)) {
            const bool has_cp = scenario->parallel.cp > 1;
            diag_add(layout->diag, DIAG_INFEASIBLE,
                     feasible_place(layout, "parallel", has_cp ? "cp" : "sequence_parallel"),
                     "%s does not split the %lld tokens of %s layers of model %s",
                     has_cp ? "cp" : "sequence_parallel", (long long)kind->tokens, kind->name,
                     model->name);
            return false;
        }
    }
    return true;
}

static bool check_index(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    if (context_chooses(scenario, parallel->cp)) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "cp"),
             "cp_type %s: an index of model %s chooses of all keys of a sequence",
             context_names[parallel->context], scenario->model.name);
    diag_help(layout->diag, "set cp_type: all-gather, or cp: 1");
    return false;
}

static bool check_ulysses(const struct layout *layout)
{
    const struct scenario *scenario = layout->scenario;
    const struct parallel *parallel = &scenario->parallel;
    int64_t heads = 0;
    if (parallel->context != CONTEXT_ULYSSES || parallel->cp == 1) {
        return true;
    }
    const char *what = unsplit_heads(scenario, parallel->cp, &heads);
    if (what == NULL) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "cp"),
             "ulysses: cp %lld does not divide the %lld %s that tp %lld leaves of model %s",
             (long long)parallel->cp, (long long)heads, what, (long long)parallel->tp,
             scenario->model.name);
    feasible_help(layout, "cp", parallel->cp, feasible_cp_fits);
    return false;
}

static bool check_positions(const struct layout *layout)
{
    const struct model *model = &layout->scenario->model;
    const int64_t length = layout->scenario->batch.sequence_length;
    if (model->positions != POSITION_LEARNED || length <= model->max_positions) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "batch", "sequence_length"),
             "sequence_length %lld is longer than the %lld learned positions of %s",
             (long long)length, (long long)model->max_positions, model->name);
    diag_help(layout->diag, "sequence_length may be at most %lld", (long long)model->max_positions);
    return false;
}

static bool check_documents(const struct layout *layout)
{
    const struct batch *batch = &layout->scenario->batch;
    if (batch->document_length <= batch->sequence_length) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "batch", "document_length"),
             "documents of %lld tokens do not fit into sequences of %lld",
             (long long)batch->document_length, (long long)batch->sequence_length);
    diag_help(layout->diag,
              "document_length may be at most %lld: longer documents are cut to sequences",
              (long long)batch->sequence_length);
    return false;
}

bool feasible_sequence(const struct layout *layout)
{
    bool is_good = check_length(layout);
    is_good = check_documents(layout) && is_good;
    is_good = is_good && check_block_lengths(layout);
    is_good = check_positions(layout) && is_good;
    const bool has_heads = tp_fits(layout->scenario, layout->scenario->parallel.tp);
    is_good = check_index(layout) && is_good;
    return (!has_heads || check_ulysses(layout)) && is_good;
}

/* ---- states ---- */

static bool zero_group_fits(const struct scenario *scenario, int64_t group)
{
    return scenario->parallel.cp * scenario->parallel.dp % group == 0;
}

static bool local_group_fits(const struct scenario *scenario, int64_t group)
{
    return scenario->parallel.dp % group == 0;
}

/* The first option of ZeRO++ that is on; NULL: none is. */
static const char *zeropp_option(const struct parallel *parallel)
{
    return parallel->has_quantized_weights     ? "zero_quantized_weights"
           : parallel->has_local_weights       ? "zero_local_weights"
           : parallel->has_quantized_gradients ? "zero_quantized_gradients"
                                               : NULL;
}

static bool check_zeropp_layout(const struct layout *layout)
{
    const struct parallel *parallel = &layout->scenario->parallel;
    const char *option = zeropp_option(parallel);
    if (option != NULL && parallel->zero != 3) {
        diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", option),
                 "%s is an option of zero 3, and zero is %lld", option, (long long)parallel->zero);
        diag_help(layout->diag, "write zero: 3, or leave %s out", option);
        return false;
    }
    const int64_t others = parallel->tp * parallel->cp * parallel->pp * parallel->ep;
    const bool is_hybrid = parallel->zero_group > 0 && parallel->zero_group != parallel->dp;
    if (option != NULL && (others > 1 || is_hybrid)) {
        diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", option),
                 "%s needs states that are shared out over all GPUs: tp, cp, pp and ep 1, and no "
                 "zero_group",
                 option);
        diag_help(layout->diag, "leave %s out, or those", option);
        return false;
    }
    return true;
}

static bool check_zeropp(const struct layout *layout)
{
    struct parallel *parallel = &layout->scenario->parallel;
    const bool has_groups = parallel->has_local_weights || parallel->has_quantized_gradients;
    if (!check_zeropp_layout(layout)) {
        return false;
    }
    if (parallel->zero_local_group > 0 && !has_groups) {
        diag_add(layout->diag, DIAG_INFEASIBLE,
                 feasible_place(layout, "parallel", "zero_local_group"),
                 "zero_local_group is not used");
        diag_help(layout->diag,
                  "it belongs to zero_local_weights: true or zero_quantized_gradients: true");
        return false;
    }
    if (has_groups && parallel->zero_local_group == 0) {
        const int64_t node = layout->scenario->cluster.gpus_per_node;
        parallel->zero_local_group = node < parallel->dp ? node : parallel->dp;
    }
    if (has_groups && !local_group_fits(layout->scenario, parallel->zero_local_group)) {
        diag_add(layout->diag, DIAG_INFEASIBLE,
                 feasible_place(layout, "parallel", "zero_local_group"),
                 "zero_local_group %lld does not divide dp %lld",
                 (long long)parallel->zero_local_group, (long long)parallel->dp);
        feasible_help(layout, "zero_local_group", parallel->zero_local_group, local_group_fits);
        return false;
    }
    return true;
}

bool feasible_sharding(const struct layout *layout)
{
    struct parallel *parallel = &layout->scenario->parallel;
    const int64_t all = parallel->cp * parallel->dp;
    if (!check_zeropp(layout)) {
        return false;
    }
    if (parallel->reshard != RESHARD_FORWARD && parallel->zero != 3) {
        diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "reshard"),
                 "reshard %s is for gathered parameters, and zero %lld gathers none",
                 reshard_names[parallel->reshard], (long long)parallel->zero);
        diag_help(layout->diag, "write zero: 3, or leave reshard out");
        return false;
    }
    if (parallel->zero_group == 0) {
        parallel->zero_group = all;
    }
    if (zero_group_fits(layout->scenario, parallel->zero_group)) {
        return true;
    }
    diag_add(layout->diag, DIAG_INFEASIBLE, feasible_place(layout, "parallel", "zero_group"),
             "zero_group %lld does not divide cp %lld x dp %lld = %lld",
             (long long)parallel->zero_group, (long long)parallel->cp, (long long)parallel->dp,
             (long long)all);
    feasible_help(layout, "zero_group", parallel->zero_group, zero_group_fits);
    return false;
}
