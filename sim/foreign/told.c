/* Arrays in order of being told, walked from the front: a run has some hundred settings. */
#include "foreign/told.h"

#include "foreign/launch/shell_words.h"

#include "base/arena.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { SETTINGS_MAX = 5000 };

/* ---- settings ------------------------------------------------------------------------------- */

static struct told_setting *find(const struct told *told, const char *name)
{
    for (size_t i = 0; i < told->setting_count; i++) {
        if (strcmp(told->settings[i].name, name) == 0) {
            return &told->settings[i];
        }
    }
    return NULL;
}

const struct told_setting *told_find(const struct told *told, const char *name)
{
    return find(told, name);
}

struct place told_place(const struct told *told, const struct told_setting *setting)
{
    if (setting->at != NULL) {
        return text_file_place(&told->importer->file, setting->at);
    }
    return setting->place.file != NULL ? setting->place
                                       : (struct place){.file = told->importer->file.path};
}

void told_set(struct told *told, const struct told_setting *setting)
{
    struct told_setting *old = find(told, setting->name);
    if (old != NULL) {
        const bool differs = strcmp(old->value, setting->value) != 0;
        *old = *setting;
        if (differs) {
            told_warn(told, setting->name, "is said twice, and the last counts");
        }
        return;
    }
    if (told->setting_count == SETTINGS_MAX) {
        return;
    }
    told->settings = arena_grow(told->importer->arena, told->settings, &told->setting_capacity,
                                told->setting_count + 1, sizeof *told->settings);
    told->settings[told->setting_count++] = *setting;
}

void told_drop(struct told *told, const char *name)
{
    struct told_setting *setting = find(told, name);
    if (setting != NULL) {
        const size_t behind = (size_t)(told->settings + --told->setting_count - setting);
        memmove(setting, setting + 1, behind * sizeof *setting);
    }
}

const char *told_shown(const struct told *told, const char *name)
{
    static const char file[] = "ds."; /* a key of DeepSpeed's configuration */
    if (strncmp(name, file, sizeof file - 1) == 0) {
        return name + sizeof file - 1;
    }
    char *shown = arena_printf(told->importer->arena, "%s%s", told->sign, name);
    for (char *letter = shown; *letter != '\0' && told->has_dashes; letter++) {
        *letter = (char)(*letter == '_' ? '-' : *letter);
    }
    return shown;
}

/* What stands for what is not known, with its remedy; the setting is none from then on. */
static void refuse_unknown(struct told *told, struct told_setting *setting)
{
    struct importer *importer = told->importer;
    const char *begin = strchr(setting->value, SHELL_UNKNOWN) + 1;
    const char *name = arena_strndup(importer->arena, begin, strcspn(begin, "\x02"));
    const struct place place = told_place(told, setting);
    diag_add(importer->diag, DIAG_INPUT, &place, "%s is %s%s, which cannot be known from %s alone",
             told_shown(told, setting->name), name[0] == '$' || name[0] == '`' ? "" : "$", name,
             told->what);
    if (name[0] == '$' || name[0] == '`') {
        diag_help(importer->diag, "it is a command's output: write the value in its place");
    } else {
        const bool is_number = strspn(name, "0123456789") == strlen(name);
        diag_help(importer->diag,
                  is_number ? "say it: --arguments \"...\", the words of which $%s "
                              "is one"
                            : "say it: --variable %s=VALUE",
                  name);
    }
    told->is_bad = true;
    setting->value = "";
}

const char *told_text(struct told *told, const char *name)
{
    struct told_setting *setting = find(told, name);
    if (setting == NULL || strcmp(setting->value, "None") == 0 ||
        strcmp(setting->value, "null") == 0) {
        return "";
    }
    if (strchr(setting->value, SHELL_UNKNOWN) != NULL) {
        refuse_unknown(told, setting);
    }
    return setting->value;
}

bool told_is(struct told *told, const char *name, const char *value)
{
    return strcmp(told_text(told, name), value) == 0;
}

bool told_has(struct told *told, const char *name)
{
    return told_text(told, name)[0] != '\0';
}

bool told_truth(struct told *told, const char *name, bool absent)
{
    static const char *const words[2][4] = {{"False", "false", "0", "no"},
                                            {"True", "true", "1", "yes"}};
    const char *text = told_text(told, name);
    for (uint32_t i = 0; i < 8; i++) {
        if (strcmp(text, words[i / 4][i % 4]) == 0) {
            return i >= 4;
        }
    }
    if (text[0] != '\0') {
        told_refuse(told, name,
                    arena_printf(told->importer->arena, "%s is '%.60s', and no truth",
                                 told_shown(told, name), text),
                    "true or false");
    }
    return absent;
}

double told_number(struct told *told, const char *name, double absent)
{
    const char *text = told_text(told, name);
    double value = absent;
    if (text[0] != '\0' &&
        !text_span_number((struct text_span){text, text + strlen(text)}, &value)) {
        told_refuse(told, name,
                    arena_printf(told->importer->arena, "%s is '%.60s', and no number",
                                 told_shown(told, name), text),
                    "a plain number is meant");
        return absent;
    }
    return value;
}

const char *told_plain_digits(struct arena *arena, const char *text)
{
    if (strspn(text, "0123456789_") != strlen(text)) {
        return text;
    }
    char *plain = arena_strdup(arena, text);
    char *to = plain;
    for (const char *from = text; *from != '\0'; from++) {
        *to = *from;
        to += *from != '_' ? 1 : 0;
    }
    *to = '\0';
    return plain;
}

int64_t told_count(struct told *told, const char *name, int64_t absent)
{
    static const double most = 1e15;
    const char *text = told_plain_digits(told->importer->arena, told_text(told, name));
    double value = 0;
    if (text[0] == '\0') {
        return absent;
    }
    const bool is_number = text_span_number((struct text_span){text, text + strlen(text)}, &value);
    if (!is_number || value > most || value < -most || (double)(int64_t)value != value) {
        told_refuse(told, name,
                    arena_printf(told->importer->arena, "%s is '%.60s', and no whole number",
                                 told_shown(told, name), text),
                    "write it without a unit, like 8192");
        return absent;
    }
    return (int64_t)value;
}

int64_t told_need(struct told *told, const char *name)
{
    const bool was_bad = told->is_bad;
    const int64_t value = told_count(told, name, 0);
    if (value < 1 && !was_bad && !told->is_bad) {
        const bool is_told = find(told, name) != NULL;
        told_refuse(told, name,
                    is_told ? arena_printf(told->importer->arena, "%s is no number from 1 on",
                                           told_shown(told, name))
                            : arena_printf(told->importer->arena, "%s does not tell %s", told->what,
                                           told_shown(told, name)),
                    told->remedy);
    }
    return value > 0 ? value : 1;
}

void told_refuse(struct told *told, const char *name, const char *what, const char *help)
{
    const struct told_setting *setting = name != NULL ? find(told, name) : NULL;
    const struct place place = setting != NULL ? told_place(told, setting)
                                               : (struct place){.file = told->importer->file.path};
    diag_add(told->importer->diag, DIAG_INPUT, &place, "%s", what);
    diag_help(told->importer->diag, "%s", help);
    told->is_bad = true;
}

void told_warn(struct told *told, const char *name, const char *what)
{
    const struct told_setting *setting = find(told, name);
    const struct place place = setting != NULL ? told_place(told, setting)
                                               : (struct place){.file = told->importer->file.path};
    diag_add(told->importer->diag, DIAG_WARNING, &place, "%s %s", told_shown(told, name), what);
}

char *told_lower(struct arena *arena, const char *text)
{
    char *lower = arena_strdup(arena, text);
    for (char *letter = lower; *letter != '\0'; letter++) {
        *letter = (char)tolower((unsigned char)*letter);
    }
    return lower;
}

/* ---- what settings are for ------------------------------------------------------------------ */

/* To the end of both, or to the star of a beginning; a name of the table ends at a blank. */
static bool is_named(const char *row, const char *name)
{
    while (*row != '\0' && *row != ' ' && *row != '*') {
        const char letter = (char)(*name == '-' ? '_' : *name);
        if (letter != *row) {
            return false;
        }
        row++;
        name++;
    }
    return *row == '*' || *name == '\0';
}

static const char *find_word(const char *words, const char *name)
{
    while (*words != '\0' && !is_named(words, name)) {
        words += strcspn(words, " ");
        words += strspn(words, " ");
    }
    return *words != '\0' ? words : NULL;
}

bool told_has_word(const char *words, const char *name)
{
    return find_word(words, name) != NULL;
}

struct told_row told_row_of(const struct told_table *table, const char *name)
{
    for (size_t i = 0; i < table->row_count; i++) {
        if (told_has_word(table->rows[i].name, name)) {
            return table->rows[i];
        }
    }
    bool is_aside = false;
    for (size_t i = 0; i < table->aside_count && !is_aside; i++) {
        is_aside = told_has_word(table->aside[i], name);
    }
    return (struct told_row){.use = told_has_word(table->read, name) ? TOLD_READ
                                    : is_aside                       ? TOLD_ASIDE
                                                                     : TOLD_UNKNOWN};
}

/* The nearest of the words; NULL: none is near. */
static const char *nearest_of(struct arena *arena, const char *words, const char *word)
{
    const char **names = arena_array(arena, strlen(words) / 2 + 1, sizeof *names);
    uint32_t count = 0;
    for (const char *at = words + strspn(words, " "); *at != '\0'; at += strspn(at, " ")) {
        const size_t length = strcspn(at, " ");
        names[count++] = arena_strndup(arena, at, length);
        at += length;
    }
    return diag_nearest(word, names, count);
}

bool told_is_usual(const struct told_row *row, const char *value)
{
    const char *at = row->usual;
    const struct text_span span = {value, value + strlen(value)};
    while (at != NULL && at[1] != '\0') {
        const size_t size = strcspn(at + 1, "|");
        const struct text_span word = {at + 1, at + 1 + size};
        bool is_same = text_span_length(span) == size;
        for (size_t i = 0; i < size && is_same; i++) { /* false is False */
            is_same = tolower((unsigned char)word.begin[i]) == tolower((unsigned char)value[i]);
        }
        if (is_same) {
            return true;
        }
        at += size + 1;
    }
    return value[0] == '\0' || strcmp(value, "None") == 0;
}

static void tell_unknown(struct told *told, const struct told_setting *setting, const char *words)
{
    struct arena *arena = told->importer->arena;
    told_warn(told, setting->name, "is no argument that stoker knows, and is left out");
    const char *nearest = nearest_of(arena, words, setting->name);
    if (nearest != NULL) {
        diag_help(told->importer->diag, "did you mean %s?", told_shown(told, nearest));
    }
}

static void refuse_setting(struct told *told, const struct told_setting *setting, const char *means)
{
    told_refuse(told, setting->name,
                arena_printf(told->importer->arena, "%s is %.60s: the model has %s, and %s",
                             told_shown(told, setting->name), setting->value, means,
                             told->is_whole ? "a table of runs has no column for that"
                                            : "a scenario has no key for that"),
                "name the model: --model NAME, of `stoker list models`");
}

void told_check(struct told *told, told_find_row *find_row, const struct told_table *table)
{
    for (size_t i = 0; i < told->setting_count; i++) {
        const struct told_setting *setting = &told->settings[i];
        const struct told_row row = find_row(setting->name);
        const bool is_usual = told_is_usual(&row, setting->value);
        if (row.use == TOLD_REFUSED && !is_usual && told->importer->model == NULL) {
            if (told_has(told, setting->name)) { /* and is known */
                refuse_setting(told, setting, row.means);
            }
            return;
        }
        if (row.use == TOLD_LEFT && !is_usual && !told->is_whole) {
            told_warn(told, setting->name,
                      arena_printf(told->importer->arena, "is not read: %s", row.means));
        } else if (row.use == TOLD_UNKNOWN && !told->is_whole) {
            tell_unknown(told, setting, table->read);
        }
    }
}

/* ---- keys ----------------------------------------------------------------------------------- */

static struct told_key *find_key(const struct told *told, const char *path)
{
    for (size_t i = 0; i < told->key_count; i++) {
        if (strcmp(told->keys[i].path, path) == 0) {
            return &told->keys[i];
        }
    }
    return NULL;
}

void told_put(struct told *told, const char *path, const char *value, const char *setting)
{
    struct told_key *key = find_key(told, path);
    if (key == NULL) {
        told->keys = arena_grow(told->importer->arena, told->keys, &told->key_capacity,
                                told->key_count + 1, sizeof *told->keys);
        key = &told->keys[told->key_count++];
    }
    *key = (struct told_key){path, value, setting};
}

void told_put_count(struct told *told, const char *path, int64_t value, const char *setting)
{
    told_put(told, path, arena_printf(told->importer->arena, "%" PRId64, value), setting);
}

void told_put_truth(struct told *told, const char *path, bool value, const char *setting)
{
    told_put(told, path, value ? "true" : "false", setting);
}

const char *told_key(const struct told *told, const char *path)
{
    const struct told_key *key = find_key(told, path);
    return key != NULL ? key->value : NULL;
}

void told_note(struct told *told, const char *note)
{
    for (size_t i = 0; i < told->note_count; i++) {
        if (strcmp(told->notes[i], note) == 0) {
            return;
        }
    }
    told->notes = arena_grow(told->importer->arena, told->notes, &told->note_capacity,
                             told->note_count + 1, sizeof *told->notes);
    told->notes[told->note_count++] = note;
}
