/* The catalogue as lists: a row for each model, GPU, cluster, software profile, collective
 * library, kind of NIC, recipe, scenario.
 *
 * A file that does not read is left out, its error goes to the diag, and the rest goes on.
 */
#ifndef REPORT_SHOW_SHOW_CATALOGUE_H
#define REPORT_SHOW_SHOW_CATALOGUE_H

#include "input/catalogue.h"
#include "report/sheet.h"

struct catalogue_view {
    struct arena *arena;
    const struct catalogue *catalogue;
    struct diag *diag; /* errors of the files */
    struct sheet *sheet;
    const char *key; /* of the table that is added to the sheet */
    /* How many points a scenario's study has; 0: it stands alone, or an error is in the diag. */
    uint32_t (*points_of)(const struct catalogue_view *view, const struct doc_node *document);
};

/* The document of a part as its kind opens it: what it extends has been put in. NULL on error. */
MUST_USE struct doc_node *catalogue_part(struct arena *arena, const struct catalogue *catalogue,
                                         enum catalogue_kind kind, const struct doc_node *reference,
                                         struct diag *diag);

/* The table. Quantities are those of the files, in SI. */
struct sheet *catalogue_view_parts(const struct catalogue_view *view, enum catalogue_kind kind);

/* What the files say, and how many points their sweep or variants make; nothing else
 * is resolved. */
struct sheet *catalogue_view_scenarios(const struct catalogue_view *view);

#endif
