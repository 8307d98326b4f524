/* Whether two layouts of one scenario are the same, so that nobody simulates both. */
#ifndef STUDY_SEARCH_SEARCH_SAME_H
#define STUDY_SEARCH_SEARCH_SAME_H

#include "input/relayout.h"

#include <stdbool.h>

bool search_is_same(const struct relayout *a, const struct relayout *b);

#endif
