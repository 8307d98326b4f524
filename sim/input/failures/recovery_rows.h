/* The rows of what fails in a run and how it comes back, of the scenario's schema: run.failures,
 * run.spot and run.recovery. Nobody else includes it.
 */
#ifndef INPUT_FAILURES_RECOVERY_ROWS_H
#define INPUT_FAILURES_RECOVERY_ROWS_H

#include "input/failures/recovery.h"
#include "input/schema/rows.h"

#define RECOVERY_ROWS                                                                              \
    {CUSTOM("run.failures", recovery_read_failures,                                                \
            "What breaks during the run: a name of models/failures, a path, a mapping, or true "   \
            "for " FAILURES_DEFAULT "."),                                                          \
     .standard = "false"},                                                                         \
        {CUSTOM("run.spot", recovery_read_spot,                                                    \
                "Nodes are on spot, and may be taken away: a name of models/spot, a path, a "      \
                "mapping."),                                                                       \
         .standard = "false"},                                                                     \
        {SECTION(                                                                                  \
             "run.recovery",                                                                       \
             "How the run comes back when something broke; each of its times is fixed (7 min) or " \
             "{mean: 7 min, law: lognormal, median: 4 min}."),                                     \
         .applies = run_plan_has_restarts, .note = "nothing fails"},                               \
        {CUSTOM("run.recovery.spares", recovery_read_spares,                                       \
                "Nodes that stand ready in the place of broken ones, as a number or as a share "   \
                "of the "                                                                          \
                "job's nodes."),                                                                   \
         .standard = "5 %", .is_assumed = true,                                                    \
         .source =                                                                                 \
             "5 to 10 % are kept ready: https://github.com/stas00/ml-engineering, read 2026",      \
         .axis = {"spare nodes", 1, false}},                                                       \
        {CHOICE(                                                                                   \
             "run.recovery.spares_at", recovery.spares_at, recovery_spares_names,                  \
             RECOVERY_SPARES_COUNT_,                                                               \
             "Where spares lie: beside what they replace, on its leaf switch and in its NVLink "   \
             "domain, so that a step stays as it is, or at the job's end, so that it lies apart "  \
             "until a restart finds its own nodes back."),                                         \
         .standard = "beside"},                                                                    \
        {SCHEMA_ROW(                                                                               \
             "run.recovery.hot_spares", SCHEMA_CUSTOM, SCHEMA_NOWHERE,                             \
             "Of the spares, those that are started and checked, so that one only joins; as "      \
             "one is taken a cold one is made hot."),                                              \
         .is_optional = true, .note = "all are", .read = recovery_read_hot_spares},                \
        {LAW("run.recovery.cold_start", recovery.cold_start,                                       \
             "What a restart waits for a spare that is not hot: boot, images, tests."),            \
         .standard = "10 min",                                                                     \
         .is_assumed = true,                                                                       \
         .source = "assumed",                                                                      \
         .applies = recovery_has_cold_spares,                                                      \
         .refuses = recovery_refuses_cold_start},                                                  \
        {COUNT("run.recovery.hands", recovery.hands, 1, 1000000,                                   \
               "Repairs that go on at a time; the others wait for a hand, first come first "       \
               "served."),                                                                         \
         .is_optional = true, .note = "as many as there are"},                                     \
        {QUANTITY(                                                                                 \
             "run.recovery.wrong_diagnosis", recovery.wrong_diagnosis, DIM_FRACTION, 0.0, 0.99,    \
             "Share of failures that take nodes for which another node is taken out: the job "     \
             "starts, fails as before, and somebody looks again."),                                \
         .standard = "0 %"},                                                                       \
        {LAW("run.recovery.inspection", recovery.inspection,                                       \
             "Until a node that was blamed is back."),                                             \
         .standard = "4 h",                                                                        \
         .is_assumed = true,                                                                       \
         .source = "assumed",                                                                      \
         .applies = recovery_is_wrong,                                                             \
         .refuses = recovery_refuses_inspection},                                                  \
        {CHOICE("run.recovery.on_notice", recovery.on_notice, recovery_notice_names,               \
                RECOVERY_NOTICE_COUNT_,                                                            \
                "When nodes will be taken: a checkpoint, if it can be safe by then, or nothing."), \
         .standard = "checkpoint", .refuses = recovery_refuses_notice},                            \
        {CHOICE("run.recovery.slow", recovery.slow, recovery_slow_names, RECOVERY_SLOW_COUNT_,     \
                "What becomes of a GPU that is slow, or whose link is: its node is replaced once " \
                "it is "                                                                           \
                "known, by a restart, or the run endures it until its repair is over."),           \
         .standard = "replace"},                                                                   \
        {CHOICE(                                                                                   \
             "run.recovery.without_node", recovery.without_node, recovery_without_node_names,      \
             RECOVERY_WITHOUT_NODE_COUNT_,                                                         \
             "What happens while spares lack: the run waits for repairs, or goes on with fewer "   \
             "replicas."),                                                                         \
         .standard = "wait"},                                                                      \
        {CHOICE("run.recovery.batch", recovery.batch, recovery_batch_names, RECOVERY_BATCH_COUNT_, \
                "Of fewer replicas: each trains what it did before, so that a step has fewer "     \
                "tokens, "                                                                         \
                "or together they train the whole batch, in more microbatches."),                  \
         .standard = "shrunk"},                                                                    \
        {CHOICE(                                                                                   \
             "run.recovery.from", recovery.from, recovery_from_names, RECOVERY_FROM_COUNT_,        \
             "Where what a lost GPU held is read from: the newest checkpoint, or a replica that "  \
             "holds a copy of it, so that only the step under way is lost; a checkpoint is read "  \
             "where none is left."),                                                               \
         .standard = "checkpoint"},                                                                \
        {SCHEMA_ROW("run.recovery.restart", SCHEMA_CUSTOM,                                         \
                    SCHEMA_MEMBER(struct law, recovery.restart),                                   \
                    "All of a restart, as logs have it: from the moment that nodes are there "     \
                    "until steps go "                                                              \
                    "on, the read of the checkpoint included."),                                   \
         .dimension = DIM_SECONDS,                                                                 \
         .is_optional = true,                                                                      \
         .note = "start, read and warm_up",                                                        \
         .read = recovery_read_restart,                                                            \
         .axis = {"restart, minutes", 1.0 / 60, false}},                                           \
        {LAW("run.recovery.start", recovery.restart,                                               \
             "Of a restart what comes before the read of the checkpoint, which is simulated: "     \
             "scheduling, containers, processes."),                                                \
         .standard = "5 min", .is_assumed = true, .refuses = recovery_refuses_parts,               \
         .source = "assumed; MegaScale is back at work within 15 min of a failure, diagnosis "     \
                   "included: https://arxiv.org/abs/2402.15627, February 2024"},                   \
        {QUANTITY("run.recovery.start_per_gpu", recovery.start_per_gpu_s, DIM_SECONDS, 0.0, 100.0, \
                  "What the start takes longer for each GPU of the job: its communicators."),      \
         .standard = "3 ms", .is_assumed = true, .refuses = recovery_refuses_parts,                \
         .source =                                                                                 \
             "MegaScale: below 30 s for more than 10,000 GPUs; 0.5 s a GPU before its changes "    \
             "(1047 s for 2,048): https://arxiv.org/abs/2402.15627, February 2024"},               \
        {QUANTITY(                                                                                 \
             "run.recovery.warm_up", recovery.warm_up_s, DIM_SECONDS, 0.0, SECONDS_MAX,            \
             "What the first steps after the read take longer: compilation, caches, loaders."),    \
         AS(double, plan.first_steps.all_s), .note = "as run.first_steps",                         \
         .refuses = recovery_refuses_parts},                                                       \
        {LAW("run.recovery.growth", recovery.growth,                                               \
             "Restart with more replicas when nodes came back; loses no step."),                   \
         .standard = "7 min", .is_assumed = true, .source = "assumed: as a restart"},              \
        {SECTION("run.recovery.detection",                                                         \
                 "Until somebody knows of a failure, by how it shows.")},                          \
        {LAW("run.recovery.detection.crash", recovery.detection[DETECTED_CRASH],                   \
             "Of a process that ends."),                                                           \
         .standard = "1 min", .is_assumed = true,                                                  \
         .source = "assumed: a missed heartbeat or an exit status"},                               \
        {LAW("run.recovery.detection.hang", recovery.detection[DETECTED_HANG],                     \
             "Of processes that wait for ever: the watchdog of collectives."),                     \
         .standard = "10 min", .is_assumed = true,                                                 \
         .source = "the timeout of torch.distributed.init_process_group with NCCL, "               \
                   "https://docs.pytorch.org/docs/stable/distributed.html, 2026"},                 \
        {LAW("run.recovery.detection.slow", recovery.detection[DETECTED_SLOW],                     \
             "Of a GPU that is slower than the others, until it is taken out."),                   \
         .standard = "1 h", .is_assumed = true,                                                    \
         .source = "assumed; slow phases last from under a minute to 10 hours: "                   \
                   "https://arxiv.org/abs/2410.12588, October 2024"},                              \
        {LAW("run.recovery.detection.corruption", recovery.detection[DETECTED_CORRUPTION],         \
             "Of corrupted weights where nothing checks them: a look at the loss. A check knows "  \
             "at "                                                                                 \
             "once."),                                                                             \
         .standard = "30 min", .is_assumed = true, .source = "assumed"},                           \
        {SWITCH("run.recovery.check", recovery.has_checks,                                         \
                "A check for corrupted weights; without one corruption shows as a crash does.")},  \
        {QUANTITY("run.recovery.check.every", recovery.check_every_s, DIM_SECONDS, 1.0,            \
                  SECONDS_MAX, "Time between two checks, in whole intervals of checkpoints."),     \
         .is_required = true},                                                                     \
    {                                                                                              \
        QUANTITY("run.recovery.check.takes", recovery.check_s, DIM_SECONDS, 0.0, SECONDS_MAX,      \
                 "What training waits for one."),                                                  \
            .standard = "1 min", .is_assumed = true                                                \
    }

#endif
