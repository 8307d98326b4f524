/* Files are read as text and not as profiles: what is wrong with one is told when it is taken. */
#include "input/features/software_choice.h"

#include "base/arena.h"
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

static const char *text_of(const struct doc_node *mapping, const char *path)
{
    const char *text = mapping != NULL ? doc_find_text(mapping, path) : NULL;
    return text != NULL ? text : "";
}

static int64_t year_of(const struct doc_node *mapping)
{
    return strtoll(text_of(mapping, "year"), NULL, 10);
}

/* Of one that does not say nobody knows that it does not. */
static bool runs_on(const struct doc_node *profile, const struct doc_node *gpu)
{
    const struct doc_node *list = doc_find(profile, "has.architectures");
    const char *architecture = text_of(gpu, "architecture");
    if (list == NULL || list->kind != DOC_SEQUENCE || architecture[0] == '\0') {
        return true;
    }
    const struct doc_node *item = list->child;
    while (item != NULL && (item->kind != DOC_SCALAR || strcmp(item->text, architecture) != 0)) {
        item = item->next;
    }
    return item != NULL;
}

static const struct doc_node *open_profile(struct arena *arena, const struct catalogue *catalogue,
                                           const char *name)
{
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name};
    return catalogue_open(arena, catalogue, CATALOGUE_SOFTWARE, &reference, diag_new(arena));
}

const char *software_choice(struct arena *arena, const struct catalogue *catalogue,
                            const struct doc_node *gpu, const char *usual)
{
    const struct doc_node *standard = open_profile(arena, catalogue, usual);
    const int64_t least = year_of(gpu) > year_of(standard) ? year_of(gpu) : year_of(standard);
    if (standard == NULL || gpu == NULL || (runs_on(standard, gpu) && year_of(standard) >= least)) {
        return usual;
    }
    uint32_t count = 0;
    const char **names = catalogue_list(arena, catalogue, "models/software", &count);
    const char *found = usual;
    int64_t found_year = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct doc_node *profile = open_profile(arena, catalogue, names[i]);
        const int64_t year = year_of(profile);
        if (profile != NULL && runs_on(profile, gpu) && year >= least &&
            strcmp(text_of(profile, "framework"), text_of(standard, "framework")) == 0 &&
            (found_year == 0 || year < found_year)) {
            found = names[i];
            found_year = year;
        }
    }
    return found;
}
