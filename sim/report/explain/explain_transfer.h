/* What one GPU sends and receives in a step, and what it costs: sections 3 and 5.
 *
 * Read off the programs and channels that the engine runs (train/system), so
 * counts and bytes are those of the simulation. Each transfer has two times:
 * alone on an idle fabric, and together with all other groups of its kind at
 * the same moment, each with an equal share of the links they have in common.
 */
#ifndef REPORT_EXPLAIN_EXPLAIN_TRANSFER_H
#define REPORT_EXPLAIN_EXPLAIN_TRANSFER_H

#include "input/job/checkpoint.h"
#include "report/explain/explain_sections.h"

#include "base/ledger.h"

/* What limits the rate of a transfer's slowest phase. */
struct link_limit {
    const char *link;   /* its name; "" when none is crossed */
    double bytes_per_s; /* of the phase's bytes, the library's share of the link included */
};

struct transfer_use {
    const struct transfer_origin *origin;
    int64_t count; /* in a step */
    uint32_t phases;
    double rank_bytes; /* of all phases */
    double latency_s;
    double alone_s;
    double together_s;
    struct link_limit alone;
    struct link_limit together;
};

struct stream_use {
    const char *name; /* static text: "tp", "dp reduce" */
    enum stream stream;
    uint32_t ranks;
    uint32_t nodes;                 /* scale-up domains */
    struct transfer_use *transfers; /* in the order of their first use */
    uint32_t transfer_count;
    int64_t count;     /* of a step */
    double sent_bytes; /* by this rank */
    double together_s; /* of a step, were nothing else to do */
};

/* How the transfer's time alone is computed. */
void explain_transfer_record(const struct explanation *explanation, const struct stream_use *of,
                             const struct transfer_use *transfer, struct ledger *ledger);

/* The streams of GPU 0 with anything to do, at most STREAM_COUNT_; returns how many. */
uint32_t explain_streams(const struct explanation *explanation, struct stream_use *uses);

#endif
