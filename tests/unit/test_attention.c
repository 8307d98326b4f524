/* Time of fused attention: the formula of hw/attention, by hand. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "hw/attention.h"
#include "support/assert_close.h"

/* 100 SMs, 100 TFLOP/s forward: 1 TFLOP/s each. */
static struct gpu chip(void)
{
    struct gpu gpu = {.sms = 100,
                      .memory_bandwidth_bytes_per_s = 1e12,
                      .memory_kernel_efficiency = 1.0,
                      .launch_s = 3e-6};
    gpu.peak_flop_per_s[PRECISION_BF16] = 300e12;
    gpu.attention[ATTENTION_FA2] =
        (struct attention_rate){.forward = {.flop_per_s = 100e12, .half = 100.0, .wide = 1.0},
                                .backward = {.flop_per_s = 50e12, .half = 200.0, .wide = 1.0},
                                .window_end = 3.0,
                                .tile = 128};
    gpu.attention[ATTENTION_FA3] = gpu.attention[ATTENTION_FA2];
    return gpu;
}

static double busy_s(const struct gpu *gpu, const struct attention_size *size)
{
    const struct kernel_gpu on = {.gpu = gpu, .precision = PRECISION_BF16, .gemm_derate = 1.0};
    return kernel_attention(&on, ATTENTION_FA2, size, 0.0).busy_s;
}

static struct attention_size full(int64_t length)
{
    return (struct attention_size){.count = 100000,
                                   .queries = length,
                                   .keys = length,
                                   .sequence = length,
                                   .mean_keys = (double)length,
                                   .head_dim = 128,
                                   .value_dim = 128};
}

/* 1024 queries of 100000 heads by 1024 + 100 keys, 512 FLOP a pair, at 100 TFLOP/s; backward
 * 1024 + 200 keys, 1280 FLOP a pair, at half of that. */
static void a_tile_pays_its_start_and_end_in_keys(void **state)
{
    (void)state;
    const struct gpu gpu = chip();
    struct attention_size size = full(1024);
    assert_close(busy_s(&gpu, &size), 100000.0 * 1024.0 * 1124.0 * 512.0 / 100e12, 1e-12);
    size.is_backward = true;
    assert_close(busy_s(&gpu, &size), 100000.0 * 1024.0 * 1224.0 * 1280.0 / 50e12, 1e-12);
}

/* Causal: half of the keys, half a tile of 128 that the diagonal hides, and the start, which
 * computes nothing. */
static void a_mask_costs_half_a_tile_at_its_edge(void **state)
{
    (void)state;
    const struct gpu gpu = chip();
    struct attention_size size = full(1024);
    size.mean_keys = 512.0;
    size.edges = 1;
    assert_close(busy_s(&gpu, &size), 100000.0 * 1024.0 * (512.0 + 64.0 + 100.0) * 512.0 / 100e12,
                 1e-12);
    const struct kernel_gpu on = {.gpu = &gpu, .precision = PRECISION_BF16, .gemm_derate = 1.0};
    const struct attention_work work = attention_work_of(&on, ATTENTION_FA2, &size);
    assert_close(work.flop, 100000.0 * 1024.0 * (512.0 + 64.0) * 512.0, 1e-12);
}

/* A window of 256 of 1024 keys, of which a query sees 240: half a tile of 128 at the diagonal, a
 * tile and a half at the far end for the three quarters of queries that have one: 64 + 144. What
 * the window is as long as is no bound of it, the sequence is: 8 of 512 with 7 seen make 7 + 64 +
 * 189; one that hides next to nothing takes next to what none does. */
static void a_window_has_a_far_end(void **state)
{
    (void)state;
    const struct gpu gpu = chip();
    struct attention_size size = full(1024);
    size.mean_keys = 240.0;
    size.keys = 256;
    size.edges = 2;
    assert_close(busy_s(&gpu, &size), 100000.0 * 1024.0 * (240.0 + 208.0 + 100.0) * 512.0 / 100e12,
                 1e-12);
    size = full(512);
    size.mean_keys = 7.0;
    size.keys = 8;
    size.edges = 2;
    assert_close(busy_s(&gpu, &size), 100000.0 * 512.0 * (7.0 + 253.0 + 100.0) * 512.0 / 100e12,
                 1e-12);
    size = full(4096);
    size.edges = 1;
    size.mean_keys = 2048.0;
    const double whole = busy_s(&gpu, &size);
    size.keys = 4095;
    size.edges = 2;
    assert_close(busy_s(&gpu, &size), whole, 1e-4);
}

/* The first of these by a kernel whose far end costs what the diagonal does: 64 + 48. */
static void a_far_end_costs_what_its_kernel_says(void **state)
{
    (void)state;
    struct gpu gpu = chip();
    gpu.attention[ATTENTION_FA2].window_end = 1.0;
    struct attention_size size = full(1024);
    size.mean_keys = 240.0;
    size.keys = 256;
    size.edges = 2;
    assert_close(busy_s(&gpu, &size), 100000.0 * 1024.0 * (240.0 + 112.0 + 100.0) * 512.0 / 100e12,
                 1e-12);
}

/* Above the widest that a kernel is written for, 256, the next multiple of 64; FA3 takes values of
 * another dimension than queries. */
static void a_head_is_padded_to_what_its_kernel_has(void **state)
{
    (void)state;
    static const int64_t dims[][2] = {{1, 64},    {64, 64},   {65, 96},   {129, 192},
                                      {256, 256}, {257, 320}, {320, 320}, {321, 384}};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
        int64_t head_dim = dims[i][0];
        int64_t value_dim = 64;
        attention_padded(ATTENTION_FA3, &head_dim, &value_dim);
        assert_int_equal(head_dim, dims[i][1]);
        assert_int_equal(value_dim, 64);
    }
}

/* A rate above the peak of 16-bit products is cut to it, that of attention in fp8 to its own. */
static void a_rate_is_at_most_the_peak_of_its_products(void **state)
{
    (void)state;
    struct gpu gpu = chip();
    gpu.peak_flop_per_s[PRECISION_FP8] = 600e12;
    gpu.attention[ATTENTION_FA2].forward.flop_per_s = 700e12;
    gpu.attention[ATTENTION_CUDNN_FP8] = gpu.attention[ATTENTION_FA2];
    const struct attention_rate *rate = &gpu.attention[ATTENTION_FA2];
    assert_close(attention_rate_of(&gpu, rate, ATTENTION_FA2, 128, false, NULL), 300e12, 1e-12);
    assert_close(attention_rate_of(&gpu, rate, ATTENTION_CUDNN_FP8, 128, false, NULL), 600e12,
                 1e-12);
    gpu.peak_flop_per_s[PRECISION_FP16] = 250e12; /* a training may be in this one, too */
    gpu.peak_flop_per_s[PRECISION_MXFP8] = 500e12;
    assert_close(attention_rate_of(&gpu, rate, ATTENTION_FA2, 128, false, NULL), 250e12, 1e-12);
    assert_close(attention_rate_of(&gpu, rate, ATTENTION_CUDNN_FP8, 128, false, NULL), 500e12,
                 1e-12);
}

/* 4 heads of 1024 queries are 32 tiles on 100 SMs: as long as one of them, 128 x 1124 pairs at
 * 1 TFLOP/s. Of 4000 heads, 32000 tiles, the end adds half of that to 320 tiles an SM. */
static void few_heads_leave_sms_idle(void **state)
{
    (void)state;
    struct gpu gpu = chip();
    const double tile_s = 128.0 * 1124.0 * 512.0 / 1e12;
    struct attention_size size = full(1024);
    size.count = 4;
    assert_close(busy_s(&gpu, &size), tile_s, 1e-12);
    size.count = 4000;
    assert_close(busy_s(&gpu, &size), 320.0 * tile_s, 1e-12);
    gpu.attention[ATTENTION_FA2].forward.tail = 0.5;
    assert_close(busy_s(&gpu, &size), 320.5 * tile_s, 1e-12);
}

/* SMs that communication keeps take no tiles: 100 / 80. */
static void sms_set_aside_take_no_tiles(void **state)
{
    (void)state;
    const struct gpu gpu = chip();
    const struct attention_size size = full(2048);
    const struct kernel_gpu some = {
        .gpu = &gpu, .precision = PRECISION_BF16, .gemm_derate = 1.0, .reserved_sms = 20};
    assert_close(kernel_attention(&some, ATTENTION_FA2, &size, 0.0).busy_s / busy_s(&gpu, &size),
                 1.25, 1e-12);
}

/* The sources of FA2 have kernels for 32, 64, 96, 128, 192 and 256, queries and values alike; FA3
 * has 64 to 256 and values apart. */
static void head_dimensions_are_padded_to_a_kernels(void **state)
{
    (void)state;
    static const struct {
        enum attention_kind kind;
        int64_t head, value, padded_head, padded_value;
    } cases[] = {
        {ATTENTION_FA2, 80, 80, 96, 96},      {ATTENTION_FA1, 80, 80, 128, 128},
        {ATTENTION_FA2, 192, 128, 192, 192},  {ATTENTION_FA3, 192, 128, 192, 128},
        {ATTENTION_CUDNN, 80, 80, 128, 128},  {ATTENTION_FA2, 128, 128, 128, 128},
        {ATTENTION_TRITON, 80, 64, 128, 128}, {ATTENTION_TRITON, 24, 24, 32, 32},
        {ATTENTION_FA3, 576, 512, 576, 512},  {ATTENTION_FA1, 144, 144, 192, 192},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t head = cases[i].head;
        int64_t value = cases[i].value;
        attention_padded(cases[i].kind, &head, &value);
        assert_int_equal(head, cases[i].padded_head);
        assert_int_equal(value, cases[i].padded_value);
    }
}

/* Head dimension 112 runs as 128 does. 64: half the FLOPs at (1 + 32/128) / (1 + 32/64) = 5/6 of
 * the rate. 256: twice the FLOPs at 1.25 / 1.125 = 10/9 of it, times 0.8. */
static void rates_grow_with_the_head_dimension(void **state)
{
    (void)state;
    struct gpu gpu = chip();
    gpu.attention[ATTENTION_FA2].head_half = 32.0;
    gpu.attention[ATTENTION_FA2].forward.wide = 0.8;
    struct attention_size size = full(4096);
    const double of_128 = busy_s(&gpu, &size);
    size.head_dim = size.value_dim = 112;
    assert_close(busy_s(&gpu, &size), of_128, 1e-12);
    size.head_dim = size.value_dim = 64;
    assert_close(busy_s(&gpu, &size), of_128 * 0.5 * 6.0 / 5.0, 1e-12);
    size.head_dim = size.value_dim = 256;
    assert_close(busy_s(&gpu, &size), of_128 * 2.0 * 9.0 / 10.0 / 0.8, 1e-12);
}

static void attention_is_never_faster_than_its_bytes(void **state)
{
    (void)state;
    const struct gpu gpu = chip();
    const struct kernel_gpu on = {.gpu = &gpu, .precision = PRECISION_BF16, .gemm_derate = 1.0};
    struct attention_size size = full(128);
    size.count = 1;
    const struct kernel_time time = kernel_attention(&on, ATTENTION_FA2, &size, 1e9);
    assert_close(time.busy_s, 1e-3, 1e-12);
    assert_close(time.launch_s, 3e-6, 0.0);
}

/* Over a grid of shapes: more heads, longer sequences, more keys never shorten; more SMs of the
 * same rate in all never shorten either; a better rate never slows. */
static void more_work_never_shortens(void **state)
{
    (void)state;
    struct gpu gpu = chip();
    gpu.attention[ATTENTION_FA2].forward.tail = 0.7;
    struct gpu better = gpu;
    better.attention[ATTENTION_FA2].forward.flop_per_s *= 1.1;
    for (int64_t length = 1; length <= 70000; length = length * 3 + 1) {
        for (int64_t count = 1; count < 5000; count = count * 7 + 3) {
            struct attention_size size = full(length);
            size.count = count;
            const double base_s = busy_s(&gpu, &size);
            assert_true(busy_s(&better, &size) < base_s);
            size.count += 1;
            assert_true(busy_s(&gpu, &size) >= base_s);
            size = full(length + 1);
            size.count = count;
            assert_true(busy_s(&gpu, &size) > base_s);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tile_pays_its_start_and_end_in_keys),
        cmocka_unit_test(a_mask_costs_half_a_tile_at_its_edge),
        cmocka_unit_test(a_window_has_a_far_end),
        cmocka_unit_test(a_far_end_costs_what_its_kernel_says),
        cmocka_unit_test(a_head_is_padded_to_what_its_kernel_has),
        cmocka_unit_test(a_rate_is_at_most_the_peak_of_its_products),
        cmocka_unit_test(few_heads_leave_sms_idle),
        cmocka_unit_test(sms_set_aside_take_no_tiles),
        cmocka_unit_test(head_dimensions_are_padded_to_a_kernels),
        cmocka_unit_test(rates_grow_with_the_head_dimension),
        cmocka_unit_test(attention_is_never_faster_than_its_bytes),
        cmocka_unit_test(more_work_never_shortens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
