/* Inside the plots: the same cause has the same colour in every picture. */
#ifndef REPORT_PLOT_PLOT_COLOURS_H
#define REPORT_PLOT_PLOT_COLOURS_H

#include "train/metrics.h"

/* 0xrrggbb */
extern const uint32_t plot_cause_colours[CAUSE_COUNT_];

#endif
