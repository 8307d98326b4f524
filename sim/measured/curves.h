/* Measured curves beside the model: each measurement with the cluster it ran on.
 *
 * A curve has its own fabric and its group of GPUs: the first of each node, as many nodes as
 * the measurement says. Prices are those on an idle fabric, for any library: a
 * calibration changes the library's constants and asks again. A send is from the first
 * GPU to the next (of the next node, where there are several), whatever the number of GPUs
 * that sent at once.
 */
#ifndef MEASURED_CURVES_H
#define MEASURED_CURVES_H

#include "input/catalogue.h"
#include "input/cluster.h"
#include "input/formats/measurement.h"
#include "train/transfer.h"

struct curve {
    const struct measurement *measurement;
    const char *skipped; /* why it cannot be priced; NULL: it can */
    enum collective_operation operation;
    struct collective_choice forced; /* as the measurement says */
    uint32_t span;                   /* enum library_span */
    struct transfer_setting setting; /* its library: the one of curves_open */
    struct group_shape shape;
};

struct curves_setting {
    struct arena *arena;
    const struct catalogue *catalogue;
    const struct library *library;
    const char *default_cluster; /* of measurements that name none; NULL: they are skipped */
};

/* One curve a measurement, in their order. NULL when a cluster is wrong or unknown, or
 * has too few GPUs, or an algorithm is. */
MUST_USE struct curve *curves_open(const struct curves_setting *setting,
                                   const struct measurement_list *list, struct diag *diag);

/* One on a machine that is at hand; the curve has borrowed it, and the measurement. Its operation
 * and what it forces are of the library. False with a message, as above. */
MUST_USE bool curve_open_on(struct arena *arena, const struct cluster *cluster,
                            const struct gpu *gpu, const struct library *library,
                            struct curve *curve, struct diag *diag);

/* False when the library does not offer the pair. */
MUST_USE bool curve_price(const struct curve *curve, const struct library *library,
                          struct collective_choice pair, double bytes, double *time_s);

/* What the library would do: its own choice, or what the measurement forced. */
void curve_predict(const struct curve *curve, const struct library *library, double bytes,
                   struct transfer_quote *quote);

/* ---- errors ------------------------------------------------------------------------- */

/* Of predictions relative to measurements, absolute. */
struct curve_errors {
    uint32_t count;
    double median, p90;
    double worst; /* with its sign: predicted / measured - 1 */
    double worst_bytes;
};

/* Only sizes from `bytes_min` on. */
struct curve_errors curve_errors_of(struct arena *arena, const struct curve *curve,
                                    const struct library *library, double bytes_min);
/* Over all points of all curves that are not skipped. */
struct curve_errors curves_errors_of(struct arena *arena, const struct curve *curves,
                                     uint32_t count, const struct library *library,
                                     double bytes_min);

#endif
