/* Each rule looks at the whole row: some hundred comparisons of short texts, which is little beside
 * the simulation of a step. Regular expressions are compiled where they are used and only if all
 * else fits: few rows come so far.
 */
#include "measured/published/published_reading.h"

#include "base/arena.h"
#include "measured/published/published_computed.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>
#include <strings.h>

/* ---- what the row says ------------------------------------------------------------------ */

const char *published_read_text(const struct published_reading *reading, const char *column)
{
    const struct published_column *known = published_column_find(column);
    if (known != NULL) {
        return reading->fields[known - published_known];
    }
    const struct published_computed *computed = published_computed_find(column);
    return computed != NULL ? computed->text(reading->arena, reading) : "";
}

int64_t published_read_count(const struct published_reading *reading, const char *column)
{
    const char *text = published_read_text(reading, column);
    double value = 0;
    const struct text_span span = {text, text + strlen(text)};
    return text_span_number(span, &value) && value >= 1 ? (int64_t)value : 0;
}

/* The word that rules and keys have for this one, or itself. */
static const char *meant_by(const struct published_rules *rules, const char *column,
                            const char *said)
{
    for (uint32_t i = 0; i < rules->word_count; i++) {
        const struct published_word *word = &rules->words[i];
        if (strcmp(word->column, column) == 0 && strcasecmp(word->said, said) == 0) {
            return word->meant;
        }
    }
    return said;
}

/* ---- conditions ------------------------------------------------------------------------- */

static bool is_word_letter(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_' || letter == '-';
}

/* The next word at or after *at; "" at the end. *at moves behind it. */
static const char *next_word(struct arena *arena, const char **at)
{
    while (**at != '\0' && !is_word_letter(**at)) {
        (*at)++;
    }
    const char *begin = *at;
    while (is_word_letter(**at)) {
        (*at)++;
    }
    return arena_strndup(arena, begin, (size_t)(*at - begin));
}

static bool is_name(const struct published_value *value, const char *text)
{
    return value->test == TEST_NAME ? strcmp(text, value->text) == 0
                                    : strncmp(text, value->text, strlen(value->text)) == 0;
}

static bool has_name(const struct published_reading *reading, const struct published_value *value,
                     const struct published_column *known, const char *text)
{
    if (known == NULL || known->kind != COLUMN_WORDS) {
        return is_name(value, text);
    }
    const char *word = next_word(reading->arena, &text);
    while (word[0] != '\0' && !is_name(value, word)) {
        word = next_word(reading->arena, &text);
    }
    return word[0] != '\0';
}

static bool is_in_range(const struct published_value *value, const char *text)
{
    struct published_version version;
    return published_version_read((struct text_span){text, text + strlen(text)}, &version) &&
           version.series == value->from.series && version.number >= value->from.number &&
           version.number <= value->to.number;
}

static bool matches(struct published_reading *reading, const char *pattern, const char *text)
{
    regex_t compiled;
    regmatch_t found[PUBLISHED_CAPTURES];
    const int status = regcomp(&compiled, pattern, REG_EXTENDED);
    sim_assert(status == 0 || status == REG_ESPACE); /* it was checked before */
    const int result =
        status == 0 ? regexec(&compiled, text, PUBLISHED_CAPTURES, found, 0) : REG_ESPACE;
    if (result == REG_ESPACE) {
        arena_out_of_memory();
    }
    const bool is_found = result == 0;
    regfree(&compiled);
    for (size_t i = 0; is_found && i < PUBLISHED_CAPTURES; i++) {
        const size_t length = (size_t)(found[i].rm_eo - found[i].rm_so);
        reading->captures[i] =
            found[i].rm_so < 0 ? "" : arena_strndup(reading->arena, text + found[i].rm_so, length);
    }
    return is_found;
}

static bool holds(struct published_reading *reading, const struct published_condition *condition,
                  const struct published_value *value)
{
    const struct published_column *known = condition->known;
    const char *text = known != NULL ? reading->fields[known - published_known]
                                     : published_read_text(reading, condition->column);
    if (value->test == TEST_BLANK || text[0] == '\0') {
        return value->test == TEST_BLANK && text[0] == '\0';
    }
    enum published_truth truth = PUBLISHED_NOT_STATED;
    switch (value->test) {
    case TEST_NAME:
    case TEST_BEGINNING:
        return has_name(reading, value, known, text);
    case TEST_TRUTH:
        return published_truth_read(text, &truth) && truth == value->truth;
    case TEST_RANGE:
        return is_in_range(value, text);
    case TEST_PATTERN:
        return matches(reading, value->text, text);
    default:
        return true;
    }
}

static bool is_met(struct published_reading *reading, const struct published_condition *condition)
{
    for (uint32_t i = 0; i < condition->count; i++) {
        if (holds(reading, condition, &condition->values[i])) {
            return true;
        }
    }
    return false;
}

/* Whoever read the row in the month of its publication could know the rule. */
static bool is_known(const struct published_reading *reading, const struct published_rule *rule)
{
    return !reading->rules->are_of_the_day || rule->known == NULL ||
           strcmp(rule->known, published_read_text(reading, "published")) <= 0;
}

/* Whether all its conditions hold. */
static bool fits(struct published_reading *reading, const struct published_rule *rule)
{
    memset(reading->captures, 0, sizeof reading->captures);
    if (!is_known(reading, rule)) {
        return false;
    }
    for (uint32_t i = 0; i < rule->condition_count; i++) {
        if (!is_met(reading, &rule->conditions[i])) {
            return false;
        }
    }
    return true;
}

/* ---- values ----------------------------------------------------------------------------- */

static const char *quotes_doubled(struct arena *arena, const char *from)
{
    char *text = arena_alloc(arena, 2 * strlen(from) + 1);
    for (char *to = text; *from != '\0'; from++) {
        *to++ = *from;
        if (*from == '\'') {
            *to++ = '\'';
        }
    }
    return text;
}

static bool is_listed(const char *const *words, uint32_t count, const char *word)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return true;
        }
    }
    return false;
}

/* Joined words with commas; two for which keys have one word are that word once. */
static const char *listed(const struct published_reading *reading, const char *column,
                          const char *text)
{
    const char **words = arena_alloc(reading->arena, (strlen(text) + 1) * sizeof *words);
    uint32_t count = 0;
    const char *list = "";
    for (const char *said = next_word(reading->arena, &text); said[0] != '\0';
         said = next_word(reading->arena, &text)) {
        const char *meant = meant_by(reading->rules, column, said);
        if (!is_listed(words, count, meant)) {
            words[count++] = meant;
            list = arena_printf(reading->arena, "%s%s%s", list, count == 1 ? "" : ", ", meant);
        }
    }
    return list;
}

/* As a key takes it: truth in YAML's words, lists with commas, quotes in a name doubled. */
static const char *written(const struct published_reading *reading, const char *name)
{
    struct arena *arena = reading->arena;
    const struct published_column *known = published_column_find(name);
    const char *text = published_read_text(reading, name);
    enum published_truth truth = PUBLISHED_NOT_STATED;
    if (known != NULL && known->kind == COLUMN_TRUTH && published_truth_read(text, &truth)) {
        return truth == PUBLISHED_TRUE ? "true" : "false";
    }
    if (known != NULL && known->kind == COLUMN_TEXT) {
        return quotes_doubled(arena, text);
    }
    const bool is_list = known != NULL && known->kind == COLUMN_WORDS;
    return is_list ? listed(reading, name, text) : text;
}

/* What the name or number behind a '$' stands for; *at moves behind it. */
static const char *stands_for(const struct published_reading *reading, const char **at)
{
    if (isdigit((unsigned char)**at)) {
        const char *capture = reading->captures[*(*at)++ - '0'];
        return capture != NULL ? capture : "";
    }
    const size_t length = strspn(*at, PUBLISHED_NAME_LETTERS);
    const char *name = arena_strndup(reading->arena, *at, length);
    *at += length;
    return written(reading, name);
}

/* With all that it refers to; NULL where one of these is blank. */
static const char *expand(const struct published_reading *reading, const char *value)
{
    const char *text = "";
    while (*value != '\0') {
        const size_t plain = strcspn(value, "$");
        text = arena_printf(reading->arena, "%s%.*s", text, (int)plain, value);
        value += plain;
        if (*value == '$') {
            value++;
            const char *part = stands_for(reading, &value);
            if (part[0] == '\0') {
                return NULL;
            }
            text = arena_printf(reading->arena, "%s%s", text, part);
        }
    }
    return text;
}

/* ---- the three steps -------------------------------------------------------------------- */

static void take_words(struct published_reading *reading, const struct published_table *table,
                       uint32_t row)
{
    for (uint32_t i = 0; i < published_known_count; i++) {
        const struct published_column *column = &published_known[i];
        const char *text = published_text(table, row, column->name);
        reading->fields[i] =
            column->kind == COLUMN_WORDS ? text : meant_by(reading->rules, column->name, text);
    }
}

static void fill_blanks(struct published_reading *reading, const struct published_table *table,
                        uint32_t row)
{
    for (uint32_t i = 0; i < reading->rules->blank_count; i++) {
        const struct published_rule *rule = &reading->rules->blanks[i];
        reading->blank_fits[i] = fits(reading, rule);
        for (uint32_t k = 0; reading->blank_fits[i] && k < rule->assignment_count; k++) {
            const char *column = rule->assignments[k].key;
            const char *value = expand(reading, rule->assignments[k].value);
            if (value != NULL && published_text(table, row, column)[0] == '\0') {
                reading->fields[published_column_find(column) - published_known] = value;
            }
        }
    }
}

static void tell(struct published_reading *reading, const char *what, const char *value)
{
    reading->filled = arena_printf(reading->arena, "%s%s%s%s%s", reading->filled,
                                   reading->filled[0] == '\0' ? "" : ", ", what,
                                   value[0] == '\0' ? "" : " ", value);
}

static void tell_filled(struct published_reading *reading, const struct published_table *table,
                        uint32_t row)
{
    for (uint32_t i = 0; i < published_known_count; i++) {
        const struct published_column *column = &published_known[i];
        if (column->use != COLUMN_ASIDE && reading->fields[i][0] != '\0' &&
            published_text(table, row, column->name)[0] == '\0') {
            tell(reading, column->name, reading->fields[i]);
        }
    }
}

/* `key` or one below it. */
static bool is_below(const char *text, const char *key)
{
    const size_t length = strlen(key);
    return strncmp(text, key, length) == 0 && (text[length] == '=' || text[length] == '.');
}

/* `set` takes the place of what there is of its key and below it. */
static void assign(struct published_reading *reading, const char *key, struct published_set set)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < reading->set_count; i++) {
        if (!is_below(reading->sets[i].text, key)) {
            reading->sets[kept++] = reading->sets[i];
        }
    }
    reading->sets = arena_grow(reading->arena, reading->sets, &reading->set_capacity,
                               kept + (size_t)1, sizeof *reading->sets);
    reading->sets[kept] = set;
    reading->set_count = kept + 1;
}

/* What the row's column `set` says, which goes before all rules. */
static void assign_own(struct published_reading *reading)
{
    const char *at = published_read_text(reading, "set");
    for (const char *set = published_assignment_next(reading->arena, &at); set != NULL;
         set = published_assignment_next(reading->arena, &at)) {
        const char *key = arena_strndup(reading->arena, set, strcspn(set, "="));
        assign(reading, key, (struct published_set){.text = set});
    }
}

static void apply(struct published_reading *reading, const struct published_rule *rule)
{
    for (uint32_t i = 0; i < rule->need_count && reading->missing == NULL; i++) {
        if (published_read_text(reading, rule->needs[i])[0] == '\0') {
            reading->missing = rule->needs[i];
        }
    }
    for (uint32_t i = 0; i < rule->assignment_count; i++) {
        const struct published_assignment *one = &rule->assignments[i];
        const char *value = expand(reading, one->value);
        if (value != NULL) {
            const bool is_own = strchr(one->value, '$') == NULL;
            assign(reading, one->key,
                   (struct published_set){arena_printf(reading->arena, "%s=%s", one->key, value),
                                          rule, is_own ? &one->place : NULL});
        }
    }
    if (rule->guess != NULL) {
        tell(reading, rule->guess, "");
    }
}

struct published_reading *published_read(struct arena *arena, const struct published_table *table,
                                         uint32_t row, const struct published_rules *rules)
{
    struct published_reading *reading = arena_alloc(arena, sizeof *reading);
    reading->arena = arena;
    reading->rules = rules;
    reading->filled = "";
    reading->fields = arena_array(arena, published_known_count, sizeof *reading->fields);
    reading->blank_fits = arena_array(arena, rules->blank_count + (size_t)1, sizeof(bool));
    reading->rule_fits = arena_array(arena, rules->rule_count + (size_t)1, sizeof(bool));
    take_words(reading, table, row);
    fill_blanks(reading, table, row);
    tell_filled(reading, table, row);
    for (uint32_t i = 0; i < rules->rule_count; i++) {
        reading->rule_fits[i] = fits(reading, &rules->rules[i]);
        if (reading->rule_fits[i]) {
            apply(reading, &rules->rules[i]);
        }
    }
    assign_own(reading);
    return reading;
}

const char *published_read_set(const struct published_reading *reading, const char *key)
{
    const size_t length = strlen(key);
    for (uint32_t i = reading->set_count; i > 0; i--) {
        const char *text = reading->sets[i - 1].text;
        if (strncmp(text, key, length) == 0 && text[length] == '=') {
            return text + length + 1;
        }
    }
    return NULL;
}
