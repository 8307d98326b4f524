/* A drawing of a cluster's fabric: nodes below, switches above them by level (a torus: one
 * plane beside another), links between. Files as of any plot: .csv .gp .svg .png.
 *
 * A large fabric is cut down to what can be read: some pods, switches and nodes of each,
 * the last among them, with "..." where some are left out. Captions count all of them.
 */
#ifndef REPORT_PLOT_PLOT_TOPOLOGY_H
#define REPORT_PLOT_PLOT_TOPOLOGY_H

#include "hw/fabric.h"
#include "report/plot/plot.h"

/* Of the request: title, path_base and size. */
MUST_USE bool plot_topology(struct arena *arena, const struct fabric *fabric,
                            const struct plot_request *request, struct diag *diag);

#endif
