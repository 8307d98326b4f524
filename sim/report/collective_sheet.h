/* `stoker collective`: one collective over a range of sizes, as nccl-tests prints it. */
#ifndef REPORT_COLLECTIVE_SHEET_H
#define REPORT_COLLECTIVE_SHEET_H

#include "report/sheet.h"
#include "train/fabric_setting.h"

struct collective_sheet {
    uint32_t operation; /* enum collective_operation */
    int64_t gpus;
    const struct fabric_setting *setting;
    const struct collective_row *rows;
    uint32_t count;
    bool has_single_sends;
};

struct sheet *collective_sheet_of(struct arena *arena, const struct collective_sheet *of);

/* A warning where what was asked for is not offered for this operation: it gave way to the
 * library's choice. */
void collective_warn_of_choice(const struct collective_choice *asked,
                               const struct collective_sheet *of, struct diag *diag);

#endif
