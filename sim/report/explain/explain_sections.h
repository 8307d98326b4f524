/* The sections of `stoker explain`: each prints its arithmetic and gives the same in JSON.
 *
 * The arithmetic is not written here: the functions that predict (plan, hw, train, run) record
 * their own sums when they are given a ledger (base/ledger.h); a section prints the record. What
 * a section itself computes, such as a lower bound, it records likewise. A section is a row of the
 * table in explain.c and two functions; it works out what it needs from the explanation by itself.
 */
#ifndef REPORT_EXPLAIN_EXPLAIN_SECTIONS_H
#define REPORT_EXPLAIN_EXPLAIN_SECTIONS_H

#include "base/json.h"
#include "run/result.h"
#include "train/system.h"

struct explanation {
    struct arena *arena;
    const struct scenario *scenario;
    const struct result *result;
    const struct step_system *system; /* every GPU, unfolded */
};

typedef void explain_print_function(const struct explanation *explanation, FILE *out);
/* Adds the members of the section's object. */
typedef void explain_json_function(const struct explanation *explanation, struct json *json);

/* 1: parameters and FLOPs */
explain_print_function explain_model_print;
explain_json_function explain_model_json;
/* 2: the kernels of a layer */
explain_print_function explain_layer_print;
explain_json_function explain_layer_json;
/* 3: transfers */
explain_print_function explain_network_print;
explain_json_function explain_network_json;
/* 4: the pipeline and its bubble */
explain_print_function explain_pipeline_print;
explain_json_function explain_pipeline_json;
/* 5: causes and lower bounds */
explain_print_function explain_step_print;
explain_json_function explain_step_json;
/* 6: memory of the fullest stage */
explain_print_function explain_memory_print;
explain_json_function explain_memory_json;
/* 7: steps, days, money, energy */
explain_print_function explain_run_print;
explain_json_function explain_run_json;
/* 8: assumed constants */
explain_print_function explain_assumptions_print;
explain_json_function explain_assumptions_json;

#endif
