/* The anchor of what is predicted (input/study/anchor), from --anchor or from the scenario: worked
 * out in one place, before anything else reads the document.
 *
 * The measured run is resolved and predicted as any other scenario:
 *
 *     a log        its own sizes; model, GPU, cluster, library and, of the same framework, software
 *                  are the document's, for a log does not say them
 *                  one that tells its step alone (foreign/step_lines): as a step_time
 *     FILE.csv:ID  as published_row has it
 *     else         the document as its file has it, without --set; or another; with anchor.set
 *
 * A box that the document names may have one, too (input/study/box); the scenario's own goes
 * before it. The measured run has the document's box, where its GPU is the same and it names none
 * itself.
 *
 * and what follows is written into the document, below `anchor`. It must train the same model: by a
 * box's that does not nothing is corrected, and a note says so. How much of its error counts
 * (anchor.h) is told by the document with --set; of a study whose scenario cannot be by
 * itself by its first point that can. So all points of a study have the same factor, and their
 * ratios are as without an anchor.
 */
#ifndef MEASURED_ANCHORING_H
#define MEASURED_ANCHORING_H

#include "input/catalogue.h"
#include "input/doc/doc.h"

struct scenario;
struct text_file;

/* How fast a run was, whose log tells no more. */
struct anchoring_pace {
    double step_s;               /* 0: the log tells tokens instead, */
    double tokens_per_s_per_gpu; /* these */
    int64_t batch;               /* sequences of a step; 0: not told */
    const char *notes;           /* which lines it is of */
};

/* What rooms above find for it, each with the `context` of the struct anchoring. */
struct anchoring_hooks {
    /* A scenario of which the keys that are auto are found. NULL with messages. */
    const struct scenario *(*resolve)(const void *context, const struct doc_node *document,
                                      const char *const *sets, uint32_t count, struct diag *diag);
    /* The first point of the document's study that can be; NULL: none. */
    const struct scenario *(*first_point)(const void *context, const struct doc_node *document,
                                          const char *const *sets, uint32_t count);
    /* Reads a log, a folder of logs, or "-" for standard input. False with messages. */
    bool (*load_log)(const void *context, const char *path, struct text_file *log);
    /* The lines of CSV that a log becomes, on a GPU where it names none. NULL with messages. */
    const char *(*log_lines)(const void *context, const struct text_file *log, const char *gpu);
    /* The pace of a log that tells no more. False: another log. */
    bool (*log_step)(const void *context, const struct text_file *log, struct anchoring_pace *pace);
    /* The document has sweep: or variants:. */
    bool (*is_study)(const struct doc_node *document);
    /* What a mapping sets, as "path=value". */
    const char **(*sets_of)(struct arena *arena, const struct doc_node *document,
                            const struct doc_node *mapping, uint32_t *count);
};

struct anchoring {
    struct arena *arena; /* of what is written */
    struct diag *diag;
    const struct catalogue *catalogue;
    const char *option;      /* --anchor: a log, FILE.csv:ID or a time; NULL: not given */
    const char *const *sets; /* --set of all: the anchor's are written, others hold for points */
    uint32_t set_count;
    bool folds; /* as run_request has it */
    const struct anchoring_hooks *hooks;
    const void *context;
};

/* --set names a box (input/study/box), which may have an anchor. */
bool anchoring_is_of_box(const char *const *sets, uint32_t count);

/* Works out the anchors of documents, which are replaced. --anchor, which goes before what they
 * say, is worked out for the first and holds for all. False with messages. */
MUST_USE bool anchoring_put(const struct anchoring *anchoring, const struct doc_node **documents,
                            uint32_t count);

/* A run that was measured, as the scenario that it is. */
struct anchoring_run {
    const struct scenario *scenario;
    double step_s;
    const char *notes; /* which lines of the log it is of; "": nothing is told */
};

/* Which run the `option`, a log, FILE.csv:ID or a time, is of, for who asks not for a correction
 * but for the reasons (cli/study/why). A log that tells the whole run needs no document (NULL);
 * with one what it does not say is the document's, as above. All `sets` hold for it. Of a log that
 * tells its step alone it is the document. Messages are at the place of the option. False with
 * messages. */
MUST_USE bool anchoring_run_of(const struct anchoring *anchoring, const struct doc_node *document,
                               struct anchoring_run *run);

#endif
