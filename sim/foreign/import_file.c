/* What readers ask of the file or the files that they are given. */
#include "foreign/import.h"

#include "base/arena.h"
#include "input/doc/text_source.h"

#include <string.h>

const struct text_file *import_file_at(const struct importer *importer, uint32_t index)
{
    if (importer->files != NULL) {
        return index < importer->file_count ? &importer->files[index] : NULL;
    }
    return index == 0 ? &importer->file : NULL;
}

const char *import_stem(const struct importer *importer)
{
    static const char gzip[] = ".gz";
    const char *path = importer->file.path;
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t length = strlen(name);
    if (strcmp(name, text_source_name("-")) == 0) {
        return "stdin";
    }
    if (length >= sizeof gzip && strcmp(name + length - (sizeof gzip - 1), gzip) == 0) {
        length -= sizeof gzip - 1;
    }
    for (size_t i = length; i > 1; i--) {
        if (name[i - 1] == '.') {
            length = i - 1;
            break;
        }
    }
    return arena_strndup(importer->arena, name, length);
}
