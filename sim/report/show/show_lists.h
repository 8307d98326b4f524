/* Tables of what there is beside the catalogue: what a results file holds, and our own words. Each
 * is added under a key, and returned.
 */
#ifndef REPORT_SHOW_SHOW_LISTS_H
#define REPORT_SHOW_SHOW_LISTS_H

#include "report/sheet.h"
#include "store/store.h"

struct sheet *list_add_studies(struct sheet *sheet, const char *key,
                               const struct store_study_row *rows, uint32_t count);
struct sheet *list_add_runs(struct sheet *sheet, const char *key, const struct store_row *rows,
                            uint32_t count);
struct sheet *list_add_metrics(struct sheet *sheet, const char *key);
struct sheet *list_add_causes(struct sheet *sheet, const char *key);
struct sheet *list_add_plots(struct sheet *sheet, const char *key);

#endif
