/* What the energy of a run goes into, beside the accounts of when (run/account.h).
 */
#ifndef RUN_COMPONENT_H
#define RUN_COMPONENT_H

enum component {
    COMPONENT_GPU_WORKING, /* GPUs in whose kernels run */
    COMPONENT_GPU_WAITING,
    COMPONENT_HOST,     /* the rest of the nodes, */
    COMPONENT_NIC,      /* their NICs with optics, */
    COMPONENT_SWITCH,   /* switches with optics, */
    COMPONENT_STORAGE,  /* and storage: input/network/site_power */
    COMPONENT_SPARE,    /* hot spares, with all that the nodes of the job have */
    COMPONENT_FACILITY, /* what cools and feeds these */
    COMPONENT_COUNT_
};

#endif
