/* Files of the catalogue by name: a model, a GPU, a cluster, a software
 * profile, a collective library by itself. */
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

#include "input/catalogue.h"
#include "input/cluster.h"
#include "input/library.h"
#include "input/model.h"
#include "input/software.h"

struct parts {
    struct arena *arena;
    const struct catalogue *catalogue;
    struct diag *diag; /* errors of the files */
};

/* False, with a message, when there is no such file or it is wrong. */
MUST_USE bool parts_model(const struct parts *parts, const char *name, struct model *model);
MUST_USE bool parts_gpu(const struct parts *parts, const char *name, struct gpu *gpu);
MUST_USE bool parts_cluster(const struct parts *parts, const char *name, struct cluster *cluster);
MUST_USE bool parts_software(const struct parts *parts, const char *name,
                             struct software *software);
MUST_USE bool parts_library(const struct parts *parts, const char *name, struct library *library);

/* NICs of a node together, one way. */
double parts_node_bytes_per_s(const struct cluster *cluster);

#endif
