/* ZeRO++ (Wang et al. 2023, arXiv 2306.10209): what ZeRO 3 sends, in fewer bits and over shorter
 * ways. Of a model of M bytes in 16 bits a node sends and receives 3 M a step over its NICs, 0.75 M
 * with all three:
 *
 *   parallel.zero_quantized_weights     gathers in int8 and scales: each M / 2
 *   parallel.zero_local_weights         the backward pass gathers within the local group: 0 over
 *                                       NICs, for a second copy of the weights in each
 *   parallel.zero_quantized_gradients   instead of a reduce-scatter an all-to-all of int4 in the
 *                                       local group, a sum there, and an all-to-all of the sums
 *                                       between groups: M / 4
 *
 * Quantizing computes nothing worth counting: it reads and writes memory.
 *
 * ASSUMES: a gradient is quantized, summed and unpacked before its first all-to-all begins; biases
 * and norms go with the matrices.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_ZEROPP_H
#define TRAIN_PROGRAM_PROGRAM_ZEROPP_H

#include "train/program/program_builder.h"

/* What is sent of a parameter, 1 byte, and of a gradient, half a one, each with its part of a
 * scale. */
double zeropp_weight_bytes(const struct software *software);
double zeropp_gradient_bytes(const struct software *software);

/* Quantized parameters become what products multiply: each rank quantizes its own of `ranks`
 * shares, and unpacks all. Nothing without quantized weights. */
void zeropp_unpack(struct builder *builder, double parameters, uint32_t ranks);

bool zeropp_reduces(const struct builder *builder);
/* Gradients of so many parameters, in so many calls. */
void zeropp_reduce(struct builder *builder, double parameters, uint32_t calls);
/* Compute waits for all reductions so far. */
void zeropp_wait(struct builder *builder);

#endif
