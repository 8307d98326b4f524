/* A directory of a test's own, removed with all that lies in it. */
#ifndef TESTS_SUPPORT_TEMPORARY_H
#define TESTS_SUPPORT_TEMPORARY_H

struct arena;

/* The path of a new, empty directory; it belongs to the arena. */
const char *temporary_new(struct arena *arena);
void temporary_remove(const char *directory);

/* All of a file as text; NULL when it cannot be read. */
const char *temporary_read(struct arena *arena, const char *path);
void temporary_write(const char *path, const char *text);

#endif
