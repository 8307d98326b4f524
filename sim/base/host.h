/* Our own running time and memory: for the `engine` part of a result and for
 * progress, never for a prediction. */
#ifndef BASE_HOST_H
#define BASE_HOST_H

#include <stdint.h>

double host_now_s(void);       /* monotonic */
double host_cpu_s(void);       /* user + system of this process */
int64_t host_peak_bytes(void); /* largest resident size so far */

/* Memory that this machine has, or its container may take; INT64_MAX: the system does not say. */
int64_t host_memory_bytes(void);

#endif
