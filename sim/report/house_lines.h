/* What a house's defaults (input/study/house) give a scenario, with their places. */
#ifndef REPORT_HOUSE_LINES_H
#define REPORT_HOUSE_LINES_H

#include "input/study/house.h"
#include "report/sheet.h"

/* "house.yaml:4"; of a stored run, whose places are of another day, only the house's name. */
const char *house_place(struct arena *arena, const struct house *house,
                        const struct house_value *value);

/* "defaults of our-house: price.gpu_hour, memory.margin and 3 more", as many as a line holds;
 * NULL where there is no house. */
const char *house_line(struct arena *arena, const struct house *house);

/* The object "house" with its name, title and values, where there is one. */
void house_add(const struct house *house, struct sheet *sheet);

/* The same as a note, for who prints many scenarios: of the first. */
void house_note(struct arena *arena, const struct house *house, struct diag *diag);

#endif
