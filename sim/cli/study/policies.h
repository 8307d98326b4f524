/* `stoker search` of policies: which search: that names keys of the run asks for. */
#ifndef CLI_STUDY_POLICIES_H
#define CLI_STUDY_POLICIES_H

#include "cli/study/session.h"
#include "study/policy/policy.h"

/* Searches, stores the best and those by name like points of a sweep, and prints them. The session
 * has its options; `document` is the scenario's with --set search.x=y. By POLICY_BY_COUNT_: what no
 * policy moves. Returns the exit status. */
int policies_main(struct session *session, const struct doc_node *document, enum policy_by by,
                  uint32_t top);

#endif
