/* A mapping inside a file, and keys that must be there.
 *
 * Readers of catalogue files and scenarios open each inner mapping with
 * section_open, take its keys, and close it with doc_finish. A section that is
 * absent reads like one whose keys are all absent, but reports nothing.
 */
#ifndef INPUT_DOC_SECTION_H
#define INPUT_DOC_SECTION_H

#include "input/doc/provenance.h"

/* Opens the mapping under `key` of `map`; its assumed constants are recorded
 * as prefix.key.NAME. False when it is absent or no mapping (an error, which
 * makes `map` bad); the section is then empty. */
bool section_open(struct doc_map *section, struct doc_map *map, const char *key, const char *prefix,
                  struct assumptions *assumptions);

/* The same, and an error when it is absent. */
bool section_need(struct doc_map *section, struct doc_map *map, const char *key, const char *prefix,
                  struct assumptions *assumptions);

/* doc_finish of the section; a bad section makes `map` bad. */
void section_close(struct doc_map *section, struct doc_map *map);

/* Like doc_get_*, and an error when the key is absent. */
bool section_need_count(struct doc_map *map, const char *key, int64_t min, int64_t max,
                        int64_t *value);
bool section_need_quantity(struct doc_map *map, const char *key, enum dimension dimension,
                           double min, double max, double *value);

#endif
