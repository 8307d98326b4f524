/* Starting gnuplot: no shell, no terminal, no settings of the user's.
 *
 * The script's directory is gnuplot's working directory, so a script names its
 * data and pictures without a path. What gnuplot says goes to NAME.log beside
 * the script, which stays only if gnuplot said something. GNUTERM is not
 * passed on, and ~/.gnuplot is not read: both would change the picture. A script finds the string
 * PART, what to add to the names of pictures: whoever calls renames them when all is good.
 */
#ifndef REPORT_PLOT_GNUPLOT_H
#define REPORT_PLOT_GNUPLOT_H

#include "base/diag.h"

#define GNUPLOT_PART ".part"

/* Runs NAME.gp in `directory`. `name` holds letters, digits, '.', '_' and '-' only.
 * False, with the reason and the remedy in diag, when gnuplot is missing or fails. */
MUST_USE bool gnuplot_run(struct arena *arena, const char *directory, const char *name,
                          struct diag *diag);

#endif
