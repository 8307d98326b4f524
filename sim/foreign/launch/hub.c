/* Names are compared by their letters and digits, without what makers and recipes put around. */
#include "foreign/launch/hub.h"

#include "base/arena.h"

#include <ctype.h>
#include <string.h>

/* "Meta-Llama-3-8B-hf" -> "llama38b": letters and digits without what makers put around them. */
static const char *plain_name(struct arena *arena, const char *name)
{
    static const char *const around[] = {"meta",   "hf",  "instruct", "base",       "chat",
                                         "v01",    "v03", "it",       "pretrain",   "config",
                                         "recipe", "sft", "finetune", "performance"};
    const char *slash = strrchr(name, '/');
    const char *at = slash != NULL && slash[1] != '\0' ? slash + 1 : name;
    char *plain = arena_alloc(arena, strlen(at) + 1);
    size_t length = 0;
    while (*at != '\0') {
        const size_t word = strcspn(at, "-_ ");
        bool is_around = false;
        char *part = arena_alloc(arena, word + 1);
        size_t size = 0;
        for (size_t i = 0; i < word; i++) {
            part[size] = (char)tolower((unsigned char)at[i]);
            size += at[i] != '.' ? 1 : 0;
        }
        part[size] = '\0';
        for (size_t i = 0; i < sizeof around / sizeof *around; i++) {
            is_around = is_around || strcmp(part, around[i]) == 0;
        }
        if (!is_around) {
            memcpy(plain + length, part, size);
            length += size;
        }
        at += word + strspn(at + word, "-_ ");
    }
    plain[length] = '\0';
    return plain;
}

const char *hub_model(const struct importer *importer, const char *name)
{
    struct arena *arena = importer->arena;
    const char *plain = plain_name(arena, name);
    uint32_t count = 0;
    const char **names =
        catalogue_list(arena, importer->catalogue, catalogue_folders[CATALOGUE_MODEL], &count);
    /* "llama-7b" is of the first; those of 3.1 and 3.3 have the shapes of 3. */
    const bool is_llama = strncmp(plain, "llama", 5) == 0;
    const bool is_third = strncmp(plain, "llama31", 7) == 0 || strncmp(plain, "llama33", 7) == 0;
    const char *first = is_third ? arena_printf(arena, "llama3%s", plain + 7)
                                 : arena_printf(arena, "llama1%s", is_llama ? plain + 5 : "");
    const char *found = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *known = plain_name(arena, names[i]);
        if (strcmp(known, plain) == 0) {
            return names[i];
        }
        found = is_llama && strcmp(known, first) == 0 ? names[i] : found;
    }
    return found;
}

int64_t hub_vocabulary(const struct importer *importer, const char *name)
{
    const char *model = hub_model(importer, name);
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = model};
    const struct doc_node *file =
        model != NULL ? catalogue_open(importer->arena, importer->catalogue, CATALOGUE_MODEL,
                                       &reference, diag_new(importer->arena))
                      : NULL;
    const char *words = file != NULL ? doc_find_text(file, "vocab") : NULL;
    int64_t count = 0;
    return words != NULL &&
                   text_span_count((struct text_span){words, words + strlen(words)}, &count)
               ? count
               : 0;
}
