/* Layouts are the same in all, or others. */
#include "study/search/search_same.h"
#include "support/assert_close.h"

static const struct relayout plain = {.tp = 2,
                                      .cp = 1,
                                      .pp = 4,
                                      .ep = 8,
                                      .virtual_stages = 1,
                                      .zero = 1,
                                      .micro = 1,
                                      .recompute = {.kind = RECOMPUTE_SELECTIVE, .modules = 3}};

/* Each member by itself makes it another one; none is the same. */
static void a_layout_is_the_same_in_all_that_it_has(void **state)
{
    (void)state;
    struct relayout others[25];
    uint32_t count = 0;
#define OTHER(member) others[count] = plain, others[count].member += 1, count++
    OTHER(tp), OTHER(cp), OTHER(pp), OTHER(ep), OTHER(etp), OTHER(context), OTHER(reshard);
    OTHER(overlap), OTHER(order), OTHER(zero_group), OTHER(microbatch_group), OTHER(ends[0]);
    OTHER(ends[1]), OTHER(layers), OTHER(virtual_stages), OTHER(schedule), OTHER(zero);
    OTHER(micro), OTHER(recompute.kind), OTHER(recompute.modules), OTHER(recompute.layers);
    OTHER(offload.optimizer), OTHER(offload.activation_layers);
#undef OTHER
    others[count] = plain;
    others[count++].is_sequence_parallel = true;
    for (uint32_t i = 0; i < count; i++) {
        assert_false(search_is_same(&plain, &others[i]));
    }
    const struct relayout same = plain;
    assert_true(search_is_same(&plain, &same));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_layout_is_the_same_in_all_that_it_has)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
