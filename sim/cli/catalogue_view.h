/* The catalogue as lists: a row for each model, GPU, cluster, software profile, collective
 * library, scenario.
 *
 * A file that does not read is left out, its error goes to parts->diag, and the rest
 * goes on.
 */
#ifndef CLI_CATALOGUE_VIEW_H
#define CLI_CATALOGUE_VIEW_H

#include "report/listing.h"
#include "report/parts.h"

/* Adds columns and rows; quantities are those of the files, in SI. */
void catalogue_view_models(const struct parts *parts, struct listing *listing);
void catalogue_view_gpus(const struct parts *parts, struct listing *listing);
void catalogue_view_clusters(const struct parts *parts, struct listing *listing);
void catalogue_view_libraries(const struct parts *parts, struct listing *listing);
void catalogue_view_software(const struct parts *parts, struct listing *listing);

/* What the files say, and how many points their sweep or variants make; nothing else
 * is resolved. */
void catalogue_view_scenarios(const struct parts *parts, struct listing *listing);

#endif
