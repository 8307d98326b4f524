/* The commands `stoker budget` and `stoker audit`: what a training takes before it has a layout,
 * and whether figures that somebody published of one fit together.
 */
#include "cli/options.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "input/cluster.h"
#include "input/gpu.h"
#include "input/model.h"
#include "plan/cost.h"
#include "report/sheet.h"
#include "report/study/budget_parts_sheet.h"
#include "report/study/budget_sheet.h"
#include "study/budget_counted.h"
#include "study/budget_usual.h"
#include "study/budget/budget_fewest.h"
#include "study/budget/budget_serve.h"
#include "study/budget/budget_stages.h"

#include <string.h>

#define BUDGET_SCHEMA "stoker.budget/1"
#define AUDIT_SCHEMA "stoker.audit/1"

enum { SEQUENCE_MAX = 100 * 1000 * 1000 };

struct asker {
    struct options options;
    double told[BUDGET_QUANTITIES]; /* 0: not given */
    const char *gpu, *model, *law;
    uint32_t precision;
    int64_t sequence;
    double memory_bytes; /* 0: not given */
    struct text_list stages;
    const char *plot; /* --plot; NULL: nothing is drawn */
    bool asks_fewest;
};

static const struct command_option own_options[] = {
    {.help = "Figures:", .group = 1},
#define ROW(id, option, argument, title, dimension, most, help) \
    {option, 0, argument, help,                                 \
     OPTION_QUANTITY(struct asker, told[BUDGET_##id], dimension, BUDGET_LEAST, most)},
    BUDGET_QUANTITY_LIST(ROW)
#undef ROW
        {.help = "What files say:", .group = 2},
    {"gpu", 0, "NAME", "GPU of models/gpus: its peak, price, power and memory",
     OPTION_TEXT(struct asker, gpu)},
    {"precision", 0, "NAME", "Of its peak (default: bf16)",
     OPTION_NAME(struct asker, precision, precision_names, PRECISION_COUNT_)},
    {"model", 0, "NAME", "Model of models/llms: its parameters and FLOPs",
     OPTION_TEXT(struct asker, model)},
    {"sequence", 0, "N", "Tokens of a sequence, for its attention (default: 4096)",
     OPTION_COUNT(struct asker, sequence, 1, SEQUENCE_MAX)},
    {0},
};

/* Of a budget alone: an audit neither holds a model nor splits FLOPs. */
static const struct command_option budget_options[] = {
    {"memory", 0, "BYTES", "Memory of a GPU (default: that of --gpu)",
     OPTION_QUANTITY(struct asker, memory_bytes, DIM_BYTES, 1e6, 1e15)},
    {"law", 0, "NAME", "Law of scaling of " BUDGET_FILE " (default: its first)",
     OPTION_TEXT(struct asker, law)},
    {"fewest", 0, NULL,
     "How many GPUs of each size hold the model; with --model and --gpu also how many train it",
     OPTION_FLAG(struct asker, asks_fewest)},
    {"plot", 0, "BASE", "Draw losses of models that take the same FLOPs: BASE.svg, .png, .csv, .gp",
     OPTION_TEXT(struct asker, plot)},
    {"stage", 0, "N[@SEQUENCE]",
     "Tokens of a stage, and how long its sequences are (with --model); may be repeated",
     OPTION_LIST(struct asker, stages)},
    {0},
};

static const struct command_option apart[] = {OPTIONS_APART, {0}};

static const struct asker defaults = {.precision = PRECISION_BF16, .sequence = 4096};

/* ---- what is told --------------------------------------------------------------------------- */

static const char *written(const struct options *options, const char *name)
{
    const char *text = "";
    for (uint32_t i = 0; i < options->use_count; i++) {
        const struct option_use *use = &options->uses[i];
        text = use->option->name != NULL && strcmp(use->option->name, name) == 0 ? use->argument
                                                                                 : text;
    }
    return text;
}

/* How many were. */
static uint32_t take_told(const struct asker *asker, struct budget *budget)
{
    static const char *const names[] = {
#define NAME(id, option, ...) option,
        BUDGET_QUANTITY_LIST(NAME)
#undef NAME
    };
    uint32_t count = 0;
    for (uint32_t i = 0; i < BUDGET_QUANTITIES; i++) {
        if (asker->told[i] > 0) {
            budget_tell(budget, i, asker->told[i],
                        budget_rounding(written(&asker->options, names[i])));
            count++;
        }
    }
    return count;
}

/* ---- files ---------------------------------------------------------------------------------- */

static const struct doc_node *open_file(const struct asker *asker, enum catalogue_kind kind,
                                        const char *name)
{
    struct cli *cli = asker->options.cli;
    const struct catalogue catalogue = options_catalogue_again(&asker->options);
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name};
    return catalogue_open(cli->arena, &catalogue, kind, &reference, cli->diag);
}

/* Of both commands its peak; of a budget its price and power, which a claim may not have had. */
static bool look_gpu(const struct asker *asker, bool is_budget, struct budget *budget,
                     struct budget_answer *answer, struct budget_server *server)
{
    struct cli *cli = asker->options.cli;
    struct assumptions assumptions;
    struct gpu gpu;
    if (asker->gpu == NULL) {
        return true;
    }
    assumptions_init(&assumptions, cli->arena);
    const struct doc_node *node = open_file(asker, CATALOGUE_GPU, asker->gpu);
    if (node == NULL || !gpu_read(node, &gpu, &assumptions, cli->diag)) {
        return false;
    }
    const double peak = gpu.peak_flop_per_s[asker->precision];
    if (!(peak > 0)) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "%s has no %s", asker->gpu,
                 precision_names[asker->precision]);
        diag_help(cli->diag, "`stoker show gpu %s` has its peaks", asker->gpu);
        return false;
    }
    budget_look(budget, BUDGET_PEAK, peak);
    if (is_budget) {
        budget_look(budget, BUDGET_PRICE, is_absent(gpu.gpu_hour_usd) ? 0 : gpu.gpu_hour_usd);
        budget_look(budget, BUDGET_POWER, gpu.tdp_w * gpu_busy_fraction(&gpu));
    }
    answer->gpu = asker->gpu;
    answer->gpu_bytes = gpu.memory_bytes;
    answer->cluster = gpu.platform.cluster;
    *server = (struct budget_server){.gpu_bytes = gpu.memory_bytes,
                                     .bytes_per_s = gpu.memory_bandwidth_bytes_per_s,
                                     .flop_per_s = peak};
    return true;
}

static bool look_model(const struct asker *asker, struct budget *budget,
                       struct budget_answer *answer, struct model *model)
{
    struct cli *cli = asker->options.cli;
    struct assumptions assumptions;
    if (asker->model == NULL) {
        answer->parameters =
            asker->told[BUDGET_PARAMETERS] > 0 ? asker->told[BUDGET_PARAMETERS] : ABSENT;
        return true;
    }
    assumptions_init(&assumptions, cli->arena);
    const struct doc_node *node = open_file(asker, CATALOGUE_MODEL, asker->model);
    if (node == NULL || !model_read(node, model, &assumptions, cli->diag)) {
        return false;
    }
    const struct parameter_count count = cost_parameters(model);
    budget_look(budget, BUDGET_PARAMETERS, (double)count.active);
    answer->model = asker->model;
    answer->parameters = (double)count.total;
    return true;
}

/* FLOPs of a token: of one length of sequences, or the mean over stages, whose tokens are told. */
static bool look_flop(const struct asker *asker, const struct model *model, struct budget *budget,
                      struct budget_stages *stages)
{
    const enum flop_convention convention = (enum flop_convention)asker->options.mfu_convention;
    const struct text_list *texts = &asker->stages;
    if (!budget_stages_read(texts->items, texts->count, model, asker->sequence, convention, stages,
                            asker->options.cli->diag)) {
        return false;
    }
    if (stages->count > 0) {
        budget_tell(budget, BUDGET_TOKENS, stages->tokens, stages->rounding);
    }
    if (model != NULL) {
        budget_look(budget, BUDGET_TOKEN_FLOP,
                    stages->count > 0 ? stages->token_flop
                                      : cost_train_flop(model, asker->sequence, 1, convention));
    }
    return true;
}

/* Who serves it, where a file says how fast memory is. */
static void look_server(const struct asker *asker, const struct model *model,
                        struct budget_answer *answer, struct budget_server *server)
{
    if (answer->gpu == NULL || is_absent(answer->parameters)) {
        return;
    }
    server->parameters = answer->parameters;
    server->active = model != NULL ? (double)cost_parameters(model).active : answer->parameters;
    server->kv_bytes = model != NULL ? budget_kv_bytes(model, asker->sequence) : ABSENT;
    server->gpu_bytes = answer->gpu_bytes;
    answer->server = server;
}

/* ---- budget --------------------------------------------------------------------------------- */

/* No option without a part in the answer: what is worked out says which have one. */
static bool check_used(const struct asker *asker, const struct budget_answer *answer)
{
    const struct options *options = &asker->options;
    bool is_good = answer->law != NULL || asker->plot != NULL ||
                   options_refuse(options, "law", "figures that leave nothing to be split",
                                  "it splits FLOPs where neither parameters nor tokens are known");
    if (is_absent(answer->budget->value[BUDGET_FLOP])) {
        is_good =
            options_refuse(options, "plot", "a budget without FLOPs",
                           "its curves are of as many: tell --flop, or what it follows from") &&
            is_good;
    }
    if (is_absent(answer->parameters)) {
        is_good = options_refuse(options, "memory fewest", "a budget without parameters",
                                 "their states are what is held: tell --params or --model") &&
                  is_good;
    }
    if (answer->budget->origin[BUDGET_PEAK] != BUDGET_LOOKED && answer->at_low == NULL &&
        answer->server == NULL) {
        is_good = options_refuse(options, "precision", "a peak that no file says",
                                 "it chooses a peak of --gpu, and which MFU is usual") &&
                  is_good;
    }
    return is_good;
}

static bool say_sequences(const struct text_list *stages)
{
    bool all = true;
    for (uint32_t i = 0; i < stages->count; i++) {
        all = all && strchr(stages->items[i], '@') != NULL;
    }
    return all;
}

/* Of a model alone. */
static bool check_model_options(const struct asker *asker, bool is_budget)
{
    const struct options *options = &asker->options;
    if (asker->model == NULL) {
        return options_refuse(options, "sequence mfu-convention", "figures without a model",
                              "they count its attention: name it with --model");
    }
    const bool is_good =
        options_refuse(options, "params token-flop", "--model", "the model's file says it");
    if (!is_budget || asker->gpu != NULL) { /* all ways to count are told, or its keys and values */
        return is_good;
    }
    if (options->mfu_convention == (uint32_t)FLOP_6ND) {
        return options_refuse(options, "sequence", "--mfu-convention 6nd",
                              "it counts parameters alone") &&
               is_good;
    }
    return (asker->stages.count == 0 || !say_sequences(&asker->stages) ||
            options_refuse(options, "sequence", "stages that say theirs",
                           "leave it out, or the length of one of them")) &&
           is_good;
}

/* Of the GPU's file, as far as figures leave something to it; and of stages. */
static bool check_gpu_options(const struct asker *asker, bool is_budget)
{
    const struct options *options = &asker->options;
    const double *told = asker->told;
    const bool is_held = asker->model != NULL || told[BUDGET_PARAMETERS] > 0;
    const bool has_price = told[BUDGET_PRICE] > 0 && told[BUDGET_POWER] > 0;
    const bool has_all =
        told[BUDGET_PEAK] > 0 && (!is_budget || (!is_held && has_price && asker->memory_bytes > 0));
    bool is_good = true;
    if (!is_budget && asker->gpu == NULL) {
        is_good = options_refuse(options, "precision", "a claim without --gpu",
                                 "it chooses a peak of it");
    }
    if (asker->stages.count > 0) {
        is_good = options_refuse(options, "tokens", "a training of stages",
                                 "it is the sum of those of --stage") &&
                  is_good;
    }
    return (!has_all || options_refuse(options, "gpu", "figures that say all of it",
                                       "leave out one of --peak, --price, --power and --memory")) &&
           is_good;
}

/* Figures that contradict each other have no budget. */
static bool check_told(const struct budget *told, struct cli *cli)
{
    struct budget_check checks[BUDGET_QUANTITIES];
    const uint32_t count = budget_checks(told, checks);
    const char *misfit = budget_misfit(cli->arena, checks, count);
    if (misfit == NULL) {
        return true;
    }
    diag_add(cli->diag, DIAG_USAGE, NULL, "%s", misfit);
    diag_help(cli->diag, "leave one out, or ask `stoker audit` which fit");
    return false;
}

/* By a search, where both the model and the GPU are files. */
static bool seek_training(const struct asker *asker, const struct catalogue *catalogue,
                          struct budget_answer *answer)
{
    struct cli *cli = asker->options.cli;
    struct budget_fewest *fewest = arena_alloc(cli->arena, sizeof *fewest);
    const struct study_base base = options_study_base(&asker->options, catalogue);
    struct assumptions assumptions;
    struct cluster cluster;
    assumptions_init(&assumptions, cli->arena);
    const struct doc_node *node =
        answer->cluster != NULL ? open_file(asker, CATALOGUE_CLUSTER, answer->cluster) : NULL;
    if (answer->cluster == NULL) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "--fewest: the file of %s names no cluster of it",
                 answer->gpu);
        diag_help(cli->diag, "leave out --model for what holds it; `stoker new` takes a cluster");
        return false;
    }
    if (node == NULL || !cluster_read(node, &cluster, &assumptions, cli->diag)) {
        return false;
    }
    const struct budget_fewest_asked asked = {
        asker->model, answer->cluster, cluster.gpus_per_node,
        budget_gpus(16 * answer->parameters, answer->gpu_bytes, 0), &base};
    answer->fewest = fewest;
    return budget_fewest_find(cli->arena, &asked, fewest, cli->diag);
}

static bool seek_fewest(const struct asker *asker, const struct catalogue *catalogue,
                        struct budget_answer *answer)
{
    struct arena *arena = asker->options.cli->arena;
    if (!asker->asks_fewest) {
        return true;
    }
    struct budget_size *sizes = arena_array(arena, BUDGET_SIZES_MAX, sizeof *sizes);
    answer->size_count = budget_sizes(arena, catalogue, sizes);
    answer->sizes = sizes;
    return asker->model == NULL || asker->gpu == NULL || seek_training(asker, catalogue, answer);
}

static bool draw(const struct asker *asker, const struct budget_law *law,
                 const struct budget *budget)
{
    struct cli *cli = asker->options.cli;
    return asker->plot == NULL ||
           budget_isoflop_draw(cli->arena, law, budget->value[BUDGET_FLOP], asker->plot, cli->diag);
}

static bool answer_budget(const struct asker *asker, const struct budget *told,
                          struct budget_answer *answer)
{
    struct cli *cli = asker->options.cli;
    const struct catalogue catalogue = options_catalogue_again(&asker->options);
    struct budget_usual usual;
    if (!check_told(told, cli) || !budget_usual_load(cli->arena, &catalogue, &usual, cli->diag)) {
        return false;
    }
    const struct budget_law *law = budget_law_find(cli->arena, &usual, asker->law, cli->diag);
    if (law == NULL) {
        return false;
    }
    struct budget_found *found = arena_alloc(cli->arena, sizeof *found);
    budget_find(told, &usual, asker->precision, law, found);
    answer->told = told;
    answer->budget = &found->usual;
    answer->law = found->is_split ? law : NULL;
    if (found->assumes_mfu) {
        answer->at_low = &found->at_low;
        answer->at_high = &found->at_high;
    }
    if (is_absent(answer->parameters)) {
        answer->parameters = found->usual.value[BUDGET_PARAMETERS];
    }
    if (!check_used(asker, answer) || !seek_fewest(asker, &catalogue, answer) ||
        !draw(asker, law, &found->usual)) {
        return false;
    }
    struct sheet *sheet = sheet_new(cli->arena, BUDGET_SCHEMA);
    budget_add(answer, sheet);
    options_print(&asker->options, sheet);
    return true;
}

/* ---- audit ---------------------------------------------------------------------------------- */

static bool answer_audit(const struct asker *asker, const struct budget *told,
                         const struct model *model, struct budget_answer *answer)
{
    struct cli *cli = asker->options.cli;
    struct budget_check checks[BUDGET_QUANTITIES];
    struct budget *solved = arena_alloc(cli->arena, sizeof *solved);
    *solved = *told;
    if (budget_checks(told, checks) == 0) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "none of these figures follows from the others");
        diag_help(cli->diag, "tell more of the claim, as --gpus --time --tokens --params --rate; "
                             "`stoker budget` works out what follows");
        return false;
    }
    budget_solve(solved);
    answer->told = told;
    answer->budget = solved;
    if (asker->model != NULL) {
        answer->counted = budget_count(cli->arena, told, model, asker->sequence);
    }
    struct sheet *sheet = sheet_new(cli->arena, AUDIT_SCHEMA);
    audit_add(answer, sheet);
    options_print(&asker->options, sheet);
    return true;
}

/* ---- the commands --------------------------------------------------------------------------- */

static int answer_of(struct options *options, bool is_budget)
{
    const struct asker *asker = (const struct asker *)options;
    struct budget told;
    struct budget_answer answer = {.gpu_bytes = ABSENT,
                                   .precision = precision_names[asker->precision]};
    struct model model;
    struct budget_server server;
    struct budget_stages stages;
    budget_init(&told);
    (void)options_catalogue(options);
    if (take_told(asker, &told) + asker->stages.count == 0) {
        diag_add(options->cli->diag, DIAG_USAGE, NULL, "nothing is told");
        diag_help(options->cli->diag, "as --params 405e9 --tokens 15.6T, or --cost \"2M USD\" "
                                      "--time \"90 days\" --gpu h100-sxm5-80gb");
        return EXIT_USAGE;
    }
    const bool is_sound = check_model_options(asker, is_budget);
    if (!check_gpu_options(asker, is_budget) || !is_sound) {
        return EXIT_USAGE;
    }
    if (!look_gpu(asker, is_budget, &told, &answer, &server) ||
        !look_model(asker, &told, &answer, &model)) {
        return EXIT_INPUT;
    }
    const struct model *named = asker->model != NULL ? &model : NULL;
    if (!look_flop(asker, named, &told, &stages)) {
        return EXIT_USAGE;
    }
    if (asker->memory_bytes > 0) {
        answer.gpu_bytes = asker->memory_bytes;
    }
    answer.stages = stages.count > 0 ? &stages : NULL;
    look_server(asker, named, &answer, &server);
    const bool is_good = is_budget ? answer_budget(asker, &told, &answer)
                                   : answer_audit(asker, &told, &model, &answer);
    return is_good ? 0 : EXIT_USAGE;
}

static int run_budget(struct options *options)
{
    return answer_of(options, true);
}

static int run_audit(struct options *options)
{
    return answer_of(options, false);
}

const struct command command_budget = {
    .name = "budget",
    .summary = "FLOPs, GPU-hours, days and money of a training without a layout",
    .arguments = "",
    .about =
        "Works out what follows from figures: parameters, tokens, FLOPs, MFU, GPUs, time, "
        "GPU-hours, cost, energy. FLOPs that nothing splits are split into parameters and "
        "tokens by a law of scaling; an MFU that nobody tells is that of published steps, with "
        "what a tenth of them would make of it. Nothing is simulated."
        "\vExamples: stoker budget --params 405e9 --tokens 15.6T --gpus 16384 --gpu "
        "h100-sxm5-80gb\n"
        "stoker budget --cost \"2M USD\" --time \"90 days\" --gpu h100-sxm5-80gb",
    .options = {own_options, budget_options, apart, options_convention, options_table, options_page,
                options_general},
    .input_size = sizeof(struct asker),
    .defaults = &defaults,
    .run = run_budget,
};

const struct command command_audit = {
    .name = "audit",
    .summary = "which figures of a published training fit together",
    .arguments = "",
    .about = "Holds each figure of a claim against what the others make of it, within what they "
             "are rounded by as they are written; with a model also by each way to count FLOPs."
             "\vExample: stoker audit --flop \"3.8e25 FLOP\" --gpus 16000 --rate \"400 TFLOP/s\" "
             "--time \"61 days\"",
    .options = {own_options, apart, options_convention, options_table, options_general},
    .input_size = sizeof(struct asker),
    .defaults = &defaults,
    .run = run_audit,
};
