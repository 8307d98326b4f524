/* Reads the file entry by entry. All mistakes are told, each with its place; a file with one is not
 * used.
 */
#include "measured/published/published_rules.h"

#include "base/arena.h"
#include "measured/published/published_computed.h"
#include "input/doc/text_source.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>

struct reader {
    struct arena *arena;
    struct diag *diag;
    bool is_good;
};

/* An entry while it is read. */
struct entry {
    struct reader *reader;
    struct published_rule *rule;
    size_t captures; /* of its last regular expression */
};

static bool complain(struct reader *reader, const struct place *place, const char *what,
                     const char *about)
{
    reader->is_good = false;
    return diag_add(reader->diag, DIAG_INPUT, place, what, about);
}

static bool refuse(struct reader *reader, const struct doc_node *node, const char *why,
                   const char *help)
{
    complain(reader, &node->place, "%s", why);
    diag_help(reader->diag, "%s", help);
    return false;
}

/* Another kind of node than is wanted. */
static void refuse_shape(struct reader *reader, const struct doc_node *node, const char *like)
{
    complain(reader, &node->place, "this is written otherwise%s", "");
    diag_help(reader->diag, "like %s", like);
}

/* False, with a message, where a scalar is wanted and there is none. */
static bool is_scalar(struct reader *reader, const struct doc_node *node, const char *like)
{
    if (node->kind == DOC_SCALAR) {
        return true;
    }
    refuse_shape(reader, node, like);
    return false;
}

/* False, with a message, where a mapping is wanted and there is none. */
static bool is_mapping(struct reader *reader, const struct doc_node *node, const char *like)
{
    if (node->kind == DOC_MAPPING) {
        return true;
    }
    refuse_shape(reader, node, like);
    return false;
}

/* A list's children, or the node as the only one. */
static const struct doc_node *first_of(const struct doc_node *node)
{
    return node->kind == DOC_SEQUENCE ? node->child : node;
}

static uint32_t count_of(const struct doc_node *node)
{
    return node->kind == DOC_SEQUENCE ? doc_child_count(node) : 1;
}

static const struct doc_node *next_of(const struct doc_node *list, const struct doc_node *node)
{
    return list->kind == DOC_SEQUENCE ? node->next : NULL;
}

/* ---- columns ---------------------------------------------------------------------------- */

static bool refuse_column(struct reader *reader, const struct place *place, const char *name)
{
    complain(reader, place, "there is no column '%s'", name);
    diag_help_nearest(reader->diag, published_column_nearest(reader->arena, name),
                      "tests/published/README.md tells the columns, the head of this file what is "
                      "computed");
    return false;
}

/* Behind each '$' of a value. */
static void check_references(const struct entry *entry,
                             const struct published_assignment *assignment)
{
    struct reader *reader = entry->reader;
    for (const char *at = strchr(assignment->value, '$'); at != NULL; at = strchr(at, '$')) {
        at++;
        const size_t length = strspn(at, PUBLISHED_NAME_LETTERS);
        const char *name = arena_strndup(reader->arena, at, length);
        if (isdigit((unsigned char)*at)) {
            if ((size_t)(*at - '0') > entry->captures) {
                complain(reader, &assignment->place, "no brackets are found for '$%s'", name);
                diag_help(reader->diag, "pairs of them in the regular expression of 'when': %zu",
                          entry->captures);
            }
        } else if (published_column_find(name) == NULL && published_computed_find(name) == NULL) {
            refuse_column(reader, &assignment->place, name);
        }
    }
}

/* ---- conditions ------------------------------------------------------------------------- */

bool published_version_read(struct text_span text, struct published_version *version)
{
    version->series = '\0';
    if (text.begin < text.end && isalpha((unsigned char)*text.begin)) {
        version->series = *text.begin++;
    }
    return text_span_number(text, &version->number);
}

/* 25.11..26.02, with an end or both, or a single number. */
static bool read_range(const char *text, struct published_value *value)
{
    static const double beyond = 1e12; /* of what a column may say */
    const char *dots = strstr(text, "..");
    const char *end = text + strlen(text);
    value->test = TEST_RANGE;
    if (dots == NULL) {
        const bool is_one = published_version_read((struct text_span){text, end}, &value->from);
        value->to = value->from;
        return is_one;
    }
    const struct text_span from = {text, dots}, to = {dots + 2, end};
    const bool has_from = text_span_length(from) > 0, has_to = text_span_length(to) > 0;
    if ((has_from && !published_version_read(from, &value->from)) ||
        (has_to && !published_version_read(to, &value->to)) || (!has_from && !has_to)) {
        return false;
    }
    if (!has_from) {
        value->from = (struct published_version){value->to.series, -beyond};
    } else if (!has_to) {
        value->to = (struct published_version){value->from.series, beyond};
    }
    return value->from.series == value->to.series && value->from.number <= value->to.number;
}

static bool read_pattern(struct entry *entry, const struct doc_node *node,
                         struct published_value *value)
{
    regex_t compiled;
    const int status = regcomp(&compiled, node->text, REG_EXTENDED);
    if (status == REG_ESPACE) {
        arena_out_of_memory();
    }
    value->test = TEST_PATTERN;
    if (status == 0) {
        entry->captures = compiled.re_nsub;
        regfree(&compiled);
        return true;
    }
    char why[128];
    regerror(status, &compiled, why, sizeof why);
    complain(entry->reader, &node->place, "this is no regular expression: %s", why);
    diag_help(entry->reader->diag, "it is a POSIX extended one; before a bracket, a dot or a star "
                                   "that stands for itself write '\\'");
    return false;
}

static bool read_name(struct reader *reader, const struct published_column *known,
                      const struct doc_node *node, struct published_value *value)
{
    const size_t length = strlen(node->text);
    const char *help = NULL;
    value->test = node->text[length - 1] == '*' ? TEST_BEGINNING : TEST_NAME;
    value->text = arena_strndup(reader->arena, node->text,
                                value->test == TEST_BEGINNING ? length - 1 : length);
    const char *why = value->test == TEST_NAME && known != NULL
                          ? published_field_check(reader->arena, known, node->text, &help)
                          : NULL;
    return why == NULL || refuse(reader, node, why, help);
}

static bool read_value(struct entry *entry, const struct published_column *known,
                       const struct doc_node *node, struct published_value *value)
{
    struct reader *reader = entry->reader;
    if (!is_scalar(reader, node, "{tp: 2.., gpu: [B200, B300]}")) {
        return false;
    }
    const uint32_t kind = known != NULL ? known->kind : COLUMN_TEXT;
    value->text = node->text;
    if (node->text[0] == '\0' || strcmp(node->text, "*") == 0) {
        value->test = node->text[0] == '\0' ? TEST_BLANK : TEST_STATED;
        return true;
    }
    if (kind == COLUMN_PROSE) {
        return read_pattern(entry, node, value);
    }
    if (kind == COLUMN_TRUTH && published_truth_read(node->text, &value->truth)) {
        value->test = TEST_TRUTH;
        return true;
    }
    const bool has_range = strstr(node->text, "..") != NULL;
    if ((kind == COLUMN_COUNT || kind == COLUMN_NUMBER || has_range) && kind != COLUMN_TRUTH) {
        if (read_range(node->text, value)) {
            return true;
        }
        complain(reader, &node->place, "'%s' is no range", node->text);
        diag_help(reader->diag, "write it like 8, 2.., ..2022 or 1.2..1.4");
        return false;
    }
    return read_name(reader, known, node, value);
}

static void read_condition(struct entry *entry, const struct doc_node *node,
                           struct published_condition *condition)
{
    struct reader *reader = entry->reader;
    const struct published_column *known = published_column_find(node->key);
    condition->column = node->key;
    condition->known = known;
    if (known == NULL && published_computed_find(node->key) == NULL) {
        refuse_column(reader, &node->key_place, node->key);
        return;
    }
    if (known != NULL && known->use == COLUMN_ASIDE) {
        complain(reader, &node->key_place, "'%s' is no setting of a run", node->key);
        diag_help(reader->diag, "what fits one run, one measurement or one number of GPUs says "
                                "nothing of others; ask for what was set");
        return;
    }
    struct published_value *values =
        arena_array(reader->arena, count_of(node) + (size_t)1, sizeof *values);
    for (const struct doc_node *at = first_of(node); at != NULL; at = next_of(node, at)) {
        condition->count += read_value(entry, known, at, &values[condition->count]) ? 1 : 0;
    }
    condition->values = values;
}

static void read_conditions(struct entry *entry, const struct doc_node *when)
{
    struct published_rule *rule = entry->rule;
    if (!is_mapping(entry->reader, when, "when: {tp: 2.., gpu: [B200, B300]}")) {
        return;
    }
    struct published_condition *conditions =
        arena_array(entry->reader->arena, doc_child_count(when) + (size_t)1, sizeof *conditions);
    for (const struct doc_node *node = when->child; node != NULL; node = node->next) {
        read_condition(entry, node, &conditions[rule->condition_count++]);
    }
    rule->conditions = conditions;
}

/* ---- what is set, filled, needed -------------------------------------------------------- */

/* False, with a message, when it is no assignment of a key. */
static bool read_assignment(const struct entry *entry, const struct doc_node *node,
                            struct published_assignment *assignment)
{
    struct reader *reader = entry->reader;
    if (!is_scalar(reader, node, "set: [cluster.nics.count=4]")) {
        return false;
    }
    const char *help = NULL;
    const char *why = published_assignment_check(reader->arena, node->text, &help);
    if (why != NULL) {
        return refuse(reader, node, why, help);
    }
    const size_t length = strcspn(node->text, "=");
    assignment->key = arena_strndup(reader->arena, node->text, length);
    assignment->value = node->text + length + 1;
    assignment->place = node->place;
    check_references(entry, assignment);
    return true;
}

static void read_sets(const struct entry *entry, const struct doc_node *list)
{
    struct published_rule *rule = entry->rule;
    struct published_assignment *assignments =
        arena_array(entry->reader->arena, count_of(list) + (size_t)1, sizeof *assignments);
    for (const struct doc_node *node = first_of(list); node != NULL; node = next_of(list, node)) {
        rule->assignment_count +=
            read_assignment(entry, node, &assignments[rule->assignment_count]) ? 1 : 0;
    }
    rule->assignments = assignments;
}

static void check_filled(struct reader *reader, const struct doc_node *node,
                         const struct published_column *known)
{
    const char *help = NULL;
    const char *why = strchr(node->text, '$') == NULL
                          ? published_field_check(reader->arena, known, node->text, &help)
                          : NULL;
    if (why != NULL) {
        refuse(reader, node, why, help);
    }
}

static void read_fills(const struct entry *entry, const struct doc_node *fill)
{
    struct reader *reader = entry->reader;
    struct published_rule *rule = entry->rule;
    if (!is_mapping(reader, fill, "fill: {micro_batch: 1}")) {
        return;
    }
    struct published_assignment *fills =
        arena_array(reader->arena, doc_child_count(fill) + (size_t)1, sizeof *fills);
    for (const struct doc_node *node = fill->child; node != NULL; node = node->next) {
        const struct published_column *known = published_column_find(node->key);
        if (known == NULL) {
            refuse_column(reader, &node->key_place, node->key);
        } else if (is_scalar(reader, node, "fill: {micro_batch: 1}")) {
            fills[rule->assignment_count] =
                (struct published_assignment){node->key, node->text, node->place};
            check_filled(reader, node, known);
            check_references(entry, &fills[rule->assignment_count++]);
        }
    }
    rule->assignments = fills;
}

static void read_needs(const struct entry *entry, const struct doc_node *list)
{
    struct published_rule *rule = entry->rule;
    const char **needs =
        arena_array(entry->reader->arena, count_of(list) + (size_t)1, sizeof *needs);
    for (const struct doc_node *node = first_of(list); node != NULL; node = next_of(list, node)) {
        if (!is_scalar(entry->reader, node, "need: [tp, pp]")) {
            continue;
        }
        if (published_column_find(node->text) == NULL) {
            refuse_column(entry->reader, &node->place, node->text);
        }
        needs[rule->need_count++] = node->text;
    }
    rule->needs = needs;
}

/* ---- an entry --------------------------------------------------------------------------- */

/* A path or an address has a slash, but for the numbers of arXiv. */
static void check_source(struct reader *reader, const struct doc_node *entry,
                         const struct published_rule *rule)
{
    if (rule->source == NULL) {
        complain(reader, &entry->place, "this entry does not say where it has it from%s", "");
        diag_help(reader->diag, "add source: with an address, or a file of this repository");
    } else if (strchr(rule->source, '/') == NULL && strstr(rule->source, "arXiv ") == NULL) {
        complain(reader, &doc_find(entry, "source")->place, "this source has no address%s", "");
        diag_help(reader->diag, "say where it can be read: https://..., a repository and its file, "
                                "a file of this repository, arXiv 2412.19437");
    }
}

static void read_known(struct reader *reader, const struct doc_node *node,
                       struct published_rule *rule)
{
    if (node->kind != DOC_SCALAR || !published_is_month(node->text)) {
        refuse_shape(reader, node, "known: 2025-11");
        return;
    }
    rule->known = node->text;
}

static void read_entry(struct reader *reader, const struct doc_node *node, bool fills,
                       struct published_rule *rule)
{
    struct doc_map map;
    if (!doc_map_open(&map, node, reader->diag)) {
        reader->is_good = false;
        return;
    }
    struct entry entry = {.reader = reader, .rule = rule};
    rule->place = node->place;
    const struct doc_node *when = doc_take(&map, "when");
    const struct doc_node *does = doc_take(&map, fills ? "fill" : "set");
    const struct doc_node *need = fills ? NULL : doc_take(&map, "need");
    doc_get_text(&map, "guess", &rule->guess);
    const struct doc_node *known = doc_take(&map, "known");
    doc_get_text(&map, "source", &rule->source);
    reader->is_good = doc_finish(&map) && reader->is_good;
    if (when != NULL) {
        read_conditions(&entry, when);
    }
    if (does != NULL && fills) {
        read_fills(&entry, does);
    } else if (does != NULL) {
        read_sets(&entry, does);
    }
    if (need != NULL) {
        read_needs(&entry, need);
    }
    if (known != NULL) {
        read_known(reader, known, rule);
    }
    if (does == NULL && need == NULL && rule->guess == NULL) {
        complain(reader, &node->place, "this entry does nothing%s", "");
        diag_help(reader->diag, "%s", fills ? "add fill: {COLUMN: VALUE}" : "add set: [KEY=VALUE]");
    }
    check_source(reader, node, rule);
}

static const struct published_rule *read_entries(struct reader *reader, struct doc_map *map,
                                                 const char *key, uint32_t *count)
{
    const struct doc_node *list = doc_take(map, key);
    if (list == NULL || list->kind != DOC_SEQUENCE) {
        complain(reader, list != NULL ? &list->place : &map->node->place,
                 "'%s' is a list of entries", key);
        return NULL;
    }
    struct published_rule *rules =
        arena_array(reader->arena, doc_child_count(list) + (size_t)1, sizeof *rules);
    const bool fills = strcmp(key, "blanks") == 0;
    for (const struct doc_node *node = list->child; node != NULL; node = node->next) {
        read_entry(reader, node, fills, &rules[(*count)++]);
    }
    return rules;
}

/* ---- words ------------------------------------------------------------------------------ */

static const char words_like[] = "words: {gpu: {b200-sxm: B200}}";

/* Those of a column, behind what `rules` has. */
static void read_words_of(struct reader *reader, const struct doc_node *column,
                          struct published_rules *rules, size_t *capacity)
{
    if (published_column_find(column->key) == NULL) {
        refuse_column(reader, &column->key_place, column->key);
    }
    if (!is_mapping(reader, column, words_like)) {
        return;
    }
    for (const struct doc_node *word = column->child; word != NULL; word = word->next) {
        if (is_scalar(reader, word, words_like)) {
            rules->words = arena_grow(reader->arena, rules->words, capacity,
                                      rules->word_count + (size_t)1, sizeof *rules->words);
            rules->words[rules->word_count++] =
                (struct published_word){column->key, word->key, word->text};
        }
    }
}

static void read_words(struct reader *reader, const struct doc_node *columns,
                       struct published_rules *rules)
{
    size_t capacity = 0;
    if (!is_mapping(reader, columns, words_like)) {
        return;
    }
    for (const struct doc_node *column = columns->child; column != NULL; column = column->next) {
        read_words_of(reader, column, rules, &capacity);
    }
}

/* ---- the file --------------------------------------------------------------------------- */

static const char *path_of(struct arena *arena, const struct catalogue *catalogue,
                           struct diag *diag)
{
    const char *sought = "";
    for (uint32_t i = 0; i < catalogue->count; i++) {
        const char *path =
            arena_printf(arena, "%s/" PUBLISHED_RULES_FILE, catalogue->directories[i]);
        if (text_source_exists(path)) {
            return path;
        }
        sought = arena_printf(arena, "%s%s%s", sought, i == 0 ? "" : ", ", path);
    }
    diag_add(diag, DIAG_INPUT, NULL,
             "the catalogue has no " PUBLISHED_RULES_FILE
             ", which says what a table of runs means");
    diag_help(diag, "`make install` puts it there; it was looked for at %s", sought);
    return NULL;
}

const struct published_rules *published_rules_load(struct arena *arena,
                                                   const struct catalogue *catalogue,
                                                   struct diag *diag)
{
    const char *path = path_of(arena, catalogue, diag);
    const struct doc_node *root = path != NULL ? doc_load(arena, path, diag) : NULL;
    struct doc_map map;
    if (root == NULL || !doc_map_open(&map, root, diag)) {
        return NULL;
    }
    struct reader reader = {arena, diag, true};
    struct published_rules *rules = arena_alloc(arena, sizeof *rules);
    rules->path = path;
    rules->catalogue = *catalogue;
    const struct doc_node *words = doc_take(&map, "words");
    if (words != NULL) {
        read_words(&reader, words, rules);
    }
    rules->blanks = read_entries(&reader, &map, "blanks", &rules->blank_count);
    rules->rules = read_entries(&reader, &map, "rules", &rules->rule_count);
    return doc_finish(&map) && reader.is_good ? rules : NULL;
}

/* ---- some of them ----------------------------------------------------------------------- */

bool published_rule_is_meaning(const struct published_rule *rule)
{
    static const char readme[] = "tests/published/README.md";
    return strncmp(rule->source, readme, sizeof readme - 1) == 0;
}

static bool is_of_keys(const char *key, const char *const *keys, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const size_t length = strlen(keys[i]);
        if (strncmp(key, keys[i], length) == 0 && (key[length] == '\0' || key[length] == '.')) {
            return true;
        }
    }
    return false;
}

static const struct published_rule *without_keys(struct arena *arena,
                                                 const struct published_rule *rules, uint32_t count,
                                                 const struct published_keys *keys,
                                                 uint32_t *dropped)
{
    struct published_rule *kept = arena_array(arena, count + (size_t)1, sizeof *kept);
    for (uint32_t i = 0; i < count; i++) {
        const struct published_rule *rule = &rules[i];
        struct published_assignment *assignments =
            arena_array(arena, rule->assignment_count + (size_t)1, sizeof *assignments);
        kept[i] = *rule;
        if (published_rule_is_meaning(rule) && !keys->has_columns) {
            continue;
        }
        kept[i].assignments = assignments;
        kept[i].assignment_count = 0;
        for (uint32_t k = 0; k < rule->assignment_count; k++) {
            if (!is_of_keys(rule->assignments[k].key, keys->keys, keys->count)) {
                assignments[kept[i].assignment_count++] = rule->assignments[k];
            }
        }
        *dropped += rule->assignment_count - kept[i].assignment_count;
    }
    return kept;
}

const struct published_rules *published_rules_without(struct arena *arena,
                                                      const struct published_rules *rules,
                                                      const struct published_keys *keys,
                                                      uint32_t *dropped)
{
    struct published_rules *others = arena_alloc(arena, sizeof *others);
    *others = *rules;
    *dropped = 0;
    others->blanks = without_keys(arena, rules->blanks, rules->blank_count, keys, dropped);
    others->rules = without_keys(arena, rules->rules, rules->rule_count, keys, dropped);
    return others;
}

const struct published_rules *published_rules_of_the_day(struct arena *arena,
                                                         const struct published_rules *rules)
{
    struct published_rules *others = arena_alloc(arena, sizeof *others);
    *others = *rules;
    others->are_of_the_day = true;
    return others;
}
