#include "support/no_number.h"

#include <ctype.h>
#include <string.h>

bool text_has_no_number(const char *text)
{
    for (const char *at = text; (at = strpbrk(at, "ni")) != NULL; at++) {
        const bool is_word = strncmp(at, "nan", 3) == 0 || strncmp(at, "inf", 3) == 0;
        const char before = at > text ? at[-1] : ' ';
        if (is_word && !isalpha((unsigned char)before) && before != '"' && before != '\'' &&
            !isalpha((unsigned char)at[3])) {
            return true;
        }
    }
    return false;
}
