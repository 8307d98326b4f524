/* Tables of measured runs beside predictions: the command `stoker validate`, and what the lab's of
 * that name has of it. Both call these in the order in which they stand here.
 */
#ifndef CLI_VALIDATE_H
#define CLI_VALIDATE_H

#include "cli/many/launch.h"
#include "cli/options.h"
#include "measured/known_steps.h"
#include "measured/score.h"
#include "measured/validated.h"

struct sheet;
struct validation;
typedef void validate_add(const struct validation *validation, struct sheet *sheet);

struct validation {
    struct options options;
    struct many many;            /* its shard's count 0: all rows */
    const char *write_steps;     /* file; NULL: none */
    struct text_list read_steps; /* files */
    struct known_steps *steps;   /* NULL: neither is asked for */
    int64_t jobs;                /* 0: as many as there are cores */
    const char *plot;            /* base of the pictures' paths; NULL: none */
    uint32_t size;               /* of them: of plot_size_names */
    const char *wanted; /* an id, or a part of one, or a source: only these rows; NULL: all */
    const char *ratios; /* a column: pairs of rows that differ in it alone; NULL: none */
    bool is_typed;      /* rows are read as whoever types a scenario says them */
    bool only_summary;
    const struct given_predictions *given; /* NULL: all rows are simulated */
    bool simulates_all;                    /* all the same */
    validate_add *add_origin; /* of these predictions; NULL: says that there are none */
    validate_add *add_more;   /* behind the summary; NULL: nothing */
    struct validated found;
};

/* But for --ratios, and for what several machines share. */
extern const struct command_option validate_options[];

/* Reads tables and known steps. */
MUST_USE bool validate_open(struct validation *validation);

/* The rows that are wanted; false: there is none. */
MUST_USE bool validate_predict(struct validation *validation);

/* Scores them and prints. Returns the exit status: a row may have failed, or all are skipped. */
int validate_tell(struct validation *validation);

/* The picture of --plot, if it is asked for: rows that were predicted and measured. */
MUST_USE bool validate_draw(const struct validation *validation);

#endif
