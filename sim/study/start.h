/* A scenario to begin with: a model on some GPUs of a cluster, with the fastest of the usual
 * layouts (study/search), and a batch as models are trained with.
 */
#ifndef STUDY_START_H
#define STUDY_START_H

#include "study/search/search.h"
#include "study/search/search_space.h"
#include "study/study.h"

#define START_GAP 0.02 /* no usual layout is better by more */

struct start_asked {
    struct arena *arena;  /* of all that is found */
    const char *model;    /* a name or a file */
    const char *cluster;  /* likewise */
    const char *software; /* NULL: by the GPU */
    int64_t gpus;
    int64_t global;   /* sequences of a step; 0: about 4 million tokens */
    int64_t sequence; /* tokens of one; 0: the model's, at most 8,192 */
    double tokens;    /* of the whole training */
    bool any_will_do; /* the first layout that fits ends the search */
    const struct study_base *base;
    void (*shows)(void *context, const struct search_state *state); /* while it searches */
    void *context;
};

struct start_found {
    const char *precision; /* bf16, or what GPUs before it have */
    int64_t global, sequence;
    const char *title, *software; /* that follow */
    double gpu_memory_bytes, memory_margin;
    struct search_space space;
    struct search_result result; /* nothing is found where no layout fits */
};

/* False with messages: the input is wrong. */
MUST_USE bool start_find(struct start_asked *asked, struct start_found *found, struct diag *diag);

/* A text as YAML has it: in quotes where a character would mean something else there. */
const char *start_scalar(struct arena *arena, const char *text);

#endif
