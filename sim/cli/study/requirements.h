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
 *     struct requirements requirements;
 *     if (requirements_read(session, documents, count, &requirements)) { ... the points are run ...
 *         requirements_add_point(&requirements, point, row);   // of each, in JSON
 *         requirements_add(&requirements, session, &near, sheet);     // below the table
 *     }
 */
#ifndef CLI_STUDY_REQUIREMENTS_H
#define CLI_STUDY_REQUIREMENTS_H

#include "cli/study/near_points.h"

struct against;

struct requirement {
    const char *text;                   /* "days <= 60", as written, with one blank on each side */
    struct place place;                 /* in a file, or "--require days<=60" */
    enum diag_kind kind;                /* of messages about it: DIAG_INPUT or DIAG_USAGE */
    const struct figure_metric *metric; /* one of gpus is not in plot_metric_table */
    bool is_least;                      /* >= */
    double limit;                       /* in the unit in which the metric is stored */
};

struct requirements {
    struct requirement *items;
    uint32_t count;
};

/* A metric that may be required: one of plot_metric_table, or gpus; NULL: there is none. */
const struct figure_metric *requirement_metric_find(const char *name);
/* As it is stored; ABSENT: the point does not have it. */
double requirement_metric_value(const struct figure_metric *metric, const struct store_row *row);

/* --require, a member of the session. */
extern const struct command_option requirement_options[];

/* Those of the documents, then those of the command line. False, with messages, when one is wrong:
 * then the others were looked at, too. */
MUST_USE bool requirements_read(const struct session *session,
                                const struct doc_node *const *documents, uint32_t count,
                                struct requirements *requirements);

/* The point has a result that meets all. */
bool requirements_are_met(const struct requirements *requirements, const struct store_row *row);

/* As a search takes them (study/search/search.h), judged by that metric; they outlive it. NULL:
 * nothing is required. */
struct search_require;
const struct search_require *requirements_of_search(const struct requirements *requirements,
                                                    struct arena *arena, const char *judge);

/* False, with a message each: something of a run is required, and the scenario has none. Told
 * before a search, which would look through all of a space. */
MUST_USE bool requirements_check_run(const struct requirements *requirements, bool has_run,
                                     struct diag *diag);

/* "days <= 60 and gpus <= 512". */
const char *requirements_text(const struct requirements *requirements, struct arena *arena);

/* Puts into a session what its plots show of them, when its rows are there. */
void requirements_prepare(const struct requirements *requirements, struct session *session);

/* For plots: the limits, and which rows with a result miss any (NULL: nothing is required). */
const struct plot_limit *requirements_limits(const struct requirements *requirements,
                                             struct arena *arena);
const bool *requirements_misses(const struct requirements *requirements,
                                const struct store_row *rows, uint32_t count, struct arena *arena);

/* The head of a column of what each point misses; NULL: nothing is required. */
const char *requirements_head(const struct requirements *requirements);
/* "yes", or "days +20 %", the worst miss; NULL: it has no result, or nothing is required. */
const char *requirements_cell(const struct requirements *requirements, const struct store_row *row,
                              struct arena *arena);

/* `meets` in a point's object: null without a result; nothing at all where nothing is required. */
void requirements_add_point(const struct requirements *requirements, struct sheet *point,
                            const struct store_row *row);

/* Below the table, and in JSON: `requirements[]`, and the best point that meets all, that with the
 * fewest GPUs that does, or the nearest miss. Best is by the first --metric, else as
 * report/winners has it. Where no point meets all, and where no point has a metric at all, there is
 * an error in the diag with the limits that would do, which makes the exit status. Where no point
 * meets all, of those that miss the memory nearly the one that would, if there is one. `against` is
 * of the session's rows. */
void requirements_add(const struct requirements *requirements, const struct session *session,
                      const struct against *against, const struct near_points *near,
                      struct sheet *sheet);

#endif
