/* A text of a thousand times is some 11 kB. */
#include "run/history/paired.h"

#include "base/arena.h"
#include "base/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_BYTES = 32 };

struct paired paired_of(const double *a, const double *b, uint32_t count)
{
    sim_assert(count >= 2);
    double sum = 0;
    double squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += a[i] - b[i];
    }
    const double mean = sum / (double)count;
    for (uint32_t i = 0; i < count; i++) {
        const double rest = a[i] - b[i] - mean;
        squares += rest * rest;
    }
    return (struct paired){mean, sqrt(squares / (double)(count - 1) / (double)count), count};
}

bool paired_is_tied(const struct paired *paired)
{
    return fabs(paired->mean) <= 2 * paired->error;
}

const char *paired_text(struct arena *arena, const double *times_s, uint32_t count)
{
    const uint32_t kept = count < PAIRED_KEPT ? count : PAIRED_KEPT;
    char *text = arena_array(arena, kept + (size_t)1, NUMBER_BYTES);
    char *at = text;
    for (uint32_t i = 0; i < kept; i++) {
        at += snprintf(at, NUMBER_BYTES, i == 0 ? "%.3f" : " %.3f", times_s[i]);
    }
    *at = '\0';
    return text;
}

double *paired_read(struct arena *arena, const char *text, uint32_t *count)
{
    double *times_s = arena_array(arena, PAIRED_KEPT, sizeof *times_s);
    *count = 0;
    for (;;) {
        char *end = NULL;
        const double time_s = strtod(text, &end);
        if (end == text || *count == PAIRED_KEPT) {
            return times_s;
        }
        times_s[(*count)++] = time_s;
        text = end;
    }
}
