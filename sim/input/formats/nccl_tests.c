/* What the readers of nccl-tests' text and of its JSON have in common: names
 * of operations and types, and what a measurement must know.
 */
#include "input/formats/nccl_tests.h"

#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

/* ---- names of tests and libraries --------------------------------------------- */

/* A test whose operation is "" is known by name, but not what it measures. */
static const char *const tests[][2] = {
    {"all_reduce", "all-reduce"},
    {"all_gather", "all-gather"},
    {"reduce_scatter", "reduce-scatter"},
    {"alltoall", "all-to-all"},
    {"broadcast", "broadcast"},
    {"reduce", "reduce"},
    {"sendrecv", "send"},
    {"alltoallv", ""},
    {"gather", ""},
    {"scatter", ""},
    {"hypercube", ""},
};

static bool is_name_letter(char letter)
{
    return (letter >= 'a' && letter <= 'z') || letter == '_' || (letter >= '0' && letter <= '9');
}

/* Of the name that ends before `end`, which begins at `text` or behind another letter. */
static const char *operation_before(const char *text, const char *end)
{
    const char *begin = end;
    while (begin > text && is_name_letter(begin[-1])) {
        begin--;
    }
    const size_t length = (size_t)(end - begin);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (strlen(tests[i][0]) == length && memcmp(tests[i][0], begin, length) == 0) {
            return tests[i][1];
        }
    }
    return NULL;
}

const char *nccl_tests_operation(const char *text)
{
    static const char suffix[] = "_perf"; /* and _perf_mpi in newer builds */
    for (const char *end = strstr(text, suffix); end != NULL; end = strstr(end + 1, suffix)) {
        const char *rest = end + sizeof suffix - 1;
        const bool is_whole = !is_name_letter(*rest) || strncmp(rest, "_mpi", 4) == 0;
        const char *operation = is_whole ? operation_before(text, end) : NULL;
        if (operation != NULL) {
            return operation;
        }
    }
    return NULL;
}

const char *nccl_tests_library(struct arena *arena, int64_t code)
{
    if (code >= 20000 && code < 1000000) {
        return arena_printf(arena, "NCCL %" PRId64 ".%" PRId64 ".%" PRId64, code / 10000,
                            code / 100 % 100, code % 100);
    }
    if (code >= 2000 && code < 3000) { /* before 2.9 */
        return arena_printf(arena, "NCCL %" PRId64 ".%" PRId64 ".%" PRId64, code / 1000,
                            code / 100 % 10, code % 100);
    }
    return NULL;
}

const char *nccl_tests_forced(struct arena *arena, const char *assignment, const char *name)
{
    const size_t length = strlen(name);
    if (strncmp(assignment, name, length) != 0 || assignment[length] != '=') {
        return NULL;
    }
    char *value = arena_strdup(arena, assignment + length + 1);
    for (char *letter = value; *letter != '\0'; letter++) {
        if (*letter >= 'A' && *letter <= 'Z') {
            *letter = (char)(*letter - 'A' + 'a');
        }
        if (!is_name_letter(*letter) || *letter == '_') {
            return NULL;
        }
    }
    return value[0] == '\0' ? NULL : value;
}

/* ---- finishing ------------------------------------------------------------- */

static const char *free_id(struct arena *arena, const struct measurement_list *list)
{
    const struct measurement *last = &list->items[list->count - 1];
    const char *base = arena_printf(arena, "%s-%" PRId64 "gpu-%" PRId64 "node", last->operation,
                                    last->gpus, last->nodes);
    uint32_t same = 0; /* ids of a file are made here alone, so counting is enough */
    for (uint32_t i = 0; i + 1 < list->count; i++) {
        const struct measurement *other = &list->items[i];
        same += strcmp(other->operation, last->operation) == 0 && other->gpus == last->gpus &&
                other->nodes == last->nodes;
    }
    return same == 0 ? base : arena_printf(arena, "%s-%" PRIu32, base, same + 1);
}

static bool check_operation(const struct measurement *last, const char *operation,
                            struct diag *diag)
{
    if (operation != NULL && operation[0] != '\0') {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &last->place,
             operation == NULL ? "nothing says which operation this is"
                               : "this is a test of an operation that stoker does not know");
    diag_help(diag, operation == NULL
                        ? "keep the line '# Collective test starting: all_reduce_perf' or the "
                          "command line, or say `stoker import nccl-tests --operation all-reduce`"
                        : "known are all_reduce_perf, all_gather_perf, reduce_scatter_perf, "
                          "alltoall_perf, broadcast_perf, reduce_perf and sendrecv_perf");
    return false;
}

static bool check_ranks(const struct measurement *last, struct diag *diag)
{
    if (last->gpus == 0 || last->nodes == 0) {
        diag_add(diag, DIAG_INPUT, &last->place, "nothing says how many GPUs and nodes this is of");
        diag_help(diag, "keep the lines '#  Rank  0 Group  0 Pid ...', or say "
                        "`stoker import nccl-tests --gpus N --nodes N`");
        return false;
    }
    if (last->gpus < 2 || last->gpus > MEASUREMENT_GPUS_MAX) {
        return diag_add(diag, DIAG_INPUT, &last->place,
                        "a collective of %" PRId64 " GPU%s measures no network", last->gpus,
                        last->gpus == 1 ? "" : "s");
    }
    if (last->nodes > last->gpus) {
        return diag_add(diag, DIAG_INPUT, &last->place,
                        "%" PRId64 " GPUs cannot be on %" PRId64 " nodes", last->gpus, last->nodes);
    }
    return true;
}

bool nccl_tests_finish(struct arena *arena, const struct nccl_tests_run *run,
                       const struct nccl_tests_hints *hints, struct measurement_list *list,
                       struct diag *diag)
{
    struct measurement *last = &list->items[list->count - 1];
    const char *operation = hints->operation != NULL ? hints->operation : run->operation;
    last->gpus = hints->gpus > 0 ? hints->gpus : run->gpus;
    last->nodes = hints->nodes > 0 ? hints->nodes : run->nodes;
    const bool has_operation = check_operation(last, operation, diag);
    if (!check_ranks(last, diag) || !has_operation) {
        list->count--;
        return false;
    }
    last->operation = operation;
    last->cluster = hints->cluster;
    last->library = run->library;
    last->algorithm = run->algorithm;
    last->protocol = run->protocol;
    last->source = arena_printf(arena, "imported from %s", last->place.file);
    if (run->gpu_name != NULL) {
        last->note = last->note == NULL ? run->gpu_name
                                        : arena_printf(arena, "%s, %s", run->gpu_name, last->note);
    }
    last->id = free_id(arena, list);
    return true;
}
