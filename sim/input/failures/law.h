/* How long something lasts that is not the same each time, as files say it: a repair, a restart,
 * until a hang is seen.
 *
 *     restart: 7 min                                   # always as long
 *     repair: {mean: 5.5 days, law: exponential}
 *     repair: {mean: 5.5 days, law: lognormal, shape: 1.9}
 *     repair: {mean: 5.5 days, law: lognormal, median: 20.4 h}
 *
 * What is drawn from it: run/history/law.h.
 */
#ifndef INPUT_FAILURES_LAW_H
#define INPUT_FAILURES_LAW_H

#include "input/schema/schema.h"

enum law_kind {
    LAW_FIXED,       /* the mean, always */
    LAW_EXPONENTIAL, /* no memory */
    LAW_LOGNORMAL,   /* many short ones, few long; shape: standard deviation of the logarithm */
    LAW_WEIBULL, /* shape below 1: the longer it has lasted the longer it will; 1: exponential */
    LAW_COUNT_
};
extern const char *const law_names[LAW_COUNT_];

struct law {
    enum law_kind kind;
    double mean_s; /* >= 0; 0: no time at all */
    double shape;  /* > 0 where the kind has one */
};

/* Least and most of a law's shape. */
#define LAW_SHAPE_MIN 0.1
#define LAW_SHAPE_MAX 10.0

/* The keys of a mapping that stands for a duration. */
extern const struct schema law_keys;

/* Reads a row's key, or its default, into the struct law at the row's offset. */
void law_read(const struct schema_reader *reader, const struct schema_row *row);

/* A row that is read so. */
#define LAW(path_, member_, help_)                                               \
    SCHEMA_ROW(path_, SCHEMA_CUSTOM, SCHEMA_MEMBER(struct law, member_), help_), \
        .dimension = DIM_SECONDS, .read = law_read

#endif
