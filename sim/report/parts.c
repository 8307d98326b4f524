/* Opens one file of the catalogue without a scenario around it, for commands
 * that show, list or calibrate it.
 */
#include "report/parts.h"

/* The file's tree, or NULL with a message. */
static const struct doc_node *open_part(const struct parts *parts, enum catalogue_kind kind,
                                        const char *name)
{
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name};
    return catalogue_open(parts->arena, parts->catalogue, kind, &reference, parts->diag);
}

bool parts_model(const struct parts *parts, const char *name, struct model *model)
{
    struct assumptions assumptions;
    assumptions_init(&assumptions, parts->arena);
    const struct doc_node *node = open_part(parts, CATALOGUE_MODEL, name);
    *model = (struct model){.name = name};
    return node != NULL && model_read(node, model, &assumptions, parts->diag);
}

bool parts_gpu(const struct parts *parts, const char *name, struct gpu *gpu)
{
    struct assumptions assumptions;
    assumptions_init(&assumptions, parts->arena);
    const struct doc_node *node = open_part(parts, CATALOGUE_GPU, name);
    *gpu = (struct gpu){.name = name};
    return node != NULL && gpu_read(node, gpu, &assumptions, parts->diag);
}

bool parts_cluster(const struct parts *parts, const char *name, struct cluster *cluster)
{
    struct assumptions assumptions;
    assumptions_init(&assumptions, parts->arena);
    const struct doc_node *node = open_part(parts, CATALOGUE_CLUSTER, name);
    *cluster = (struct cluster){.name = name};
    return node != NULL && cluster_read(node, cluster, &assumptions, parts->diag);
}

bool parts_software(const struct parts *parts, const char *name, struct software *software)
{
    struct assumptions assumptions;
    assumptions_init(&assumptions, parts->arena);
    const struct doc_node *node = open_part(parts, CATALOGUE_SOFTWARE, name);
    *software = (struct software){.name = name};
    return node != NULL && software_read(node, software, &assumptions, parts->diag);
}

bool parts_library(const struct parts *parts, const char *name, struct library *library)
{
    struct assumptions assumptions;
    assumptions_init(&assumptions, parts->arena);
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name};
    const struct doc_node *node =
        library_open(parts->arena, parts->catalogue, &reference, parts->diag);
    *library = (struct library){.name = name};
    return node != NULL && library_read(node, library, &assumptions, parts->diag);
}

double parts_node_bytes_per_s(const struct cluster *cluster)
{
    return (double)cluster->nics_per_node * cluster->nic_bytes_per_s;
}
