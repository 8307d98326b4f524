/* Studies of a results file as users name them: by a file, by the beginning of a key, or the last.
 */
#ifndef STUDY_STORED_H
#define STUDY_STORED_H

#include "store/store.h"

struct stored_studies {
    const struct store_study_row *rows; /* oldest first */
    uint32_t count;
    const char *path; /* of the results file, for messages */
};

/* The name is that of a file. */
bool stored_is_file(const char *name);

/* The one that was stored last; NULL: there is none. */
const struct store_study_row *stored_last(const struct stored_studies *studies);

/* The study whose key begins so, of four letters at least, or the only one of the title `name`,
 * which is what the user wrote. NULL with a message: there is none, or several. */
const struct store_study_row *stored_find(const struct stored_studies *studies, const char *name,
                                          const char *key, struct diag *diag);

/* A warning where another build predicted it than the first, a note where points of it failed. */
void stored_tell(const struct store_study_row *first, const struct store_study_row *study,
                 struct diag *diag);

/* Their titles in one picture: studies of one title are told apart by how they were named. False
 * with a message: two of them are one. */
MUST_USE bool stored_titles(struct arena *arena, const struct store_study_row *const *studies,
                            const char *const *names, const char **titles, uint32_t count,
                            struct diag *diag);

#endif
