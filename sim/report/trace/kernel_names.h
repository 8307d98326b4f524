/* What kernels that run as one task are called in a trace: "attention + MLP backward". */
#ifndef REPORT_TRACE_KERNEL_NAMES_H
#define REPORT_TRACE_KERNEL_NAMES_H

#include <stdint.h>

struct arena;

/* Of segments, bits 1 << enum segment_kind. "": of none. */
const char *kernel_name(struct arena *arena, uint64_t segments);

#endif
