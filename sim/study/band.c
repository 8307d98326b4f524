#include "study/band.h"

#include "base/arena.h"
#include "study/published_table.h"
#include "study/quantile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const columns[] = {
    "source",    "gpu",       "architecture",
    "framework", "precision", "kind",
    "gpus",      "seq_len",   "measured_over_predicted",
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns, OUTSIDE_MAX = 5 };

static const char *kind_name(bool is_mixture)
{
    return is_mixture ? "moe" : "dense";
}

/* Products of less than 16 bits. */
static bool is_low(const char *precision)
{
    return strstr(precision, "fp8") != NULL || strstr(precision, "fp4") != NULL;
}

struct band_traits band_traits_of(const struct scenario *scenario)
{
    const struct software *software = &scenario->software;
    return (struct band_traits){
        .gpu = scenario->gpu.name,
        .architecture = gpu_architecture_names[scenario->gpu.architecture],
        .framework = software->framework[0] != '\0' ? software->framework : software->name,
        .precision = precision_names[scenario->precision],
        .is_mixture = scenario->model.experts > 0,
        .gpus = scenario->gpus,
        .sequence_length = scenario->batch.sequence_length,
    };
}

/* ---- the file ---------------------------------------------------------------------------- */

/* A number from `least` on; else false with a message. */
static bool read_number(const struct published_table *table, uint32_t row, const char *column,
                        double least, double *value, struct diag *diag)
{
    if (published_number(table, row, column, value) && *value >= least && *value <= 1e12) {
        return true;
    }
    const struct place place = published_place(table, row, column);
    return diag_add(diag, DIAG_INPUT, &place, "%s '%s' is no number from %g on", column,
                    published_text(table, row, column), least);
}

static bool read_vote(const struct published_table *table, uint32_t row, struct band_vote *vote,
                      struct diag *diag)
{
    double gpus = 0, length = 0;
    if (table->problems[row].what != NULL) {
        const struct place place = published_place(table, row, "");
        return diag_add(diag, DIAG_INPUT, &place, "%s", table->problems[row].what);
    }
    if (!read_number(table, row, "gpus", 1, &gpus, diag) ||
        !read_number(table, row, "seq_len", 1, &length, diag) ||
        !read_number(table, row, "measured_over_predicted", 1e-6, &vote->ratio, diag)) {
        return false;
    }
    vote->source = published_text(table, row, "source");
    vote->traits = (struct band_traits){
        .gpu = published_text(table, row, "gpu"),
        .architecture = published_text(table, row, "architecture"),
        .framework = published_text(table, row, "framework"),
        .precision = published_text(table, row, "precision"),
        .is_mixture = strcmp(published_text(table, row, "kind"), kind_name(true)) == 0,
        .gpus = (int64_t)gpus,
        .sequence_length = (int64_t)length,
    };
    return true;
}

bool band_read(struct arena *arena, const char *path, struct band_votes *votes, struct diag *diag)
{
    const struct published_table *table = published_load(arena, path, diag);
    if (table == NULL || !published_has_columns(table, columns, COLUMN_COUNT, diag)) {
        return false;
    }
    struct band_vote *items = arena_array(arena, table->row_count + (size_t)1, sizeof *items);
    for (uint32_t i = 0; i < table->row_count; i++) {
        if (!read_vote(table, i, &items[i], diag)) {
            return false;
        }
    }
    *votes = (struct band_votes){items, table->row_count};
    return true;
}

/* A source's name may hold a comma or a quote. */
static void write_quoted(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        fputs(*text == '"' ? "\"" : "", out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_votes(const struct band_votes *votes, FILE *out)
{
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
        fprintf(out, "%s%s", i == 0 ? "" : ",", columns[i]);
    }
    fputc('\n', out);
    for (uint32_t i = 0; i < votes->count; i++) {
        const struct band_traits *traits = &votes->items[i].traits;
        write_quoted(votes->items[i].source, out);
        fprintf(out, ",%s,%s,%s,%s,%s,%" PRId64 ",%" PRId64 ",%.4f\n", traits->gpu,
                traits->architecture, traits->framework, traits->precision,
                kind_name(traits->is_mixture), traits->gpus, traits->sequence_length,
                votes->items[i].ratio);
    }
}

bool band_write(const char *path, const struct band_votes *votes, struct diag *diag)
{
    FILE *out = fopen(path, "w");
    if (out == NULL) {
        return diag_add(diag, DIAG_FAILURE, NULL, "cannot write %s: %s", path, strerror(errno));
    }
    write_votes(votes, out);
    const bool is_bad = ferror(out) != 0;
    if (fclose(out) != 0 || is_bad) {
        return diag_add(diag, DIAG_FAILURE, NULL, "cannot write %s: %s", path, strerror(errno));
    }
    return true;
}

/* ---- the class ---------------------------------------------------------------------------- */

/* What votes of a class share; from the nearest class to the widest. */
static const struct class_row {
    bool architecture, framework, precision, kind;
} classes[] = {
    {true, true, true, true},    {true, false, true, true},    {true, false, false, true},
    {false, false, false, true}, {false, false, false, false},
};
enum { CLASS_COUNT = sizeof classes / sizeof *classes };

static bool is_same(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

static bool is_in(const struct class_row *row, const struct band_traits *a,
                  const struct band_traits *b)
{
    return (!row->architecture || is_same(a->architecture, b->architecture)) &&
           (!row->framework || is_same(a->framework, b->framework)) &&
           (!row->precision || is_low(a->precision) == is_low(b->precision)) &&
           (!row->kind || a->is_mixture == b->is_mixture);
}

/* The class's votes, in the order of the file. */
static uint32_t choose(const struct band_votes *votes, const struct class_row *row,
                       const struct band_traits *traits, const struct band_vote **chosen)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < votes->count; i++) {
        if (is_in(row, &votes->items[i].traits, traits)) {
            chosen[count++] = &votes->items[i];
        }
    }
    return count;
}

/* "hopper, megatron, 16-bit, dense" */
static const char *class_name(struct arena *arena, const struct class_row *row,
                              const struct band_traits *traits)
{
    if (!row->kind) {
        return "all runs";
    }
    const char *low = is_low(traits->precision) ? "8-bit or less, " : "16-bit or more, ";
    return arena_printf(arena, "%s%s%s%s%s%s", row->architecture ? traits->architecture : "",
                        row->architecture ? ", " : "", row->framework ? traits->framework : "",
                        row->framework ? ", " : "", row->precision ? low : "",
                        kind_name(traits->is_mixture));
}

static uint32_t count_sources(const struct band_vote *const *chosen, uint32_t count)
{
    uint32_t sources = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (!is_same(chosen[k]->source, chosen[i]->source)) {
            k++;
        }
        sources += k == i ? 1 : 0;
    }
    return sources;
}

static void measure(struct arena *arena, const struct band_vote *const *chosen, uint32_t count,
                    struct band *band)
{
    double *ratios = arena_array(arena, count, sizeof *ratios);
    for (uint32_t i = 0; i < count; i++) {
        ratios[i] = chosen[i]->ratio;
    }
    band->low = quantile_of(ratios, count, 0.1);
    band->high = quantile_of(ratios, count, 0.9);
    band->votes = count;
    band->sources = count_sources(chosen, count);
}

/* ---- what lies outside ---------------------------------------------------------------------- */

struct outside {
    struct arena *arena;
    const char **texts;
    uint32_t count;
};

static void add(struct outside *outside, const char *text)
{
    sim_assert(outside->count < OUTSIDE_MAX);
    outside->texts[outside->count++] = text;
}

/* Of all votes, whether one has what the scenario has. */
static void check_known(const struct band_votes *votes, const struct band_traits *traits,
                        struct outside *outside)
{
    bool has_gpu = false, has_architecture = false, has_framework = false, has_precision = false;
    for (uint32_t i = 0; i < votes->count; i++) {
        const struct band_traits *known = &votes->items[i].traits;
        has_gpu = has_gpu || is_same(known->gpu, traits->gpu);
        has_architecture = has_architecture || is_same(known->architecture, traits->architecture);
        has_framework = has_framework || is_same(known->framework, traits->framework);
        has_precision = has_precision || is_same(known->precision, traits->precision);
    }
    if (!has_architecture) {
        add(outside, arena_printf(outside->arena, "no run on %s", traits->architecture));
    } else if (!has_gpu) {
        add(outside, arena_printf(outside->arena, "no run on %s", traits->gpu));
    }
    if (!has_framework) {
        add(outside, arena_printf(outside->arena, "no run of %s", traits->framework));
    }
    if (!has_precision) {
        add(outside, arena_printf(outside->arena, "no run in %s", traits->precision));
    }
}

/* Of the class, how far it reaches. */
static void check_sizes(const struct band_vote *const *chosen, uint32_t count,
                        const struct band_traits *traits, struct outside *outside)
{
    int64_t gpus = 0, length = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct band_traits *known = &chosen[i]->traits;
        gpus = known->gpus > gpus ? known->gpus : gpus;
        length = known->sequence_length > length ? known->sequence_length : length;
    }
    if (traits->gpus > 2 * gpus) {
        add(outside, arena_printf(outside->arena, "%" PRId64 " GPUs, at most %" PRId64 " there",
                                  traits->gpus, gpus));
    }
    if (traits->sequence_length > length) {
        add(outside, arena_printf(outside->arena, "%" PRId64 " tokens, at most %" PRId64 " there",
                                  traits->sequence_length, length));
    }
}

struct band band_of(struct arena *arena, const struct band_votes *votes,
                    const struct band_traits *traits)
{
    struct band band = {.like = "", .reason = ""};
    const struct band_vote **chosen = arena_array(arena, votes->count + (size_t)1, sizeof *chosen);
    uint32_t row = 0, count = choose(votes, &classes[0], traits, chosen);
    while (count < BAND_VOTES_MIN && ++row < CLASS_COUNT) {
        count = choose(votes, &classes[row], traits, chosen);
    }
    if (row == CLASS_COUNT) {
        band.reason = arena_printf(arena, BAND_FILE " has %u runs, and %d are needed", votes->count,
                                   BAND_VOTES_MIN);
        return band;
    }
    band.like = class_name(arena, &classes[row], traits);
    measure(arena, chosen, count, &band);
    struct outside outside = {arena, arena_array(arena, OUTSIDE_MAX, sizeof *outside.texts), 0};
    check_known(votes, traits, &outside);
    check_sizes(chosen, count, traits, &outside);
    band.outside = outside.texts;
    band.outside_count = outside.count;
    return band;
}

/* NULL: none has it. */
static const char *file_of(struct arena *arena, const struct catalogue *catalogue)
{
    for (uint32_t i = 0; i < catalogue->count; i++) {
        const char *path = arena_printf(arena, "%s/" BAND_FILE, catalogue->directories[i]);
        if (access(path, R_OK) == 0) {
            return path;
        }
    }
    return NULL;
}

const struct band *band_find(struct arena *arena, const struct catalogue *catalogue,
                             const struct scenario *scenario, struct diag *diag)
{
    struct band *band = arena_alloc(arena, sizeof *band);
    *band = (struct band){.like = "", .reason = ""};
    const char *path = file_of(arena, catalogue);
    struct band_votes votes;
    struct diag *own = diag_new(arena);
    if (path == NULL) {
        band->reason = "the catalogue has no " BAND_FILE;
    } else if (!band_read(arena, path, &votes, own)) {
        band->reason = arena_printf(arena, "%s: %s", path, diag_first_error(own));
        if (diag_exit_status(own) == 1) { /* not its contents: a disk that fails, no memory */
            diag_add(diag, DIAG_FAILURE, NULL, "no band: %s", band->reason);
        }
    } else {
        const struct band_traits traits = band_traits_of(scenario);
        *band = band_of(arena, &votes, &traits);
    }
    return band;
}
