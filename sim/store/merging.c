/* What the file held before is counted, the others are added, and it is counted once more. */
#include "store/merging.h"

#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

static struct store_content content_of(struct store *store, struct arena *arena)
{
    struct store_content content = {.runs = 0};
    content.builds = store_builds(store, arena, &content.build_count);
    for (uint32_t i = 0; i < content.build_count; i++) {
        content.runs += content.builds[i].runs;
    }
    content.studies = store_studies(store, arena, &content.study_count);
    return content;
}

/* ---- studies that lack points -------------------------------------------------------------- */

enum { RANGES_MAX = 8 };

/* "3, 7 to 9, 12 and more": those from 0 to count - 1 that are not in the rising list. */
static const char *gaps_text(struct arena *arena, const int64_t *numbers, uint32_t number_count,
                             int64_t count)
{
    const char *text = "";
    int64_t next = 0;
    uint32_t ranges = 0;
    for (uint32_t i = 0; i <= number_count; i++) {
        const int64_t end = i < number_count ? numbers[i] : count;
        if (end > next && ranges++ == RANGES_MAX) {
            return arena_printf(arena, "%s and more", text);
        }
        const char *comma = ranges > 1 ? ", " : "";
        if (end == next + 1) {
            text = arena_printf(arena, "%s%s%" PRId64, text, comma, next);
        } else if (end > next) {
            text = arena_printf(arena, "%s%s%" PRId64 " to %" PRId64, text, comma, next, end - 1);
        }
        next = end + 1;
    }
    return text;
}

static bool holds_study(const struct store_content *content, const char *key)
{
    for (uint32_t i = 0; i < content->study_count; i++) {
        if (strcmp(content->studies[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

/* Another incomplete one of the same name: shards that were meant to be of one study. */
static const struct store_study_row *find_namesake(const struct store_incomplete *all,
                                                   uint32_t count, uint32_t number)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i != number && strcmp(all[i].title, all[number].title) == 0) {
            return all[i].study;
        }
    }
    return NULL;
}

/* Of the studies that one of the files held, those that lack points now. */
static struct store_incomplete *find_incomplete(struct arena *arena, struct store *store,
                                                const struct store_content *given,
                                                const struct store_content *after, uint32_t *count)
{
    struct store_incomplete *found = arena_array(arena, after->study_count + 1u, sizeof *found);
    *count = 0;
    for (uint32_t i = 0; i < after->study_count; i++) {
        const struct store_study_row *study = &after->studies[i];
        const int64_t missing = study->point_count - study->points;
        if ((missing == 0 && study->failed == 0) || !holds_study(given, study->key)) {
            continue;
        }
        uint32_t number_count = 0;
        const int64_t *numbers = store_point_numbers(store, arena, study->key, &number_count);
        found[(*count)++] = (struct store_incomplete){
            .study = study,
            .key = study->key,
            .title = study->title,
            .build = study->build,
            .point_count = study->point_count,
            .missing = missing,
            .failed = study->failed,
            .numbers = gaps_text(arena, numbers, number_count, study->point_count),
        };
    }
    for (uint32_t i = 0; i < *count; i++) {
        found[i].namesake = find_namesake(found, *count, i);
    }
    return found;
}

/* Adds the studies of a file to those that were given. */
static void add_given(struct arena *arena, struct store_content *given, struct store *from)
{
    const struct store_content content = content_of(from, arena);
    struct store_study_row *studies =
        arena_array(arena, (size_t)given->study_count + content.study_count, sizeof *studies);
    uint32_t count = 0;
    for (uint32_t i = 0; i < given->study_count; i++) {
        studies[count++] = given->studies[i];
    }
    for (uint32_t i = 0; i < content.study_count; i++) {
        studies[count++] = content.studies[i];
    }
    given->studies = studies;
    given->study_count = count;
}

bool merging_run(struct arena *arena, struct store *store, struct store *const *from,
                 uint32_t from_count, struct merging *merging, struct diag *diag)
{
    *merging = (struct merging){.before = content_of(store, arena)};
    struct store_content given = {.runs = 0};
    bool is_good = !diag_has_error(diag);
    for (uint32_t i = 0; is_good && i < from_count; i++) {
        add_given(arena, &given, from[i]);
        is_good = !diag_has_error(diag);
    }
    if (!is_good || !store_merge(store, from, from_count, diag)) {
        return false;
    }
    merging->after = content_of(store, arena);
    merging->incomplete =
        find_incomplete(arena, store, &given, &merging->after, &merging->incomplete_count);
    return !diag_has_error(diag);
}
