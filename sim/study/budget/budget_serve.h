/* What serving a model takes, by its two bounds. Nothing is simulated: a token that is written is
 * no faster than memory gives what it reads, nor than the peak does its products,
 *
 *     tokens/s by memory  = GPUs x bandwidth / (weights that a token meets + its sequence's keys
 *                           and values)
 *     tokens/s by compute = GPUs x peak / (2 x parameters that a token meets)
 *
 * the first for one sequence at a time, the second for many. They meet at so many sequences that
 * reading the weights once for all of them, and each one's keys and values, takes as long as their
 * products; where those alone take longer they never do.
 *
 * ASSUMES: 8 and 4 bits are of weights alone, which products in 16 bits read; scales are left out.
 * ASSUMES: sequences of a mixture of experts meet the same experts, so more are read than is told.
 */
#ifndef STUDY_BUDGET_BUDGET_SERVE_H
#define STUDY_BUDGET_BUDGET_SERVE_H

#include "input/model.h"

/* Bytes of keys and values of one sequence in 16 bits: of each layer those in its window; of latent
 * attention what it compresses them to, and the part of a key that is rotated. */
double budget_kv_bytes(const struct model *model, int64_t sequence);

struct budget_server {
    double parameters, active; /* of all experts; that each token meets */
    double kv_bytes;           /* of one sequence; ABSENT: nobody says of which model */
    double gpu_bytes, bytes_per_s, flop_per_s;
};

struct budget_serving {
    double weight_bytes;
    double gpus; /* fewest that hold weights and one sequence */
    double memory_tokens_per_s, compute_tokens_per_s;
    double sequences; /* from which on compute bounds; ABSENT: memory always does */
};

struct budget_serving budget_serve(const struct budget_server *server, double bytes_per_parameter);

#endif
