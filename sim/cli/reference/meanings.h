/* What has to do with a word: `stoker help moe`.
 *
 * The word and those that a row of models/words.yaml of the catalogue has with it are looked for,
 * as whole words, in the paths and meanings of keys, in commands, their options and their choices,
 * and in files of the catalogue: their titles, keys and values, not their sources.
 */
#ifndef CLI_REFERENCE_MEANINGS_H
#define CLI_REFERENCE_MEANINGS_H

#include "cli/commands.h"
#include "input/catalogue.h"
#include "report/page.h"

#include <stdbool.h>

/* False: nothing has to do with it, and nothing is printed. */
bool meanings_print(const struct program *program, const struct catalogue *catalogue,
                    const char *word, struct page *page);

#endif
