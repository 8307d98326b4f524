/* Copies of document trees, and trees as one line of text (the rest of doc.h
 * is in doc.c and doc_read.c). Both walk the tree with a list of what is still
 * to be done in place of recursion; their cost is linear.
 *
 * The line is YAML that reads back as the same tree: what was in quotes stays
 * so, and so gets what could be misread without them. Two trees have the same
 * line only if they mean the same.
 */
#include "input/doc/doc_files.h"

#include "base/arena.h"
#include "base/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- copies ------------------------------------------------------------ */

/* A list of siblings that waits to be copied. */
struct copy_task {
    const struct doc_node *source;
    struct doc_node **link; /* where the copy of the first is hung */
};

struct copy_list {
    struct arena *arena;
    struct copy_task *tasks;
    size_t count;
    size_t capacity;
};

/* Texts are shared with the original: they never change, and places point
 * into its file anyway. */
static struct doc_node *copy_node(struct copy_list *list, const struct doc_node *source)
{
    struct doc_node *copy = arena_alloc(list->arena, sizeof *copy);
    *copy = *source;
    copy->next = NULL;
    copy->child = NULL;
    if (source->child != NULL) {
        list->tasks = arena_grow(list->arena, list->tasks, &list->capacity, list->count + 1,
                                 sizeof *list->tasks);
        list->tasks[list->count++] = (struct copy_task){source->child, &copy->child};
    }
    return copy;
}

struct doc_node *doc_copy(struct arena *arena, const struct doc_node *node)
{
    struct copy_list list = {.arena = arena};
    struct doc_node *copy = copy_node(&list, node);
    while (list.count > 0) {
        const struct copy_task task = list.tasks[--list.count];
        struct doc_node **link = task.link;
        for (const struct doc_node *at = task.source; at != NULL; at = at->next) {
            *link = copy_node(&list, at);
            link = &(*link)->next;
        }
    }
    return copy;
}

/* ---- text -------------------------------------------------------------- */

/* A text that grows, and the mappings and lists that are open in it. */
struct writer {
    struct arena *arena;
    char *text;
    size_t length;
    size_t capacity;
    const struct doc_node **open;
    size_t open_count;
    size_t open_capacity;
};

static void write_bytes(struct writer *writer, const char *bytes, size_t length)
{
    if (writer->text == NULL || writer->length + length + 1 > writer->capacity) {
        writer->text = arena_grow(writer->arena, writer->text, &writer->capacity,
                                  writer->length + length + 1, 1);
    }
    memcpy(writer->text + writer->length, bytes, length);
    writer->length += length;
    writer->text[writer->length] = '\0';
}

static void write_text(struct writer *writer, const char *text)
{
    write_bytes(writer, text, strlen(text));
}

static bool is_letter_or_digit(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Reads back as the same text without quotes, in any context. */
static bool is_safe_plain(const char *text)
{
    const char *at = text;
    while (is_letter_or_digit(*at) || (*at != '\0' && strchr("_-./+%$ ", *at) != NULL)) {
        at++;
    }
    return is_letter_or_digit(text[0]) && *at == '\0' && at[-1] != ' ';
}

/* A character that must be escaped between quotes for YAML to read it back:
 * controls, no-break space, the two Unicode line ends, BOM, non-characters; and
 * the marks that turn the direction of a line, which would show another one. */
static bool needs_escape(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0x2028 || code == 0x2029 ||
           code == 0xfeff || code == 0xfffe || code == 0xffff || !printable_code_is(code);
}

/* The code point of up to three bytes; longer ones need no escape. */
static uint32_t code_point(const char *text, size_t width)
{
    const unsigned char *bytes = (const unsigned char *)text;
    if (width == 2) {
        return (uint32_t)(bytes[0] & 0x1f) << 6 | (bytes[1] & 0x3f);
    }
    if (width == 3) {
        return (uint32_t)(bytes[0] & 0x0f) << 12 | (uint32_t)(bytes[1] & 0x3f) << 6 |
               (bytes[2] & 0x3f);
    }
    return width == 1 ? bytes[0] : 0x10000;
}

/* Bytes of the UTF-8 character at `text`: libyaml has checked the text. */
static size_t character_width(const char *text)
{
    const unsigned char lead = (unsigned char)text[0];
    return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

static void write_escape(struct writer *writer, uint32_t code)
{
    char escape[16];
    snprintf(escape, sizeof escape, "\\u%04" PRIx32, code);
    write_text(writer, escape);
}

static void write_quoted(struct writer *writer, const char *text)
{
    write_text(writer, "\"");
    const char *rest = text; /* what is not written yet */
    while (*text != '\0') {
        const size_t width = character_width(text);
        const uint32_t code = code_point(text, width);
        const bool is_escaped = needs_escape(code);
        if (is_escaped || *text == '"' || *text == '\\') {
            write_bytes(writer, rest, (size_t)(text - rest));
            if (is_escaped) {
                write_escape(writer, code);
            } else {
                write_text(writer, "\\");
            }
            rest = is_escaped ? text + width : text;
        }
        text += width;
    }
    write_text(writer, rest);
    write_text(writer, "\"");
}

static void write_scalar(struct writer *writer, const char *text, bool is_quoted)
{
    if (!is_quoted && is_safe_plain(text)) {
        write_text(writer, text);
    } else {
        write_quoted(writer, text);
    }
}

/* All of what stands for a file: its text is known. */
static bool write_kept(struct writer *writer, const struct doc_node *node)
{
    size_t length = 0;
    const char *text = doc_files_text(node, &length);
    if (text != NULL) {
        write_bytes(writer, text, length);
    }
    return text != NULL;
}

/* All of a scalar and of a kept file; of another mapping or list, the beginning: false. */
static bool write_begin(struct writer *writer, const struct doc_node *node)
{
    if (node->key != NULL && writer->open_count > 0) {
        write_scalar(writer, node->key, false);
        write_text(writer, ": ");
    }
    if (node->kind == DOC_NULL) {
        write_text(writer, "null");
    } else if (node->kind == DOC_SCALAR) {
        write_scalar(writer, node->text, node->is_quoted);
    } else if (!write_kept(writer, node)) {
        write_text(writer, node->kind == DOC_MAPPING ? "{" : "[");
        writer->open = arena_grow(writer->arena, writer->open, &writer->open_capacity,
                                  writer->open_count + 1, sizeof *writer->open);
        writer->open[writer->open_count++] = node;
        return false;
    }
    return true;
}

/* The node to write after `node`, with what stands between; NULL at the end. */
static const struct doc_node *write_between(struct writer *writer, const struct doc_node *node,
                                            bool is_whole)
{
    if (!is_whole && node->child != NULL) {
        return node->child;
    }
    bool is_inside = !is_whole;
    while (writer->open_count > 0) {
        if (!is_inside && node->next != NULL) {
            write_text(writer, ", ");
            return node->next;
        }
        node = writer->open[--writer->open_count];
        write_text(writer, node->kind == DOC_MAPPING ? "}" : "]");
        is_inside = false;
    }
    return NULL;
}

char *doc_to_text(struct arena *arena, const struct doc_node *node)
{
    struct writer writer = {.arena = arena};
    while (node != NULL) {
        const bool is_whole = write_begin(&writer, node);
        node = write_between(&writer, node, is_whole);
    }
    return writer.text;
}
