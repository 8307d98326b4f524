/* The bill of material of a cluster's network, as `show` prints it. */
#ifndef REPORT_SHOW_SHOW_BILL_H
#define REPORT_SHOW_SHOW_BILL_H

#include "input/network/prices.h"
#include "report/show/show_sheet.h"

struct cluster;

/* Of so many nodes; where it has no price the reason. */
void show_bill(struct show_sheet *sheet, const struct cluster *cluster, int64_t nodes,
               const struct price_list *prices);

#endif
