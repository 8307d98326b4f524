/* Settings are texts as --set takes them, so that a point is an ordinary one. */
#include "study/quote/quote_points.h"
#include "study/quote/quote_policies.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/date.h"
#include "base/units.h"
#include "input/cluster.h"
#include "input/doc/leaves.h"
#include "study/best.h"

#include <inttypes.h>
#include <string.h>

enum { OWN_SETS_MAX = 16, MONTHS_PER_YEAR = 12 };

/* ---- how large it is ------------------------------------------------------------------------- */

/* The place that a name in the file stands for, as --set takes it. */
static const char *reference_of(struct arena *arena, const struct catalogue *catalogue,
                                const struct doc_node *node)
{
    const bool is_path = strchr(node->text, '/') != NULL || strstr(node->text, ".yaml") != NULL;
    return is_path ? catalogue_path_beside(arena, catalogue, &node->place, node->text) : node->text;
}

static bool check_word(const struct doc_node *node, const char *what, struct diag *diag)
{
    if (node == NULL || node->kind == DOC_SCALAR) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &node->place, "%s of an offer is a name or a path", what);
    diag_help(diag, "write its keys into a file of its own, or into set:");
    return false;
}

static bool read_node_size(struct arena *arena, const struct catalogue *catalogue,
                           const struct quote_offer *offer, int64_t *gpus_per_node,
                           struct diag *diag)
{
    struct assumptions unused;
    struct cluster cluster;
    assumptions_init(&unused, arena);
    if (!check_word(offer->cluster, "the cluster", diag) ||
        !check_word(offer->gpu, "the GPU", diag)) {
        return false;
    }
    const struct doc_node *node =
        catalogue_open(arena, catalogue, CATALOGUE_CLUSTER, offer->cluster, diag);
    if (node == NULL || !cluster_read(node, &cluster, &unused, diag)) {
        return false;
    }
    *gpus_per_node = cluster.gpus_per_node;
    return true;
}

/* Of the first job that says how many it has. */
static int64_t gpus_of_jobs(const struct quote *quote)
{
    for (uint32_t i = 0; i < quote->job_count; i++) {
        double gpus;
        char message[256];
        if (quote->jobs[i].gpus_text != NULL &&
            units_parse(quote->jobs[i].gpus_text, DIM_COUNT, &gpus, message, sizeof message)) {
            return (int64_t)gpus;
        }
    }
    return 0;
}

static bool put_sizes(const struct quote *quote, uint32_t number, struct quote_points *points,
                      struct diag *diag)
{
    const struct quote_offer *offer = &quote->offers[number];
    const int64_t per_node = points->gpus_per_node[number];
    int64_t gpus = 0;
    for (uint32_t p = 0; p < offer->part_count; p++) {
        const struct quote_part *part = &offer->parts[p];
        gpus += part->nodes > 0 ? part->nodes * per_node : part->gpus;
        points->sizes[number][p] = (struct quote_size){gpus, part->day};
    }
    if (gpus == 0) {
        gpus = offer->gpus > 0    ? offer->gpus
               : offer->nodes > 0 ? offer->nodes * per_node
                                  : gpus_of_jobs(quote);
        points->sizes[number][0].gpus = gpus;
    }
    if (gpus == 0) {
        diag_add(diag, DIAG_INPUT, &offer->place, "nothing says how many GPUs '%s' has",
                 offer->name);
        diag_help(diag, "write gpus: or nodes: into it");
    }
    return gpus > 0;
}

/* ---- what it costs --------------------------------------------------------------------------- */

double quote_gpu_usd(const struct quote_points *points, uint32_t number)
{
    const struct quote_offer *offer = &points->quote->offers[number];
    const struct quote_size *all = &points->sizes[number][offer->part_count - 1];
    if (!offer->is_bought) {
        return 0;
    }
    return !is_absent(offer->gpu_usd)    ? offer->gpu_usd
           : !is_absent(offer->node_usd) ? offer->node_usd / (double)points->gpus_per_node[number]
                                         : offer->total_usd / (double)all->gpus;
}

/* Hosting and support, of a GPU. */
static double monthly_usd(const struct quote_points *points, uint32_t number)
{
    const struct quote_offer *offer = &points->quote->offers[number];
    return offer->hosting_usd_per_month +
           offer->support * quote_gpu_usd(points, number) / MONTHS_PER_YEAR;
}

double quote_written_usd(const struct quote_points *points, uint32_t number)
{
    const struct quote_offer *offer = &points->quote->offers[number];
    return offer->is_bought ? quote_gpu_usd(points, number) * (1 - offer->residual) /
                                  (offer->life_s / SECONDS_PER_HOUR)
                            : 0;
}

double quote_hour_usd(const struct quote_points *points, uint32_t number)
{
    const struct quote_offer *offer = &points->quote->offers[number];
    return offer->is_bought
               ? quote_written_usd(points, number) + monthly_usd(points, number) / HOURS_PER_MONTH
               : offer->hour_usd;
}

/* ---- settings -------------------------------------------------------------------------------- */

struct settings {
    struct arena *arena;
    const char **items;
    uint32_t count, room;
};

static void add(struct settings *settings, const char *set)
{
    sim_assert(settings->count < settings->room);
    settings->items[settings->count++] = set;
}

static void add_terms(struct settings *settings, const struct quote_points *points, uint32_t number)
{
    const struct quote_offer *offer = &points->quote->offers[number];
    struct arena *arena = settings->arena;
    if (!offer->is_bought) {
        add(settings, "price.terms=rent");
        add(settings, "price.own=off");
        add(settings, arena_printf(arena, "price.gpu_hour=%.17g USD", offer->hour_usd));
        return;
    }
    add(settings, "price.terms=own");
    add(settings,
        arena_printf(arena,
                     "price.own={gpu: %.17g USD, life: %.17g s, residual: %.17g, hosting: %.17g "
                     "USD/month, network: 0, utilisation: 1}",
                     quote_gpu_usd(points, number), offer->life_s, offer->residual,
                     monthly_usd(points, number)));
}

static void add_prices(struct settings *settings, const struct quote_offer *offer)
{
    struct arena *arena = settings->arena;
    if (!is_absent(offer->usd_per_kwh)) {
        add(settings, arena_printf(arena, "price.electricity=%.17g USD/kWh", offer->usd_per_kwh));
    }
    if (!is_absent(offer->storage_usd_per_gb_month)) {
        add(settings, arena_printf(arena, "price.storage_gb_month=%.17g USD",
                                   offer->storage_usd_per_gb_month));
    }
    if (offer->pue > 0) {
        add(settings, arena_printf(arena, "price.pue=%.17g", offer->pue));
    }
}

static void add_machine(struct settings *settings, const struct quote_points *points,
                        const struct catalogue *catalogue, uint32_t number, uint32_t part)
{
    const struct quote_offer *offer = &points->quote->offers[number];
    struct arena *arena = settings->arena;
    add(settings,
        arena_printf(arena, "cluster=%s", reference_of(arena, catalogue, offer->cluster)));
    if (offer->gpu != NULL) {
        add(settings, arena_printf(arena, "gpu=%s", reference_of(arena, catalogue, offer->gpu)));
    }
    if (offer->network_bytes_per_s > 0) {
        add(settings,
            arena_printf(arena, "cluster.network=%.17g Gbps", offer->network_bytes_per_s * 8e-9));
    }
    add(settings, arena_printf(arena, "gpus=%" PRId64, points->sizes[number][part].gpus));
    add(settings, "run.queue=0 s");
}

/* ---- points ---------------------------------------------------------------------------------- */

/* "Beta from 2026-11-01, moe". */
static const char *label_of(struct arena *arena, const struct quote_points *points, uint32_t job,
                            uint32_t number, uint32_t part)
{
    const struct quote *quote = points->quote;
    const struct quote_offer *offer = &quote->offers[number];
    char day[DATE_BYTES];
    const char *label = offer->part_count == 1
                            ? offer->name
                            : arena_printf(arena, "%s from %s", offer->name,
                                           date_text(points->sizes[number][part].day, day));
    return quote->job_count == 1 ? label
                                 : arena_printf(arena, "%s, %s", label, quote->jobs[job].name);
}

static void add_axis(struct study_point *point, const char *axis, const char *text, double value)
{
    point->axes[point->axis_count] = axis;
    point->value_texts[point->axis_count] = text;
    point->values[point->axis_count++] = value;
}

static void fill_point(struct arena *arena, const struct quote_points *points,
                       const struct study_base *base, uint32_t job, struct study_point *point)
{
    const struct quote *quote = points->quote;
    uint32_t part, own_count = 0;
    const uint32_t number =
        quote_offer_of(points, (uint32_t)(point - points->values[job].points), &part);
    const struct quote_offer *offer = &quote->offers[number];
    const struct doc_node *document = quote->jobs[job].document;
    const char **own =
        offer->set != NULL ? study_sets_of(arena, document, offer->set, &own_count) : NULL;
    struct settings settings = {
        arena, arena_array(arena, base->set_count + own_count + OWN_SETS_MAX, sizeof *own), 0, 0};
    for (; settings.count < base->set_count; settings.count++) {
        settings.items[settings.count] = base->sets[settings.count];
    }
    settings.room = base->set_count + OWN_SETS_MAX;
    add_machine(&settings, points, base->catalogue, number, part);
    add_terms(&settings, points, number);
    add_prices(&settings, offer);
    for (uint32_t i = 0; i < own_count; i++) {
        settings.items[settings.count++] = own[i];
    }
    *point = (struct study_point){.document = document,
                                  .label = label_of(arena, points, job, number, part),
                                  .sets = settings.items,
                                  .set_count = settings.count};
    const int64_t gpus = points->sizes[number][part].gpus;
    add_axis(point, "offer", offer->name, ABSENT);
    add_axis(point, "gpus", arena_printf(arena, "%" PRId64, gpus), (double)gpus);
    add_axis(point, "job", quote->jobs[job].name, ABSENT);
}

uint32_t quote_point(const struct quote_points *points, uint32_t job, uint32_t offer, uint32_t part)
{
    return job * points->per_job + points->first[offer] + part;
}

uint32_t quote_offer_of(const struct quote_points *points, uint32_t point, uint32_t *part)
{
    const uint32_t of_job = point % points->per_job;
    uint32_t offer = points->quote->offer_count - 1;
    while (points->first[offer] > of_job) {
        offer--;
    }
    *part = of_job - points->first[offer];
    return offer;
}

bool quote_points_of(struct arena *arena, const struct quote *quote, const struct study_base *base,
                     struct quote_points *points, struct diag *diag)
{
    bool is_good = true;
    *points = (struct quote_points){.quote = quote};
    for (uint32_t i = 0; i < quote->offer_count; i++) {
        points->first[i] = points->per_job;
        points->per_job += quote->offers[i].part_count;
        is_good = read_node_size(arena, base->catalogue, &quote->offers[i],
                                 &points->gpus_per_node[i], diag) &&
                  put_sizes(quote, i, points, diag) && is_good;
    }
    for (uint32_t job = 0; is_good && job < quote->job_count; job++) {
        struct study *values = &points->values[job];
        values->points = arena_array(arena, points->per_job, sizeof *values->points);
        values->count = points->per_job;
        for (uint32_t i = 0; i < points->per_job; i++) {
            fill_point(arena, points, base, job, &values->points[i]);
        }
    }
    return is_good;
}

static bool is_searched(const char *path)
{
    for (uint32_t axis = 0; axis < SEARCH_AXIS_COUNT_; axis++) {
        if (strcmp(search_axis_paths[axis], path) == 0) {
            return true;
        }
    }
    return false;
}

static bool never(const void *context, const char *path)
{
    (void)context;
    (void)path;
    return false;
}

bool quote_check_sets(struct arena *arena, const struct quote *quote, struct diag *diag)
{
    for (uint32_t i = 0; i < quote->offer_count; i++) {
        const struct doc_node *set = quote->offers[i].set;
        const struct doc_leaves leaves = set != NULL && set->kind == DOC_MAPPING
                                             ? doc_leaves_of(arena, set, never, NULL)
                                             : (struct doc_leaves){.count = 0};
        for (size_t k = 0; k < leaves.count; k++) {
            if (is_searched(leaves.items[k].path)) {
                diag_add(diag, DIAG_INPUT, &leaves.items[k].node->place,
                         "'%s' is looked for, so that an offer cannot set it",
                         leaves.items[k].path);
                diag_help(diag, "leave it out, write search: into the job, or take the jobs' own "
                                "layouts with --best none");
                return false;
            }
        }
    }
    return true;
}

static void add_policy(struct arena *arena, const struct quote_policy *policy,
                       struct study_point *point)
{
    if (policy->set_count == 0) {
        return;
    }
    const char **sets =
        arena_array(arena, point->set_count + (size_t)policy->set_count, sizeof *sets);
    memcpy(sets, point->sets, point->set_count * sizeof *sets);
    memcpy(sets + point->set_count, policy->sets, policy->set_count * sizeof *sets);
    point->sets = sets;
    point->set_count += policy->set_count;
}

bool quote_study(struct arena *arena, const struct quote_points *points,
                 const struct doc_node *document, const struct study_base *base,
                 struct study *study, struct diag *diag)
{
    const uint32_t jobs = points->quote->job_count;
    *study = (struct study){.kind = "quote"};
    study->points = arena_array(arena, (size_t)jobs * points->per_job, sizeof *study->points);
    for (uint32_t job = 0; job < jobs; job++) {
        for (uint32_t i = 0; i < points->per_job; i++) {
            const struct study_point *value = &points->values[job].points[i];
            const struct best_layout *layout =
                points->layouts != NULL ? &points->layouts[job * points->per_job + i] : NULL;
            struct study_point *point = &study->points[study->count++];
            if (layout != NULL && layout->is_found) {
                best_lay_out(arena, value, layout, point);
            } else {
                *point = *value;
            }
            if (points->policies != NULL) {
                add_policy(arena, &points->policies[job * points->per_job + i], point);
            }
        }
    }
    const bool is_good = study_of_points(arena, document, base, study, diag);
    study->title = points->quote->title;
    return is_good;
}
