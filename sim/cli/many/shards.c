/* A shard on the command line: two counts with a slash between them, the first not above the
 * second. */
#include "cli/many/shards.h"

#include "base/arena.h"

#include <inttypes.h>

/* A count of digits alone, at most SHARDS_MAX; 0: there is none. */
static uint32_t read_count(const char *text, const char **end)
{
    uint32_t count = 0;
    while (*text >= '0' && *text <= '9' && count <= SHARDS_MAX) {
        count = count * 10 + (uint32_t)(*text++ - '0');
    }
    *end = text;
    return count <= SHARDS_MAX ? count : 0;
}

void shards_read(const struct command_option *option, const char *argument, void *input,
                 struct argp_state *state)
{
    struct shard *shard = (struct shard *)((char *)input + option->offset);
    const char *slash;
    const char *end;
    shard->number = read_count(argument, &slash);
    shard->count = *slash == '/' ? read_count(slash + 1, &end) : 0;
    if (shard->number == 0 || shard->count == 0 || *end != '\0' || shard->number > shard->count) {
        argp_error(state,
                   "--%s is K/N, shard K of N, counted from 1, as 1/4 to 4/4 (N at most %d); not "
                   "'%s'",
                   option->name, SHARDS_MAX, argument);
    }
}

const char *shards_text(struct arena *arena, struct shard shard)
{
    return arena_printf(arena, "%" PRIu32 "/%" PRIu32, shard.number, shard.count);
}
