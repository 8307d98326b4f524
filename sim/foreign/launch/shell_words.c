/* Bytes are read from left to right. The text behind `:-` in `${NAME:-text}` is read where it
 * stands: what is behind the brace waits on a stack, so nothing calls itself.
 */
#include "foreign/launch/shell_words.h"

#include "base/arena.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

enum { DEPTH_MAX = 16, NAME_SHOWN_MAX = 60 };

/* ---- bytes and words ------------------------------------------------------------------------ */

struct shell_word *shell_add_word(struct shell *shell, struct shell_words *words)
{
    words->items = arena_grow(shell->arena, words->items, &words->capacity, words->count + 1,
                              sizeof *words->items);
    struct shell_word *word = &words->items[words->count++];
    *word = (struct shell_word){.text = arena_alloc(shell->arena, 1), .capacity = 1};
    return word;
}

void shell_add_byte(struct shell *shell, struct shell_word *word, char byte, const char *from)
{
    if (shell->bytes >= SHELL_BYTES_MAX) {
        return;
    }
    shell->bytes++;
    if (word->length + 1 >= word->capacity || word->length >= word->from_capacity) {
        const size_t more = 2 * word->length + 14;
        word->text = arena_grow(shell->arena, word->text, &word->capacity, more, sizeof(char));
        word->from =
            arena_grow(shell->arena, word->from, &word->from_capacity, more, sizeof *word->from);
    }
    word->at = word->length == 0 ? from : word->at;
    word->from[word->length] = from;
    word->text[word->length++] = byte;
    word->text[word->length] = '\0';
    word->is_written = true;
}

static void add_text(struct shell *shell, struct shell_word *word, const char *text,
                     const char *from)
{
    for (; *text != '\0'; text++) {
        shell_add_byte(shell, word, *text, from);
    }
}

void shell_split(struct shell *shell, const struct shell_word *word, struct shell_words *words)
{
    struct shell_word *part = NULL;
    bool is_known = true; /* blanks in what is not known part nothing */
    for (size_t i = 0; i < word->length; i++) {
        const char byte = word->text[i];
        is_known = byte == SHELL_UNKNOWN ? false : byte == SHELL_KNOWN ? true : is_known;
        if (is_known && isspace((unsigned char)byte)) {
            part = NULL;
            continue;
        }
        part = part != NULL ? part : shell_add_word(shell, words);
        shell_add_byte(shell, part, byte, word->from[i]);
    }
}

/* ---- variables ------------------------------------------------------------------------------ */

static struct shell_variable *find(const struct shell *shell, const char *name)
{
    for (size_t i = 0; i < shell->variable_count; i++) {
        if (strcmp(shell->variables[i].name, name) == 0) {
            return &shell->variables[i];
        }
    }
    return NULL;
}

const struct shell_variable *shell_find(const struct shell *shell, const char *name)
{
    return find(shell, name);
}

static void add_values(struct shell *shell, struct shell_words *to, const struct shell_words *from)
{
    for (size_t i = 0; i < from->count; i++) {
        to->items =
            arena_grow(shell->arena, to->items, &to->capacity, to->count + 1, sizeof *to->items);
        to->items[to->count++] = from->items[i];
    }
}

static void add_to_text(struct shell *shell, struct shell_words *to, const struct shell_words *from)
{
    struct shell_word *joined = shell_add_word(shell, to);
    const struct shell_word old = to->items[0];
    for (size_t i = 0; i < old.length; i++) {
        shell_add_byte(shell, joined, old.text[i], old.from[i]);
    }
    for (size_t i = 0; from->count > 0 && i < from->items[0].length; i++) {
        shell_add_byte(shell, joined, from->items[0].text[i], from->items[0].from[i]);
    }
    to->items[0] = *joined;
    to->count = 1;
}

void shell_assign(struct shell *shell, const char *name, const struct shell_words *values,
                  bool is_array, bool appends)
{
    enum { VARIABLES_MAX = 4000 };
    struct shell_variable *variable = find(shell, name);
    if (variable == NULL && shell->variable_count == VARIABLES_MAX) {
        return;
    }
    if (variable == NULL) {
        shell->variables = arena_grow(shell->arena, shell->variables, &shell->variable_capacity,
                                      shell->variable_count + 1, sizeof *shell->variables);
        variable = &shell->variables[shell->variable_count++];
        *variable = (struct shell_variable){.name = name};
    } else if (appends && !is_array && variable->values.count > 0) {
        add_to_text(shell, &variable->values, values);
        return;
    } else if (!appends) {
        variable->values = (struct shell_words){0};
    }
    add_values(shell, &variable->values, values);
}

/* ---- reading a word ------------------------------------------------------------------------- */

/* Where reading goes on when what is expanded in place has ended. */
struct level {
    const char *at, *end;
    bool is_quoted;
};

struct reading {
    struct shell *shell;
    struct shell_words *words;
    struct shell_word *word; /* that is being written, or NULL */
    struct level levels[DEPTH_MAX];
    uint32_t depth;
    bool is_quoted; /* in "..." */
    bool splits;
};

static struct shell_word *word_of(struct reading *reading)
{
    if (reading->word == NULL) {
        reading->word = shell_add_word(reading->shell, reading->words);
        reading->word->at = reading->shell->at;
    }
    return reading->word;
}

static void put(struct reading *reading, char byte, const char *from)
{
    shell_add_byte(reading->shell, word_of(reading), byte, from);
}

static void put_unknown(struct reading *reading, struct text_span name, const char *from)
{
    const size_t length = text_span_length(name);
    const size_t shown = length < NAME_SHOWN_MAX ? length : NAME_SHOWN_MAX;
    put(reading, SHELL_UNKNOWN, from);
    for (size_t i = 0; i < shown; i++) {
        const char byte = name.begin[i];
        put(reading, (char)(isgraph((unsigned char)byte) ? byte : ' '), from);
    }
    put(reading, SHELL_KNOWN, from);
}

/* A value's bytes; without quotes blanks end the word. `from`: of what an option gave. */
static void put_value(struct reading *reading, const struct shell_word *value, const char *from)
{
    bool is_known = true; /* blanks in the name of what is not known end nothing */
    for (size_t i = 0; i < value->length; i++) {
        const char byte = value->text[i];
        is_known = byte == SHELL_UNKNOWN ? false : byte == SHELL_KNOWN ? true : is_known;
        if (reading->splits && !reading->is_quoted && is_known && isspace((unsigned char)byte)) {
            reading->word = NULL;
        } else {
            put(reading, byte, value->from[i] != NULL ? value->from[i] : from);
        }
    }
}

/* "$A", "${A[@]}", "${A[*]}": items are words of their own unless `joins`. */
static void put_variable(struct reading *reading, const struct shell_variable *variable,
                         bool takes_all, bool joins, const char *from)
{
    const struct shell_words *values = &variable->values;
    const size_t count = takes_all ? values->count : values->count > 0 ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && (joins && reading->is_quoted)) {
            put(reading, ' ', from);
        } else if (i > 0) {
            reading->word = NULL;
        }
        put_value(reading, &values->items[i], from);
    }
}

/* Behind the bracket that closes the one at `at`, quotes left out; `end` when none does. */
static const char *behind_closing(const char *at, const char *end, char open, char close)
{
    uint32_t depth = 0;
    char quote = '\0';
    for (; at < end; at++) {
        if (*at == '\\' && at + 1 < end) {
            at++;
        } else if (quote != '\0') {
            quote = (char)(*at == quote ? '\0' : quote);
        } else if (*at == '\'' || *at == '"') {
            quote = *at;
        } else if (*at == open) {
            depth++;
        } else if (*at == close && --depth == 0) {
            return at + 1;
        }
    }
    return end;
}

static bool is_name_byte(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

static const char *behind_name(const char *at, const char *end)
{
    if (at < end && isdigit((unsigned char)*at)) {
        return at + 1;
    }
    while (at < end && is_name_byte(*at)) {
        at++;
    }
    return at;
}

/* Of a variable: all items, an item, or the text. */
struct subscript {
    bool takes_all, joins;
    const char *behind;
};

static struct subscript subscript_of(const char *at, const char *end)
{
    struct subscript subscript = {.behind = at};
    if (at < end && *at == '[') {
        const char *closing = behind_closing(at, end, '[', ']');
        subscript.takes_all = closing > at + 2 && (at[1] == '@' || at[1] == '*');
        subscript.joins = at[1] == '*';
        subscript.behind = closing;
    }
    return subscript;
}

/* What is behind the name in braces: ":-text" is read when nothing was assigned. */
static void put_default(struct reading *reading, const char *text, const char *end)
{
    struct shell *shell = reading->shell;
    if (reading->depth < DEPTH_MAX && text < end) {
        reading->levels[reading->depth++] =
            (struct level){shell->at, shell->end, reading->is_quoted};
        shell->at = text;
        shell->end = end;
    }
}

static bool is_empty(const struct shell_variable *variable)
{
    return variable == NULL || variable->values.count == 0 || variable->values.items[0].length == 0;
}

/* `variable`, or the item of it that the brackets at `at` name by its number, as `item`; NULL: it
 * is none, or the array has names for numbers. */
static const struct shell_variable *chosen(const struct shell *shell,
                                           const struct shell_variable *variable, const char *at,
                                           const struct subscript *subscript,
                                           struct shell_variable *item)
{
    if (variable == NULL || subscript->takes_all || subscript->behind == at) {
        return variable;
    }
    if (subscript->behind < at + 3) {
        return NULL;
    }
    const struct shell_words *values = &variable->values;
    const struct text_span index = {at + 1, subscript->behind - 1};
    int64_t number = (int64_t)values->count - 1;
    const bool is_number = text_span_is(index, "-1") || shell_arithmetic(shell, index, &number);
    if (!is_number || number < 0 || (uint64_t)number >= values->count ||
        values->items[number].text[0] == '[') {
        return NULL;
    }
    *item = (struct shell_variable){variable->name, {&values->items[number], 1, 1}};
    return item;
}

/* "${NAME...}" at shell->at, which moves behind it. */
static void read_braces(struct reading *reading)
{
    struct shell *shell = reading->shell;
    const char *from = shell->at;
    const char *behind = behind_closing(from + 1, shell->end, '{', '}');
    const char *last = behind > from + 2 && behind[-1] == '}' ? behind - 1 : behind;
    const char *name = from + 2;
    const char *name_end = behind_name(name, last);
    while (name_end < last && isdigit((unsigned char)*name) && isdigit((unsigned char)*name_end)) {
        name_end++; /* ${10}, but $10 is $1 and a 0 */
    }
    const struct subscript subscript = subscript_of(name_end, last);
    struct shell_variable item;
    const struct shell_variable *variable = chosen(
        shell, shell_find(shell, arena_strndup(shell->arena, name, (size_t)(name_end - name))),
        name_end, &subscript, &item);
    const char *sign = subscript.behind;
    const bool has_colon = sign < last && *sign == ':';
    const char action = (char)(sign + has_colon < last ? sign[has_colon] : '\0');
    const bool is_there = has_colon ? !is_empty(variable) : variable != NULL;
    shell->at = behind;
    if (action == '+') {
        if (is_there) {
            put_default(reading, sign + has_colon + 1, last);
        }
    } else if ((action == '-' || action == '=') && !is_there) {
        put_default(reading, sign + has_colon + 1, last);
    } else if (variable != NULL && (action == '\0' || strchr("-=?", action) != NULL)) {
        put_variable(reading, variable, subscript.takes_all, subscript.joins, from);
    } else {
        put_unknown(reading, (struct text_span){name, name_end > name ? name_end : last}, from);
    }
}

/* "$((...))" and "$(...)". */
static void read_parentheses(struct reading *reading)
{
    struct shell *shell = reading->shell;
    const char *from = shell->at;
    const char *behind = behind_closing(from + 1, shell->end, '(', ')');
    int64_t value = 0;
    shell->at = behind;
    const bool is_sum = behind - from > 5 && from[2] == '(' && behind[-2] == ')';
    if (is_sum && shell_arithmetic(shell, (struct text_span){from + 3, behind - 2}, &value)) {
        add_text(shell, word_of(reading), arena_printf(shell->arena, "%" PRId64, value), from);
    } else {
        put_unknown(reading, (struct text_span){from, behind}, from);
    }
}

static void read_dollar(struct reading *reading)
{
    struct shell *shell = reading->shell;
    const char *from = shell->at;
    const char next = (char)(from + 1 < shell->end ? from[1] : '\0');
    if (next == '{') {
        read_braces(reading);
    } else if (next == '(') {
        read_parentheses(reading);
    } else if (is_name_byte(next)) {
        const char *behind = behind_name(from + 1, shell->end);
        const struct text_span name = {from + 1, behind};
        const struct shell_variable *variable =
            shell_find(shell, text_span_copy(shell->arena, name));
        shell->at = behind;
        if (variable != NULL) {
            put_variable(reading, variable, false, false, from);
        } else {
            put_unknown(reading, name, from);
        }
    } else if (next != '\0' && strchr("@*#?$!-", next) != NULL) {
        shell->at = from + 2;
        if (next != '@' && next != '*') { /* arguments of the script: there are none */
            put_unknown(reading, (struct text_span){from, from + 2}, from);
        }
    } else {
        put(reading, '$', from);
        shell->at = from + 1;
    }
}

static void read_backslash(struct reading *reading)
{
    struct shell *shell = reading->shell;
    const char *at = shell->at;
    shell->at = at + 2 <= shell->end ? at + 2 : shell->end;
    if (at + 1 >= shell->end) {
        return;
    }
    if (at[1] == '\r' && at + 2 < shell->end && at[2] == '\n') {
        shell->at = at + 3;
        return;
    }
    if (reading->is_quoted && strchr("$`\"\\\n", at[1]) == NULL) {
        put(reading, '\\', at);
    }
    if (at[1] != '\n') {
        put(reading, at[1], at + 1);
    }
}

static void read_single_quotes(struct reading *reading)
{
    struct shell *shell = reading->shell;
    word_of(reading)->is_written = true;
    for (shell->at++; shell->at < shell->end && *shell->at != '\''; shell->at++) {
        put(reading, *shell->at, shell->at);
    }
    shell->at += shell->at < shell->end ? 1 : 0;
}

static void read_backquotes(struct reading *reading)
{
    struct shell *shell = reading->shell;
    const char *from = shell->at;
    const char *closing = memchr(from + 1, '`', (size_t)(shell->end - from - 1));
    shell->at = closing != NULL ? closing + 1 : shell->end;
    put_unknown(reading, (struct text_span){from, shell->at}, from);
}

/* False: the word ends here. */
static bool read_byte(struct reading *reading, bool is_text)
{
    struct shell *shell = reading->shell;
    const char byte = *shell->at;
    const bool is_bare = !reading->is_quoted && !is_text;
    if (is_bare && reading->depth == 0 &&
        (isspace((unsigned char)byte) || strchr(";|&<>()", byte) != NULL)) {
        return false;
    }
    if (byte == '\\') {
        read_backslash(reading);
    } else if (byte == '$') {
        read_dollar(reading);
    } else if (byte == '`') {
        read_backquotes(reading);
    } else if (byte == '\'' && is_bare) {
        read_single_quotes(reading);
    } else if (byte == '"' && !is_text) {
        word_of(reading)->is_written = true;
        reading->is_quoted = !reading->is_quoted;
        shell->at++;
    } else if (is_bare && isspace((unsigned char)byte) && reading->splits) {
        reading->word = NULL;
        shell->at++;
    } else {
        put(reading, (char)(byte == SHELL_UNKNOWN || byte == SHELL_KNOWN ? ' ' : byte), shell->at);
        shell->at++;
    }
    return true;
}

static void read_all(struct reading *reading, bool is_text)
{
    struct shell *shell = reading->shell;
    for (;;) {
        while (shell->at < shell->end) {
            if (!read_byte(reading, is_text)) {
                return;
            }
        }
        if (reading->depth == 0) {
            return;
        }
        const struct level *level = &reading->levels[--reading->depth];
        shell->at = level->at;
        shell->end = level->end;
        reading->is_quoted = level->is_quoted;
    }
}

void shell_read_word(struct shell *shell, bool splits, struct shell_words *words)
{
    struct reading reading = {.shell = shell, .words = words, .splits = splits};
    read_all(&reading, false);
}

void shell_expand(struct shell *shell, const char *end, struct shell_words *words)
{
    struct reading reading = {.shell = shell, .words = words};
    const char *script_end = shell->end;
    word_of(&reading);
    shell->end = end;
    read_all(&reading, true);
    shell->end = script_end;
}

void shell_expand_again(struct shell *shell, const struct shell_word *word,
                        struct shell_words *words)
{
    const char *at = shell->at, *end = shell->end;
    const char *text = arena_strndup(shell->arena, word->text, word->length);
    const size_t first = words->count;
    shell->at = text;
    shell->end = text + word->length;
    shell_expand(shell, shell->end, words);
    shell->at = at;
    shell->end = end;
    struct shell_word *again = &words->items[first];
    for (size_t i = 0; i < again->length; i++) { /* what stands in it was written in the script */
        const char *from = again->from[i];
        const bool is_inner = from >= text && from < text + word->length;
        again->from[i] = is_inner ? word->from[from - text] : from;
    }
    again->at = again->length > 0 ? again->from[0] : word->at;
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

enum { OPERANDS_MAX = 64 };
static const int64_t VALUE_MAX = INT64_C(1000000000000);

struct sum {
    int64_t values[OPERANDS_MAX];
    char signs[OPERANDS_MAX];
    uint32_t value_count, sign_count;
};

static uint32_t rank_of(char sign)
{
    return sign == '(' ? 0 : sign == '+' || sign == '-' ? 1 : 2;
}

/* The topmost sign on the two topmost values; false: that is no number. */
static bool reduce(struct sum *sum)
{
    const char sign = sum->signs[--sum->sign_count];
    if (sum->value_count < 2) {
        return false;
    }
    const int64_t right = sum->values[--sum->value_count];
    int64_t *left = &sum->values[sum->value_count - 1];
    if ((sign == '/' || sign == '%') && right == 0) {
        return false;
    }
    if (sign == '*' && right != 0 &&
        (*left > VALUE_MAX / (right < 0 ? -right : right) ||
         *left < -VALUE_MAX / (right < 0 ? -right : right))) {
        return false;
    }
    *left = sign == '+'   ? *left + right
            : sign == '-' ? *left - right
            : sign == '*' ? *left * right
            : sign == '/' ? *left / right
                          : *left % right;
    return *left <= VALUE_MAX && *left >= -VALUE_MAX;
}

static bool reduce_to(struct sum *sum, uint32_t rank)
{
    while (sum->sign_count > 0 && rank_of(sum->signs[sum->sign_count - 1]) >= rank &&
           sum->signs[sum->sign_count - 1] != '(') {
        if (!reduce(sum)) {
            return false;
        }
    }
    return true;
}

static bool number_at(const struct shell *shell, const char **at, const char *end, int64_t *value)
{
    const char *begin = *at;
    const char *name = begin;
    while (name < end && (*name == '$' || *name == '{')) {
        name++;
    }
    const char *behind = name;
    while (behind < end && is_name_byte(*behind)) {
        behind++;
    }
    if (behind == name) {
        return false;
    }
    *at = behind + (behind < end && *behind == '}' ? 1 : 0);
    const struct text_span span = {name, behind};
    if (isdigit((unsigned char)*name) && name == begin) {
        return text_span_count(span, value) && *value <= VALUE_MAX;
    }
    const struct shell_variable *variable = shell_find(shell, text_span_copy(shell->arena, span));
    const bool is_known = variable != NULL && variable->values.count == 1;
    const char *text = is_known ? variable->values.items[0].text : "";
    return text_span_count((struct text_span){text, text + strlen(text)}, value) &&
           *value <= VALUE_MAX;
}

static bool sign_at(struct sum *sum, char sign)
{
    if (sign == ')') {
        if (!reduce_to(sum, 1) || sum->sign_count == 0) {
            return false;
        }
        sum->sign_count--;
        return true;
    }
    if (sum->sign_count == OPERANDS_MAX || (sign != '(' && !reduce_to(sum, rank_of(sign)))) {
        return false;
    }
    sum->signs[sum->sign_count++] = sign;
    return true;
}

bool shell_arithmetic(const struct shell *shell, struct text_span text, int64_t *value)
{
    struct sum sum = {0};
    for (const char *at = text.begin; at < text.end;) {
        if (isspace((unsigned char)*at)) {
            at++;
        } else if (strchr("+-*/%()", *at) != NULL) {
            if (!sign_at(&sum, *at++)) {
                return false;
            }
        } else if (sum.value_count == OPERANDS_MAX ||
                   !number_at(shell, &at, text.end, &sum.values[sum.value_count])) {
            return false;
        } else {
            sum.value_count++;
        }
    }
    const bool is_good = reduce_to(&sum, 1) && sum.sign_count == 0 && sum.value_count == 1;
    *value = is_good ? sum.values[0] : 0;
    return is_good;
}
