/* A made-up, consistent result for tests of what prints and stores results.
 *
 * 8 GPUs, a step of 6.912345678 s. Of its 8 * 6912345678 GPU-ns, half is
 * compute, a quarter the bubble, an eighth exposed DP, and the rest, a further
 * eighth, launch: 27649382712 + 13824691356 + 6912345678 + 6912345678. */
#ifndef TESTS_SUPPORT_SAMPLE_RESULT_H
#define TESTS_SUPPORT_SAMPLE_RESULT_H

#include "input/scenario.h"
#include "run/result.h"

#define SAMPLE_STEP_NS INT64_C(6912345678)
#define SAMPLE_KEY "0123456789abcdef"
#define SAMPLE_SCENARIO_KEY "5555555555555555"
#define SAMPLE_BUILD "b111d00000000001"

struct sample {
    struct scenario scenario;
    struct result result;
    struct assumption assumptions[10];
};

/* Fills `sample`, which must not move afterwards: the result points into it. */
void sample_init(struct sample *sample);

#endif
