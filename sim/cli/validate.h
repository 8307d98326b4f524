/* Tables of measured runs beside predictions: the command `stoker validate`, and what the lab's of
 * that name has of it. Both call these in the order in which they stand here.
 */
#ifndef CLI_VALIDATE_H
#define CLI_VALIDATE_H

#include "cli/many/launch.h"
#include "cli/options.h"
#include "measured/known_steps.h"
#include "measured/score.h"

struct sheet;
struct validation;
typedef void validate_add(const struct validation *validation, struct sheet *sheet);

struct validation {
    struct options options;
    struct many many;            /* its shard's count 0: all rows */
    const char *write_steps;     /* file; NULL: none */
    struct text_list read_steps; /* files */
    struct known_steps *steps;   /* NULL: neither is asked for */
    uint32_t row_next;           /* number of the next row, of all tables */
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
    const struct published_table *const *tables; /* of each file */
    uint32_t table_count;
    struct validated_row *rows; /* of all tables */
    uint32_t row_count;
    struct validated_row *scored;  /* of these; no suspects */
    struct validated_row *suspect; /* predicted and measured all the same */
    uint32_t scored_count, suspect_count, skipped_count;
    struct band_votes bands; /* the catalogue's */
    const char *no_bands;    /* why it has none; NULL */
};

/* But for --ratios, and for what several machines share. */
extern const struct command_option validate_options[];

/* Wrong usage: --ratios of a column that has no numbers. */
MUST_USE bool validate_check_ratios(const struct validation *validation);

/* Reads tables and known steps. */
MUST_USE bool validate_open(struct validation *validation);

/* The rows that are wanted; false: there is none. */
MUST_USE bool validate_predict(struct validation *validation);

/* Scores them and prints. Returns the exit status: a row may have failed, or all are skipped. */
int validate_tell(struct validation *validation);

/* The picture of --plot, if it is asked for: rows that were predicted and measured. */
MUST_USE bool validate_draw(const struct validation *validation);

/* All that is said, as text, or as JSON (cli/validate_sheet). */
void validate_print(const struct validation *validation, FILE *out);

#endif
