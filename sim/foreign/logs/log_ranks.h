/* Logs of the ranks of one run, held against one another: what two of them say of the run is the
 * same, and a step that both took lasted as long, for ranks wait for each other in it.
 *
 *     struct log_ranks ranks = log_ranks_new(importer, kind->reader);
 *     while (there is a file, and log_ranks_add(&ranks, &file)) {} files may be freed between
 *     ... ranks.what: how the last one contradicts one before it
 *
 * Settings that are looked at are those that a run has one of (log_reader.matters): arguments of
 * its model, layout, batch and arithmetic, the number of its ranks; not paths, names of hosts,
 * numbers of ranks. Of steps with one number the median ratio counts: above LOG_SLOW they are not
 * of one run, or clocks are broken; so are steps of another batch.
 */
#ifndef FOREIGN_LOGS_LOG_RANKS_H
#define FOREIGN_LOGS_LOG_RANKS_H

#include "foreign/training_log.h"

struct log_fact {
    const char *name, *value;
    const char *file; /* that says it first */
    uint32_t line;
};

struct log_ranks {
    struct importer *importer;
    const struct log_reader *reader;
    struct log_fact *facts;
    size_t fact_count, fact_capacity;
    struct log_step *steps; /* of the first file that has some, without `at` */
    size_t step_count;
    const char *steps_file;
    /* What contradicts, for a message. */
    const char *what; /* NULL: all agree. A sentence, with the other file's name and line */
    size_t at;        /* in the text of the file that was added last */
};

struct log_ranks log_ranks_new(struct importer *importer, const struct log_reader *reader);

/* False: it contradicts one before it; ranks->what says in what, and ranks->at where. */
MUST_USE bool log_ranks_add(struct log_ranks *ranks, const struct text_file *file);

#endif
