/* The arguments of Megatron-LM and its relatives: the one table for its logs, its command lines,
 * and for NeMo and Megatron-Bridge, whose keys are told by these names, too (launch/nemo.c).
 *
 * An argument goes by the name that Megatron's log has for it (argparse's `dest`). How a command
 * line spells it, where that is another word or the negation, is a row: --no-bias-gelu-fusion is
 * bias_gelu_fusion False.
 */
#ifndef FOREIGN_MEGATRON_ARGUMENTS_H
#define FOREIGN_MEGATRON_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct arena;

enum megatron_use {
    MEGATRON_READ,     /* megatron_run.c does, or its sources for what is near it */
    MEGATRON_ASIDE,    /* it changes neither a step nor a run: convergence, logs, paths */
    MEGATRON_LEFT,     /* it changes a step, and is not simulated: a warning */
    MEGATRON_REFUSED,  /* it changes parameters or FLOPs in a way that is not read: an error */
    MEGATRON_SPELLING, /* of a command line, for another */
    MEGATRON_UNKNOWN,
};

struct megatron_argument {
    const char *name; /* with '*' at its end: all that begin so */
    enum megatron_use use;
    const char *means; /* of a spelling: the argument, its value below; else what it brings in */
    const char *usual; /* "|False|0|": values that bring nothing, beside None; NULL: that is all */
};

/* The row of a name, '-' and '_' alike; of none that is known all but `use` is zero. */
struct megatron_argument megatron_argument(const char *name);

/* A command line gives it no value. */
bool megatron_is_flag(const char *name);

/* A value of it that changes nothing. */
bool megatron_is_usual(const struct megatron_argument *argument, const char *value);

/* Of those that are read the one that is nearest to an unknown word; NULL: none is near. */
const char *megatron_argument_nearest(struct arena *arena, const char *word);

#endif
