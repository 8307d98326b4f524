/* Patterns are tried at each place, without memory of what was tried: they are as long as a
 * model's name.
 */
#include "foreign/launch/shell_tests.h"

#include "base/arena.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* ---- texts ---------------------------------------------------------------------------------- */

bool shell_matches(const char *pattern, const char *end, const char *text)
{
    const char *star = NULL, *retry = NULL;
    while (*text != '\0') {
        if (pattern < end && *pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (pattern < end && (*pattern == *text || *pattern == '?')) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (pattern < end && *pattern == '*') {
        pattern++;
    }
    return pattern == end;
}

/* A regular expression of letters, `.` and `.*`, as a pattern of the other kind. */
static const char *pattern_of(struct arena *arena, const char *expression)
{
    const size_t length = strlen(expression);
    const bool is_first = expression[0] == '^';
    const bool is_last = length > 0 && expression[length - 1] == '$';
    const char *pattern = is_first ? "" : "*";
    for (size_t i = is_first ? 1 : 0; i + (is_last ? 1 : 0) < length; i++) {
        const bool is_any = expression[i] == '.' && expression[i + 1] == '*';
        const char byte = expression[i];
        if (is_any) {
            pattern = arena_printf(arena, "%s*", pattern);
            i++;
        } else if (strchr("*+?[]{}()|\\^$", byte) != NULL) {
            return NULL;
        } else {
            pattern = arena_printf(arena, "%s%c", pattern, byte == '.' ? '?' : byte);
        }
    }
    return is_last ? pattern : arena_printf(arena, "%s*", pattern);
}

bool shell_finds(struct arena *arena, const char *pattern, const char *text, bool *holds)
{
    enum { PATTERN_MAX = 1000 };
    const char *open = strchr(pattern, '('), *close = strchr(pattern, ')');
    const bool has_group = open != NULL && close > open;
    const char *begin = has_group ? open + 1 : pattern;
    const char *end = has_group ? close : pattern + strlen(pattern);
    *holds = false;
    if (strlen(pattern) > PATTERN_MAX) {
        return false;
    }
    for (const char *at = begin; at <= end;) {
        const char *bar = memchr(at, '|', (size_t)(end - at));
        const char *stop = bar != NULL ? bar : end;
        const char *one = pattern_of(
            arena, arena_printf(arena, "%.*s%.*s%s", has_group ? (int)(open - pattern) : 0, pattern,
                                (int)(stop - at), at, has_group ? close + 1 : ""));
        if (one == NULL) {
            return false;
        }
        *holds = *holds || shell_matches(one, one + strlen(one), text);
        at = stop + 1;
    }
    return true;
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* `at` itself: no name stands there. */
static const char *behind_name(const char *at, const char *end)
{
    const char *begin = at;
    while (at < end && (isalnum((unsigned char)*at) || *at == '_')) {
        at++;
    }
    return at > begin && isdigit((unsigned char)*begin) ? begin : at;
}

static void set(struct shell *shell, const char *name, const char *text, const char *from)
{
    struct shell_words values = {0};
    struct shell_word *word = shell_add_word(shell, &values);
    for (; *text != '\0'; text++) {
        shell_add_byte(shell, word, *text, from);
    }
    shell_assign(shell, name, &values, false, false);
}

/* `X = A`, `X += A`, `X++`, `++X`; false: it is none of these. */
static bool assigns(struct shell *shell, struct text_span text, const char *from)
{
    struct arena *arena = shell->arena;
    const bool is_before = text.end - text.begin > 2 && strncmp(text.begin, "++", 2) == 0;
    const char *name_begin = text.begin + (is_before ? 2 : 0);
    const char *at = behind_name(name_begin, text.end);
    if (at == name_begin) {
        return false;
    }
    const char *name = arena_strndup(arena, name_begin, (size_t)(at - name_begin));
    while (at < text.end && isspace((unsigned char)*at)) {
        at++;
    }
    const size_t left = (size_t)(text.end - at);
    const bool is_step = is_before || (left == 2 && strncmp(at, "++", 2) == 0);
    const bool is_changed = left > 1 && strchr("+-*/%", at[0]) != NULL && at[1] == '=';
    const bool is_set = left > 1 && at[0] == '=' && at[1] != '=';
    if (!is_step && !is_changed && !is_set) {
        return false;
    }
    const char *sum = is_step ? arena_printf(arena, "%s+1", name)
                      : is_changed
                          ? arena_printf(arena, "%s%c(%.*s)", name, at[0], (int)(left - 2), at + 2)
                          : arena_strndup(arena, at + 1, left - 1);
    int64_t value = 0;
    const bool is_known =
        shell_arithmetic(shell, (struct text_span){sum, sum + strlen(sum)}, &value);
    set(shell, name,
        is_known ? arena_printf(arena, "%" PRId64, value)
                 : arena_printf(arena, "%c%s%c", SHELL_UNKNOWN, name, SHELL_KNOWN),
        from);
    return true;
}

/* "A <= B", or a sum that holds where it is not 0. */
static bool compares(const struct shell *shell, struct text_span text, bool *holds)
{
    static const char *const signs[] = {"==", "!=", "<=", ">=", "<", ">"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        const char *sign = text_span_find(text, signs[i]);
        if (sign == NULL) {
            continue;
        }
        int64_t one = 0, other = 0;
        const bool is_known =
            shell_arithmetic(shell, (struct text_span){text.begin, sign}, &one) &&
            shell_arithmetic(shell, (struct text_span){sign + strlen(signs[i]), text.end}, &other);
        const bool results[] = {one == other, one != other, one <= other, one >= other,
                                one<other, one> other};
        *holds = is_known && results[i];
        return is_known;
    }
    int64_t value = 0;
    const bool is_known = shell_arithmetic(shell, text, &value);
    *holds = is_known && value != 0;
    return is_known;
}

bool shell_compute(struct shell *shell, struct text_span text, const char *from, bool *holds)
{
    bool all = true, any = false;
    text = text_bare(text);
    if (assigns(shell, text, from)) {
        *holds = true;
        return true;
    }
    for (const char *at = text.begin; at <= text.end;) {
        const char *stop = at;
        while (stop + 1 < text.end && strncmp(stop, "&&", 2) != 0 && strncmp(stop, "||", 2) != 0) {
            stop++;
        }
        const bool is_joined = stop + 1 < text.end;
        bool one = false;
        if (!compares(shell, (struct text_span){at, is_joined ? stop : text.end}, &one)) {
            *holds = false;
            return false;
        }
        all = all && one;
        if (is_joined && *stop == '|') {
            any = any || all;
            all = true;
        }
        at = is_joined ? stop + 2 : text.end + 1;
    }
    *holds = any || all;
    return true;
}
