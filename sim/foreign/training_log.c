/* The parts that readers of training logs share. The text is cleaned of
 * terminal escapes once; settings and steps are collected as they are met,
 * each with its place for messages; the CSV line is written at the end, when
 * it is known what was found.
 */
#include "foreign/training_log.h"

#include "foreign/told.h"

#include "base/arena.h"

#include <ctype.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <string.h>

enum {
    WARM_LINES_MAX = 10,
    DIGITS_MAX = 40,
    YEAR_FIRST = 2017,
    YEAR_LAST = 2099,
    SETTINGS_MAX = 5000,
    LOOK_BACK = 4096,
    RUNS_MAX = 10000
};
static const double NUMBER_MAX = 1e15;

/* Always the same, so that lines can be added to a file. */
static const char *const columns[] = {
    "id",
    "model_name",
    "framework",
    "framework_year",
    "gpu",
    "gpus",
    "gpus_per_node",
    "inter_node_gbps_per_node",
    "precision",
    "fp8_recipe",
    "tp",
    "sequence_parallel",
    "async_tp",
    "pp",
    "pp_schedule",
    "virtual_pp",
    "cp",
    "ep",
    "zero_stage",
    "zero_group",
    "micro_batch",
    "seq_len",
    "global_batch_sequences",
    "recompute",
    "full_recompute_layers",
    "flash_attention",
    "torch_compile",
    "moe_dispatcher",
    "family",
    "layers",
    "hidden",
    "ffn_hidden",
    "heads",
    "kv_heads",
    "vocab",
    "gated_ffn",
    "tied_embeddings",
    "experts",
    "experts_per_token",
    "expert_ffn_hidden",
    "shared_experts",
    "measured_step_s",
    "notes",
    "set",
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

/* ---- the text -------------------------------------------------------------------------------- */

/* ESC [ ... letter, as blanks: what is behind stays where it was. */
static void blank_escapes(char *text)
{
    for (char *at = text; *at != '\0'; at++) {
        if (*at != '\x1b') {
            continue;
        }
        *at = ' ';
        if (at[1] != '[') {
            continue;
        }
        *++at = ' ';
        while (at[1] != '\0' && at[1] != '\n' && !isalpha((unsigned char)at[1])) {
            *++at = ' ';
        }
        if (isalpha((unsigned char)at[1])) {
            *++at = ' ';
        }
    }
}

void log_open(struct training_log *log, struct importer *importer)
{
    *log = (struct training_log){.importer = importer};
    char *text = arena_strdup(importer->arena, importer->file.text);
    blank_escapes(text);
    log->text = text;
}

struct place log_place(const struct training_log *log, const char *at)
{
    return text_file_place(&log->importer->file, log->importer->file.text + (at - log->text));
}

bool log_number_after(const struct training_log *log, struct text_span line, const char *label,
                      double *value, const char **after)
{
    const char *at = text_span_find(line, label);
    if (at == NULL) {
        return false;
    }
    at += strlen(label);
    while (at < line.end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    char digits[DIGITS_MAX];
    size_t length = 0;
    for (; at < line.end && (strchr("0123456789.,+-eE", *at) != NULL); at++) {
        if (*at != ',' && length < sizeof digits - 1) {
            digits[length++] = *at;
        }
    }
    *after = at;
    const bool may_be_cut = log->text[at - log->text] == '\0';
    const struct text_span span = {digits, digits + length};
    return length > 0 && !may_be_cut && text_span_number(span, value) &&
           *value<NUMBER_MAX && * value> - NUMBER_MAX;
}

/* ---- settings ------------------------------------------------------------------------------- */

static const struct log_setting *find_setting(const struct training_log *log, const char *name)
{
    for (size_t i = 0; i < log->setting_count; i++) {
        if (strcmp(log->settings[i].name, name) == 0) {
            return &log->settings[i];
        }
    }
    return NULL;
}

void log_set(struct training_log *log, const char *name, const char *value, const char *at)
{
    if (log->setting_count == SETTINGS_MAX || find_setting(log, name) != NULL) {
        return;
    }
    log->settings = arena_grow(log->importer->arena, log->settings, &log->setting_capacity,
                               log->setting_count + 1, sizeof *log->settings);
    log->settings[log->setting_count++] = (struct log_setting){name, value, at};
}

const char *log_text(const struct training_log *log, const char *name)
{
    const struct log_setting *setting = find_setting(log, name);
    const bool is_told = setting != NULL && strcmp(setting->value, "None") != 0 &&
                         strcmp(setting->value, "null") != 0;
    return is_told ? setting->value : "";
}

bool log_is(const struct training_log *log, const char *name, const char *value)
{
    return strcmp(log_text(log, name), value) == 0;
}

int64_t log_count(struct training_log *log, const char *name, int64_t absent)
{
    const char *text = log_text(log, name);
    const char *digits = text[0] == '-' ? text + 1 : text;
    const struct text_span span = {digits, digits + strlen(digits)};
    int64_t value = 0;
    if (text[0] == '\0') {
        return absent;
    }
    if (!text_span_count(span, &value)) {
        const struct place place = log_place(log, find_setting(log, name)->at);
        log->is_bad = !diag_add(log->importer->diag, DIAG_INPUT, &place,
                                "%s is '%s', and no whole number", name, text);
        return absent;
    }
    return text[0] == '-' ? -value : value;
}

void log_refuse(struct training_log *log, const char *what, const char *help)
{
    const struct place place = {.file = log->importer->file.path};
    diag_add(log->importer->diag, DIAG_INPUT, &place, "%s", what);
    diag_help(log->importer->diag, "%s", help);
    log->is_bad = true;
}

void log_refuse_at(struct training_log *log, const char *name, const char *what, const char *help)
{
    const struct place place = log_place(log, find_setting(log, name)->at);
    diag_add(log->importer->diag, DIAG_INPUT, &place, "%s", what);
    diag_help(log->importer->diag, "%s", help);
    log->is_bad = true;
}

int64_t log_need(struct training_log *log, const char *name, const char *help)
{
    const int64_t value = log_count(log, name, 0);
    if (value < 1 && !log->is_bad) {
        log_refuse(log, arena_printf(log->importer->arena, "the log does not tell %s", name), help);
    }
    return value > 0 ? value : 1;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void keep_run(struct training_log *log)
{
    log->runs = arena_grow(log->importer->arena, log->runs, &log->run_capacity, log->run_count + 1,
                           sizeof *log->runs);
    log->runs[log->run_count++] =
        (struct log_run){log->settings, log->setting_count, log->steps, log->step_count, log->cut};
}

void log_begin_run(struct training_log *log)
{
    if (log->run_count == RUNS_MAX || (log->setting_count == 0 && log->step_count == 0)) {
        return;
    }
    keep_run(log);
    log->settings = NULL;
    log->setting_count = log->setting_capacity = 0;
    log->steps = NULL;
    log->step_count = log->step_capacity = 0;
    log->cut = 0;
}

/* The last one that has a step, else the last. */
static size_t last_run(const struct training_log *log)
{
    size_t i = log->run_count;
    while (i > 0 && log->runs[i - 1].step_count == 0) {
        i--;
    }
    return i > 0 ? i - 1 : log->run_count - 1;
}

bool log_choose_run(struct training_log *log)
{
    const int64_t wanted = log->importer->run;
    keep_run(log);
    if (wanted > (int64_t)log->run_count) {
        log_refuse(log,
                   arena_printf(log->importer->arena,
                                "there are %zu runs in this log, no run %" PRId64, log->run_count,
                                wanted),
                   "--run N counts them from 1, by where each says its arguments");
        return false;
    }
    const size_t chosen = wanted > 0 ? (size_t)wanted - 1 : last_run(log);
    const struct log_run *run = &log->runs[chosen];
    log->settings = run->settings;
    log->setting_count = run->setting_count;
    log->steps = run->steps;
    log->step_count = run->step_count;
    log->cut = run->cut;
    if (log->run_count > 1 && wanted == 0) {
        diag_add(log->importer->diag, DIAG_WARNING, NULL,
                 "%zu runs in this log: run %zu is taken, the last that has a step; --run N takes "
                 "another",
                 log->run_count, chosen + 1);
    }
    return true;
}

/* ---- steps ---------------------------------------------------------------------------------- */

void log_step(struct training_log *log, const struct log_step *step)
{
    const size_t oldest = log->step_count > LOOK_BACK ? log->step_count - LOOK_BACK : 0;
    for (size_t i = log->step_count; i > oldest; i--) { /* of the same step: the last ones */
        if (log->steps[i - 1].number == step->number) {
            return;
        }
        if (log->steps[i - 1].number < step->number) {
            break;
        }
    }
    log->steps = arena_grow(log->importer->arena, log->steps, &log->step_capacity,
                            log->step_count + 1, sizeof *log->steps);
    log->steps[log->step_count++] = *step;
}

/* The year of a date, 2024-..., on the line at `at`. */
static int64_t year_on(const char *at)
{
    struct text_span line = {at, at + strcspn(at, "\r\n")};
    for (const char *end = line.end; line.begin + 5 <= end; line.begin++) {
        int64_t year = 0;
        const struct text_span digits = {line.begin, line.begin + 4};
        if (line.begin[4] == '-' && text_span_count(digits, &year) && year >= YEAR_FIRST &&
            year <= YEAR_LAST) {
            return year;
        }
    }
    return 0;
}

void log_tell(const struct training_log *log, struct told *told)
{
    const struct text_file *file = &log->importer->file;
    for (size_t i = 0; i < log->setting_count; i++) {
        const struct log_setting *setting = &log->settings[i];
        told_set(told, &(struct told_setting){.name = setting->name,
                                              .value = setting->value,
                                              .at = file->text + (setting->at - log->text)});
    }
}

size_t log_warm_lines(size_t lines)
{
    const size_t quarter = (lines + 3) / 4;
    return lines < 2 ? 0 : quarter < WARM_LINES_MAX ? quarter : WARM_LINES_MAX;
}

static size_t warm_lines(const struct training_log *log)
{
    if (log->importer->skip >= 0) {
        return (size_t)log->importer->skip;
    }
    return log_warm_lines(log->step_count);
}

static void describe(const struct training_log *log, size_t first, size_t used, uint32_t others,
                     struct log_median *median)
{
    struct arena *arena = log->importer->arena;
    const struct log_step *steps = log->steps;
    const char *text = arena_printf(arena, "median of %zu lines, steps %" PRId64 " to %" PRId64,
                                    used, steps[first].number, steps[log->step_count - 1].number);
    if (first > 0) {
        text = arena_printf(arena, "%s; left out: %zu lines, steps %" PRId64 " to %" PRId64, text,
                            first, steps[0].number, steps[first - 1].number);
    }
    if (others > 0) {
        text = arena_printf(arena, "%s; of another batch: %u", text, others);
    }
    median->notes = log->cut > 0 ? arena_printf(arena, "%s; cut off: %u", text, log->cut) : text;
    diag_add(log->importer->diag, DIAG_NOTE, NULL, "%s", median->notes);
    if (log->step_count == 1 && steps[0].number <= 1) {
        diag_add(log->importer->diag, DIAG_WARNING, NULL,
                 "its only step is the first, which warms up and is longer than those behind it");
    }
}

/* Of sorted values. */
static struct log_stalls stalls_of(const double *values, size_t count, double median)
{
    struct log_stalls stalls = {.steps = (uint32_t)count};
    double sum = 0, beyond = 0;
    for (size_t i = 0; i < count; i++) {
        const bool is_slow = values[i] > LOG_SLOW * median;
        stalls.slow += is_slow;
        beyond += is_slow ? values[i] - median : 0;
        sum += values[i];
    }
    stalls.share = beyond / sum;
    return stalls;
}

bool log_measure(struct training_log *log, const char *like, struct log_median *median)
{
    const size_t first = warm_lines(log);
    if (log->step_count == 0) {
        log_refuse(log, "there is no step in it", like);
        return false;
    }
    if (first >= log->step_count) {
        log_refuse(log,
                   arena_printf(log->importer->arena, "it has %zu lines of steps, no more",
                                log->step_count),
                   "a smaller --skip leaves some");
        return false;
    }
    const struct log_step *last = &log->steps[log->step_count - 1];
    double *values = arena_array(log->importer->arena, log->step_count, sizeof *values);
    size_t used = 0;
    for (size_t i = first; i < log->step_count; i++) {
        if (log->steps[i].batch == last->batch) {
            values[used++] = log->steps[i].value;
        }
    }
    gsl_sort(values, 1, used);
    *median = (struct log_median){
        .value = gsl_stats_median_from_sorted_data(values, 1, used),
        .batch = last->batch,
        .year = year_on(log->steps[0].at),
    };
    log->importer->stalls = stalls_of(values, used, median->value);
    describe(log, first, used, (uint32_t)(log->step_count - first - used), median);
    return true;
}

/* ---- the line ------------------------------------------------------------------------------- */

static uint32_t column_of(const char *name)
{
    uint32_t i = 0;
    while (i < COLUMN_COUNT && strcmp(columns[i], name) != 0) {
        i++;
    }
    return i;
}

void log_field(struct training_log *log, const char *column, const char *value)
{
    sim_assert(column_of(column) < COLUMN_COUNT);
    log->fields = arena_grow(log->importer->arena, log->fields, &log->field_capacity,
                             log->field_count + 1, sizeof *log->fields);
    log->fields[log->field_count++] = (struct log_field){column, value};
}

void log_field_count(struct training_log *log, const char *column, int64_t value)
{
    log_field(log, column, arena_printf(log->importer->arena, "%" PRId64, value));
}

/* --gpu, or the one that the log's device is. */
static void put_gpu(struct training_log *log)
{
    const char *given = log->importer->gpu;
    const char *known = log_text(log, "gpu");
    const char *device = log_text(log, "device");
    if (given == NULL && known[0] == '\0') {
        log_refuse(log,
                   device[0] != '\0'
                       ? arena_printf(log->importer->arena,
                                      "the catalogue has no GPU like the log's '%s'", device)
                       : "the log does not tell its GPU",
                   "--gpu NAME, of `stoker list gpus`");
    }
    if (given != NULL && known[0] != '\0' && strcmp(given, known) != 0) {
        diag_add(log->importer->diag, DIAG_WARNING, NULL,
                 "GPU %s is taken, but the log's '%s' is %s", given, device, known);
    }
    log_field(log, "gpu", given != NULL ? given : known);
}

void log_common_fields(struct training_log *log, const struct log_median *median, double step_s,
                       const char *notes)
{
    const struct importer *importer = log->importer;
    struct arena *arena = importer->arena;
    log_field(log, "id", importer->name != NULL ? importer->name : import_stem(importer));
    put_gpu(log);
    log_field(log, "gpus_per_node",
              importer->gpus_per_node > 0 ? arena_printf(arena, "%" PRId64, importer->gpus_per_node)
                                          : "");
    log_field(log, "inter_node_gbps_per_node",
              importer->network_bytes_per_s > 0
                  ? arena_printf(arena, "%.10g", importer->network_bytes_per_s * 8e-9)
                  : "");
    log_field(log, "measured_step_s", arena_printf(arena, "%.6g", step_s));
    log_field(log, "notes",
              arena_printf(arena, "%s%s%s", median->notes, notes[0] != '\0' ? "; " : "", notes));
}

void log_framework(struct training_log *log, const char *framework, int64_t year)
{
    const char *software = log->importer->software;
    log_field(log, "framework", software != NULL ? software : framework);
    log_field(log, "framework_year",
              software == NULL && year > 0 ? arena_printf(log->importer->arena, "%" PRId64, year)
                                           : "");
}

/* In quotes where it needs them, and on one line. */
static void print_field(const char *value, FILE *out)
{
    const bool needs_quotes = strpbrk(value, ",\"\r\n") != NULL;
    fputs(needs_quotes ? "\"" : "", out);
    for (; *value != '\0'; value++) {
        fputs(*value == '"' ? "\"" : "", out);
        fputc((unsigned char)*value < ' ' ? ' ' : *value, out);
    }
    fputs(needs_quotes ? "\"" : "", out);
}

static void print_line(const char *const *values, FILE *out)
{
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
        fputs(i == 0 ? "" : ",", out);
        print_field(values[i] != NULL ? values[i] : "", out);
    }
    fputc('\n', out);
}

bool log_print(const struct training_log *log)
{
    if (log->is_bad) {
        return false;
    }
    const char *values[COLUMN_COUNT] = {NULL};
    for (size_t i = 0; i < log->field_count; i++) {
        const char **value = &values[column_of(log->fields[i].column)];
        sim_assert(*value == NULL);
        *value = log->fields[i].value;
    }
    if (!log->importer->has_no_header) {
        print_line(columns, log->importer->out);
    }
    print_line(values, log->importer->out);
    return true;
}
