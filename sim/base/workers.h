/* Work shared by processes.
 *
 * Each of `jobs` processes calls work(context) once and ends; they share what the caller mapped as
 * shared memory and nothing else. Where no process can be started, the caller does the work itself.
 */
#ifndef BASE_WORKERS_H
#define BASE_WORKERS_H

#include <stdint.h>

/* As many as asked for; 0: as many as the machine has cores; at most `pieces` of work. */
uint32_t workers_count(uint32_t wanted, uint32_t pieces);

/* Returns when all have ended, well or not: the caller looks at what they left. */
void workers_run(uint32_t jobs, void (*work)(const void *context), const void *context);

/* Zeroed memory that processes share from then on; NULL when the machine has none. */
void *workers_share(uint64_t bytes);
void workers_unshare(void *memory, uint64_t bytes);

#endif
