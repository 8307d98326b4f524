/* A study from the command line: its options, running it, and its plots.
 *
 * What sweep, search and compare share. The order of events: the study is expanded, the wishes for
 * plots are checked and the results file is opened (of a search before it looks), the points are
 * run with progress on stderr, read back from the store, and drawn; then the command prints them.
 */
#ifndef CLI_STUDY_SESSION_H
#define CLI_STUDY_SESSION_H

#include "cli/draw.h"
#include "cli/many/launch.h"
#include "cli/options.h"
#include "report/study/required.h"
#include "report/study/shown_points.h"
#include "study/against.h"

struct against;
struct wins;

/* Begins with the options, so that shared parsers find them. */
struct session {
    struct options options;
    struct text_list plots;   /* "KIND[:METRIC]" */
    uint32_t size;            /* of them: of plot_size_names */
    const char *path_base;    /* -o; NULL: from the name of the file */
    struct text_list metrics; /* --metric, in order */
    struct text_list require; /* --require: "days<=60" */
    int64_t jobs;             /* 0: as many as there are cores */
    struct many many;         /* its shard's count 0: all points */

    struct catalogue catalogue;
    struct requirements requirements; /* session_require */
    struct study study; /* filled by the command, with study_expand or study_of_documents */
    struct study_outcome outcome;
    struct store_row *rows;
    uint32_t row_count;
    const struct against *against; /* [row_count], by against_base: what was asked for last */
    const struct store_row *against_base;
    struct store_build *others; /* other builds that predicted points of the study */
    uint32_t other_count;
    struct draw_paths paths;
    struct draw_wish *wishes;         /* of `plots`; NULL until session_begin */
    const struct plot_series *series; /* what they show, where `prepare` says so; NULL: the rows */
    const struct plot_series *best_series; /* those of the kind best, likewise */
    const struct plot_limit *limits;       /* what is required, for plots, and which rows miss it */
    uint32_t limit_count;
    const bool *misses;  /* [row_count], or NULL: nothing is required */
    struct store *store; /* owned; NULL until then */
    bool is_new_file;    /* the results file was not there before */
};

extern const struct command_option session_options[];     /* -j --plot --size -o --metric */
extern const struct command_option requirement_options[]; /* --require */

/* What a command adds to a session: where its points come from, and what it says of them. */
struct session_command {
    const char *schema; /* of its document */
    bool (*expand)(struct session *session);
    void (*prepare)(
        struct session *session); /* NULL, or what the rows are good for, before plots */
    void (*add)(struct session *session, struct sheet *sheet);
    /* NULL, or says what the rows answer, in a line or two, and adds `answer` */
    void (*answer)(struct session *session, struct sheet *sheet);
    /* NULL, or prints what was asked for in place of the sheet; false: nothing was */
    bool (*instead)(struct session *session);
};

/* Its points as tables have them, with the metrics asked for, or else the ones that are `usual`
 * there. `against` is of its rows; NULL. */
struct shown_points session_shown(const struct session *session, const struct against *against,
                                  unsigned usual);

/* Looks at the plots that are wished for and opens the results file for writing, where that was not
 * done yet: a command whose points take long to find does it before. */
MUST_USE bool session_begin(struct session *session);

/* Runs another study of the command in the same results file, and reads its rows back. */
MUST_USE bool session_run_more(void *session, const struct study *study, struct store_row **rows,
                               uint32_t *row_count);

/* Reads what the documents and --require ask for. False with messages. */
MUST_USE bool session_require(struct session *session, const struct doc_node *const *documents,
                              uint32_t count);

/* What plots show of it, when the rows are there. */
void session_prepare_required(struct session *session);

/* What is said of it below the table: of all rows, or of some and points that lack memory. */
void session_add_required(const struct session *session, const struct against *against,
                          struct sheet *sheet);
void session_add_required_of(const struct session *session, const struct against_rows *of,
                             const struct near_points *lacking, struct sheet *sheet);

/* Its rows as study/against takes them. */
struct against_points session_points(const struct session *session);

/* Its rows held against one of them, and in what share of draws each wins (study/against). */
const struct against *session_against(struct session *session, const struct store_row *base);
const struct wins *session_wins(const struct session *session, const struct store_row *base,
                                const struct against *against);

/* The whole command: a sheet with schema, version, build, study{key, title, kind}, counts,
 * other_builds and plots, what the command adds, and the files of plots at the end of the text;
 * then "80 points: 61 ok, 19 infeasible, 0 failed (12 reused)" on stderr. Returns its exit status.
 * A plot that could not be drawn is in the diag, but is no reason to stop. */
int session_main(struct session *session, const struct session_command *command);

#endif
