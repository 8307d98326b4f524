/* Reading, finding and setting (doc_read.c has the getters, doc_text.c copies
 * and prints).
 *
 * libyaml's events, one by one, become nodes; a stack of open mappings and
 * lists takes the place of recursion, so depth, number of nodes, anchors and
 * tags are judged before anything is built from them. Cost is linear in the
 * text: places are found by a cursor that moves on with the events, duplicate
 * keys by a hash table when a mapping ends.
 *
 * libyaml counts columns in characters and takes some rare characters for line
 * ends; a place counts bytes and ends a line at '\n' only, as editors do.
 */
#include "input/doc/doc.h"

#include "base/arena.h"
#include "base/rng.h"
#include "input/doc/text_file.h"

#include <yaml.h>

#include <inttypes.h>
#include <string.h>

static const size_t FILE_BYTES_MAX = (size_t)4 << 20;

enum {
    NODES_MAX = 200000,
    DEPTH_MAX = 64,
    SHOWN_BYTES_MAX = 60 /* of a user's text in a message */
};

/* ---- places ------------------------------------------------------------ */

/* A position in the text, counted both ways. */
struct cursor {
    const char *text;
    size_t length;
    size_t offset;
    size_t mark_line;   /* as libyaml counts, from 0 */
    size_t mark_column; /* in characters, from 0 */
    uint32_t line;      /* as a place counts, from 1 */
    size_t line_offset; /* where that line begins */
};

/* Bytes of the line end at `text` by YAML 1.1 (CR, LF, CR LF, NEL, LS, PS), or 0. */
static size_t break_width(const char *text)
{
    if (*text == '\n' || *text == '\r') {
        return text[0] == '\r' && text[1] == '\n' ? 2 : 1;
    }
    if (strncmp(text, "\xc2\x85", 2) == 0) {
        return 2;
    }
    return strncmp(text, "\xe2\x80\xa8", 3) == 0 || strncmp(text, "\xe2\x80\xa9", 3) == 0 ? 3 : 0;
}

static size_t character_width(const char *text)
{
    size_t width = 1;
    while (((unsigned char)text[width] & 0xc0) == 0x80) {
        width++;
    }
    return width;
}

static void cursor_step(struct cursor *cursor)
{
    const char *at = cursor->text + cursor->offset;
    const size_t break_bytes = break_width(at);
    if (break_bytes == 0) {
        cursor->offset += character_width(at);
        cursor->mark_column++;
        return;
    }
    cursor->offset += break_bytes;
    cursor->mark_line++;
    cursor->mark_column = 0;
    if (at[break_bytes - 1] == '\n') {
        cursor->line++;
        cursor->line_offset = cursor->offset;
    }
}

static bool cursor_is_before(const struct cursor *cursor, const yaml_mark_t *mark)
{
    return cursor->mark_line < mark->line ||
           (cursor->mark_line == mark->line && cursor->mark_column < mark->column);
}

static bool cursor_is_after(const struct cursor *cursor, const yaml_mark_t *mark)
{
    return cursor->mark_line > mark->line ||
           (cursor->mark_line == mark->line && cursor->mark_column > mark->column);
}

/* Events come in the order of the text; only an error can lie further back. */
static void cursor_seek(struct cursor *cursor, const yaml_mark_t *mark)
{
    if (cursor_is_after(cursor, mark)) {
        *cursor = (struct cursor){.text = cursor->text, .length = cursor->length, .line = 1};
    }
    while (cursor->offset < cursor->length && cursor_is_before(cursor, mark)) {
        cursor_step(cursor);
    }
}

/* ---- building ---------------------------------------------------------- */

/* A mapping or list whose end has not come yet. */
struct frame {
    struct doc_node *node;
    struct doc_node *last;  /* child, or NULL */
    const char *key;        /* read, its value not yet; NULL: none */
    struct place key_place; /* of `key` */
};

struct builder {
    struct arena *arena;
    struct arena *scratch; /* ends with the builder */
    struct diag *diag;
    enum diag_kind kind; /* of the messages */
    struct place place;  /* file and text of all places */
    struct cursor cursor;
    struct frame stack[DEPTH_MAX];
    uint32_t depth;
    uint32_t depth_max;
    uint32_t node_count;
    struct doc_node *root; /* NULL until the first node */
    bool is_bad;           /* an error that does not stop the reading */
};

static struct place place_at(struct builder *builder, const yaml_mark_t *mark)
{
    struct place place = builder->place;
    if (place.source_text != NULL) {
        cursor_seek(&builder->cursor, mark);
        place.line = builder->cursor.line;
        place.column = (uint32_t)(builder->cursor.offset - builder->cursor.line_offset) + 1;
    }
    return place;
}

static bool refuse(struct builder *builder, const struct place *place, const char *message,
                   const char *help)
{
    diag_add(builder->diag, builder->kind, place, "%s", message);
    diag_help(builder->diag, "%s", help);
    return false;
}

/* A node event without the differences between its three kinds. */
struct node_event {
    enum doc_kind kind;
    const char *text; /* of a scalar */
    size_t length;
    bool is_plain;
    bool is_block_text; /* a scalar written with | or > */
    bool has_anchor;
    bool has_tag;
};

static struct node_event node_event_of(const yaml_event_t *event)
{
    if (event->type == YAML_SEQUENCE_START_EVENT) {
        return (struct node_event){.kind = DOC_SEQUENCE,
                                   .has_anchor = event->data.sequence_start.anchor != NULL,
                                   .has_tag = event->data.sequence_start.tag != NULL};
    }
    if (event->type == YAML_MAPPING_START_EVENT) {
        return (struct node_event){.kind = DOC_MAPPING,
                                   .has_anchor = event->data.mapping_start.anchor != NULL,
                                   .has_tag = event->data.mapping_start.tag != NULL};
    }
    const yaml_scalar_style_t style = event->data.scalar.style;
    return (struct node_event){.kind = DOC_SCALAR,
                               .text = (const char *)event->data.scalar.value,
                               .length = event->data.scalar.length,
                               .is_plain = style == YAML_PLAIN_SCALAR_STYLE,
                               .is_block_text = style == YAML_LITERAL_SCALAR_STYLE ||
                                                style == YAML_FOLDED_SCALAR_STYLE,
                               .has_anchor = event->data.scalar.anchor != NULL,
                               .has_tag = event->data.scalar.tag != NULL};
}

/* The words for null of YAML's core schema. */
static bool is_null_text(const char *text)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool check_node(struct builder *builder, const struct node_event *event,
                       const struct place *place)
{
    if (event->has_anchor) {
        return refuse(builder, place, "anchors (&name) are not read",
                      "write the value out wherever it is used");
    }
    if (event->has_tag) {
        return refuse(builder, place, "tags (!name) are not read", "write the value alone");
    }
    if (event->text != NULL && strlen(event->text) != event->length) {
        return refuse(builder, place, "this text holds a NUL character", "leave out the \\0");
    }
    return true;
}

static bool take_key(struct builder *builder, struct frame *frame, const struct node_event *event,
                     const struct place *place)
{
    if (event->kind != DOC_SCALAR || event->is_block_text) {
        return refuse(builder, place, "a key must be a word, not a list, a mapping or a text block",
                      "write 'key: value'");
    }
    if (event->length == 0) {
        return refuse(builder, place, "a key must not be empty", "write 'key: value'");
    }
    if (event->is_plain && strcmp(event->text, "<<") == 0) {
        return refuse(builder, place, "merge keys (<<) are not read", "write the keys out");
    }
    frame->key = arena_strndup(builder->arena, event->text, event->length);
    frame->key_place = *place;
    return true;
}

/* Hangs the node below the innermost open mapping or list. */
static void attach(struct builder *builder, struct doc_node *node)
{
    if (builder->depth == 0) {
        sim_assert(builder->root == NULL);
        builder->root = node;
        return;
    }
    struct frame *frame = &builder->stack[builder->depth - 1];
    node->key = frame->key;
    node->key_place = frame->key_place;
    frame->key = NULL;
    if (frame->last == NULL) {
        frame->node->child = node;
    } else {
        frame->last->next = node;
    }
    frame->last = node;
}

static bool add_node(struct builder *builder, const struct node_event *event,
                     const struct place *place)
{
    if (builder->node_count >= NODES_MAX) {
        return diag_add(builder->diag, builder->kind, place, "more than %d values", NODES_MAX);
    }
    const bool is_container = event->kind != DOC_SCALAR;
    if (is_container && builder->depth >= builder->depth_max) {
        return diag_add(builder->diag, builder->kind, place, "nested deeper than %d levels",
                        DEPTH_MAX);
    }
    struct doc_node *node = arena_alloc(builder->arena, sizeof *node);
    builder->node_count++;
    node->kind = event->kind;
    node->place = *place;
    if (!is_container && event->is_plain && is_null_text(event->text)) {
        node->kind = DOC_NULL;
    } else if (!is_container) {
        node->is_quoted = !event->is_plain;
        node->text = arena_strndup(builder->arena, event->text, event->length);
    }
    attach(builder, node);
    if (is_container) {
        builder->stack[builder->depth++] = (struct frame){.node = node};
    }
    return true;
}

static void report_duplicate(struct builder *builder, const struct doc_node *first,
                             const struct doc_node *second)
{
    builder->is_bad = true;
    if (first->key_place.line == 0) {
        diag_add(builder->diag, builder->kind, &second->key_place, "duplicate key '%.*s'",
                 SHOWN_BYTES_MAX, second->key);
        return;
    }
    diag_add(builder->diag, builder->kind, &second->key_place,
             "duplicate key '%.*s': it stands already in line %" PRIu32, SHOWN_BYTES_MAX,
             second->key, first->key_place.line);
}

/* Open addressing; the table is at least half empty. */
static void check_duplicates(struct builder *builder, const struct doc_node *mapping)
{
    size_t slot_count = 4;
    while (slot_count < 2 * (size_t)doc_child_count(mapping)) {
        slot_count *= 2;
    }
    const struct doc_node **slots = arena_array(builder->scratch, slot_count, sizeof *slots);
    for (const struct doc_node *child = mapping->child; child != NULL; child = child->next) {
        size_t slot = rng_hash_bytes(child->key, strlen(child->key), 0) & (slot_count - 1);
        while (slots[slot] != NULL && strcmp(slots[slot]->key, child->key) != 0) {
            slot = (slot + 1) & (slot_count - 1);
        }
        if (slots[slot] != NULL) {
            report_duplicate(builder, slots[slot], child);
        } else {
            slots[slot] = child;
        }
    }
}

static bool handle_node(struct builder *builder, const yaml_event_t *event)
{
    const struct node_event node = node_event_of(event);
    const struct place place = place_at(builder, &event->start_mark);
    if (!check_node(builder, &node, &place)) {
        return false;
    }
    struct frame *frame = builder->depth > 0 ? &builder->stack[builder->depth - 1] : NULL;
    if (frame != NULL && frame->node->kind == DOC_MAPPING && frame->key == NULL) {
        return take_key(builder, frame, &node, &place);
    }
    return add_node(builder, &node, &place);
}

static void close_container(struct builder *builder)
{
    sim_assert(builder->depth > 0);
    const struct frame *frame = &builder->stack[--builder->depth];
    sim_assert(frame->key == NULL);
    if (frame->node->kind == DOC_MAPPING) {
        check_duplicates(builder, frame->node);
    }
}

/* False stops the reading; the reason is in the diag. */
static bool handle_event(struct builder *builder, const yaml_event_t *event)
{
    struct place place;
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if (builder->root == NULL) {
            return true;
        }
        place = place_at(builder, &event->start_mark);
        return refuse(builder, &place, "a second document begins here",
                      "a file holds one document: use one file for each");
    case YAML_ALIAS_EVENT:
        place = place_at(builder, &event->start_mark);
        return refuse(builder, &place, "aliases (*name) are not read",
                      "write the value out wherever it is used");
    case YAML_SCALAR_EVENT:
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return handle_node(builder, event);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_container(builder);
        return true;
    default:
        return true;
    }
}

/* What people mean when libyaml stumbles: part of its message, and advice. */
static const char *const SYNTAX_HELP[][2] = {
    {"mapping values are not allowed", "put a text that holds ': ' in quotes"},
    {"cannot start any token", "indent with spaces, and put a text that begins with a sign in "
                               "quotes"},
    {"could not find expected ':'", "a line in a mapping reads 'key: value'"},
};

static void report_syntax(struct builder *builder, const yaml_parser_t *parser)
{
    const char *problem = parser->problem == NULL ? "cannot be read" : parser->problem;
    const struct place place = place_at(builder, &parser->problem_mark);
    if (parser->context != NULL && place.line > 0) {
        diag_add(builder->diag, builder->kind, &place, "%s, %s that begins in line %zu", problem,
                 parser->context, parser->context_mark.line + 1);
    } else {
        diag_add(builder->diag, builder->kind, &place, "%s", problem);
    }
    for (size_t i = 0; i < sizeof SYNTAX_HELP / sizeof *SYNTAX_HELP; i++) {
        if (strstr(problem, SYNTAX_HELP[i][0]) != NULL) {
            diag_help(builder->diag, "%s", SYNTAX_HELP[i][1]);
        }
    }
}

static void report_parser(struct builder *builder, const yaml_parser_t *parser)
{
    if (parser->error == YAML_READER_ERROR) {
        diag_add(builder->diag, builder->kind, &builder->place, "this is not a text file");
        diag_help(builder->diag, "byte %zu: %s", parser->problem_offset + 1, parser->problem);
    } else if (parser->error == YAML_MEMORY_ERROR) {
        arena_out_of_memory();
    } else {
        report_syntax(builder, parser);
    }
}

static bool read_events(struct builder *builder, yaml_parser_t *parser)
{
    bool is_good = true;
    bool is_end = false;
    while (is_good && !is_end) {
        yaml_event_t event;
        if (yaml_parser_parse(parser, &event) == 0) {
            report_parser(builder, parser);
            return false;
        }
        is_good = handle_event(builder, &event);
        is_end = event.type == YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    return is_good;
}

/* Puts the tree of `text` into builder->root; an empty text leaves NULL there. */
static bool build(struct builder *builder, const char *text, size_t length)
{
    yaml_parser_t parser;
    if (yaml_parser_initialize(&parser) == 0) {
        arena_out_of_memory();
    }
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    builder->cursor = (struct cursor){.text = text, .length = length, .line = 1};
    builder->scratch = arena_new();
    const bool is_good = read_events(builder, &parser);
    arena_free(builder->scratch);
    yaml_parser_delete(&parser);
    return is_good && !builder->is_bad;
}

struct doc_node *doc_parse(struct arena *arena, const char *name, const char *text, size_t length,
                           struct diag *diag)
{
    const struct place whole = {.file = arena_strdup(arena, name)};
    if (length > FILE_BYTES_MAX) {
        diag_add(diag, DIAG_INPUT, &whole, "this file has %zu bytes; at most %zu (4 MiB) are read",
                 length, FILE_BYTES_MAX);
        return NULL;
    }
    if (length > 0 && memchr(text, '\0', length) != NULL) {
        diag_add(diag, DIAG_INPUT, &whole, "this is not a text file");
        diag_help(diag, "it holds NUL bytes");
        return NULL;
    }
    const bool has_byte_order_mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;
    const size_t skipped = has_byte_order_mark ? 3 : 0;
    const char *kept = arena_strndup(arena, text + skipped, length - skipped);
    struct builder builder = {.arena = arena, .diag = diag, .kind = DIAG_INPUT};
    builder.place = (struct place){.file = whole.file, .source_text = kept};
    builder.depth_max = DEPTH_MAX;
    if (!build(&builder, kept, length - skipped)) {
        return NULL;
    }
    if (builder.root == NULL || builder.root->kind == DOC_NULL) {
        diag_add(diag, DIAG_INPUT, &whole, "this file is empty");
        return NULL;
    }
    return builder.root;
}

/* ---- files ------------------------------------------------------------- */

struct doc_node *doc_load(struct arena *arena, const char *path, struct diag *diag)
{
    struct arena *scratch = arena_new(); /* doc_parse keeps a copy of its own */
    struct text_file file;
    const bool is_read =
        text_file_load(scratch, arena_strdup(arena, path), FILE_BYTES_MAX, &file, diag);
    struct doc_node *root = is_read ? doc_parse(arena, path, file.text, file.length, diag) : NULL;
    arena_free(scratch);
    return root;
}

/* ---- paths ------------------------------------------------------------- */

/* One part of a dotted path; not terminated. */
struct segment {
    const char *text;
    size_t length;
};

/* The part that begins at `path`; an empty one when there is none. */
static struct segment first_segment(const char *path, size_t length)
{
    const char *dot = length == 0 ? NULL : memchr(path, '.', length);
    return (struct segment){path, dot == NULL ? length : (size_t)(dot - path)};
}

/* An index of up to nine digits, or UINT32_MAX. */
static uint32_t segment_index(struct segment segment)
{
    uint32_t index = 0;
    if (segment.length == 0 || segment.length > 9) {
        return UINT32_MAX;
    }
    for (size_t i = 0; i < segment.length; i++) {
        if (segment.text[i] < '0' || segment.text[i] > '9') {
            return UINT32_MAX;
        }
        index = 10 * index + (uint32_t)(segment.text[i] - '0');
    }
    return index;
}

static struct doc_node *child_at(const struct doc_node *node, struct segment segment)
{
    struct doc_node *child = node->child;
    if (node->kind == DOC_MAPPING) {
        while (child != NULL && (child->key[0] != segment.text[0] ||
                                 strncmp(child->key, segment.text, segment.length) != 0 ||
                                 child->key[segment.length] != '\0')) {
            child = child->next;
        }
        return child;
    }
    const uint32_t wanted = node->kind == DOC_SEQUENCE ? segment_index(segment) : UINT32_MAX;
    for (uint32_t index = 0; child != NULL && index != wanted; index++) {
        child = child->next;
    }
    return child;
}

struct doc_node *doc_find(const struct doc_node *node, const char *path)
{
    struct doc_node *found = NULL;
    while (node != NULL) {
        const struct segment segment = first_segment(path, strlen(path));
        found = child_at(node, segment);
        if (path[segment.length] == '\0') {
            return found;
        }
        path += segment.length + 1;
        node = found;
    }
    return NULL;
}

void doc_own_children(struct arena *arena, struct doc_node *node)
{
    struct doc_node **link = &node->child;
    for (const struct doc_node *child = node->child; child != NULL; child = child->next) {
        struct doc_node *own = arena_alloc(arena, sizeof *own);
        *own = *child;
        *link = own;
        link = &own->next;
    }
    node->kept = NULL;
}

struct doc_node **doc_link(struct doc_node *mapping, const char *key)
{
    struct doc_node **link = &mapping->child;
    while (*link != NULL && strcmp((*link)->key, key) != 0) {
        link = &(*link)->next;
    }
    return link;
}

void doc_drop(struct doc_node *mapping, const char *key)
{
    struct doc_node **link = doc_link(mapping, key);
    if (*link != NULL) {
        *link = (*link)->next;
    }
}

const char *doc_find_text(const struct doc_node *node, const char *path)
{
    const struct doc_node *found = doc_find(node, path);
    return found != NULL && found->kind == DOC_SCALAR ? found->text : NULL;
}

bool doc_is(const struct doc_node *node, const char *text)
{
    return node != NULL && node->kind == DOC_SCALAR && strcmp(node->text, text) == 0;
}

uint32_t doc_child_count(const struct doc_node *node)
{
    uint32_t count = 0;
    for (const struct doc_node *child = node->child; child != NULL; child = child->next) {
        count++;
    }
    return count;
}

static const struct doc_node *child_of(const struct doc_node *mapping, const char *key)
{
    const struct doc_node *child = mapping->child;
    while (child != NULL && strcmp(child->key, key) != 0) {
        child = child->next;
    }
    return child;
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as documents are read */
bool doc_is_same(const struct doc_node *one, const struct doc_node *other)
{
    if (one->kind != other->kind || doc_child_count(one) != doc_child_count(other)) {
        return false;
    }
    if (one->kind == DOC_SCALAR) {
        return strcmp(one->text, other->text) == 0;
    }
    const struct doc_node *item = other->child;
    for (const struct doc_node *child = one->child; child != NULL; child = child->next) {
        const struct doc_node *twin = one->kind == DOC_MAPPING ? child_of(other, child->key) : item;
        if (twin == NULL || !doc_is_same(child, twin)) {
            return false;
        }
        item = item->next;
    }
    return true;
}

/* ---- setting ----------------------------------------------------------- */

const char *doc_set_last(const char *const *assignments, uint32_t count, const char *path)
{
    const size_t length = strlen(path);
    const char *value = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(assignments[i], path, length) == 0 && assignments[i][length] == '=') {
            value = assignments[i] + length + 1;
        }
    }
    return value;
}

/* One assignment on its way to its node. */
struct setter {
    struct arena *arena;
    struct diag *diag;
    enum diag_kind kind;
    struct place place;
    const char *path;
    size_t path_length;
};

static bool check_path(const struct setter *setter, uint32_t *segment_count)
{
    uint32_t count = 0;
    size_t at = 0;
    do {
        const struct segment segment = first_segment(setter->path + at, setter->path_length - at);
        if (segment.length == 0) {
            diag_add(setter->diag, setter->kind, &setter->place, "a key is missing in the path");
            diag_help(setter->diag, "write it like cluster.nics.bandwidth=\"100 Gbps\"");
            return false;
        }
        count++;
        at += segment.length + 1;
    } while (at <= setter->path_length);
    *segment_count = count;
    if (count >= DEPTH_MAX) {
        return diag_add(setter->diag, setter->kind, &setter->place,
                        "this path is deeper than %d levels", DEPTH_MAX);
    }
    return true;
}

static struct doc_node *append_child(const struct setter *setter, struct doc_node *mapping,
                                     struct segment segment)
{
    struct doc_node **link = &mapping->child;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    struct doc_node *child = arena_alloc(setter->arena, sizeof *child);
    *link = child;
    child->key = arena_strndup(setter->arena, segment.text, segment.length);
    child->kind = DOC_NULL;
    child->place = setter->place;
    child->key_place = setter->place;
    return child;
}

/* The child on the path, made if need be; an empty value becomes a mapping.
 * NULL and a message when there can be none. */
static struct doc_node *descend(const struct setter *setter, struct doc_node *node,
                                struct segment segment)
{
    struct doc_node *child = child_at(node, segment);
    if (child != NULL) {
        return child;
    }
    const int before = (int)(segment.text - setter->path) - 1;
    if (node->kind == DOC_SCALAR) {
        diag_add(setter->diag, setter->kind, &setter->place, "'%.*s' is '%.*s', which has no keys",
                 before > 0 ? before : 0, setter->path, SHOWN_BYTES_MAX, node->text);
        return NULL;
    }
    if (node->kind == DOC_SEQUENCE) {
        diag_add(setter->diag, setter->kind, &setter->place,
                 "'%.*s' is a list of %" PRIu32 ": there is no element '%.*s'",
                 before > 0 ? before : 0, setter->path, doc_child_count(node), (int)segment.length,
                 segment.text);
        diag_help(setter->diag, "elements are counted from 0");
        return NULL;
    }
    node->kind = DOC_MAPPING;
    return append_child(setter, node, segment);
}

static struct doc_node *reach(const struct setter *setter, struct doc_node *root)
{
    struct doc_node *node = root;
    size_t at = 0;
    while (node != NULL && at <= setter->path_length) {
        const struct segment segment = first_segment(setter->path + at, setter->path_length - at);
        doc_own_children(setter->arena, node);
        node = descend(setter, node, segment);
        at += segment.length + 1;
    }
    return node;
}

/* The value is read first: a bad one leaves the tree as it was. */
bool doc_set(struct arena *arena, struct doc_node *root, const char *assignment, struct diag *diag)
{
    const struct place place = {.file = arena_printf(arena, "--set %s", assignment)};
    const char *equals = strchr(assignment, '=');
    if (equals == NULL) {
        diag_add(diag, DIAG_USAGE, &place, "a value is missing");
        diag_help(diag, "write it like cluster.nics.bandwidth=\"100 Gbps\"");
        return false;
    }
    const struct setter setter = {arena, diag,       DIAG_USAGE,
                                  place, assignment, (size_t)(equals - assignment)};
    uint32_t segment_count = 0;
    if (!check_path(&setter, &segment_count)) {
        return false;
    }
    struct builder builder = {.arena = arena, .diag = diag, .kind = DIAG_USAGE, .place = place};
    builder.depth_max = DEPTH_MAX - segment_count;
    if (!build(&builder, equals + 1, strlen(equals + 1))) {
        return false;
    }
    if (builder.root == NULL) {
        diag_add(diag, DIAG_USAGE, &place, "a value is missing after '='");
        diag_help(diag, "a key that is left out has its default");
        return false;
    }
    struct doc_node *node = reach(&setter, root);
    if (node == NULL) {
        return false;
    }
    node->kind = builder.root->kind;
    node->is_quoted = builder.root->is_quoted;
    node->text = builder.root->text;
    node->child = builder.root->child;
    node->place = place;
    node->kept = NULL;
    return true;
}

bool doc_put(struct arena *arena, struct doc_node *root, const char *path,
             const struct doc_node *value, struct diag *diag)
{
    const struct setter setter = {arena, diag, DIAG_INPUT, value->key_place, path, strlen(path)};
    uint32_t segment_count = 0;
    struct doc_node *node = check_path(&setter, &segment_count) ? reach(&setter, root) : NULL;
    if (node == NULL) {
        return false;
    }
    const struct doc_node old = *node;
    *node = *value;
    node->key = old.key;
    node->next = old.next;
    node->kept = NULL;
    return true;
}
