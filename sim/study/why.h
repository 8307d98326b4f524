/* Why a measured step is another than the predicted one: what of it such runs get, and what would
 * explain the rest, each cause simulated by itself.
 *
 *     struct why_asked asked = {.catalogue = ..., .result = ..., .limits = ..., .measured_s = 5.5};
 *     struct why_found found;
 *     why_ask(arena, &asked, &found);
 *     ... found.verdict; found.causes[0].name, .explains; found.faster[0] ...
 *
 * Causes are
 *
 *     features   what nobody said of the run and would move its step (study/unsaid), as --set has
 *                it
 *     states     a link of the machine that may not be used (study/why_rates)
 *     numbers    a rate of one's own machine (study/why_rates) that may be another than assumed:
 *                the value is sought at which the predicted step is the measured one
 *
 * Their order is by what each leaves to be believed, in deviations: with g the gap, ln(measured /
 * predicted), over the deviation of the band,
 *
 *     feature    r^2 + 1      r: the gap that is left with it; one deviation for its not being said
 *     state      r^2 + 4      two deviations, for it is the rarer
 *     number     g^2 p^2 / (g^2 + p^2)
 *                p: how far its value lies from the assumed one, ln(ratio), over what is known to
 *                lie between boxes (why_rates). The least of r^2 + p^2 on the way there, where both
 *                grow in proportion.
 *
 * The less the earlier. No cause knows of another, and none is a proof: what is ranked first is
 * what to look at first.
 *
 * Where the step lies in what is not validated (bands/unproven) there is no verdict, and no feature
 * is held responsible: the numbers that would explain the gap are told, to be measured.
 *
 * A log that says how long its checkpoints took is held against what is predicted of them, where
 * the scenario has some; the storage's rate that explains it stands before what explains the step
 * when it costs more time.
 *
 * Of a plan that does not fit as it is told, and ran, causes are what lets it fit. Of a run that
 * ended without a step, out of memory (measured_s 0), causes are what would leave it no room, in
 * the order of their table, where it has some by what is told; and layouts are sought that surely
 * fit.
 */
#ifndef STUDY_WHY_H
#define STUDY_WHY_H

#include "bands/limits.h"
#include "input/catalogue.h"
#include "run/result.h"
#include "study/whatif.h"

struct step_memo;

/* Steps of more events, where GPUs that are alike are simulated once, are not repeated; nor is the
 * best layout of more GPUs searched for, which takes longer than all else: `stoker search` does. */
enum { WHY_EVENTS_MAX = 700 * 1000, WHY_SEARCHED_GPUS_MAX = 64 };

enum why_verdict {
    WHY_USUAL,   /* the measured step lies in the band: this is what such runs get */
    WHY_SLOW,    /* it is longer */
    WHY_FAST,    /* it is shorter */
    WHY_OUTSIDE, /* outside what was measured: no verdict */
    WHY_UNFIT,   /* by what is told of it the plan does not fit, and it ran */
    WHY_MEMORY,  /* it ran out of memory */
    WHY_VERDICTS_
};
extern const char *const why_verdict_names[WHY_VERDICTS_];

#define WHY_LEAST 0.02 /* a cause that explains less of the gap is left out */
#define WHY_SAME 0.02  /* steps that differ by less are one: no cause is sought */
#define WHY_FAR 7      /* deviations; beyond, nobody has such a number */

/* A checkpoint is a number, too: of storage, and of the time between steps, not of the step. */
enum why_kind { WHY_FEATURE, WHY_STATE, WHY_NUMBER, WHY_STORAGE, WHY_KINDS_ };
extern const char *const why_kind_names[WHY_KINDS_];

struct why_cause {
    const char *name;        /* "experts used unevenly", "large products" */
    const char *const *sets; /* "software.attention=fa3"; of storage none */
    uint32_t set_count;
    enum why_kind kind;
    double step_s;       /* with it */
    double explains;     /* of the gap, 1: all; ABSENT: there is none, for it did not fit */
    double rank;         /* the sum above: less is more likely */
    const char *measure; /* of a state and a number, how: "stoker calibrate box --script (copy)" */
    const char *unit;    /* "TFLOP/s"; NULL: it has no value */
    double assumed, value; /* in that unit */
    /* Of a number: */
    bool is_far;  /* its value is one that no such machine is known to have */
    double times; /* the rate over the assumed one */
};

/* A layout that is predicted to be faster than the scenario's own. */
struct why_faster {
    const char *name;
    const char *const *sets;
    uint32_t set_count;
    double step_s;
};

enum { WHY_FASTER_MAX = 3, WHY_ANY_MAX = 2 };

/* What explains any longer step, and of which nothing is assumed, so that it has no rank. */
struct why_any {
    const char *name; /* "data loaders of less than" */
    double value;
    const char *unit; /* "sequences/s a node" */
    const char *measure;
};

struct why_asked {
    const struct catalogue *catalogue;
    const struct result *result; /* as predicted, with its band */
    const struct limits *limits;
    const struct study_base *base; /* for the search for layouts */
    struct step_memo *memo;        /* of the result's prediction; NULL: none */
    double measured_s;             /* 0: it ran out of memory before its first step */
    double checkpoint_s;           /* measured, of one; 0: not told */
};

struct why_found {
    const char *title;     /* the scenario's */
    const char *of;        /* "llama3-8b on 8 x h100-sxm5-80gb (h100-3200), megatron-2024" */
    double tokens_per_gpu; /* of a step */
    enum why_verdict verdict;
    double expected_s;        /* ABSENT: it does not fit */
    double gap;               /* ln(measured / expected); ABSENT as above */
    double deviation;         /* of the band's logarithm */
    struct why_cause *causes; /* those that explain some of it, the likeliest first, */
    uint32_t cause_count;
    struct why_cause *unmet; /* numbers of which no value alone explains it */
    uint32_t unmet_count;
    struct why_any any[WHY_ANY_MAX];
    uint32_t any_count;
    struct why_faster faster[WHY_FASTER_MAX]; /* the fastest first */
    uint32_t faster_count;
    bool is_same;      /* the measured step is the expected one */
    bool is_apart;     /* no causes are sought: its step is stated, has neighbours or stages, */
    bool is_too_large; /* or is of too many events to be repeated */
};

/* Whether the measured step can be one of the scenario; else false with a message at `place`: no
 * GPU is as fast, or it is further off than any error of a level. */
MUST_USE bool why_check(const struct why_asked *asked, const struct place *place,
                        struct diag *diag);

/* Strings are the arena's. */
void why_ask(struct arena *arena, const struct why_asked *asked, struct why_found *found);

#endif
