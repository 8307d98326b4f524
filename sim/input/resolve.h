/* The resolved document: a scenario with the files it names put in.
 *
 * The order is that of input/scenario_load.h. The result is a mapping whose keys
 * stand in one fixed order (that of scenario_schema), in which model, cluster,
 * software, recipe, gpu, library and the scenarios of `jobs` are whole mappings, and from which
 * sweep, variants and
 * note are gone. Unknown keys of the scenario itself are reported here.
 */
#ifndef INPUT_RESOLVE_H
#define INPUT_RESOLVE_H

#include "input/catalogue.h"

struct resolve_input {
    const struct doc_node *document;
    const struct catalogue *catalogue;
    const char *const *sets; /* "path=value" */
    uint32_t set_count;
    bool is_stage;                    /* of a run: without stages of its own, */
    const struct doc_node *stage_set; /* with these keys set; NULL: none */
};

/* NULL on error. `input` is not changed; its document is copied. */
MUST_USE struct doc_node *resolve_document(struct arena *arena, const struct resolve_input *input,
                                           struct diag *diag);

#endif
