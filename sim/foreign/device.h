/* Which GPU of the catalogue a file's device is: by what its makers call it, else by a guess that
 * is said aloud.
 *
 * A GPU's file says how it is met (section `platform`, input/gpu.h): its PCI ids, the words of its
 * device's name, its compute capability. A file tells one of them or another:
 *
 *     NCCL's topology   PCI id and compute capability      10de:2335, sm 90
 *     a training log    the device's name and its memory   "NVIDIA A100 80GB PCIe", 79.25 GiB
 *     nvidia-smi topo   nothing
 *
 * --gpu decides in any case; where the file knows better, that is told.
 */
#ifndef FOREIGN_DEVICE_H
#define FOREIGN_DEVICE_H

#include "input/gpu.h"

struct importer;

struct device_clues {
    uint32_t vendor, device; /* of PCI; 0: not told */
    const char *name;        /* NULL: not told, as the next */
    double memory_bytes;     /* 0 */
    int64_t sm;              /* compute capability; 0 */
    enum platform_cpu cpu;   /* beside it */
};

enum { PCI_NVIDIA = 0x10de };

/* What the catalogue says of a GPU's surroundings; zero when it does not know it. */
struct gpu_platform device_platform(const struct importer *importer, const char *gpu);

/* Its design power; 0 when the catalogue does not know it. */
double device_tdp_w(const struct importer *importer, const char *gpu);

/* Name of models/gpus: --gpu, or the device that the clues name, or the typical one of that
 * capability beside that CPU, with a warning that this is a guess. NULL, with a usage error, when
 * there is none, or several claim to be typical. */
const char *device_find(const struct importer *importer, const struct device_clues *clues);

/* The one that the clues name; NULL, without a message: none, or they name nothing. */
const char *device_known(const struct importer *importer, const struct device_clues *clues);

#endif
