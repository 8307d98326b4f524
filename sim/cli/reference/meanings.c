/* A plain scan of some hundred texts and as many small files. Keys whose path has the word come
 * before those whose meaning has it. */
#include "cli/reference/meanings.h"

#include "base/arena.h"
#include "cli/options.h"
#include "cli/reference/reference.h"
#include "input/doc/leaves.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define WORDS_FILE "models/words.yaml"

enum { WORDS_MAX = 32, KEYS_SHOWN_MAX = 12, OPTIONS_SHOWN_MAX = 8, VALUE_MAX = 80 };

struct meant {
    struct arena *arena;
    const struct catalogue *catalogue;
    const char *words[WORDS_MAX];
    uint32_t count;
};

/* ---- words ----------------------------------------------------------------------------------- */

static bool is_letter(char letter)
{
    return isalnum((unsigned char)letter) != 0;
}

/* Blanks and marks alone are none: they are in all texts. */
static bool is_word(const char *text)
{
    bool is = false;
    for (; *text != '\0' && !is; text++) {
        is = is_letter(*text);
    }
    return is;
}

/* As a whole word, or several behind one another, however written. */
static bool has_word(const char *text, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = text; *at != '\0'; at++) {
        if (strncasecmp(at, word, length) == 0 && (at == text || !is_letter(at[-1])) &&
            !is_letter(at[length])) {
            return true;
        }
    }
    return false;
}

static bool has_any(const struct meant *meant, const char *text)
{
    bool has = false;
    for (uint32_t i = 0; text != NULL && i < meant->count; i++) {
        has = has || has_word(text, meant->words[i]);
    }
    return has;
}

static bool is_one_of(const struct meant *meant, const char *text)
{
    bool is = false;
    for (uint32_t i = 0; i < meant->count; i++) {
        is = is || strcasecmp(text, meant->words[i]) == 0;
    }
    return is;
}

static bool is_in_row(const struct doc_node *row, const char *word)
{
    bool is = false;
    for (const struct doc_node *own = row->child; own != NULL; own = own->next) {
        is = is || (own->kind == DOC_SCALAR && strcasecmp(own->text, word) == 0);
    }
    return is;
}

/* The word, then those of its row. */
static void find_words(struct meant *meant, const char *word)
{
    const char *path = catalogue_file(meant->arena, meant->catalogue, WORDS_FILE);
    const struct doc_node *root =
        path != NULL
            ? doc_files_load(meant->catalogue->files, meant->arena, path, diag_new(meant->arena))
            : NULL;
    const struct doc_node *rows = root != NULL ? doc_find(root, "words") : NULL;
    meant->words[meant->count++] = word;
    for (const struct doc_node *row = rows != NULL ? rows->child : NULL; row != NULL;
         row = row->next) {
        for (const struct doc_node *own = is_in_row(row, word) ? row->child : NULL;
             own != NULL && meant->count < WORDS_MAX; own = own->next) {
            if (own->kind == DOC_SCALAR && strcasecmp(own->text, word) != 0) {
                meant->words[meant->count++] = own->text;
            }
        }
    }
}

static void say_words(const struct meant *meant, struct page *page)
{
    const char *text = meant->words[0];
    for (uint32_t i = 1; i < meant->count; i++) {
        text = arena_printf(meant->arena, "%s, %s", text, meant->words[i]);
    }
    page_put(page, arena_printf(meant->arena, "%s:\n", text));
}

/* Without a page it is only counted what there is. */
static void put(struct page *page, const char *text)
{
    if (page != NULL) {
        page_put(page, text);
    }
}

/* ---- where they are -------------------------------------------------------------------------- */

/* The second time those whose meaning alone has it. Returns how many there are. */
static uint32_t put_keys(const struct meant *meant, bool by_meaning, uint32_t shown,
                         struct page *page)
{
    uint32_t count = 0, found = 0;
    const struct reference_key *keys = reference_keys(meant->arena, &count);
    for (uint32_t i = 0; i < count; i++) {
        const bool is_of_path = has_any(meant, keys[i].path);
        if (by_meaning ? is_of_path || !has_any(meant, keys[i].row->help) : !is_of_path) {
            continue;
        }
        if (shown + found < KEYS_SHOWN_MAX) {
            put(page, arena_printf(meant->arena, "%s  %-30s %s\n",
                                   shown + found == 0 ? "\nkeys (stoker help KEY)\n" : "",
                                   keys[i].path, keys[i].row->help));
        }
        found++;
    }
    return found;
}

static uint32_t put_all_keys(const struct meant *meant, struct page *page)
{
    const uint32_t named = put_keys(meant, false, 0, page);
    const uint32_t all = named + put_keys(meant, true, named, page);
    if (all > KEYS_SHOWN_MAX) {
        put(page, arena_printf(meant->arena, "  and %u more: stoker list keys\n",
                               (unsigned)(all - KEYS_SHOWN_MAX)));
    }
    return all;
}

static bool has_option(const struct meant *meant, const struct command_option *row)
{
    uint32_t count = 0;
    const char *const *words =
        row->words != NULL || row->words_of != NULL ? option_words(row, &count) : NULL;
    bool has = has_any(meant, row->name) || has_any(meant, row->help);
    for (uint32_t i = 0; i < count; i++) {
        has = has || is_one_of(meant, words[i]);
    }
    return has;
}

static uint32_t put_options_of(const struct meant *meant, const struct command *command,
                               uint32_t shown, struct page *page)
{
    uint32_t found = 0;
    for (const struct command_option *const *table = command->options; *table != NULL; table++) {
        for (const struct command_option *row = *table; row->help != NULL; row++) {
            if (row->name == NULL || reference_shared(*table) != NULL || !has_option(meant, row)) {
                continue;
            }
            if (shown + found < OPTIONS_SHOWN_MAX) {
                const char *name = arena_printf(meant->arena, "%s --%s", command->name, row->name);
                put(page, arena_printf(meant->arena, "%s  %-30s %s\n",
                                       shown + found == 0 ? "\noptions\n" : "", name,
                                       option_help(meant->arena, row)));
            }
            found++;
        }
    }
    return found;
}

static uint32_t put_commands(const struct meant *meant, const struct program *program,
                             struct page *page)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < program->command_count; i++) {
        const struct command *command = program->commands[i];
        if (has_any(meant, command->name) || has_any(meant, command->summary)) {
            put(page, arena_printf(meant->arena, "%s  %-9s %s\n", found == 0 ? "\ncommands\n" : "",
                                   command->name, command->summary));
            found++;
        }
    }
    uint32_t options = 0;
    for (uint32_t i = 0; i < program->command_count; i++) {
        options += put_options_of(meant, program->commands[i], options, page);
    }
    return found + options;
}

/* ---- files of the catalogue ------------------------------------------------------------------ */

/* Its title, what it has, and what that is; sources name other things. */
static bool has_file(const struct meant *meant, const struct doc_node *root)
{
    const struct doc_leaves leaves = doc_leaves_of(meant->arena, root, NULL, NULL);
    bool has = false;
    for (size_t i = 0; i < leaves.count && !has; i++) {
        const struct doc_node *node = leaves.items[i].node;
        const bool is_source = strstr(leaves.items[i].path, "source") != NULL;
        const bool is_short = node->kind == DOC_SCALAR && strlen(node->text) <= VALUE_MAX;
        has = !is_source &&
              (has_any(meant, leaves.items[i].path) || (is_short && has_any(meant, node->text)));
    }
    return has;
}

static uint32_t put_files(const struct meant *meant, enum catalogue_kind kind, struct page *page)
{
    static const char *const titles[CATALOGUE_KIND_COUNT_] = {
        [CATALOGUE_MODEL] = "models",      [CATALOGUE_CLUSTER] = "clusters",
        [CATALOGUE_SOFTWARE] = "software", [CATALOGUE_GPU] = "GPUs",
        [CATALOGUE_NIC] = "NICs",          [CATALOGUE_FAILURES] = "failures",
        [CATALOGUE_SPOT] = "spot",         [CATALOGUE_OPTIMIZER] = "optimizers"};
    uint32_t count = 0, found = 0;
    const char **names = titles[kind] != NULL ? catalogue_list(meant->arena, meant->catalogue,
                                                               catalogue_folders[kind], &count)
                                              : NULL;
    const char *text = "";
    for (uint32_t i = 0; i < count; i++) {
        const char *path =
            catalogue_find(meant->arena, meant->catalogue, catalogue_folders[kind], names[i]);
        const struct doc_node *root = path != NULL
                                          ? doc_files_load(meant->catalogue->files, meant->arena,
                                                           path, diag_new(meant->arena))
                                          : NULL;
        if (root != NULL && root->kind == DOC_MAPPING && has_file(meant, root)) {
            text = arena_printf(meant->arena, "%s%s%s", text, found++ > 0 ? ", " : "", names[i]);
        }
    }
    if (found > 0) {
        put(page,
            arena_printf(meant->arena, "\n%s (stoker show NAME)\n  %s\n", titles[kind], text));
    }
    return found;
}

static uint32_t put_all(const struct meant *meant, const struct program *program, struct page *page)
{
    uint32_t found = put_all_keys(meant, page) + put_commands(meant, program, page);
    for (uint32_t kind = 0; kind < CATALOGUE_KIND_COUNT_; kind++) {
        found += put_files(meant, (enum catalogue_kind)kind, page);
    }
    return found;
}

bool meanings_print(const struct program *program, const struct catalogue *catalogue,
                    const char *word, struct page *page)
{
    struct meant meant = {.arena = page->arena, .catalogue = catalogue};
    if (!is_word(word)) {
        return false;
    }
    find_words(&meant, word);
    if (put_all(&meant, program, NULL) == 0) {
        return false;
    }
    say_words(&meant, page);
    (void)put_all(&meant, program, page);
    return true;
}
