/* The box's file, with what each number moved in a comment; and the same as a table. */
#include "report/measured/box_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/json.h"
#include "base/path.h"
#include "base/version.h"
#include "report/numbers.h"

#include <string.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

/* ---- the box's file ---------------------------------------------------------------------- */

static const char *value_text(struct arena *arena, const struct box_move *move, double value)
{
    return move->dimension == DIM_FLOP_PER_S ? arena_printf(arena, "%.6g TFLOP/s", value / 1e12)
                                             : arena_printf(arena, "%.6g", value);
}

static bool sets_cluster(const struct box_fit *fit)
{
    for (uint32_t i = 0; i < fit->count; i++) {
        if (strncmp(fit->moves[i].key, "cluster.", 8) == 0) {
            return true;
        }
    }
    return false;
}

static void print_measured(const struct box_fit *fit, FILE *out)
{
    const char *comma = "measured: {";
    for (uint32_t i = 0; i < BOX_RATE_COUNT_; i++) {
        if (fit->left[i] > 0) {
            fprintf(out, "%s%s: %.4g %%", comma, box_rate_names[i], 100 * fit->left[i]);
            comma = ", ";
        }
    }
    fputs(comma[0] == ',' ? "}\n" : "", out);
}

static void print_set(struct arena *arena, const struct box_fit *fit, FILE *out)
{
    fputs(fit->count > 0 ? "set:\n" : "", out);
    for (uint32_t i = 0; i < fit->count; i++) {
        const struct box_move *move = &fit->moves[i];
        fprintf(out, "  %s: %s  # %s: %.4g ms measured, %.4g predicted", move->key,
                value_text(arena, move, move->after), move->what, 1e3 * move->measured_s,
                1e3 * move->predicted_before_s);
        if (move->before > 0) {
            fprintf(out, " with %s", value_text(arena, move, move->before));
        }
        fputs("\n", out);
    }
}

/* The folder that a path lies in, with its slash. */
static const char *folder_of(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? arena_strndup(arena, path, (size_t)(slash - path) + 1) : "";
}

/* A file that the numbers name, as the box must name it: the same where both lie in one folder,
 * else from the root. */
static const char *path_from(const struct box_shown *shown, const struct place *place,
                             const char *named)
{
    struct arena *arena = shown->arena;
    const char *input = folder_of(arena, shown->input);
    const char *output = shown->output != NULL ? folder_of(arena, shown->output) : input;
    return strcmp(input, output) == 0
               ? named
               : path_whole(arena, catalogue_path_beside(arena, shown->catalogue, place, named));
}

/* "FILE.csv:ID" is a file and a row of it; else it is all a file. */
static const char *run_from(const struct box_shown *shown, const struct place *place,
                            const char *run)
{
    struct arena *arena = shown->arena;
    const char *colon = strrchr(run, ':');
    const char *file = colon != NULL ? arena_strndup(arena, run, (size_t)(colon - run)) : run;
    return arena_printf(arena, "%s%s", path_from(shown, place, file), colon != NULL ? colon : "");
}

static void print_anchor(const struct box_shown *shown, FILE *out)
{
    const struct box_numbers *numbers = shown->numbers;
    struct arena *arena = shown->arena;
    const struct box_step *step = &numbers->step;
    if (!step->of.is_given) {
        return;
    }
    const struct place *place = box_numbers_place(numbers, "step");
    const bool has_run = step->run[0] != '\0';
    fprintf(out, "anchor: {%s: %s", has_run ? "run" : "scenario",
            json_quoted(arena, has_run ? run_from(shown, place, step->run)
                                       : path_from(shown, place, step->scenario)));
    if (step->of.time_s > 0) {
        fprintf(out, ", step_time: %.9g s", step->of.time_s);
    }
    fputs("}\n", out);
}

void box_write(const struct box_shown *shown, FILE *out)
{
    const struct box_numbers *numbers = shown->numbers;
    const struct box_fit *fit = shown->fit;
    struct arena *arena = shown->arena;
    const char *file = shown->output != NULL ? shown->output : "box.yaml";
    const char *slash = strrchr(file, '/');
    fprintf(out,
            "# One box of %s, by stoker calibrate box (%s). A scenario has it by\n"
            "#     box: %s\n"
            "box: %s\ntitle: %s\ngpu: %s\n",
            numbers->gpu->name, stoker_version(),
            json_quoted(arena, arena_printf(arena, "./%s", slash != NULL ? slash + 1 : file)),
            json_quoted(arena, numbers->name), json_quoted(arena, numbers->title),
            numbers->gpu->name);
    if (sets_cluster(fit)) {
        fprintf(out, "cluster: %s\n", numbers->cluster->name);
    }
    fprintf(
        out, "provenance: measured\nsource: %s\n",
        json_quoted(arena, numbers->source != NULL
                               ? numbers->source
                               : arena_printf(arena, "%s, which names no source", shown->input)));
    print_measured(fit, out);
    print_set(arena, fit, out);
    print_anchor(shown, out);
}

/* ---- what was done ------------------------------------------------------------------------- */

static void add_rates(struct sheet *sheet, const struct box_fit *fit)
{
    struct sheet *measured = sheet_object(sheet, "measured");
    for (uint32_t i = 0; i < BOX_RATE_COUNT_; i++) {
        sheet_number(measured, box_rate_names[i], fit->left[i] > 0 ? fit->left[i] : ABSENT);
    }
}

void box_add_fit(const struct box_shown *shown, struct sheet *sheet)
{
    const struct box_numbers *numbers = shown->numbers;
    const struct box_fit *fit = shown->fit;
    static const struct field fields[] = {
        {"number", FIELD_AT(struct box_move, what), FIELD_LEFT("number")},
        {"measured_s", FIELD_AT(struct box_move, measured_s),
         FIELD_RIGHT("measured ms", "%.4g", 1e3)},
        {"predicted_before_s", FIELD_AT(struct box_move, predicted_before_s),
         FIELD_RIGHT("predicted ms", "%.4g", 1e3)},
        {"predicted_s", FIELD_AT(struct box_move, predicted_s), FIELD_RIGHT("now", "%.4g", 1e3)},
        {"is_met", FIELD_AT(struct box_move, is_met)},
        {"before", FIELD_AT(struct box_move, before), FIELD_RIGHT("key was", "%.4g", 1)},
        {"after", FIELD_AT(struct box_move, after), FIELD_RIGHT("is", "%.4g", 1)},
        {"key", FIELD_AT(struct box_move, key), FIELD_LEFT("key")},
    };
    sheet_text(sheet, "box", numbers->name);
    sheet_text(sheet, "gpu", numbers->gpu->name);
    sheet_rows(sheet_table(sheet, "moves", FIELD_LIST(fields)), fit->moves, fit->count,
               sizeof *fit->moves);
    add_rates(sheet, fit);
    sheet_bool(sheet, "has_anchor", numbers->step.of.is_given);
    sheet_say(sheet, "%s",
              numbers->step.of.is_given ? "step: the anchor of scenarios that have this box\n"
                                        : "");
}
