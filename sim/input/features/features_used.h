/* What of the vocabulary of releases (input/features/features.h) a scenario uses, by which keys,
 * and what its software's profile lacks of that: the one predicate that warnings and searches ask.
 *
 * A layout that is given is simulated all the same, with a warning (cli/lacks); one that is looked
 * for is not found (study/search, which names what was left out for that reason).
 */
#ifndef INPUT_FEATURES_FEATURES_USED_H
#define INPUT_FEATURES_FEATURES_USED_H

#include "input/features/features.h"

#include <stdbool.h>

struct arena;
struct model;
struct parallel;
struct recompute;
struct scenario;
struct software;

/* One that a scenario uses. */
struct feature {
    enum feature_list list;
    uint32_t index;    /* in the list's names */
    const char *group; /* "schedules": the list */
    const char *word;  /* "schedule": what one of them is; "" where its name says so */
    const char *name;  /* "zb-h1" */
    const char *key;   /* of the scenario, that asks for it: "parallel.schedule" */
};

/* What it uses of each list; its sizes go together. */
struct feature_set features_used(const struct scenario *scenario);

/* Of a layout that computes this again; its bits of FEATURES_RECOMPUTE. */
uint32_t features_of_recompute(const struct model *model, const struct recompute *recompute);

/* Of an order of the mesh, whatever else a layout has than these degrees; of FEATURES_OPTIONS. */
uint32_t features_of_order(const struct parallel *parallel, bool has_experts);

/* What a search may propose: what the profile of the scenario has, all of lists that are not known,
 * and besides what keys ask for that are not free (NULL: all are free). */
typedef bool feature_key_function(const void *context, const char *key);
struct feature_set features_allowed(const struct scenario *scenario, feature_key_function *is_free,
                                    const void *context);
/* All that there is. */
struct feature_set features_all(void);

/* Whether the scenario uses nothing else; what it does is added to `lacked`. */
bool features_hold(const struct scenario *scenario, const struct feature_set *allowed,
                   struct feature_set *lacked);

/* What changing `now` to `changed` asks for that the latter's software lacks, and `now` does not.
 */
struct feature_set features_added(const struct scenario *now, const struct scenario *changed);
/* It is nothing. */
bool features_hold_changed(const struct scenario *now, const struct scenario *changed);

/* Whether a profile has one that another's scenario uses, as far as it says. */
bool features_have(const struct software *software, const struct feature *feature);

/* What the scenario uses and its profile lacks, in the table's order; how many. */
enum { FEATURES_MAX = 32 * FEATURE_LIST_COUNT_ };
uint32_t features_lacking(const struct scenario *scenario, struct feature lacking[FEATURES_MAX]);

/* All of a set, as if a scenario used them, with their keys. */
uint32_t features_of_set(const struct scenario *scenario, const struct feature_set *set,
                         struct feature features[FEATURES_MAX]);

/* "recompute norm, activation; schedule zb-h1". */
const char *features_words(struct arena *arena, const struct feature *features, uint32_t count);

#endif
