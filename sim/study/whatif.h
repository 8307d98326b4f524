/* What-if: the changes of one scenario that an architect would ask about, each as --set would say
 * it, so that whoever likes a row runs it.
 *
 *     ideal     a resource that costs nothing (input/study/ideal): the most there is
 *     purchase  twice a link, no oversubscription, more NICs, faster storage, a slow GPU replaced
 *     free      routing, checkpoint mode, recomputation, no offload, precision, microbatch,
 *               layout: one key of it, and the best of all
 *     margin    a link 5 % better and worse: what a unit of it is worth here
 *     job       another job: its batch, its sequences, its GPUs, how many. No remedy, but what may
 *               turn a comparison (study/flip)
 *
 * A row of the table in whatif.c is one question; it looks at the scenario and says its keys, or
 * that it does not arise. Whether what it asks for divides and fits is not its business: points of
 * a study are judged by themselves.
 */
#ifndef STUDY_WHATIF_H
#define STUDY_WHATIF_H

#include "study/study.h"

enum whatif_group {
    WHATIF_FREE,
    WHATIF_PURCHASE,
    WHATIF_IDEAL,
    WHATIF_MARGIN,
    WHATIF_JOB,
    WHATIF_GROUPS_
};
extern const char *const whatif_group_names[WHATIF_GROUPS_];

enum { WHATIF_SETS_MAX = 20 };

struct whatif_remedy {
    const char *name;
    bool is_found; /* the best layout: its name does not say which */
    enum whatif_group group;
    const char *sets[WHATIF_SETS_MAX]; /* "path=value" */
    uint32_t set_count;
    const char *each; /* a purchase: what is bought, "NIC"; NULL: not by the piece */
    int64_t pieces;
    double costs_usd;     /* of a piece, to buy, with its part of the switches; ABSENT: no price */
    const char *resource; /* a margin: "network"; its partner is the next or the one before */
    const char *unit;     /* "100 Gbps a NIC"; no more than a fifth of what is there */
    double units;         /* by which it lies above the scenario's own; below 0: below */
};

enum { WHATIF_GPUS_MAX = 2 };

/* All of some groups (1 << group) that arise, in the order of the table, with room for one more and
 * WHATIF_GPUS_MAX; the strings are the arena's. */
struct whatif_remedy *whatif_remedies(struct arena *arena, const struct scenario *scenario,
                                      unsigned groups, uint32_t *count);

/* Of the group `job` two more: GPUs of the generations after and before in the same boxes. Of those
 * that are there (not announced) the next peak in 16 bits that is 1.2 times the scenario's at
 * least, and the next that is as much less; of one peak those whose memory is nearest, then the
 * faster memory. Into `remedies`; how many there are. */
uint32_t whatif_gpus(struct arena *arena, const struct catalogue *catalogue,
                     const struct scenario *scenario, struct whatif_remedy *remedies);

/* One more: the best of the usual layouts (study/search/search_auto), by all keys in which it is
 * another than the scenario's own. False: it is none, nothing fits, or the run has stages, each
 * with a layout of its own. */
MUST_USE bool whatif_layout(struct arena *arena, const struct doc_node *document,
                            const struct study_base *base, const struct scenario *scenario,
                            struct whatif_remedy *remedy);

/* Leaves out what asks for more than the scenario's software has (input/features), and the scenario
 * does not already; how many are left. `left_out` says which, "recompute selective (recompute
 * norm), ..."; NULL: none. */
struct whatif_asked {
    const struct doc_node *document;
    const struct study_base *base;
    const struct scenario *scenario;
};
uint32_t whatif_obey(struct arena *arena, const struct whatif_asked *asked,
                     struct whatif_remedy *remedies, uint32_t count, const char **left_out);

/* What a piece of each purchase costs where it is of the network: the bill of material with it less
 * that without it (input/network/network_bill), over the pieces. By the scenario's prices, else by
 * the catalogue's. */
void whatif_price(struct arena *arena, const struct whatif_asked *asked,
                  struct whatif_remedy *remedies, uint32_t count);

/* A study of the scenario with some remedies each, besides `with` of them that hold in all points.
 * False as study_of_points. */
struct whatif_question {
    const struct doc_node *document;
    const struct whatif_remedy *remedies;
    bool has_now;          /* point 0 is the scenario as it is, without any of `asked` */
    const uint32_t *asked; /* numbers of remedies, of the points that follow */
    uint32_t asked_count;
    const uint32_t *with;
    uint32_t with_count;
};
MUST_USE bool whatif_study(struct arena *arena, const struct whatif_question *question,
                           const struct study_base *base, struct study *study, struct diag *diag);

#endif
