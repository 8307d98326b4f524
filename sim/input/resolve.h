/* The resolved document: a scenario with the files it names put in.
 *
 * The order is that of input/scenario.h. The result is a mapping whose keys
 * stand in one fixed order (that of resolve_keys), in which model, cluster,
 * software, gpu, library and the scenarios of `jobs` are whole mappings, and from which
 * sweep, variants and
 * note are gone. Unknown keys of the scenario itself are reported here.
 */
#ifndef INPUT_RESOLVE_H
#define INPUT_RESOLVE_H

#include "input/catalogue.h"

#define RESOLVE_KEY_COUNT 25
extern const char *const resolve_keys[RESOLVE_KEY_COUNT];

struct resolve_input {
    const struct doc_node *document;
    const struct catalogue *catalogue;
    const char *const *sets; /* "path=value" */
    uint32_t set_count;
    const char *default_software; /* when the document names none */
    const char *default_library;  /* when neither the document nor its cluster does */
};

/* NULL on error. `input` is not changed; its document is copied. */
MUST_USE struct doc_node *resolve_document(struct arena *arena, const struct resolve_input *input,
                                           struct diag *diag);

#endif
