/* A member of a struct, described for those who print or store it: its name, where it lies, and
 * how people read it.
 *
 *     static const struct field fields[] = {
 *         {"name", FIELD_AT(struct gpu, name), FIELD_LEFT("GPU")},
 *         {"memory_bytes", FIELD_AT(struct gpu, memory_bytes), FIELD_RIGHT("GB", "%.1f", 1e-9)},
 *         {"sms", FIELD_AT(struct gpu, sms)},
 *     };
 *
 * A list of these is one table of a report (report/sheet.h): each field is a member in JSON and,
 * if it has a head, a column of the text. What does not lie in the struct as it shall be printed
 * is added by a small function that is named in the field.
 */
#ifndef BASE_FIELD_H
#define BASE_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct sheet;

/* Of the member, as C has it. CHARS is an array of char in the struct itself; a double that is
 * ABSENT and a text that is NULL do not exist. */
enum field_kind {
    FIELD_NONE, /* not described: whoever uses the field gives the value */
    FIELD_TEXT,
    FIELD_CHARS,
    FIELD_BOOL,
    FIELD_REAL,
    FIELD_INT64,
    FIELD_UINT64,
    FIELD_INT32,
    FIELD_UINT32,
    FIELD_UINT16,
    FIELD_UINT8,
};

struct field {
    const char
        *key; /* in JSON: SI, with its unit; "memory.fits" lies in "memory"; NULL: not there */
    size_t offset;
    enum field_kind kind;
    bool is_said;             /* a text that is "" does not exist either */
    const char *const *names; /* the number stands for one of these; NULL: it is a number */
    uint32_t name_count;
    const char *head;   /* of the column of the text; NULL: not there */
    const char *csv;    /* of that of CSV, where it is not the key (report/sheet.h); NULL */
    bool is_range;      /* each cell is two numbers, or none: CSV has a column of each */
    bool is_sized;      /* the head is a unit ("USD"): the text has thousands or millions of it, one
                         * for all cells ("k USD"), in place of format and scale */
    const char *format; /* of a number, for printf with a double, "%.1f"; NULL: "%.0f" */
    bool is_unit;       /* the head is the unit of the cells: "80.3 k USD" */
    double scale;       /* shown is the number times this; below 1, over its inverse */
    double last_digit;  /* that the text tells, a power of ten of the number's own unit; 0: as the
                         * format does. CSV and JSON have all */
    bool is_right;      /* aligned */
    const char *before; /* each cell of the text, "= "; NULL: nothing */
    /* The column gives way where the page is too narrow (report/page.h): the largest first, those
     * of 0 last and from the right. */
    uint8_t gives_way;
    bool is_broken; /* into lines, where it has no room: a text of many words; else the last is */
    bool is_common; /* where all rows say the same, it is said once, below the table */
    bool is_for_programs; /* CSV and Markdown have the column, the text has not */
    const char *(*show)(struct arena *arena, double value); /* in place of format and scale */
    /* Adds the one value to `in`, as sheet_text and its kin do: what no member holds. */
    void (*add)(struct sheet *in, const char *key, const void *record);
};

/* Never defined: it stands where a type is asked for and nothing is read. */
extern void *const field_unread;

#define FIELD_KIND(member) \
    _Generic((member),            \
        const char *: FIELD_TEXT, \
        char *: FIELD_CHARS,      \
        bool: FIELD_BOOL,         \
        double: FIELD_REAL,       \
        int64_t: FIELD_INT64,     \
        uint64_t: FIELD_UINT64,   \
        int32_t: FIELD_INT32,     \
        uint32_t: FIELD_UINT32,   \
        uint16_t: FIELD_UINT16,   \
        uint8_t: FIELD_UINT8)

#define FIELD_AT(type, member) \
    .offset = offsetof(type, member), .kind = FIELD_KIND(((type *)field_unread)->member)
/* An array that is as long as its declaration says: no name is read from behind its end. */
#define FIELD_NAMES(words) .names = (words), .name_count = sizeof(words) / sizeof *(words)
#define FIELD_LEFT(title) .head = (title)
#define FIELD_RIGHT(title, form, times) \
    .head = (title), .is_right = true, .format = (form), .scale = (times)
#define FIELD_COUNT(title) .head = (title), .is_right = true
/* A format of "%+" signs them. */
#define FIELD_SIZED(unit) .head = (unit), .is_right = true, .is_sized = true
/* CSV has the ends as `name`_low and `name`_high. */
#define FIELD_RANGE(title, name) .head = (title), .csv = (name), .is_range = true
#define FIELD_SHOW(title, shows) .head = (title), .is_right = true, .show = (shows)
/* Of a list of fields: the list and its count, as functions take them. */
#define FIELD_LIST(fields) (fields), (uint32_t)(sizeof(fields) / sizeof *(fields))

enum value_kind { VALUE_NULL, VALUE_TEXT, VALUE_BOOL, VALUE_INTEGER, VALUE_REAL };

struct field_value {
    enum value_kind kind;
    union {
        const char *text;
        int64_t integer; /* of a bool, too */
        double real;
    };
};

/* The member's value in a record of the struct that the field describes; texts are borrowed. */
struct field_value field_value(const struct field *field, const void *record);

/* A number times the field's scale. */
double field_scaled(const struct field *field, double number);

/* As the field shows a number: "41.3". */
const char *field_shown(const struct field *field, struct arena *arena, double number);

/* As a format does, but that zero has no sign: "0.0" of -0.04. */
const char *field_number(struct arena *arena, const char *format, double number);

#endif
