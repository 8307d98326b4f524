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

extern const struct told_table megatron_arguments;

/* Its row of a name, '-' and '_' alike. */
struct told_row megatron_argument(const char *name);

/* A command line gives it no value. */
bool megatron_is_flag(const char *name);

#endif
