/* The option --shard K/N, which sweep and validate share (base/shard). */
#ifndef CLI_MANY_SHARDS_H
#define CLI_MANY_SHARDS_H

#include "base/shard.h"
#include "cli/options.h"

enum { SHARDS_MAX = 100000 };

/* "K/N" into a struct shard. */
option_reader shards_read;

/* "2/4". */
const char *shards_text(struct arena *arena, struct shard shard);

#endif
