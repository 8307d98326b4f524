#define _XOPEN_SOURCE 700 /* nftw */

#include "support/temporary.h"

#include "base/arena.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPEN_DIRECTORIES 8

const char *temporary_new(struct arena *arena)
{
    const char *parent = getenv("TMPDIR");
    char *path = arena_printf(arena, "%s/stoker-test-XXXXXX", parent != NULL ? parent : "/tmp");
    sim_assert(mkdtemp(path) != NULL);
    return path;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status;
    (void)kind;
    (void)place;
    return remove(path);
}

void temporary_remove(const char *directory)
{
    nftw(directory, remove_one, OPEN_DIRECTORIES, FTW_DEPTH | FTW_PHYS);
}

const char *temporary_read(struct arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    char *text = arena_alloc(arena, (size_t)size + 1);
    const size_t length = fread(text, 1, (size_t)size, file);
    text[length] = '\0';
    fclose(file);
    return text;
}

void temporary_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    sim_assert(file != NULL);
    fwrite(text, 1, strlen(text), file);
    fclose(file);
}
