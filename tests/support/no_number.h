/* Whether a text that is printed shows what is no number. */
#ifndef TESTS_SUPPORT_NO_NUMBER_H
#define TESTS_SUPPORT_NO_NUMBER_H

#include <stdbool.h>

/* "nan" or "inf" stands in it, with no letter beside and no quotation mark before it. */
bool text_has_no_number(const char *text);

#endif
