/* The arguments of Megatron-LM and its relatives: the one table for its logs, its command lines,
 * and for NeMo and Megatron-Bridge, whose keys are told by these names, too (launch/nemo.c).
 *
 * An argument goes by the name that Megatron's log has for it (argparse's `dest`). How a command
 * line spells it, where that is another word or the negation, is a row: --no-bias-gelu-fusion is
 * bias_gelu_fusion False.
 */
#ifndef FOREIGN_MEGATRON_MEGATRON_ARGUMENTS_H
#define FOREIGN_MEGATRON_MEGATRON_ARGUMENTS_H

#include "foreign/told.h"

/* The row of a name, '-' and '_' alike; of none that is known all but `use` is zero. */
struct told_row megatron_argument(const char *name);

/* A command line gives it no value. */
bool megatron_is_flag(const char *name);

/* Of those that are read the one that is nearest to an unknown word; NULL: none is near. */
const char *megatron_argument_nearest(struct arena *arena, const char *word);

#endif
