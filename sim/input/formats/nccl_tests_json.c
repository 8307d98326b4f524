/* The JSON that nccl-tests writes with -J. libyaml reads it: JSON is YAML.
 *
 * `devices` holds one entry for each process, the first GPU of it, so the ranks
 * are that times the threads and GPUs of a process.
 */
#include "input/formats/nccl_tests.h"

#include "base/arena.h"
#include "input/doc/name_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct arena *arena;
    const struct nccl_tests_hints *hints;
    struct measurement_list *list;
    struct diag *diag;
    struct nccl_tests_run run;
    const char *kind; /* of the open measurement; NULL: none is open */
    double bytes;     /* of its last point */
    bool is_in_place; /* it has a time that is not out of place */
    bool is_bad;
};

bool nccl_tests_is_json(const struct text_file *file)
{
    return file->text[strspn(file->text, " \t\r\n")] == '{';
}

static int64_t count_of(const struct doc_node *node, const char *path, int64_t otherwise)
{
    const char *text = doc_find_text(node, path);
    int64_t count = 0;
    return text != NULL && text_span_count((struct text_span){text, text + strlen(text)}, &count)
               ? count
               : otherwise;
}

/* ---- the run ----------------------------------------------------------------- */

static void read_environment(struct reader *reader, const struct doc_node *root)
{
    const struct doc_node *environment = doc_find(root, "env");
    const struct doc_node *item = environment == NULL ? NULL : environment->child;
    for (; item != NULL; item = item->next) {
        if (item->kind != DOC_SCALAR) {
            continue;
        }
        const char *algorithm = nccl_tests_forced(reader->arena, item->text, "NCCL_ALGO");
        const char *protocol = nccl_tests_forced(reader->arena, item->text, "NCCL_PROTO");
        reader->run.algorithm = algorithm != NULL ? algorithm : reader->run.algorithm;
        reader->run.protocol = protocol != NULL ? protocol : reader->run.protocol;
    }
}

/* The processes of the group of the first, and their hosts. */
static void read_devices(struct reader *reader, const struct doc_node *root)
{
    const struct doc_node *devices = doc_find(root, "config.devices");
    const struct doc_node *device = devices == NULL ? NULL : devices->child;
    const int64_t group = device == NULL ? 0 : count_of(device, "group", 0);
    reader->run.gpu_name = device == NULL ? NULL : doc_find_text(device, "device_info");
    struct name_table hosts;
    name_table_init(&hosts, reader->arena);
    int64_t processes = 0;
    for (; device != NULL; device = device->next) {
        const char *host = doc_find_text(device, "hostname");
        if (host == NULL || count_of(device, "group", 0) != group) {
            continue;
        }
        bool is_new = false;
        name_table_add(&hosts, host, &is_new);
        processes++;
    }
    const int64_t threads = count_of(root, "config.nthreads", 1);
    const int64_t gpus = count_of(root, "config.ngpus", 1);
    const bool is_sane = threads <= MEASUREMENT_GPUS_MAX && gpus <= MEASUREMENT_GPUS_MAX;
    reader->run.gpus = is_sane ? processes * threads * gpus : 0;
    reader->run.nodes = hosts.count;
}

static void read_run(struct reader *reader, const struct doc_node *root)
{
    const char *program = doc_find_text(root, "args.0");
    reader->run.operation = program == NULL ? NULL : nccl_tests_operation(program);
    reader->run.library = nccl_tests_library(reader->arena, count_of(root, "nccl_version", 0));
    read_environment(reader, root);
    read_devices(reader, root);
}

/* ---- results -------------------------------------------------------------------- */

static void close_measurement(struct reader *reader)
{
    if (reader->kind == NULL) {
        return;
    }
    struct measurement *last = &reader->list->items[reader->list->count - 1];
    last->note = reader->kind;
    reader->kind = NULL;
    if (last->point_count == 0) {
        reader->list->count--;
        return;
    }
    if (!nccl_tests_finish(reader->arena, &reader->run, reader->hints, reader->list,
                           reader->diag)) {
        reader->is_bad = true;
        return;
    }
    if (reader->is_in_place) {
        diag_add(reader->diag, DIAG_WARNING, &last->place,
                 "some results have in-place times only; those are taken");
    }
}

static void open_measurement(struct reader *reader, const struct doc_node *row, const char *kind)
{
    close_measurement(reader);
    struct measurement *measurement = measurement_add(reader->arena, reader->list);
    measurement->place = row->place;
    reader->kind = kind;
    reader->bytes = 0.0;
    reader->is_in_place = false;
}

/* The time of a row in us, with its node; NULL and a message when there is none. */
static const struct doc_node *find_time(struct reader *reader, const struct doc_node *row)
{
    static const char *const paths[] = {"out_of_place.time", "out_of_place.cpu_time",
                                        "in_place.time", "in_place.cpu_time"};
    for (uint32_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct doc_node *time = doc_find(row, paths[i]);
        if (time != NULL && time->kind == DOC_SCALAR) {
            reader->is_in_place = reader->is_in_place || i >= 2;
            return time;
        }
    }
    diag_add(reader->diag, DIAG_INPUT, &row->place, "this result has no time");
    diag_help(reader->diag, "nccl-tests writes \"out_of_place\": {\"time\": ...}");
    reader->is_bad = true;
    return NULL;
}

static const char *kind_of(struct arena *arena, const struct doc_node *row)
{
    const char *type = doc_find_text(row, "type");
    const char *reduction = doc_find_text(row, "redop");
    if (reduction == NULL || reduction[0] == '\0' || strcmp(reduction, "none") == 0) {
        return type == NULL ? "" : type;
    }
    return arena_printf(arena, "%s %s", type == NULL ? "" : type, reduction);
}

static void report_row(struct reader *reader, const struct doc_node *at, const char *message)
{
    reader->is_bad = true;
    diag_add(reader->diag, DIAG_INPUT, &at->place, "%s", message);
}

static void read_result(struct reader *reader, const struct doc_node *row)
{
    const int64_t size = count_of(row, "size", -1);
    if (size < 0) {
        report_row(reader, row, "this result has no size");
        return;
    }
    const char *kind = kind_of(reader->arena, row);
    const double bytes = (double)size;
    const bool is_same = reader->kind != NULL && strcmp(reader->kind, kind) == 0;
    if (is_same && bytes > 0.0 && bytes == reader->bytes) {
        diag_add(reader->diag, DIAG_WARNING, &row->place,
                 "this size stands twice; its first result is taken");
        return;
    }
    if (!is_same || bytes < reader->bytes) {
        open_measurement(reader, row, kind);
    }
    const struct doc_node *time = find_time(reader, row);
    double time_us = 0.0;
    if (time == NULL || size == 0) {
        return;
    }
    if (strcmp(time->text, "nan") == 0 || strcmp(time->text, "-nan") == 0) {
        diag_add(reader->diag, DIAG_WARNING, &time->place,
                 "this time is not a number; the result is left out");
        return;
    }
    if (!text_span_number((struct text_span){time->text, time->text + strlen(time->text)},
                          &time_us) ||
        time_us <= 0.0 || time_us > 1e11) {
        report_row(reader, time, "a time must be a positive number of microseconds");
        return;
    }
    struct measurement *last = &reader->list->items[reader->list->count - 1];
    measurement_add_point(reader->arena, last, (struct measured_point){bytes, time_us * 1e-6});
    reader->bytes = bytes;
}

bool nccl_tests_read_json(struct arena *arena, const struct doc_node *root,
                          const struct nccl_tests_hints *hints, struct measurement_list *list,
                          struct diag *diag)
{
    struct reader reader = {.arena = arena, .hints = hints, .list = list, .diag = diag};
    const struct doc_node *results = doc_find(root, "results");
    if (results == NULL || results->kind != DOC_SEQUENCE || results->child == NULL) {
        diag_add(diag, DIAG_INPUT, results != NULL ? &results->place : &root->place,
                 "this JSON has no list of results");
        diag_help(diag, "nccl-tests writes \"results\": [{\"size\": ..., ...}] with -J");
        return false;
    }
    read_run(&reader, root);
    const uint32_t before = list->count;
    for (const struct doc_node *row = results->child; row != NULL; row = row->next) {
        read_result(&reader, row);
    }
    close_measurement(&reader);
    if (!reader.is_bad && list->count == before) {
        return diag_add(diag, DIAG_INPUT, &results->place, "no result has a time and a size");
    }
    return !reader.is_bad;
}
