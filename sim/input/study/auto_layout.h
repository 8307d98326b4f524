/* A layout found for the keys that are auto (input/study/auto_keys), and a scenario with it.
 *
 * Who loads a scenario gives a hook that finds it, so that loading knows of no search:
 *
 *     struct auto_layout found;
 *     struct scenario *scenario = auto_layout_resolve(arena, document, &hook, &found, diag);
 *
 * What is found is put into the scenario as --set would do it, so that the run is that of the
 * scenario which says it.
 */
#ifndef INPUT_STUDY_AUTO_LAYOUT_H
#define INPUT_STUDY_AUTO_LAYOUT_H

#include "input/relayout.h"
#include "input/study/auto_keys.h"

struct catalogue;

/* Keys that are auto, and those that are found beside them. */
enum { AUTO_SETS_MAX = 24 };

/* Strings are the arena's. */
struct auto_layout {
    bool is_asked; /* some key is auto; else nothing else holds */
    bool is_found;
    struct relayout layout;
    const char *label;               /* "tp 8, micro 2": the keys that had a choice */
    const char *sets[AUTO_SETS_MAX]; /* "parallel.tp=8" */
    uint32_t set_count;
    uint64_t layouts;       /* among so many */
    double margin;          /* of a GPU's memory, left free */
    double gap;             /* none of these is better by more than that fraction */
    const char *left_out;   /* what the software has not: "12 layouts that ..."; NULL: nothing */
    const char *lack;       /* where nothing fits: the nearest, and what it lacks; else NULL */
    const char *impossible; /* why no layout can be, whatever it is; NULL: some may */
};

/* What is set besides, and who finds the rest. */
struct auto_hook {
    const struct catalogue *catalogue;
    const char *const *sets; /* "path=value" */
    uint32_t set_count;
    /* Fills `found`, also where no key is auto; false with a message: the input is wrong. */
    bool (*find)(const void *context, struct arena *arena, const struct doc_node *document,
                 struct auto_layout *found, struct diag *diag);
    const void *context;
};

/* The scenario with what is found. NULL, with messages: the input is wrong or nothing fits. */
struct scenario *auto_layout_resolve(struct arena *arena, const struct doc_node *document,
                                     const struct auto_hook *hook, struct auto_layout *found,
                                     struct diag *diag);

/* What is set, and behind it what is found; *count is how many, before and after. */
const char *const *auto_layout_sets(struct arena *arena, const char *const *sets, uint32_t *count,
                                    const struct auto_layout *found);

/* That nothing fits, as an infeasible plan. */
void auto_layout_tell_lack(const struct auto_layout *found, struct diag *diag);

/* "layout found by search among 1,234: tp 8, micro 2 (--set ...); none is better by more than 1 %".
 */
const char *auto_layout_text(struct arena *arena, const struct auto_layout *found);

#endif
