/* What follows from a model, GPU, cluster, library, software profile or scenario by itself,
 * before anything is simulated: counts, rates and sizes, with the formula in the .c. */
#ifndef REPORT_SHOW_SHOW_FIGURES_H
#define REPORT_SHOW_SHOW_FIGURES_H

#include "input/cluster.h"
#include "input/gpu.h"
#include "input/library.h"
#include "input/model.h"
#include "input/software.h"
#include "report/show/show_sheet.h"
#include "input/network/nic.h"

struct scenario;

void show_figures_model(struct show_sheet *sheet, const struct model *model);
void show_figures_gpu(struct show_sheet *sheet, const struct gpu *gpu);
void show_figures_library(struct show_sheet *sheet, const struct library *library);
void show_figures_nic(struct show_sheet *sheet, const struct nic *nic);
void show_figures_software(struct show_sheet *sheet, const struct software *software);

/* A cluster of `nodes` nodes (nodes * gpus_per_node <= SCENARIO_GPUS_MAX) with its GPU, NULL
 * when that is not known. */
void show_figures_cluster(struct show_sheet *sheet, const struct cluster *cluster,
                          const struct gpu *gpu, int64_t nodes);

/* `build` is part of the key of its run. */
void show_figures_scenario(struct show_sheet *sheet, const struct scenario *scenario,
                           const char *build);

/* The table of constants that nobody measured. */
void show_figures_assumptions(struct show_sheet *sheet, const struct assumptions *assumptions);

#endif
