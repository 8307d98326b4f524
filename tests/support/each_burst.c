#include "support/each_burst.h"

#include "base/check.h"

int64_t each_burst_wait(struct launch_queue *queue, const struct launch_burst *burst)
{
    if (burst->launches == 0) {
        return 0;
    }
    const int64_t behind_ns = burst->deficit_ns - queue->lead_ns;
    const int64_t wait_ns = behind_ns > 0 ? behind_ns : 0;
    const int64_t lead_ns = queue->lead_ns + wait_ns + burst->work_ns - burst->host_ns;
    sim_assert(lead_ns >= 0); /* the last kernel is launched before it ends */
    launch_queue_remember(queue, burst);
    const int64_t pending_ns = launch_queue_pending_ns(queue);
    queue->lead_ns = lead_ns < pending_ns ? lead_ns : pending_ns;
    return wait_ns;
}

void each_burst_drain(struct launch_queue *queue)
{
    queue->lead_ns = 0;
}
