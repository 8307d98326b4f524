/* Facts are held against the words of the title one by one; scans of short texts.
 */
#include "input/study/title.h"

#include "base/arena.h"
#include "base/diag.h"
#include "input/scenario.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words ----------------------------------------------------------------------------------- */

/* Its letters and digits alone, small. */
static const char *bare(struct arena *arena, const char *text)
{
    char *copy = arena_strdup(arena, text);
    size_t length = 0;
    for (const char *at = text; *at != '\0'; at++) {
        if (isalnum((unsigned char)*at)) {
            copy[length++] = (char)tolower((unsigned char)*at);
        }
    }
    copy[length] = '\0';
    return copy;
}

/* Whether it stands there by itself, whatever the case of its letters. */
static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (size_t at = 0; length > 0 && text[at] != '\0'; at++) {
        size_t same = 0;
        while (same < length &&
               tolower((unsigned char)text[at + same]) == tolower((unsigned char)word[same])) {
            same++;
        }
        if (same == length && (at == 0 || !isalnum((unsigned char)text[at - 1])) &&
            !isalnum((unsigned char)text[at + length])) {
            return true;
        }
    }
    return false;
}

/* "16,384". */
static const char *grouped(struct arena *arena, int64_t count)
{
    const char *text = "";
    for (; count >= 1000; count /= 1000) {
        text = arena_printf(arena, ",%03d%s", (int)(count % 1000), text);
    }
    return arena_printf(arena, "%d%s", (int)count, text);
}

/* A part of a name between dashes that holds a digit: "" if it holds none. */
static const char *part_with_digit(struct arena *arena, const char *begin, size_t length)
{
    bool has_digit = false;
    for (size_t i = 0; i < length; i++) {
        has_digit = has_digit || isdigit((unsigned char)begin[i]);
    }
    return has_digit ? arena_strndup(arena, begin, length) : "";
}

static const char *first_part(struct arena *arena, const char *name)
{
    return part_with_digit(arena, name, strcspn(name, "-"));
}

static const char *last_part(struct arena *arena, const char *name)
{
    const char *dash = strrchr(name, '-');
    return dash == NULL ? "" : part_with_digit(arena, dash + 1, strlen(dash + 1));
}

/* ---- facts ----------------------------------------------------------------------------------- */

enum title_fact { FACT_MODEL, FACT_GPUS, FACT_KIND, FACT_COUNT_ };

static bool names_model(struct arena *arena, const char *title, const char *model)
{
    const char *name = bare(arena, model);
    return name[0] != '\0' && strstr(bare(arena, title), name) != NULL;
}

static bool names_count(struct arena *arena, const char *title, const char *text)
{
    char *end;
    const long long count = strtoll(text, &end, 10);
    return end != text && *end == '\0' && count > 0 &&
           (has_word(title, text) || has_word(title, grouped(arena, count)));
}

static bool names(struct arena *arena, enum title_fact fact, const char *title, const char *value)
{
    switch (fact) {
    case FACT_MODEL:
        return names_model(arena, title, value);
    case FACT_GPUS:
        return names_count(arena, title, value);
    case FACT_KIND:
    case FACT_COUNT_:
        break;
    }
    return has_word(title, first_part(arena, value));
}

/* Whether the title names what the file has, and that is not what there is. */
static bool is_false(struct arena *arena, enum title_fact fact, const char *title,
                     const char *stated, const char *now)
{
    if (stated == NULL || now == NULL || strcmp(stated, now) == 0) {
        return false;
    }
    const bool is_size = fact == FACT_MODEL && has_word(title, last_part(arena, stated));
    return (is_size || names(arena, fact, title, stated)) && !names(arena, fact, title, now);
}

static const char *word_at(const struct doc_node *document, const char *path)
{
    const struct doc_node *node = doc_find(document, path);
    return node != NULL && node->kind == DOC_SCALAR ? node->text : NULL;
}

/* A GPU is named by itself, or by its cluster. */
static const char *stated_fact(const struct doc_node *document, enum title_fact fact)
{
    const char *gpu = word_at(document, "gpu");
    switch (fact) {
    case FACT_MODEL:
        return word_at(document, "model");
    case FACT_GPUS:
        return word_at(document, "gpus");
    case FACT_KIND:
    case FACT_COUNT_:
        break;
    }
    return gpu != NULL ? gpu : word_at(document, "cluster");
}

/* ---- a scenario's ---------------------------------------------------------------------------- */

const char *title_stated(const struct doc_node *document)
{
    const char *title = word_at(document, "scenario");
    if (title != NULL && title[0] != '\0') {
        return title;
    }
    return document->place.file != NULL ? document->place.file : "a study";
}

const char *title_generate(struct arena *arena, const struct scenario *scenario)
{
    return arena_printf(arena, "%s on %s %s", scenario->model.title, grouped(arena, scenario->gpus),
                        scenario->gpu.title);
}

const char *title_follow(struct arena *arena, const struct doc_node *document,
                         const char *const *sets, uint32_t set_count,
                         const struct scenario *scenario)
{
    const char *stated = word_at(document, "scenario");
    if (stated == NULL || doc_set_last(sets, set_count, "scenario") != NULL) {
        return scenario->title;
    }
    const char *now[FACT_COUNT_] = {
        [FACT_MODEL] = scenario->model.name,
        [FACT_GPUS] = arena_printf(arena, "%" PRId64, scenario->gpus),
        [FACT_KIND] = scenario->gpu.name,
    };
    for (enum title_fact fact = 0; fact < FACT_COUNT_; fact++) {
        if (is_false(arena, fact, stated, stated_fact(document, fact), now[fact])) {
            return title_generate(arena, scenario);
        }
    }
    return stated;
}

/* ---- a study's ------------------------------------------------------------------------------- */

/* As a file would have it, without its quotes; NULL: nothing is set. */
static const char *title_set(struct arena *arena, const char *const *sets, uint32_t count)
{
    const char *value = doc_set_last(sets, count, "scenario");
    struct doc_node *root =
        value == NULL ? NULL : doc_parse(arena, "--set", value, strlen(value), diag_new(arena));
    return value == NULL ? NULL : root != NULL && root->kind == DOC_SCALAR ? root->text : value;
}

/* A study's axis of that key that the command line has: its file's name is the option. */
static const struct doc_node *axis_of(const struct doc_node *document, const char *path)
{
    const struct doc_node *sweep = doc_find(document, "sweep");
    const struct doc_node *axis = sweep != NULL ? doc_find(sweep, path) : NULL;
    const bool is_set = axis != NULL && axis->kind == DOC_SEQUENCE && axis->place.file != NULL &&
                        strncmp(axis->place.file, "--", 2) == 0;
    return is_set ? axis : NULL;
}

/* Whether points of the study differ in it, whoever says so. */
static bool differs(const struct doc_node *document, const char *path)
{
    const struct doc_node *sweep = doc_find(document, "sweep");
    const struct doc_node *variants = doc_find(document, "variants");
    const struct doc_node *variant = variants != NULL ? variants->child : NULL;
    bool is_set = sweep != NULL && doc_find(sweep, path) != NULL;
    for (; variant != NULL && !is_set; variant = variant->next) {
        const struct doc_node *set = doc_find(variant, "set");
        is_set = set != NULL && doc_find(set, path) != NULL;
    }
    return is_set;
}

/* A fact of a study: one value, or several. */
struct varied {
    const char *stated, *now;
    const struct doc_node *axis; /* of the command line; NULL: there is none */
    bool are_many;
};

static struct varied varied_of(const struct doc_node *document, const char *const *sets,
                               uint32_t count, enum title_fact fact)
{
    static const char *const paths[FACT_COUNT_][2] = {[FACT_MODEL] = {"model", "model"},
                                                      [FACT_GPUS] = {"gpus", "gpus"},
                                                      [FACT_KIND] = {"cluster", "gpu"}};
    struct varied varied = {.stated = stated_fact(document, fact)};
    varied.now = varied.stated;
    for (uint32_t i = 0; i < 2; i++) {
        const char *set = doc_set_last(sets, count, paths[fact][i]);
        const struct doc_node *axis = axis_of(document, paths[fact][i]);
        varied.now = set != NULL ? set : varied.now;
        varied.axis = axis != NULL ? axis : varied.axis;
        varied.are_many = varied.are_many || differs(document, paths[fact][i]);
    }
    return varied;
}

static bool is_varied_false(struct arena *arena, enum title_fact fact, const char *title,
                            const struct varied *varied)
{
    if (varied->axis == NULL) {
        return is_false(arena, fact, title, varied->stated, varied->now);
    }
    for (const struct doc_node *value = varied->axis->child; value != NULL; value = value->next) {
        if (value->kind == DOC_SCALAR &&
            is_false(arena, fact, title, varied->stated, value->text)) {
            return true;
        }
    }
    return false;
}

const char *title_of_study(struct arena *arena, const struct doc_node *document,
                           const char *const *sets, uint32_t set_count)
{
    const char *set = title_set(arena, sets, set_count);
    const char *stated = title_stated(document);
    struct varied facts[FACT_COUNT_];
    bool is_wrong = false;
    for (enum title_fact fact = 0; fact < FACT_COUNT_; fact++) {
        facts[fact] = varied_of(document, sets, set_count, fact);
        is_wrong = is_wrong || is_varied_false(arena, fact, stated, &facts[fact]);
    }
    if (set != NULL || !is_wrong) {
        return set != NULL ? set : stated;
    }
    const struct varied *model = &facts[FACT_MODEL];
    const struct varied *gpus = &facts[FACT_GPUS];
    const struct varied *kind = &facts[FACT_KIND];
    const char *many =
        gpus->are_many || gpus->now == NULL
            ? ""
            : arena_printf(arena, "%s ", grouped(arena, strtoll(gpus->now, NULL, 10)));
    return arena_printf(arena, "%s on %sGPUs of %s",
                        model->are_many || model->now == NULL ? "models" : model->now, many,
                        kind->are_many || kind->now == NULL ? "several clusters" : kind->now);
}
