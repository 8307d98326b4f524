/* What somebody told a trainer, and what of a scenario that comes to.
 *
 * Settings are what a log, a command line, a configuration says, by the trainer's own names, each
 * with its place. Keys are those of a scenario (`parallel.tp`), each with the setting that says it,
 * so what is wrong with a scenario is told where its value was written. What nobody said and
 * stoker assumes is a note.
 *
 *     settings  --megatron_read()-->  keys  --scenario_print()-->   a scenario's file
 *                                           --import_megatron()-->  a row of measured runs
 */
#ifndef FOREIGN_TOLD_H
#define FOREIGN_TOLD_H

#include "foreign/import.h"

struct told_setting {
    const char *name;
    const char *value;
    const char *at;     /* in the text of the importer's file; NULL: `place` tells */
    struct place place; /* of another file */
};

struct told_key {
    const char *path;
    const char *value;
    const char *setting; /* that says it; NULL: none does */
};

struct told {
    struct importer *importer;
    const char *what;   /* "the log", "the command line" */
    const char *sign;   /* in front of a setting's name in messages: "--", "" */
    bool has_dashes;    /* names are written with them: seq-length */
    const char *remedy; /* for what is not told */
    bool is_whole;      /* what is not among them does not exist: else defaults hold */
    struct told_setting *settings;
    size_t setting_count, setting_capacity;
    struct told_key *keys;
    size_t key_count, key_capacity;
    const char **notes; /* what was not said */
    size_t note_count, note_capacity;
    bool is_bad; /* something was said to the user */
};

/* ---- settings ----------------------------------------------------------------------------- */

/* Of a name that is set again the last counts, with a warning where it differs. */
void told_set(struct told *told, const struct told_setting *setting);

/* As if it had not been told. */
void told_drop(struct told *told, const char *name);

/* NULL: it is not told. */
const struct told_setting *told_find(const struct told *told, const char *name);

struct place told_place(const struct told *told, const struct told_setting *setting);

/* Its name as it is written there: "--seq-length". */
const char *told_shown(const struct told *told, const char *name);

/* "" when it is not told, or None, or null; an error, once, when it is nothing that can be known
 * without running the script. */
const char *told_text(struct told *told, const char *name);
bool told_is(struct told *told, const char *name, const char *value);
bool told_has(struct told *told, const char *name);

/* `absent` when it is not told; an error when it is no truth, no whole number. */
bool told_truth(struct told *told, const char *name, bool absent);
int64_t told_count(struct told *told, const char *name, int64_t absent);
double told_number(struct told *told, const char *name, double absent);

/* The same, and an error when it is not told; 1 then. */
int64_t told_need(struct told *told, const char *name);

/* At the setting, or of the whole file where it is not told; told is bad then. */
void told_refuse(struct told *told, const char *name, const char *what, const char *help);
void told_warn(struct told *told, const char *name, const char *what);

/* In small letters. */
char *told_lower(struct arena *arena, const char *text);

/* Python's 300_000_000 and TOML's without their underlines; another text as it is. */
const char *told_plain_digits(struct arena *arena, const char *text);

/* ---- what settings are for ------------------------------------------------------------------ */

enum told_use {
    TOLD_READ,     /* it comes to keys */
    TOLD_ASIDE,    /* it changes neither a step nor a run: convergence, logs, paths */
    TOLD_LEFT,     /* it changes a step, and is not simulated: a warning */
    TOLD_REFUSED,  /* it changes parameters or FLOPs in a way that is not read: an error */
    TOLD_SPELLING, /* of a command line, for another */
    TOLD_UNKNOWN,
};

struct told_row {
    const char *name; /* with '*' at its end: all that begin so */
    enum told_use use;
    const char *means; /* of a spelling: the argument, its value below; else what it brings in */
    const char *usual; /* "|False|0|": values that bring nothing, beside None; NULL: that is all */
};

#define TOLD_ROW_LEFT(name, means, usual) \
    {                                     \
        name, TOLD_LEFT, means, usual     \
    }
#define TOLD_ROW_REFUSED(name, means, usual) \
    {                                        \
        name, TOLD_REFUSED, means, usual     \
    }

/* A trainer's settings: rows, then names that need none, in texts of told_has_word. */
struct told_table {
    const struct told_row *rows;
    size_t row_count;
    const char *read;         /* TOLD_READ */
    const char *const *aside; /* TOLD_ASIDE */
    size_t aside_count;
};

/* The row of a name; of none that is known all but `use` is zero. */
struct told_row told_row_of(const struct told_table *table, const char *name);
typedef struct told_row told_find_row(const char *name);

/* A name among those of a table, which are parted by blanks; one with '*' at its end is of all that
 * begin so. '-' is '_'. */
bool told_has_word(const char *words, const char *name);

/* A value that brings in nothing. */
bool told_is_usual(const struct told_row *row, const char *value);

/* Tells what is not read, at its place: what is unknown or left out is a warning (of what is not
 * whole), what is refused an error, unless the model is named. For an unknown name the nearest of
 * those that the table reads is shown. */
void told_check(struct told *told, told_find_row *find, const struct told_table *table);

/* ---- keys ----------------------------------------------------------------------------------- */

/* `setting` says it, or NULL. A key that is there already is changed. */
void told_put(struct told *told, const char *path, const char *value, const char *setting);
void told_put_count(struct told *told, const char *path, int64_t value, const char *setting);
void told_put_truth(struct told *told, const char *path, bool value, const char *setting);

/* Its value; NULL: there is none. */
const char *told_key(const struct told *told, const char *path);

/* What is assumed, in a sentence without an end, and why: each once. */
void told_note(struct told *told, const char *note);

#endif
