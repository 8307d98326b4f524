/* Who loads data, and what that takes of a node.
 *
 * Of the ranks that work on the same sequences (tp, cp and pp of one replica) one loads them,
 * the first, and has `data.workers_per_gpu` worker processes. With the order tp-cp-ep-dp-pp
 * all that load belong to the first stage, so its nodes hold more of them than others; the
 * fullest node is what counts, since all replicas wait for the slowest.
 *
 * A worker takes `data.memory_per_worker` of its host's memory, and its queue of `data.prefetch`
 * microbatches the bytes that are read for them.
 *
 * ASSUMES: one rank of each replica loads and hands on to those of its tp and cp group; the
 * labels of the last stage cost nothing more; DualPipe's second end loads nothing apart.
 */
#ifndef PLAN_LOADING_H
#define PLAN_LOADING_H

#include <stdint.h>

struct scenario;

/* Of a job what loading depends on. What it points to is borrowed. */
struct loading_job {
    const struct data_loading *data;
    const struct parallel *parallel;
    int64_t gpus_per_node;
    int64_t microbatch_tokens; /* of one replica: sequences times their length */
};
struct loading_job loading_job_of(const struct scenario *scenario);

/* Ranks that load on the node with the most of them; 0 without `data`. */
int64_t loading_ranks_of_node(const struct loading_job *job);

/* Bytes that one worker's queue holds when it is full. */
double loading_queue_bytes(const struct loading_job *job);

/* Memory of all workers and their queues on that node. */
double loading_host_bytes(const struct loading_job *job);

#endif
