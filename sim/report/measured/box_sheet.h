/* What is said of one box (measured/box_fit): its file, which a scenario names, and what each
 * number moved. And the script that measures the numbers.
 */
#ifndef REPORT_MEASURED_BOX_SHEET_H
#define REPORT_MEASURED_BOX_SHEET_H

#include "measured/box_fit.h"
#include "report/sheet.h"

struct box_shown {
    struct arena *arena;
    const struct catalogue *catalogue;
    const char *input;  /* the file of numbers */
    const char *output; /* the box's; NULL: stdout */
    const struct box_numbers *numbers;
    const struct box_fit *fit;
};

void box_write(const struct box_shown *shown, FILE *out);

void box_add_fit(const struct box_shown *shown, struct sheet *sheet);

/* A program in Python that measures the six numbers with PyTorch, and prints the file. */
void box_script_print(FILE *out);

#endif
