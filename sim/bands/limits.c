/* The file is small: three mappings, each with one figure and its source, are read one by one. */
#include "bands/limits.h"

#include "base/arena.h"
#include "bands/band.h"
#include "bands/table_file.h"
#include "input/doc/doc.h"
#include "input/scenario.h"
#include "train/need.h"

#include <gsl/gsl_math.h>

#include <math.h>

static const double REPORTED_FACTOR_MAX = 1000;

/* Where it stands, and what it may be. */
struct figure {
    const char *name, *key;
    enum dimension dimension;
    double least, most;
};

/* One figure with its source. */
static bool read_figure(struct doc_map *file, const struct figure *figure, double *value)
{
    const char *name = figure->name;
    const char *key = figure->key;
    struct doc_map map;
    const struct doc_node *node = doc_take(file, name);
    const char *unused = NULL;
    if (!doc_require(file, name) || !doc_map_open(&map, node, file->diag)) {
        return false;
    }
    const bool has_all = doc_require(&map, key) && doc_require(&map, "source");
    doc_get_quantity(&map, key, figure->dimension, figure->least, figure->most, value);
    doc_get_text(&map, "source", &unused);
    doc_get_text(&map, "provenance", &unused);
    return doc_finish(&map) && has_all;
}

/* Files of before it was asked for do not have it. */
static bool read_if_there(struct doc_map *file, const struct figure *figure, double *value)
{
    return doc_find(file->node, figure->name) == NULL || read_figure(file, figure, value);
}

static bool read_boxes(struct arena *arena, struct doc_map *file, double *held)
{
    bool is_good = true;
    for (uint32_t i = 0; i < BOX_RATE_COUNT_; i++) {
        const struct figure spread = {arena_printf(arena, "box_%s", box_rate_names[i]), "spread",
                                      DIM_FRACTION, 0, 1};
        is_good = read_if_there(file, &spread, &held[i]) && is_good;
    }
    return is_good;
}

static bool read_reports(struct doc_map *file, double *reported)
{
    bool is_good = true;
    for (uint32_t i = 0; i < UNPROVEN_COUNT; i++) {
        const struct figure factor = {unproven[i].section, "factor", DIM_COUNT, 1,
                                      REPORTED_FACTOR_MAX};
        is_good = read_if_there(file, &factor, &reported[i]) && is_good;
    }
    return is_good;
}

static bool read_file(struct arena *arena, const char *path, void *into, struct diag *diag)
{
    struct limits *limits = into;
    struct doc_map file;
    struct limits read = *limits;
    const struct doc_node *document = doc_load(arena, path, diag);
    if (document == NULL || !doc_map_open(&file, document, diag)) {
        return false;
    }
    const struct figure resolution = {"resolution", "hashed", DIM_FRACTION, 0, 1};
    const struct figure trust = {"anchor", "trust", DIM_FRACTION, 0, 1};
    const struct figure range = {"assumptions", "range", DIM_FRACTION, 0, 1};
    const struct figure factor = {"failures", "factor", DIM_COUNT, 1, FAILURE_FACTOR_MAX};
    const struct figure host = {"host", "spread", DIM_FRACTION, 0, 1};
    const bool is_good =
        read_figure(&file, &resolution, &read.resolution) &&
        read_figure(&file, &trust, &read.trust) && read_if_there(&file, &range, &read.range) &&
        read_if_there(&file, &factor, &read.failure_factor) &&
        read_if_there(&file, &host, &read.host_spread) && read_boxes(arena, &file, read.box_held) &&
        read_reports(&file, read.reported);
    if (!doc_finish(&file) || !is_good) {
        return false;
    }
    *limits = read;
    return true;
}

bool limits_load(struct arena *arena, const struct catalogue *catalogue, struct limits *limits,
                 const char **reason, struct diag *diag)
{
    const struct catalogue_wish wish = {LIMITS_FILE, "limits of comparisons", NULL, read_file};
    *limits = (struct limits){.resolution = 0, .trust = 1};
    return catalogue_wish_load(arena, catalogue, &wish, limits, reason, diag);
}

bool limits_apply(const struct scenario *scenario)
{
    return scenario->nodes > scenario->cluster.domain_nodes && need_own_routes(scenario);
}

double limits_resolution(const struct limits *limits, const struct scenario *scenario)
{
    return limits_apply(scenario) ? limits->resolution : 0;
}

double limits_of_rates(const struct limits *limits, const struct scenario *scenario)
{
    const double own = scenario->failures.rates_within;
    const double factor = own > 0 ? own : fmax(limits->failure_factor, 1);
    return log(factor) * sqrt(M_PI / 2);
}

struct run_deviations limits_deviations(struct arena *arena, const struct catalogue *catalogue,
                                        const struct band *band, const struct result *result,
                                        struct diag *diag)
{
    struct run_deviations found = {.step = band->votes > 0 ? log(band->high) / BAND_DEVIATIONS : 0};
    if (!result_has_failures(result)) {
        return found;
    }
    struct limits limits;
    const char *reason = LIMITS_FILE " has no failures.factor";
    const bool is_read = limits_load(arena, catalogue, &limits, &reason, diag);
    const bool is_known =
        (is_read && limits.failure_factor > 0) || result->scenario->failures.rates_within > 0;
    found.rates = limits_of_rates(&limits, result->scenario);
    found.no_rates = is_known ? NULL : reason;
    return found;
}
