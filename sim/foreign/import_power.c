/* What GPUs drew, by nvidia-smi, as shares of their design power in a box (input/study/box).
 *
 *     nvidia-smi --query-gpu=timestamp,index,name,power.draw,utilization.gpu --format=csv -l 1
 *         timestamp, index, name, power.draw [W], utilization.gpu [%]
 *         2025/01/01 12:00:00.000, 0, NVIDIA H100 80GB HBM3, 612.34 W, 99 %
 *     nvidia-smi dmon -s pu
 *         # gpu    pwr  gtemp  mtemp     sm    mem
 *         # Idx      W      C      C      %      %
 *             0    612     61     70     99     41
 *
 * A sample is busy or idle by its GPU's utilization; where that is not told, by the side of the
 * middle between the least and the most that were drawn on which it lies, if the most is twice the
 * least: else all are busy. Medians count. A busy sample is a mean of some of the time (25 to 1000
 * ms), waits for communication included: what is drawn while it computes is this or more.
 */
#include "foreign/import.h"

#include "base/arena.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <inttypes.h>
#include <string.h>

enum { FIELDS_MAX = 64, BUSY_PERCENT = 50, IDLE_PERCENT = 5, SAMPLES_MIN = 10 };
static const double WATT_MAX = 1e5;
static const double APART = 2.0; /* the most drawn over the least, where some time was idle */

enum column { COLUMN_POWER, COLUMN_USE, COLUMN_NAME, COLUMNS };

/* How the first words of a title begin, in a CSV and in dmon. */
static const char *const titles[COLUMNS][2] = {
    {"power.draw", "pwr"}, {"utilization.gpu", "sm"}, {"name", ""}};

struct samples {
    double *watt;
    size_t count, capacity;
};

struct power_log {
    struct importer *importer;
    bool is_csv;
    int32_t at[COLUMNS]; /* which field; -1: not there */
    const char *name;    /* of the device; NULL: not told */
    struct samples all, busy, idle;
    bool is_bad;
};

/* ---- lines ---------------------------------------------------------------------------------- */

/* Between commas, without blanks around. */
static uint32_t split(const struct power_log *log, struct text_span line, struct text_span *fields)
{
    if (!log->is_csv) {
        return text_words(line, fields, FIELDS_MAX);
    }
    uint32_t count = 0;
    for (const char *begin = line.begin; begin != NULL && count < FIELDS_MAX;) {
        const char *end = memchr(begin, ',', (size_t)(line.end - begin));
        fields[count++] = text_bare((struct text_span){begin, end != NULL ? end : line.end});
        begin = end != NULL ? end + 1 : NULL;
    }
    return count;
}

/* A line of titles: of dmon, which repeats them, behind a '#'. */
static bool read_titles(struct power_log *log, struct text_span line)
{
    struct text_span fields[FIELDS_MAX];
    const bool is_csv = text_span_find(line, titles[COLUMN_POWER][0]) != NULL;
    const bool is_dmon = *line.begin == '#' && text_span_find(line, titles[COLUMN_POWER][1]);
    if (!is_csv && !is_dmon) {
        return false;
    }
    log->is_csv = is_csv;
    line.begin += is_dmon ? 1 : 0;
    const uint32_t count = split(log, line, fields);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        const char *title = titles[i][is_csv ? 0 : 1];
        const size_t length = strlen(title);
        log->at[i] = -1;
        for (uint32_t k = 0; k < count && log->at[i] < 0 && length > 0; k++) {
            const bool is_it = text_span_length(fields[k]) >= length &&
                               memcmp(fields[k].begin, title, length) == 0;
            log->at[i] = is_it ? (int32_t)k : -1;
        }
    }
    return true;
}

/* "612.34 W", "612"; false: not measured, as "[N/A]" and "-". */
static bool read_number(struct text_span field, double *value)
{
    const char *at = field.begin;
    return text_span_number(text_word(&at, field.end), value) && *value >= 0 && *value < WATT_MAX;
}

static void add(struct power_log *log, struct samples *samples, double watt)
{
    samples->watt = arena_grow(log->importer->arena, samples->watt, &samples->capacity,
                               samples->count + 1, sizeof *samples->watt);
    samples->watt[samples->count++] = watt;
}

static void read_sample(struct power_log *log, struct text_span line)
{
    struct text_span fields[FIELDS_MAX];
    const int32_t count = (int32_t)split(log, line, fields);
    double watt = 0, percent = 0;
    if (log->at[COLUMN_POWER] < 0 || log->at[COLUMN_POWER] >= count ||
        !read_number(fields[log->at[COLUMN_POWER]], &watt)) {
        return;
    }
    const int32_t use = log->at[COLUMN_USE], name = log->at[COLUMN_NAME];
    add(log, &log->all, watt);
    if (use >= 0 && use < count && read_number(fields[use], &percent)) {
        if (percent >= BUSY_PERCENT || percent <= IDLE_PERCENT) {
            add(log, percent >= BUSY_PERCENT ? &log->busy : &log->idle, watt);
        }
    }
    if (log->name == NULL && name >= 0 && name < count) {
        log->name = text_span_copy(log->importer->arena, fields[name]);
    }
}

static void read_lines(struct power_log *log)
{
    for (const char *next = log->importer->file.text; next != NULL;) {
        const struct text_span line = text_bare(text_line(next, &next));
        if (line.begin < line.end && !read_titles(log, line) && *line.begin != '#') {
            read_sample(log, line);
        }
    }
}

/* ---- what they say -------------------------------------------------------------------------- */

/* Where no use was told. */
static void split_samples(struct power_log *log)
{
    double least = 0, most = 0;
    if (log->busy.count + log->idle.count > 0 || log->all.count == 0) {
        return;
    }
    gsl_stats_minmax(&least, &most, log->all.watt, 1, log->all.count);
    for (size_t i = 0; i < log->all.count; i++) {
        const double watt = log->all.watt[i];
        const bool is_idle = most >= APART * least && watt < (least + most) / 2;
        add(log, is_idle ? &log->idle : &log->busy, watt);
    }
}

static double median(struct samples *samples)
{
    gsl_sort(samples->watt, 1, samples->count);
    return gsl_stats_median_from_sorted_data(samples->watt, 1, samples->count);
}

static bool check_samples(const struct power_log *log)
{
    const struct place whole = {.file = log->importer->file.path};
    if (log->busy.count >= SAMPLES_MIN) {
        return true;
    }
    diag_add(log->importer->diag, DIAG_INPUT, &whole,
             "%zu of %zu samples are of a GPU at work; at least %d are needed", log->busy.count,
             log->all.count, SAMPLES_MIN);
    diag_help(log->importer->diag, "nvidia-smi --query-gpu=name,power.draw,utilization.gpu "
                                   "--format=csv -l 1, beside a training that runs");
    return false;
}

/* More than the design power is no share of it: another GPU, or other units. */
static bool check_power(const struct power_log *log, const char *gpu, double tdp_w, double busy_w)
{
    const struct place whole = {.file = log->importer->file.path};
    if (busy_w <= tdp_w * 1.05) {
        return true;
    }
    diag_add(log->importer->diag, DIAG_INPUT, &whole,
             "it drew %.4g W, and the design power of %s is %.4g W", busy_w, gpu, tdp_w);
    diag_help(log->importer->diag, "is it this GPU? --gpu NAME says another; power.draw is in W");
    return false;
}

static void print(struct power_log *log, const char *gpu, double tdp_w, double busy_w)
{
    struct importer *importer = log->importer;
    FILE *out = importer->out;
    const double share = busy_w < tdp_w ? busy_w / tdp_w : 1.0;
    const char *name = importer->name != NULL ? importer->name : import_stem(importer);
    fprintf(out,
            "# Made by `stoker import`: medians of %zu samples of a GPU at work and %zu of an idle "
            "one,\n# over a design power of %.4g W. Name it in a scenario: box: ./FILE\n",
            log->busy.count, log->idle.count, tdp_w);
    fprintf(out, "box: %s\ngpu: %s\nset:\n", import_quote(importer->arena, name), gpu);
    fprintf(out, "  gpu.power.busy_fraction: %.4g   # %.4g W\n", share, busy_w);
    if (log->idle.count >= SAMPLES_MIN) {
        const double idle_w = median(&log->idle);
        fprintf(out, "  gpu.power.idle_fraction: %.4g   # %.4g W\n", idle_w / tdp_w, idle_w);
    }
}

bool import_power(struct importer *importer)
{
    struct power_log log = {.importer = importer, .at = {-1, -1, -1}};
    read_lines(&log);
    split_samples(&log);
    if (!check_samples(&log)) {
        return false;
    }
    const struct device_clues clues = {.name = log.name};
    const char *gpu = device_find(importer, &clues);
    const double tdp_w = gpu != NULL ? device_tdp_w(importer, gpu) : 0;
    if (gpu == NULL || !(tdp_w > 0)) {
        return gpu == NULL
                   ? false
                   : import_need(importer, "--gpu NAME", "this GPU is not in the catalogue");
    }
    const double busy_w = median(&log.busy);
    if (!check_power(&log, gpu, tdp_w, busy_w)) {
        return false;
    }
    print(&log, gpu, tdp_w, busy_w);
    return true;
}
