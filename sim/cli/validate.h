/* The inside of `stoker validate`: what its parts share. */
#ifndef CLI_VALIDATE_H
#define CLI_VALIDATE_H

#include "cli/many/launch.h"
#include "cli/options.h"
#include "measured/known_steps.h"
#include "lab/predictions.h"
#include "measured/score.h"

struct sheet;

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
    const char *errors;          /* file of votes' errors, bands/band.h; NULL: none */
    const char *pairs;           /* file of pairs, bands/ratio_bands.h; NULL: none */
    const char *wanted; /* an id, or a part of one, or a source: only these rows; NULL: all */
    const char *ratios; /* a column: pairs of rows that differ in it alone; NULL: none */
    bool has_axes;      /* pairs by kinds of difference (bands/axes) */
    bool has_anchors;   /* what anchors are worth (lab/anchor_score) */
    bool has_rules;     /* what each of the catalogue's rules is worth (lab/rules_worth) */
    const char *predictions_path; /* NULL: rows are simulated */
    uint32_t held_out;            /* enum held_out; of the predictions */
    bool is_typed; /* rows are read as whoever types a scenario says them */
    bool only_summary;
    const struct published_table *const *tables; /* of each file */
    uint32_t table_count;
    const struct predictions *predictions; /* NULL: none */
    struct validated_row *rows;            /* of all tables */
    uint32_t row_count;
    struct validated_row *scored;  /* of these; no suspects */
    struct validated_row *suspect; /* predicted and measured all the same */
    uint32_t scored_count, suspect_count, skipped_count;
    struct band_votes bands; /* the catalogue's */
    const char *no_bands;    /* why it has none; NULL */
};

/* As text, or as JSON. */
void validate_print(const struct validation *validation, FILE *out);

/* Its table of rules (cli/validate_rules). */
void validate_rules_print(const struct validation *validation, struct sheet *sheet);

/* Its table of anchors (cli/validate_anchors). */
void validate_anchors_print(const struct validation *validation, struct sheet *sheet);

/* Its table of kinds of difference (cli/validate_axes). */
void validate_axes_print(const struct validation *validation, struct sheet *sheet);

#endif
