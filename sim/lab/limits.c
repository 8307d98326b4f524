/* The file is small: three mappings, each with one figure and its source, are read one by one. */
#include "lab/limits.h"

#include "base/arena.h"
#include "input/doc/doc.h"
#include "input/scenario.h"
#include "train/need.h"

/* One figure with its source. */
static bool read_figure(struct doc_map *file, const char *name, const char *key, double *value)
{
    struct doc_map map;
    const struct doc_node *node = doc_take(file, name);
    const char *unused = NULL;
    if (!doc_require(file, name) || !doc_map_open(&map, node, file->diag)) {
        return false;
    }
    const bool has_all = doc_require(&map, key) && doc_require(&map, "source");
    doc_get_quantity(&map, key, DIM_FRACTION, 0, 1, value);
    doc_get_text(&map, "source", &unused);
    doc_get_text(&map, "provenance", &unused);
    return doc_finish(&map) && has_all;
}

static bool read_file(struct arena *arena, const char *path, struct limits *limits,
                      struct diag *diag)
{
    struct doc_map file;
    struct limits read = *limits;
    const struct doc_node *document = doc_load(arena, path, diag);
    if (document == NULL || !doc_map_open(&file, document, diag)) {
        return false;
    }
    const bool is_good = read_figure(&file, "resolution", "hashed", &read.resolution) &&
                         read_figure(&file, "anchor", "trust", &read.trust) &&
                         (doc_find(document, "assumptions") == NULL ||
                          read_figure(&file, "assumptions", "range", &read.range));
    if (!doc_finish(&file) || !is_good) {
        return false;
    }
    *limits = read;
    return true;
}

bool limits_load(struct arena *arena, const struct catalogue *catalogue, struct limits *limits,
                 const char **reason, struct diag *diag)
{
    *limits = (struct limits){.resolution = 0, .trust = 1};
    const char *path = catalogue_file(arena, catalogue, LIMITS_FILE);
    if (path == NULL) {
        *reason = "the catalogue has no " LIMITS_FILE;
        return false;
    }
    struct diag *own = diag_new(arena);
    if (read_file(arena, path, limits, own)) {
        return true;
    }
    *reason = diag_first_error_at(arena, own);
    if (diag_exit_status(own) == 1) { /* not its contents: a disk that fails, no memory */
        diag_add(diag, DIAG_FAILURE, NULL, "no limits of comparisons: %s", *reason);
    }
    return false;
}

bool limits_apply(const struct scenario *scenario)
{
    return scenario->nodes > scenario->cluster.domain_nodes && need_own_routes(scenario);
}

double limits_resolution(const struct limits *limits, const struct scenario *scenario)
{
    return limits_apply(scenario) ? limits->resolution : 0;
}
