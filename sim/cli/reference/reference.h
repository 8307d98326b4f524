/* What users can write, told from the tables that read it: commands and their options from the
 * table of commands, keys of files from the schemas. `stoker help`, `stoker list keys` and all that
 * `stoker help --format` writes have their words from here; nothing is told twice.
 */
#ifndef CLI_REFERENCE_REFERENCE_H
#define CLI_REFERENCE_REFERENCE_H

#include "cli/commands.h"
#include "report/reference/reference_keys.h"

#include <stdio.h>

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

/* Names of pages, as files have them: "stoker.1", "stoker-scenario.5". */
const char *reference_page_name(struct arena *arena, const struct program *program,
                                uint32_t number);
uint32_t reference_page_count(const struct program *program);

/* A page of the manual, for man; all pages, one after the other, as Markdown; a script that a shell
 * sources. What editors know of a kind of file: reference_json_schema. */
void reference_man(struct arena *arena, const struct program *program, uint32_t page, FILE *out);
void reference_markdown(struct arena *arena, const struct program *program, FILE *out);
void reference_bash(struct arena *arena, const struct program *program, FILE *out);

#endif
