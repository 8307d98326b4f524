/* What is said of a search of layouts (study/search/search): the best, the certificate that none is
 * better, what misses the memory nearly; or why nothing was found.
 */
#ifndef REPORT_STUDY_SEARCH_SHEET_H
#define REPORT_STUDY_SEARCH_SHEET_H

#include "report/study/shown_points.h"
#include "study/search/search.h"
#include "study/search/search_space.h"

struct search_shown {
    const struct search_space *space;
    const struct search_result *result;
    enum search_by by;
    double gap;                                /* that was asked for */
    double host_s;                             /* how long it took */
    bool is_part;                              /* of a space, of which others search the rest */
    const char *required;                      /* "days <= 60"; NULL: nothing is */
    const struct memory_errors *memory_errors; /* NULL: near misses were not looked for */
    const struct search_found *chosen;         /* search_stored's, of which `top` are listed */
    uint32_t chosen_count, top;
};

/* What the best takes, and whether it is known to be; NULL: there is none. */
const char *search_answer(struct arena *arena, const struct search_shown *shown,
                          const struct shown_points *of);

/* `of` are the points of what was chosen, held against the best. */
void search_add(const struct search_shown *shown, const struct shown_points *of,
                struct sheet *sheet);

/* What a shard, "2/4", says: its own certificate, and the file that has what it found. */
void search_add_part(const struct search_shown *shown, const char *shard, const char *path,
                     struct sheet *sheet);

/* Nothing was found: stopped too soon, nothing goes together, or nothing fits. Returns false. */
bool search_tell_nothing(struct arena *arena, const struct search_shown *shown, struct diag *diag);

#endif
