/* Pages of the manual: one about the commands, one about each kind of file. A page is walked once,
 * for whichever format; a format is a row of four functions that write its parts.
 */
#include "cli/reference/reference.h"

#include "base/arena.h"
#include "base/version.h"
#include "cli/options.h"

#include <ctype.h>
#include <string.h>

struct writer;

struct format {
    void (*title)(const struct writer *writer, const char *page, int number, const char *summary);
    void (*section)(const struct writer *writer, const char *title);
    /* Lines stay lines. */
    void (*paragraph)(const struct writer *writer, const char *text);
    /* What is written, and what it means. */
    void (*entry)(const struct writer *writer, const char *head, const char *text);
};

struct writer {
    const struct format *format;
    struct arena *arena;
    FILE *out;
};

/* ---- man -------------------------------------------------------------------------------- */

/* A text whose lines cannot be taken for requests. */
static void man_text(const struct writer *writer, const char *text)
{
    bool is_line_begin = true;
    for (; *text != '\0'; text++) {
        if (is_line_begin && (*text == '.' || *text == '\'')) {
            fputs("\\&", writer->out);
        }
        is_line_begin = *text == '\n';
        fputs(*text == '\\'   ? "\\e"
              : *text == '\n' ? "\n.br\n"
              : *text == '-'  ? "\\-"
                              : (const char[]){*text, '\0'},
              writer->out);
    }
    fputc('\n', writer->out);
}

static void man_title(const struct writer *writer, const char *page, int number,
                      const char *summary)
{
    fprintf(writer->out, ".TH %s %d \"\" \"stoker %s\"\n.ad l\n.SH NAME\n%s \\- ", page, number,
            stoker_version(), page);
    man_text(writer, summary);
}

static void man_section(const struct writer *writer, const char *title)
{
    fputs(".SH ", writer->out);
    man_text(writer, title);
}

static void man_paragraph(const struct writer *writer, const char *text)
{
    fputs(".PP\n", writer->out);
    man_text(writer, text);
}

static void man_entry(const struct writer *writer, const char *head, const char *text)
{
    fputs(".TP\n\\fB", writer->out);
    man_text(writer, head);
    fputs("\\fR", writer->out);
    man_text(writer, text);
}

static const struct format man = {man_title, man_section, man_paragraph, man_entry};

/* ---- Markdown ---------------------------------------------------------------------------- */

static void markdown_text(const struct writer *writer, const char *text)
{
    bool is_code = false;
    for (; *text != '\0'; text++) {
        is_code ^= *text == '`';
        fputs(is_code ? "" : strchr("*_<[|", *text) != NULL ? "\\" : "", writer->out);
        fputs(*text == '\n' ? "  \n" : (const char[]){*text, '\0'}, writer->out);
    }
    fputs("\n\n", writer->out);
}

static void markdown_title(const struct writer *writer, const char *page, int number,
                           const char *summary)
{
    fprintf(writer->out, "# %s(%d)\n\n", page, number);
    markdown_text(writer, summary);
}

static void markdown_section(const struct writer *writer, const char *title)
{
    fputs("## ", writer->out);
    markdown_text(writer, title);
}

static void markdown_entry(const struct writer *writer, const char *head, const char *text)
{
    fprintf(writer->out, "- `%s`: ", head);
    markdown_text(writer, text);
}

static const struct format markdown = {markdown_title, markdown_section, markdown_text,
                                       markdown_entry};

/* ---- commands ---------------------------------------------------------------------------- */

static void put_options(const struct writer *writer, const struct command_option *table)
{
    for (const struct command_option *row = table; row->help != NULL; row++) {
        if (row->name != NULL) {
            writer->format->entry(writer, reference_option(writer->arena, row),
                                  option_help(writer->arena, row));
        }
    }
}

/* "--db; --json, ..." of tables that are told once for all. */
static const char *shared_options(struct arena *arena, const struct command *command)
{
    const char *text = "";
    for (const struct command_option *const *table = command->options; *table != NULL; table++) {
        if (reference_shared(*table) == NULL) {
            continue;
        }
        for (const struct command_option *row = *table; row->help != NULL; row++) {
            text = arena_printf(arena, "%s%s--%s", text, text[0] != '\0' ? ", " : "", row->name);
        }
    }
    return text;
}

/* Returns its whole name, for a command below it. */
static const char *put_command(const struct writer *writer, const char *above,
                               const struct command *command)
{
    struct arena *arena = writer->arena;
    const char *name = arena_printf(arena, "%s %s", above, command->name);
    const char *about = command_about(writer->arena, command);
    const size_t before = strcspn(about, "\v");
    writer->format->section(writer, name);
    const char *way = command->arguments;
    while (way != NULL && *way != '\0') {
        const size_t length = strcspn(way, "\n");
        writer->format->paragraph(
            writer, arena_printf(arena, "%s [OPTION...] %.*s", name, (int)length, way));
        way += length + (way[length] == '\n');
    }
    writer->format->paragraph(writer, arena_printf(arena, "%.*s", (int)before, about));
    for (const struct command_option *const *table = command->options; *table != NULL; table++) {
        if (reference_shared(*table) == NULL) {
            put_options(writer, *table);
        }
    }
    const char *shared = shared_options(arena, command);
    if (shared[0] != '\0') {
        writer->format->paragraph(writer, arena_printf(arena, "Options below: %s.", shared));
    }
    if (about[before] != '\0') {
        writer->format->paragraph(writer, about + before + 1);
    }
    return name;
}

static void put_commands(const struct writer *writer, const struct program *program)
{
    writer->format->title(writer, program->name, 1, program->summary);
    writer->format->section(writer, "Synopsis");
    writer->format->paragraph(
        writer, arena_printf(writer->arena, "%s COMMAND [OPTION...] [FILE...]", program->name));
    for (uint32_t i = 0; i < program->command_count; i++) {
        const char *above = program->name;
        const struct command *command = program->commands[i];
        for (; command != NULL; command = command->sub) {
            above = put_command(writer, above, command);
        }
    }
    for (uint32_t i = 0; i < reference_table_count; i++) {
        writer->format->section(
            writer, arena_printf(writer->arena, "Options: %s", reference_tables[i].title));
        put_options(writer, reference_tables[i].rows);
    }
    writer->format->section(writer, "Exit status");
    writer->format->paragraph(writer, "0 good, 1 failure, 2 usage, 3 bad input, 4 does not fit or "
                                      "divide, 5 a study with failed points.");
}

/* ---- files ------------------------------------------------------------------------------- */

/* Help, then a line with what may be written and what holds when nothing is. */
static const char *key_text(struct arena *arena, const struct reference_key *key)
{
    const struct schema_row *row = key->row;
    const char *unit = reference_unit(row);
    const char *standard = reference_default(arena, row);
    const char *text = arena_printf(arena, "%s\nValue: %s", row->help, reference_value(arena, row));
    if (unit != NULL) {
        text = arena_printf(arena, "%s, as '%s'", text, unit);
    }
    if (row->is_required) {
        text = arena_printf(arena, "%s; %s", text, reference_required(key->schema, row));
    }
    if (standard != NULL) {
        text = arena_printf(arena, "%s; default: %s%s", text, standard,
                            row->is_assumed ? ", an assumption" : "");
    }
    return row->source != NULL ? arena_printf(arena, "%s\nSource: %s", text, row->source) : text;
}

/* A section for each of the file's, behind one for the keys that stand alone before it. */
static void put_schema(const struct writer *writer, const struct schema *schema)
{
    struct arena *arena = writer->arena;
    writer->format->title(writer, arena_printf(arena, "stoker-%s", schema->name), 5,
                          arena_printf(arena, "keys of stoker's %s files", schema->name));
    uint32_t count = 0;
    const struct reference_key *keys = reference_keys(arena, &count);
    const char *section = "";
    for (uint32_t i = 0; i < count; i++) {
        if (keys[i].file != schema) {
            continue;
        }
        const bool is_above = schema_has_inner(keys[i].schema, keys[i].row);
        if (strchr(keys[i].row->path, '.') == NULL && keys[i].schema == schema) {
            const char *wanted = is_above ? keys[i].row->path : "Keys";
            if (strcmp(wanted, section) != 0) {
                writer->format->section(writer, wanted);
            }
            section = wanted;
        }
        writer->format->entry(writer, keys[i].path, key_text(arena, &keys[i]));
    }
}

/* ---- pages ------------------------------------------------------------------------------- */

uint32_t reference_page_count(const struct program *program)
{
    return program->has_files ? 1 + REFERENCE_FILE_COUNT : 1;
}

const char *reference_page_name(struct arena *arena, const struct program *program, uint32_t number)
{
    return number == 0 ? arena_printf(arena, "%s.1", program->name)
                       : arena_printf(arena, "stoker-%s.5", reference_file(number - 1)->name);
}

static void put_page(const struct writer *writer, const struct program *program, uint32_t page)
{
    if (page == 0) {
        put_commands(writer, program);
    } else {
        put_schema(writer, reference_file(page - 1));
    }
}

void reference_man(struct arena *arena, const struct program *program, uint32_t page, FILE *out)
{
    put_page(&(struct writer){&man, arena, out}, program, page);
}

void reference_markdown(struct arena *arena, const struct program *program, FILE *out)
{
    for (uint32_t i = 0; i < reference_page_count(program); i++) {
        put_page(&(struct writer){&markdown, arena, out}, program, i);
    }
}
