/* Each name is a product: parts outside of brackets have one value, brackets
 * have several. The product grows part by part, in the list itself: from
 * `first` on stand the names of the part before.
 */
#include "foreign/slurm/hostlist.h"

#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

enum { NAMES_MAX = 1000 * 1000, DIGITS_MAX = 9 };
static const size_t BYTES_MAX = (size_t)32 << 20; /* of all names */

struct expander {
    struct arena *arena;
    const char *text;
    struct place place;
    struct diag *diag;
    struct hostlist *list;
};

static bool report(const struct expander *expander, const char *at, const char *message)
{
    struct place place = expander->place;
    place.column += (uint32_t)(at - expander->text);
    diag_add(expander->diag, DIAG_INPUT, &place, "%s", message);
    diag_help(expander->diag, "a list of names reads n1,n2 or n[1-3,7,08-10]");
    return false;
}

static bool append(const struct expander *expander, struct hostlist *list, const char *at,
                   const char *name)
{
    list->bytes += strlen(name) + 1;
    if (list->count >= NAMES_MAX || list->bytes > BYTES_MAX) {
        return report(expander, at, "this list has too many names");
    }
    list->names = arena_grow(expander->arena, list->names, &list->capacity, (size_t)list->count + 1,
                             sizeof *list->names);
    list->names[list->count++] = name;
    return true;
}

/* A number at *at; its width is that of its digits. */
static bool read_number(const struct expander *expander, const char **at, int64_t *number,
                        int *width)
{
    const size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > DIGITS_MAX) {
        return report(expander, *at,
                      digits == 0 ? "a number is missing here" : "this number is too large");
    }
    *number = 0;
    for (size_t i = 0; i < digits; i++) {
        *number = 10 * *number + ((*at)[i] - '0');
    }
    *width = (int)digits;
    *at += digits;
    return true;
}

/* "1-3" or "08": appends prefix + number for each. */
static bool read_range(const struct expander *expander, const char **at, const char *prefix,
                       struct hostlist *out)
{
    const char *begin = *at;
    int64_t first = 0;
    int64_t last = 0;
    int width = 0;
    int ignored = 0;
    if (!read_number(expander, at, &first, &width)) {
        return false;
    }
    last = first;
    if (**at == '-') {
        (*at)++;
        if (!read_number(expander, at, &last, &ignored)) {
            return false;
        }
    }
    if (last < first) {
        return report(expander, begin, "this range ends before it begins");
    }
    for (int64_t number = first; number <= last; number++) {
        if (!append(expander, out, begin,
                    arena_printf(expander->arena, "%s%0*" PRId64, prefix, width, number))) {
            return false;
        }
    }
    return true;
}

/* All of a bracket behind one prefix; *at is behind '[' and ends behind ']'. */
static bool read_bracket(const struct expander *expander, const char **at, const char *prefix,
                         struct hostlist *out)
{
    const char *begin = *at - 1;
    while (true) {
        if (!read_range(expander, at, prefix, out)) {
            return false;
        }
        if (**at == ']') {
            (*at)++;
            return true;
        }
        if (**at != ',') {
            return **at == '\0' ? report(expander, begin, "this bracket is never closed")
                                : report(expander, *at, "a range is followed by ',' or ']'");
        }
        (*at)++;
    }
}

/* One name with its brackets; *at ends at ',' or at the end. */
static bool read_item(const struct expander *expander, const char **at)
{
    struct hostlist names = {.count = 0};
    const char *begin = *at;
    if (!append(expander, &names, begin, "")) {
        return false;
    }
    while (**at != '\0' && **at != ',') {
        struct hostlist longer = {.count = 0};
        const char *part = *at;
        const size_t literal = strcspn(part, ",[]");
        if (*part == ']') {
            return report(expander, part, "this bracket was never opened");
        }
        for (uint32_t i = 0; i < names.count; i++) {
            *at = part + (literal > 0 ? literal : 1);
            const bool is_good = literal > 0
                                     ? append(expander, &longer, part,
                                              arena_printf(expander->arena, "%s%.*s",
                                                           names.names[i], (int)literal, part))
                                     : read_bracket(expander, at, names.names[i], &longer);
            if (!is_good) {
                return false;
            }
        }
        names = longer;
    }
    if (*at == begin) {
        return report(expander, begin, "a name is missing here");
    }
    for (uint32_t i = 0; i < names.count; i++) {
        if (!append(expander, expander->list, begin, names.names[i])) {
            return false;
        }
    }
    return true;
}

bool hostlist_expand(struct arena *arena, const char *text, const struct place *place,
                     struct hostlist *list, struct diag *diag)
{
    const struct expander expander = {arena, text, *place, diag, list};
    const char *at = text;
    while (read_item(&expander, &at)) {
        if (*at == '\0') {
            return true;
        }
        at++;
    }
    return false;
}
