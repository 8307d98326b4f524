/* The keys of an optimizer that updates matrices whole, a file of models/optimizers; what they mean
 * says input/job/matrix_rule.h. */
#ifndef INPUT_JOB_MATRIX_RULE_KEYS_H
#define INPUT_JOB_MATRIX_RULE_KEYS_H

#include "input/doc/doc_files.h"
#include "input/job/matrix_rule.h"
#include "input/schema/schema.h"

extern const struct schema matrix_rule_schema;
extern const struct doc_reader matrix_rule_reader;

/* In the place of a name: all is updated as the rest is. */
#define MATRIX_RULE_NONE "none"

MUST_USE bool matrix_rule_read(const struct doc_node *node, struct matrix_rule *rule,
                               struct assumptions *assumptions, struct diag *diag);

#endif
