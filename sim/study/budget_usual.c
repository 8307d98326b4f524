/* The file is small: two shares with their source and a list of laws are read whole. */
#include "study/budget_usual.h"

#include "bands/table_file.h"
#include "base/absent.h"
#include "base/arena.h"
#include "input/doc/doc.h"
#include "input/gpu.h"

#include <math.h>
#include <string.h>

double budget_law_parameters(const struct budget_law *law, double flop)
{
    const double sum = law->alpha + law->beta;
    const double g = pow(law->alpha * law->a / (law->beta * law->b), 1 / sum);
    return g * pow(flop / BUDGET_FLOP_PER_PARAMETER, law->beta / sum);
}

double budget_law_loss(const struct budget_law *law, double parameters, double tokens)
{
    return law->e + law->a / pow(parameters, law->alpha) + law->b / pow(tokens, law->beta);
}

static void put(struct budget *budget, enum budget_quantity quantity, double value,
                enum budget_origin origin)
{
    budget->value[quantity] = value;
    budget->origin[quantity] = origin;
}

/* What GPUs do is asked for where it joins FLOPs to hours of theirs. */
static bool lacks_mfu(const struct budget *budget)
{
    return is_absent(budget->value[BUDGET_RATE]) && is_absent(budget->value[BUDGET_MFU]) &&
           !is_absent(budget->value[BUDGET_PEAK]);
}

void budget_solve_usual(struct budget *budget, double mfu, const struct budget_law *law)
{
    budget_solve(budget);
    if (lacks_mfu(budget)) {
        put(budget, BUDGET_MFU, mfu, BUDGET_ASSUMED);
        budget_solve(budget);
    }
    if (!is_absent(budget->value[BUDGET_FLOP]) && is_absent(budget->value[BUDGET_TOKEN_FLOP]) &&
        is_absent(budget->value[BUDGET_TOKENS])) {
        put(budget, BUDGET_PARAMETERS, budget_law_parameters(law, budget->value[BUDGET_FLOP]),
            BUDGET_WORKED);
        budget_solve(budget);
    }
}

static bool is_low(uint32_t precision)
{
    return precision != PRECISION_BF16 && precision != PRECISION_FP16 &&
           precision != PRECISION_FP32;
}

void budget_find(const struct budget *told, const struct budget_usual *usual, uint32_t precision,
                 const struct budget_law *law, struct budget_found *found)
{
    const struct budget_mfu *mfu = is_low(precision) ? &usual->mfu_low : &usual->mfu;
    struct budget *const budgets[] = {&found->usual, &found->at_low, &found->at_high};
    const double mfus[] = {mfu->usual, mfu->low, mfu->high};
    for (uint32_t i = 0; i < 3; i++) {
        *budgets[i] = *told;
        budget_solve_usual(budgets[i], mfus[i], law);
    }
    found->assumes_mfu = found->usual.origin[BUDGET_MFU] == BUDGET_ASSUMED;
    found->is_split = found->usual.origin[BUDGET_PARAMETERS] == BUDGET_WORKED &&
                      found->usual.of[BUDGET_PARAMETERS] == NULL;
}

const struct budget_law *budget_law_find(struct arena *arena, const struct budget_usual *usual,
                                         const char *name, struct diag *diag)
{
    const char **names = arena_array(arena, usual->law_count, sizeof *names);
    for (uint32_t i = 0; i < usual->law_count; i++) {
        names[i] = usual->laws[i].name;
        if (name == NULL || strcmp(name, names[i]) == 0) {
            return &usual->laws[i];
        }
    }
    const char *nearest = diag_nearest(name, names, usual->law_count);
    diag_add(diag, DIAG_USAGE, NULL, "there is no law '%s'", name);
    diag_help(diag, "%s%s", nearest != NULL ? "did you mean " : "the first of " BUDGET_FILE " is ",
              nearest != NULL ? nearest : names[0]);
    return NULL;
}

static bool read_mfu(struct doc_map *file, const char *key, struct budget_mfu *mfu)
{
    struct doc_map map;
    const char *unused = NULL;
    if (!doc_require(file, key) || !doc_map_open(&map, doc_take(file, key), file->diag)) {
        return false;
    }
    const bool has_all = doc_require(&map, "low") && doc_require(&map, "usual") &&
                         doc_require(&map, "high") && doc_require(&map, "source");
    doc_get_quantity(&map, "low", DIM_FRACTION, 0.001, 1, &mfu->low);
    doc_get_quantity(&map, "usual", DIM_FRACTION, mfu->low, 1, &mfu->usual);
    doc_get_quantity(&map, "high", DIM_FRACTION, mfu->usual, 1, &mfu->high);
    doc_get_text(&map, "source", &unused);
    doc_get_text(&map, "provenance", &unused);
    return doc_finish(&map) && has_all;
}

static bool read_law(const struct doc_node *node, struct budget_law *law, struct diag *diag)
{
    const struct {
        const char *key;
        double most, *value;
    } figures[] = {{"e", 100, &law->e},
                   {"a", 1e9, &law->a},
                   {"b", 1e9, &law->b},
                   {"alpha", 10, &law->alpha},
                   {"beta", 10, &law->beta}};
    struct doc_map map;
    const char *unused = NULL;
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    bool has_all = doc_require(&map, "name") && doc_require(&map, "source");
    doc_get_text(&map, "name", &law->name);
    doc_get_text(&map, "source", &unused);
    for (uint32_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        has_all = doc_require(&map, figures[i].key) && has_all;
        doc_get_quantity(&map, figures[i].key, DIM_COUNT, 1e-3, figures[i].most, figures[i].value);
    }
    return doc_finish(&map) && has_all;
}

static bool read_laws(struct arena *arena, struct doc_map *file, struct budget_usual *usual)
{
    const struct doc_node *list =
        doc_take_list(file, "laws", "laws", "[{name: besiroglu-2024, e: 1.8172, ...}]");
    if (list == NULL || !doc_require(file, "laws") || doc_child_count(list) == 0) {
        return false;
    }
    struct budget_law *laws = arena_array(arena, doc_child_count(list), sizeof *laws);
    bool is_good = true;
    for (const struct doc_node *node = list->child; node != NULL; node = node->next) {
        is_good = read_law(node, &laws[usual->law_count++], file->diag) && is_good;
    }
    usual->laws = laws;
    return is_good;
}

static bool read_file(struct arena *arena, const char *path, void *into, struct diag *diag)
{
    struct budget_usual *usual = into;
    struct doc_map file;
    const struct doc_node *document = doc_load(arena, path, diag);
    if (document == NULL || !doc_map_open(&file, document, diag)) {
        return false;
    }
    const bool is_good = read_mfu(&file, "mfu", &usual->mfu) &&
                         read_mfu(&file, "mfu_low_precision", &usual->mfu_low) &&
                         read_laws(arena, &file, usual);
    return doc_finish(&file) && is_good;
}

bool budget_usual_load(struct arena *arena, const struct catalogue *catalogue,
                       struct budget_usual *usual, struct diag *diag)
{
    const struct catalogue_wish wish = {BUDGET_FILE, "usual MFU and laws of scaling", NULL,
                                        read_file};
    const char *reason = "";
    *usual = (struct budget_usual){.law_count = 0};
    if (catalogue_wish_load(arena, catalogue, &wish, usual, &reason, diag)) {
        return true;
    }
    if (!diag_has_error(diag)) {
        diag_add(diag, DIAG_INPUT, NULL, "%s", reason);
    }
    return false;
}
