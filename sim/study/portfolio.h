/* One fabric for several jobs: what each loses by it, what the portfolio does, what it costs.
 *
 * A weight w_i is job i's share of the site's GPU-hours on the fabrics on which each job is at its
 * best, where it trains T_i* tokens a second and GPU that is paid (run/holding). On another fabric
 * it trains r_i T_i*, and the same work takes w_i / r_i of those GPU-hours. So of the GPU-hours
 * that a fabric needs for the portfolio's work
 *
 *     work = 1 / sum(w_i / r_i)        the weighted harmonic mean
 *
 * would have done, and 1 - work are lost. Were GPU-hours dealt out as before instead, so that less
 * of each job is trained, the arithmetic mean sum(w_i r_i) would be left of it, which is never less
 * (work_at_fixed_hours): the harmonic one is what the same models cost.
 *
 * How far off that is: a job's ratio lies within r / f_i and r f_i (bands/ratio_bands), and
 * d ln work / d ln r_i is job i's share of the GPU-hours there, s_i = (w_i / r_i) work:
 *
 *     ln f = sum(s_i ln f_i)
 *
 * ASSUMES: jobs' errors go the same way, since one network is mispredicted for all: the widest band
 * there can be.
 *
 * What a fabric costs an hour, of each GPU: its NICs and the ports of switches that each asks for
 * (input/network/site_power),
 *
 *     network = port / port_bandwidth * NICs' bandwidth * (1 + ports of each) / GPUs / life
 *
 * or, where no port has a price, what its parts cost (input/network/network_bill),
 *
 *     network = bill of material / GPUs / life
 *
 * ASSUMES: a port that has a price costs by its bandwidth, and spares are not in it; power of
 * switches is in neither.
 */
#ifndef STUDY_PORTFOLIO_H
#define STUDY_PORTFOLIO_H

#include "input/study/portfolio_keys.h"
#include "study/study.h"

/* ---- its points ------------------------------------------------------------------------------ */

#define PORTFOLIO_JOB_AXIS "job"

/* Each job on each fabric: point job * *fabrics + f is job's on fabric f. `points[f]` of the
 * fabrics themselves, whose labels and axes know no job, are in `fabric_study`. False, with
 * messages: there are no axes, the input of a job is wrong at the first of its points. The study
 * has no title and key yet. */
MUST_USE bool portfolio_expand(struct arena *arena, const struct portfolio *portfolio,
                               const struct study_base *base, struct study *study,
                               struct study *fabrics, struct diag *diag);

/* False, with a message, where jobs of a fabric are on other clusters or GPUs, or where ports have
 * a price and a job's size asks for more of them: the fabric would not be one. */
MUST_USE bool portfolio_check(const struct portfolio *portfolio, const struct study *study,
                              uint32_t fabrics, const struct catalogue *catalogue,
                              struct diag *diag);

/* ---- what it does ---------------------------------------------------------------------------- */

/* What a job's share of the portfolio does on a fabric. */
struct portfolio_share {
    double weight;                 /* above 0 */
    double ratio;                  /* of what it does at its best; ABSENT: it cannot be there */
    double spread, spread_of_half; /* ln f, of all and of half the votes; ABSENT: no band */
};

struct portfolio_sum {
    double work; /* ABSENT, as all that follows: not all jobs have a ratio */
    double work_at_fixed_hours;
    double spread, spread_of_half; /* ABSENT: one has no band */
};
struct portfolio_sum portfolio_sum_of(const struct portfolio_share *shares, uint32_t count);

/* ---- which fabric is less -------------------------------------------------------------------- */

/* Whether no axis of the fabric is more than the other's, and one is less: lower bandwidth, fewer
 * NICs, more oversubscription, more latency. Axes that say neither must be equal. */
bool portfolio_is_leaner(const struct study_point *fabric, const struct study_point *other);

/* ---- what it costs --------------------------------------------------------------------------- */

/* Bandwidth of all ports of the fabric under a job, NICs' own too, one way, of each GPU. */
double portfolio_ports_bytes_per_s(const struct scenario *scenario);

/* Of each GPU and hour, by the formulas above: of ports, and of parts by the catalogue's prices,
 * which is ABSENT where one has none. */
double portfolio_network_usd(const struct portfolio_price *price, double ports_bytes_per_s);
double portfolio_parts_usd(struct arena *arena, const struct portfolio_price *price,
                           const struct scenario *scenario, const struct catalogue *catalogue);

#endif
