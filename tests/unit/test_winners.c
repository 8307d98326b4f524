/* Which points win: by hand, with rows that hold what is judged and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/absent.h"
#include "base/arena.h"
#include "report/plot/plot_data.h"
#include "report/winners.h"
#include "support/assert_close.h"

/* ln(1 + 0.0715 %), the resolution of models/limits.yaml. */
#define RESOLUTION 7.147445e-4

static struct store_row row_of(const char *label, double days, double cost_usd)
{
    struct store_row row = {.status = POINT_OK,
                            .has_run = true,
                            .memory_fits = true,
                            .gpus = 8,
                            .mfu = 0.5,
                            .tokens_per_s_per_gpu = 1000,
                            .peak_flop_per_s = 989e12,
                            .run_tokens = 1e12,
                            .wall_clock_days = days,
                            .cost_usd = cost_usd,
                            .usd_per_million_tokens = cost_usd / 1e6};
    snprintf(row.label, sizeof row.label, "%s", label);
    return row;
}

/* The judges' names, with a blank behind each. */
static const char *judges_text(struct arena *arena, struct judges judges)
{
    const char *text = "";
    for (uint32_t i = 0; i < judges.count; i++) {
        text = arena_printf(arena, "%s%s ", text, judges.items[i]->name);
    }
    return text;
}

/* bf16 has 55.2 % of 989 TFLOP/s, fp8 41.6 % of 1979: 546 of the one, 823 of the other, so fp8 is
 * 1.51 times as fast and wins, though its MFU is the lower. */
static void mfu_does_not_decide(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct store_row bf16 = row_of("bf16", ABSENT, ABSENT);
    struct store_row fp8 = row_of("fp8", ABSENT, ABSENT);
    bf16.mfu = 0.552;
    bf16.tokens_per_s_per_gpu = 2624;
    fp8.mfu = 0.416;
    fp8.tokens_per_s_per_gpu = 3958;
    fp8.peak_flop_per_s = 1979e12;
    const struct candidate items[] = {{&bf16, 0, false}, {&fp8, 0, false}};
    const struct candidates both = {items, 2};
    const struct judges judges = judges_of(&both);
    assert_string_equal(judges_text(arena, judges), "tokens_per_s_per_gpu ");
    assert_ptr_equal(winners_of(arena, &both, judges.items[0]).best, &fp8);
    /* Who asks for it gets it, with a word that it does not compare, and with what does. */
    const struct figure_metric *mfu = store_metric_find("mfu");
    const struct winners asked = winners_of(arena, &both, mfu);
    assert_ptr_equal(asked.best, &bf16);
    assert_true(asked.is_across_peaks);
    assert_string_equal(judges_text(arena, judges_asked(arena, &both, mfu)),
                        "mfu tokens_per_s_per_gpu ");
    fp8.peak_flop_per_s = bf16.peak_flop_per_s;
    assert_false(winners_of(arena, &both, mfu).is_across_peaks);
    assert_string_equal(judges_text(arena, judges_asked(arena, &both, mfu)), "mfu ");
    arena_free(arena);
}

/* The same tokens: what costs least, and what is done first. Twice the tokens for 1.5 times the
 * money: a token costs 0.75 of the other's. */
static void money_and_days_decide_where_tokens_are_given(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct store_row small = row_of("512", 21.3, 655e3);
    struct store_row large = row_of("1024", 11.1, 680e3);
    const struct candidate items[] = {{&small, 0, false}, {&large, 0, false}};
    const struct candidates both = {items, 2};
    const struct judges judges = judges_of(&both);
    assert_string_equal(judges_text(arena, judges), "cost_usd days ");
    assert_ptr_equal(winners_of(arena, &both, judges.items[0]).best, &small);
    assert_ptr_equal(winners_of(arena, &both, judges.items[1]).best, &large);
    large.cost_usd = ABSENT;
    assert_string_equal(judges_text(arena, judges_of(&both)), "days ");
    large.run_tokens = 2e12;
    assert_string_equal(judges_text(arena, judges_of(&both)), "tokens_per_s_per_gpu ");
    large.cost_usd = 1.5 * small.cost_usd;
    large.usd_per_million_tokens = 0.75 * small.usd_per_million_tokens;
    const struct judges of_tokens = judges_of(&both);
    assert_string_equal(judges_text(arena, of_tokens), "usd_per_million_tokens ");
    assert_ptr_equal(winners_of(arena, &both, of_tokens.items[0]).best, &large);
    arena_free(arena);
}

/* 10.007 days are 0.0700 % more than 10, less than 0.0715 %: equals; 10.008 are 0.0800 % more. */
static void what_differs_by_less_than_the_resolution_does_not_win(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct store_row rows[] = {row_of("a", 10.008, ABSENT), row_of("b", 10.007, ABSENT),
                                     row_of("c", 10, ABSENT)};
    const struct figure_metric *days = store_metric_find("days");
    struct candidate items[] = {
        {&rows[0], RESOLUTION, false}, {&rows[1], 0, false}, {&rows[2], RESOLUTION, false}};
    const struct candidates all = {items, 3};
    struct winners winners = winners_of(arena, &all, days);
    assert_ptr_equal(winners.best, &rows[2]);
    assert_int_equal(winners.equal_count, 1);
    assert_ptr_equal(winners.equals[0], &rows[1]);
    assert_close(winners.resolution, 0.000715, 1e-4);
    /* Runs whose steps are the same are told apart by anything; equal ones are equal. */
    items[0].is_as_base = items[1].is_as_base = items[2].is_as_base = true;
    assert_int_equal(winners_of(arena, &all, days).equal_count, 0);
    items[1].row = &rows[2];
    winners = winners_of(arena, &all, days);
    assert_int_equal(winners.equal_count, 1);
    assert_close(1 + winners.resolution, 1, 1e-12);
    arena_free(arena);
}

/* Half of the days are the queue, so 0.0715 % of a step is 0.0357 % of the days:
 * 10.003 days are 0.0300 % more than 10, equals; 10.005 are 0.0500 % more, and are not. Money knows
 * no queue: 0.0500 % are equal. */
static void of_days_only_what_hangs_on_steps_is_in_doubt(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct store_row rows[] = {row_of("a", 10, 2000), row_of("b", 10.003, 2001),
                               row_of("c", 10.005, 2003)};
    struct candidate items[3];
    for (uint32_t i = 0; i < 3; i++) {
        rows[i].account_s[ACCOUNT_USEFUL] = rows[i].account_s[ACCOUNT_QUEUED] = 432000;
        items[i] = (struct candidate){&rows[i], RESOLUTION, false};
    }
    const struct candidates all = {items, 3};
    const struct winners days = winners_of(arena, &all, store_metric_find("days"));
    assert_int_equal(days.equal_count, 1);
    assert_ptr_equal(days.equals[0], &rows[1]);
    assert_close(days.resolution, 0.0003574, 1e-3);
    const struct winners money = winners_of(arena, &all, store_metric_find("cost_usd"));
    assert_int_equal(money.equal_count, 1);
    assert_ptr_equal(money.equals[0], &rows[1]);
    arena_free(arena);
}

/* A value that is not there never wins, and of none that is there is no winner. */
static void what_does_not_exist_does_not_win(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    const struct store_row none = row_of("none", ABSENT, ABSENT);
    const struct store_row some = row_of("some", 3, ABSENT);
    const struct candidate items[] = {{&none, 0, false}, {&some, 0, false}};
    const struct figure_metric *days = store_metric_find("days");
    assert_ptr_equal(winners_of(arena, &(struct candidates){items, 2}, days).best, &some);
    assert_null(winners_of(arena, &(struct candidates){items, 1}, days).best);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mfu_does_not_decide),
        cmocka_unit_test(money_and_days_decide_where_tokens_are_given),
        cmocka_unit_test(what_differs_by_less_than_the_resolution_does_not_win),
        cmocka_unit_test(of_days_only_what_hangs_on_steps_is_in_doubt),
        cmocka_unit_test(what_does_not_exist_does_not_win),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
