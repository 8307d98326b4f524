/* Finds the configuration and the steps in what torchtitan prints. A printed
 * configuration is a Python or a JSON dictionary; both happen to be flow
 * mappings of YAML, so the YAML reader reads them.
 */
#include "foreign/logs/torchtitan_text.h"

#include "base/arena.h"
#include "foreign/told.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { NAMES_MAX = 16, DEPTH_MAX = 16, CONFIG_BYTES_MAX = 1 << 20, SHORT_LINE_BYTES = 64 };

/* ---- what the trainer says ------------------------------------------------------------------ */

static void set_count(struct training_log *log, const char *name, double value, const char *at)
{
    log_set(log, name, arena_printf(log->importer->arena, "%" PRId64, (int64_t)value), at);
}

/* Numbers behind labels, on lines that have a mark. */
static const struct told_mark {
    const char *mark, *label, *name;
} told_numbers[] = {
    {"Trainer is initialized", "local batch size ", "local batch"},
    {"Trainer is initialized", "global batch size ", "global batch"},
    {"Trainer is initialized", "sequence length ", "sequence length"},
    {"mesh with parallelism:", " pp=", "mesh.pp"},
    {"mesh with parallelism:", "dp_replicate=", "mesh.dp_replicate"},
    {"mesh with parallelism:", "dp_shard=", "mesh.dp_shard"},
    {"mesh with parallelism:", " cp=", "mesh.cp"},
    {"mesh with parallelism:", " tp=", "mesh.tp"},
    {"mesh with parallelism:", " ep=", "mesh.ep"},
};

/* Lines that say something by being there. */
static const struct told_mark told_marks[] = {
    {"Applied selective activation checkpointing", "selective", "checkpointing"},
    {"Applied full activation checkpointing", "full", "checkpointing"},
    {"Applied SelectiveAC activation checkpointing", "selective", "checkpointing"},
    {"Applied FullAC activation checkpointing", "full", "checkpointing"},
    {"Compiling each TransformerBlock", "1", "compiled"},
    {"Float8 training active", "1", "float8"},
    {"Swapped to Float8Linear", "1", "float8"},
    {"Float8 tensorwise scaled training active", "1", "float8"},
};

static void read_told(struct training_log *log, struct text_span line)
{
    for (size_t i = 0; i < sizeof told_numbers / sizeof *told_numbers; i++) {
        const struct told_mark *row = &told_numbers[i];
        double value = 0;
        const char *after;
        if (text_span_find(line, row->mark) != NULL &&
            log_number_after(log, line, row->label, &value, &after)) {
            set_count(log, row->name, value, line.begin);
        }
    }
    for (size_t i = 0; i < sizeof told_marks / sizeof *told_marks; i++) {
        if (text_span_find(line, told_marks[i].mark) != NULL) {
            log_set(log, told_marks[i].name, told_marks[i].label, line.begin);
        }
    }
}

/* Of a configuration any line may be a part that is short or has one of the letters. */
bool import_torchtitan_wants(struct text_span line)
{
    static const char *const marks[] = {
        "step:", "mesh with ", " size: ", " capacity: ", "=", "\"", "'", "Trainer is initialized"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (text_span_find(line, marks[i]) != NULL) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof told_marks / sizeof *told_marks; i++) {
        if (text_span_find(line, told_marks[i].mark) != NULL) {
            return true;
        }
    }
    return text_span_length(line) < SHORT_LINE_BYTES || text_span_find(line, "Running with ");
}

/* The next word in quotes, or the next number; moves *at behind it. Empty: ']' comes first. */
static struct text_span next_item(const char **at, const char *end)
{
    while (*at < end && **at != ']' && !isalnum((unsigned char)**at)) {
        (*at)++;
    }
    struct text_span item = {*at, *at};
    while (item.end < end && (isalnum((unsigned char)*item.end) || *item.end == '_')) {
        item.end++;
    }
    *at = item.end;
    return item;
}

/* "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]" */
static void read_mesh(struct training_log *log, struct text_span line)
{
    const char *at = text_span_find(line, "device mesh with [");
    if (at == NULL) {
        return;
    }
    at += strlen("device mesh with [");
    struct text_span names[NAMES_MAX];
    uint32_t count = 0;
    for (struct text_span item = next_item(&at, line.end);
         text_span_length(item) > 0 && count < NAMES_MAX; item = next_item(&at, line.end)) {
        names[count++] = item;
    }
    at += at < line.end ? 1 : 0; /* the bracket */
    int64_t all = 1;
    for (uint32_t i = 0; i < count; i++) {
        int64_t size = 0;
        if (!text_span_count(next_item(&at, line.end), &size) || size < 1 || all > INT32_MAX) {
            return;
        }
        all *= size;
        char *name = arena_printf(log->importer->arena, "mesh.%.*s",
                                  (int)text_span_length(names[i]), names[i].begin);
        set_count(log, name, (double)size, line.begin);
    }
    set_count(log, "mesh", (double)all, line.begin);
}

/* "Model llama3 8B size: 8,030,261,248 total parameters" */
static void read_model(struct training_log *log, struct text_span line)
{
    const char *at = text_span_find(line, "Model ");
    const char *size = text_span_find(line, " size: ");
    if (at == NULL || size == NULL || size < at) {
        return;
    }
    struct text_span words[3];
    if (text_words((struct text_span){at, size}, words, 3) == 3) {
        log_set(log, "told.model.name", text_span_copy(log->importer->arena, words[1]), at);
        log_set(log, "told.model.flavor", text_span_copy(log->importer->arena, words[2]), at);
    }
}

/* "CUDA capacity: NVIDIA H100 with 95.04GiB memory". */
static void read_gpu(struct training_log *log, struct text_span line)
{
    static const char before[] = " capacity: ", behind[] = " with ";
    const struct text_span rest = {text_span_find(line, before), line.end};
    double gib = 0;
    const char *after;
    if (rest.begin == NULL || !log_number_after(log, rest, behind, &gib, &after)) {
        return;
    }
    const struct text_span name = {rest.begin + strlen(before), text_span_find(rest, behind)};
    const struct device_clues clues = {.name = text_span_copy(log->importer->arena, name),
                                       .memory_bytes = gib * (double)(1 << 30)};
    const char *known = device_known(log->importer, &clues);
    if (known != NULL) {
        log_set(log, "gpu", known, rest.begin);
    }
    log_set(log, "device", clues.name, rest.begin);
}

/* ---- steps ---------------------------------------------------------------------------------- */

static bool read_step(struct training_log *log, struct text_span line)
{
    double number = 0, rate = 0;
    const char *after;
    const struct text_span rest = {text_span_find(line, "step: "), line.end};
    if (rest.begin == NULL || text_span_find(rest, "loss:") == NULL ||
        !log_number_after(log, rest, "step: ", &number, &after)) {
        return false;
    }
    const bool is_whole = log_number_after(log, rest, "tps: ", &rate, &after) ||
                          log_number_after(log, rest, "wps: ", &rate, &after);
    if (!is_whole || rate <= 0) {
        log->cut++;
        return true;
    }
    log_step(log, &(struct log_step){(int64_t)number, 0, 1.0 / rate, line.begin});
    return true;
}

/* ---- the configuration ---------------------------------------------------------------------- */

/* The document below, one setting for each scalar and list. */
static void add_document(struct training_log *log, const struct doc_node *root, const char *at)
{
    struct arena *arena = log->importer->arena;
    struct {
        const struct doc_node *next;
        const char *path;
    } levels[DEPTH_MAX] = {{root->child, ""}};
    uint32_t depth = 1;
    while (depth > 0) {
        const struct doc_node *node = levels[depth - 1].next;
        if (node == NULL) {
            depth--;
            continue;
        }
        levels[depth - 1].next = node->next;
        const char *above = levels[depth - 1].path;
        const char *path =
            above[0] == '\0' ? node->key : arena_printf(arena, "%s.%s", above, node->key);
        if (node->kind == DOC_MAPPING && depth < DEPTH_MAX) {
            levels[depth].next = node->child;
            levels[depth++].path = path;
        } else if (node->kind == DOC_SCALAR) {
            log_set(log, path, node->text, at);
        } else if (node->kind == DOC_SEQUENCE) {
            log_set(log, path, doc_to_text(arena, node), at);
        }
    }
}

/* A dictionary from the brace at `begin` on, without ranks' prefixes; NULL: it does not end. */
static char *dictionary(struct arena *arena, const char *begin, const char **end)
{
    const size_t most = strlen(begin) < CONFIG_BYTES_MAX ? strlen(begin) : CONFIG_BYTES_MAX;
    char *text = arena_alloc(arena, most + 1);
    size_t length = 0;
    int depth = 0;
    char quote = '\0';
    for (const char *at = begin; at < begin + most; at++) {
        if (at[0] == '\n' && quote == '\0') {
            const char *next;
            const char *line = text_bare(text_line(at + 1, &next)).begin;
            text[length++] = '\n';
            at = line - 1;
            continue;
        }
        if (quote != '\0') {
            quote = (char)(*at == quote ? '\0' : quote);
        } else if (*at == '"' || *at == '\'') {
            quote = *at;
        } else {
            depth += *at == '{' ? 1 : *at == '}' ? -1 : 0;
        }
        text[length++] = *at;
        if (depth == 0) {
            *end = at + 1;
            return text;
        }
    }
    return NULL;
}

/* "Running with args: {"; returns where reading goes on, or NULL when this is no such line. */
static const char *read_dictionary(struct training_log *log, struct text_span line)
{
    struct importer *importer = log->importer;
    const char *mark = text_span_find(line, "Running with ");
    const char *brace = mark != NULL ? strchr(mark, '{') : NULL;
    const bool is_near = brace != NULL && brace < mark + 40;
    const char *end = NULL;
    char *text = is_near ? dictionary(importer->arena, brace, &end) : NULL;
    if (text == NULL) {
        return NULL;
    }
    const struct doc_node *root = doc_parse(importer->arena, importer->file.path, text,
                                            strlen(text), diag_new(importer->arena));
    if (root == NULL || root->kind != DOC_MAPPING) {
        const struct place place = log_place(log, brace);
        diag_add(importer->diag, DIAG_WARNING, &place, "this configuration cannot be read");
        return NULL;
    }
    add_document(log, root, brace);
    return end + strcspn(end, "\n");
}

/* "[training]" and "seq_len = 8192  # tokens" of TOML. */
static void read_toml(struct training_log *log, struct text_span line, const char **section)
{
    struct arena *arena = log->importer->arena;
    const struct text_span text = text_bare(line);
    const size_t length = text_span_length(text);
    if (length > 2 && text.begin[0] == '[' && text.end[-1] == ']' &&
        text_span_find(text, " ") == NULL) {
        *section = arena_strndup(arena, text.begin + 1, length - 2);
        return;
    }
    const char *sign = text_span_find(text, "=");
    struct text_span words[2];
    if (sign == NULL || (*section)[0] == '\0' ||
        text_words((struct text_span){text.begin, sign}, words, 2) != 1) {
        return;
    }
    struct text_span value = {sign + 1, text_span_find(text, " #")};
    value.end = value.end != NULL && value.end > sign ? value.end : text.end;
    while (value.begin < value.end && strchr(" \t\"'", *value.begin) != NULL) {
        value.begin++;
    }
    while (value.end > value.begin && strchr(" \t\"'", value.end[-1]) != NULL) {
        value.end--;
    }
    const char *name = text_span_copy(arena, words[0]);
    log_set(log, arena_printf(arena, "%s.%s", *section, name),
            told_plain_digits(arena, text_span_copy(arena, value)), text.begin);
}

void titan_read(struct training_log *log)
{
    const char *section = "";
    for (const char *next = log->text; next != NULL;) {
        const struct text_span line = text_line(next, &next);
        if (read_step(log, line)) {
            continue;
        }
        const char *behind = read_dictionary(log, line);
        if (behind != NULL) {
            next = *behind != '\0' ? behind + 1 : NULL;
            continue;
        }
        read_told(log, line);
        read_mesh(log, line);
        read_model(log, line);
        read_gpu(log, line);
        read_toml(log, line, &section);
    }
}

/* ---- settings ------------------------------------------------------------------------------- */

const char *titan_path(const struct training_log *log, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < log->setting_count; i++) {
        const char *path = log->settings[i].name;
        const size_t path_length = strlen(path);
        const char *tail = path_length >= length ? path + path_length - length : path;
        const bool is_end = tail == path || tail[-1] == '.';
        if (strcmp(tail, name) == 0 && is_end && strncmp(path, "validation.", 11) != 0) {
            return path;
        }
    }
    return NULL;
}

const char *titan_text(const struct training_log *log, const char *name)
{
    const char *path = titan_path(log, name);
    return path != NULL ? log_text(log, path) : "";
}

int64_t titan_count(struct training_log *log, const char *name, int64_t absent)
{
    const char *path = titan_path(log, name);
    return path != NULL ? log_count(log, path, absent) : absent;
}

bool titan_is_true(const struct training_log *log, const char *name)
{
    const char *text = titan_text(log, name);
    return strcmp(text, "True") == 0 || strcmp(text, "true") == 0;
}
