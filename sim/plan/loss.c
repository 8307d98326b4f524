/* The table of what each kind of loss holds of a logit, and sums over tokens and vocabulary. */
#include "plan/loss.h"

#include "base/check.h"

#include <math.h>

/* Of a logit: values of the training precision, and bytes besides. */
struct held {
    double elements, bytes;
};

static const struct loss_row {
    struct held kept, most;
    double parallel; /* bytes at most, where DTensor cuts the vocabulary; 0: as `most` */
    bool is_chunked;
    bool computes_again;
    bool differentiates_at_once;
    bool is_eager; /* of fp32, as an operation each */
} rows[LOSS_COUNT_] = {
    [LOSS_IN_PARTS] = {.kept = {1, 4}, .most = {1, 4}},
    [LOSS_EAGER] = {.kept = {1, 4}, .most = {1, 12}, .parallel = 16, .is_eager = true},
    [LOSS_EAGER_HALF] = {.kept = {2, 0}, .most = {3, 0}},
    [LOSS_FUSED] = {.kept = {1, 0}, .most = {1, 0}},
    [LOSS_RECOMPUTED] = {.kept = {1, 0}, .most = {2, 0}},
    [LOSS_IN_PLACE] = {.kept = {1, 0}, .most = {1, 0}},
    [LOSS_CHUNKED] = {.most = {1, 12}, .is_chunked = true, .computes_again = true},
    [LOSS_LINEAR] = {.most = {1, 0}, .is_chunked = true, .differentiates_at_once = true},
    [LOSS_CUT] = {.computes_again = true},
};

static const int64_t CHECKPOINTED_CHUNK = 256;

static int64_t divided_up(int64_t whole, int64_t part)
{
    return (whole + part - 1) / part;
}

static int64_t power_of_two(int64_t least)
{
    int64_t power = 1;
    while (power < least) {
        power *= 2;
    }
    return power;
}

int64_t loss_chunks(const struct loss_way *loss, const struct loss_size *size)
{
    sim_assert(loss->kind < LOSS_COUNT_);
    sim_assert(size->tokens > 0 && size->vocab > 0 && size->hidden > 0);
    if (!rows[loss->kind].is_chunked) {
        return 1;
    }
    const int64_t liger = divided_up(size->tokens, divided_up(size->vocab, size->hidden));
    const int64_t own = loss->kind == LOSS_LINEAR ? power_of_two(liger) : CHECKPOINTED_CHUNK;
    return divided_up(size->tokens, loss->chunk > 0 ? loss->chunk : own);
}

int64_t loss_chunk_tokens(const struct loss_way *loss, const struct loss_size *size)
{
    return divided_up(size->tokens, loss_chunks(loss, size));
}

bool loss_computes_again(enum loss_kind kind)
{
    return rows[kind].computes_again;
}

bool loss_differentiates_at_once(enum loss_kind kind)
{
    return rows[kind].differentiates_at_once;
}

bool loss_writes_logits(enum loss_kind kind)
{
    return kind != LOSS_CUT;
}

static bool is_of_fp32(const struct loss_way *loss)
{
    return loss->has_fp32_logits && !loss->fuses_fp32 && rows[loss->kind].is_eager;
}

/* What is fused has the bytes of a kind that writes nothing in fp32. */
static const struct loss_row *row_of(const struct loss_way *loss)
{
    const bool is_fused = loss->fuses_fp32 && rows[loss->kind].is_eager;
    return &rows[is_fused ? LOSS_RECOMPUTED : loss->kind];
}

static double bytes_of(const struct loss_way *loss, const struct held *held, double element_bytes)
{
    return (is_of_fp32(loss) ? 0.0 : held->elements * element_bytes) + held->bytes;
}

double loss_logit_bytes(const struct loss_way *loss, double element_bytes)
{
    return is_of_fp32(loss) ? 4.0 : element_bytes;
}

/* Both gradients, from the forward pass on: of hidden states until the backward pass, of the
 * weight until it is added to the main gradient. */
static struct loss_bytes gradients_of(const struct loss_size *size, double weights,
                                      struct ledger *ledger)
{
    const double tokens = (double)size->tokens;
    const double hidden = (double)size->hidden;
    const double bytes = size->element_bytes;
    return (struct loss_bytes){
        .kept = LEDGER_SUM(ledger, "gradient of the head's input", "GB", tokens * hidden * bytes,
                           LEDGER_TERM(tokens, "tokens"), LEDGER_TERM(hidden, "hidden"),
                           LEDGER_TERM(bytes, "B")),
        .turning = LEDGER_SUM(ledger, "gradient of the head", "GB", weights * bytes,
                              LEDGER_TERM(weights, ""), LEDGER_TERM(bytes, "B")),
    };
}

struct loss_bytes loss_bytes_of(const struct loss_way *loss, const struct loss_size *size,
                                double weights, struct ledger *ledger)
{
    const struct loss_row *row = row_of(loss);
    const double tokens = (double)loss_chunk_tokens(loss, size);
    const double vocab = (double)size->vocab;
    const double kept = bytes_of(loss, &row->kept, size->element_bytes);
    const double most = bytes_of(loss, &row->most, size->element_bytes);
    const double more = (size->is_parallel ? fmax(most, row->parallel) : most) - kept;
    struct loss_bytes of = {0};
    if (row->differentiates_at_once) {
        of = gradients_of(size, weights, ledger);
    }
    of.kept += LEDGER_SUM(kept > 0 ? ledger : NULL, "logits", "GB", tokens * vocab * kept,
                          LEDGER_TERM(tokens, "tokens"), LEDGER_TERM(vocab, "of the vocabulary"),
                          LEDGER_TERM(kept, "B"));
    of.turning += LEDGER_SUM(more > 0 ? ledger : NULL,
                             row->is_chunked ? "logits of a chunk" : "more copies of logits", "GB",
                             tokens * vocab * more, LEDGER_TERM(tokens, "tokens"),
                             LEDGER_TERM(vocab, "of the vocabulary"), LEDGER_TERM(more, "B"));
    return of;
}
