/* What a shard of a search has found, as a file, for who joins the shards (search_join).
 *
 * A part tells whose it is: the sources of the program, and a key of all that the outcome follows
 * from (the resolved scenario, the axes, what is judged by, the gap). Only parts that agree in that
 * and in the number of shards are joined. A file is written under another name first, and ends with
 * a hash of its lines: one that is there is whole, or is refused.
 */
#ifndef STUDY_SEARCH_SEARCH_PART_H
#define STUDY_SEARCH_SEARCH_PART_H

#include "study/search/search.h"

struct search_part {
    struct shard shard;
    struct search_result result;
};

/* 16 hex digits, the arena's. */
const char *search_part_key(struct arena *arena, const struct search_request *request);

/* What parts have to agree in. */
struct search_part_origin {
    const char *build; /* of the program: 16 hex digits */
    const char *key;
};

/* Of a search that was not ended. False with the reason when it cannot be written. */
MUST_USE bool search_part_write(struct arena *arena, const struct search_part *part,
                                const struct search_part_origin *origin, const char *path,
                                struct diag *diag);

/* An input error: it is none, of another version or search, not whole or changed. */
MUST_USE bool search_part_read(struct arena *arena, const char *path,
                               const struct search_part_origin *origin, struct search_part *part,
                               struct diag *diag);

/* The parts of one division, of those that are there their number is known. */
struct search_parts {
    struct search_part *items;
    uint32_t count; /* 0: nothing is joined */
};

struct search_parts_files {
    const char *const *paths;
    uint32_t count;
};

/* The parts that files hold; a note where some are in none, or had lost layouts. False with
 * messages. */
MUST_USE bool search_parts_read(struct arena *arena, const struct search_parts_files *files,
                                const struct search_part_origin *origin, struct search_parts *parts,
                                struct diag *diag);

/* Searches those that are not there, and joins all. */
void search_parts_run(struct arena *arena, const struct search_parts *parts,
                      const struct search_request *asked, struct search_result *whole);

#endif
