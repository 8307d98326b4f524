/* A file is expanded as its sweep did it, for the key alone. */
#include "cli/stored_name.h"

#include "base/arena.h"
#include "cli/anchor.h"
#include "study/axes.h"
#include "study/study.h"

#include <string.h>

static const char *key_of_file(const struct stored_name *of, const char *path,
                               const struct doc_node **found)
{
    const struct options *options = of->options;
    struct cli *cli = options->cli;
    const struct catalogue catalogue = options_catalogue(options);
    const struct study_base base = options_study_base(options, &catalogue);
    const struct doc_node *read = anchor_load_document(options, path);
    const struct doc_node *document =
        read != NULL && of->axes != NULL
            ? axes_add(cli->arena, read, of->axes->items, of->axes->count, cli->diag)
            : read;
    *found = document;
    if (document == NULL) {
        return NULL;
    }
    if (!study_is_asked(document)) {
        diag_add(cli->diag, DIAG_INPUT, &document->place, "there is no sweep: and no variants:");
        return NULL;
    }
    struct study study;
    if (!study_expand(cli->arena, document, &base, &study, cli->diag)) {
        return NULL;
    }
    return arena_strdup(cli->arena, study.key);
}

const struct store_study_row *stored_name_find(const struct stored_name *of, const char *name,
                                               const struct doc_node **document)
{
    if (strcmp(name, "last") == 0 && stored_last(of->studies) != NULL) {
        return stored_last(of->studies);
    }
    const char *key = stored_is_file(name) ? key_of_file(of, name, document) : name;
    return key != NULL ? stored_find(of->studies, name, key, of->options->cli->diag) : NULL;
}

bool stored_name_has_file(const struct options *options)
{
    for (uint32_t i = 0; i < options->arguments.count; i++) {
        if (stored_is_file(options->arguments.items[i])) {
            return true;
        }
    }
    return false;
}
