/* What one GPU sends and receives in a step, and what it costs: sections 3 and 5.
 *
 * Read off the programs and channels that the engine runs (train/system), so
 * counts and bytes are those of the simulation. Each transfer has two times:
 * alone on an idle fabric, and together with all other groups of its kind at
 * the same moment, each with an equal share of the links they have in common.
 */
#ifndef CLI_EXPLAIN_TRANSFER_H
#define CLI_EXPLAIN_TRANSFER_H

#include "cli/explain_sections.h"

/* What limits the rate of a group; no link is crossed: is_link false. */
struct link_limit {
    bool is_link;
    enum link_kind kind;
    int64_t capacity_bytes_per_s;
    double usage; /* of the capacity per byte that a rank sends, of all that share it */
    double bytes_per_s;
};

struct transfer_use {
    enum collective_operation operation;
    double bytes;    /* the whole buffer */
    int64_t count;   /* in a step; 0: for comparison only */
    bool has_choice; /* false: a plain send */
    struct transfer_choice choice;
    int64_t rank_bytes;
    double latency_s;
    double alone_s;
    double together_s;
};

struct stream_use {
    const char *name; /* static text: "tp", "dp reduce" */
    enum stream stream;
    struct group_shape group;
    struct link_limit alone;
    struct link_limit together;
    struct transfer_use *transfers; /* in the order of their first use */
    uint32_t transfer_count;
    int64_t count;     /* of a step */
    double sent_bytes; /* by this rank */
    double together_s; /* of a step, were nothing else to do */
};

/* The streams of GPU 0 with anything to do, at most STREAM_COUNT_; returns how many. */
uint32_t explain_streams(const struct explanation *explanation, struct stream_use *uses);

#endif
