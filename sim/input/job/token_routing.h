/* How tokens reach a layer's experts: `routing` of a scenario; plan/routing says what that
 * makes of it. */
#ifndef INPUT_JOB_TOKEN_ROUTING_H
#define INPUT_JOB_TOKEN_ROUTING_H

#include <stdbool.h>
#include <stdint.h>

/* How tokens spread over experts. */
enum token_routing { ROUTING_EVEN, ROUTING_LOGNORMAL, ROUTING_MEASURED, ROUTING_COUNT_ };
extern const char *const token_routing_names[ROUTING_COUNT_];

struct model;

struct routing {
    uint32_t kind;             /* enum token_routing, of the experts' popularity */
    double spread;             /* lognormal: its sigma */
    double max_violation;      /* measured: of the busiest expert over the mean, less 1 (MaxVio) */
    double capacity_factor;    /* 0: dropless; else an expert's rows are cut to this multiple of
                                * the mean */
    bool pads;                 /* and filled up to it */
    int64_t redundant_experts; /* copies of the busiest, as EPLB places them; ep divides the sum */
};

/* Every expert has as many rows, whatever the router says. */
bool routing_is_padded(const struct routing *routing);

/* The model has experts, and all are assumed to be alike popular: what screens say of that. */
bool routing_is_even(const struct model *model, const struct routing *routing);
#define ROUTING_EVEN_TEXT "tokens spread evenly over experts"

#endif
