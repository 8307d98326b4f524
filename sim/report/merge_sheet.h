/* What is said of results files that were merged (store/merging). */
#ifndef REPORT_MERGE_SHEET_H
#define REPORT_MERGE_SHEET_H

#include "report/sheet.h"
#include "store/merging.h"

/* What the file at `path` holds now, and what is new. */
void merge_add(const struct merging *merging, const char *path, struct sheet *sheet);

/* A message of that kind for each study that lacks points, and what to do. */
void merge_tell_incomplete(const struct merging *merging, const char *path, enum diag_kind kind,
                           struct diag *diag);

#endif
