/* How the rows of a schema are written: one macro a kind, with what that kind cannot do
 * without. SCHEMA_OBJECT is the struct whose members are named; a member of the wrong type
 * does not compile.
 *
 *     {QUANTITY("data.time_per_sample", data.time_per_sample_s, DIM_SECONDS, 0.0, 1e3,
 *               "What one worker takes for one sequence."),
 *      .standard = "2 ms", .is_assumed = true},
 *
 * For the files that hold a schema; nobody else includes it.
 */
#ifndef INPUT_SCHEMA_ROWS_H
#define INPUT_SCHEMA_ROWS_H

#include "input/schema/schema.h"

#define SCHEMA_MEMBER(type_, member_) \
    _Generic(((SCHEMA_OBJECT *)NULL)->member_, type_ : offsetof(SCHEMA_OBJECT, member_))
#define SCHEMA_ROW(path_, kind_, offset_, help_) \
    .path = (path_), .kind = (kind_), .offset = (offset_), .help = (help_)

#define COUNT(path_, member_, least_, most_, help_)                          \
    SCHEMA_ROW(path_, SCHEMA_COUNT, SCHEMA_MEMBER(int64_t, member_), help_), \
        .least = (double)(least_), .most = (double)(most_)
#define QUANTITY(path_, member_, dimension_, least_, most_, help_)             \
    SCHEMA_ROW(path_, SCHEMA_QUANTITY, SCHEMA_MEMBER(double, member_), help_), \
        .dimension = (dimension_), .least = (least_), .most = (most_)
#define BOOL(path_, member_, help_) \
    SCHEMA_ROW(path_, SCHEMA_BOOL, SCHEMA_MEMBER(bool, member_), help_)
/* True as a rule: the member says when it is not. */
#define BOOL_UNLESS(path_, member_, help_)                                        \
    BOOL(path_, member_, help_), .standard = "true", .read = schema_read_negated, \
                                 .text = schema_text_of_true
#define TEXT(path_, member_, help_) \
    SCHEMA_ROW(path_, SCHEMA_TEXT, SCHEMA_MEMBER(const char *, member_), help_)
#define CHOICE(path_, member_, names_, count_, help_)                          \
    SCHEMA_ROW(path_, SCHEMA_CHOICE, SCHEMA_MEMBER(uint32_t, member_), help_), \
        .names = (names_), .name_count = (uint32_t)(count_)
#define NAMES(path_, member_, names_, count_, help_)                          \
    SCHEMA_ROW(path_, SCHEMA_NAMES, SCHEMA_MEMBER(uint32_t, member_), help_), \
        .names = (names_), .name_count = (uint32_t)(count_)
#define SWITCH(path_, member_, help_) \
    SCHEMA_ROW(path_, SCHEMA_SWITCH, SCHEMA_MEMBER(bool, member_), help_), .standard = "off"
#define SECTION(path_, help_) SCHEMA_ROW(path_, SCHEMA_SECTION, SCHEMA_NOWHERE, help_)
/* The same, and where it is written is kept. */
#define SECTION_AT(path_, member_, help_) \
    SCHEMA_ROW(path_, SCHEMA_SECTION, SCHEMA_MEMBER(struct place, member_), help_)
/* Keys of many names, which fill one element each of an array; ONLY_EACH: of none. */
#define EACH(path_, array_, names_, count_, help_) \
    ONLY_EACH(path_, names_, count_, help_), .stride = sizeof *((SCHEMA_OBJECT *)NULL)->array_
#define ONLY_EACH(path_, names_, count_, help_)                               \
    SCHEMA_ROW(path_, SCHEMA_EACH, SCHEMA_NOWHERE, help_), .names = (names_), \
                                                           .name_count = (uint32_t)(count_)
#define NODE(path_, member_, help_) \
    SCHEMA_ROW(path_, SCHEMA_NODE, SCHEMA_MEMBER(const struct doc_node *, member_), help_)
#define ONLY_NODE(path_, help_) SCHEMA_ROW(path_, SCHEMA_NODE, SCHEMA_NOWHERE, help_)
#define CUSTOM(path_, read_, help_) \
    SCHEMA_ROW(path_, SCHEMA_CUSTOM, SCHEMA_NOWHERE, help_), .read = (read_)
/* The same of one member, which the reader has by the row's offset: it need not know the rest. */
#define CUSTOM_AT(path_, read_, type_, member_, help_) \
    SCHEMA_ROW(path_, SCHEMA_CUSTOM, SCHEMA_MEMBER(type_, member_), help_), .read = (read_)

/* Values that are checked and fill no member: there is one way, or `read` does more. */
#define ONLY_COUNT(path_, least_, most_, help_)                                        \
    SCHEMA_ROW(path_, SCHEMA_COUNT, SCHEMA_NOWHERE, help_), .least = (double)(least_), \
                                                            .most = (double)(most_)
#define ONLY_BOOL(path_, help_) SCHEMA_ROW(path_, SCHEMA_BOOL, SCHEMA_NOWHERE, help_)

/* The default is what another member holds. */
#define AS(type_, member_) .as = 1 + SCHEMA_MEMBER(type_, member_)

/* The schema of a table. */
#define SCHEMA_OF(name_, prefix_, rows_)                       \
    {                                                          \
        .name = (name_), .prefix = (prefix_), .rows = (rows_), \
        .count = sizeof(rows_) / sizeof *(rows_)               \
    }

#endif
