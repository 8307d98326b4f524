/* The votes of models/validated.csv are read and written here. For a scenario
 * the narrowest class with enough votes is taken, its quantiles are the band,
 * and each trait of the scenario that no vote of the class has is told in
 * words.
 */
#include "lab/band.h"

#include "base/arena.h"
#include "base/field.h"
#include "input/doc/name_table.h"
#include "lab/published/published_table.h"
#include "lab/quantile.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *const columns[] = {
    "source",
    "gpu",
    "architecture",
    "framework",
    "precision",
    "kind",
    "gpus",
    "seq_len",
    "gbps_per_node",
    "fabric",
    "routing",
    "oversubscription",
    "measured_over_predicted",
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns, OUTSIDE_MAX = 13 };

static const double GBPS_PER_BYTES = 8e-9;
static const double STALL_MIN = 0.005; /* of the time; less goes unnoticed in a measurement */
static const double NEAR = 1.001;      /* numbers that differ by less are the same */

static const char *kind_name(bool is_mixture)
{
    return is_mixture ? "moe" : "dense";
}

/* Products of less than 16 bits. */
static bool is_low(const char *precision)
{
    return strstr(precision, "fp8") != NULL || strstr(precision, "fp4") != NULL;
}

/* Down over up, of the levels that these nodes reach over. */
static double oversubscription_of(const struct scenario *scenario)
{
    const struct cluster *cluster = &scenario->cluster;
    const int64_t leaf = cluster->nodes_per_leaf;
    const int64_t pod = leaf * cluster->leaves_per_pod;
    const int64_t group = leaf * cluster->leaves_per_group;
    double most = leaf > 0 && scenario->nodes > leaf ? cluster->oversubscription : 1;
    most = pod > 0 && scenario->nodes > pod ? fmax(most, cluster->pod_oversubscription) : most;
    return group > 0 && scenario->nodes > group ? fmax(most, cluster->global_oversubscription)
                                                : most;
}

struct band_traits band_traits_of(const struct scenario *scenario)
{
    const struct cluster *cluster = &scenario->cluster;
    const bool has_network = scenario->nodes > cluster->domain_nodes;
    const struct software *software = &scenario->software;
    return (struct band_traits){
        .gpu = scenario->gpu.name,
        .architecture = gpu_architecture_names[scenario->gpu.architecture],
        .framework = software->framework[0] != '\0' ? software->framework : software->name,
        .precision = precision_names[scenario->precision],
        .is_mixture = scenario->model.experts > 0,
        .gpus = scenario->gpus,
        .sequence_length = scenario->batch.sequence_length,
        .network_bytes_per_s = has_network ? cluster->network_bytes_per_s : 0,
        .fabric = has_network ? fabric_kind_names[cluster->fabric_kind] : "",
        .routing = has_network ? routing_names[cluster->routing] : "",
        .oversubscription = has_network ? oversubscription_of(scenario) : 1,
    };
}

struct band_burdens band_burdens_of(const struct result *result)
{
    const struct step_result *step = &result->step;
    const struct scenario *scenario = result->scenario;
    const double all_ns = (double)step->step_ns * (double)scenario->gpus;
    struct band_burdens burdens = {.neighbours = scenario->neighbour_count, .slowest = 1};
    if (result_has_step(result)) {
        burdens.data_stall = (double)step->gpu_ns[CAUSE_DATA_STALL] / all_ns;
        burdens.checkpoint_stall = (double)step->gpu_ns[CAUSE_CHECKPOINT_STALL] / all_ns;
    }
    if (result_has_run(result) && result_has_checkpoints(result)) {
        const double stalls_s = (double)result->run.checkpoints * result->run.checkpoint_s;
        burdens.checkpoint_stall += stalls_s / (result->run.days * 86400.0);
    }
    for (int64_t i = 0; i < scenario->slow_count; i++) {
        burdens.slowest = fmin(burdens.slowest, scenario->slow[i].speed);
    }
    return burdens;
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
    double gpus = 0, length = 0, gbps = 0, oversubscription = 0;
    if (table->problems[row].what != NULL) {
        const struct place place = published_place(table, row, "");
        return diag_add(diag, DIAG_INPUT, &place, "%s", table->problems[row].what);
    }
    if (!read_number(table, row, "gpus", 1, &gpus, diag) ||
        !read_number(table, row, "seq_len", 1, &length, diag) ||
        !read_number(table, row, "oversubscription", 1, &oversubscription, diag) ||
        !read_number(table, row, "measured_over_predicted", 1e-6, &vote->ratio, diag)) {
        return false;
    }
    if (published_text(table, row, "gbps_per_node")[0] != '\0' &&
        !read_number(table, row, "gbps_per_node", 1e-3, &gbps, diag)) {
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
        .network_bytes_per_s = gbps / GBPS_PER_BYTES,
        .fabric = published_text(table, row, "fabric"),
        .routing = published_text(table, row, "routing"),
        .oversubscription = oversubscription,
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
        fprintf(out, ",%s,%s,%s,%s,%s,%" PRId64 ",%" PRId64 ",", traits->gpu, traits->architecture,
                traits->framework, traits->precision, kind_name(traits->is_mixture), traits->gpus,
                traits->sequence_length);
        if (traits->network_bytes_per_s > 0) {
            fprintf(out, "%.6g", traits->network_bytes_per_s * GBPS_PER_BYTES);
        }
        fprintf(out, ",%s,%s,%.6g,%.4f\n", traits->fabric, traits->routing,
                traits->oversubscription, votes->items[i].ratio);
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

static void measure(struct arena *arena, const struct band_vote *const *chosen, uint32_t count,
                    struct band *band)
{
    double *ratios = arena_array(arena, count, sizeof *ratios);
    struct name_table sources;
    name_table_init(&sources, arena);
    for (uint32_t i = 0; i < count; i++) {
        ratios[i] = chosen[i]->ratio;
        (void)name_table_index(&sources, chosen[i]->source);
    }
    band->low = quantile_of(ratios, count, 0.1);
    band->high = quantile_of(ratios, count, 0.9);
    band->votes = count;
    band->sources = sources.count;
}

/* ---- what lies outside ---------------------------------------------------------------------- */

struct outside {
    struct arena *arena;
    const char **texts;
    uint32_t count;
};

static void add(struct outside *outside, const char *format, ...) PRINTF_LIKE(2, 3);

static void add(struct outside *outside, const char *format, ...)
{
    va_list arguments;
    sim_assert(outside->count < OUTSIDE_MAX);
    va_start(arguments, format);
    outside->texts[outside->count++] = arena_vprintf(outside->arena, format, arguments);
    va_end(arguments);
}

/* Whether one of all votes has the scenario's text in this member. */
static bool is_met(const struct band_votes *votes, const struct band_traits *traits,
                   const struct field *member)
{
    uint32_t i = 0;
    while (i < votes->count && !is_same(field_value(member, &votes->items[i].traits).text,
                                        field_value(member, traits).text)) {
        i++;
    }
    return i < votes->count;
}

#define IS_MET(member) \
    is_met(votes, traits, &(const struct field){FIELD_AT(struct band_traits, member)})

static void check_known(const struct band_votes *votes, const struct band_traits *traits,
                        struct outside *outside)
{
    if (!IS_MET(architecture)) {
        add(outside, "no run on %s", traits->architecture);
    } else if (!IS_MET(gpu)) {
        add(outside, "no run on %s", traits->gpu);
    }
    if (!IS_MET(framework)) {
        add(outside, "no run of %s", traits->framework);
    }
    if (!IS_MET(precision)) {
        add(outside, "no run in %s", traits->precision);
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
        add(outside, "%" PRId64 " GPUs, at most %" PRId64 " there", traits->gpus, gpus);
    }
    if (traits->sequence_length > length) {
        add(outside, "%" PRId64 " tokens, at most %" PRId64 " there", traits->sequence_length,
            length);
    }
}

/* Of the class, which networks its runs say they had. */
static void check_network(const struct band_vote *const *chosen, uint32_t count,
                          const struct band_traits *traits, struct outside *outside)
{
    const double own = traits->network_bytes_per_s;
    double least = 0, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        const double known = chosen[i]->traits.network_bytes_per_s;
        least = known > 0 && (most <= 0 || known < least) ? known : least;
        most = known > most ? known : most;
    }
    if (own <= 0 || (most > 0 && own * NEAR >= least && own <= most * NEAR)) {
        return;
    }
    const double gbps = own * GBPS_PER_BYTES;
    if (most <= 0) {
        add(outside, "%.6g Gbps a node, no run there states its network", gbps);
    } else if (most <= least * NEAR) {
        add(outside, "%.6g Gbps a node, those stated there have %.6g", gbps, most * GBPS_PER_BYTES);
    } else {
        add(outside, "%.6g Gbps a node, those stated there have %.6g to %.6g", gbps,
            least * GBPS_PER_BYTES, most * GBPS_PER_BYTES);
    }
}

/* Of all votes, whether one ran on such a fabric. */
static void check_fabric(const struct band_votes *votes, const struct band_traits *traits,
                         struct outside *outside)
{
    double most = 1;
    if (traits->fabric[0] == '\0') {
        return;
    }
    for (uint32_t i = 0; i < votes->count; i++) {
        most = fmax(most, votes->items[i].traits.oversubscription);
    }
    if (!IS_MET(fabric)) {
        add(outside, "no run on a %s fabric", traits->fabric);
    }
    if (!IS_MET(routing)) {
        add(outside, "no run with routing %s", traits->routing);
    }
    if (traits->oversubscription > most * NEAR) {
        add(outside, "%.6g:1 oversubscribed, at most %.6g:1 measured", traits->oversubscription,
            most);
    }
}

/* Runs are published without these. */
static void check_burdens(const struct band_burdens *burdens, struct outside *outside)
{
    if (burdens->data_stall >= STALL_MIN) {
        add(outside, "no run waited for data (%.1f %% of this step)", 100 * burdens->data_stall);
    }
    if (burdens->checkpoint_stall >= STALL_MIN) {
        add(outside, "no run waited for checkpoints (%.1f %% of the time)",
            100 * burdens->checkpoint_stall);
    }
    if (burdens->slowest > 0 && burdens->slowest < 1) {
        add(outside, "no run had a slow GPU (one at %.6g %%)", 100 * burdens->slowest);
    }
    if (burdens->neighbours > 0) {
        add(outside, "no run shared its fabric with other jobs");
    }
}

struct band band_of(struct arena *arena, const struct band_votes *votes,
                    const struct band_traits *traits, const struct band_burdens *burdens)
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
    check_network(chosen, count, traits, &outside);
    check_fabric(votes, traits, &outside);
    check_burdens(burdens, &outside);
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
                             const struct result *result, struct diag *diag)
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
        const struct band_traits traits = band_traits_of(result->scenario);
        const struct band_burdens burdens = band_burdens_of(result);
        *band = band_of(arena, &votes, &traits, &burdens);
    }
    return band;
}
