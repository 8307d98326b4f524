/* Memos: what was added is found by all bytes of its key, and by no others; also when many are
 * held, and until the limit is reached. */
#include "base/memo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

struct key {
    uint64_t number;
    const char *text;
};

static struct key key_of(uint64_t number, const char *text)
{
    struct key key;
    memset(&key, 0, sizeof key);
    key.number = number;
    key.text = text;
    return key;
}

static void add(struct memo *memo, uint64_t number, double value)
{
    const struct key key = key_of(number, "text");
    memo_add(memo, &key, sizeof key, &value, sizeof value);
}

/* -1: it is not known. */
static double find(const struct memo *memo, uint64_t number)
{
    const struct key key = key_of(number, "text");
    const double *value = memo_find(memo, &key, sizeof key);
    return value != NULL ? *value : -1;
}

static void assert_value(const struct memo *memo, uint64_t number, double value)
{
    assert_true(find(memo, number) >= value && find(memo, number) <= value);
}

/* The table begins with 64 slots, and doubles six times. */
static void each_of_many_keys_has_its_own_value(void **state)
{
    (void)state;
    enum { KEYS = 2000 };
    struct memo *memo = memo_new(1 << 20);
    for (uint64_t i = 0; i < KEYS; i++) {
        assert_value(memo, i, -1);
        add(memo, i, (double)i / 3);
    }
    for (uint64_t i = 0; i < KEYS; i++) {
        assert_value(memo, i, (double)i / 3);
    }
    assert_value(memo, KEYS, -1);
    memo_free(memo);
}

static void a_key_is_all_its_bytes_and_what_it_points_to_is_not_looked_at(void **state)
{
    (void)state;
    const char one[] = "same";
    const char other[] = "same";
    struct memo *memo = memo_new(1 << 20);
    const struct key key = key_of(1, one);
    const double value = 5;
    memo_add(memo, &key, sizeof key, &value, sizeof value);
    const struct key same = key_of(1, one);
    const struct key elsewhere = key_of(1, other);
    assert_non_null(memo_find(memo, &same, sizeof same));
    assert_null(memo_find(memo, &elsewhere, sizeof elsewhere));
    assert_null(memo_find(memo, &key, sizeof key - 1));
    assert_int_equal(memo_count(memo).found, 1);
    assert_int_equal(memo_count(memo).missed, 2);
    memo_free(memo);
}

/* Keys of 16 bytes and values of 8: four of 24 fit into 100 bytes, the fifth begins anew. */
static void a_memo_that_is_full_forgets_and_goes_on(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct key), 16);
    struct memo *memo = memo_new(100);
    for (uint64_t i = 0; i < 4; i++) {
        add(memo, i, (double)i);
    }
    assert_value(memo, 0, 0);
    add(memo, 4, 4);
    assert_value(memo, 4, 4);
    for (uint64_t i = 0; i < 4; i++) {
        assert_value(memo, i, -1);
        add(memo, i, 10 + (double)i);
    }
    assert_value(memo, 3, 13);
    memo_free(memo);
    memo_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_many_keys_has_its_own_value),
        cmocka_unit_test(a_key_is_all_its_bytes_and_what_it_points_to_is_not_looked_at),
        cmocka_unit_test(a_memo_that_is_full_forgets_and_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
