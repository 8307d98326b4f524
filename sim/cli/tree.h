/* A document's tree as JSON. */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include "out/json.h"
#include "spec/doc.h"

/* Scalars as texts, as they were written; a list, or what lies deeper than
 * JSON_DEPTH_MAX allows, as its YAML text. */
void tree_json(const struct doc_node *root, const char *key, struct arena *arena,
               struct json *json);

#endif
