/* What points must meet: "days <= 60", "cost_usd <= 2M USD", "gpus <= 512".
 *
 * A requirement is a metric of `stoker list metrics`, or gpus, `<=` or `>=`, and a value with its
 * unit where the metric has one; days and months may be plain numbers. Requirements stand in the
 * scenario (`require: [days <= 60]`) and on the command line (--require 'days<=60'); all hold. A
 * point that has no result, or does not have the metric, does not meet it.
 *
 * By how much a point misses is told relative to the limit: 72 days miss 60 by 20 %. (Of a limit of
 * 0 every miss is a whole one.) The nearest miss is the point whose worst miss is least.
 *
 * Nothing here is a matter of chance or of bands: a prediction on the limit's good side meets it.
 *
 *     const struct requirements_asked asked = {documents, 1, texts, text_count};
 *     struct requirements requirements;
 *     if (requirements_read(arena, &asked, &requirements, diag)) {
 *         is_good = requirements_are_met(&requirements, row);   // of each point
 *     }
 */
#ifndef STUDY_REQUIREMENTS_H
#define STUDY_REQUIREMENTS_H

#include "base/diag.h"
#include "input/doc/doc.h"
#include "run/figures.h"
#include "store/store.h"

struct requirement {
    const char *text;                   /* "days <= 60", as written, with one blank on each side */
    struct place place;                 /* in a file, or "--require days<=60" */
    enum diag_kind kind;                /* of messages about it: DIAG_INPUT or DIAG_USAGE */
    const struct figure_metric *metric; /* one of gpus is not in store/store_metrics */
    bool is_least;                      /* >= */
    double limit;                       /* in the unit in which the metric is stored */
};

struct requirements {
    struct requirement *items;
    uint32_t count;
};

/* Where requirements stand. */
struct requirements_asked {
    const struct doc_node *const *documents; /* each with its `require`, if it has one */
    uint32_t document_count;
    const char *const *texts; /* of the command line */
    uint32_t text_count;
};

/* Those of the documents, then those of the command line, each once; in the arena. False, with
 * messages, when one is wrong: then the others were looked at, too. */
MUST_USE bool requirements_read(struct arena *arena, const struct requirements_asked *asked,
                                struct requirements *requirements, struct diag *diag);

/* A metric that may be required: one of store/store_metrics, or gpus; NULL: there is none. */
const struct figure_metric *requirement_metric_find(const char *name);
/* As it is stored; ABSENT: the point does not have it. */
double requirement_metric_value(const struct figure_metric *metric, const struct store_row *row);

/* "days <= 60 and gpus <= 512". */
const char *requirements_text(const struct requirements *requirements, struct arena *arena);

/* False, with a message each: something of a run is required, and the scenario has none. Told
 * before a search, which would look through all of a space. */
MUST_USE bool requirements_check_run(const struct requirements *requirements, bool has_run,
                                     struct diag *diag);

/* As a search takes them (study/search/search.h), judged by that metric; they outlive it. NULL:
 * nothing is required. */
struct search_require;
const struct search_require *requirements_of_search(const struct requirements *requirements,
                                                    struct arena *arena, const char *judge);

/* ---- a point --------------------------------------------------------------------------------- */

/* By how much a point misses, relative to the limit; at most 0: it meets; ABSENT: it has none. */
double requirement_miss(const struct requirement *requirement, const struct store_row *row);

/* The point has a result that meets all. */
bool requirements_are_met(const struct requirements *requirements, const struct store_row *row);

/* The requirement that a point with a result misses most, one that it does not even have before all
 * others, and by how much; NULL: it meets all. */
const struct requirement *requirements_worst(const struct requirements *requirements,
                                             const struct store_row *row, double *miss);

/* ---- all points ------------------------------------------------------------------------------ */

/* Which rows with a result miss any, [count]; NULL: nothing is required. */
const bool *requirements_misses(const struct requirements *requirements,
                                const struct store_row *rows, uint32_t count, struct arena *arena);

/* False, with a message each, where no point that has a result has the metric. */
MUST_USE bool requirements_check_known(const struct requirements *requirements,
                                       const struct store_row *rows, uint32_t count,
                                       struct diag *diag);

/* The row whose worst miss is least; NULL: none has all metrics. */
const struct store_row *requirements_nearest(const struct requirements *requirements,
                                             const struct store_row *rows, uint32_t count);

/* The first row that meets all; NULL: none does. */
const struct store_row *requirements_first_met(const struct requirements *requirements,
                                               const struct store_row *rows, uint32_t count);

#endif
