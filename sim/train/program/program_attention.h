/* Attention in a program, and what context parallelism sends for it.
 *
 *   all-gather  keys and values of whole sequences before the core, again backward, and a
 *               reduce-scatter of their gradients (Llama 3, arXiv 2407.21783, section 3.3.2).
 *               Of latent attention the compressed ones are gathered.
 *   ring        c parts of the core, each beside the shift of the next keys and values
 *               (ring attention, arXiv 2310.01889); backward keys and values go round again, and
 *               their gradients after them, home at the end: c - 1 and c shifts
 *   ulysses     all-to-alls from parts of the sequence to parts of the heads before the core,
 *               and back after it (arXiv 2309.14509); backward the same of gradients
 *
 *
 * Of an index the keys go with those of attention (all-gather; others cannot choose of all), and
 * tensor parallelism adds up what its loss compares with.
 *
 * Scans of a mixer pass states along instead, all-gathered before the core; with ulysses what they
 * read and write goes round as for attention. A layer may have no MLP, or no attention: then these
 * functions are not called, but for attention_recompute, by what an MLP alone computes again.
 *
 * ASSUMES: gathers and all-to-alls of context parallelism overlap with nothing.
 * ASSUMES: the c parts of the core of ring attention take the same time (a balanced causal mask).
 * ASSUMES: with fewer key and value heads than ulysses ranks, heads are copied to one each.
 */
#ifndef TRAIN_PROGRAM_PROGRAM_ATTENTION_H
#define TRAIN_PROGRAM_PROGRAM_ATTENTION_H

#include "train/program/program_builder.h"

void attention_forward(struct builder *builder, enum cause cause, uint32_t kind);
void attention_backward(struct builder *builder, uint32_t kind, bool leaves_weights);
void attention_weights(struct builder *builder, uint32_t kind);

/* What of a layer selective recomputation computes again, in part; attention_backward does it. */
void attention_recompute(struct builder *builder, uint32_t kind);

#endif
