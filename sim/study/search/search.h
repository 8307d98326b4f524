/* The best layout of a space, and the certificate that none is better: branch and bound.
 *
 * Every layout of the space (study/search/search_space) has a least memory and, if that may fit, a
 * least value (a step's time, or days, money, energy of the run) that no simulation falls below
 * (study/search/search_tree). Where that leaves a layout in, a walk through its pipeline makes it
 * closer; layouts are simulated in rising order of that, and those that do not fit by plan/memory's
 * own count are left out there. When the least bound left is not below
 * the best value simulated by more than the gap, nothing that is left can be better by more than
 * the gap: that is the certificate. Each layout has one fate:
 *
 *     memory      it cannot fit: by the least memory of its line or its own, or as counted
 *     bound       never simulated: its bound is not below the best value less the gap
 *     missed      it fits, and does not meet what is required
 *     simulated   and failed, where its process ended over it: then there is no certificate
 *
 * Layouts go to several processes in batches, and results are taken batch by batch: of a size that
 * does not depend on how many there are, or, where the best alone is looked for, as far as one
 * after the other would have been simulated. The outcome is the same whatever `jobs` is. Of equal
 * values the layout that is enumerated first is better; of those of different shards, the first
 * shard's.
 *
 * *Near misses*: a prediction of memory is off by some per cent, so that of a layout that is over
 * a GPU's memory by less nobody knows that it does not fit. Where a request says by how much
 * (`near`), such layouts are searched in turn as the others were, as if GPUs had so much more
 * memory, for one that is better than the best that fits; bounds leave out nearly all. They count
 * with what does not fit, and the certificate is of what fits.
 *
 * A space may be searched in shards, on machines that know nothing of each other: each has its part
 * of the families, its own best and its own certificate. Joined, the best is the best of all, and
 * nothing is left that any of them left below it: the gap is at most the worst of theirs.
 */
#ifndef STUDY_SEARCH_SEARCH_H
#define STUDY_SEARCH_SEARCH_H

#include "study/search/search_tree.h"

struct result;

/* A layout that was simulated and fits. */
struct search_found {
    struct relayout layout;
    double miss;  /* by how much it misses what is required, of the limit; 0: it meets all */
    double value; /* of what it is judged by; ABSENT: it missed in memory, and was not simulated */
    double least; /* its bound */
    double step_s;
    double memory_bytes; /* of the fullest GPU */
    uint64_t order;      /* of equal values the first is better */
};

struct search_counts {
    uint64_t layouts;   /* the sum of what follows */
    uint64_t by_line;   /* cannot fit: left out with a whole line */
    uint64_t by_memory; /* by their own least memory */
    uint64_t by_count;  /* as plan/memory counts */
    uint64_t by_bound;  /* of a search that was ended also what it did not come to */
    uint64_t missed;
    uint64_t simulated;
    uint64_t failed;
};

struct search_state {
    struct search_counts counts; /* by_bound: those that are left */
    bool is_growing;             /* layouts are still being counted */
    double grown;                /* of which share of the space they are, then */
    double best;                 /* ABSENT: none so far */
    double least;                /* of what is left; ABSENT: not yet known, or nothing is */
    double gap;                  /* 1 - least / best; ABSENT: not yet known */
};

/* What a layout must meet to be found. Where none does, all that fit are looked at, but for those
 * whose bound is above `value_most`. */
struct search_require {
    const char *text;         /* "days <= 60 and gpus <= 512" */
    bool is_of_run;           /* days, money, energy: runs are predicted, too */
    double value_most;        /* of what it is judged by; HUGE_VAL: any */
    double memory_bytes_most; /* of the fullest GPU, likewise: what needs more is not simulated */
    /* By how much a result misses, relative to the limit; 0: it meets all; ABSENT: it has not what
     * is asked for. */
    double (*miss)(const void *context, const struct result *result);
    const void *context;
};

struct search_request {
    const struct search_space *space;
    enum search_by by;
    double gap;    /* a fraction of the best value; 0: exact */
    double near;   /* a fraction of a GPU's memory; 0: near misses are not looked for */
    uint32_t jobs; /* processes; 0: as many as there are cores */
    struct shard shard;
    const struct search_require *require; /* NULL: nothing is */
    bool folds;
    bool is_exhaustive; /* everything that fits is simulated: for tests */
    bool is_of_lines;   /* lines are left out whole in small spaces, too: for tests */
    bool is_part;       /* what is sought is a first good layout, itself */
    /* Nobody looks at what else was found: what is known to be worse than the best is simulated
     * only until it is. */
    bool only_best;
    /* Simulated before all others, where they are of the space and may fit: what was best for
     * another value of a study is good here. */
    const struct relayout *first;
    uint32_t first_count;
    /* Asked now and then, at least for each batch; false ends the search. NULL: nobody looks. */
    bool (*goes_on)(void *context, const struct search_state *state);
    void *context;
};

/* Layouts that need a part of the margin, or are over the GPU's memory by at most `near` of it, and
 * are better than the best that fits by more than the gap. */
struct search_near {
    struct search_counts counts; /* layouts: by their least memory, or as counted, so near */
    struct search_found *found;  /* the best first; `order` is among themselves */
    uint32_t count;
    bool is_certified; /* none is better than the first by more than the gap */
};

/* The best value of those that need no more than so much: of a GPU's memory, what was best without
 * the margin. ABSENT: none does. */
double search_near_within(const struct search_near *near, double memory_bytes);

struct search_result {
    struct search_counts counts;
    struct search_found *found; /* the best first */
    uint32_t found_count;
    struct search_found *missed; /* what is required, the least miss first; not of shards' files */
    uint32_t missed_count;
    double best, least, gap; /* as above, at the end */
    bool is_certified;       /* the gap is at most the one asked for */
    bool is_ended;           /* by `goes_on` */
    const char *failure;     /* of the first layout that failed; NULL */
    struct relayout *lost;   /* that failed, the first SEARCH_LOST_MAX of them; not of shards */
    uint32_t lost_count;
    uint64_t families;
    struct search_lacking lacking;
    struct relayout nearest; /* to fitting, where nothing fits */
    double nearest_bytes;
    struct search_near near;
};

/* So many layouts that failed are kept by name; all are counted. */
enum { SEARCH_LOST_MAX = 100 };

/* So many near misses are tried before it is given up that one is the best. */
enum { SEARCH_NEAR_TRIED_MAX = 4096 };

/* The best that was found; where none was, the one that misses least what is required; NULL. */
const struct search_found *search_first(const struct search_result *result);

/* What fits leaves `memory.margin` of the base free; near misses are those that do not, too. Memory
 * of the result is the arena's. */
void search_run(struct arena *arena, const struct search_request *asked,
                struct search_result *result);

/* What the shards of a space have found and left, together. */
void search_join(struct arena *arena, const struct search_result *parts, uint32_t count, double gap,
                 struct search_result *whole);

/* The best `top` of what was found, then those that nothing found beats both in value and in
 * memory; at most SEARCH_FRONT_MAX of them. */
enum { SEARCH_FRONT_MAX = 50 };
const struct search_found *search_choose(struct arena *arena, const struct search_result *result,
                                         uint32_t top, uint32_t *count);

/* The best of a search, then those of its near misses that take less memory than all before: at
 * most SEARCH_NEAR_SHOWN. */
enum { SEARCH_NEAR_SHOWN = 3 };
const struct search_found *search_choose_near(struct arena *arena, const struct search_near *near,
                                              uint32_t *count);

/* Why the layout does not fit, as `stoker run` says it; "" when it does or cannot be. */
const char *search_lack(struct arena *arena, const struct search_space *space,
                        const struct relayout *layout);

#endif
