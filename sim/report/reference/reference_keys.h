/* What users can write in files, told from the schemas that read it: the keys, what each may hold,
 * and a JSON schema of each kind of file for editors.
 */
#ifndef REPORT_REFERENCE_REFERENCE_KEYS_H
#define REPORT_REFERENCE_REFERENCE_KEYS_H

#include "input/network/nic.h"
#include "input/recipe.h"
#include "input/scenario_keys.h"
#include "report/sheet.h"

#include <stdio.h>

struct reference_key {
    const char *path;            /* as --set and scenarios have it: "gpu.memory" */
    const struct schema *file;   /* whose page tells of it */
    const struct schema *schema; /* of the file, or of the entries of one of its lists */
    const struct schema_row *row;
};

/* All keys, in the order of the schemas; those of a list's entries follow the list. */
const struct reference_key *reference_keys(struct arena *arena, uint32_t *count);

/* The key of that path, with or without what its file's kind puts in front; NULL: none. */
const struct reference_key *reference_find(struct arena *arena, const char *path);

/* What may be written: "a duration from 0 s to 1000 s", "blocking or async". */
const char *reference_value(struct arena *arena, const struct schema_row *row);
/* A value with its unit, of a quantity: "1.5 us"; else NULL. */
const char *reference_unit(const struct schema_row *row);
/* What holds when nothing is written; NULL: nothing does. */
const char *reference_default(struct arena *arena, const struct schema_row *row);
/* Of a key that is required: "it must be given", or when. */
const char *reference_required(const struct schema *schema, const struct schema_row *row);

/* The table of keys whose paths begin with the word, or with the path of the key that the word
 * names. */
struct sheet *reference_add_keys(struct sheet *sheet, const char *key, const char *word);

/* Kinds of files that have keys: a scenario's parts, what a cluster names, recipes, failures, nodes
 * on spot, portfolios, prices of networks and quotes. */
enum { REFERENCE_FILE_COUNT = SCENARIO_PART_COUNT + 8 };
const struct schema *reference_file(uint32_t number);

/* What editors know of a kind of file. */
void reference_json_schema(struct arena *arena, uint32_t number, FILE *out);

#endif
