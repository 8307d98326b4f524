/* In section 7 of `stoker explain`: how a run comes back (run.recovery), and what is slow in it.
 */
#include "input/failures/recovery.h"
#include "input/failures/spot.h"
#include "input/run/run_plan.h"
#include "input/scenario.h"
#include "report/explain/explain_sections.h"

#include "base/arena.h"
#include "base/units.h"
#include "hw/checkpoint_place.h"
#include "run/checkpoint.h"
#include "run/failing.h"
#include "run/survivors.h"

#include <math.h>

/* What it takes after most failures, where the scenario does not state all of it: read from where
 * they leave a checkpoint. */
static void record_restart(const struct explanation *explanation, struct ledger *ledger)
{
    const struct scenario *scenario = explanation->scenario;
    const struct recovery *recovery = &scenario->recovery;
    const double start_s = recovery->restart.mean_s;
    if (recovery->has_restart) {
        ledger_say(ledger, "a restart", "s", start_s, "stated, with the read of the checkpoint");
        return;
    }
    struct checkpoint_tier tiers[HISTORY_TIERS_MAX];
    const uint32_t count = checkpoint_tiers(explanation->arena, scenario, tiers);
    struct survivors survivors;
    survivors_of(explanation->arena, scenario, &survivors);
    double read_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        read_s = tiers[i].read_s[0];
        ledger_say(ledger, ledger_text(ledger, "read from %s", tiers[i].place->title), "s", read_s,
                   i == 0 ? "simulated: all ranks at once" : "where that is lost");
    }
    if (survivors.lost != NULL) {
        read_s = survivors.read_s[LEVEL_NODE];
        ledger_say(ledger, "read from replicas", "s", read_s,
                   "simulated: a lost node's GPUs, from others that hold the same; after most "
                   "failures");
    }
    const double gpus = (double)scenario->gpus;
    LEDGER_SUM(ledger, "a restart", "s",
               start_s + gpus * recovery->start_per_gpu_s + read_s + recovery->warm_up_s,
               LEDGER_TERM(start_s, "s"), LEDGER_TERM(gpus, "GPUs"),
               LEDGER_TERM(recovery->start_per_gpu_s, "s"), LEDGER_TERM(read_s, "s"),
               LEDGER_TERM(recovery->warm_up_s, "s"));
    ledger_remark(ledger, "start, communicators, read, warm-up");
}

/* A share of them blames a good node; each such attempt starts, fails and is seen to fail. */
static void record_attempts(const struct recovery *recovery, struct ledger *ledger)
{
    const double wrong = recovery->wrong_diagnosis;
    if (wrong > 0) {
        LEDGER_SUM(ledger, "attempts to restart", "", 1 / (1 - wrong), LEDGER_TERM(wrong, ""));
        ledger_remark(ledger, "of a failure that takes nodes; 1 of them is not in vain");
        ledger_say(ledger, "a node that was blamed is away", "s", recovery->inspection.mean_s,
                   "in the mean; one for each attempt in vain");
    }
    if (recovery->hot_spares >= 0) {
        ledger_say(ledger, "spares that are hot", "", (double)recovery->hot_spares,
                   "of the spares that stand by");
        ledger_say(ledger, "a restart with a cold one", "s", recovery->cold_start.mean_s,
                   "longer, in the mean; where more nodes broke than hot ones stood by");
    }
}

/* ---- repairs ---- */

static bool breaks_nodes(const struct failure_class *class)
{
    const bool breaks = class->effect == FAILURE_KILLS || class->effect == FAILURE_SLOWS;
    return breaks && class->nodes > 0 && !class->heals && !class->takes_away;
}

/* What hands have to do in a day, if the job always runs; each does it one after the other. */
static void record_repairs(const struct failure_class *classes, uint32_t count, double hands,
                           struct ledger *ledger)
{
    double work_days = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!breaks_nodes(&classes[i])) {
            continue;
        }
        const double a_day = failing_rate_per_s(&classes[i], 1) * SECONDS_PER_DAY;
        const double repairs = classes[i].are_repaired_as_one ? 1 : classes[i].nodes;
        const double days = failure_repair_mean_s(&classes[i]) / SECONDS_PER_DAY;
        work_days += LEDGER_SUM(ledger, ledger_text(ledger, "repairs of %s", classes[i].name),
                                "days", a_day * repairs * days, LEDGER_TERM(a_day, "a day"),
                                LEDGER_TERM(repairs, ""), LEDGER_TERM(days, "days"));
        ledger_remark(ledger, "of work that come in a day");
    }
    if (hands > 0 && work_days > 0) {
        LEDGER_SUM(ledger, "hands at work", "%", work_days / hands, LEDGER_TERM(work_days, "days"),
                   LEDGER_TERM(hands, "hands"));
        ledger_remark(ledger, work_days < hands ? "the rest of the time they wait for work"
                                                : "what is to be repaired piles up");
    }
}

/* ---- what is slow ---- */

/* What is left of a GPU, or of its links. */
static const char *what_is_left(struct ledger *ledger, const struct failure_kind *kind)
{
    if (kind->effect == FAILURE_SLOWS) {
        return ledger_text(ledger, "a GPU computes at %g %%", 100 * kind->speed);
    }
    if (kind->nic < 1 && kind->scale_up < 1) {
        return ledger_text(ledger, "a NIC carries %g %%, an NVLink port %g %%", 100 * kind->nic,
                           100 * kind->scale_up);
    }
    return kind->nic < 1
               ? ledger_text(ledger, "a NIC carries %g %%", 100 * kind->nic)
               : ledger_text(ledger, "an NVLink port carries %g %%", 100 * kind->scale_up);
}

/* So many are slow at a time, in the mean: as many as come while one is. */
static void record_slow(const struct failure_kind *kind, const struct failure_class *class,
                        struct ledger *ledger)
{
    const double a_day = failing_rate_per_s(class, 1) * SECONDS_PER_DAY;
    const double known = class->detection.mean_s / SECONDS_PER_DAY;
    const double repair = class->heals ? failure_repair_mean_s(class) / SECONDS_PER_DAY : 0;
    LEDGER_SUM(ledger, ledger_text(ledger, "%s at a time", class->name), "",
               a_day * (known + repair), LEDGER_TERM(a_day, "a day"), LEDGER_TERM(known, "days"),
               LEDGER_TERM(repair, "days"));
    ledger_remark(ledger, ledger_text(ledger, "%s until it is %s", what_is_left(ledger, kind),
                                      class->heals ? "repaired where it is" : "known"));
}

/* How often nodes on spot go, and whether a checkpoint is before them. */
static void record_spot(const struct scenario *scenario, const struct run_result *run,
                        struct ledger *ledger)
{
    const struct spot_plan *spot = &scenario->spot;
    const double held_s = 1 / spot->rate_per_s;
    const double nodes = (double)scenario->nodes;
    const double away_s = spot->back.mean_s;
    LEDGER_SUM(ledger, "nodes on spot are taken every", "s", held_s * spot->together / nodes,
               LEDGER_TERM(held_s, "s"), LEDGER_TERM(spot->together, "at once"),
               LEDGER_TERM(nodes, "nodes"));
    ledger_remark(ledger, "while all of them are there");
    LEDGER_SUM(ledger, "each is there", "%", held_s / (held_s + away_s), LEDGER_TERM(held_s, "s"),
               LEDGER_TERM(away_s, "s"));
    ledger_remark(ledger, "held, and away until there is another");
    if (!scenario->checkpoint.is_enabled || run->notice_safe_s == HUGE_VAL) {
        ledger_say(ledger, "notice", "s", spot->notice_s, "no checkpoint outlives them");
        return;
    }
    ledger_say(ledger, "a checkpoint is safe after", "s", run->notice_safe_s,
               scenario->recovery.on_notice == NOTICE_NOTHING ? "and none is written on notice"
               : run->notice_safe_s <= spot->notice_s
                   ? "the blocking part and the way, before the nodes go"
                   : "the blocking part and the way, when the nodes are gone: none is written");
    ledger_say(ledger, "notice", "s", spot->notice_s, "once the step under way has ended");
}

/* ---- all of it ---- */

void explain_recovery(const struct explanation *explanation, struct ledger *ledger)
{
    const struct scenario *scenario = explanation->scenario;
    const struct run_drift *drift = &scenario->plan.drift;
    if (drift->is_enabled) {
        ledger_say(ledger, "a step gets longer by", "%", drift->per_day,
                   drift->since == DRIFT_SINCE_START ? "a day, since the job last started"
                                                     : "a day, since it was last maintained");
    }
    if (!recovery_has_failures(scenario)) {
        return;
    }
    uint32_t count;
    const struct failure_class *classes = failing_classes(explanation->arena, scenario, &count);
    record_restart(explanation, ledger);
    record_attempts(&scenario->recovery, ledger);
    if (recovery_is_on_spot(scenario)) { /* the last of them, whom nobody repairs */
        count--;
        if (explanation->result->run.repetitions > 0) {
            record_spot(scenario, &explanation->result->run, ledger);
        }
    }
    if (scenario->recovery.hands > 0) {
        record_repairs(classes, count, (double)scenario->recovery.hands, ledger);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (classes[i].effect == FAILURE_SLOWS) {
            record_slow(&scenario->failures.kinds[i], &classes[i], ledger);
        }
    }
}
