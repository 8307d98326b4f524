/* The tree is walked with a stack, which a document's depth bounds (64, input/doc/doc.h).
 * At the end of a mapping come the defaults that belong in it, and in sections
 * that it lacks. Each mapping looks through all defaults: some dozens of each.
 */
#include "report/show/show_yaml.h"

#include "report/house_lines.h"

#include "base/arena.h"
#include "base/printable.h"
#include "input/doc/doc.h"

#include <string.h>

enum { DEPTH_MAX = 66, INDENT = 2 };

/* A mapping that is being printed. */
struct level {
    const struct doc_node *mapping;
    const struct doc_node *next; /* child to print */
    const char *path;            /* of the mapping */
};

struct printer {
    const struct show_yaml *yaml;
    FILE *out;
    struct level levels[DEPTH_MAX];
    int depth;
};

static const char *join(struct arena *arena, const char *path, const char *key)
{
    return path[0] == '\0' ? key : arena_printf(arena, "%s.%s", path, key);
}

/* What is left of `path` below the mapping at `above`; NULL when it lies elsewhere. */
static const char *below(const char *path, const char *above)
{
    const size_t length = strlen(above);
    if (length == 0) {
        return path;
    }
    return strncmp(path, above, length) == 0 && path[length] == '.' ? path + length + 1 : NULL;
}

/* ---- defaults ------------------------------------------------------------------- */

static void print_default(const struct printer *printer, const struct show_default *item,
                          const char *key, int inner_indent)
{
    fprintf(printer->out, "%*s# %*s", (printer->depth - 1) * INDENT, "", inner_indent, "");
    if (item->value == NULL) {
        fprintf(printer->out, "(no %s: %s)\n", key, item->note);
    } else if (item->note[0] != '\0') {
        fprintf(printer->out, "%s: %s  # %s\n", key, item->value, item->note);
    } else {
        fprintf(printer->out, "%s: %s\n", key, item->value);
    }
}

/* Those of one mapping. Defaults of an absent section stand together in the
 * list, so its head is printed when the first with a value comes. */
static void print_defaults(const struct printer *printer)
{
    const struct level *level = &printer->levels[printer->depth - 1];
    const struct show_yaml *yaml = printer->yaml;
    const char *section = "";
    for (uint32_t i = 0; i < yaml->default_count; i++) {
        const struct show_default *item = &yaml->defaults[i];
        const char *key = item->is_written ? NULL : below(item->path, level->path);
        if (key == NULL) {
            continue;
        }
        const char *dot = strchr(key, '.');
        const char *head = dot != NULL ? arena_strndup(yaml->arena, key, (size_t)(dot - key)) : "";
        if (dot != NULL && doc_find(level->mapping, head) != NULL) {
            continue; /* it is printed there */
        }
        if (dot == NULL || item->value == NULL) {
            print_default(printer, item, key, 0);
            continue;
        }
        if (strcmp(head, section) != 0) {
            fprintf(printer->out, "%*s# %s:\n", (printer->depth - 1) * INDENT, "", head);
            section = head;
        }
        print_default(printer, item, dot + 1, INDENT);
    }
}

/* "auto  # here: 128" */
static void print_overruled(const struct printer *printer, const char *path)
{
    for (uint32_t i = 0; i < printer->yaml->default_count; i++) {
        const struct show_default *item = &printer->yaml->defaults[i];
        if (item->is_written && item->value != NULL && strcmp(item->path, path) == 0) {
            fprintf(printer->out, "  # here: %s%s%s", item->value, item->note[0] ? ", " : "",
                    item->note);
        }
    }
}

/* "3.40 USD  # house.yaml:7"; a section of the house's own is marked at its head. */
static void print_house(const struct printer *printer, const char *path)
{
    const struct house *house = printer->yaml->house;
    for (uint32_t i = 0; house != NULL && i < house->value_count; i++) {
        if (strcmp(house->values[i].key, path) == 0) {
            fprintf(printer->out, "  # %s",
                    printable_line(printer->yaml->arena,
                                   house_place(printer->yaml->arena, house, &house->values[i])));
        }
    }
}

/* ---- the file -------------------------------------------------------------------- */

/* A value on one line, without its key. */
static const char *value_text(struct arena *arena, const struct doc_node *node)
{
    struct doc_node alone = *node;
    alone.key = NULL;
    alone.next = NULL;
    return doc_to_text(arena, &alone);
}

static const char *key_text(struct arena *arena, const char *key)
{
    const struct doc_node node = {.kind = DOC_SCALAR, .text = key};
    return doc_to_text(arena, &node);
}

static void push(struct printer *printer, const struct doc_node *mapping, const char *path)
{
    sim_assert(printer->depth < DEPTH_MAX);
    printer->levels[printer->depth++] = (struct level){mapping, mapping->child, path};
}

static void print_member(struct printer *printer, const struct doc_node *node, const char *above)
{
    struct arena *arena = printer->yaml->arena;
    const char *path = join(arena, above, node->key);
    fprintf(printer->out, "%*s%s:", (printer->depth - 1) * INDENT, "", key_text(arena, node->key));
    if (node->kind == DOC_MAPPING && node->child != NULL) {
        print_house(printer, path);
        fputc('\n', printer->out);
        push(printer, node, path);
        return;
    }
    fprintf(printer->out, " %s", value_text(arena, node));
    print_overruled(printer, path);
    print_house(printer, path);
    fputc('\n', printer->out);
}

void show_yaml_print(const struct show_yaml *yaml, FILE *out)
{
    sim_assert(yaml->root->kind == DOC_MAPPING);
    struct printer printer = {.yaml = yaml, .out = out};
    push(&printer, yaml->root, yaml->path);
    while (printer.depth > 0) {
        struct level *level = &printer.levels[printer.depth - 1];
        const struct doc_node *node = level->next;
        if (node != NULL) {
            level->next = node->next;
            print_member(&printer, node, level->path);
        } else {
            print_defaults(&printer);
            printer.depth--;
        }
    }
}
