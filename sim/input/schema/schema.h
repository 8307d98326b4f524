/* A schema: all that is known of the keys of one kind of file, one row a key.
 *
 * A row says where the key stands ("data.prefetch"), which member of a struct takes its
 * value, of what kind and dimension that is, its bounds, what holds when the file says
 * nothing, and in one sentence what it means. Everything that has to know keys reads the
 * rows: the reader below (bounds, defaults, unknown keys, the list of assumptions), `show`
 * (which prints the defaults), the nearest name of an unknown key, help and references.
 *
 *     #define SCHEMA_OBJECT struct scenario
 *     #include "input/schema/rows.h"
 *     static const struct schema_row rows[] = {
 *         {SWITCH("data", data.is_enabled, "DataLoader workers, which read from storage.")},
 *         {COUNT("data.prefetch", data.prefetch, 1, 64, "Batches that a worker holds ready."),
 *          .standard = "2"},
 *
 * Rows stand in the order in which they are read and shown; those of a section follow the
 * section's own row. A default is a text as a user would write it, and is read by the same
 * code as a user's. A member's type is checked against the row's kind when it is compiled;
 * schema_fault, which a test asks for every schema, finds what a compiler cannot.
 *
 * A key that repeats is one row, whose last word stands for the names it may have: below
 * "algorithms.ALGORITHM" stand the keys of each algorithm. Those that are written are read one
 * after the other, each into its element of an array; of the others nothing is read.
 *
 *     {EACH("algorithms.ALGORITHM", shapes, names, 10, "What is known of one.")},
 *     {BOOL("algorithms.ALGORITHM.automatic", shapes[0].is_automatic, "It may be chosen.")},
 *
 * What a row cannot say is a function named in it: `read` takes a key that is more than a
 * value (a list, a word or a number), `check` compares the keys of a section with each
 * other. Errors of a user go to the map's diag, as everywhere in input/.
 */
#ifndef INPUT_SCHEMA_SCHEMA_H
#define INPUT_SCHEMA_SCHEMA_H

#include "input/doc/provenance.h"

#include <stddef.h>

enum schema_kind {
    SCHEMA_COUNT,    /* int64_t */
    SCHEMA_QUANTITY, /* double, of `dimension` */
    SCHEMA_BOOL,     /* bool */
    SCHEMA_TEXT,     /* const char * */
    SCHEMA_CHOICE,   /* uint32_t: index in `names`. With rows below it: or a mapping of those */
    SCHEMA_NAMES,    /* uint32_t: bits 1 << index of a list of `names`, each once */
    SCHEMA_SECTION,  /* a mapping with rows below it; struct place: where it is written */
    SCHEMA_SWITCH,   /* bool: a section that may be absent or `off`; else its rows are read */
    SCHEMA_EACH,     /* stands for keys of many `names`: a mapping each, or what `read` takes */
    SCHEMA_NODE,     /* const struct doc_node *: whatever is written, for who reads it later */
    SCHEMA_CUSTOM,   /* read by `read` alone */
    SCHEMA_KIND_COUNT_
};

/* What moves when the value of a key does. */
enum schema_moves {
    SCHEMA_MOVES_AS_ABOVE, /* as its section's row says; at the top steps */
    SCHEMA_MOVES_STEPS,
    SCHEMA_MOVES_MONTHS, /* loaders, checkpoints, failures: how much is not known from a step */
    SCHEMA_MOVES_NO_STEP /* money, power, memory, hosts */
};

/* How plots show the key as an axis. */
struct schema_axis {
    const char *title; /* with its unit; NULL: the path, in the unit of its dimension */
    double factor;     /* from SI to that unit */
    bool grows_by_factors;
};

/* The offset of a row that fills no member. */
#define SCHEMA_NOWHERE SIZE_MAX

struct schema;
struct schema_row;

/* What a row's functions work on. */
struct schema_reader {
    const struct schema *schema;
    struct doc_map *map; /* the mapping that holds the key; of `check`: the section itself */
    void *object;        /* the struct that is filled; where keys repeat, moved on by the elements
                            that stand before: offsets of the first reach those of this one */
    struct assumptions *assumptions; /* its arena also holds what is read */
    const char *path;                /* of the mapping in a resolved scenario: "gpu.price." */
    uint32_t index;                  /* of a row of many names: the one that is read */
};

/* Takes the row's key from reader->map. A user's error makes the map bad. */
typedef void schema_read_function(const struct schema_reader *reader, const struct schema_row *row);
/* False, with a message, when the keys of the section that was read do not go together. */
typedef bool schema_check_function(const struct schema_reader *reader,
                                   const struct schema_row *row);

/* A key that means nothing beside others. */
struct schema_refusal {
    const char *why; /* after its name: "in a model without experts" */
    const char *help;
};

struct schema_row {
    const char *path;         /* in the schema's mapping, with dots */
    const char *help;         /* what it means: one sentence with its full stop */
    const char *source;       /* of the default or the bounds, where it is no choice of ours */
    const char *standard;     /* the default, as written; NULL: there is none */
    const char *note;         /* of a default that is no constant, where it comes from ("as tp"), or
                                 * why there is none; "" if it needs no word */
    const char *const *names; /* of a choice, a list or many keys */
    uint32_t name_count;      /* that may be written */
    uint32_t among;           /* bits 1 << index of the names that may be written; 0: all */
    enum schema_kind kind;
    enum dimension dimension; /* of a quantity */
    size_t offset;            /* of the member, or SCHEMA_NOWHERE */
    size_t stride;            /* of many names: bytes from one's members to the next one's */
    size_t as;                /* 1 + offset of the member whose value is the default; 0: none */
    double least, most;       /* inclusive */
    struct schema_axis axis;
    enum schema_moves moves; /* of a section: what all below it do that do not say */
    const char *example;     /* of a required one, as a file has it: "gpus: 64"; NULL: none */
    bool is_required;        /* where it means anything */
    bool is_assumed;         /* the default is one of the run's assumptions */
    bool is_optional;        /* zero, ABSENT or "" stands for none: the note says what that means */
    bool is_settled;         /* readers may take another value than the one written */
    /* For readers of the table: the keys of each entry of a list; of a choice, those of a mapping
     * that may stand in its place. */
    const struct schema *inner;
    schema_read_function *read;
    schema_check_function *check;
    bool (*applies)(const void *object); /* whether the key means anything here; NULL: always */
    /* Why the key is an error here, after what the object holds already; NULL: it is none. */
    const struct schema_refusal *(*refuses)(const void *object);
    /* The value that holds, as YAML, where the member is none of the kinds; NULL: the default */
    const char *(*text)(struct arena *arena, const void *object);
};

struct schema {
    const char *name;   /* of its manual: "scenario", "gpu" */
    const char *prefix; /* of its paths in a resolved scenario: "", "gpu." */
    const struct schema_row *rows;
    uint32_t count;
};

/* ---- reading ---- */

/* Reads every row's key of `map`, which is open, into `object`. Errors make `map` bad; the
 * caller closes it with doc_finish. */
void schema_read(const struct schema *schema, struct doc_map *map, void *object,
                 struct assumptions *assumptions);

/* Reads a whole file of the catalogue, whose name in assumptions is the schema's. */
MUST_USE bool schema_read_document(const struct schema *schema, const struct doc_node *node,
                                   void *object, struct assumptions *assumptions,
                                   struct diag *diag);

/* The key of one row as its kind, bounds and default say: for a `read` that has more to do.
 * True when it is written and good. */
bool schema_read_key(const struct schema_reader *reader, const struct schema_row *row);

/* Of a row of a bool that says when the key is false (BOOL_UNLESS). */
void schema_read_negated(const struct schema_reader *reader, const struct schema_row *row);
const char *schema_text_of_true(struct arena *arena, const void *object);

/* doc_require of the row's key, with what it means and an example where it is missing. */
bool schema_require(const struct schema_reader *reader, const struct schema_row *row);

/* The same message, of a row that is known to be missing. */
void schema_miss(const struct schema_row *row, const struct place *place, struct diag *diag);

/* The last part of a row's path: the key in its mapping. */
const char *schema_key(const struct schema_row *row);

/* ---- asking ---- */

/* The row of a path, or NULL. Names may stand for the words of a row that has many:
 * "algorithms.ring.automatic". */
const struct schema_row *schema_find(const struct schema *schema, const char *path);

/* What may have been meant by `path`: itself, the same key in another section, the nearest path,
 * or the nearest key of any section; NULL when none is near. */
const char *schema_nearest(const struct schema *schema, const char *path);

/* No section holds the row. */
bool schema_is_top(const struct schema_row *row);

/* The section that holds the row; NULL at the top. */
const struct schema_row *schema_parent(const struct schema *schema, const struct schema_row *row);

/* What it moves, or the nearest section above it that says; never AS_ABOVE. */
enum schema_moves schema_moves_of(const struct schema *schema, const struct schema_row *row);

/* Whether rows below it follow: it is written as a mapping. */
bool schema_has_inner(const struct schema *schema, const struct schema_row *row);

/* Whether the row's key means anything beside what `object` holds. */
bool schema_applies(const struct schema_row *row, const void *object);

/* The value that `object` holds, as YAML that reads back as the same value. NULL: none. */
const char *schema_value_text(struct arena *arena, const struct schema_row *row,
                              const void *object);

/* The two objects hold the same value there, so its texts are the same, too. False also where it
 * takes these to say so: of values that are more than a number, a text or a word of a list. */
bool schema_is_same_value(const struct schema_row *row, const void *object, const void *other);

/* Both hold a quantity there, and not the same: their texts read back as these, so they differ.
 * False also where it takes the texts to say so. */
bool schema_is_other_quantity(const struct schema_row *row, const void *object, const void *other);

/* What is wrong with a schema, as a sentence; NULL when it is sound: sentences for help, rows
 * of a section behind it, bounds in order, defaults within them, names where they are needed. */
const char *schema_fault(struct arena *arena, const struct schema *schema);

#endif
