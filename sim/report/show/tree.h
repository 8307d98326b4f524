/* A document's tree as JSON. */
#ifndef REPORT_SHOW_TREE_H
#define REPORT_SHOW_TREE_H

#include "base/json.h"
#include "input/doc/doc.h"

/* Scalars as texts, as they were written; a list, or what lies deeper than
 * JSON_DEPTH_MAX allows, as its YAML text. */
void tree_json(const struct doc_node *root, const char *key, struct arena *arena,
               struct json *json);

#endif
