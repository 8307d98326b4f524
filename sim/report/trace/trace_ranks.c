/* A mark for each rank, then the list of those that are marked. */
#include "report/trace/trace_ranks.h"

#include "base/arena.h"
#include "base/diag.h"

#include <stdlib.h>
#include <string.h>

static bool refuse(const struct step_trace *trace, const char *text, struct diag *diag)
{
    diag_add(diag, DIAG_USAGE, NULL, "'--ranks=%s' names no ranks of this scenario", text);
    diag_help(diag, "all, or numbers and ranges from 0 to %u: 0-7,16", trace->ranks - 1);
    return false;
}

/* A decimal number; false: there is none, or it is no rank's. */
static bool read_rank(const struct step_trace *trace, const char **text, uint32_t *rank)
{
    char *end = NULL;
    if (**text < '0' || **text > '9') {
        return false;
    }
    const unsigned long value = strtoul(*text, &end, 10);
    *text = end;
    *rank = value < trace->ranks ? (uint32_t)value : 0;
    return value < trace->ranks;
}

static bool mark_asked(const struct step_trace *trace, const char *text, bool *is_wanted)
{
    for (;;) {
        uint32_t first = 0;
        if (!read_rank(trace, &text, &first)) {
            return false;
        }
        uint32_t last = first;
        if (*text == '-') {
            text++;
            if (!read_rank(trace, &text, &last) || last < first) {
                return false;
            }
        }
        for (uint32_t rank = first; rank <= last; rank++) {
            is_wanted[rank] = true;
        }
        if (*text != ',') {
            return *text == '\0';
        }
        text++;
    }
}

/* The first of each class. */
static void mark_first(struct arena *arena, const struct step_trace *trace, uint32_t most,
                       bool *is_wanted)
{
    bool *is_told = arena_array(arena, trace->classes, sizeof *is_told);
    uint32_t count = 0;
    for (uint32_t rank = 0; rank < trace->ranks && count < most; rank++) {
        is_wanted[rank] = !is_told[trace->class_of[rank]];
        is_told[trace->class_of[rank]] = true;
        count += is_wanted[rank];
    }
}

bool trace_ranks_read(struct arena *arena, const struct step_trace *trace, const char *text,
                      const struct trace_ranks_unasked *unasked, struct trace_ranks *ranks,
                      struct diag *diag)
{
    bool *is_wanted = arena_array(arena, trace->ranks, sizeof *is_wanted);
    uint32_t *items = arena_array(arena, trace->ranks, sizeof *items);
    const bool is_all =
        text == NULL ? trace->ranks <= unasked->all_up_to : strcmp(text, "all") == 0;
    if (text == NULL && !is_all) {
        mark_first(arena, trace, unasked->most, is_wanted);
    } else if (!is_all && !mark_asked(trace, text, is_wanted)) {
        return refuse(trace, text, diag);
    }
    *ranks = (struct trace_ranks){.items = items};
    for (uint32_t rank = 0; rank < trace->ranks; rank++) {
        if (is_all || is_wanted[rank]) {
            items[ranks->count++] = rank;
        }
    }
    return true;
}
