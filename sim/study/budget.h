/* What a training costs before there is a layout, and whether figures that somebody tells of one
 * fit together. Nothing is simulated: quantities are products of each other,
 *
 *     FLOPs a token = 6 x parameters                    (that each token meets)
 *     FLOPs         = FLOPs a token x tokens
 *     FLOP/s of a GPU = peak x MFU
 *     FLOPs         = FLOP/s of a GPU x GPU-hours
 *     GPU-hours     = GPUs x time
 *     USD           = GPU-hours x USD a GPU-hour
 *     energy        = GPU-hours x power of a GPU
 *     tokens        = tokens/s x time
 *     USD           = USD per million tokens x tokens
 *
 * and whatever follows from what is known by one of these is known, too, until nothing more does:
 *
 *     struct budget budget;
 *     budget_init(&budget);
 *     budget_tell(&budget, BUDGET_PARAMETERS, 405e9, 0.5 / 405);
 *     budget_tell(&budget, BUDGET_TOKENS, 15.6e12, 0.05 / 15.6);
 *     budget_solve(&budget);
 *     ... budget.value[BUDGET_FLOP], budget.of[BUDGET_FLOP] ...
 *
 * A figure that is told stays what it is. Whether it fits the others is what it would be by them,
 * without it (budget_check); they fit where they differ by no more than what all of them are
 * rounded by, as they are written.
 *
 * FLOPs alone are split into parameters and tokens by a law of scaling (models/budget.yaml, which
 * has its formula). Where nothing says how much of the peak is reached, a usual MFU is assumed.
 */
#ifndef STUDY_BUDGET_H
#define STUDY_BUDGET_H

#include "base/check.h"
#include "base/units.h"

#include <stdint.h>

/* The least that may be told of any: what follows from such is no less than a double can hold. */
#define BUDGET_LEAST 1e-12

/* X(ID, option, argument, title, dimension, most, help): GPU-hours are counted in hours. */
#define BUDGET_QUANTITY_LIST(X)                                                               \
    X(PARAMETERS, "params", "N", "parameters", DIM_COUNT, 1e18,                               \
      "Parameters that each token meets")                                                     \
    X(TOKENS, "tokens", "N", "tokens", DIM_COUNT, 1e21, "Tokens that are trained on")         \
    X(TOKEN_FLOP, "token-flop", "FLOP", "FLOPs a token", DIM_FLOP, 1e20,                      \
      "FLOPs of a token, forward and backward (default: 6 a parameter)")                      \
    X(FLOP, "flop", "FLOP", "FLOPs", DIM_FLOP, 1e30, "FLOPs of the training: 3.8e25 FLOP")    \
    X(MFU, "mfu", "SHARE", "MFU", DIM_FRACTION, 1, "Share of the peak that is reached: 40 %") \
    X(PEAK, "peak", "RATE", "peak of a GPU", DIM_FLOP_PER_S, 1e20,                            \
      "Peak of a GPU (default: that of --gpu)")                                               \
    X(RATE, "rate", "RATE", "FLOP/s of a GPU", DIM_FLOP_PER_S, 1e20,                          \
      "What a GPU reaches of it: 400 TFLOP/s")                                                \
    X(GPUS, "gpus", "N", "GPUs", DIM_COUNT, 1e9, "GPUs")                                      \
    X(TIME, "time", "TIME", "time", DIM_SECONDS, 1e12, "How long it takes: 54 days")          \
    X(GPU_HOURS, "gpu-hours", "N", "GPU-hours", DIM_COUNT, 1e15, "GPU-hours: 30.84M")         \
    X(PRICE, "price", "USD", "price of a GPU-hour", DIM_USD, 1e6,                             \
      "Price of a GPU-hour (default: that of --gpu)")                                         \
    X(COST, "cost", "USD", "cost", DIM_USD, 1e15, "What it costs: 2M USD")                    \
    X(POWER, "power", "POWER", "power of a GPU", DIM_WATT, 1e6,                               \
      "Power of a GPU, with its share of what is around it (default: of --gpu alone)")        \
    X(ENERGY, "energy", "ENERGY", "energy", DIM_JOULE, 1e21, "Energy: 20 GWh")                \
    X(TOKENS_PER_S, "tokens-per-s", "N", "tokens/s", DIM_COUNT, 1e15, "Tokens a second")      \
    X(USD_PER_MILLION, "usd-per-million", "USD", "USD per million tokens", DIM_USD, 1e12,     \
      "Cost of a million tokens")

enum budget_quantity {
#define BUDGET_ID(id, ...) BUDGET_##id,
    BUDGET_QUANTITY_LIST(BUDGET_ID)
#undef BUDGET_ID
        BUDGET_QUANTITIES
};
extern const char *const budget_titles[BUDGET_QUANTITIES];
extern const enum dimension budget_dimensions[BUDGET_QUANTITIES];

#define BUDGET_FLOP_PER_PARAMETER 6.0 /* twice forward, four times backward */

/* whole = factor x first x second. */
struct budget_relation {
    enum budget_quantity whole, first, second; /* BUDGET_QUANTITIES: there is no second */
    double factor;
};

enum budget_origin {
    BUDGET_UNKNOWN,
    BUDGET_TOLD,    /* by who asks */
    BUDGET_LOOKED,  /* by a file of the catalogue */
    BUDGET_ASSUMED, /* the usual MFU */
    BUDGET_WORKED,  /* by a relation, or by a law */
};

struct budget {
    double value[BUDGET_QUANTITIES];    /* in SI, hours of a GPU; ABSENT: unknown */
    double rounding[BUDGET_QUANTITIES]; /* of what is told: half of its last digit, of itself */
    enum budget_origin origin[BUDGET_QUANTITIES];
    const struct budget_relation *of[BUDGET_QUANTITIES]; /* NULL: by none */
};

void budget_init(struct budget *budget);
void budget_tell(struct budget *budget, enum budget_quantity quantity, double value,
                 double rounding);
/* The same of what a file says; nothing where the quantity is known. */
void budget_look(struct budget *budget, enum budget_quantity quantity, double value);

/* Half of the last digit of a number as it is written, of itself: 0.05 / 15.6 of "15.6T". */
double budget_rounding(const char *text);

/* All that follows. */
void budget_solve(struct budget *budget);

/* ---- whether figures fit -------------------------------------------------------------------- */

struct budget_check {
    enum budget_quantity quantity;
    bool is_most;           /* nobody told it; `told` is the most that it can be */
    double told, by_others; /* what the others say that it is */
    double apart;           /* ln(told / by_others) */
    double allowed;         /* of that, by rounding */
    bool fits;
};

/* Of the figures that are told those that the others say, too, in the order of quantities; and an
 * MFU that nobody tells, where by the others it is above 1. Returns how many. */
uint32_t budget_checks(const struct budget *told, struct budget_check checks[BUDGET_QUANTITIES]);

/* ---- memory --------------------------------------------------------------------------------- */

/* What the parameters of a model take, as sums of bytes a parameter. */
struct budget_state {
    const char *name;
    double bytes;
    bool is_training;
};
extern const struct budget_state budget_states[];
extern const uint32_t budget_state_count;

/* GPUs that hold them, with so much beside: 0.25 is a quarter. */
double budget_gpus(double bytes, double gpu_bytes, double beside);

#endif
