/* What the keys of run.checkpoint say by more than a value.
 */
#include "input/run/checkpoint_keys.h"

#include "input/scenario.h"

#include <string.h>

static const int64_t STEPS_MAX = 1000000000;
static const double SECONDS_MAX = 1e9;

/* "500 steps" -> 500; other texts are durations. */
void checkpoint_read_every(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    struct checkpoint *checkpoint = &((struct scenario *)reader->object)->checkpoint;
    const struct doc_node *node = doc_take(map, schema_key(row));
    const char *unit = node != NULL && node->kind == DOC_SCALAR ? strstr(node->text, "step") : NULL;
    if (unit == NULL || (strcmp(unit, "step") != 0 && strcmp(unit, "steps") != 0)) {
        if (schema_require(reader, row)) {
            doc_get_quantity(map, schema_key(row), DIM_SECONDS, 0.001, SECONDS_MAX,
                             &checkpoint->every_s);
        }
        return;
    }
    char count_text[64] = "";
    const size_t length = (size_t)(unit - node->text);
    if (length < sizeof count_text) {
        memcpy(count_text, node->text, length);
    }
    struct doc_node count = *node; /* the number alone, at the same place */
    count.text = count_text;
    if (!doc_node_count(&count, 1, STEPS_MAX, &checkpoint->every_steps, map->diag)) {
        map->is_bad = true;
    }
}

/* Why checkpoints cannot lie there; NULL: they can. */
static const struct schema_refusal *refuse_target(const struct scenario *scenario)
{
    static const struct schema_refusal no_drives = {
        "have no drives for checkpoints",
        "say how fast they are: cluster.storage.local_write, or use 'to: shared'"};
    static const struct schema_refusal no_peer = {
        "have no peer: the job has one node",
        "take more GPUs than a node has, or use 'to: memory' or 'to: shared'"};
    const struct cluster *cluster = &scenario->cluster;
    switch ((enum checkpoint_target)scenario->checkpoint.target) {
    case CHECKPOINT_LOCAL:
        return cluster_has_drives(cluster) ? NULL : &no_drives;
    case CHECKPOINT_PEER:
        return scenario->gpus > cluster->gpus_per_node ? NULL : &no_peer;
    default:
        return NULL;
    }
}

void checkpoint_read_target(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct scenario *scenario = reader->object;
    schema_read_key(reader, row);
    const struct schema_refusal *refusal = refuse_target(scenario);
    if (refusal != NULL) {
        const struct doc_node *node = doc_take(reader->map, schema_key(row));
        diag_add(reader->map->diag, DIAG_INPUT, &node->place, "nodes of cluster %s %s",
                 scenario->cluster.name, refusal->why);
        diag_help(reader->map->diag, "%s", refusal->help);
        reader->map->is_bad = true;
    }
}

const struct schema_refusal *checkpoint_refuses_drain(const void *object)
{
    static const struct schema_refusal refusal = {
        "of checkpoints that go to the shared storage at once",
        "say run.checkpoint.to: local, memory or peer, or leave it out"};
    return ((const struct scenario *)object)->checkpoint.target == CHECKPOINT_SHARED ? &refusal
                                                                                     : NULL;
}

const struct schema_refusal *checkpoint_refuses_peers(const void *object)
{
    static const struct schema_refusal elsewhere = {
        "of checkpoints that do not lie in hosts' memory first",
        "say run.checkpoint.to: memory, or leave it out"};
    static const struct schema_refusal no_peer = {
        "of a job of one node, which has no peer",
        "take more GPUs than a node has, or leave it out"};
    const struct scenario *scenario = object;
    if (scenario->checkpoint.target != CHECKPOINT_MEMORY) {
        return &elsewhere;
    }
    return scenario->gpus > scenario->cluster.gpus_per_node ? NULL : &no_peer;
}

/* What goes on to the shared storage is one of those that went to peers. */
void checkpoint_read_drain(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct checkpoint *plan = &((const struct scenario *)reader->object)->checkpoint;
    schema_read_key(reader, row);
    const int64_t peers = plan->peer_every;
    if (peers == 0 || plan->drain_every % peers == 0) {
        return;
    }
    const struct doc_node *node = doc_find(reader->map->node, schema_key(row));
    const int64_t below = plan->drain_every / peers * peers;
    diag_add(reader->map->diag, DIAG_INPUT, &node->place,
             "drain_every %lld is no multiple of peer_every %lld", (long long)plan->drain_every,
             (long long)peers);
    diag_help(reader->map->diag, "a checkpoint goes on from peers: say %lld or %lld",
              (long long)(below > 0 ? below : peers),
              (long long)(below > 0 ? below + peers : 2 * peers));
    reader->map->is_bad = true;
}
