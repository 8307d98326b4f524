/* Reads measurements of collectives from our YAML, and chooses between the
 * formats that a file may have.
 */
#include "input/formats/measurement.h"

#include "base/arena.h"
#include "input/formats/nccl_tests.h"
#include "input/doc/text_file.h"

#include <string.h>

enum { SHOWN_BYTES_MAX = 60 };
static const size_t FILE_BYTES_MAX = (size_t)64 << 20; /* a log with NCCL_DEBUG=INFO is long */
static const int64_t BYTES_MAX = (int64_t)1 << 50;
static const double TIME_MIN_S = 1e-9;
static const double TIME_MAX_S = 1e5;

const char *const measurement_operations[MEASUREMENT_OPERATION_COUNT] = {
    "all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast", "reduce", "send",
};

bool measurement_is_operation(const char *name)
{
    for (uint32_t i = 0; i < MEASUREMENT_OPERATION_COUNT; i++) {
        if (strcmp(measurement_operations[i], name) == 0) {
            return true;
        }
    }
    return false;
}

double measurement_bus_factor(const char *operation, int64_t gpus)
{
    sim_assert(gpus > 0);
    const double share = (double)(gpus - 1) / (double)gpus;
    if (strcmp(operation, "all-reduce") == 0) {
        return 2.0 * share;
    }
    const bool is_shared = strcmp(operation, "all-gather") == 0 ||
                           strcmp(operation, "reduce-scatter") == 0 ||
                           strcmp(operation, "all-to-all") == 0;
    return is_shared ? share : 1.0;
}

struct measurement *measurement_add(struct arena *arena, struct measurement_list *list)
{
    list->items = arena_grow(arena, list->items, &list->capacity, (size_t)list->count + 1,
                             sizeof *list->items);
    struct measurement *added = &list->items[list->count++];
    *added = (struct measurement){.gpus = 0};
    return added;
}

void measurement_add_point(struct arena *arena, struct measurement *measurement,
                           struct measured_point point)
{
    measurement->points =
        arena_grow(arena, measurement->points, &measurement->point_capacity,
                   (size_t)measurement->point_count + 1, sizeof *measurement->points);
    measurement->points[measurement->point_count++] = point;
}

/* ---- our YAML ------------------------------------------------------------- */

struct reader {
    struct arena *arena;
    struct diag *diag;
    struct measurement_list *list;
};

/* True when good; the size must be larger than that of the point before. */
static bool read_point(const struct reader *reader, const struct doc_node *node,
                       struct measurement *measurement)
{
    struct doc_map map;
    if (!doc_map_open(&map, node, reader->diag)) {
        return false;
    }
    int64_t bytes = 0;
    struct measured_point point = {0.0, 0.0};
    doc_require(&map, "bytes");
    doc_require(&map, "time");
    const bool has_bytes = doc_get_count(&map, "bytes", 1, BYTES_MAX, &bytes);
    doc_get_quantity(&map, "time", DIM_SECONDS, TIME_MIN_S, TIME_MAX_S, &point.time_s);
    const uint32_t count = measurement->point_count;
    const double before = count > 0 ? measurement->points[count - 1].bytes : 0.0;
    point.bytes = (double)bytes;
    if (has_bytes && point.bytes <= before) {
        diag_add(reader->diag, DIAG_INPUT, &doc_find(node, "bytes")->place, "bytes %lld %s",
                 (long long)bytes,
                 point.bytes < before ? "is less than in the point before" : "stands twice");
        diag_help(reader->diag, "the sizes of a measurement rise; two runs are two measurements");
        map.is_bad = true;
    }
    if (!doc_finish(&map)) {
        return false;
    }
    measurement_add_point(reader->arena, measurement, point);
    return true;
}

static bool read_points(const struct reader *reader, struct doc_map *map,
                        struct measurement *measurement)
{
    const struct doc_node *points = doc_take(map, "points");
    if (points == NULL) {
        return doc_require(map, "points");
    }
    if (points->kind != DOC_SEQUENCE || points->child == NULL) {
        diag_add(reader->diag, DIAG_INPUT, &points->place, "points must be a list with a point");
        diag_help(reader->diag, "write '- {bytes: 32768, time: 43.83 us}' for each");
        return false;
    }
    bool is_good = true;
    for (const struct doc_node *node = points->child; node != NULL; node = node->next) {
        is_good = read_point(reader, node, measurement) && is_good;
    }
    return is_good;
}

static bool check_id(const struct reader *reader, const struct measurement *measurement)
{
    for (uint32_t i = 0; measurement->id != NULL && i + 1 < reader->list->count; i++) {
        const struct measurement *other = &reader->list->items[i];
        if (other->place.file == measurement->place.file && other->id != NULL &&
            strcmp(other->id, measurement->id) == 0) {
            diag_add(reader->diag, DIAG_INPUT, &measurement->place,
                     "there is a measurement '%.*s' already, in line %u", SHOWN_BYTES_MAX,
                     measurement->id, other->place.line);
            diag_help(reader->diag, "give each measurement an id of its own");
            return false;
        }
    }
    return true;
}

static void read_ranks(struct doc_map *map, struct measurement *measurement)
{
    doc_require(map, "gpus");
    doc_require(map, "nodes");
    if (doc_get_count(map, "gpus", 2, MEASUREMENT_GPUS_MAX, &measurement->gpus)) {
        doc_get_count(map, "nodes", 1, measurement->gpus, &measurement->nodes);
    } else {
        doc_take(map, "nodes");
    }
}

static bool read_one(const struct reader *reader, const struct doc_node *node)
{
    struct doc_map map;
    if (!doc_map_open(&map, node, reader->diag)) {
        return false;
    }
    struct measurement *measurement = measurement_add(reader->arena, reader->list);
    measurement->place = node->place;
    uint32_t operation = 0;
    doc_require(&map, "id");
    doc_get_text(&map, "id", &measurement->id);
    doc_require(&map, "operation");
    doc_get_choice(&map, "operation", measurement_operations, MEASUREMENT_OPERATION_COUNT,
                   &operation);
    measurement->operation = measurement_operations[operation];
    doc_get_text(&map, "cluster", &measurement->cluster);
    read_ranks(&map, measurement);
    doc_get_text(&map, "library", &measurement->library);
    doc_get_text(&map, "algorithm", &measurement->algorithm);
    doc_get_text(&map, "protocol", &measurement->protocol);
    doc_get_text(&map, "note", &measurement->note);
    doc_require(&map, "source");
    doc_get_text(&map, "source", &measurement->source);
    const bool has_points = read_points(reader, &map, measurement);
    const bool is_unique = check_id(reader, measurement);
    return doc_finish(&map) && has_points && is_unique;
}

bool measurement_read(struct arena *arena, const struct doc_node *root,
                      struct measurement_list *list, struct diag *diag)
{
    const struct reader reader = {arena, diag, list};
    struct doc_map map;
    if (!doc_map_open(&map, root, diag)) {
        return false;
    }
    const struct doc_node *items = doc_take(&map, "measurements");
    if (items == NULL) {
        doc_require(&map, "measurements");
        return doc_finish(&map);
    }
    if (items->kind != DOC_SEQUENCE || items->child == NULL) {
        diag_add(diag, DIAG_INPUT, &items->place, "measurements must be a list with a measurement");
        diag_help(diag, "each begins with '- id: NAME'");
        return false;
    }
    bool is_good = true;
    for (const struct doc_node *node = items->child; node != NULL; node = node->next) {
        is_good = read_one(&reader, node) && is_good;
    }
    return doc_finish(&map) && is_good;
}

/* ---- files ------------------------------------------------------------------ */

static bool has_our_key(const struct text_file *file)
{
    static const char key[] = "measurements:";
    const char *next = file->text;
    while (next != NULL) {
        const struct text_span line = text_line(next, &next);
        if (strncmp(line.begin, key, sizeof key - 1) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_line_wanted(const void *context, struct text_span line)
{
    (void)context;
    return nccl_tests_wants(line);
}

static bool load(struct arena *arena, const char *path, struct text_file *file, struct diag *diag)
{
    const struct text_sieve sieve = {FILE_BYTES_MAX, is_line_wanted, NULL};
    return text_file_stream(arena, path, &sieve, file, diag) && text_file_check(file, diag);
}

bool measurement_is_file(const char *path)
{
    struct arena *arena = arena_new();
    struct text_file file;
    const bool is_one =
        load(arena, path, &file, diag_new(arena)) &&
        (has_our_key(&file) || nccl_tests_is_json(&file) ||
         (strstr(file.text, "algbw") != NULL && strstr(file.text, "busbw") != NULL));
    arena_free(arena);
    return is_one;
}

bool measurement_read_file(struct arena *arena, const char *path, struct measurement_list *list,
                           struct diag *diag)
{
    struct text_file file;
    if (!load(arena, path, &file, diag)) {
        return false;
    }
    const struct nccl_tests_hints hints = {.gpus = 0};
    const bool is_json = nccl_tests_is_json(&file);
    if (!is_json && !has_our_key(&file)) {
        return nccl_tests_read(arena, &file, &hints, list, diag);
    }
    const struct doc_node *root = doc_parse(arena, file.path, file.text, file.length, diag);
    if (root == NULL) {
        return false;
    }
    const bool is_ours = !is_json || doc_find(root, "measurements") != NULL;
    return is_ours ? measurement_read(arena, root, list, diag)
                   : nccl_tests_read_json(arena, root, &hints, list, diag);
}
