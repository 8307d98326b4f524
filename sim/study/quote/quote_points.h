/* A quote as points of a study: each job on what of each offer is there from each delivery on.
 *
 * Points lie job by job, of a job offer by offer, of an offer part by part: all that have come by
 * then. A point is the job's scenario with the offer's settings:
 *
 *     cluster, gpu, gpus, cluster.network      what is offered
 *     price.terms, price.gpu_hour              rent
 *     price.terms: own, price.own              bought: capital, life, residual, support
 *     price.electricity, price.pue, ...        what the offer says
 *     set                                      the rest
 *     run.queue: 0 s                           who waits for delivery waits in no queue
 *
 * so that `stoker run` on it gives the point. What is bought is used all the time that it is there
 * (price.own.utilisation: 100 %): what waits for more is paid, too (study/quote/quote_plan). Its
 * price is that of an offer with its network (price.own.network: 0 %).
 */
#ifndef STUDY_QUOTE_QUOTE_POINTS_H
#define STUDY_QUOTE_QUOTE_POINTS_H

#include "input/study/quote_keys.h"
#include "study/study.h"

struct best_layout;
struct quote_policy;

/* What is there from a part on. */
struct quote_size {
    int64_t gpus;
    int64_t day;
};

struct quote_points {
    const struct quote *quote;
    struct quote_size sizes[QUOTE_OFFERS_MAX][QUOTE_PARTS_MAX];
    int64_t gpus_per_node[QUOTE_OFFERS_MAX];
    uint32_t first[QUOTE_OFFERS_MAX]; /* of a job's points, the offer's first */
    uint32_t per_job;
    struct study values[QUOTE_JOBS_MAX]; /* of each job, without a layout that was looked for */
    struct best_layout *layouts;         /* [jobs * per_job]; NULL: as the jobs have them */
    struct quote_policy *policies;       /* the same (quote_policies.h) */
};

/* The number of a point. */
uint32_t quote_point(const struct quote_points *points, uint32_t job, uint32_t offer,
                     uint32_t part);

/* The offer and the part of one. */
uint32_t quote_offer_of(const struct quote_points *points, uint32_t point, uint32_t *part);

/* USD of a GPU for an hour for which it is there, without energy: rent, or what owning comes to. */
double quote_hour_usd(const struct quote_points *points, uint32_t offer);
/* What a GPU is bought for, and what of that is written off in an hour; 0: it is rented. */
double quote_gpu_usd(const struct quote_points *points, uint32_t offer);
double quote_written_usd(const struct quote_points *points, uint32_t offer);

/* False, with messages: a cluster cannot be read, an offer has no size. The quote outlives them. */
MUST_USE bool quote_points_of(struct arena *arena, const struct quote *quote,
                              const struct study_base *base, struct quote_points *points,
                              struct diag *diag);

/* False, with a message, where an offer sets a key of the layout that is looked for. */
MUST_USE bool quote_check_sets(struct arena *arena, const struct quote *quote, struct diag *diag);

/* The study of all of them, laid out as `layouts` have it, with their `policies`.
 * False as study_of_points. */
MUST_USE bool quote_study(struct arena *arena, const struct quote_points *points,
                          const struct doc_node *document, const struct study_base *base,
                          struct study *study, struct diag *diag);

#endif
