/* The room study: many predictions that belong together.
 *
 * Invariant: A point is resolved, predicted and stored by itself, so what it gives does not
 * depend on -j, on shards or on what was predicted before it. What a search leaves out is left
 * out by a bound that no layout beats: its best is the best, or the gap is told.
 *
 * Lives here: points of sweeps and variants, searches of layouts and policies, the best of each
 * value, what-ifs, portfolios, budgets.
 * May come in: base, des, input, plan, hw, train, run, store, bands.
 *
 * Decided in one place each:
 *     which points share a transaction                              study.c
 *     how a point is evaluated in a worker                          evaluate.c
 *     which layouts a search looks through, and which are the same  search/search_space.h
 *        what a layout needs of memory at least                     search/search_memory.h
 *        when it may end; its near misses                           search/search.c
 *     how keys of a layout that are `auto` are found                search/search_auto.c
 *     what each value's best layout costs at the others             best.c
 *     what `whatif` asks: the rows of                               whatif.c
 *     what a scenario leaves open, and that would move its step     unsaid.c
 *     why a measured step is another than the predicted one         why.h
 *        which numbers of a machine are asked about                 why_rates.c
 *     what a fabric loses of a portfolio, and what its ports cost   portfolio.h
 *     what an offer is as points, and when its jobs are done         quote/quote_plan.h
 *        who wins, and what is worth measuring before it is signed  quote/quote_found.h
 *     which policies of a run can be told apart                     policy/policy_trial.c
 *     in what share of draws which point takes least                wins.h
 *     what would change the answer of a comparison                  flip/flip.h
 *     what follows from figures of a training without a layout      budget.h
 *        what is taken where nobody says it                         budget_usual.h
 *        which FLOPs an MFU is of                                   budget_counted.h
 *     what points must meet, and by how much one misses             requirements.h
 */

/* Studies: many predictions that belong together.
 *
 * A study is a list of points; a point is a document with some keys set. They come from
 *   - a scenario's `sweep:` mapping: the cross product of its lists, the last
 *     axis fastest:      sweep: {cluster.nics.bandwidth: [50 Gbps, 100 Gbps], batch.micro: [1, 2]}
 *   - a scenario's `variants:` list:   variants: [{name: "H100", set: {cluster: h100-3200}}, ...]
 *     (both keys together: every variant with every sweep point)
 *   - several scenario files to compare, each with the points of its own sweep: and variants:
 *
 * Paths may be dotted (parallel.pp: 16) or nested (parallel: {pp: 16}); a value is a
 * scalar or a whole list. Variants are an axis named "variant". What the command
 * line sets holds for all points; what a variant and then the sweep set goes before it.
 *
 * Each point is resolved, predicted and stored on its own: one that cannot be
 * (sizes that do not divide, out of GPU memory) is stored as infeasible with the
 * reason, and the rest goes on. That is a verdict of the model, and the only one. What
 * kept a point from being predicted (wrong input, a file that could not be read, a process
 * that ran out of memory or was killed) makes it a failed one, which the next run tries
 * again. A study that was stopped goes on where it was: points already in the store are
 * not computed again. They are stored together, up to 100 or those of 200 ms in one transaction:
 * a point is done when that is, and what kills the study costs at most so many. The store is
 * the only place results live; tables and plots read it back.
 *
 * Several machines may share a study: each runs a shard of the points and stores it in a file
 * of its own, under the key of the whole. Files are merged (store_merge); then all points are
 * there.
 *
 * Of a point whose layout has keys that are `auto` these are found first (study/search/search_auto)
 * and set as others are: each point has its own.
 *
 * A study's key is the hash of its resolved points, so that editing a file of
 * the catalogue makes another study and never mixes old with new points.
 */
#ifndef STUDY_STUDY_H
#define STUDY_STUDY_H

#include "base/shard.h"
#include "input/features/features.h"
#include "store/store.h"

struct scenario;

#define STUDY_POINTS_MAX 100000
#define STUDY_VARIANT_AXIS "variant"

struct auto_layout;
struct search_state;

struct study_point {
    const char *label; /* "50 Gbps, micro 1" or the variant's name */
    const struct doc_node *document;
    const char **sets; /* "path=value" */
    uint32_t set_count;
    uint32_t axis_count;
    const char *axes[STORE_AXES_MAX];
    const char *value_texts[STORE_AXES_MAX];
    double values[STORE_AXES_MAX];   /* SI if the text is a quantity or a number, else ABSENT */
    const struct scenario *scenario; /* resolved; NULL: study_point_resolve does it again */
    int64_t need_bytes[2];           /* of our memory, by whether it folds; train/need */
    const struct result *result;     /* predicted already, as run_predict does; NULL: it is to be */
    const char *failure;      /* it was tried in vain, and why: it is stored as failed; NULL */
    struct feature_set lacks; /* what it uses and its software's release has not; zeros: nothing */
    uint64_t software;        /* a hash of that software's name */
    bool has_even_router;     /* experts, to which tokens are assumed to spread evenly */
    const struct auto_layout *layout; /* NULL: no key is auto; found keys are among the sets */
};

struct study {
    char key[17]; /* 16 hex digits */
    const char *title;
    const char *kind; /* "sweep", "variants", "compare", "search" */
    struct study_point *points;
    uint32_t count;
};

/* What a mapping sets (`set:` of a variant), as "path=value", in a copy of the document. */
const char **study_sets_of(struct arena *arena, const struct doc_node *document,
                           const struct doc_node *mapping, uint32_t *count);

/* What all points share. */
struct study_base {
    const struct catalogue *catalogue;
    const char *const *sets; /* of the command line */
    uint32_t set_count;
    const char *build; /* part of the keys of runs and study */
    bool any_software; /* layouts that the software's release has not are looked for, too */
    uint32_t jobs;     /* processes of the searches for keys that are auto; 0: one for each core */
    /* Told now and then what such a search is at; NULL behind its end. NULL: nobody looks. */
    void (*searches)(void *context, const struct search_state *state);
    void *context;
};

/* The point's scenario. Those of the first points are kept from when the study was expanded, as
 * many as fit into a bounded memory, for whoever asks: the processes that predict, and who
 * compares. Of the others it is made in `arena`; NULL, with messages, when it cannot be. */
MUST_USE const struct scenario *study_point_resolve(const struct study_point *point,
                                                    struct arena *arena,
                                                    const struct catalogue *catalogue,
                                                    struct diag *diag);

/* The last word of an axis' path, or all of it when another axis of the point ends alike. */
const char *study_axis_head(const struct study_point *point, uint32_t axis);

/* True when the document has sweep: or variants:. */
bool study_is_asked(const struct doc_node *document);

/* Expands a document. An input error when the study itself is wrong (more than
 * STUDY_POINTS_MAX points, an axis without values), and when not one of its points can
 * be read: then the messages are those of the first point. A failure when a file cannot be read
 * to its end: the study's key would be another one's. */
MUST_USE bool study_expand(struct arena *arena, const struct doc_node *document,
                           const struct study_base *base, struct study *study, struct diag *diag);

/* The points of a document's sweep: and variants: alone, for who makes a study of several
 * (study_of_points). */
MUST_USE bool study_expand_points(struct arena *arena, const struct doc_node *document,
                                  const struct study_base *base, struct study *study,
                                  struct diag *diag);

/* False, with its messages, where the input of a point is wrong or cannot be read. What is auto of
 * its layout is found. */
MUST_USE bool study_point_check(struct arena *arena, struct study_point *point,
                                const struct study_base *base, struct diag *diag);

/* Points and a kind that are filled already, of a document: gives them a title and a key. False: a
 * file could not be read, or none of them can be. */
MUST_USE bool study_of_points(struct arena *arena, const struct doc_node *document,
                              const struct study_base *base, struct study *study,
                              struct diag *diag);

/* Of the document's study the scenario of the first point that can be; NULL: none, or it is no
 * study. Nothing is told. */
const struct scenario *study_first_scenario(struct arena *arena, const struct doc_node *document,
                                            const struct study_base *base);

/* What the first point has of the kind: where points of several files have anchors and houses of
 * their own, those of the others are in their scenarios. The arena's; NULL: none. */
struct study_first {
    const struct anchor *anchor;
    const struct house *house;
};
struct study_first study_first(struct arena *arena, const struct study *study,
                               const struct catalogue *catalogue);

/* One point per document, labelled by its title; of one with sweep: or variants:, each of its
 * points, labelled "title: point". An input error in any document ends it. */
MUST_USE bool study_of_documents(struct arena *arena, const struct doc_node *const *documents,
                                 uint32_t count, const struct study_base *base, struct study *study,
                                 struct diag *diag);

/* What is known before the first point is run. */
struct study_start {
    uint32_t jobs, jobs_wanted; /* processes: fewer than wanted where nobody said how many */
    int64_t need_bytes;         /* of the point that may need most memory, about */
    const char *label;          /* its */
    int64_t machine_bytes;
};

struct study_request {
    const struct catalogue *catalogue;
    const char *build; /* of the program: 16 hex digits */
    bool folds;
    uint32_t jobs;      /* processes that predict; 0: as many as the machine has cores */
    struct shard shard; /* other points are not looked at */
    void (*on_point)(void *context, uint32_t done, uint32_t count, const char *label,
                     enum point_status status, bool was_stored);      /* NULL: nobody looks */
    void (*on_start)(void *context, const struct study_start *start); /* NULL: the same */
    void *context;
};

struct study_outcome {
    uint32_t wanted; /* points: of the shard, or all */
    uint32_t ok, infeasible, failed;
    uint32_t reused; /* of these, found in the store */
};

/* Runs the points that are not stored yet, in other processes: one that kills its process has
 * failed, and the others go on. What is stored does not depend on how many processes there are, but
 * for the order in the file. False only when the store fails. */
MUST_USE bool study_run(const struct study *study, const struct study_request *request,
                        struct store *store, struct study_outcome *outcome, struct diag *diag);

#endif
