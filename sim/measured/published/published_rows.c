/* What the rules set is the scenario; here stands what they cannot say: that a name is not in the
 * catalogue, and which would be.
 */
#include "measured/published/published_rows.h"

#include "base/arena.h"
#include "measured/published/published_columns.h"
#include "measured/published/published_reading.h"

#include <string.h>

struct maker {
    struct arena *arena;
    const struct published_reading *reading;
    const struct catalogue *catalogue;
    const char *skipped;
    struct published_wrong wrong;
};

/* A file of the catalogue. */
static bool is_catalogued(const struct maker *maker, enum catalogue_kind kind, const char *name)
{
    return name[0] != '\0' && strchr(name, '/') == NULL &&
           catalogue_find(maker->arena, maker->catalogue, catalogue_folders[kind], name) != NULL;
}

/* ---- names that nothing is known of ----------------------------------------------------- */

static void refuse(struct maker *maker, const char *column, const char *why, const char *nearest,
                   const char *known)
{
    if (maker->skipped == NULL) {
        maker->skipped = why;
        maker->wrong.column = column;
        maker->wrong.help = nearest != NULL
                                ? arena_printf(maker->arena, "did you mean '%s'?", nearest)
                                : arena_printf(maker->arena, "there are %s", known);
    }
}

static bool sets_key(const struct published_rule *rule, const char *key)
{
    for (uint32_t i = 0; i < rule->assignment_count; i++) {
        if (strcmp(rule->assignments[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

/* The names of a column for which rules set the key of its file, each once, in their order. */
static const char **names_of(const struct maker *maker, const char *column, const char *key,
                             uint32_t *count)
{
    const struct published_rules *rules = maker->reading->rules;
    const char **names = arena_array(maker->arena, rules->rule_count + (size_t)1, sizeof *names);
    for (uint32_t i = 0; i < rules->rule_count; i++) {
        const struct published_rule *rule = &rules->rules[i];
        const struct published_condition *first = rule->conditions;
        if (rule->condition_count == 0 || strcmp(first->column, column) != 0 ||
            first->values[0].test != TEST_NAME || !sets_key(rule, key)) {
            continue;
        }
        const char *name = first->values[0].text;
        if (*count == 0 || strcmp(names[*count - 1], name) != 0) {
            names[(*count)++] = name;
        }
    }
    return names;
}

static const char *comma_list(struct arena *arena, const char *const *words, uint32_t count)
{
    const char *text = "";
    for (uint32_t i = 0; i < count; i++) {
        text = arena_printf(arena, "%s%s%s", text, i == 0 ? "" : ", ", words[i]);
    }
    return text;
}

static void refuse_name(struct maker *maker, const char *column, const char *key, const char *why)
{
    uint32_t count = 0;
    const char *const *names = names_of(maker, column, key, &count);
    const char *name = published_read_text(maker->reading, column);
    refuse(maker, column, arena_printf(maker->arena, why, name), diag_nearest(name, names, count),
           comma_list(maker->arena, names, count));
}

/* A name that the catalogue has not; beside a family it was never meant to be one. */
static void refuse_model(struct maker *maker)
{
    const char *name = published_read_text(maker->reading, "model_name");
    if (published_read_text(maker->reading, "family")[0] != '\0') {
        maker->skipped = "hidden is blank";
        return;
    }
    uint32_t count = 0;
    const char *const *names =
        catalogue_list(maker->arena, maker->catalogue, catalogue_folders[CATALOGUE_MODEL], &count);
    refuse(maker, "model_name",
           arena_printf(maker->arena, "hidden is blank, and there is no model '%s'", name),
           diag_nearest(name, names, count), "those of `stoker list models`");
}

static void check_names(struct maker *maker)
{
    const char *model = published_read_set(maker->reading, "model");
    const char *software = published_read_set(maker->reading, "software");
    if (model == NULL || (model[0] != '{' && !is_catalogued(maker, CATALOGUE_MODEL, model))) {
        refuse_model(maker);
    }
    if (published_read_set(maker->reading, "gpu") == NULL) {
        refuse_name(maker, "gpu", "gpu", "GPU '%s' is not known");
    }
    if (software == NULL || !is_catalogued(maker, CATALOGUE_SOFTWARE, software)) {
        refuse_name(maker, "framework", "software", "framework '%s' has no profile");
    }
    if (maker->skipped == NULL && maker->reading->missing != NULL) {
        maker->skipped = arena_printf(maker->arena, "%s is blank", maker->reading->missing);
    }
}

/* ---- a row ------------------------------------------------------------------------------ */

/* As YAML writes text. */
static const char *quoted(struct arena *arena, const char *from)
{
    char *text = arena_alloc(arena, 2 * strlen(from) + 3);
    char *to = text;
    *to++ = '\'';
    for (; *from != '\0'; from++) {
        *to++ = (char)((unsigned char)*from < ' ' ? ' ' : *from);
        if (*from == '\'') {
            *to++ = '\'';
        }
    }
    *to = '\'';
    return text;
}

/* With the profile, where the newest was taken. */
static const char *filled_of(const struct maker *maker, const char *software)
{
    const struct published_reading *reading = maker->reading;
    const bool is_newest = published_read_text(reading, "framework_year")[0] == '\0';
    return is_newest ? arena_printf(maker->arena, "software %s%s%s", software,
                                    reading->filled[0] == '\0' ? "" : ", ", reading->filled)
                     : reading->filled;
}

static const char *set_or_blank(const struct published_reading *reading, const char *key)
{
    const char *value = published_read_set(reading, key);
    return value != NULL ? value : "";
}

struct published_scenario published_scenario(struct arena *arena,
                                             const struct published_table *table, uint32_t row,
                                             const struct catalogue *catalogue)
{
    struct published_scenario made = {
        .id = published_text(table, row, "id"), .software = "", .gpu = "", .filled = ""};
    made.skipped = published_check(arena, table, row, &made.wrong);
    if (made.skipped != NULL) {
        return made;
    }
    struct maker maker = {.arena = arena, .catalogue = catalogue};
    const struct published_reading *reading = published_read(arena, table, row, table->rules);
    maker.reading = reading;
    check_names(&maker);
    made.skipped = maker.skipped;
    made.wrong = maker.wrong;
    made.software = set_or_blank(reading, "software");
    made.gpu = set_or_blank(reading, "gpu");
    if (made.skipped != NULL) {
        return made;
    }
    made.filled = filled_of(&maker, made.software);
    made.text = arena_printf(arena, "scenario: %s\n", quoted(arena, made.id));
    const char **sets = arena_array(arena, reading->set_count + (size_t)1, sizeof *sets);
    const struct place **places =
        arena_array(arena, reading->set_count + (size_t)1, sizeof *places);
    for (uint32_t i = 0; i < reading->set_count; i++) {
        sets[i] = reading->sets[i].text;
        places[i] = reading->sets[i].place;
    }
    made.sets = sets;
    made.set_places = places;
    made.set_count = reading->set_count;
    return made;
}

bool published_is_same(const struct published_scenario *a, const struct published_scenario *b)
{
    bool is_same = a->set_count == b->set_count;
    for (uint32_t i = 0; is_same && i < a->set_count; i++) {
        is_same = strcmp(a->sets[i], b->sets[i]) == 0;
    }
    return is_same;
}

/* ---- measured memory -------------------------------------------------------------------- */

enum published_memory published_memory(struct arena *arena, const struct published_table *table,
                                       uint32_t row, double *bytes)
{
    double value = 0;
    if (!published_number(table, row, PUBLISHED_PEAK, &value)) {
        return PUBLISHED_MEMORY_NONE;
    }
    const struct published_reading *reading = published_read(arena, table, row, table->rules);
    const bool is_binary = strcmp(published_read_text(reading, "memory_unit"), "GiB") == 0;
    const bool is_reserved = strcmp(published_read_text(reading, "memory_kind"), "reserved") == 0;
    *bytes = value * (is_binary ? 1073741824.0 : 1e9);
    return is_reserved ? PUBLISHED_MEMORY_RESERVED : PUBLISHED_MEMORY_DEVICE;
}
