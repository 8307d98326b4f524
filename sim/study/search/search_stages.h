/* Stages that have the same work: of a pipeline whose last stage has the loss, too, the layers that
 * the first stage and the last must have so that the busiest has least to do.
 *
 *     llama3-8b, pp 4: the loss is about 2.2 of its 32 layers: [8, 9, 9, 6] for [8, 8, 8, 8]
 *
 * Work is the FLOPs of products and attention, by kind of layer, with the head and multi-token
 * prediction on the last stage; the embedding, which multiplies nothing, counts none. Layers
 * between the ends are spread as input/layout spreads them; of ends that are as good those whose
 * first stage, which holds most activations, has fewest. Where the software's release says what
 * stages it has (input/features), only what it has is looked for.
 */
#ifndef STUDY_SEARCH_SEARCH_STAGES_H
#define STUDY_SEARCH_SEARCH_STAGES_H

#include "base/check.h"
#include "input/relayout.h"

struct arena;
struct search_stages;

/* Of a space's scenario; what was found is kept. */
struct search_stages *search_stages_new(struct arena *arena, const struct scenario *base);

/* Puts balanced ends into a layout (its pp, schedule and virtual_stages). False, and it stays as it
 * is: none are better than even ones, or the schedule places layers otherwise. */
MUST_USE bool search_stages_balance(struct search_stages *stages, struct relayout *layout);

/* "[8, 9, 9, 6]": what parallel.layers_per_stage takes for a layout with such ends. */
const char *search_stages_text(struct arena *arena, const struct relayout *layout);

#endif
