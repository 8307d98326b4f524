/* Characters by their code points: ranges of those that are not shown. */
#include "base/printable.h"

#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    uint32_t first, last;
} hidden[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c},
    {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
};

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Neither overlong forms, nor surrogates, nor what lies above U+10FFFF. */
size_t printable_width(const char *text)
{
    const unsigned char lead = (unsigned char)text[0];
    if (lead < 0x80) {
        return 1;
    }
    const unsigned char second = (unsigned char)text[1];
    size_t width = 0;
    if (lead >= 0xc2 && lead <= 0xdf) {
        width = 2;
    } else if ((lead & 0xf0) == 0xe0 && !(lead == 0xe0 && second < 0xa0) &&
               !(lead == 0xed && second >= 0xa0)) {
        width = 3;
    } else if (lead >= 0xf0 && lead <= 0xf4 && !(lead == 0xf0 && second < 0x90) &&
               !(lead == 0xf4 && second >= 0x90)) {
        width = 4;
    }
    for (size_t i = 1; i < width; i++) {
        if (!is_continuation(text[i])) {
            return 0;
        }
    }
    return width;
}

uint32_t printable_code(const char *text, size_t width)
{
    static const uint32_t of_lead[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = (unsigned char)text[0] & of_lead[width];
    for (size_t i = 1; i < width; i++) {
        code = code << 6 | ((unsigned char)text[i] & 0x3f);
    }
    return code;
}

bool printable_code_is(uint32_t code)
{
    bool is_hidden = false;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
        is_hidden = is_hidden || (code >= hidden[i].first && code <= hidden[i].last);
    }
    return !is_hidden;
}

bool printable_is(const char *text, size_t width)
{
    return width > 0 && printable_code_is(printable_code(text, width));
}

/* Plain ASCII needs no look at code points, and nearly all texts are that. */
static bool is_plain(const char *text, const char *kept)
{
    for (; *text != '\0'; text++) {
        const bool is_shown = *text >= 0x20 && *text < 0x7f;
        if (!is_shown && strchr(kept, *text) == NULL) {
            return false;
        }
    }
    return true;
}

static const char *shown(struct arena *arena, const char *text, const char *kept)
{
    if (is_plain(text, kept)) {
        return text;
    }
    char *copy = arena_alloc(arena, strlen(text) + 1);
    char *end = copy;
    while (*text != '\0') {
        const size_t width = printable_width(text);
        if (printable_is(text, width) || strchr(kept, *text) != NULL) {
            memcpy(end, text, width);
            end += width;
        } else {
            *end++ = '?';
        }
        text += width == 0 ? 1 : width;
    }
    return copy;
}

const char *printable_line(struct arena *arena, const char *text)
{
    return shown(arena, text, "");
}

const char *printable_lines(struct arena *arena, const char *text)
{
    return shown(arena, text, "\n\t");
}

/* Where the number at `text` and its "%" end; `text` where there is none. */
static const char *behind_number(const char *text)
{
    const char *digit = text + (*text == '+' || *text == '-' ? 1 : 0);
    if (*digit == '\0' || strchr(".0123456789", *digit) == NULL) {
        return text; /* no blanks, "nan" or "inf" */
    }
    char *end;
    (void)strtod(text, &end);
    return end > text && strncmp(end, " %", 2) == 0 ? end + 2 : end;
}

bool printable_is_formula(const char *text)
{
    static const char spread[] = " +- ";
    if (text[0] == '\0' || strchr("=+-@\t\r", text[0]) == NULL || strcmp(text, "-") == 0) {
        return false;
    }
    const char *end = behind_number(text);
    if (end > text && strncmp(end, spread, sizeof spread - 1) == 0) {
        end = behind_number(end + sizeof spread - 1);
    }
    return end == text || *end != '\0';
}
