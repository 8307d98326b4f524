/* Reads a schedule that is data: its keys by a table, its orders word by word; then
 * input/schedule_line executes it once.
 */
#include "input/schedule_file.h"

#include "base/arena.h"
#include "input/features/layout_words.h"
#include "input/job/parallel.h"
#include "input/schedule_line.h"
#include "input/schema/schema.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A file of at most 4 MiB (input/doc/doc.h) cannot hold more actions. */
#define ACTIONS_MAX (1 << 21)
#define STAGES_MAX 4096
#define CHUNKS_MAX 256

struct reader {
    struct arena *arena;
    struct diag *diag;
    struct schedule_file *file;
    const char *name;
    int64_t stages, chunks, microbatches;
    const struct doc_node *pieces, *orders; /* as written; NULL: absent */
};

/* ---- the table ------------------------------------------------------------------------------- */

#define SCHEMA_OBJECT struct reader
#include "input/schema/rows.h"

static const struct schema_row rows[] = {
    {TEXT("schedule", name, "What reports call it."), .note = "file"},
    {COUNT("stages", stages, 1, STAGES_MAX, "Stages of the pipeline."), .is_required = true},
    {COUNT("microbatches", microbatches, 1, ACTIONS_MAX, "Microbatches of a step."),
     .is_required = true},
    {COUNT("chunks", chunks, 1, CHUNKS_MAX, "Chunks of the model on each stage."), .standard = "1"},
    {NODE("pieces", pieces,
          "Which piece of the model each chunk of each stage is, counted from 0: "
          "[[0, 3], [1, 2]]."),
     .note = "chunk x stages + stage"},
    {NODE("orders", orders,
          "The actions of each stage as one text: F forward, B backward of inputs, W of weights, "
          "BW of both; F1.0+BW0.1 side by side, microbatch before the dot, chunk behind it."),
     .is_required = true},
};
const struct schema schedule_file_keys = SCHEMA_OF("schedule", "parallel.schedule.", rows);

/* ---- places of words ----------------------------------------------------------------------- */

static const char *line_at(const struct place *place)
{
    const char *at = place->source_text;
    for (uint32_t line = 1; line < place->line && at != NULL; line++) {
        at = strchr(at, '\n');
        at = at == NULL ? NULL : at + 1;
    }
    return at;
}

/* Of word `index` of a scalar: its words are those of the source, however it is folded. */
static struct place place_of_word(const struct doc_node *node, uint64_t index)
{
    struct place place = node->place;
    const char *at = place.source_text == NULL || place.line == 0 ? NULL : line_at(&place);
    if (at == NULL || strnlen(at, place.column) < place.column) {
        return place;
    }
    at += place.column - 1;
    bool is_in_block = *at == '|' || *at == '>'; /* the words begin on the next line */
    const char *line = at - (place.column - 1);
    uint64_t words = 0;
    bool is_in_word = false;
    for (; *at != '\0'; at++) {
        if (*at == '\n') {
            line = at + 1;
            place.line++;
            is_in_block = false;
        }
        const bool is_part =
            !is_in_block && !isspace((unsigned char)*at) && *at != '"' && *at != '\'';
        if (is_part && !is_in_word && words++ == index) {
            place.column = (uint32_t)(at - line) + 1;
            return place;
        }
        is_in_word = is_part;
    }
    return node->place;
}

/* ---- words ----------------------------------------------------------------------------------- */

struct word {
    const char *text; /* NUL-terminated copy */
    struct place place;
};

/* "F3.1": operation, microbatch and chunk; moves *at behind it. */
static bool parse_number(const char **at, uint32_t *value)
{
    const size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 9) {
        return false;
    }
    *value = (uint32_t)strtoul(*at, NULL, 10);
    *at += digits;
    return true;
}

static bool parse_part(const char **at, struct schedule_action *action)
{
    static const struct {
        const char *text;
        enum schedule_operation operation;
    } words[] = {{"BW", SCHEDULE_BACKWARD},
                 {"B", SCHEDULE_BACKWARD_INPUT},
                 {"F", SCHEDULE_FORWARD},
                 {"W", SCHEDULE_WEIGHTS}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const size_t length = strlen(words[i].text);
        if (strncmp(*at, words[i].text, length) != 0) {
            continue;
        }
        *at += length;
        *action = (struct schedule_action){.operation = (uint8_t)words[i].operation};
        uint32_t chunk = 0;
        if (!parse_number(at, &action->microbatch)) {
            return false;
        }
        if (**at == '.') {
            ++*at;
            if (!parse_number(at, &chunk) || chunk > UINT16_MAX) {
                return false;
            }
        }
        action->chunk = (uint16_t)chunk;
        return true;
    }
    return false;
}

static bool parse_word(const char *text, struct schedule_action *action)
{
    if (!parse_part(&text, action)) {
        return false;
    }
    if (*text == '+') {
        struct schedule_action backward;
        text++;
        if (!parse_part(&text, &backward) || action->operation != SCHEDULE_FORWARD ||
            backward.operation != SCHEDULE_BACKWARD) {
            return false;
        }
        action->operation = SCHEDULE_PAIR;
        action->backward_chunk = backward.chunk;
        action->backward_microbatch = backward.microbatch;
    }
    return *text == '\0';
}

static bool check_number(const struct reader *reader, const struct place *place, const char *what,
                         uint32_t value, uint32_t count)
{
    if (value < count) {
        return true;
    }
    diag_add(reader->diag, DIAG_INPUT, place, "no %s %" PRIu32 ": the schedule has %" PRIu32, what,
             value, count);
    if (count == 1) {
        diag_help(reader->diag, "the only %s is 0", what);
    } else {
        diag_help(reader->diag, "%s may be 0 to %" PRIu32, what, count - 1);
    }
    return false;
}

static bool read_word(const struct reader *reader, const char *text, const struct doc_node *node,
                      uint64_t index, struct schedule_action *action)
{
    const struct schedule_file *file = reader->file;
    if (!parse_word(text, action)) {
        const struct place place = place_of_word(node, index);
        diag_add(reader->diag, DIAG_INPUT, &place, "'%.40s' is no action", text);
        diag_help(reader->diag,
                  "F3: forward of microbatch 3; B3: input gradients; W3: weight "
                  "gradients; BW3: both; F5+BW2: beside each other; F3.1: of chunk 1");
        return false;
    }
    const bool is_pair = action->operation == SCHEDULE_PAIR;
    const uint32_t microbatch = is_pair && action->backward_microbatch > action->microbatch
                                    ? action->backward_microbatch
                                    : action->microbatch;
    const uint32_t chunk =
        is_pair && action->backward_chunk > action->chunk ? action->backward_chunk : action->chunk;
    if (microbatch < file->microbatches && chunk < file->chunks) {
        return true;
    }
    const struct place place = place_of_word(node, index);
    const bool has_microbatch =
        check_number(reader, &place, "microbatch", microbatch, file->microbatches);
    return check_number(reader, &place, "chunk", chunk, file->chunks) && has_microbatch;
}

/* ---- orders --------------------------------------------------------------------------------- */

static uint64_t count_words(const char *text)
{
    uint64_t words = 0;
    bool is_in_word = false;
    for (; *text != '\0'; text++) {
        const bool is_part = !isspace((unsigned char)*text);
        words += is_part && !is_in_word;
        is_in_word = is_part;
    }
    return words;
}

static bool read_order(const struct reader *reader, const struct doc_node *node,
                       struct schedule_order *order)
{
    if (node->kind != DOC_SCALAR) {
        diag_add(reader->diag, DIAG_INPUT, &node->place, "an order must be a text of actions");
        diag_help(reader->diag, "such as F0 F1 BW0 BW1");
        return false;
    }
    const uint64_t count = count_words(node->text);
    struct schedule_action *actions = arena_array(reader->arena, count, sizeof *actions);
    *order = (struct schedule_order){actions, count};
    bool is_good = true;
    const char *at = node->text;
    for (uint64_t i = 0; i < count; i++) {
        at += strspn(at, " \t\r\n");
        const size_t length = strcspn(at, " \t\r\n");
        char word[64];
        const size_t kept = length < sizeof word ? length : sizeof word - 1;
        memcpy(word, at, kept);
        word[kept] = '\0';
        is_good = read_word(reader, word, node, i, &actions[i]) && is_good;
        at += length;
    }
    return is_good;
}

/* A list under `key` with one entry for each of `count` things; NULL after a message. */
static const struct doc_node *need_list(const struct reader *reader, const struct doc_node *node,
                                        const char *what, uint32_t count, const char *of_what)
{
    if (node->kind != DOC_SEQUENCE) {
        diag_add(reader->diag, DIAG_INPUT, &node->place, "%s must be a list", what);
        diag_help(reader->diag, "write %" PRIu32 " entries, one for each %s", count, of_what);
        return NULL;
    }
    const uint32_t entries = doc_child_count(node);
    if (entries != count) {
        diag_add(reader->diag, DIAG_INPUT, &node->place,
                 "%s has %" PRIu32 " entries for %" PRIu32 " %ss", what, entries, count, of_what);
        diag_help(reader->diag, "write %" PRIu32 " entries, one for each %s", count, of_what);
        return NULL;
    }
    return node->child;
}

static bool read_orders(const struct reader *reader, const struct doc_node *node)
{
    struct schedule_file *file = reader->file;
    const struct doc_node *order = need_list(reader, node, "orders", file->stages, "stage");
    if (order == NULL) {
        return false;
    }
    struct schedule_order *orders = arena_array(reader->arena, file->stages, sizeof *orders);
    bool is_good = true;
    for (uint32_t stage = 0; order != NULL; order = order->next, stage++) {
        is_good = read_order(reader, order, &orders[stage]) && is_good;
    }
    file->orders = orders;
    return is_good;
}

/* ---- pieces --------------------------------------------------------------------------------- */

static bool read_piece(const struct reader *reader, const struct doc_node *node, bool *is_taken,
                       uint32_t *piece)
{
    const struct schedule_file *file = reader->file;
    const int64_t count = (int64_t)file->stages * file->chunks;
    int64_t value = 0;
    if (!doc_node_count(node, 0, count - 1, &value, reader->diag)) {
        return false;
    }
    if (is_taken[value]) {
        diag_add(reader->diag, DIAG_INPUT, &node->place, "piece %" PRId64 " comes twice", value);
        diag_help(reader->diag, "each piece from 0 to %" PRId64 " lies on one stage", count - 1);
        return false;
    }
    is_taken[value] = true;
    *piece = (uint32_t)value;
    return true;
}

/* Messages travel between neighbours, the last stage and the first among them. */
static bool check_neighbours(const struct reader *reader, const struct doc_node *node)
{
    const struct schedule_file *file = reader->file;
    const uint32_t p = file->stages;
    const uint32_t count = p * file->chunks;
    uint32_t *stage_of = arena_array(reader->arena, count, sizeof *stage_of);
    for (uint32_t slot = 0; slot < count; slot++) {
        stage_of[file->pieces[slot]] = slot / file->chunks;
    }
    for (uint32_t piece = 0; piece + 1 < count; piece++) {
        const uint32_t from = stage_of[piece];
        const uint32_t to = stage_of[piece + 1];
        if (from != to && (from + 1) % p != to && (to + 1) % p != from) {
            diag_add(reader->diag, DIAG_INPUT, &node->place,
                     "piece %" PRIu32 " lies on stage %" PRIu32 ", but piece %" PRIu32
                     " on stage %" PRIu32,
                     piece, from, piece + 1, to);
            diag_help(reader->diag, "put consecutive pieces on one stage or on neighbouring ones "
                                    "(the first and the last are neighbours)");
            return false;
        }
    }
    return true;
}

static bool read_pieces(const struct reader *reader, const struct doc_node *node, uint32_t *pieces)
{
    const struct schedule_file *file = reader->file;
    const struct doc_node *stage = need_list(reader, node, "pieces", file->stages, "stage");
    if (stage == NULL) {
        return false;
    }
    const size_t count = (size_t)file->stages * file->chunks;
    bool *is_taken = arena_array(reader->arena, count, sizeof *is_taken);
    bool is_good = true;
    uint32_t slot = 0;
    for (; stage != NULL; stage = stage->next) {
        const struct doc_node *chunk =
            need_list(reader, stage, "a stage's list of pieces", file->chunks, "chunk");
        is_good = is_good && chunk != NULL;
        for (; chunk != NULL; chunk = chunk->next) {
            is_good = read_piece(reader, chunk, is_taken, &pieces[slot++]) && is_good;
        }
    }
    return is_good && check_neighbours(reader, node);
}

static bool place_pieces(const struct reader *reader, const struct doc_node *node)
{
    struct schedule_file *file = reader->file;
    const uint32_t count = file->stages * file->chunks;
    uint32_t *pieces = arena_array(reader->arena, count, sizeof *pieces);
    file->pieces = pieces;
    if (node != NULL) {
        return read_pieces(reader, node, pieces);
    }
    for (uint32_t slot = 0; slot < count; slot++) {
        pieces[slot] = slot % file->chunks * file->stages + slot / file->chunks;
    }
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static struct schedule_slot *slots_of(const struct reader *reader)
{
    const struct schedule_file *file = reader->file;
    const uint32_t count = file->stages * file->chunks;
    uint32_t *slot_of = arena_array(reader->arena, count, sizeof *slot_of);
    for (uint32_t slot = 0; slot < count; slot++) {
        slot_of[file->pieces[slot]] = slot;
    }
    struct schedule_slot *slots = arena_array(reader->arena, count, sizeof *slots);
    for (uint32_t slot = 0; slot < count; slot++) {
        const uint32_t piece = file->pieces[slot];
        slots[slot] = (struct schedule_slot){
            .next = piece + 1 == count ? SCHEDULE_NOWHERE : slot_of[piece + 1],
            .previous = piece == 0 ? SCHEDULE_NOWHERE : slot_of[piece - 1],
            .microbatch_end = file->microbatches,
        };
    }
    return slots;
}

static bool check_execution(const struct reader *reader, const struct doc_node *orders)
{
    const struct schedule_file *file = reader->file;
    const struct schedule_line line = {file->stages, file->chunks, file->microbatches,
                                       slots_of(reader), file->orders};
    struct schedule_fault fault;
    if (schedule_line_check(reader->arena, &line, &fault)) {
        return true;
    }
    const struct doc_node *order = orders->child;
    for (uint32_t stage = 0; stage < fault.stage; stage++) {
        order = order->next;
    }
    const bool is_whole = fault.position < file->orders[fault.stage].count;
    const struct place place = is_whole ? place_of_word(order, fault.position) : order->place;
    diag_add(reader->diag, DIAG_INPUT, &place, "stage %" PRIu32 ": %s", fault.stage, fault.reason);
    if (fault.help != NULL) {
        diag_help(reader->diag, "%s", fault.help);
    }
    return false;
}

static bool put_counts(const struct reader *reader, const struct doc_node *node)
{
    if (reader->stages * reader->chunks * reader->microbatches > ACTIONS_MAX) {
        return diag_add(reader->diag, DIAG_INPUT, &node->place,
                        "%" PRId64 " stages x %" PRId64 " chunks x %" PRId64
                        " microbatches are more actions than a file can hold",
                        reader->stages, reader->chunks, reader->microbatches);
    }
    *reader->file = (struct schedule_file){.name = reader->name,
                                           .place = node->place,
                                           .stages = (uint32_t)reader->stages,
                                           .chunks = (uint32_t)reader->chunks,
                                           .microbatches = (uint32_t)reader->microbatches};
    return true;
}

const struct schedule_file *schedule_file_read(struct arena *arena, const struct doc_node *node,
                                               struct diag *diag)
{
    struct reader reader = {arena, diag, arena_alloc(arena, sizeof *reader.file), .name = ""};
    struct assumptions unused; /* an order is nobody's constant */
    assumptions_init(&unused, arena);
    if (!schema_read_document(&schedule_file_keys, node, &reader, &unused, diag) ||
        !put_counts(&reader, node)) {
        return NULL;
    }
    const bool are_placed = place_pieces(&reader, reader.pieces);
    if (!read_orders(&reader, reader.orders) || !are_placed ||
        !check_execution(&reader, reader.orders)) {
        return NULL;
    }
    return reader.file;
}

const struct schedule_file *schedule_file_load(struct arena *arena, const char *path,
                                               struct diag *diag)
{
    const struct doc_node *root = doc_load(arena, path, diag);
    return root == NULL ? NULL : schedule_file_read(arena, root, diag);
}

int64_t schedule_file_piece(const struct parallel *parallel, int64_t stage, int64_t chunk)
{
    const struct schedule_file *file = parallel->schedule_file;
    return file->pieces[stage * file->chunks + chunk];
}

const char *schedule_name_of(const struct parallel *parallel)
{
    const struct schedule_file *file = parallel->schedule_file;
    return file != NULL && file->name[0] != '\0' ? file->name : schedule_names[parallel->schedule];
}
