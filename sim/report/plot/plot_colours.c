/* The colour of each cause is that of its row, or of a family of such rows. */
#include "report/plot/plot_colours.h"

#define CAUSE_COLOUR(id, name, title, shorter, resource, colour) (colour),

const uint32_t plot_cause_colours[CAUSE_COUNT_] = {STEP_CAUSES(CAUSE_COLOUR)};
