/* What a prediction says of the step: its causes, traffic, links, memory.
 *
 * Plain data, filled by train/step. The months are run/result's.
 * Every GPU-nanosecond of the step has one cause, and the sums are exact:
 * sum over causes of gpu_ns[cause] == gpus * step_ns, asserted when the result
 * is made.
 */
#ifndef TRAIN_METRICS_H
#define TRAIN_METRICS_H

#include "plan/memory/memory_use.h"

/* What a GPU's time went to, in the order in which ties between causes of a wait are decided:
 * X(cause, name, title, short, resource, colour). The name is the word of JSON, the store and
 * plots, the title for people and `short` of an axis; `resource` is what a critical path hangs on
 * there; the colour, 0xrrggbb, is that of every picture (Okabe and Ito's, neighbours of them for
 * what few plots show). LAUNCH are gaps between kernels (GPU latency, or the host too slow),
 * INTERFERENCE kernels slowed by collectives that overlap them, OFFLOAD copies to the host and
 * back, and what the CPU computes. A new cause is a new row, and who books it. */
/* clang-format off */
#define STEP_CAUSES(X) \
    X(COMPUTE, compute, "compute", "compute", "compute kernels", 0x0072b2) \
    X(RECOMPUTE, recompute, "recompute", "recompute", "recompute kernels", 0x004166) \
    X(OPTIMIZER, optimizer, "optimizer", "optimizer", "optimizer kernels", 0x009e73) \
    X(LAUNCH, launch, "launch gaps", "launch gaps", "launch gaps", 0xf0e442) \
    X(INTERFERENCE, interference, "interference", "interference", "interference", 0x8c6d31) \
    X(EXPOSED_TP, exposed_tp, "exposed TP communication", "exposed TP", \
      "TP communication", 0x56b4e9) \
    X(EXPOSED_CP, exposed_cp, "exposed CP communication", "exposed CP", \
      "CP communication", 0x9bd3c4) \
    X(EXPOSED_EP, exposed_ep, "exposed EP communication", "exposed EP", \
      "EP communication", 0xcc79a7) \
    X(EXPOSED_PP, exposed_pp, "exposed PP communication", "exposed PP", \
      "PP communication", 0x7b4fa3) \
    X(EXPOSED_DP, exposed_dp, "exposed DP communication", "exposed DP", \
      "DP communication", 0xd55e00) \
    X(EXPOSED_OFFLOAD, exposed_offload, "exposed offload", "exposed offload", \
      "offload", 0xb3a100) \
    X(BUBBLE, bubble, "pipeline bubble", "bubble", "pipeline bubble", 0x999999) \
    X(STRAGGLER_WAIT, straggler_wait, "straggler wait", "straggler wait", "slow GPUs", 0x666666) \
    X(DATA_STALL, data_stall, "data stall", "data stall", "reading data", 0xe69f00) \
    X(CHECKPOINT_STALL, checkpoint_stall, "checkpoint stall", "checkpoint stall", \
      "checkpoint", 0x333333)
/* clang-format on */
#define CAUSE_ID(id, ...) CAUSE_##id,
enum cause { STEP_CAUSES(CAUSE_ID) CAUSE_COUNT_ };

/* "compute", "exposed_tp", ...: the words of JSON, the store and the plots. */
extern const char *const cause_names[CAUSE_COUNT_];
/* "compute", "exposed TP communication": for people. */
extern const char *const cause_titles[CAUSE_COUNT_];

struct engine_use {
    int64_t ranks;           /* GPUs of the scenario */
    int64_t ranks_simulated; /* after folding */
    int64_t links_simulated;
    int64_t tasks; /* executed by the simulated ranks */
    int64_t events;
    int64_t solves; /* of the fluid solver */
    int64_t fills;  /* of regions, in these */
    int64_t flows_filled;
    int64_t region_max; /* flows of the largest region */
    double solve_s;     /* our own time in them */
    double host_s;      /* our own time; the only part that is not deterministic */
    int64_t host_peak_bytes;
};

/* Links of one kind, over the step. */
struct link_use {
    const char *kind;    /* "leaf up-link" */
    const char *busiest; /* its name */
    uint32_t count;
    int64_t capacity_bytes_per_s; /* of the busiest */
    double bytes;                 /* that cross the busiest */
    double utilisation_max;       /* 0..1 */
    double utilisation_mean;
};

/* One of the busiest links of its kind. */
struct link_load {
    const char *kind;
    const char *name;
    int64_t capacity_bytes_per_s;
    double bytes;
    double utilisation;
};

/* One kind of transfer of a step. */
struct traffic_use {
    const char *stream;
    const char *operation;
    const char *algorithm;
    const char *protocol; /* "" where there is none */
    double bytes;         /* the whole buffer */
    double rank_bytes;    /* that a rank sends */
    int64_t count;        /* a step, on the stage that has most */
    double latency_s;
    double alone_s;         /* on an idle fabric */
    double slowdown;        /* of its stream: simulated / alone */
    const char *bottleneck; /* the link that binds it on an idle fabric, or "" */
    bool is_extrapolated;   /* size outside what the library's constants were fitted to */
};

/* A job that shares the fabric, or (first) the one that was asked about. */
struct job_use {
    const char *title;
    int64_t gpus;
    int64_t steps;       /* simulated */
    double step_alone_s; /* with the fabric for itself */
    double step_s;
};

/* How far runs lie apart whose inputs differ by nothing that matters (train/ensemble). The step is
 * their median. */
struct step_spread {
    uint32_t members; /* 1: a change of the input changes the step as little, the rest is 0 */
    uint32_t median;  /* the number of the run that the step is */
    int64_t below_ns; /* the shortest is so much shorter than step_ns */
    int64_t above_ns;
};

/* How the job lies in scale-up domains. */
struct placement_use {
    int64_t domain_gpus;
    int64_t segment_gpus;    /* that come together, in one domain */
    int64_t used_gpus;       /* at most, of each domain */
    int64_t idle_gpus;       /* in domains of which it uses so many, and nobody the rest; or of its
                              * node, if it has less than one */
    int64_t straddling;      /* groups that leave a domain which could hold them */
    int64_t straddling_gpus; /* of one of the largest of them */
    const char *straddler;   /* its kind, "expert"; "" when there is none */
};

struct critical;

struct step_result {
    int64_t step_ns;              /* one optimizer step, with data stall and host overhead */
    int64_t gpu_ns[CAUSE_COUNT_]; /* GPU-nanoseconds of all GPUs by cause */
    int64_t simulated_ns; /* before anything made it otherwise (step_scale); 0: nothing did */
    int64_t jitter_ns;    /* of step_ns: waiting for the slowest GPU (train/jitter) */
    struct step_spread spread;
    bool is_longer; /* than step_request.enough_ns, as the median of runs: the rest is of the
                     * unperturbed one */
    int64_t model_flop_tokens;    /* tokens of a step */
    double flop_per_token_causal; /* forward + backward, attention halved */
    double flop_per_token_full;
    double hardware_flop_per_token; /* with what recomputation adds */
    double peak_flop_per_s;         /* dense, of the precision used */
    double tokens_per_s_per_gpu;
    double tflops_per_gpu; /* model FLOPs, causal, in 1e12 FLOP/s */
    double mfu;            /* causal */
    double mfu_full_attention;
    double hfu;
    double busiest_link_utilisation; /* 0..1, over the step */
    const char *busiest_link;        /* "NIC out", "leaf up-link"; "" if none */
    int64_t links_ns;                /* over which links were used: without jitter and stalls */
    struct link_use *link_uses;      /* by kind */
    struct link_load *link_loads;    /* the busiest of each kind */
    struct traffic_use *traffic;
    struct job_use *jobs; /* empty when there is one job */
    uint32_t link_use_count, link_load_count, traffic_count, job_count;
    struct placement_use placement;
    struct memory_verdict memory;
    char memory_advice[512];     /* what is too large and what would fit; "" if it fits */
    const struct critical *path; /* what the step hangs on (train/critical); NULL: not asked for */
    const char *bound_by;        /* that in one phrase (critical_bound_by); "": not asked for */
    struct engine_use engine;
};

#endif
