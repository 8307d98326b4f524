/* Tables of measured runs, opened as the problem of a fit: what the lab's commands that fit share.
 */
#ifndef LAB_CLI_FIT_TABLES_H
#define LAB_CLI_FIT_TABLES_H

#include "cli/options.h"
#include "lab/fit/fit_rows.h"

/* Whose priors: the catalogue's values, or those of the file of constants. */
enum fit_priors { PRIORS_CATALOGUE, PRIORS_FILE, PRIORS_COUNT_ };

struct fit_tables {
    const char *constants_path;
    enum fit_priors priors;
    const struct text_list *paths; /* of the tables */
    const struct text_list *without;
    uint32_t jobs;
    bool is_of_the_day; /* rows are read by rules that were known when they were published */
    const struct catalogue *catalogue;
};

/* *problem leans on *rows. False after a diagnosis. */
MUST_USE bool fit_tables_open(struct cli *cli, const struct fit_tables *asked,
                              struct fit_rows *rows, struct fit_problem *problem);

/* For people who wait: a line on stderr. */
void fit_tables_progress(void *context, const char *line);

#endif
