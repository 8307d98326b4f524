/* Where a token's time goes: the parts are the step's, or the run's, to the last digit but one. */
#include "report/time_parts.h"

#include "base/absent.h"
#include "support/assert_close.h"

#include <string.h>

/* A step of 10 s and 1,000 tokens; its run of 50 steps waits for data in a tenth of each, and half
 * as long again for what a step does not tell. */
static struct store_row a_row(void)
{
    struct store_row row = {.step_s = 10, .tokens_per_step = 1000, .wall_clock_days = ABSENT};
    row.path_s[CAUSE_COMPUTE] = 7;
    row.path_s[CAUSE_EXPOSED_DP] = 2;
    row.path_s[CAUSE_DATA_STALL] = 1;
    return row;
}

static struct store_row with_run(struct store_row row)
{
    row.wall_clock_days = 750.0 / 86400;
    row.run_tokens = 50000;
    row.account_s[ACCOUNT_USEFUL] = 450;
    row.account_s[ACCOUNT_DATA_STALL] = 50;
    row.account_s[ACCOUNT_CHECKPOINT] = 150;
    row.account_s[ACCOUNT_LOST] = 100;
    return row;
}

static double part(const struct store_row *row, const char *title)
{
    double s[TIME_PARTS];
    double sum = 0;
    time_parts_of(row, !is_absent(row->wall_clock_days), s);
    for (uint32_t i = 0; i < TIME_PARTS; i++) {
        sum += strcmp(time_part_title(i), title) == 0 ? s[i] : 0;
    }
    return sum;
}

static double sum(const struct store_row *row)
{
    double s[TIME_PARTS];
    double all = 0;
    time_parts_of(row, !is_absent(row->wall_clock_days), s);
    for (uint32_t i = 0; i < TIME_PARTS; i++) {
        all += s[i];
    }
    return all;
}

static void of_a_step(void **state)
{
    (void)state;
    const struct store_row row = a_row();
    assert_close(sum(&row), 10.0 / 1000, 1e-15);
    assert_close(part(&row, "compute kernels"), 7.0 / 1000, 1e-15);
    assert_close(part(&row, "checkpoint"), 0, 0);
}

/* Stalls for data are in the step's causes and in an account of the run: once in the parts. */
static void of_a_run(void **state)
{
    (void)state;
    const struct store_row row = with_run(a_row());
    assert_close(sum(&row), 750.0 / 50000, 1e-15);
    assert_close(part(&row, "compute kernels"), 7.0 * 50 / 50000, 1e-15);
    assert_close(part(&row, "reading data"), 1.0 * 50 / 50000, 1e-15);
    assert_close(part(&row, "checkpoint"), 150.0 / 50000, 1e-15);
    assert_close(part(&row, "lost"), 100.0 / 50000, 1e-15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_step),
        cmocka_unit_test(of_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
