/* Which points of a study are best, and by what they are judged where nobody says.
 *
 * Of points that train the same tokens the best is that which costs least, where all have a price,
 * and that which takes the fewest days: two questions, each with its own answer. Where they train
 * different tokens it is the cheapest token; without a price, or a run, the most tokens/s of a GPU:
 * with as many GPUs everywhere that is the fastest cluster, with more or fewer it is the one that
 * takes the fewest GPU-hours for a token (all tokens/s would name the largest cluster each time).
 * MFU never decides: a number of another peak is another unit, and half of a peak of fp8 is faster
 * than all of bf16's. Who asks for it all the same gets it, and is told where peaks differ.
 *
 * No point wins by less than the resolution (bands/limits): those that differ from the best by no
 * more are its equals, and so are exact equals. The resolution is of steps: of days it holds for
 * the part that hangs on them, as everywhere (run/duration).
 */
#ifndef REPORT_WINNERS_H
#define REPORT_WINNERS_H

#include "report/sheet.h"
#include "store/store.h"

/* A point that may win: it has a result. */
struct candidate {
    const struct store_row *row;
    double resolution; /* ln of a ratio of steps that is told from none; 0: any is told */
    bool is_as_base;   /* it differs from the others of these in nothing that moves a step */
};

struct candidates {
    const struct candidate *items;
    uint32_t count;
};

enum { JUDGES_MAX = 3 };

/* By what candidates are judged, what weighs most first. */
struct judges {
    const struct figure_metric *items[JUDGES_MAX];
    uint32_t count;
};
struct judges judges_of(const struct candidates *candidates);
/* The same where somebody asked for this metric: it alone, unless it does not compare among them.
 */
struct judges judges_asked(struct arena *arena, const struct candidates *candidates,
                           const struct figure_metric *metric);

/* The metric is a share of a peak: MFU, HFU. */
bool metric_is_of_peak(const struct figure_metric *metric);

/* Rows that have a result are of GPUs, or precisions, with different peaks: then MFU and HFU do not
 * compare. */
bool peaks_differ(const struct store_row *const *rows, uint32_t count);

/* The best by a metric, and the points that equal it. */
struct winners {
    const struct figure_metric *metric;
    const struct store_row *best;          /* NULL: none has the metric */
    const struct store_row *const *equals; /* without the best itself */
    uint32_t equal_count;
    double resolution;    /* of all these, a fraction; 0: equals are equal exactly */
    bool is_across_peaks; /* the metric is one that does not compare among the candidates */
};
struct winners winners_of(struct arena *arena, const struct candidates *candidates,
                          const struct figure_metric *metric);

/* "best days that meets all: 11.4 at fp8" with `which` of " that meets all", or ""; NULL, and
 * nothing, where none has the metric. */
const char *winners_text(struct arena *arena, const struct winners *winners, const char *which);
void winners_say(const struct winners *winners, const char *which, struct sheet *sheet);

/* metric, label, value, equals[] and resolution of these, in an object. */
void winners_add(const struct winners *winners, struct sheet *object);

#endif
