/* Reads Slurm's topology.conf: lines of KEY=VALUE words. Keys may be in any
 * case, '#' begins a comment, and a backslash at the end of a line joins it
 * with the next.
 */
#include "foreign/slurm/import_slurm.h"

#include "base/arena.h"

#include <string.h>
#include <strings.h>

struct scanner {
    const struct importer *importer;
    const char *at;
    const char *line; /* where the line of `at` begins */
    uint32_t line_number;
    bool is_bad;
};

enum token_kind { TOKEN_WORD, TOKEN_LINE_END, TOKEN_END };

struct token {
    char *text;
    struct place place;
};

static void next_line(struct scanner *scanner)
{
    scanner->line = scanner->at;
    scanner->line_number++;
}

/* Bytes of a backslash with a line end behind it; else 0. */
static size_t continuation_width(const char *at)
{
    if (*at != '\\') {
        return 0;
    }
    return at[1] == '\n' ? 2 : at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

static void skip_blanks(struct scanner *scanner)
{
    while (true) {
        const size_t joined = continuation_width(scanner->at);
        if (joined > 0) {
            scanner->at += joined;
            next_line(scanner);
        } else if (*scanner->at == '#') {
            scanner->at += strcspn(scanner->at, "\n");
        } else if (*scanner->at == ' ' || *scanner->at == '\t' || *scanner->at == '\r') {
            scanner->at++;
        } else {
            return;
        }
    }
}

/* A word; one that ends with ',' goes on in a line that is joined to its own. */
static enum token_kind next_token(struct scanner *scanner, struct token *token)
{
    skip_blanks(scanner);
    const struct text_file *file = &scanner->importer->file;
    token->place = (struct place){.file = file->path,
                                  .source_text = file->text,
                                  .line = scanner->line_number,
                                  .column = (uint32_t)(scanner->at - scanner->line) + 1};
    if (*scanner->at == '\0') {
        return TOKEN_END;
    }
    if (*scanner->at == '\n') {
        scanner->at++;
        next_line(scanner);
        return TOKEN_LINE_END;
    }
    const char *begin = scanner->at;
    char *text = NULL;
    while (*scanner->at != '\0' && strchr(" \t\r\n#", *scanner->at) == NULL) {
        const size_t joined = continuation_width(scanner->at);
        if (joined == 0) {
            scanner->at++;
            continue;
        }
        const size_t piece = (size_t)(scanner->at - begin);
        text = arena_printf(scanner->importer->arena, "%s%.*s", text == NULL ? "" : text,
                            (int)piece, begin);
        scanner->at += joined;
        next_line(scanner);
        const size_t length = strlen(text);
        if (length > 0 && text[length - 1] == ',') {
            scanner->at += strspn(scanner->at, " \t");
        }
        begin = scanner->at;
    }
    token->text = arena_printf(scanner->importer->arena, "%s%.*s", text == NULL ? "" : text,
                               (int)(scanner->at - begin), begin);
    return TOKEN_WORD;
}

enum key { KEY_SWITCH, KEY_BLOCK, KEY_NODES, KEY_SWITCHES, KEY_IGNORED, KEY_UNKNOWN };

/* `scontrol show topology` writes Level and LinkSpeed. */
static const char *const key_names[] = {"SwitchName", "BlockName",  "Nodes", "Switches",
                                        "LinkSpeed",  "BlockSizes", "Level"};
enum { KEY_NAME_COUNT = sizeof key_names / sizeof *key_names };

static enum key find_key(const char *word)
{
    for (uint32_t i = 0; i < KEY_NAME_COUNT; i++) {
        if (strcasecmp(key_names[i], word) == 0) {
            return i < KEY_IGNORED ? (enum key)i : KEY_IGNORED;
        }
    }
    return KEY_UNKNOWN;
}

static void report(struct scanner *scanner, const struct place *place, const char *message,
                   const char *help)
{
    scanner->is_bad = true;
    diag_add(scanner->importer->diag, DIAG_INPUT, place, "%s", message);
    diag_help(scanner->importer->diag, "%s", help);
}

/* Splits "KEY=VALUE"; the place becomes that of the value. */
static enum key split(struct scanner *scanner, struct token *token, char **value)
{
    char *equals = strchr(token->text, '=');
    if (equals == NULL) {
        report(scanner, &token->place, "this is not KEY=VALUE",
               "a line reads SwitchName=leaf1 Nodes=n[1-32]");
        return KEY_UNKNOWN;
    }
    *equals = '\0';
    const enum key key = find_key(token->text);
    if (key == KEY_UNKNOWN) {
        const char *nearest = diag_nearest(token->text, key_names, KEY_NAME_COUNT);
        report(scanner, &token->place, "this key is not known",
               nearest == NULL
                   ? "known are SwitchName, Switches, Nodes, LinkSpeed, BlockName and "
                     "BlockSizes"
                   : arena_printf(scanner->importer->arena, "did you mean '%s'?", nearest));
        return KEY_UNKNOWN;
    }
    *value = equals + 1;
    token->place.column += (uint32_t)(*value - token->text);
    const size_t length = strlen(*value);
    if (length >= 2 && (*value)[0] == '"' && (*value)[length - 1] == '"') {
        (*value)[length - 1] = '\0';
        (*value)++;
        token->place.column++;
    }
    return key;
}

static void take_word(struct scanner *scanner, struct token *token, struct slurm_entry *entry,
                      struct slurm_entries *entries)
{
    char *value = NULL;
    const enum key key = split(scanner, token, &value);
    if (key == KEY_UNKNOWN || key == KEY_IGNORED) {
        return;
    }
    const bool is_name = key == KEY_SWITCH || key == KEY_BLOCK;
    const char **texts[] = {&entry->name, &entry->name, &entry->nodes, &entry->switches};
    struct place *places[] = {&entry->place, &entry->place, &entry->nodes_place,
                              &entry->switches_place};
    if (*texts[key] != NULL) {
        report(scanner, &token->place, "this key stands twice in its line", "write it once");
    } else if (is_name && (value[0] == '\0' || strpbrk(value, "[],") != NULL)) {
        report(scanner, &token->place, "this is not one name",
               "each switch or block has a line of its own");
    } else if (is_name && entries->count > 0 && entries->are_blocks != (key == KEY_BLOCK)) {
        report(scanner, &token->place, "switches and blocks are mixed",
               "a topology is either a tree of switches or a list of blocks");
    } else {
        *texts[key] = value;
        *places[key] = token->place;
        entries->are_blocks = is_name ? key == KEY_BLOCK : entries->are_blocks;
    }
}

static void end_line(struct scanner *scanner, struct slurm_entry *entry,
                     struct slurm_entries *entries)
{
    if (entry->name == NULL && (entry->nodes != NULL || entry->switches != NULL)) {
        report(scanner, entry->nodes != NULL ? &entry->nodes_place : &entry->switches_place,
               "this line names no switch", "begin it with SwitchName=NAME or BlockName=NAME");
    } else if (entry->name != NULL) {
        entries->items = arena_grow(scanner->importer->arena, entries->items, &entries->capacity,
                                    (size_t)entries->count + 1, sizeof *entries->items);
        entries->items[entries->count++] = *entry;
    }
    *entry = (struct slurm_entry){.name = NULL};
}

bool slurm_read_conf(const struct importer *importer, struct slurm_entries *entries)
{
    struct scanner scanner = {.importer = importer,
                              .at = importer->file.text,
                              .line = importer->file.text,
                              .line_number = 1};
    struct slurm_entry entry = {.name = NULL};
    struct token token;
    enum token_kind kind = TOKEN_WORD;
    while (kind != TOKEN_END) {
        kind = next_token(&scanner, &token);
        if (kind == TOKEN_WORD) {
            take_word(&scanner, &token, &entry, entries);
        } else {
            end_line(&scanner, &entry, entries);
        }
    }
    return !scanner.is_bad;
}
