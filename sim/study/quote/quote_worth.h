/* In what share of draws each offer of a quote wins, what the wrong choice costs, and what each
 * measurement is worth: the formulas are at the top of study/quote/quote_found.h. */
#ifndef STUDY_QUOTE_QUOTE_WORTH_H
#define STUDY_QUOTE_QUOTE_WORTH_H

#include "study/quote/quote_found.h"

/* Fills shares, ranges and measurements, of offers whose plans and rates are there. */
void quote_weigh(struct arena *arena, const struct quote_chances *chances,
                 struct quote_found *found);

#endif
