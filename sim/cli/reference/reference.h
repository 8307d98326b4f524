/* What users can write, told from the tables that read it: commands and their options from the
 * table of commands, keys of files from the schemas. `stoker help`, `stoker list keys` and all that
 * `stoker help --format` writes have their words from here; nothing is told twice.
 */
#ifndef CLI_REFERENCE_REFERENCE_H
#define CLI_REFERENCE_REFERENCE_H

#include "cli/commands.h"
#include "input/network/nic.h"
#include "input/recipe.h"
#include "input/scenario_keys.h"

#include <stdio.h>

/* ---- keys ---- */

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

/* ---- options ---- */

/* "-o, --output=BASE" */
const char *reference_option(struct arena *arena, const struct command_option *option);

/* The tables that several commands have, and which of them this is: "Results"; NULL: own. */
const char *reference_shared(const struct command_option *table);
struct reference_table {
    const struct command_option *rows;
    const char *title;
};
extern const struct reference_table reference_tables[];
extern const uint32_t reference_table_count;

/* ---- formats ---- */

/* Kinds of files that have keys: a scenario's parts, what a cluster names, recipes, failures, nodes
 * on spot and portfolios. */
enum { REFERENCE_FILE_COUNT = SCENARIO_PART_COUNT + 5 };
const struct schema *reference_file(uint32_t number);

/* Names of pages, as files have them: "stoker.1", "stoker-scenario.5". */
const char *reference_page_name(struct arena *arena, const struct program *program,
                                uint32_t number);
uint32_t reference_page_count(const struct program *program);

/* A page of the manual, for man; all pages, one after the other, as Markdown; a script that a shell
 * sources; what editors know of a kind of file, which is the page's. */
void reference_man(struct arena *arena, const struct program *program, uint32_t page, FILE *out);
void reference_markdown(struct arena *arena, const struct program *program, FILE *out);
void reference_bash(struct arena *arena, const struct program *program, FILE *out);
void reference_json_schema(struct arena *arena, uint32_t page, FILE *out);

#endif
