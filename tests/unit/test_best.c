/* The best layouts of points: what differs in prices alone is searched once.
 */
#include "study/best.h"

#include "base/arena.h"
#include "base/diag.h"
#include "input/catalogue.h"
#include "input/doc/doc.h"
#include "study/study.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static const char text[] = "scenario: a job\n"
                           "model: llama3-8b\n"
                           "cluster: h100-3200\n"
                           "gpus: 16\n"
                           "software: megatron-2025\n"
                           "batch: {global: 32, micro: 1, sequence_length: 2048}\n"
                           "search: {parallel: {tp: [1, 2], pp: [1], zero: [1]}}\n";

static void count(void *context, const struct study_point *point)
{
    (void)point;
    ++*(uint32_t *)context;
}

/* Of four points the second has another price than the first, the third another network, and the
 * fourth the third's and a price before it. */
static uint32_t searches_by(enum search_by by)
{
    static const struct catalogue here = {.directories = {"."}, .count = 1};
    static const char *a[] = {"gpus=16", "price.gpu_hour=2 USD"};
    static const char *b[] = {"gpus=16", "price.gpu_hour=3 USD", "price.pue=1.2"};
    static const char *c[] = {"gpus=16", "cluster.network=400 Gbps"};
    static const char *d[] = {"price.gpu_hour=3 USD", "gpus=16", "cluster.network=400 Gbps"};
    struct arena *arena = arena_new();
    struct diag *diag = diag_new(arena);
    const struct doc_node *document = doc_parse(arena, "job", text, strlen(text), diag);
    struct study_point points[] = {
        {.label = "a", .document = document, .sets = a, .set_count = 2},
        {.label = "b", .document = document, .sets = b, .set_count = 3},
        {.label = "c", .document = document, .sets = c, .set_count = 2},
        {.label = "d", .document = document, .sets = d, .set_count = 3},
    };
    const struct study values = {.points = points, .count = 4};
    const struct study_base base = {.catalogue = &here, .build = ""};
    uint32_t searches = 0;
    const struct best_request request = {.document = document,
                                         .base = &base,
                                         .values = &values,
                                         .by = by,
                                         .jobs = 1,
                                         .folds = true,
                                         .begins = count,
                                         .context = &searches};
    struct best_layout layouts[4];
    const bool is_good = best_find(arena, &request, layouts, diag);
    for (uint32_t i = 0; i < 4 && is_good; i++) {
        assert_true(layouts[i].is_found && layouts[i].is_certified);
    }
    if (is_good) {
        assert_string_equal(layouts[0].label, layouts[1].label);
        assert_true(layouts[0].value < layouts[2].value);
        assert_true(layouts[2].value <= layouts[3].value && layouts[2].value >= layouts[3].value);
    }
    arena_free(arena);
    return searches;
}

static void what_differs_in_prices_alone_is_searched_once(void **state)
{
    (void)state;
    assert_int_equal(searches_by(SEARCH_BY_STEP), 2);
}

/* By cost the price plays a part: it has no run here, so that nothing is found, four times. */
static void by_cost_each_is_searched(void **state)
{
    (void)state;
    assert_int_equal(searches_by(SEARCH_BY_COST), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_differs_in_prices_alone_is_searched_once),
        cmocka_unit_test(by_cost_each_is_searched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
