/* A file of the catalogue, read with --set, and what follows from it. */
#ifndef REPORT_SHOW_SHOW_PART_H
#define REPORT_SHOW_SHOW_PART_H

#include "input/catalogue.h"
#include "report/show/show_sheet.h"

struct cluster;
struct scenario;

struct show_part {
    struct arena *arena;
    struct diag *diag;
    const struct catalogue *catalogue;
    uint32_t kind;    /* enum catalogue_kind */
    const char *name; /* or a path */
    const char *const *sets;
    uint32_t set_count;
    int64_t nodes;            /* of a cluster; 0: all it has, or 128 */
    struct show_sheet *sheet; /* to which is added what follows */
    /* What is found: */
    const char *prefix;              /* of its keys in the defaults' paths: "gpu." */
    const struct doc_node *root;     /* the file */
    const struct scenario *scenario; /* that part alone */
};

/* False with messages. */
MUST_USE bool show_part_read(struct show_part *show);

/* What follows from a scenario; returns its document. */
const struct doc_node *show_scenario(struct show_sheet *sheet, const struct scenario *scenario,
                                     const char *build);

/* What is assumed in a scenario, or in a part alone. */
void show_assumptions(struct show_sheet *sheet, const struct scenario *scenario);

/* How many nodes of a cluster are shown, where so many are wanted (0: nobody says). 0 with a
 * message: it has not that many. */
int64_t show_nodes(const struct cluster *cluster, int64_t wanted, struct diag *diag);

#endif
