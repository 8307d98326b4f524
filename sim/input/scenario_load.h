/* From a scenario's file to a scenario (input/scenario.h).
 *
 * scenario_resolve reads a scenario document, the catalogue files it names, and the
 * command line's --set assignments, in this order:
 *   1. the scenario file; --set without a dot in the path (model=..., gpus=...)
 *   2. models/llms/MODEL.yaml, topologies/CLUSTER.yaml, models/software/SOFTWARE.yaml,
 *      each found by name in the catalogue directories or by path
 *   3. models/recipes/RECIPE.yaml, if one is named: what it sets and step 1 does not
 *   4. --set with a dot (cluster.nics.bandwidth=..., batch.micro=...)
 *   5. models/gpus/GPU.yaml and models/libraries/LIBRARY.yaml as the cluster names them;
 *      --set gpu.x=..., --set library.x=...
 * The merged tree is the resolved document: same text, same prediction. It
 * has the keys of the scenario with model, cluster, software, recipe and gpu as
 * whole mappings; its canonical text is hashed into the run key.
 *
 * Checks that need only the scenario are made here (counts, sizes that must
 * divide, with the nearest choices that do): a plan never meets an impossible
 * size. Impossible sizes are DIAG_INFEASIBLE, malformed values DIAG_INPUT.
 *
 * model, cluster, software and gpu are names of catalogue files, paths (they
 * hold a '/' or end in .yaml; looked for beside the scenario file, then in the
 * current directory) or mappings written in place. A resolved document can be
 * resolved again and gives itself.
 */
#ifndef INPUT_SCENARIO_LOAD_H
#define INPUT_SCENARIO_LOAD_H

#include "input/catalogue.h"

struct scenario;

/* The document of a scenario before it is resolved (a sweep sets keys in copies). */
MUST_USE struct doc_node *scenario_load_document(struct arena *arena, const char *path,
                                                 struct diag *diag);

/* Resolves a document: see above. `sets` are "path=value" texts. NULL on
 * error; what lies in `arena` then may be dropped. */
MUST_USE struct scenario *scenario_resolve(struct arena *arena, const struct doc_node *document,
                                           const struct catalogue *catalogue,
                                           const char *const *sets, uint32_t set_count,
                                           struct diag *diag);

/* With one more set, for what a step makes of it: without its text (resolved_text NULL), hence
 * without a key, without stages of a run, and by the file's title. */
MUST_USE struct scenario *scenario_moved(struct arena *arena, const struct doc_node *document,
                                         const struct catalogue *catalogue, const char *set,
                                         struct diag *diag);

/* What a house's defaults give it, for who needs no more of it. */
struct house;
const struct house *scenario_house(const struct scenario *scenario);

#endif
