/* What is told of all points at once: their coarsest resolution, whether any has a band. */
#include "bands/against.h"

#include "bands/ratio_bands.h"
#include "base/absent.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

bool against_is_close(const struct against *against)
{
    return against->verdict != NULL &&
           strcmp(against->verdict, ratio_verdict_names[RATIO_CLOSE]) == 0;
}

bool against_are_known(const struct against *against, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && is_absent(against[i].factor)) {
        i++;
    }
    return i < count;
}

const struct against *against_coarsest(const struct against *against, uint32_t count)
{
    const struct against *most = &against[0];
    for (uint32_t i = 1; i < count; i++) {
        const struct against *one = &against[i];
        most = one->no_resolution != NULL || one->resolution > most->resolution ? one : most;
    }
    return most;
}

double against_resolution(const struct against *against, uint32_t count)
{
    return count > 0 ? against_coarsest(against, count)->resolution : 0;
}

bool against_is_unresolved(const struct against *against, double share, double logarithm)
{
    return against->resolution > 0 && fabs(logarithm) <= share * against->resolution;
}
