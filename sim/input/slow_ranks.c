/* Entries are read one by one and then sorted by rank, each of which may be there once.
 */
#include "input/slow_ranks.h"

#include "input/scenario.h"

#include "base/arena.h"

#include <stdlib.h>

#define SCHEMA_OBJECT struct slow_rank
#include "input/schema/rows.h"

static const struct schema_row slow_rows[] = {
    {COUNT("rank", rank, 0, SCENARIO_GPUS_MAX, "Which GPU, counted from 0."), .is_required = true},
    {QUANTITY("speed", speed, DIM_FRACTION, 0.001, 1.0, "Its speed as a share of the others'."),
     .standard = "1"},
    {QUANTITY("nic", nic, DIM_FRACTION, 0.001, 1.0,
              "Bandwidth of its NIC, both ways, as a share of the others'; GPUs that share a NIC "
              "share the loss."),
     .standard = "1"},
    {QUANTITY("scale_up", scale_up, DIM_FRACTION, 0.001, 1.0,
              "Bandwidth of its NVLink port, both ways, as a share of the others'."),
     .standard = "1"},
};
const struct schema slow_rank_keys = SCHEMA_OF("slow", "slow.", slow_rows);

static bool read_slow_rank(const struct schema_reader *reader, const struct doc_node *entry,
                           struct slow_rank *slow)
{
    const struct scenario *scenario = reader->object;
    struct diag *diag = reader->map->diag;
    struct doc_map map;
    if (!doc_map_open(&map, entry, diag)) {
        return false;
    }
    assumptions_take(reader->assumptions, &map, "slow");
    schema_read(&slow_rank_keys, &map, slow, reader->assumptions);
    if (!doc_finish(&map)) {
        return false;
    }
    if (map.node->child->next == NULL) {
        diag_add(diag, DIAG_INPUT, &entry->place, "nothing of rank %lld is slow",
                 (long long)slow->rank);
        diag_help(diag, "write speed, nic or scale_up, each a share such as 0.9");
        return false;
    }
    if (scenario->gpus > 0 && slow->rank >= scenario->gpus) {
        diag_add(diag, DIAG_INFEASIBLE, &doc_find(entry, "rank")->place,
                 "rank %lld is not among %lld gpus", (long long)slow->rank,
                 (long long)scenario->gpus);
        diag_help(diag, "ranks are 0 to %lld", (long long)scenario->gpus - 1);
        return false;
    }
    return true;
}

static int compare_slow_ranks(const void *left, const void *right)
{
    const int64_t a = ((const struct slow_rank *)left)->rank;
    const int64_t b = ((const struct slow_rank *)right)->rank;
    return (a > b) - (a < b);
}

static bool sort_slow_ranks(const struct doc_node *list, struct scenario *scenario,
                            struct diag *diag)
{
    if (scenario->slow_count > 0) {
        qsort(scenario->slow, (size_t)scenario->slow_count, sizeof *scenario->slow,
              compare_slow_ranks);
    }
    for (int64_t i = 1; i < scenario->slow_count; i++) {
        if (scenario->slow[i - 1].rank == scenario->slow[i].rank) {
            return diag_add(diag, DIAG_INFEASIBLE, &list->place, "rank %lld is listed twice",
                            (long long)scenario->slow[i].rank);
        }
    }
    return true;
}

void slow_ranks_read(const struct schema_reader *reader, const struct schema_row *row)
{
    struct scenario *scenario = reader->object;
    struct diag *diag = reader->map->diag;
    const struct doc_node *list =
        doc_take_list(reader->map, schema_key(row), "GPUs", "[{rank: 4711, speed: 0.9}]");
    if (list == NULL) {
        return;
    }
    scenario->slow =
        arena_array(reader->assumptions->arena, doc_child_count(list), sizeof *scenario->slow);
    bool is_good = true;
    for (const struct doc_node *entry = list->child; entry; entry = entry->next) {
        struct slow_rank *slow = &scenario->slow[scenario->slow_count++];
        is_good = read_slow_rank(reader, entry, slow) && is_good;
    }
    is_good = is_good && sort_slow_ranks(list, scenario, diag);
    reader->map->is_bad = reader->map->is_bad || !is_good;
}
