/* The inside of `stoker-lab validate`: what its parts share. */
#ifndef LAB_CLI_LAB_VALIDATE_H
#define LAB_CLI_LAB_VALIDATE_H

#include "cli/validate.h"
#include "lab/predictions.h"

struct lab_validation {
    struct validation validation;
    const char *errors; /* file of votes' errors, bands/band.h; NULL: none */
    const char *pairs;  /* file of pairs, bands/ratio_bands.h; NULL: none */
    bool has_axes;      /* pairs by kinds of difference (lab/pairs) */
    bool has_anchors;   /* what anchors are worth (lab/anchor_score) */
    bool has_rules;     /* what each of the catalogue's rules is worth (lab/rules_worth) */
    const char *predictions_path;          /* NULL: rows are simulated */
    uint32_t held_out;                     /* enum held_out; of the predictions */
    const struct predictions *predictions; /* NULL: none */
    struct given_predictions given;        /* these */
};

/* Its tables of rules, anchors, and kinds of difference, each in a file of that name. */
void validate_rules_print(const struct lab_validation *lab, struct sheet *sheet);
void validate_anchors_print(const struct lab_validation *lab, struct sheet *sheet);
void validate_axes_print(const struct lab_validation *lab, struct sheet *sheet);

#endif
