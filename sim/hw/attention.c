/* The arithmetic of the header, in its order: dimensions are padded to those
 * for which a kernel exists, queries are cut into tiles, tiles are dealt over
 * the SMs, and the work of an SM is divided by its rate.
 */
#include "hw/attention.h"

#include "base/check.h"

/* Half of so many queries and keys does a mask's diagonal hide; a head's usual dimension. */
enum { TILE = 128, HEAD_DIM = 128 };

static int64_t ceil_divide(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static double max_double(double a, double b)
{
    return a > b ? a : b;
}

static double min_double(double a, double b)
{
    return a < b ? a : b;
}

/* ---- padding -------------------------------------------------------------------------- */

/* Head dimensions that the sources instantiate kernels for, ascending; 0 ends a list. FA1 and FA2:
 * csrc/flash_attn of https://github.com/Dao-AILab/flash-attention (headdim_switch.h; FA1 has
 * nothing above 128); FA3: hopper/ of the same; Triton: flash_attn_triton.py of the same takes the
 * next power of two, at most 128. cuDNN: 64, 128, and wider ones on Hopper. */
static const int64_t dimensions[ATTENTION_COUNT_][8] = {
    [ATTENTION_FA1] = {32, 64, 128, 0},
    [ATTENTION_TRITON] = {16, 32, 64, 128, 0},
    [ATTENTION_FA2] = {32, 64, 96, 128, 192, 256, 0},
    [ATTENTION_FA3] = {64, 96, 128, 192, 256, 0},
    [ATTENTION_CUDNN] = {64, 128, 192, 256, 0},
    [ATTENTION_CUDNN_FP8] = {64, 128, 192, 256, 0},
};

static int64_t padded(enum attention_kind kind, int64_t dimension)
{
    for (const int64_t *has = dimensions[kind]; *has > 0; has++) {
        if (dimension <= *has) {
            return *has;
        }
    }
    return ceil_divide(dimension, 64) * 64;
}

/* FA1, Triton's and FA2 know one dimension a head: frameworks pad values to that of queries. */
void attention_padded(enum attention_kind kind, int64_t *head_dim, int64_t *value_dim)
{
    sim_assert(kind != ATTENTION_UNFUSED && kind < ATTENTION_COUNT_);
    sim_assert(*head_dim > 0 && *value_dim > 0);
    const bool is_one = kind <= ATTENTION_FA2;
    const int64_t larger = *head_dim > *value_dim ? *head_dim : *value_dim;
    *head_dim = padded(kind, is_one ? larger : *head_dim);
    *value_dim = padded(kind, is_one ? larger : *value_dim);
}

/* ---- time ----------------------------------------------------------------------------- */

/* The largest head that fits a kernel's registers well; FA1 and its Triton version spill at 128. */
static int64_t widest(enum attention_kind kind)
{
    return kind == ATTENTION_FA1 || kind == ATTENTION_TRITON ? 64 : HEAD_DIM;
}

double attention_rate_of(const struct gpu *gpu, const struct attention_rate *rate,
                         enum attention_kind kind, int64_t head_dim, bool is_backward,
                         struct ledger *ledger)
{
    const struct attention_pass_rate *pass = is_backward ? &rate->backward : &rate->forward;
    const double dimension = (double)head_dim;
    const double grown =
        (1.0 + rate->head_half / (double)HEAD_DIM) / (1.0 + rate->head_half / dimension);
    const double wide = head_dim > widest(kind) ? pass->wide : 1.0;
    const double wide_128 = HEAD_DIM > widest(kind) ? pass->wide : 1.0;
    const double peak = gpu_attention_peak(gpu, kind);
    const double reached = LEDGER_SUM(
        ledger, "rate", "FLOP/s", pass->flop_per_s * grown * wide / wide_128,
        LEDGER_TERM(pass->flop_per_s, "FLOP/s"), LEDGER_TERM(grown, "for the head's size"),
        LEDGER_TERM(wide, ""), LEDGER_TERM(wide_128, ""));
    return (peak > 0.0 ? min_double(reached, peak) : reached) * gpu_cap_share(gpu, ledger);
}

/* Keys that the mask hides in the tiles that are gone through, of the mean query. */
static double hidden_keys(const struct attention_rate *rate, const struct attention_size *size)
{
    const double seen = (double)size->keys / (double)size->sequence;
    const int64_t diagonals = size->edges - (seen < 1.0 ? 1 : 0);
    sim_assert(diagonals >= 0);
    return ((double)diagonals + rate->window_end * (1.0 - seen)) * (double)TILE / 2.0;
}

struct attention_work attention_work_with(const struct kernel_gpu *on,
                                          const struct attention_rate *rate,
                                          enum attention_kind kind,
                                          const struct attention_size *size)
{
    sim_assert(size->count > 0 && size->queries > 0);
    sim_assert(size->keys > 0 && size->mean_keys > 0.0);
    sim_assert(size->sequence >= size->keys);
    sim_assert(on->reserved_sms >= 0 && on->reserved_sms < on->gpu->sms);
    struct attention_work work = {.head_dim = size->head_dim, .value_dim = size->value_dim};
    attention_padded(kind, &work.head_dim, &work.value_dim);
    const double key = (double)work.head_dim;
    const double value = (double)work.value_dim;
    const double flop = 2.0 * (size->is_backward ? 3.0 * key + 2.0 * value : key + value);
    const struct attention_pass_rate *pass = size->is_backward ? &rate->backward : &rate->forward;
    const int64_t rows_of = size->is_backward ? TILE : rate->tile; /* backward tiles are of keys */
    const double all = (double)on->gpu->sms;
    const double rate_of =
        attention_rate_of(on->gpu, rate, kind, work.head_dim, size->is_backward, on->ledger);
    const double sm_rate = LEDGER_SUM(on->ledger, "rate of an SM", "FLOP/s", rate_of / all,
                                      LEDGER_TERM(rate_of, "FLOP/s"), LEDGER_TERM(all, "SMs"));
    const double rows = (double)size->count * (double)size->queries;
    const double tile = min_double((double)rows_of, (double)size->queries);
    work.tiles = size->count * ceil_divide(size->queries, rows_of);
    work.pairs = min_double(size->mean_keys + hidden_keys(rate, size),
                            max_double((double)size->sequence, size->mean_keys));
    work.flop = rows * work.pairs * flop;
    work.rate_flop_per_s = rate_of;
    const double sms = all - (double)on->reserved_sms;
    work.even_s = LEDGER_SUM(on->ledger, "dealt out evenly", "us",
                             rows * (work.pairs + pass->half) * flop / (sm_rate * sms),
                             LEDGER_TERM(rows, "rows"), LEDGER_TERM(work.pairs, "pairs"),
                             LEDGER_TERM(pass->half, "lost"), LEDGER_TERM(flop, "FLOP"),
                             LEDGER_TERM(sm_rate, "FLOP/s"), LEDGER_TERM(sms, "SMs"));
    work.longest_s = LEDGER_SUM(on->ledger, "the longest tile", "us",
                                tile * ((double)size->keys + pass->half) * flop / sm_rate,
                                LEDGER_TERM(tile, "rows"), LEDGER_TERM(size->keys, "keys"),
                                LEDGER_TERM(pass->half, "lost"), LEDGER_TERM(flop, "FLOP"),
                                LEDGER_TERM(sm_rate, "FLOP/s"));
    work.compute_s =
        LEDGER_SUM(on->ledger, "with its tail", "us",
                   max_double(work.even_s + pass->tail * work.longest_s, work.longest_s),
                   LEDGER_TERM(work.even_s, "us"), LEDGER_TERM(pass->tail, ""),
                   LEDGER_TERM(work.longest_s, "us"));
    return work;
}

struct attention_work attention_work_of(const struct kernel_gpu *on, enum attention_kind kind,
                                        const struct attention_size *size)
{
    sim_assert(kind != ATTENTION_UNFUSED && kind < ATTENTION_COUNT_);
    const struct attention_rate *rate = &on->gpu->attention[kind];
    sim_assert(rate->forward.flop_per_s > 0.0 && rate->backward.flop_per_s > 0.0);
    return attention_work_with(on, rate, kind, size);
}

struct kernel_time kernel_attention(const struct kernel_gpu *on, enum attention_kind kind,
                                    const struct attention_size *size, double bytes)
{
    const struct kernel_time stream = kernel_memory(on, bytes);
    const double compute_s = attention_work_of(on, kind, size).compute_s;
    return (struct kernel_time){max_double(compute_s, stream.busy_s), stream.launch_s};
}
