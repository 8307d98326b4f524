/* How sequences reach the GPUs: `data` of a scenario (keys: data/data_keys). */
#ifndef INPUT_DATA_DATA_LOADING_H
#define INPUT_DATA_DATA_LOADING_H

#include <stdbool.h>
#include <stdint.h>

enum data_source { DATA_SHARED, DATA_LOCAL, DATA_SOURCE_COUNT_ };
enum data_law { DATA_EQUAL, DATA_LOGNORMAL, DATA_EXPONENTIAL, DATA_LAW_COUNT_ };

struct data_loading {
    bool is_enabled;
    int64_t workers_per_gpu;
    int64_t prefetch;               /* batches ahead per worker */
    double time_per_sample_s;       /* one worker, one sequence */
    double bytes_per_token;         /* read from storage */
    double memory_per_worker_bytes; /* of the host, without its queue */
    uint32_t source;                /* enum data_source */
    double requests;                /* to the storage, for a sequence */
    uint32_t law;                   /* enum data_law: of samples' sizes */
    double spread;                  /* lognormal: standard deviation of the logarithm */
    int64_t samples_per_sequence;   /* packed into one; 1: each is padded */
    double tokens;                  /* of the data set; 0: none is read twice */
    double page_cache_bytes;        /* of a node: what was read there, and stays */
    bool keeps_workers;             /* from epoch to epoch */
    double worker_start_s;
    int64_t shuffle_buffer; /* sequences of each worker */
};

#endif
