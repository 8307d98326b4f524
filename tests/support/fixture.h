/* What a test begins with: a scenario, a model, a GPU, read as a user's would be.
 *
 *     struct scenario *scenario =
 *         fixture_scenario(arena, &(struct fixture_source){.path = "scenarios/quickstart.yaml"});
 *
 * What cannot be read is a broken test: its messages go to stderr and the program stops.
 */
#ifndef TESTS_SUPPORT_FIXTURE_H
#define TESTS_SUPPORT_FIXTURE_H

#include "input/scenario.h"

struct result;

struct fixture_source {
    const char *text;      /* YAML, or */
    const char *path;      /* of a file */
    const char *directory; /* that holds the catalogue; NULL: the project's */
    const char *const *sets;
    uint32_t set_count;
};

struct scenario *fixture_scenario(struct arena *arena, const struct fixture_source *source);

/* A file of the project with these --set, up to the first NULL; `sets` may be NULL itself. And
 * scenarios/quickstart.yaml with one more, in front of at most FIXTURE_SETS_MAX. */
struct scenario *fixture_file(struct arena *arena, const char *path, const char *const *sets);
enum { FIXTURE_SETS_MAX = 8 };
struct scenario *fixture_quickstart(struct arena *arena, const char *first,
                                    const char *const *sets);

/* What `run` says of it; no seed but its own, folded. */
const struct result *fixture_predict(struct arena *arena, const struct scenario *scenario);

/* Files of models/. `set` ("layers=2") may be NULL. */
struct model fixture_model(struct arena *arena, const char *name, const char *set);
struct gpu fixture_gpu(struct arena *arena, const char *name);

#endif
