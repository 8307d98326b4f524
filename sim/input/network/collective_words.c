/* The words of collectives, from the lists of the header. */
#include "input/network/collective_words.h"

#define WORD(id, word) word,
const char *const collective_operation_names[] = {COLLECTIVE_OPERATIONS(WORD)};
const char *const collective_algorithm_names[] = {COLLECTIVE_ALGORITHMS(WORD) "single-ring"};
const char *const collective_protocol_names[] = {COLLECTIVE_PROTOCOLS(WORD)};
