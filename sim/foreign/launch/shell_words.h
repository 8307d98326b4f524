/* Words of a shell script, with what stands in for variables put in.
 *
 * Each byte of a word knows where in the script it was written, also when it came through a
 * variable, so a message about `--tensor-model-parallel-size $TP` points at the 3 of `TP=3`.
 *
 * What cannot be known without running the script (a command's output, a variable of the
 * environment) stands in a word as its name between SHELL_UNKNOWN and SHELL_KNOWN: who needs that
 * word says so to the user, who may say the value with --variable; nobody else minds.
 *
 * No word is written by more than what SHELL_BYTES_MAX allows for a whole script, so variables that
 * double each other end with a message.
 */
#ifndef FOREIGN_LAUNCH_SHELL_WORDS_H
#define FOREIGN_LAUNCH_SHELL_WORDS_H

#include "foreign/import.h"

#define SHELL_UNKNOWN '\x01'
#define SHELL_KNOWN '\x02'
enum { SHELL_BYTES_MAX = 1 << 22 };

struct shell_word {
    char *text;
    const char **from; /* of each byte: where it was written in the script; NULL: in none */
    size_t length;
    size_t capacity;
    size_t from_capacity;
    const char *at;  /* where the word begins in the script */
    bool is_written; /* it is there, though it may be empty: "" */
};

struct shell_words {
    struct shell_word *items;
    size_t count;
    size_t capacity;
};

struct shell_variable {
    const char *name;
    struct shell_words values; /* one, or those of an array */
};

struct shell {
    struct importer *importer;
    struct arena *arena;
    const char *at, *end; /* what is still to be read of the script */
    struct shell_variable *variables;
    size_t variable_count, variable_capacity;
    size_t bytes; /* that words took so far */
};

/* NULL: it is not assigned. */
const struct shell_variable *shell_find(const struct shell *shell, const char *name);

/* Assigns, or with `appends` adds: bytes to a text, items to an array. */
void shell_assign(struct shell *shell, const char *name, const struct shell_words *values,
                  bool is_array, bool appends);

/* Reads the word at shell->at and moves behind it. It becomes several where an expansion that is
 * not quoted has blanks, if `splits`; none where it expands to nothing. */
void shell_read_word(struct shell *shell, bool splits, struct shell_words *words);

/* Expands a text that ends at `end`, as one word: a here-document. */
void shell_expand(struct shell *shell, const char *end, struct shell_words *words);

/* A text that was quoted with variables in it, as `bash -c '$RUN $ARGS'` puts them in. */
void shell_expand_again(struct shell *shell, const struct shell_word *word,
                        struct shell_words *words);

/* The number that an expression of $(( )) comes to; false: it cannot be known. */
bool shell_arithmetic(const struct shell *shell, struct text_span text, int64_t *value);

/* The parts of a word between blanks, appended to `words`. */
void shell_split(struct shell *shell, const struct shell_word *word, struct shell_words *words);

/* ---- for who builds words ---- */

struct shell_word *shell_add_word(struct shell *shell, struct shell_words *words);
void shell_add_byte(struct shell *shell, struct shell_word *word, char byte, const char *from);

#endif
