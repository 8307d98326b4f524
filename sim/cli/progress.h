/* What is going on, on the last line of a terminal: of points, of a search, of what is auto.
 *
 * It is shown on stderr, where that is a terminal and nobody said -q, each time in the place of
 * what was shown before, and not more often than ten times a second.
 *
 *     struct progress progress = {.cli = cli, .unit = "s", .before = ""};
 *     progress_search(&progress, state);     // of each that a search tells (search_request)
 *     progress_end(&progress);               // the line is empty again
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "cli/commands.h"

struct search_state;

struct progress {
    const struct cli *cli;
    const char *before; /* "what is auto: ", in front of all; NULL: nothing */
    const char *unit;   /* of what a search is judged by */
    double shown_s;     /* when; 0: nothing was */
};

bool progress_is_shown(const struct cli *cli);

/* Shown, and due; then it is as if it were shown now. */
bool progress_is_due(struct progress *progress);

/* At once; "": nothing is going on. */
void progress_show(const char *text);

/* How many layouts there are, how many are left, and how far the best may be from the best. */
void progress_search(struct progress *progress, const struct search_state *state);

void progress_end(struct progress *progress);

/* Whether what is about to be simulated has room in this machine's memory, at once: what takes all
 * memory may not live to say it. Nothing with -q. */
struct study_start;
void progress_room(const struct cli *cli, const struct study_start *start);

#endif
