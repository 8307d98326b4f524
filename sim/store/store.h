/* The room store: results in a file, and nobody else knows SQLite.
 *
 * Invariant: A run's key is the hash of its resolved scenario, the sources and the seed: what is
 * under a key is what anybody would get, or an error that says so. What was reported as done
 * survives kill -9. What does not exist is NULL, and a file that another wrote is refused where
 * it cannot be ours.
 *
 * Lives here: tables and views, reading and writing, merging, files of older schemas.
 * May come in: base, input, train, run.
 *
 * Decided in one place each:
 *     what a results file holds: the lists of columns in  store_rows.c
 *     what one that anybody wrote may hold                store_check.h
 *     what runs have in common and is stored once: texts  store_texts.c
 *        scenarios                                        store_scenario.c
 *     files of older schemas                              store_older.c
 */

/* The results file: SQLite, the only module that knows it.
 *
 * Tables and views (STRICT, units in column names, user_version = schema). A value that does not
 * exist is NULL: step time, MFU and what follows from them where the plan does not fit, days and
 * money where no `run:` asked for them, a link where none is used, what files of older schemas did
 * not say (path_ns). All other columns are NOT NULL.
 *   run          one prediction; key = hash of (resolved scenario, build, seed); a build is the
 *                hash of the sources that predicted it, so that results of two models stand side
 *                by side; scenario_key is the same for all builds
 *   scenario     (run_key, text): each run's resolved scenario
 *   breakdown    (run_key, cause, gpu_ns of all GPUs, path_ns of the critical path); this and the
 *                next ones only of plans that fit
 *   link_use     (run_key, kind of link): the busiest one and how much it was used
 *   link_load    (run_key, link): the busiest links of each kind
 *   traffic      (run_key, stream, number): each kind of transfer, how it was done
 *   job          (run_key, scenario, number): jobs on the same fabric, alone and together
 *   account      (run_key, account): the run's wall-clock and energy by what was done; of runs
 *   assumption   (run_key, name, value, reason); of every run
 *   study        one sweep or comparison: (key, title, kind, build, point_count), of which only
 *                a shard may be in the file
 *   point        (study_key, number, label, axes as JSON, run_key, status, message)
 *   point_axis   (study_key, number, axis_number, axis, value_text, value) for plots
 *
 * Storing is idempotent: the same key again is compared with what is there, and a difference is an
 * error that names the columns (titles, what the engine took and what was assumed aside: the first
 * told stays). Only a point that failed may be stored again with another outcome. Each run is one
 * transaction with the journal on disk, and so are some points of a study: what was reported as
 * done survives kill -9. A file of schema 12 or a later one is brought to this one's when it is
 * opened (store_older). One of another schema version, another application or a corrupt one is
 * refused with a message that names the remedy; nothing is ever dropped.
 * Points of a study are alike, so what they share is stored once: scenario and all between it and
 * study are views of tables NAME_rows, which have numbers of texts in place of these (store_texts),
 * and of a scenario that is like another what differs (store_scenario). A point is 3.9 kB.
 * A full disk is a DIAG_FAILURE with SQLite's words; the store stays usable. A value that cannot be
 * what we wrote (NULL or infinite where no such is, another kind, a negative count) is a DIAG_INPUT
 * that names table, row and column, by whichever function reads it.
 *
 * Errors while reading go to the diag that was given to store_open; a reader
 * then gives what it gives when there is nothing, and so does every later one: the first error is
 * told, and no other waited for.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include "base/diag.h"
#include "run/account.h"
#include "run/figures.h"
#include "train/metrics.h"

struct result;
struct store;

#define STORE_AXES_MAX 8

enum point_status { POINT_OK, POINT_INFEASIBLE, POINT_FAILED };
extern const char *const point_status_names[3];

/* Opens or creates; makes missing directories of the path. NULL on error.
 * `arena` and `diag` outlive the store. */
MUST_USE struct store *store_open(struct arena *arena, const char *path, struct diag *diag);

/* The same for commands that only read: a file that is missing is an error. */
MUST_USE struct store *store_open_existing(struct arena *arena, const char *path,
                                           struct diag *diag);
/* One that ends with the program, for who reads results back and keeps none. */
MUST_USE struct store *store_open_in_memory(struct arena *arena, struct diag *diag);
void store_close(struct store *store); /* NULL is allowed */

/* Whether it can be written to: told before work is done whose results would have no place. */
MUST_USE bool store_check_writable(struct store *store, struct diag *diag);

/* Stores a result (run, breakdown, assumptions). */
MUST_USE bool store_run(struct store *store, const struct result *result, struct diag *diag);

/* One point of a study. */
struct store_point {
    int64_t number;    /* from 0 */
    const char *label; /* "50 Gbps" or "batch 512, micro 2" */
    uint32_t axis_count;
    const char *axes[STORE_AXES_MAX]; /* "cluster.nics.bandwidth" */
    const char *value_texts[STORE_AXES_MAX];
    double values[STORE_AXES_MAX]; /* SI; ABSENT when the value is a word */
    enum point_status status;
    const char *message;         /* why not; NULL or "" if ok */
    const struct result *result; /* NULL unless ok or infeasible with a prediction */
};

/* A sweep or comparison, before its points. */
struct store_study {
    const char *key, *title, *kind;
    const char *build;   /* that predicts its points */
    int64_t point_count; /* of all shards */
};

MUST_USE bool store_study(struct store *store, const struct store_study *study, struct diag *diag);
MUST_USE bool store_point(struct store *store, const char *study_key,
                          const struct store_point *point, struct diag *diag);

/* A point as bytes, for a process that predicts and may not write the store. They mean something to
 * this build only. */
struct store_packed {
    const void *bytes;
    size_t size_bytes;
};
struct store_packed store_pack(struct arena *arena, const char *study_key,
                               const struct store_point *point);

/* store_point for several that were packed, in one transaction: all of them or none. */
MUST_USE bool store_packed(struct store *store, const struct store_packed *packed, uint32_t count,
                           struct diag *diag);

/* The last thing that failed did so because another program kept the file locked for all the 20 s
 * for which it was waited for. */
bool store_is_locked(const struct store *store);

/* Takes a study and its points away, of which another one stands in their place; runs stay. */
MUST_USE bool store_forget_study(struct store *store, const char *key, struct diag *diag);

/* True when the point is there already (with any status but failed); then *status is set. */
bool store_has_point(struct store *store, const char *study_key, int64_t number,
                     enum point_status *status);

/* Adds all that the files of `from` hold and `store` does not, in one transaction: all or nothing.
 * What several hold must be equal. A point that failed in one gives way to the other's. A value
 * that no stoker wrote (DIAG_INPUT) ends it. */
MUST_USE bool store_merge(struct store *store, struct store *const *from, uint32_t count,
                          struct diag *diag);

/* ---- reading back, for plots, tables and list -------------------------- */

/* A number that is NULL in the store is ABSENT here (base/absent.h), a text "". Of a run it has the
 * points' figures and the metrics (run/figures.h), each under the name of its column. */
#define NO_MEMBER(...)
#define ROW_MEMBER(kind, when, group, key, column, ...) ROW_MEMBER_##kind(column);
#define ROW_MEMBER_TEXT(column) char column[160]
#define ROW_MEMBER_INTEGER(column) double column
#define ROW_MEMBER_POSITIVE(column) double column
#define ROW_MEMBER_REAL(column) double column
#define ROW_MEMBER_DURATION(column) double column
#define ROW_MEMBER_BOOL(column) bool column

struct store_row {
    int64_t number;
    char label[160];
    uint32_t axis_count;
    char axes[STORE_AXES_MAX][64];
    char value_texts[STORE_AXES_MAX][64];
    double values[STORE_AXES_MAX];
    enum point_status status;
    char message[256];
    bool has_run; /* without one all that follows is empty, ABSENT or false */
    RUN_FIGURES(NO_MEMBER, NO_MEMBER, NO_MEMBER, ROW_MEMBER, ROW_MEMBER)
    double breakdown_s[CAUSE_COUNT_]; /* per GPU */
    double path_s[CAUSE_COUNT_];      /* of the critical path */
    double account_s[ACCOUNT_COUNT_]; /* of a run's wall-clock time; 0 without one */
};

/* It was predicted and it fits. */
bool store_row_is_good(const struct store_row *row);
#undef NO_MEMBER
#undef ROW_MEMBER

/* A result as it would be read back as a point, though it is not stored: with all figures, without
 * number, axes, breakdown_s, path_s and account_s. */
void store_row_of(const struct result *result, const char *label, struct store_row *row);

/* All points of a study in order; NULL and *count 0 when it is unknown. */
struct store_row *store_points(struct store *store, struct arena *arena, const char *study_key,
                               uint32_t *count);

/* Wall-clock times of a stored run's histories, as paired has them as a text; NULL: it has
 * none. */
const char *store_histories(struct store *store, struct arena *arena, const char *run_key);

/* All runs by key, whether of a study or by themselves; without breakdowns. */
struct store_row *store_runs(struct store *store, struct arena *arena, uint32_t *count);

/* The run whose key begins so (four letters are enough), as a point with all that it has; NULL:
 * none does, or several. */
struct store_row *store_run_found(struct store *store, struct arena *arena, const char *key);

/* Runs of one scenario that two builds predicted, by the beginnings of their hashes. */
struct store_pair {
    char keys[2][17];
};
struct store_pair *store_pairs(struct store *store, struct arena *arena, const char *const *builds,
                               uint32_t *count);

struct store_study_row {
    char key[17];
    char title[160];
    char kind[32];
    char build[17];
    int64_t points;      /* that are here */
    int64_t failed;      /* of these */
    int64_t point_count; /* that the study has */
};
struct store_study_row *store_studies(struct store *store, struct arena *arena, uint32_t *count);

/* The numbers of a study's points that have a verdict, rising. */
int64_t *store_point_numbers(struct store *store, struct arena *arena, const char *study_key,
                             uint32_t *count);

/* Runs of one build. */
struct store_build {
    char build[17];
    int64_t runs;
    double change_min, change_max; /* store_other_builds only: see there */
};

/* All builds that have runs, in the order of their hash. */
struct store_build *store_builds(struct store *store, struct arena *arena, uint32_t *count);

/* The other builds that predicted scenarios of a study's points, too, the one that stored last
 * first, and between what the study's step times lie over theirs, less 1. */
struct store_build *store_other_builds(struct store *store, struct arena *arena,
                                       const char *study_key, uint32_t *count);

/* What a stored run took as assumed, in the order of names: what its resolved scenario does not
 * say any more is among them. */
struct store_assumption {
    const char *name, *value, *reason; /* reason: NULL: none */
};
struct store_assumption *store_assumptions(struct store *store, struct arena *arena,
                                           const char *run_key, uint32_t *count);

/* A stored run's resolved scenario text, by key (a unique prefix of at least 4
 * letters is enough); NULL when there is none or several. */
const char *store_scenario_text(struct store *store, struct arena *arena, const char *key);

#endif
