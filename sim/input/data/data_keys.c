/* Each check is of two figures that must go together; the message has both.
 */
#include "input/data/data_keys.h"

#include "base/units.h"
#include "input/cluster.h"
#include "input/scenario.h"

const char *const data_source_names[DATA_SOURCE_COUNT_] = {"shared", "local"};
const char *const data_law_names[DATA_LAW_COUNT_] = {"equal", "lognormal", "exponential"};

const struct schema_refusal *data_refuses_spread(const void *object)
{
    static const struct schema_refusal refusal = {"of samples that are not lognormal",
                                                  "say data.law: lognormal, or leave it out"};
    const struct scenario *scenario = object;
    return scenario->data.law == DATA_LOGNORMAL ? NULL : &refusal;
}

static const struct place *place_of(const struct schema_reader *reader, const char *key)
{
    const struct doc_node *node = doc_find(reader->map->node, key);
    return node != NULL ? &node->place : &reader->map->node->place;
}

static bool check_drives(const struct schema_reader *reader, const struct scenario *scenario)
{
    if (scenario->data.source != DATA_LOCAL || cluster_has_drives(&scenario->cluster)) {
        return true;
    }
    diag_add(reader->map->diag, DIAG_INPUT, place_of(reader, "from"),
             "nodes of cluster %s have no drives to read from", scenario->cluster.name);
    diag_help(reader->map->diag, "say how fast they are: cluster.storage.local_write and "
                                 "local_read, or use 'from: shared'");
    return false;
}

static bool check_cache(const struct schema_reader *reader, const struct scenario *scenario)
{
    const double cache_bytes = scenario->data.page_cache_bytes;
    char cache[32], memory[32];
    if (cache_bytes <= scenario->cluster.host_memory_bytes) {
        return true;
    }
    units_format(cache_bytes, DIM_BYTES, 3, cache, sizeof cache);
    units_format(scenario->cluster.host_memory_bytes, DIM_BYTES, 3, memory, sizeof memory);
    diag_add(reader->map->diag, DIAG_INPUT, place_of(reader, "page_cache"),
             "a page cache of %s is more than the %s of a host", cache, memory);
    diag_help(reader->map->diag, "cluster.host.memory is all that a node has; workers, queues and "
                                 "checkpoints lie there, too");
    return false;
}

static bool check_buffer(const struct schema_reader *reader, const struct scenario *scenario)
{
    const struct data_loading *data = &scenario->data;
    const double buffer = (double)data->shuffle_buffer * (double)scenario->batch.sequence_length;
    if (!(data->tokens > 0) || buffer <= data->tokens) {
        return true;
    }
    diag_add(reader->map->diag, DIAG_INPUT, place_of(reader, "shuffle_buffer"),
             "a worker's shuffle buffer of %lld sequences holds %.3g tokens, the data set %.3g",
             (long long)data->shuffle_buffer, buffer, data->tokens);
    diag_help(reader->map->diag, "a buffer of the whole set shuffles all of it: at most %lld here",
              (long long)(data->tokens / (double)scenario->batch.sequence_length));
    return false;
}

bool data_check(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct scenario *scenario = reader->object;
    (void)row;
    if (!(scenario->data.tokens > 0)) { /* no epoch ends */
        assumptions_drop(reader->assumptions, "data.worker_start");
    }
    const bool has_drives = check_drives(reader, scenario);
    const bool has_memory = check_cache(reader, scenario);
    return check_buffer(reader, scenario) && has_drives && has_memory;
}
