/* What takes one file: each kind reads it, fits, and prints. */
#include "base/path.h"
#include "cli/calibrate.h"
#include "measured/published/memory_rows.h"
#include "measured/published/published_columns.h"
#include "report/measured/box_sheet.h"
#include "report/measured/kernels_sheet.h"
#include "report/measured/memory_sheet.h"
#include "report/yaml_page.h"

/* Of a GPU's file, to be pasted. */
static bool print_sections(const struct calibrator *calibrator, const struct sheet *sheet)
{
    struct yaml_page page;
    FILE *out = yaml_page_begin(&page, calibrator->options.cli->arena, stdout);
    sheet_print(sheet, calibrator->options.is_json, calibrator->options.is_json ? stdout : out);
    return options_yaml_end(&calibrator->options, &page);
}

int calibrate_gemm(struct calibrator *calibrator)
{
    struct cli *cli = calibrator->options.cli;
    struct gemm_rows rows;
    if (!gemm_rows_read(cli->arena, calibrator->options.arguments.items[1], &calibrator->catalogue,
                        &rows, cli->diag)) {
        return EXIT_INPUT;
    }
    const struct gemm_fits fits = gemm_fit_all(cli->arena, &rows);
    struct sheet *sheet = sheet_new(cli->arena, "stoker.calibrate-gemm/1");
    const bool is_good = gemm_fits_add(&fits, calibrator->only_checks, sheet, cli->diag);
    return print_sections(calibrator, sheet) && is_good ? 0 : EXIT_FAILED;
}

int calibrate_attention(struct calibrator *calibrator)
{
    struct cli *cli = calibrator->options.cli;
    struct attention_groups groups = {.arena = cli->arena};
    if (!attention_rows_read(cli->arena, calibrator->options.arguments.items[1],
                             &calibrator->catalogue, &groups.rows, cli->diag) ||
        !attention_groups_fit(&groups, calibrator->only_checks, cli->diag)) {
        return EXIT_INPUT;
    }
    struct sheet *sheet = sheet_new(cli->arena, NULL);
    const bool is_good = attention_groups_add(&groups, calibrator->only_checks, sheet, cli->diag);
    return print_sections(calibrator, sheet) && is_good ? 0 : EXIT_FAILED;
}

int calibrate_memory(struct calibrator *calibrator)
{
    struct cli *cli = calibrator->options.cli;
    const char *path = calibrator->options.arguments.items[1];
    const struct published_table *table =
        published_load_peaks(cli->arena, path, &calibrator->catalogue, cli->diag);
    if (table == NULL) {
        return EXIT_INPUT;
    }
    const struct memory_rows rows = memory_rows_predict(cli->arena, table, &calibrator->catalogue);
    const struct memory_errors *errors = &rows.errors;
    memory_rows_warn(table, &rows, cli->diag);
    if (!memory_rows_check(&rows, path, calibrator->output != NULL, cli->diag)) {
        return EXIT_INPUT;
    }
    struct sheet *sheet = sheet_new(cli->arena, "stoker.calibrate-memory/1");
    memory_errors_add(errors, sheet);
    options_print(&calibrator->options, sheet);
    return calibrator->output == NULL ||
                   memory_errors_write(cli->arena, errors, calibrator->output, cli->diag)
               ? 0
               : EXIT_FAILED;
}

static bool write_box(const struct calibrator *calibrator, const struct box_shown *shown)
{
    struct cli *cli = calibrator->options.cli;
    struct path_file file;
    if (!path_begin(cli->arena, calibrator->output, &file, cli->diag)) {
        return false;
    }
    box_write(shown, file.out);
    return path_end(&file, true, cli->diag);
}

int calibrate_box(struct calibrator *calibrator)
{
    struct cli *cli = calibrator->options.cli;
    struct box_numbers numbers = {.name = NULL};
    struct box_fit fit = {.count = 0};
    if (calibrator->wants_script) {
        box_script_print(stdout);
        return 0;
    }
    if (!box_numbers_read(cli->arena, calibrator->options.arguments.items[1],
                          &calibrator->catalogue, &numbers, cli->diag) ||
        !box_fit(cli->arena, &numbers, &fit, cli->diag)) {
        return EXIT_INPUT;
    }
    if (!box_fit_check(&numbers, &fit, cli->diag)) {
        return EXIT_FAILED;
    }
    const struct box_shown shown = {.arena = cli->arena,
                                    .catalogue = &calibrator->catalogue,
                                    .input = calibrator->options.arguments.items[1],
                                    .output = calibrator->output,
                                    .numbers = &numbers,
                                    .fit = &fit};
    if (calibrator->output != NULL && !write_box(calibrator, &shown)) {
        return EXIT_FAILED;
    }
    if (calibrator->output != NULL || calibrator->options.is_json) {
        struct sheet *sheet = sheet_new(cli->arena, "stoker.calibrate-box/1");
        box_add_fit(&shown, sheet);
        options_print(&calibrator->options, sheet);
        return 0;
    }
    struct yaml_page page;
    box_write(&shown, yaml_page_begin(&page, cli->arena, stdout));
    return options_yaml_end(&calibrator->options, &page) ? 0 : EXIT_FAILED;
}
