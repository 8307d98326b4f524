/* The sections of `stoker explain`: each adds its arithmetic to a sheet, for people and for JSON.
 *
 * The arithmetic is not written here: the functions that predict (plan, hw, train, run) record
 * their own sums when they are given a ledger (base/ledger.h); a section shows the record. What
 * a section itself computes, such as a lower bound, it records likewise. A section is a row of the
 * table in explain.c and a function; it works out what it needs from the explanation by itself.
 */
#ifndef REPORT_EXPLAIN_EXPLAIN_SECTIONS_H
#define REPORT_EXPLAIN_EXPLAIN_SECTIONS_H

#include "input/job/checkpoint.h"
#include "report/sheet.h"
#include "run/result.h"
#include "train/critical/forecast.h"
#include "train/system.h"

struct explanation {
    struct arena *arena;
    const struct scenario *scenario;
    const struct result *result;
    const struct step_system *system; /* every GPU, unfolded */
    const struct forecast *forecast;  /* NULL: there is none of this scenario */
};

/* Adds the members of the section's object, and what people read. */
typedef void explain_section(const struct explanation *explanation, struct sheet *in);

explain_section explain_model;       /* 1: parameters and FLOPs */
explain_section explain_layer;       /* 2: the kernels of a layer */
explain_section explain_network;     /* 3: transfers */
explain_section explain_pipeline;    /* 4: the pipeline and its bubble */
explain_section explain_step;        /* 5: causes and lower bounds */
explain_section explain_critical;    /* in 5: what it hangs on */
explain_section explain_overlap;     /* in 5: what hides communication */
explain_section explain_memory;      /* 6: memory of the fullest stage */
explain_section explain_run;         /* 7: steps, days, money, energy */
explain_section explain_assumptions; /* 8: assumed constants */
explain_section explain_band;        /* 9: how far measured runs were off */

/* In place of all: a sentence, and the assumed constants by what they move. */
explain_section explain_rank;

/* In 7: how the run comes back, and what is slow in it. */
void explain_recovery(const struct explanation *explanation, struct ledger *ledger);

#endif
