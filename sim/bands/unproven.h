/* Ways to train that public reports found further off than bands of measured runs tell, for which
 * stoker has a rate and no physics yet: what a host's cores make of the optimizer, what GPUs behind
 * PCIe bridges share, what sockets cost inside a step. And parts that are announced and that nobody
 * has measured, whose vendor's rates are all there is; and layers with scans (state-space, delta
 * rule), of which nine published times of forward kernels are all that was compared, and seven of
 * them set the rates; and attention to keys that an index chose, of which seven were, and three.
 *
 * Each is a row: what it is called, when a scenario has it, and the section of models/limits.yaml
 * (bands/limits) with the factor by which reports of it were off. A band of a scenario that has one
 * is no narrower than that factor and says "not validated" (bands/band); of two scenarios of which
 * one has one no verdict is given (study/against), unless a measured step of one's own anchors
 * them: that is the validation.
 */
#ifndef BANDS_UNPROVEN_H
#define BANDS_UNPROVEN_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct scenario;

struct unproven {
    const char *section; /* of models/limits.yaml */
    const char *name;    /* "the optimizer on the host" */
    bool (*is_had)(const struct scenario *scenario);
};

enum {
    UNPROVEN_HOST_OPTIMIZER,
    UNPROVEN_PCIE,
    UNPROVEN_SOCKETS,
    UNPROVEN_ANNOUNCED,
    UNPROVEN_SCANS,
    UNPROVEN_SPARSE,
    UNPROVEN_COUNT
};
extern const struct unproven unproven[UNPROVEN_COUNT];

/* The word that takes a verdict's place. */
extern const char unproven_verdict[];

/* Bits 1 << row: what the scenario has. Nothing, where an anchor corrects it. */
uint32_t unproven_of(const struct scenario *scenario);

/* What a prediction of the scenario leaves out that a reader may take to be in it: sentences, with
 * the key by which it would be in, where there is one. What costs most days or dollars where it is
 * overlooked comes first; *count of them. Sources mark what they simplify themselves (ASSUMES). */
const char *const *unproven_left_out(struct arena *arena, const struct scenario *scenario,
                                     uint32_t *count);

#endif
