/* Each axis is put into a copy of the document as --set would put it below `sweep`. */
#include "study/axes.h"

#include "base/arena.h"
#include "study/study.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A comma too many: the list would lack a value. Those within brackets and quotes are values'. */
static bool has_gap(const char *values)
{
    char before = ',';
    for (const char *at = values;; at++) {
        if (strchr("[{\"'", *at) != NULL && *at != '\0') {
            return false;
        }
        if ((*at == ',' || *at == '\0') && before == ',') {
            return true;
        }
        if (*at == '\0') {
            return false;
        }
        if (*at != ' ') {
            before = *at;
        }
    }
}

/* "KEY=A,B" as the document's sweep: would say it; NULL, with a message, when it is not that. */
static const char *axis_set(struct arena *arena, const char *axis, struct diag *diag)
{
    const char *equals = strchr(axis, '=');
    if (equals == NULL || equals == axis || equals[1] == '\0') {
        diag_add(diag, DIAG_USAGE, NULL, "--axis %s has no key or no values", axis);
        diag_help(diag, "write it like --axis cluster.network=\"400 Gbps,3200 Gbps\" or "
                        "--axis batch.micro=1..4");
        return NULL;
    }
    const int key = (int)(equals - axis);
    if (has_gap(equals + 1)) {
        diag_add(diag, DIAG_USAGE, NULL, "--axis %s lacks a value beside a comma", axis);
        diag_help(diag, "write one comma between two values, like --axis %.*s=A,B", key, axis);
        return NULL;
    }
    int64_t from = 0;
    int64_t to = 0;
    int length = 0;
    if (sscanf(equals + 1, "%" SCNd64 "..%" SCNd64 "%n", &from, &to, &length) != 2 ||
        equals[1 + length] != '\0') {
        return arena_printf(arena, "sweep.%.*s=[%s]", key, axis, equals + 1);
    }
    if (to < from || to - from >= STUDY_POINTS_MAX) {
        diag_add(diag, DIAG_USAGE, NULL, "--axis %s %s", axis,
                 to < from ? "has no values" : "is too long");
        diag_help(diag, "write the smaller end first, like 1..8");
        return NULL;
    }
    const char *list = "";
    for (int64_t value = from; value <= to; value++) {
        list = arena_printf(arena, "%s%s%" PRId64, list, value > from ? ", " : "", value);
    }
    return arena_printf(arena, "sweep.%.*s=[%s]", key, axis, list);
}

/* A later one would take the place of the earlier. */
static bool check_axis_once(const char *const *axes, uint32_t number, struct diag *diag)
{
    const char *axis = axes[number];
    const size_t key = strcspn(axis, "=") + 1;
    for (uint32_t i = 0; i < number; i++) {
        if (strncmp(axes[i], axis, key) == 0) {
            diag_add(diag, DIAG_USAGE, NULL, "--axis %.*s is there twice", (int)key - 1, axis);
            diag_help(diag, "write all its values in one: --axis %.*s=A,B,C", (int)key - 1, axis);
            return false;
        }
    }
    return true;
}

/* What the file sweeps under that dotted key gives way to the command line's axis, as a nested one
 * does. */
static void drop_swept(struct arena *arena, struct doc_node *document, const char *axis)
{
    struct doc_node *swept = *doc_link(document, "sweep");
    if (swept != NULL && swept->kind == DOC_MAPPING) {
        doc_drop(swept, arena_strndup(arena, axis, strcspn(axis, "=")));
    }
}

const struct doc_node *axes_add(struct arena *arena, const struct doc_node *document,
                                const char *const *axes, uint32_t count, struct diag *diag)
{
    if (count == 0) {
        return document;
    }
    struct doc_node *copy = doc_copy(arena, document);
    for (uint32_t i = 0; i < count; i++) {
        const char *set = axis_set(arena, axes[i], diag);
        drop_swept(arena, copy, axes[i]);
        if (set == NULL || !check_axis_once(axes, i, diag)) {
            return NULL;
        }
        if (!doc_set(arena, copy, set, diag)) {
            diag_help(diag, "--axis KEY=A,B is sweep: {KEY: [A, B]} in the file: put quotes "
                            "around a value that holds signs of YAML");
            return NULL;
        }
    }
    return copy;
}
