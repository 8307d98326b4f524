/* What layouts of a line differ in (study/search/search_space): what is computed again, and how
 * many layers' activations go to the host; and how many they are, which lines that are left out
 * whole are counted by.
 */
#ifndef STUDY_SEARCH_SEARCH_CHOICES_H
#define STUDY_SEARCH_SEARCH_CHOICES_H

#include "input/features/features.h"
#include "study/search/search_space.h"

struct arena;

/* Layouts beside those counted, that the software has not, and what it lacks of them. */
struct search_lacking {
    uint64_t layouts;
    struct feature_set any; /* of one of them at least */
    struct feature_set all; /* of each; with no layouts all there is */
};

/* Which recomputation a leaf's number says: one of the space's, or behind these layers from 1. */
struct recompute search_choice_recompute(const struct search_space *space, uint32_t number);

/* Whether the model has the modules and a chunk so many layers, and nothing else is the same: all
 * layers of the largest chunk are full. */
bool search_choice_is_in_line(const struct search_space *space, const struct recompute *recompute,
                              int64_t largest_chunk);

/* Adds what the software lacks of a choice; false: nothing. */
bool search_choice_lacks(const struct search_space *space, const struct recompute *recompute,
                         int64_t offloaded, struct feature_set *lacks);

/* Of a line with so many layers in its largest chunk and in its largest stage. */
struct search_tally {
    uint64_t layouts;              /* all of them */
    struct search_lacking lacking; /* of these */
};

struct search_tallies;
struct search_tallies *search_tallies_new(struct arena *arena, const struct search_space *space);
const struct search_tally *search_tally_of(struct search_tallies *tallies, int64_t largest_chunk,
                                           int64_t largest_stage);

/* All layouts of so many lines, which lack that besides. */
void search_lacking_add_lines(struct search_lacking *sum, const struct search_tally *tally,
                              const struct feature_set *besides, uint64_t lines);

/* Those that are lacking of so many lines that lack nothing else. */
void search_lacking_add(struct search_lacking *sum, const struct search_lacking *more,
                        uint64_t times);

#endif
