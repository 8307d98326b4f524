/* Reads through the same functions as the command line does, and stops where these complain. */
#include "support/fixture.h"

#include "base/arena.h"
#include "base/check.h"
#include "input/catalogue.h"
#include "input/scenario_load.h"
#include "run/run.h"

#include <stdio.h>
#include <string.h>

static const struct catalogue here = {.directories = {"."}, .count = 1};

static void need(bool is_good, const struct diag *diag)
{
    if (!is_good) {
        diag_print(diag, stderr);
    }
    sim_assert(is_good);
}

struct scenario *fixture_scenario(struct arena *arena, const struct fixture_source *source)
{
    struct diag *diag = diag_new(arena);
    const struct catalogue own = {.directories = {source->directory}, .count = 1};
    const struct doc_node *document =
        source->path != NULL
            ? scenario_load_document(arena, source->path, diag)
            : doc_parse(arena, "test.yaml", source->text, strlen(source->text), diag);
    need(document != NULL, diag);
    struct scenario *scenario =
        scenario_resolve(arena, document, source->directory != NULL ? &own : &here, source->sets,
                         source->set_count, diag);
    need(scenario != NULL, diag);
    return scenario;
}

struct scenario *fixture_file(struct arena *arena, const char *path, const char *const *sets)
{
    uint32_t count = 0;
    while (sets != NULL && sets[count] != NULL) {
        count++;
    }
    return fixture_scenario(
        arena, &(struct fixture_source){.path = path, .sets = sets, .set_count = count});
}

struct scenario *fixture_quickstart(struct arena *arena, const char *first, const char *const *sets)
{
    const char *all[FIXTURE_SETS_MAX + 2] = {first};
    for (uint32_t i = 0; sets[i] != NULL; i++) {
        sim_assert(i < FIXTURE_SETS_MAX);
        all[i + 1] = sets[i];
    }
    return fixture_file(arena, "scenarios/quickstart.yaml", all);
}

const struct result *fixture_predict(struct arena *arena, const struct scenario *scenario)
{
    struct result *result = arena_alloc(arena, sizeof *result);
    run_predict(arena, scenario,
                &(struct run_request){.folds = true, .build = "test", .finds_path = true}, result);
    return result;
}

/* The tree of a catalogue's file. */
static struct doc_node *open_file(struct arena *arena, enum catalogue_kind kind, const char *name,
                                  const char *set, struct diag *diag)
{
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name};
    const struct doc_node *node = catalogue_open(arena, &here, kind, &reference, diag);
    need(node != NULL, diag);
    struct doc_node *own = doc_copy(arena, node);
    need(set == NULL || doc_set(arena, own, set, diag), diag);
    return own;
}

struct model fixture_model(struct arena *arena, const char *name, const char *set)
{
    struct diag *diag = diag_new(arena);
    struct model model = {0};
    struct assumptions assumptions;
    assumptions_init(&assumptions, arena);
    need(model_read(open_file(arena, CATALOGUE_MODEL, name, set, diag), &model, &assumptions, diag),
         diag);
    return model;
}

struct gpu fixture_gpu(struct arena *arena, const char *name)
{
    struct diag *diag = diag_new(arena);
    struct gpu gpu = {0};
    struct assumptions assumptions;
    assumptions_init(&assumptions, arena);
    need(gpu_read(open_file(arena, CATALOGUE_GPU, name, NULL, diag), &gpu, &assumptions, diag),
         diag);
    return gpu;
}
