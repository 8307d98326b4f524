/* The command `stoker calibrate collectives`: it finds the constants of a
 * collective library from measured curves. The other kinds of calibration are
 * in calibrate_files.c.
 */
#include "cli/calibrate.h"

#include "base/arena.h"
#include "cli/draw.h"
#include "input/doc/text_folder.h"
#include "report/measured/collectives_sheet.h"
#include "report/yaml_page.h"
#include "base/path.h"

#include <string.h>

/* ---- the command line ----------------------------------------------------------------- */

static const struct command_option own_options[] = {
    {"cluster", 0, "NAME", "The cluster of topologies/ that measurements ran on which name none",
     OPTION_TEXT(struct calibrator, cluster)},
    {"library", 0, "NAME", "The library to start from (default: " LIBRARY_DEFAULT ")",
     OPTION_TEXT(struct calibrator, base)},
    {"name", 0, "NAME",
     "Name of the new library (default: that of --output, or my-nccl); it goes into NAME.yaml",
     OPTION_TEXT(struct calibrator, name)},
    {"output", 'o', "FILE", "Write the library there, and what was fitted to stdout",
     OPTION_TEXT(struct calibrator, output)},
    {"check", 0, NULL, "Fit nothing: compare the library as it is",
     OPTION_FLAG(struct calibrator, only_checks)},
    {"script", 0, NULL, "Print a script for PyTorch that measures what `calibrate box` reads",
     OPTION_FLAG(struct calibrator, wants_script)},
    {"plot", 0, "BASE", "Draw measured and predicted bandwidth: BASE.svg, .png, .csv, .gp",
     OPTION_TEXT(struct calibrator, plot)},
    DRAW_SIZE_OPTION(struct calibrator),
    OPTIONS_APART,
    {0},
};

/* ---- input ------------------------------------------------------------------------------ */

static bool open_library(struct calibrator *calibrator)
{
    struct cli *cli = calibrator->options.cli;
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = calibrator->base};
    const struct doc_node *plain = catalogue_open(cli->arena, &calibrator->catalogue,
                                                  CATALOGUE_LIBRARY, &reference, cli->diag);
    if (plain == NULL) {
        return false;
    }
    if (!calibrator->only_checks && doc_find(plain, "extends") != NULL) {
        diag_add(cli->diag, DIAG_INPUT, &plain->place, "this library was calibrated itself");
        diag_help(cli->diag, "start from the one that it extends");
        return false;
    }
    const struct doc_node *node =
        library_open(cli->arena, &calibrator->catalogue, &reference, cli->diag);
    struct assumptions assumptions;
    assumptions_init(&assumptions, cli->arena);
    calibrator->library = arena_alloc(cli->arena, sizeof *calibrator->library);
    return node != NULL && library_read(node, calibrator->library, &assumptions, cli->diag);
}

static bool open_input(struct calibrator *calibrator)
{
    struct cli *cli = calibrator->options.cli;
    const struct text_list *given = &calibrator->options.arguments;
    const struct text_paths asked = {(const char **)given->items + 1, given->count - 1};
    struct text_paths paths = {NULL, 0};
    bool is_good = open_library(calibrator) &&
                   text_folder_expand(cli->arena, &asked, measurement_is_file, &paths, cli->diag);
    for (uint32_t i = 0; i < paths.count; i++) {
        is_good = measurement_read_file(cli->arena, paths.items[i], &calibrator->list, cli->diag) &&
                  is_good;
    }
    if (!is_good) {
        return false;
    }
    const struct curves_setting setting = {.arena = cli->arena,
                                           .catalogue = &calibrator->catalogue,
                                           .library = calibrator->library,
                                           .default_cluster = calibrator->cluster};
    calibrator->curves = curves_open(&setting, &calibrator->list, cli->diag);
    return calibrator->curves != NULL;
}

/* The last part of the output's path, without .yaml. */
static const char *default_name(const struct calibrator *calibrator)
{
    if (calibrator->output == NULL) {
        return "my-nccl";
    }
    const char *slash = strrchr(calibrator->output, '/');
    const char *name = slash != NULL ? slash + 1 : calibrator->output;
    const char *dot = strrchr(name, '.');
    const size_t length = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);
    return arena_strndup(calibrator->options.cli->arena, name, length);
}

/* ---- output ----------------------------------------------------------------------------- */

static struct collectives_shown shown_of(const struct calibrator *calibrator)
{
    return (struct collectives_shown){
        .base = calibrator->base,
        .name = calibrator->name,
        .library = calibrator->library,
        .before = calibrator->before,
        .list = &calibrator->list,
        .curves = calibrator->curves,
    };
}

static bool draw_curves(const struct calibrator *calibrator)
{
    struct cli *cli = calibrator->options.cli;
    const struct collectives_shown shown = shown_of(calibrator);
    return calibrator->plot == NULL ||
           collectives_draw(cli->arena, &shown, calibrator->plot, calibrator->size, cli->diag);
}

static bool write_library(const struct calibrator *calibrator,
                          const struct calibration *calibration)
{
    struct cli *cli = calibrator->options.cli;
    const struct collectives_shown shown = shown_of(calibrator);
    struct path_file file;
    if (!path_begin(cli->arena, calibrator->output, &file, cli->diag)) {
        return false;
    }
    collectives_write(cli->arena, &shown, calibration, file.out);
    return path_end(&file, true, cli->diag);
}

static int fit_and_print(struct calibrator *calibrator)
{
    struct cli *cli = calibrator->options.cli;
    struct calibration calibration;
    if (!calibrate(cli->arena, calibrator->curves, calibrator->list.count, calibrator->library,
                   &calibration, cli->diag)) {
        return diag_exit_status(cli->diag);
    }
    if (calibrator->output != NULL && !write_library(calibrator, &calibration)) {
        return EXIT_FAILED;
    }
    const struct collectives_shown shown = shown_of(calibrator);
    if (calibrator->output != NULL || calibrator->options.is_json) {
        struct sheet *sheet = sheet_new(cli->arena, "stoker.calibrate/1");
        collectives_add_fit(&shown, &calibration, sheet);
        options_print(&calibrator->options, sheet);
    } else {
        struct yaml_page page;
        collectives_write(cli->arena, &shown, &calibration,
                          yaml_page_begin(&page, cli->arena, stdout));
        if (!options_yaml_end(&calibrator->options, &page)) {
            return EXIT_FAILED;
        }
    }
    calibrator->before = calibrator->library;
    calibrator->library = calibration.library;
    return draw_curves(calibrator) ? 0 : EXIT_FAILED;
}

#define WANTED "'collectives', 'gemm', 'attention', 'memory' or 'box', and a file"

/* What takes one file, which is not of collectives: to fit sections of a GPU's file, or nothing. */
static const struct other {
    const char *name;
    const char *refused; /* options that have no meaning for it */
    const char *takes;
    int (*calibrate)(struct calibrator *calibrator);
} others[] = {
    {"gemm", "cluster library name output plot size script", "--check, --json and --catalogue",
     calibrate_gemm},
    {"attention", "cluster library name output plot size script", "--check, --json and --catalogue",
     calibrate_attention},
    {"memory", "cluster library name plot size check script", "--output, --json and --catalogue",
     calibrate_memory},
    {"box", "cluster library name plot size check", "--output, --script, --json and --catalogue",
     calibrate_box},
};

static bool check_other(const struct options *options, const struct other *other)
{
    struct arena *arena = options->cli->arena;
    const bool is_good =
        options_refuse(options, other->refused, arena_printf(arena, "calibrate %s", other->name),
                       arena_printf(arena, "it takes %s", other->takes));
    if (options->arguments.count > 2) {
        diag_add(options->cli->diag, DIAG_USAGE, NULL, "too many arguments: '%s'",
                 options->arguments.items[2]);
        diag_help(options->cli->diag, "%s",
                  other->calibrate == calibrate_box
                      ? "a box has one file of numbers; another box has another"
                      : "put the rows of all files into one, below one head");
        return false;
    }
    return is_good;
}

/* All but the script need a file. */
static bool check_file(const struct calibrator *calibrator)
{
    const struct options *options = &calibrator->options;
    const bool is_box = strcmp(options->arguments.items[0], "box") == 0;
    if (is_box && calibrator->wants_script && options->arguments.count > 1) {
        diag_add(options->cli->diag, DIAG_USAGE, NULL, "too many arguments: '%s'",
                 options->arguments.items[1]);
        diag_help(options->cli->diag, "--script reads no file: what it prints measures one");
        return false;
    }
    if (options->arguments.count > 1 || (is_box && calibrator->wants_script)) {
        return true;
    }
    diag_add(options->cli->diag, DIAG_USAGE, NULL, "%s is needed", WANTED);
    diag_help(options->cli->diag, "stoker calibrate --help");
    return false;
}

static int run(struct options *options)
{
    struct calibrator *calibrator = (struct calibrator *)options;
    struct cli *cli = options->cli;
    if (!check_file(calibrator)) {
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (strcmp(calibrator->options.arguments.items[0], others[i].name) == 0) {
            if (!check_other(options, &others[i])) {
                return EXIT_USAGE;
            }
            calibrator->catalogue = options_catalogue(&calibrator->options);
            return others[i].calibrate(calibrator);
        }
    }
    if (strcmp(calibrator->options.arguments.items[0], "collectives") != 0) {
        diag_add(cli->diag, DIAG_USAGE, NULL, "there is nothing called '%s' to calibrate",
                 calibrator->options.arguments.items[0]);
        diag_help(cli->diag, "stoker calibrate collectives FILE..., gemm FILE, attention FILE, "
                             "memory FILE.csv or box FILE");
        return EXIT_USAGE;
    }
    if (!options_refuse(options, "script", "calibrate collectives", "it is of calibrate box")) {
        return EXIT_USAGE;
    }
    calibrator->catalogue = options_catalogue(&calibrator->options);
    calibrator->name = calibrator->name != NULL ? calibrator->name : default_name(calibrator);
    if (!open_input(calibrator)) {
        return EXIT_INPUT;
    }
    if (!calibrator->only_checks) {
        return fit_and_print(calibrator);
    }
    const struct collectives_shown shown = shown_of(calibrator);
    struct sheet *sheet = sheet_new(cli->arena, "stoker.calibrate-check/1");
    collectives_add_check(&shown, sheet);
    options_print(options, sheet);
    return draw_curves(calibrator) ? 0 : EXIT_FAILED;
}

static const struct command command_calibrate_steps = {
    .name = "steps",
    .summary = "constants of software profiles from measured steps",
    .arguments = "FILE.csv...",
    .about =
        "It fits the constants of the catalogue, which users take as they are; `make lab` in a "
        "checkout builds that program",
    .elsewhere = "stoker-lab calibrate steps",
};

const struct command command_calibrate = {
    .name = "calibrate",
    .summary =
        "constants and errors from measurements: collectives, GEMMs, attention, memory, a box",
    .arguments =
        "collectives FILE|FOLDER|-...\ngemm FILE\nattention FILE\nmemory FILE.csv\nbox FILE",
    .about =
        "Fits latency and bandwidth of each algorithm and protocol to measurements, and writes "
        "a library that a cluster can name: `collectives: {library: ./my-nccl.yaml}`. FILE is "
        "what nccl-tests prints or its JSON, or a YAML file of measurements (stoker import).\n"
        "gemm: fits a GPU's section `gemm` (models/gpus) to measured products. FILE is a CSV with "
        "columns gpu,dtype,layout,m,n,k and tflop_per_s or us; groups, out and source if you like. "
        "Of the options only --check and --json apply.\n"
        "attention: likewise its sections `attention`; columns gpu,attention,pass,causal,sequences,"
        "heads,kv_heads,length,head_dim,value_dim,tflop_per_s.\n"
        "memory: fits nothing: it predicts the measured peaks of a CSV (columns as `stoker "
        "validate` has them, measured_memory_gb in the place of measured_step_s) and says how far "
        "they are off; -o models/memory.csv writes it to where searches find what a near miss "
        "is.\n"
        "box: settings of one machine from up to six numbers (a large product and a small one, "
        "attention, a copy, an all-reduce, a step), which a scenario has by `box: ./FILE`; what "
        "was measured leaves its band. --script prints what measures them."
        "\vExamples: stoker calibrate collectives all_reduce.log --cluster h100-3200 "
        "-o my-nccl.yaml\n"
        "stoker calibrate collectives tests/published/collectives.yaml --check\n"
        "stoker calibrate gemm tests/published/gemm.csv\n"
        "stoker calibrate attention tests/published/attention.csv --check\n"
        "stoker calibrate memory tests/published/memory.csv\n"
        "stoker calibrate box --script > measure.py\n"
        "stoker calibrate box mine.yaml -o mine-box.yaml\n"
        "Exit status 3: the files cannot be read, or say too little to fit anything. 1: what was "
        "fitted misses the measurements by more than 10 % in the median; nothing is written. Of "
        "several pairs or sections the ones that miss are left out, and named.",
    .options = {own_options, options_general},
    .arguments_min = 1,
    .arguments_max = UINT32_MAX,
    .wanted = WANTED,
    .sub = &command_calibrate_steps,
    .input_size = sizeof(struct calibrator),
    .defaults = &(const struct calibrator){.base = LIBRARY_DEFAULT},
    .run = run,
};
