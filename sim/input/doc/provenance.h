/* Where a constant comes from, and the list of those a run leaned on.
 *
 * Every constant in a catalogue file has a `source:` and is one of datasheet
 * (the default), measured, fitted, assumed: `provenance: assumed` in the
 * mapping that holds it, or in one around it. Where one source tells most
 * constants of a mapping and not all, `assumed: [power]` beside it names the
 * others. Readers of catalogue files record each assumed constant here; a
 * result lists them, so that a reader can dispute them.
 */
#ifndef INPUT_DOC_PROVENANCE_H
#define INPUT_DOC_PROVENANCE_H

#include "input/doc/doc.h"

struct assumption {
    const char *name;   /* "gpu.price.gpu_hour" */
    const char *value;  /* as written: "2.00 USD" */
    const char *reason; /* the source text of its mapping */
    struct place place;
    double moves; /* the days or the step, as a share, when it is moved (study/assumed); ABSENT */
};

struct assumptions {
    struct arena *arena;
    struct assumption *items; /* in reading order until they are ranked, each name once */
    size_t count;
    size_t capacity;
};

void assumptions_init(struct assumptions *assumptions, struct arena *arena);

/* Records one assumed constant; a name that is already there is left as it is.
 * For defaults of stoker's own, whose reason is DEFAULT_REASON where a row has no source. */
#define DEFAULT_REASON "stoker's default"
void assumptions_add(struct assumptions *assumptions, const struct assumption *assumption);

/* Looks at `map`'s node: when it says provenance: assumed, every scalar in it
 * but source, title, note, provenance and assumed is recorded as prefix.key; so
 * is every one in a mapping inside that says no provenance of its own, and what
 * `assumed` lists. What another file put in their place is none of them. Also
 * takes the keys `source`, `provenance`, `assumed`, `note` (so that they are not
 * unknown) and reports a provenance that is none of the four and listed keys
 * that are none. */
void assumptions_take(struct assumptions *assumptions, struct doc_map *map, const char *prefix);

/* Forgets the constants named `name` or `name.something`: a run did not lean on them. */
void assumptions_drop(struct assumptions *assumptions, const char *name);

#endif
