/* What the rows of a quote's study say of each offer: its runs, and the levels of chance. */
#ifndef STUDY_QUOTE_QUOTE_INPUTS_H
#define STUDY_QUOTE_QUOTE_INPUTS_H

#include "study/quote/quote_found.h"

/* The largest part of an offer that holds a job; NULL: none does. */
const struct store_row *quote_main_row(const struct quote_judging *judging,
                                       const struct quote_points *points, uint32_t job,
                                       uint32_t offer);

/* The plan's inputs and the runs of an offer. False: a point cannot be read again. */
MUST_USE bool quote_inputs_of(const struct quote_judging *judging, struct quote_found *found,
                              uint32_t number, struct quote_chances *chances);

/* The levels of all offers, when rates are fitted. */
void quote_levels_of(const struct quote_judging *judging, struct quote_found *found,
                     struct quote_chances *chances);

#endif
