/* The list of what a machine was seen to choose: one row an entry, each of which says the
 * operation, over how many nodes and GPUs, from which size to which, and what ran.
 */
#include "input/library.h"

#include <stddef.h>

#define SCHEMA_OBJECT struct library_choice
#include "input/schema/rows.h"

#define BYTES_MAX 1e18

static const struct schema_row rows[] = {
    {CHOICE("operation", operation, collective_operation_names, COLLECTIVE_OPERATION_COUNT_,
            "What is run."),
     .is_required = true},
    {COUNT("nodes", nodes, 1, 1000000, "Over how many nodes (NVLink domains)."),
     .is_required = true},
    {COUNT("gpus", gpus, 2, 10000000, "By how many GPUs in all."), .is_required = true},
    {QUANTITY("from", from_bytes, DIM_BYTES, 0.0, BYTES_MAX,
              "The smallest buffer for which it holds."),
     .standard = "0 B"},
    {QUANTITY("to", to_bytes, DIM_BYTES, 0.0, BYTES_MAX, "The largest."), .standard = "1e18 B"},
    {CHOICE("algorithm", algorithm, collective_algorithm_names, ALGORITHM_ASKED_COUNT_,
            "The algorithm that runs; ring is NCCL's, over all rails."),
     .is_required = true},
    {CHOICE("protocol", protocol, collective_protocol_names, PROTOCOL_COUNT_,
            "The protocol that it runs with."),
     .is_required = true},
};
const struct schema library_choice_keys = SCHEMA_OF("choices", "LAYER.ARCHITECTURE.choices.", rows);

static bool read_choice(const struct schema_reader *reader, const struct doc_node *entry,
                        struct library_choice *choice)
{
    struct doc_map map;
    if (!doc_map_open(&map, entry, reader->map->diag)) {
        return false;
    }
    assumptions_take(reader->assumptions, &map, "choices");
    schema_read(&library_choice_keys, &map, choice, reader->assumptions);
    return doc_finish(&map);
}

/* Those of a layer replace the ones below it: they were seen later. */
void library_read_choices(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    char *architectures = (char *)reader->object + offsetof(struct library, architectures);
    struct library_architecture *architecture = (struct library_architecture *)architectures;
    const struct doc_node *list = doc_take_list(
        map, schema_key(row), "choices",
        "[{operation: all-reduce, nodes: 8, gpus: 64, algorithm: tree, protocol: Simple}]");
    if (list == NULL) {
        return;
    }
    if (doc_child_count(list) > LIBRARY_CHOICE_MAX) {
        diag_add(map->diag, DIAG_INPUT, &list->place, "more than %d choices of an architecture",
                 LIBRARY_CHOICE_MAX);
        diag_help(map->diag, "one row holds from a size to a size: join those that are alike");
        map->is_bad = true;
        return;
    }
    architecture->choice_count = 0;
    for (const struct doc_node *entry = list->child; entry != NULL; entry = entry->next) {
        struct library_choice *choice = &architecture->choices[architecture->choice_count++];
        map->is_bad = !read_choice(reader, entry, choice) || map->is_bad;
    }
}
