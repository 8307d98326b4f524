/* What the energy of a run goes into, beside the accounts of when (run/account.h).
 */
#ifndef RUN_COMPONENT_H
#define RUN_COMPONENT_H

/* Name, key of a report's object, and title. */
#define COMPONENTS(X)                                                                             \
    X(GPU_WORKING, "gpu_working_kwh", "kernels")      /* GPUs in whose kernels run */             \
    X(GPU_WAITING, "gpu_waiting_kwh", "waiting GPUs") /* and those that wait */                   \
    X(HOST, "host_kwh", "hosts")                      /* the rest of the nodes, */                \
    X(NIC, "nic_kwh", "NICs")                         /* their NICs with optics, */               \
    X(SWITCH, "switch_kwh", "switches")               /* switches with optics, */                 \
    X(STORAGE, "storage_kwh", "storage")              /* and storage: input/network/site_power */ \
    X(SPARE, "spare_kwh", "spares")         /* hot spares, with all that the job's nodes have */  \
    X(FACILITY, "facility_kwh", "facility") /* what cools and feeds these */

enum component {
#define COMPONENT_NUMBER(name, key, title) COMPONENT_##name,
    COMPONENTS(COMPONENT_NUMBER)
#undef COMPONENT_NUMBER
        COMPONENT_COUNT_
};

#endif
