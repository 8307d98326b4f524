/* Three bands are asked for, and one formula. */
#include "measured/anchor.h"

#include "base/absent.h"
#include "base/arena.h"

#include <inttypes.h>
#include <math.h>

bool anchor_evidence_load(struct arena *arena, const struct catalogue *catalogue,
                          struct anchor_evidence *evidence, const char **reason, struct diag *diag)
{
    *evidence = (struct anchor_evidence){.table = difference_table_new(arena)};
    return band_load(arena, catalogue, &evidence->votes, reason, diag) &&
           ratio_pairs_load(arena, catalogue, &evidence->pairs, reason, diag) &&
           limits_load(arena, catalogue, &evidence->limits, reason, diag);
}

double anchor_alone(struct arena *arena, const struct anchor_evidence *evidence,
                    const struct anchor_side *side)
{
    struct band_traits traits = band_traits_of(side->scenario);
    traits.launch_share = side->launch_share;
    traits.step_s = side->step_s;
    traits.unproven = 0; /* the step that was measured is its proof */
    if (side->step != NULL) {
        band_traits_add_step(&traits, side->step);
    }
    const struct band band = band_of(arena, &evidence->votes, &traits, &side->burdens);
    return band.votes > 0 ? log(band.high) : 0;
}

static void name_kinds(struct arena *arena, const struct differences *found,
                       struct anchor_worth *worth)
{
    worth->are_measured = found->unmeasured_count == 0;
    if (!worth->are_measured) {
        worth->kinds = found->unmeasured;
        worth->kind_count = found->unmeasured_count;
        return;
    }
    const char **names = arena_array(arena, found->axis_count + (size_t)1, sizeof *names);
    for (uint32_t i = 0; i < found->axis_count; i++) {
        names[i] = axis_name(found->axes[i]);
    }
    worth->kinds = names;
    worth->kind_count = found->axis_count;
}

static double clamped(double value)
{
    return fmin(1, fmax(0, value));
}

/* How far off the anchor and what is asked may be, as logarithms, and what of that both have. */
struct spreads {
    double a, b;
    double shared, box; /* as squares; the second is in the first */
};

/* The formulas of the header. `weight` ABSENT: that share of the best. */
static void put_worth(struct spreads off, double trust, double weight, struct anchor_worth *worth)
{
    const double a = off.a, b = off.b, shared = off.shared;
    const double box = off.box / (a * a);
    worth->weight =
        is_absent(weight) ? clamped(box + trust * clamped(shared / (a * a) - box)) : weight;
    const double w = worth->weight;
    const double square = b * b - 2 * w * shared + w * w * a * a;
    worth->spread = sqrt(fmax(square, AXIS_TIE * AXIS_TIE));
}

struct anchor_worth anchor_worth_of(struct arena *arena, const struct anchor_evidence *evidence,
                                    const struct anchor_side *anchor,
                                    const struct anchor_side *asked, double weight)
{
    struct anchor_worth worth = {.weight = weight, .reason = ""};
    const struct differences found =
        differences_of(arena, anchor->scenario, asked->scenario, evidence->table);
    name_kinds(arena, &found, &worth);
    const double a = anchor->alone;
    const double b = asked->alone;
    worth.alone = b;
    worth.is_same = found.axis_count == 0 && found.unmeasured_count == 0;
    if (worth.is_same) {
        worth.weight = is_absent(weight) ? 1 : weight;
        worth.spread = hypot(AXIS_TIE, (1 - worth.weight) * a);
        return worth;
    }
    if (!(a > 0) || !(b > 0)) {
        worth.reason = "no measured runs are like it";
        return worth;
    }
    const double ratio = log(asked->tokens_per_s_per_gpu / anchor->tokens_per_s_per_gpu);
    const struct ratio_band band = ratio_band_of(arena, &evidence->pairs, found.axes,
                                                 found.axis_count, ratio, evidence->without);
    const bool is_known = worth.are_measured && band.votes > 0;
    worth.votes = is_known ? band.votes : 0;
    /* Exactly none where no pair is like it: what rounding leaves of it would count as a share. */
    const double shared = (a * a + b * b - band.spread * band.spread) / 2;
    const double box = anchor->box * asked->box;
    const struct spreads off = {a, b, fmax(box, is_known ? shared : 0), box};
    put_worth(off, evidence->limits.trust, weight, &worth);
    return worth;
}

/* ---- the model ----------------------------------------------------------------------------- */

const char *anchor_other_model(struct arena *arena, const struct model *anchor,
                               const struct model *asked)
{
    const struct {
        const char *what;
        int64_t there, here;
    } sizes[] = {
        {"layers", anchor->layers, asked->layers},
        {"hidden", anchor->hidden, asked->hidden},
        {"ffn_hidden", anchor->ffn_hidden, asked->ffn_hidden},
        {"heads", anchor->heads, asked->heads},
        {"kv_heads", anchor->kv_heads, asked->kv_heads},
        {"experts", anchor->experts, asked->experts},
        {"experts_per_token", anchor->experts_per_token, asked->experts_per_token},
    };
    const char *text = NULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (sizes[i].there != sizes[i].here) {
            text = arena_printf(arena, "%s%s%s %" PRId64 " there, %" PRId64 " here",
                                text != NULL ? text : "", text != NULL ? "; " : "", sizes[i].what,
                                sizes[i].there, sizes[i].here);
        }
    }
    return text;
}
