/* The list is linked in, or not: then its symbols have no address. A scan of some hundred names is
 * nothing beside reading a file.
 */
#include "base/built_in.h"

#include <stddef.h>
#include <string.h>

/* Of sim/base/built_in.sh. */
extern const struct built_in_file built_in_files[] __attribute__((weak));
extern const uint64_t built_in_count __attribute__((weak));

const struct built_in_file *built_in_list(uint64_t *count)
{
    *count = &built_in_count != NULL ? built_in_count : 0;
    return built_in_files;
}

/* NULL: it lies elsewhere. */
static const char *inside(const char *path)
{
    const size_t length = strlen(BUILT_IN "/");
    return strncmp(path, BUILT_IN "/", length) == 0 ? path + length : NULL;
}

const struct built_in_file *built_in_find(const char *path)
{
    const char *name = inside(path);
    const struct built_in_file *found = NULL;
    uint64_t count = 0;
    const struct built_in_file *files = built_in_list(&count);
    for (uint64_t i = 0; name != NULL && found == NULL && i < count; i++) {
        found = strcmp(files[i].name, name) == 0 ? &files[i] : NULL;
    }
    return found;
}

const char *built_in_in_folder(const struct built_in_file *file, const char *folder)
{
    const char *name = inside(folder);
    const size_t length = name != NULL ? strlen(name) : 0;
    const bool is_there = name != NULL && strncmp(file->name, name, length) == 0 &&
                          file->name[length] == '/' && strchr(file->name + length + 1, '/') == NULL;
    return is_there ? file->name + length + 1 : NULL;
}
