/* The room foreign: files of other programs, made ours.
 *
 * Invariant: What a file does not say is not made up: it comes from the catalogue and is marked
 * `provenance: assumed`, or the import is refused. What is written is read back before it is
 * printed. No time is predicted here (no hw, no train).
 *
 * Lives here: one file a kind of `stoker import`: Hugging Face, nccl-tests, NCCL's topology,
 * nvidia-smi (wiring, power), Slurm (topology, accounts), clouds' trees of instances, InfiniBand's,
 * logs of trainers, and in `launch` what starts them.
 * May come in: base, input, plan.
 *
 * Decided in one place each:
 *     which kind of file it is                      import_kinds.c
 *     which files of a folder are read, and lines   import_open.c
 *     what a cluster has of which nothing was said  import_cluster.c
 *     which GPU of the catalogue a device is        device.c
 *     what links between GPUs join                  wiring.c
 *     what a log says of a run                      training_log.h
 *     what an argument of Megatron-LM is for        megatron/megatron_arguments.h
 *     what a recipe sets by itself                  launch/recipes.h
 *     settings of a run, and the keys they come to   told.h
 */

/* What the kinds of `stoker import` share: options, the file, and writing a cluster.
 *
 * A kind reads its file into facts about a cluster; import_cluster_print adds
 * what the file does not say from a cluster of the catalogue with the same GPU,
 * marks those parts `provenance: assumed`, and writes a file that loads.
 */
#ifndef FOREIGN_IMPORT_H
#define FOREIGN_IMPORT_H

#include "foreign/device.h"
#include "input/catalogue.h"
#include "input/doc/text_file.h"
#include "input/gpu.h"

#include <stdio.h>

struct wiring;

/* Steps that stand out of a log's: over LOG_SLOW times the median, what they are for (data, an
 * evaluation, a checkpoint) the log seldom says. */
#define LOG_SLOW 1.5
struct log_stalls {
    uint32_t slow, steps; /* lines: so many of so many, without warm-up */
    double share;         /* of the time of all, beyond the median */
};

/* What a kind works with. */
struct importer {
    const char *operation, *cluster;
    int64_t gpus, nodes; /* 0: not given, as with all numbers here but `skip` */
    const char *name, *gpu, *like, *topology;
    int64_t nics, gpus_per_node, uplinks;
    double nic_bytes_per_s;    /* of one NIC */
    double nvlink_bytes_per_s; /* of one NVLink, one way */
    double oversubscription, pod_oversubscription;
    const char *model, *software;
    double network_bytes_per_s;   /* of a node, one way */
    int64_t skip;                 /* lines of steps; -1: not given */
    int64_t run;                  /* of a log that holds several, from 1 */
    bool has_no_header;           /* of the CSV */
    int64_t vocabulary;           /* words, before padding */
    const char *const *variables; /* of a script: "NAME=VALUE" */
    uint32_t variable_count;
    const char *arguments;   /* of a script, $1 $2 ..., between blanks; NULL: none */
    const char *with;        /* a configuration that a script names */
    int64_t sequence_length; /* tokens */

    struct arena *arena;
    struct diag *diag;
    const struct catalogue *catalogue;
    struct text_file file;         /* loaded and no binary; of several that are read each (below) */
    const struct text_file *files; /* the first; NULL: the one file */
    uint32_t file_count;
    FILE *out;                /* where what is made of it goes */
    struct log_stalls stalls; /* found, when the steps of a log were read */
};

/* Prints on `out` when all is good; else false, with messages. */
typedef bool import_function(struct importer *importer);
import_function import_hf;
import_function import_nccl_tests;
import_function import_nccl_topo;
import_function import_topo_m;
import_function import_slurm;
import_function import_megatron;
import_function import_torchtitan;
import_function import_step_log;
import_function import_ibnet;
import_function import_sacct;
import_function import_launch;
import_function import_power;

/* Whether a reader of logs looks at such a line; of files beyond 64 MiB no others are kept. */
typedef bool import_wants(struct text_span line);
import_wants import_megatron_wants;
import_wants import_torchtitan_wants;
import_wants import_step_wants;

/* The file of that index, for kinds that read several; NULL behind the last. */
const struct text_file *import_file_at(const struct importer *importer, uint32_t index);

/* The file's name without folder, ".gz" and ending. */
const char *import_stem(const struct importer *importer);

/* Whether it is a log of Megatron-LM or torchtitan, which tells the whole run. */
bool import_log_is_whole(const char *text);

/* The two lines of CSV that a log becomes, whichever of the two kinds it is by its lines of steps;
 * the arena's. NULL, with messages: it is neither, or lacks something. */
MUST_USE const char *import_log_lines(struct importer *importer);

/* How fast a run was, by a log that tells little else. */
struct log_pace {
    double step_s;               /* 0: the log tells tokens instead, */
    double tokens_per_s_per_gpu; /* these */
    int64_t batch;               /* sequences of a step; 0: not told */
    const char *notes;           /* "median of 90 lines, steps 11 to 100; ..." */
};

/* The median step of such a log (foreign/step_lines). False where it is nobody's that is known. */
bool import_log_step(struct importer *importer, struct log_pace *pace);

/* The same, or of one of the two kinds above that lacks what its trainer says at its begin. False
 * where it tells the whole run, too. */
bool import_log_pace(struct importer *importer, struct log_pace *pace);

/* A usage error that the kind cannot do without `option` ("--nics N"); returns false. */
bool import_need(const struct importer *importer, const char *option, const char *why);

/* A user's text as a YAML scalar in single quotes; what is not printable ASCII becomes '?'. */
const char *import_quote(struct arena *arena, const char *text);

/* ---- clusters ---------------------------------------------------------------- */

struct import_cluster {
    const char *gpu;              /* name; the file's word or --gpu */
    const char *like;             /* topologies/ */
    struct gpu_platform platform; /* zero when the catalogue does not know the GPU */
    int64_t gpus_per_node;
    const char *scale_up_kind;   /* NULL: as in `like` */
    double scale_up_bytes_per_s; /* per GPU, one way; 0: the GPU's host link */
    double peer_bytes_per_s;     /* of a mesh, to one other GPU; else 0 */
    const char *scale_up_source; /* "18 NVLinks of 25 GB/s" */
    int64_t domain_nodes;        /* of an NVLink domain; 0: as in `like` */
    int64_t nics;
    double nic_bytes_per_s;
    const char *nic_source;
    int64_t nodes;                                        /* 0: not known */
    void (*print_fabric)(const void *context, FILE *out); /* lines of YAML, but hop_latency;
                                                             NULL: as in `like` */
    const void *fabric_context;
    const char *fabric_source;
    const char *const *comments; /* for the head of the file */
    uint32_t comment_count;
};

/* Fills gpu, platform and like from the options and what the file tells of its GPUs (device_find).
 * False with a usage error. */
bool import_choose_gpu(const struct importer *importer, const struct device_clues *clues,
                       struct import_cluster *cluster);

/* Fills what joins the GPUs of a node; PCIe at that rate (0: the GPU's host link) where links of
 * their own do not join all. What a cluster file cannot say of the wiring is a warning. False with
 * a usage error: the rate of a link is not known. */
bool import_choose_scale_up(struct importer *importer, const struct wiring *wiring,
                            double pcie_bytes_per_s, struct import_cluster *cluster);

/* Nodes in an NVLink domain of the cluster that it is like; 1 where that has none. */
int64_t import_domain_of_like(const struct importer *importer,
                              const struct import_cluster *cluster);

/* NICs of the node: --nics, else the `found` ones; with a warning one a GPU, where so many are
 * functions of fewer cards. */
int64_t import_count_nics(struct importer *importer, int64_t found, int64_t gpus);

/* Adds a comment to the head of the file that is written. */
void import_comment(struct importer *importer, struct import_cluster *cluster, const char *text);

/* The rate of one NVLink of the GPU; 0 with a usage error when it is not known. */
double import_nvlink_rate(const struct importer *importer, const struct import_cluster *cluster);

/* Prints the file when it can be read as a cluster; else false, with messages. */
bool import_cluster_print(const struct importer *importer, const struct import_cluster *cluster);

#endif
