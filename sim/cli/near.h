/* The errors of memory (bands/memory_errors), for what is said of plans that nearly fit
 * (report/near). */
#ifndef CLI_NEAR_H
#define CLI_NEAR_H

#include "cli/options.h"

struct memory_doubt;
struct memory_errors;
struct result;

/* The catalogue's; NULL with a note where it has none, or none that can be read: then nobody is
 * near. */
const struct memory_errors *near_errors(const struct options *options,
                                        const struct catalogue *catalogue);

/* Whether the plan of a result fits, by the catalogue's peaks. */
const struct memory_doubt *near_doubt(const struct options *options,
                                      const struct catalogue *catalogue,
                                      const struct result *result);

#endif
