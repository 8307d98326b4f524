/* What a fit of the rows at hand starts from.
 *
 * A fit of few rows knows little: what the catalogue says already, fitted to hundreds, is its
 * prior, with the width that the plan gives each constant. A constant that no row uses is no part
 * of it. The priors that the plan's file has are for a fit to all the rows that the catalogue was
 * fitted to, which would otherwise count twice.
 */
#ifndef LAB_FIT_FIT_PRIORS_H
#define LAB_FIT_FIT_PRIORS_H

#include "lab/fit/fit_constants.h"

struct catalogue;

/* The plan with only the constants that are kept, and the effects that these have. Removals are all
 * there. */
const struct fit_plan *fit_plan_narrow(struct arena *arena, const struct fit_plan *plan,
                                       const bool *is_kept);

/* The plan with the catalogue's values as priors; bounds are widened to hold them. A key that no
 * file has keeps the plan's prior. NULL after a diagnosis: files of one constant differ, or a value
 * is none that logarithms could start from. */
MUST_USE const struct fit_plan *fit_plan_at_catalogue(struct arena *arena,
                                                      const struct fit_plan *plan,
                                                      const struct catalogue *catalogue,
                                                      struct diag *diag);

#endif
