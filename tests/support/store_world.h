/* A results file of a test's own, and a made-up result to put into it. Failures end the test. */
#ifndef TESTS_SUPPORT_STORE_WORLD_H
#define TESTS_SUPPORT_STORE_WORLD_H

#include "base/diag.h"
#include "support/sample_result.h"

#include <stdint.h>

struct store;

struct world {
    struct arena *arena;
    struct diag *diag;
    const char *directory;
    const char *path; /* of the results file; not there at first */
    struct sample sample;
};

/* Set-up and teardown of a test: *state is a struct world. */
int world_make(void **state);
int world_end(void **state);

struct store *world_open(struct world *world);

/* Prints the messages so far unless `is_good`, which must hold. */
void world_must(struct world *world, bool is_good);

/* The first error so far holds `part`. */
void world_assert_error(const struct world *world, const char *part);

/* The file cannot be opened, for a reason that holds `part`. */
void world_assert_refused(struct world *world, const char *part);

/* Runs SQL on the file behind the store's back; the first number of the last row. */
int64_t world_sql(const struct world *world, const char *text);

#endif
