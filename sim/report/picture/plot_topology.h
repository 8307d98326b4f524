/* A drawing of a cluster's fabric: nodes below, switches above them by level (a torus: one plane
 * beside another), links between. Files as of any plot: .csv .gp .svg .png.
 *
 * Nodes whose ports hang on the same switches are one box. A large fabric is cut down to what can
 * be read: some of these, of their leaves, and of the switches above, the last among them, with
 * "… 27 more". A line is all links between two boxes; one of each tier has its bandwidth beside it,
 * in NICs ("8 x 400 Gbps") where it is as much as some have. To the right it is said of each tier
 * how many links it has, of which bandwidth together, and how much more comes from below a full
 * leaf, pod or group ("7:1 if full": of those that are drawn some are not). Bandwidths are nominal,
 * what NICs and cables promise, and one way, as counts are. Of adaptive routing all links between
 * two switches are one bundle.
 *
 * With what a simulated step used (train/metrics.h, link_use) lines are as wide as the links of
 * their tier were used in the mean, and it is told with the use of the busiest.
 *
 * ASSUMES: drawn widths are of a tier as a whole; which of its links are the busy ones is for
 * `stoker run --json`, links[].
 */
#ifndef REPORT_PICTURE_PLOT_TOPOLOGY_H
#define REPORT_PICTURE_PLOT_TOPOLOGY_H

#include "hw/fabric.h"
#include "report/plot/plot.h"
#include "train/metrics.h"

struct plot_topology_use {
    const struct link_use *links;
    uint32_t count;
};

/* `use` is of a step on this very fabric; NULL: none is known. Of the request: title, path_base and
 * size. */
MUST_USE bool plot_topology(struct arena *arena, const struct fabric *fabric,
                            const struct plot_topology_use *use, const struct plot_request *request,
                            struct diag *diag);

#endif
