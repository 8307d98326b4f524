/* A YAML (or JSON) file as a tree in which every node knows its place.
 *
 * libyaml reads the text; this module adds what it leaves out. Duplicate keys,
 * aliases and anchors, merge keys, tags, more than one document, a key that is
 * not a plain scalar: all are errors with a place. Files larger than 4 MiB,
 * binary files (a NUL byte, invalid UTF-8), more than 200,000 nodes or more
 * than 64 levels are refused before they cost anything; the size is known
 * before the first byte is read. An empty file is an error.
 *
 * Reading a struct is: take the keys one by one with doc_get_*, then
 * doc_finish, which reports each key that nobody asked for with the nearest
 * one that was. A key that was asked for and is missing keeps the caller's
 * default. Every error goes to the diag with the place of the value; the
 * getters then return false and leave the default, so that reading goes on
 * and the user sees more than the first mistake.
 *
 *     struct doc_map map;
 *     doc_map_open(&map, node, diag);
 *     doc_get_count(&map, "layers", 1, 10000, &model->layers);      // required if doc_require
 *     doc_get_quantity(&map, "bandwidth", DIM_BYTES_PER_S, &range, &gpu->bandwidth_bytes_per_s);
 *     doc_finish(&map);
 *
 * `--set a.b=VALUE` is doc_set: VALUE is parsed as YAML and put at that path,
 * with a place that reads "--set a.b=VALUE".
 */
#ifndef INPUT_DOC_DOC_H
#define INPUT_DOC_DOC_H

#include "base/check.h"
#include "base/diag.h"
#include "base/units.h"

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct doc_kept;

enum doc_kind { DOC_NULL, DOC_SCALAR, DOC_SEQUENCE, DOC_MAPPING };

/* Plain data; built by doc_load and doc_set only. Children are in file order. */
struct doc_node {
    enum doc_kind kind;
    bool is_quoted;         /* scalar written in quotes: always text */
    const char *text;       /* scalar: its text; else NULL */
    const char *key;        /* in a mapping: the key of this child; else NULL */
    struct place place;     /* of the value */
    struct place key_place; /* of the key, if in a mapping */
    struct doc_node *child; /* first child */
    struct doc_node *next;  /* next sibling */
    const char *assumed;    /* put here from a file that assumes it: its source; else NULL */
    struct doc_kept *kept;  /* of a file's root, as long as it is as the file has it; else NULL */
};

/* Reads `path`; NULL on error, with the reason in diag. All memory is the arena's. */
MUST_USE struct doc_node *doc_load(struct arena *arena, const char *path, struct diag *diag);

/* The same from memory; `name` stands for the file in messages. */
MUST_USE struct doc_node *doc_parse(struct arena *arena, const char *name, const char *text,
                                    size_t length, struct diag *diag);

/* Applies "a.b.c=VALUE" or "a.list.0.c=VALUE" to the tree, creating mappings on the way: those
 * that it changes are owned first. Bad syntax is a DIAG_USAGE error. */
MUST_USE bool doc_set(struct arena *arena, struct doc_node *root, const char *assignment,
                      struct diag *diag);

/* The same with a value that is written somewhere: it keeps its places, and errors are DIAG_INPUT
 * there. What is below it stays shared. */
MUST_USE bool doc_put(struct arena *arena, struct doc_node *root, const char *path,
                      const struct doc_node *value, struct diag *diag);

/* The value that the last of several assignments to exactly this path gives it; NULL: none does. */
const char *doc_set_last(const char *const *assignments, uint32_t count, const char *path);

/* The node at a dotted path, or NULL. */
struct doc_node *doc_find(const struct doc_node *node, const char *path);

/* Gives a node children of its own, which may be relinked and set: a copy of a node shares them
 * with the original (*copy = *node). What is below these stays shared. */
void doc_own_children(struct arena *arena, struct doc_node *node);

/* The link that holds the child under `key`, or the one at the list's end, to put one there. Who
 * writes to it owns the children. */
struct doc_node **doc_link(struct doc_node *mapping, const char *key);

/* Takes out the child under `key`, if there is one. Who calls it owns the children. */
void doc_drop(struct doc_node *mapping, const char *key);

/* The text of the scalar there, or NULL. */
const char *doc_find_text(const struct doc_node *node, const char *path);

/* Whether it is a scalar of that text; NULL is none. */
bool doc_is(const struct doc_node *node, const char *text);

uint32_t doc_child_count(const struct doc_node *node);

/* They say the same: texts, items in their order, and keys in any. */
bool doc_is_same(const struct doc_node *one, const struct doc_node *other);

/* Deep copy (for sweeps, which set keys in copies of a base document). */
struct doc_node *doc_copy(struct arena *arena, const struct doc_node *node);

/* One canonical line of text for a tree: keys in file order, scalars as
 * written. The run key hashes it, and the store keeps it. */
char *doc_to_text(struct arena *arena, const struct doc_node *node);

/* ---- reading a mapping ------------------------------------------------ */

#define DOC_KEYS_MAX 64

struct doc_map {
    const struct doc_node *node; /* NULL: every key is absent */
    struct diag *diag;
    const char *asked[DOC_KEYS_MAX]; /* keys somebody asked for */
    uint32_t asked_count;
    bool is_bad; /* an error was reported through this map */
    /* Where a key that is unknown here may belong, or NULL. NULL itself: nobody asks */
    const char *(*elsewhere)(struct arena *arena, const char *key);
    struct arena *arena; /* of `elsewhere` */
};

/* False (and an error) when the node is not a mapping; the map is then empty. */
bool doc_map_open(struct doc_map *map, const struct doc_node *node, struct diag *diag);

/* The child under `key`, or NULL; counts as asked for. */
const struct doc_node *doc_take(struct doc_map *map, const char *key);

/* The same of a list, of `items` ("GPUs") that are written like `example`; NULL, with an error,
 * where it is none. */
const struct doc_node *doc_take_list(struct doc_map *map, const char *key, const char *items,
                                     const char *example);

/* An error if `key` is absent. Returns true when present. */
bool doc_require(struct doc_map *map, const char *key);

/* Getters: true and *value set when present and good. Absent: false, *value
 * untouched, no message. Bad: false, message with place and remedy. Bounds
 * are inclusive. Integers may be written 1024, 1_024, 1k, 15.6T; fractions of
 * a unit are refused. */
bool doc_get_text(struct doc_map *map, const char *key, const char **value);
bool doc_get_count(struct doc_map *map, const char *key, int64_t min, int64_t max, int64_t *value);
bool doc_get_quantity(struct doc_map *map, const char *key, enum dimension dimension, double min,
                      double max, double *value);
bool doc_get_bool(struct doc_map *map, const char *key, bool *value); /* true or false only */

/* One of `names`; *value is the index. The message lists the names and the nearest. */
bool doc_get_choice(struct doc_map *map, const char *key, const char *const *names, uint32_t count,
                    uint32_t *value);

/* The same for a single node (an element of a sequence). */
bool doc_node_count(const struct doc_node *node, int64_t min, int64_t max, int64_t *value,
                    struct diag *diag);
bool doc_node_quantity(const struct doc_node *node, enum dimension dimension, double min,
                       double max, double *value, struct diag *diag);

/* Reports each key nobody asked for: "unknown key 'bandwith'; did you mean
 * 'bandwidth'?", or the list of known keys. Returns !map->is_bad. */
bool doc_finish(struct doc_map *map);

#endif
