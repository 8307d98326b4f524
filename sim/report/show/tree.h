/* A document's tree as values of a sheet. */
#ifndef REPORT_SHOW_TREE_H
#define REPORT_SHOW_TREE_H

#include "report/sheet.h"
#include "input/doc/doc.h"

/* The members of the tree, added to an object: scalars as texts, as they were written; a list, or
 * what lies deeper than a document of JSON can nest, as its YAML text. */
void tree_add(const struct doc_node *root, struct sheet *in);

#endif
