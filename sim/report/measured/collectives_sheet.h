/* What is said of measured collectives beside a library's predictions (measured/calibrate): the
 * library that was fitted, how well, curve by curve, and a picture of all.
 */
#ifndef REPORT_MEASURED_COLLECTIVES_SHEET_H
#define REPORT_MEASURED_COLLECTIVES_SHEET_H

#include "measured/calibrate.h"
#include "report/sheet.h"

struct collectives_shown {
    const char *base;              /* the library that is calibrated */
    const char *name;              /* of the one that is written */
    const struct library *library; /* by which curves are predicted */
    const struct library *before;  /* what it was fitted from; NULL: nothing was fitted */
    const struct measurement_list *list;
    const struct curve *curves; /* of these */
};

/* The library as YAML that extends its base. */
void collectives_write(struct arena *arena, const struct collectives_shown *shown,
                       const struct calibration *calibration, FILE *out);

/* What was fitted, how well. */
void collectives_add_fit(const struct collectives_shown *shown,
                         const struct calibration *calibration, struct sheet *sheet);

/* Predictions beside measurements, curve by curve. */
void collectives_add_check(const struct collectives_shown *shown, struct sheet *sheet);

/* Measured and predicted bus bandwidth: each curve's points, as measured, as the library predicts
 * them, and as the one that it was fitted from did. */
MUST_USE bool collectives_draw(struct arena *arena, const struct collectives_shown *shown,
                               const char *path_base, uint32_t size, struct diag *diag);

#endif
