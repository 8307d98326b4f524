/* Fields of a CSV file that may hold a comma or a quote (RFC 4180). */
#ifndef BANDS_CSV_H
#define BANDS_CSV_H

#include <stdio.h>

/* In quotes, with quotes doubled. */
void csv_write_quoted(const char *text, FILE *out);

#endif
