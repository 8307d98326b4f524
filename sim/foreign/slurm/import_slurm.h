/* Slurm's description of a fabric, as read from topology.conf or topology.yaml.
 *
 * Both say which nodes hang on which switch, and which switches below which
 * other; topology/block has groups of nodes with nothing above them.
 */
#ifndef FOREIGN_SLURM_IMPORT_SLURM_H
#define FOREIGN_SLURM_IMPORT_SLURM_H

#include "foreign/import.h"

/* A line of topology.conf, or an item of topology.yaml. */
struct slurm_entry {
    const char *name;
    struct place place;   /* of the name */
    const char *nodes;    /* a host list, or NULL */
    const char *switches; /* a host list, or NULL */
    struct place nodes_place;
    struct place switches_place;
};

struct slurm_entries {
    struct slurm_entry *items;
    uint32_t count;
    size_t capacity;
    bool are_blocks; /* topology/block: none has switches */
};

MUST_USE bool slurm_read_conf(const struct importer *importer, struct slurm_entries *entries);
MUST_USE bool slurm_read_yaml(const struct importer *importer, struct slurm_entries *entries);
/* JSON or YAML of a cloud, or of Kubernetes, that tells the way to each of its instances; and
 * whether a text is one of those that are known. */
bool slurm_tells_instances(const char *text);
MUST_USE bool slurm_read_instances(const struct importer *importer, struct slurm_entries *entries);

#endif
