/* Reading values out of a document tree (the rest of doc.h is in doc.c and
 * doc_text.c). Every getter is: take the node, check it, or say what it must
 * be and what it is. Lists of keys are short (DOC_KEYS_MAX), so they are
 * scanned.
 */
#include "input/doc/doc.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHOWN_BYTES_MAX = 60,  /* of a user's text in a message */
    UNKNOWN_KEYS_MAX = 20, /* reported for one mapping */
    WORDS_BYTES = 1024     /* of a piece of a message */
};

/* ---- words for messages ------------------------------------------------ */

struct words {
    char text[WORDS_BYTES];
};

/* Adds to the end; what does not fit is left out. */
static void words_add(struct words *words, const char *format, ...) PRINTF_LIKE(2, 3);

static void words_add(struct words *words, const char *format, ...)
{
    const size_t length = strlen(words->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words->text + length, sizeof words->text - length, format, arguments);
    va_end(arguments);
}

/* "'6.5'", or what it is if it is no text. */
static struct words shown(const struct doc_node *node)
{
    static const char *const kinds[] = {[DOC_NULL] = "nothing",
                                        [DOC_SCALAR] = "",
                                        [DOC_SEQUENCE] = "a list",
                                        [DOC_MAPPING] = "a mapping"};
    struct words words = {""};
    if (node->kind == DOC_SCALAR) {
        const char *more = strlen(node->text) > SHOWN_BYTES_MAX ? "..." : "";
        words_add(&words, "'%.*s%s'", SHOWN_BYTES_MAX, node->text, more);
    } else {
        words_add(&words, "%s", kinds[node->kind]);
    }
    return words;
}

/* "'tp'"; an element of a list has no name. */
static struct words name_of(const struct doc_node *node)
{
    struct words words = {""};
    if (node->key != NULL) {
        words_add(&words, "'%.*s'", SHOWN_BYTES_MAX, node->key);
    } else {
        words_add(&words, "this value");
    }
    return words;
}

static bool complain(const struct doc_node *node, struct diag *diag, const char *wanted)
{
    return diag_add(diag, DIAG_INPUT, &node->place, "%s must be %s, not %s", name_of(node).text,
                    wanted, shown(node).text);
}

/* ---- single nodes ------------------------------------------------------ */

/* Digits and underscores only: exact up to the ends of int64. */
static bool parse_digits(const char *text, int64_t *value)
{
    char digits[24];
    size_t length = 0;
    for (size_t i = 0; text[i] != '\0'; i++) {
        const bool is_digit = text[i] >= '0' && text[i] <= '9';
        const bool is_sign = i == 0 && (text[i] == '-' || text[i] == '+');
        const bool is_gap = i > 0 && text[i] == '_' && text[i - 1] != '_' && text[i + 1] != '\0';
        if (is_gap) {
            continue;
        }
        if ((!is_digit && !is_sign) || length + 1 >= sizeof digits) {
            return false;
        }
        digits[length++] = text[i];
    }
    digits[length] = '\0';
    char *end = digits;
    errno = 0;
    *value = strtoll(digits, &end, 10);
    return end != digits && *end == '\0' && errno == 0;
}

static bool parse_whole(const char *text, int64_t *value)
{
    double number = 0.0;
    char unused[256];
    if (!units_parse(text, DIM_COUNT, &number, unused, sizeof unused)) {
        return false;
    }
    if (parse_digits(text, value)) {
        return true;
    }
    if (floor(number) < number || fabs(number) >= 0x1p63) {
        return false;
    }
    *value = (int64_t)number;
    return true;
}

bool doc_node_count(const struct doc_node *node, int64_t min, int64_t max, int64_t *value,
                    struct diag *diag)
{
    int64_t whole = 0;
    if (node->kind == DOC_SCALAR && parse_whole(node->text, &whole) && whole >= min &&
        whole <= max) {
        *value = whole;
        return true;
    }
    struct words wanted = {"a whole number"};
    if (min > INT64_MIN && max < INT64_MAX) {
        words_add(&wanted, " from %" PRId64 " to %" PRId64, min, max);
    } else if (min > INT64_MIN) {
        words_add(&wanted, " of at least %" PRId64, min);
    } else if (max < INT64_MAX) {
        words_add(&wanted, " of at most %" PRId64, max);
    }
    return complain(node, diag, wanted.text);
}

/* "1 B/s", "0.001": a bound as one would write it. */
static struct words bound_text(double bound, enum dimension dimension)
{
    struct words words = {""};
    if (dimension == DIM_COUNT || dimension == DIM_FRACTION || !isfinite(bound)) {
        words_add(&words, "%.15g", bound);
        return words;
    }
    char text[64];
    units_format(bound, dimension, 6, text, sizeof text);
    size_t digits = strcspn(text, " ");
    const char *unit = text + digits;
    if (memchr(text, '.', digits) != NULL) {
        while (text[digits - 1] == '0') {
            digits--;
        }
        digits -= text[digits - 1] == '.';
    }
    words_add(&words, "%.*s%s", (int)digits, text, unit);
    return words;
}

static bool complain_range(const struct doc_node *node, enum dimension dimension, double min,
                           double max, struct diag *diag)
{
    struct words wanted = {""};
    const bool has_min = min > -1e30;
    const bool has_max = max < 1e30;
    if (has_min && has_max) {
        words_add(&wanted, "from %s to %s", bound_text(min, dimension).text,
                  bound_text(max, dimension).text);
    } else {
        words_add(&wanted, "%s %s", has_min ? "at least" : "at most",
                  bound_text(has_min ? min : max, dimension).text);
    }
    return complain(node, diag, wanted.text);
}

bool doc_node_quantity(const struct doc_node *node, enum dimension dimension, double min,
                       double max, double *value, struct diag *diag)
{
    if (node->kind != DOC_SCALAR) {
        struct words wanted = {""};
        words_add(&wanted, "a quantity such as '%s'", units_example(dimension));
        return complain(node, diag, wanted.text);
    }
    double parsed = 0.0;
    char message[320];
    if (!units_parse(node->text, dimension, &parsed, message, sizeof message)) {
        return diag_add(diag, DIAG_INPUT, &node->place, "%s: %s", name_of(node).text, message);
    }
    if (parsed < min || parsed > max) {
        return complain_range(node, dimension, min, max, diag);
    }
    *value = parsed;
    return true;
}

/* ---- reading a mapping ------------------------------------------------- */

bool doc_map_open(struct doc_map *map, const struct doc_node *node, struct diag *diag)
{
    *map = (struct doc_map){.node = node, .diag = diag};
    if (node == NULL || node->kind == DOC_MAPPING) {
        return true;
    }
    map->node = NULL;
    map->is_bad = true;
    return complain(node, diag, "a mapping (key: value)");
}

/* Of the many keys that are compared, most differ in their first letter. */
static bool is_same_key(const char *a, const char *b)
{
    return a[0] == b[0] && strcmp(a, b) == 0;
}

static bool was_asked(const struct doc_map *map, const char *key)
{
    for (uint32_t i = 0; i < map->asked_count; i++) {
        if (is_same_key(map->asked[i], key)) {
            return true;
        }
    }
    return false;
}

static void remember(struct doc_map *map, const char *key)
{
    if (!was_asked(map, key)) {
        sim_assert(map->asked_count < DOC_KEYS_MAX);
        map->asked[map->asked_count++] = key;
    }
}

const struct doc_node *doc_take(struct doc_map *map, const char *key)
{
    remember(map, key);
    const struct doc_node *child = map->node == NULL ? NULL : map->node->child;
    while (child != NULL && !is_same_key(child->key, key)) {
        child = child->next;
    }
    return child;
}

const struct doc_node *doc_take_list(struct doc_map *map, const char *key, const char *items,
                                     const char *example)
{
    const struct doc_node *list = doc_take(map, key);
    if (list == NULL || list->kind == DOC_SEQUENCE) {
        return list;
    }
    diag_add(map->diag, DIAG_INPUT, &list->place, "%s must be a list of %s", key, items);
    diag_help(map->diag, "write it like %s", example);
    map->is_bad = true;
    return NULL;
}

/* A map that could not be opened was reported once; its keys are not missed
 * one by one. */
bool doc_require(struct doc_map *map, const char *key)
{
    if (doc_take(map, key) != NULL) {
        return true;
    }
    const bool was_reported = map->node == NULL && map->is_bad;
    map->is_bad = true;
    if (was_reported) {
        return false;
    }
    return diag_add(map->diag, DIAG_INPUT, map->node == NULL ? NULL : &map->node->place,
                    "missing key '%s'", key);
}

static bool judge(struct doc_map *map, bool is_good)
{
    map->is_bad = map->is_bad || !is_good;
    return is_good;
}

bool doc_get_text(struct doc_map *map, const char *key, const char **value)
{
    const struct doc_node *node = doc_take(map, key);
    if (node == NULL) {
        return false;
    }
    if (node->kind != DOC_SCALAR) {
        return judge(map, complain(node, map->diag, "text"));
    }
    *value = node->text;
    return true;
}

bool doc_get_count(struct doc_map *map, const char *key, int64_t min, int64_t max, int64_t *value)
{
    const struct doc_node *node = doc_take(map, key);
    return node != NULL && judge(map, doc_node_count(node, min, max, value, map->diag));
}

bool doc_get_quantity(struct doc_map *map, const char *key, enum dimension dimension, double min,
                      double max, double *value)
{
    const struct doc_node *node = doc_take(map, key);
    return node != NULL &&
           judge(map, doc_node_quantity(node, dimension, min, max, value, map->diag));
}

bool doc_get_bool(struct doc_map *map, const char *key, bool *value)
{
    const struct doc_node *node = doc_take(map, key);
    if (node == NULL) {
        return false;
    }
    const bool is_plain = node->kind == DOC_SCALAR && !node->is_quoted;
    const bool is_true = is_plain && strcmp(node->text, "true") == 0;
    if (!is_true && !(is_plain && strcmp(node->text, "false") == 0)) {
        return judge(map, complain(node, map->diag, "true or false"));
    }
    *value = is_true;
    return true;
}

bool doc_get_choice(struct doc_map *map, const char *key, const char *const *names, uint32_t count,
                    uint32_t *value)
{
    const struct doc_node *node = doc_take(map, key);
    if (node == NULL) {
        return false;
    }
    struct words wanted = {""};
    for (uint32_t i = 0; i < count; i++) {
        if (node->kind == DOC_SCALAR && strcmp(node->text, names[i]) == 0) {
            *value = i;
            return true;
        }
        const char *between = i == 0 ? "" : i + 1 < count ? ", " : " or ";
        words_add(&wanted, "%s%s", between, names[i]);
    }
    complain(node, map->diag, wanted.text);
    diag_help_nearest(
        map->diag, node->kind == DOC_SCALAR ? diag_nearest(node->text, names, count) : NULL, NULL);
    return judge(map, false);
}

static void report_unknown(const struct doc_map *map, const struct doc_node *node)
{
    diag_add(map->diag, DIAG_INPUT, &node->key_place, "unknown key '%.*s'", SHOWN_BYTES_MAX,
             node->key);
    const char *nearest = diag_nearest(node->key, map->asked, map->asked_count);
    if (nearest == NULL && map->elsewhere != NULL) {
        nearest = map->elsewhere(map->arena, node->key);
    }
    if (nearest != NULL) {
        diag_help(map->diag, "did you mean '%s'?", nearest);
        return;
    }
    struct words known = {""};
    for (uint32_t i = 0; i < map->asked_count; i++) {
        words_add(&known, "%s%s", i == 0 ? "" : ", ", map->asked[i]);
    }
    diag_help(map->diag, "known keys: %s", known.text);
}

bool doc_finish(struct doc_map *map)
{
    uint32_t unknown_count = 0;
    const struct doc_node *child = map->node == NULL ? NULL : map->node->child;
    for (; child != NULL && unknown_count < UNKNOWN_KEYS_MAX; child = child->next) {
        if (!was_asked(map, child->key)) {
            report_unknown(map, child);
            map->is_bad = true;
            unknown_count++;
        }
    }
    return !map->is_bad;
}
