/* One command after the other: its words are read, then the first of them says what it is: a word
 * of the shell's own (a row of `words`), an assignment, or a program.
 */
#include "foreign/launch/shell.h"

#include "foreign/launch/shell_functions.h"
#include "foreign/launch/shell_tests.h"

#include "base/arena.h"

#include <ctype.h>
#include <string.h>

enum { FRAMES_MAX = 64, COMMANDS_MAX = 20000, HERES_MAX = 100, FUNCTIONS_MAX = 200 };

enum frame_kind { FRAME_IF, FRAME_CASE, FRAME_LOOP, FRAME_GROUP };

/* `if`, `case`, loops, braces: which of their commands are read. */
struct frame {
    enum frame_kind kind;
    bool is_outside;   /* what is around it is read */
    bool is_active;    /* what is in it at this place is */
    bool is_taken;     /* a branch was */
    bool is_in_clause; /* of a case, behind its pattern */
    const char *subject;
};

struct reader {
    struct shell_script *script;
    struct shell *shell;
    struct frame frames[FRAMES_MAX];
    uint32_t depth;
    bool is_next_skipped;    /* by && or || */
    bool holds;              /* the last command of the list that was run */
    uint32_t function_count; /* that the script was searched for */
    /* of the command that is read */
    struct shell_words words;
    size_t assigned; /* words[0..assigned) are names of assignments that were made */
    const char *here_end[8];
    bool here_quoted[8];
    uint32_t here_count;
    const char *target; /* that its output goes to */
};

static bool is_active(const struct reader *reader)
{
    return reader->depth == 0 || reader->frames[reader->depth - 1].is_active;
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* Once each; a command's output is none. */
static void keep_tested(const struct reader *reader, const char *name)
{
    enum { TESTED_MAX = 8 };
    struct shell_script *script = reader->script;
    bool is_there = name[0] == '$' || name[0] == '`' || script->tested_count == TESTED_MAX;
    for (size_t i = 0; i < script->tested_count && !is_there; i++) {
        is_there = strcmp(script->tested[i], name) == 0;
    }
    if (!is_there && is_active(reader)) {
        script->tested = arena_grow(reader->shell->arena, script->tested, &script->tested_capacity,
                                    script->tested_count + 1, sizeof *script->tested);
        script->tested[script->tested_count++] = name;
    }
}

/* A text that cannot be known is empty: as where a variable is not set. */
static const char *known(const struct reader *reader, const char *text)
{
    const char *at = strchr(text, SHELL_UNKNOWN);
    if (at == NULL) {
        return text;
    }
    const char *name = at + 1;
    keep_tested(reader, arena_strndup(reader->shell->arena, name, strcspn(name, "\x02")));
    return arena_strndup(reader->shell->arena, text, (size_t)(at - text));
}

static bool compare(const char *left, const char *sign, const char *right, bool *holds)
{
    static const char *const signs[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    int64_t one = 0, other = 0;
    const bool are_numbers =
        text_span_count((struct text_span){left, left + strlen(left)}, &one) &&
        text_span_count((struct text_span){right, right + strlen(right)}, &other);
    const bool results[] = {one == other, one != other, one<other, one <= other, one> other,
                            one >= other};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (strcmp(sign, signs[i]) == 0) {
            *holds = are_numbers && results[i];
            return true;
        }
    }
    const bool is_same = shell_matches(right, right + strlen(right), left);
    if ((sign[0] == '<' || sign[0] == '>') && sign[1] == '\0') {
        *holds = sign[0] == '<' ? strcmp(left, right) < 0 : strcmp(left, right) > 0;
        return true;
    }
    if (strcmp(sign, "=") == 0 || strcmp(sign, "==") == 0 || strcmp(sign, "!=") == 0) {
        *holds = (sign[0] == '!') != is_same;
        return true;
    }
    return false;
}

static void tell_not_read(const struct reader *reader, const char *at)
{
    struct importer *importer = reader->shell->importer;
    if (is_active(reader) && !reader->is_next_skipped) {
        const struct place place = at != NULL ? text_file_place(&importer->file, at)
                                              : (struct place){.file = importer->file.path};
        diag_add(importer->diag, DIAG_WARNING, &place,
                 "whether this holds is not known, and it is read as where it does not");
        diag_help(importer->diag, "leave in the script what holds of the run, without the branch");
    }
}

/* `TEXT =~ PATTERN`, of which the pattern's brackets are words of their own. */
static bool expression_holds(const struct reader *reader, const struct shell_word *words,
                             size_t count, size_t *i)
{
    struct arena *arena = reader->shell->arena;
    const char *text = known(reader, words[*i].text);
    const char *pattern = "", *at = words[*i + 1].at;
    bool holds = false;
    for (*i += 2; *i < count && strcmp(words[*i].text, "&&") != 0 &&
                  strcmp(words[*i].text, "||") != 0 && strcmp(words[*i].text, "]]") != 0;
         ++*i) {
        pattern = arena_printf(arena, "%s%s", pattern, words[*i].text);
    }
    if (!shell_finds(arena, known(reader, pattern), text, &holds)) {
        tell_not_read(reader, at);
    }
    return holds;
}

/* The term at words[*i], which moves behind it. */
static bool term_holds(const struct reader *reader, const struct shell_word *words, size_t count,
                       size_t *i)
{
    const char *text = words[*i].text;
    bool holds = false;
    if (*i + 1 < count && strcmp(text, "((") == 0) {
        *i += 2;
        if (words[*i - 1].text[0] == '?') {
            tell_not_read(reader, words[*i - 2].at);
        }
        return words[*i - 1].text[0] == '1';
    }
    if (*i + 2 < count && strcmp(words[*i + 1].text, "=~") == 0) {
        return expression_holds(reader, words, count, i);
    }
    if (*i + 2 < count && compare(known(reader, text), words[*i + 1].text,
                                  known(reader, words[*i + 2].text), &holds)) {
        *i += 3;
        return holds;
    }
    if (text[0] == '-' && strlen(text) == 2 && *i + 1 < count) {
        const char *value = known(reader, words[*i + 1].text);
        *i += 2;
        return text[1] == 'z' ? value[0] == '\0' : text[1] == 'n' && value[0] != '\0';
    }
    *i += 1;
    return known(reader, text)[0] != '\0' && strcmp(text, "false") != 0;
}

/* Terms from `first` on, with && and || between them. */
static bool terms_hold(const struct reader *reader, size_t first)
{
    const struct shell_word *words = reader->words.items;
    size_t count = reader->words.count;
    const char *last = words[count - 1].text;
    count -= last[0] == ']' ? 1 : 0;
    bool all = true, any = false, negates = false;
    for (size_t i = first; i < count;) {
        const char *text = words[i].text;
        if (strcmp(text, "||") == 0 || strcmp(text, "-o") == 0) {
            any = any || all;
            all = true;
            i++;
        } else if (strcmp(text, "&&") == 0 || strcmp(text, "-a") == 0) {
            i++;
        } else if (strcmp(text, "!") == 0) {
            negates = !negates;
            i++;
        } else {
            const bool holds = term_holds(reader, words, count, &i);
            all = all && holds != negates;
            negates = false;
        }
    }
    return any || all;
}

/* `[ A = B ] && ...`, from left to right. What is no test holds as `is_other`. */
static bool test_holds(const struct reader *reader, size_t first, bool is_other)
{
    const struct shell_word *words = reader->words.items;
    const size_t count = reader->words.count;
    if (first >= count) {
        return is_other;
    }
    bool is_reversed = false;
    while (first < count && strcmp(words[first].text, "!") == 0) {
        is_reversed = !is_reversed;
        first++;
    }
    const char *word = first < count ? words[first].text : "";
    const bool is_sum = strcmp(word, "((") == 0;
    if (!is_sum && strcmp(word, "[") != 0 && strcmp(word, "[[") != 0 && strcmp(word, "test") != 0) {
        if (!is_other && strcmp(word, "true") != 0 && strcmp(word, "false") != 0) {
            tell_not_read(reader, words[first < count ? first : 0].at);
        }
        return (is_other || strcmp(word, "true") == 0) != is_reversed;
    }
    return terms_hold(reader, is_sum ? first : first + 1) != is_reversed;
}

/* ---- words of the shell's own --------------------------------------------------------------- */

static void push(struct reader *reader, struct frame frame)
{
    if (reader->depth < FRAMES_MAX) {
        reader->frames[reader->depth++] = frame;
    }
}

static void pop(struct reader *reader, enum frame_kind kind)
{
    if (reader->depth > 0 && reader->frames[reader->depth - 1].kind == kind) {
        reader->depth--;
    }
}

static struct frame *top(struct reader *reader, enum frame_kind kind)
{
    struct frame *frame = reader->depth > 0 ? &reader->frames[reader->depth - 1] : NULL;
    return frame != NULL && frame->kind == kind ? frame : NULL;
}

static void begin_if(struct reader *reader)
{
    const bool is_outside = is_active(reader);
    const bool holds = test_holds(reader, 1, false);
    push(reader, (struct frame){.kind = FRAME_IF,
                                .is_outside = is_outside,
                                .is_active = is_outside && holds,
                                .is_taken = holds});
}

static void begin_elif(struct reader *reader)
{
    struct frame *frame = top(reader, FRAME_IF);
    if (frame != NULL) {
        frame->is_active = frame->is_outside && !frame->is_taken;
        const bool holds = !frame->is_taken && test_holds(reader, 1, false);
        frame->is_active = frame->is_outside && holds;
        frame->is_taken = frame->is_taken || holds;
    }
}

static void begin_else(struct reader *reader)
{
    struct frame *frame = top(reader, FRAME_IF);
    if (frame != NULL) {
        frame->is_active = frame->is_outside && !frame->is_taken;
        frame->is_taken = true;
    }
}

static void end_if(struct reader *reader)
{
    pop(reader, FRAME_IF);
}

static void begin_loop(struct reader *reader)
{
    push(reader, (struct frame){.kind = FRAME_LOOP,
                                .is_outside = is_active(reader),
                                .is_active = is_active(reader)});
}

/* `for NAME in A B C`: the first. */
static void begin_for(struct reader *reader)
{
    const struct shell_words *words = &reader->words;
    if (is_active(reader) && words->count > 3 && strcmp(words->items[2].text, "in") == 0) {
        struct shell_words first = {&words->items[3], 1, 1};
        shell_assign(reader->shell, words->items[1].text, &first, false, false);
        if (words->count > 4 && words->items[1].at != NULL) {
            struct importer *importer = reader->shell->importer;
            const struct place place = text_file_place(&importer->file, words->items[1].at);
            diag_add(importer->diag, DIAG_NOTE, &place, "of this loop the first is read: %s=%s",
                     words->items[1].text, known(reader, words->items[3].text));
        }
    }
    begin_loop(reader);
}

static void end_loop(struct reader *reader)
{
    pop(reader, FRAME_LOOP);
}

/* `{` */
static void begin_group(struct reader *reader)
{
    push(reader, (struct frame){.kind = FRAME_GROUP,
                                .is_outside = is_active(reader),
                                .is_active = is_active(reader)});
}

static void end_group(struct reader *reader)
{
    pop(reader, FRAME_GROUP);
}

static void begin_case(struct reader *reader)
{
    const char *subject = reader->words.count > 1 ? reader->words.items[1].text : "";
    push(reader, (struct frame){.kind = FRAME_CASE,
                                .is_outside = is_active(reader),
                                .subject = known(reader, subject)});
}

static void end_case(struct reader *reader)
{
    pop(reader, FRAME_CASE);
}

static void nothing(struct reader *reader)
{
    (void)reader;
}

/* Those behind which a command may stand on the same line are done at once; others take all. */
static const struct own_word {
    const char *word;
    void (*begin)(struct reader *reader);
    bool takes_all;
} own_words[] = {
    {"if", begin_if, true},       {"elif", begin_elif, true},  {"then", nothing, false},
    {"else", begin_else, false},  {"fi", end_if, false},       {"for", begin_for, true},
    {"while", begin_loop, true},  {"until", begin_loop, true}, {"do", nothing, false},
    {"done", end_loop, false},    {"case", begin_case, true},  {"esac", end_case, false},
    {"{", begin_group, false},    {"}", end_group, false},     {"function", nothing, true},
    {"eval", nothing, false},     {"exec", nothing, false},    {"time", nothing, false},
    {"nohup", nothing, false},    {"export", nothing, false},  {"local", nothing, false},
    {"readonly", nothing, false}, {"declare", nothing, false},
};

static const struct own_word *own_word(const char *text)
{
    for (size_t i = 0; i < sizeof own_words / sizeof *own_words; i++) {
        if (strcmp(own_words[i].word, text) == 0) {
            return &own_words[i];
        }
    }
    return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

static void skip_line(struct shell *shell)
{
    while (shell->at < shell->end && *shell->at != '\n') {
        shell->at++;
    }
}

/* Blanks, and line ends behind a backslash. */
static void skip_blanks(struct shell *shell)
{
    for (;;) {
        const char *at = shell->at;
        const size_t left = (size_t)(shell->end - at);
        if (left > 0 && (*at == ' ' || *at == '\t' || *at == '\r')) {
            shell->at++;
        } else if (left > 1 && at[0] == '\\' && at[1] == '\n') {
            shell->at += 2;
        } else if (left > 2 && at[0] == '\\' && at[1] == '\r' && at[2] == '\n') {
            shell->at += 3;
        } else {
            return;
        }
    }
}

/* The end of `NAME=` or `NAME+=` at `at`; NULL: no assignment. */
static const char *assignment_at(const char *at, const char *end)
{
    if (at == end || (!isalpha((unsigned char)*at) && *at != '_')) {
        return NULL;
    }
    while (at < end && (isalnum((unsigned char)*at) || *at == '_')) {
        at++;
    }
    at += at + 1 < end && at[0] == '+' && at[1] == '=' ? 1 : 0;
    return at < end && *at == '=' ? at + 1 : NULL;
}

/* `( a b # comment`, over several lines, to the bracket. */
static void read_array(struct shell *shell, struct shell_words *values)
{
    for (shell->at++; shell->at < shell->end && *shell->at != ')';) {
        skip_blanks(shell);
        const char *at = shell->at;
        if (at < shell->end && *at == '#') {
            skip_line(shell);
        } else if (at < shell->end && *at != ')') {
            shell_read_word(shell, true, values);
            shell->at += shell->at == at ? 1 : 0; /* a line end, or a sign that is no word */
        }
    }
    shell->at += shell->at < shell->end ? 1 : 0;
}

static void read_assignment(struct reader *reader, const char *behind)
{
    struct shell *shell = reader->shell;
    const bool appends = behind[-2] == '+';
    const char *name =
        arena_strndup(shell->arena, shell->at, (size_t)(behind - shell->at) - (appends ? 2 : 1));
    struct shell_words values = {0};
    shell->at = behind;
    const bool is_array = behind < shell->end && *behind == '(';
    if (is_array) {
        read_array(shell, &values);
    } else {
        shell_read_word(shell, false, &values);
        if (values.count == 0) {
            shell_add_word(shell, &values)->at = behind;
        }
    }
    if (is_active(reader) && !reader->is_next_skipped) {
        shell_assign(shell, name, &values, is_array, appends);
    }
}

/* `<<EOF`, `<<-'EOF'`; false: it is another sign. */
static bool read_here(struct reader *reader)
{
    struct shell *shell = reader->shell;
    const char *at = shell->at;
    if (shell->end - at < 3 || at[0] != '<' || at[1] != '<' || at[2] == '<') {
        return false;
    }
    shell->at += at[2] == '-' ? 3 : 2;
    skip_blanks(shell);
    const bool is_quoted = shell->at < shell->end && strchr("'\"\\", *shell->at) != NULL;
    struct shell_words words = {0};
    shell_read_word(shell, false, &words);
    if (words.count > 0 && words.items[0].length > 0 && reader->here_count < 8) {
        reader->here_quoted[reader->here_count] = is_quoted;
        reader->here_end[reader->here_count++] = words.items[0].text;
    }
    return true;
}

/* `> file`, `2>&1`, `< file`. */
static void read_redirection(struct reader *reader)
{
    struct shell *shell = reader->shell;
    struct shell_words *before = &reader->words;
    const char *number = before->count > 0 ? before->items[before->count - 1].text : "";
    if (isdigit((unsigned char)number[0]) && number[1] == '\0' &&
        isdigit((unsigned char)shell->at[-1])) {
        before->count--; /* 2>&1: a file's number, and no word */
    }
    const bool is_output = *shell->at == '>';
    while (shell->at < shell->end && strchr("<>&|", *shell->at) != NULL) {
        shell->at++;
    }
    skip_blanks(shell);
    struct shell_words words = {0};
    shell_read_word(shell, false, &words);
    if (is_output && words.count > 0) {
        reader->target = words.items[0].text;
    }
}

static void keep_here(struct reader *reader, const struct shell_here *here)
{
    struct shell_script *script = reader->script;
    if (script->here_count < HERES_MAX && is_active(reader)) {
        script->heres = arena_grow(reader->shell->arena, script->heres, &script->here_capacity,
                                   script->here_count + 1, sizeof *script->heres);
        script->heres[script->here_count++] = *here;
    }
}

/* The texts below the line that ended, each to its mark. */
static void read_here_texts(struct reader *reader)
{
    struct shell *shell = reader->shell;
    for (uint32_t i = 0; i < reader->here_count; i++) {
        const char *begin = shell->at;
        const char *end = shell->end, *next = begin;
        while (next != NULL && next < shell->end) {
            const char *line_begin = next;
            const struct text_span line = text_line(next, &next);
            if (text_span_is(text_bare(line), reader->here_end[i])) {
                end = line_begin;
                break;
            }
        }
        struct shell_words words = {0};
        if (reader->here_quoted[i]) {
            shell->at = end;
        } else {
            shell_expand(shell, end, &words);
        }
        const char *text = reader->here_quoted[i]
                               ? arena_strndup(shell->arena, begin, (size_t)(end - begin))
                               : words.items[0].text;
        keep_here(reader, &(struct shell_here){reader->target != NULL ? reader->target : "", text});
        shell->at = end;
        skip_line(shell);
    }
    reader->here_count = 0;
}

/* ---- commands ------------------------------------------------------------------------------- */

static void keep_command(struct reader *reader)
{
    struct shell_script *script = reader->script;
    if (reader->words.count == 0 || !is_active(reader) || reader->is_next_skipped ||
        script->command_count == COMMANDS_MAX) {
        return;
    }
    script->commands = arena_grow(reader->shell->arena, script->commands, &script->command_capacity,
                                  script->command_count + 1, sizeof *script->commands);
    script->commands[script->command_count++] = reader->words;
}

/* `unset NAME`, `let NAME=SUM`. */
static void change_variables(struct reader *reader)
{
    struct shell *shell = reader->shell;
    const struct shell_words *words = &reader->words;
    const bool unsets = strcmp(words->items[0].text, "unset") == 0;
    const bool lets = strcmp(words->items[0].text, "let") == 0;
    for (size_t i = 1; i < words->count && (unsets || lets); i++) {
        const struct shell_word *word = &words->items[i];
        bool holds = false;
        if (unsets && word->text[0] != '-') {
            shell_assign(shell, word->text, &(struct shell_words){0}, true, false);
        } else if (lets &&
                   !shell_compute(shell, (struct text_span){word->text, word->text + word->length},
                                  word->at, &holds)) {
            tell_not_read(reader, word->at);
        }
    }
}

/* A word of the shell's own takes all that stand behind it; else they are a command. */
static void finish_command(struct reader *reader)
{
    const struct own_word *own =
        reader->words.count > 0 ? own_word(reader->words.items[0].text) : NULL;
    if (own != NULL) {
        own->begin(reader);
        return;
    }
    if (is_active(reader) && !reader->is_next_skipped && reader->words.count > 1) {
        change_variables(reader);
    }
    keep_command(reader);
}

static void begin_command(struct reader *reader)
{
    reader->words = (struct shell_words){0};
    reader->target = NULL;
}

/* `pattern)` or `a|b)` of a case; false: there is none here. */
static bool read_pattern(struct reader *reader)
{
    struct shell *shell = reader->shell;
    struct frame *frame = top(reader, FRAME_CASE);
    const char *line_end = memchr(shell->at, '\n', (size_t)(shell->end - shell->at));
    const char *limit = line_end != NULL ? line_end : shell->end;
    const char *closing = memchr(shell->at, ')', (size_t)(limit - shell->at));
    if (frame == NULL || frame->is_in_clause || closing == NULL) {
        return false;
    }
    bool is_it = false;
    for (const char *at = shell->at; at <= closing;) {
        const char *end = at;
        while (end < closing && *end != '|') {
            end++;
        }
        struct text_span pattern = {at, end};
        while (pattern.begin < pattern.end && strchr(" \t(\"'", *pattern.begin) != NULL) {
            pattern.begin++;
        }
        while (pattern.end > pattern.begin && strchr(" \t\"'", pattern.end[-1]) != NULL) {
            pattern.end--;
        }
        is_it = is_it || shell_matches(pattern.begin, pattern.end, frame->subject);
        at = end + 1;
    }
    const bool is_first = is_it && !frame->is_taken;
    frame->is_active = frame->is_outside && is_first;
    frame->is_taken = frame->is_taken || is_it;
    frame->is_in_clause = true;
    shell->at = closing + 1;
    return true;
}

/* `;;`: the clause of the innermost case ends. */
static void end_clause(struct reader *reader)
{
    struct frame *frame = top(reader, FRAME_CASE);
    if (frame != NULL) {
        frame->is_active = false;
        frame->is_in_clause = false;
    }
}

/* Whether what stands behind && or || is left out, by the command before. */
static void join(struct reader *reader, bool is_and)
{
    reader->holds = reader->is_next_skipped ? reader->holds : test_holds(reader, 0, true);
    finish_command(reader);
    reader->is_next_skipped = is_and != reader->holds;
    begin_command(reader);
}

static bool is_in_test(const struct reader *reader)
{
    for (size_t i = reader->words.count; i > 0; i--) {
        const char *text = reader->words.items[i - 1].text;
        if (strcmp(text, "]]") == 0) {
            return false;
        }
        if (strcmp(text, "[[") == 0) {
            return true;
        }
    }
    return false;
}

static void add_sign(struct reader *reader, const char *sign, size_t length)
{
    struct shell_word *word = shell_add_word(reader->shell, &reader->words);
    for (size_t i = 0; i < length; i++) {
        shell_add_byte(reader->shell, word, sign[i], reader->shell->at);
    }
    reader->shell->at += length;
}

static void end_command(struct reader *reader)
{
    finish_command(reader);
    reader->is_next_skipped = false;
}

/* A word behind which (( is a sum. */
static bool may_compute(const struct reader *reader)
{
    static const char *const words[] = {"if", "elif", "while", "until", "for", "!", "&&", "||"};
    const size_t count = reader->words.count;
    bool may = count == 0;
    for (size_t i = 0; i < sizeof words / sizeof *words && !may; i++) {
        may = strcmp(reader->words.items[count - 1].text, words[i]) == 0;
    }
    return may;
}

/* `(( ... ))`: a command that holds or does not, of the words "((" and "1", "0" or "?". */
static void read_sum(struct reader *reader)
{
    struct shell *shell = reader->shell;
    const char *begin = shell->at + 2;
    const char *closing = strstr(begin, "))");
    const char *end = closing != NULL && closing < shell->end ? closing : shell->end;
    const struct text_span text = {begin < end ? begin : end, end};
    const char *first = reader->words.count > 0 ? reader->words.items[0].text : "";
    const bool is_loop = strcmp(first, "for") == 0, is_elif = strcmp(first, "elif") == 0;
    bool holds = false, is_known = true;
    if ((is_elif || is_active(reader)) && !reader->is_next_skipped && !is_loop) {
        is_known = shell_compute(shell, text, text.begin, &holds);
    }
    add_sign(reader, "((", 2);
    add_sign(reader, !is_known ? "?" : holds ? "1" : "0", 1);
    shell->at = closing == end ? end + 2 : end;
}

/* ";", "&", "|", brackets and line ends; shell->at is at one. */
static void read_sign(struct reader *reader)
{
    struct shell *shell = reader->shell;
    const char sign = *shell->at;
    const bool is_double = shell->at + 1 < shell->end && shell->at[1] == sign;
    if (is_double && (sign == '&' || sign == '|')) {
        const struct own_word *first =
            reader->words.count > 0 ? own_word(reader->words.items[0].text) : NULL;
        if (is_in_test(reader) || (first != NULL && first->takes_all)) { /* if [ a ] && [ b ] */
            add_sign(reader, shell->at, 2);
        } else {
            shell->at += 2;
            join(reader, sign == '&');
        }
        return;
    }
    if (sign == '(' && is_double && may_compute(reader)) {
        read_sum(reader);
        return;
    }
    if (is_in_test(reader) && sign != '\n') { /* brackets of a pattern */
        add_sign(reader, shell->at, 1);
        return;
    }
    shell->at++;
    end_command(reader);
    if (sign == ';' && is_double) {
        shell->at++;
        end_clause(reader);
    }
    if (sign == '\n' && reader->here_count > 0) {
        read_here_texts(reader);
    }
    begin_command(reader);
}

/* At the begin of a command, behind `then`, behind `declare -a`. */
static bool may_assign(const struct reader *reader)
{
    const struct shell_words *words = &reader->words;
    bool may = true;
    for (size_t i = 0; i < words->count && may; i++) {
        may = words->items[i].length == 2 && words->items[i].text[0] == '-';
    }
    return may;
}

/* What takes no words is done at once: `else` decides on what stands behind it on the line. */
static void begin_at_once(struct reader *reader)
{
    const struct own_word *own =
        reader->words.count == 1 ? own_word(reader->words.items[0].text) : NULL;
    if (own != NULL && !own->takes_all) {
        own->begin(reader);
        reader->words = (struct shell_words){0};
    }
}

/* `case WORD in`, behind which patterns begin. */
static bool is_case_head(const struct reader *reader)
{
    const struct shell_words *words = &reader->words;
    return words->count == 3 && strcmp(words->items[0].text, "case") == 0 &&
           strcmp(words->items[2].text, "in") == 0;
}

/* A function's body is read where it stands, unless nothing calls it. */
static bool read_head(struct reader *reader)
{
    struct text_span name = {0};
    const char *behind = shell_function_head(reader->shell, &name);
    if (behind == NULL) {
        return false;
    }
    const bool is_read = is_active(reader) && (reader->function_count++ >= FUNCTIONS_MAX ||
                                               shell_function_is_called(reader->shell, name));
    push(reader, (struct frame){
                     .kind = FRAME_GROUP, .is_outside = is_active(reader), .is_active = is_read});
    reader->shell->at = behind;
    return true;
}

/* One step: a word, an assignment, a sign, or a comment. */
static void read_next(struct reader *reader)
{
    struct shell *shell = reader->shell;
    const char *at = shell->at;
    if (is_case_head(reader)) {
        end_command(reader);
        begin_command(reader);
        return;
    }
    const char *behind = may_assign(reader) ? assignment_at(at, shell->end) : NULL;
    if (*at == '#') {
        skip_line(shell);
        return;
    }
    if (reader->words.count == 0 && read_head(reader)) {
        return;
    }
    if (behind != NULL) {
        read_assignment(reader, behind);
        return;
    }
    if (reader->words.count == 0 && *at != '\n' && read_pattern(reader)) {
        return;
    }
    if (*at == '<' || *at == '>' || (*at == '&' && shell->end - at > 1 && at[1] == '>')) {
        if (is_in_test(reader)) {
            add_sign(reader, at, 1);
        } else if (!read_here(reader)) {
            read_redirection(reader);
        }
    } else if (strchr(";|&()\n", *at) != NULL) {
        read_sign(reader);
    } else {
        shell_read_word(shell, true, &reader->words);
        shell->at += shell->at == at ? 1 : 0;
        begin_at_once(reader);
    }
}

static void assign(struct shell *shell, const char *name, struct text_span value)
{
    struct shell_words values = {0};
    struct shell_word *word = shell_add_word(shell, &values);
    for (; value.begin < value.end; value.begin++) {
        shell_add_byte(shell, word, *value.begin, NULL);
    }
    shell_assign(shell, name, &values, false, false);
}

/* What Slurm sets by "#SBATCH --nodes=8" or "-N 8". */
static void assign_nodes(struct shell *shell)
{
    static const char *const names[] = {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"};
    for (const char *next = shell->at; next != NULL;) {
        const struct text_span line = text_line(next, &next);
        if (text_span_length(line) < 8 || strncmp(line.begin, "#SBATCH", 7) != 0) {
            continue;
        }
        const char *option = text_span_find(line, "--nodes");
        const char *letter = text_span_find(line, " -N");
        const char *at = option != NULL ? option + 7 : letter != NULL ? letter + 3 : line.end;
        at += strspn(at, "= \t");
        const size_t digits = strspn(at, "0123456789");
        for (size_t i = 0; i < 2 && digits > 0; i++) {
            assign(shell, names[i], (struct text_span){at, at + digits});
        }
    }
}

/* --variable and --arguments. */
static void assign_given(struct shell *shell)
{
    enum { ARGUMENTS_MAX = 100 };
    for (uint32_t i = 0; i < shell->importer->variable_count; i++) {
        const char *given = shell->importer->variables[i];
        const char *sign = strchr(given, '=');
        const size_t length = strcspn(given, "=");
        const char *value = sign != NULL ? sign + 1 : given + length;
        assign(shell, arena_strndup(shell->arena, given, length),
               (struct text_span){value, value + strlen(value)});
    }
    const char *arguments = shell->importer->arguments != NULL ? shell->importer->arguments : "";
    struct text_span words[ARGUMENTS_MAX];
    const uint32_t count = text_words((struct text_span){arguments, arguments + strlen(arguments)},
                                      words, ARGUMENTS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        assign(shell, arena_printf(shell->arena, "%u", i + 1), words[i]);
    }
}

bool shell_read(struct importer *importer, struct shell_script *script)
{
    const struct text_file *file = &importer->file;
    *script = (struct shell_script){.shell = {.importer = importer,
                                              .arena = importer->arena,
                                              .at = file->text,
                                              .end = file->text + file->length}};
    struct reader reader = {.script = script, .shell = &script->shell};
    assign_nodes(&script->shell);
    assign_given(&script->shell);
    while (script->shell.bytes < SHELL_BYTES_MAX) {
        skip_blanks(&script->shell);
        if (script->shell.at >= script->shell.end) {
            break;
        }
        read_next(&reader);
    }
    end_command(&reader);
    if (script->shell.bytes >= SHELL_BYTES_MAX) {
        const struct place place = {.file = file->path};
        diag_add(importer->diag, DIAG_INPUT, &place,
                 "with its variables put in the script is longer than %d bytes", SHELL_BYTES_MAX);
        diag_help(importer->diag, "is it a script? Its arguments alone would do, on one line");
        return false;
    }
    return true;
}
