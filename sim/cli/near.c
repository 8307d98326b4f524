/* The errors are read where a command asks for them. */
#include "cli/near.h"

#include "bands/memory_errors.h"
#include "base/arena.h"
#include "run/result.h"

const struct memory_errors *near_errors(const struct options *options,
                                        const struct catalogue *catalogue)
{
    struct cli *cli = options->cli;
    struct memory_errors *errors = arena_alloc(cli->arena, sizeof *errors);
    const char *reason = NULL;
    if (memory_errors_load(cli->arena, catalogue, errors, &reason, cli->diag)) {
        return errors;
    }
    diag_add(cli->diag, DIAG_NOTE, NULL, "what nearly fits is not told from what does not: %s",
             reason);
    return NULL;
}

const struct memory_doubt *near_doubt(const struct options *options,
                                      const struct catalogue *catalogue,
                                      const struct result *result)
{
    struct arena *arena = options->cli->arena;
    struct memory_doubt *doubt = arena_alloc(arena, sizeof *doubt);
    *doubt = memory_doubt_of(arena, near_errors(options, catalogue), result->scenario,
                             &result->step.memory);
    return doubt;
}
