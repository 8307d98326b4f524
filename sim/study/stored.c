/* Studies of a results file are few, so each is looked at whenever one is sought. */
#include "study/stored.h"

#include "base/arena.h"

#include <string.h>

enum { KEY_PREFIX_MIN = 4, BUILD_DIGITS = 8 };

bool stored_is_file(const char *name)
{
    const size_t length = strlen(name);
    return strchr(name, '/') != NULL || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
}

const struct store_study_row *stored_last(const struct stored_studies *studies)
{
    return studies->count > 0 ? &studies->rows[studies->count - 1] : NULL;
}

static const struct store_study_row *find_key(const struct stored_studies *studies,
                                              const char *prefix, uint32_t *matches)
{
    const struct store_study_row *found = NULL;
    for (uint32_t i = 0; i < studies->count; i++) {
        if (strncmp(studies->rows[i].key, prefix, strlen(prefix)) == 0) {
            found = &studies->rows[i];
            (*matches)++;
        }
    }
    return found;
}

/* The only one of that title; NULL. */
static const struct store_study_row *find_title(const struct stored_studies *studies,
                                                const char *title)
{
    const struct store_study_row *found = NULL;
    uint32_t matches = 0;
    for (uint32_t i = 0; i < studies->count; i++) {
        if (strcmp(studies->rows[i].title, title) == 0) {
            found = &studies->rows[i];
            matches++;
        }
    }
    return matches == 1 ? found : NULL;
}

/* Of those that were stored last. */
static const char *nearest_name(const struct stored_studies *studies, const char *name)
{
    enum { NAMES_MAX = 128 };
    const char *names[2 * NAMES_MAX];
    uint32_t count = 0;
    for (uint32_t i = studies->count; i > 0 && count < 2 * NAMES_MAX; i--) {
        names[count++] = studies->rows[i - 1].key;
        names[count++] = studies->rows[i - 1].title;
    }
    return diag_nearest(name, names, count);
}

const struct store_study_row *stored_find(const struct stored_studies *studies, const char *name,
                                          const char *key, struct diag *diag)
{
    uint32_t matches = 0;
    const struct store_study_row *found =
        strlen(key) >= KEY_PREFIX_MIN ? find_key(studies, key, &matches) : NULL;
    if (matches > 1) {
        diag_add(diag, DIAG_USAGE, NULL, "several studies begin with '%s'", name);
        return NULL;
    }
    found = found != NULL ? found : find_title(studies, name);
    if (found == NULL) {
        diag_add(diag, DIAG_USAGE, NULL, "%s holds no study '%s'", studies->path, name);
        if (stored_is_file(name)) {
            diag_help(diag, "run `stoker sweep %s` first", name);
        } else {
            diag_help_nearest(diag, nearest_name(studies, name), NULL);
            diag_help(diag, "`stoker list studies` shows them; a key needs 4 letters at least");
        }
    }
    return found;
}

/* Lines of one picture that two models predicted, and those of which nothing is known: any may be
 * the best. */
void stored_tell(const struct store_study_row *first, const struct store_study_row *study,
                 struct diag *diag)
{
    if (strcmp(first->build, study->build) != 0) {
        diag_add(diag, DIAG_WARNING, NULL,
                 "study %s was predicted by build %.*s, study %s by build %.*s", first->key,
                 BUILD_DIGITS, first->build, study->key, BUILD_DIGITS, study->build);
    }
    if (study->failed > 0) {
        diag_add(diag, DIAG_NOTE, NULL,
                 "%lld of the %lld points of study %.8s failed; the command that stored it tries "
                 "them again",
                 (long long)study->failed, (long long)study->points, study->key);
    }
}

bool stored_titles(struct arena *arena, const struct store_study_row *const *studies,
                   const char *const *names, const char **titles, uint32_t count, struct diag *diag)
{
    for (uint32_t i = 0; i < count; i++) {
        bool has_twin = false;
        for (uint32_t j = 0; j < count; j++) {
            if (j < i && studies[i] == studies[j]) {
                diag_add(diag, DIAG_USAGE, NULL, "'%s' and '%s' are one study", names[j], names[i]);
                diag_help(diag, "`stoker list studies` shows which there are");
                return false;
            }
            has_twin = has_twin || (j != i && strcmp(studies[i]->title, studies[j]->title) == 0);
        }
        titles[i] = has_twin ? arena_printf(arena, "%s (%s)", studies[i]->title, names[i])
                             : studies[i]->title;
    }
    return true;
}
