/* Entries are read one by one; what they mean together is checked when all jobs are known.
 */
#include "input/failures/replaced_nodes.h"

#include "input/scenario.h"

#include "base/arena.h"

#define SCHEMA_OBJECT struct replaced_node
#include "input/schema/rows.h"

static const struct schema_row replaced_rows[] = {
    {COUNT("node", node, 0, SCENARIO_GPUS_MAX, "Which node of the job, counted from 0."),
     .is_required = true},
    {COUNT("by", by, 0, SCENARIO_GPUS_MAX, "Which node of the cluster has its ranks."),
     .is_required = true},
};
const struct schema replaced_node_keys = SCHEMA_OF("replaced", "replaced.", replaced_rows);

static bool read_entry(const struct schema_reader *reader, const struct doc_node *entry,
                       struct replaced_node *replaced)
{
    struct doc_map map;
    if (!doc_map_open(&map, entry, reader->map->diag)) {
        return false;
    }
    assumptions_take(reader->assumptions, &map, "replaced");
    schema_read(&replaced_node_keys, &map, replaced, reader->assumptions);
    return doc_finish(&map);
}

void replaced_nodes_read(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    const struct doc_node *list =
        doc_take_list(reader->map, schema_key(row), "nodes", "[{node: 3, by: 64}]");
    if (list == NULL) {
        return;
    }
    scenario->replaced =
        arena_array(reader->assumptions->arena, doc_child_count(list), sizeof *scenario->replaced);
    for (const struct doc_node *entry = list->child; entry; entry = entry->next) {
        struct replaced_node *replaced = &scenario->replaced[scenario->replaced_count++];
        reader->map->is_bad = !read_entry(reader, entry, replaced) || reader->map->is_bad;
    }
}

/* ---- together -------------------------------------------------------------------------------- */

/* An entry that stands there beside the scenario's others; false: it cannot. */
static bool check_entry(const struct scenario *scenario, int64_t number,
                        const struct doc_node *entry, struct diag *diag)
{
    const struct replaced_node *own = &scenario->replaced[number];
    const int64_t most = cluster_nodes_max(&scenario->cluster);
    const int64_t nodes = most > 0 ? most : SCENARIO_GPUS_MAX / scenario->cluster.gpus_per_node;
    if (own->node >= scenario->nodes) {
        diag_add(diag, DIAG_INFEASIBLE, &doc_find(entry, "node")->place,
                 "node %lld is not among the job's %lld", (long long)own->node,
                 (long long)scenario->nodes);
        diag_help(diag, "nodes are 0 to %lld", (long long)scenario->nodes - 1);
        return false;
    }
    if (own->by >= nodes) {
        diag_add(diag, DIAG_INFEASIBLE, &doc_find(entry, "by")->place,
                 "node %lld is not among the %lld that cluster %s may have", (long long)own->by,
                 (long long)nodes, scenario->cluster.name);
        diag_help(diag, "nodes are 0 to %lld", (long long)nodes - 1);
        return false;
    }
    for (int64_t i = 0; i < number; i++) {
        const struct replaced_node *other = &scenario->replaced[i];
        if (other->node == own->node || other->by == own->by) {
            const bool is_node = other->node == own->node;
            diag_add(diag, DIAG_INFEASIBLE, &doc_find(entry, is_node ? "node" : "by")->place,
                     is_node ? "node %lld is replaced twice" : "node %lld replaces two",
                     (long long)(is_node ? own->node : own->by));
            return false;
        }
    }
    return true;
}

bool replaced_nodes_check(const struct scenario *scenario, struct diag *diag)
{
    const struct doc_node *list = doc_find(scenario->document, "replaced");
    bool is_good = true;
    int64_t number = 0;
    for (const struct doc_node *entry = list != NULL ? list->child : NULL; entry != NULL;
         entry = entry->next) {
        is_good = check_entry(scenario, number++, entry, diag) && is_good;
    }
    for (uint32_t i = 0; i < scenario->neighbour_count; i++) {
        const struct scenario *job = scenario->neighbours[i];
        if (job->replaced_count > 0) {
            diag_add(diag, DIAG_INPUT, &doc_find(job->document, "replaced")->place,
                     "a job beside another has replaced nodes");
            diag_help(diag, "only the scenario's own job may say replaced");
            is_good = false;
        }
    }
    return is_good;
}
