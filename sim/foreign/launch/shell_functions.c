/* Functions are found by their text: who calls one may do so in quotes, or by --arguments. */
#include "foreign/launch/shell_functions.h"

#include "base/arena.h"

#include <ctype.h>
#include <string.h>

const char *shell_function_head(const struct shell *shell, struct text_span *name)
{
    static const char word[] = "function ";
    const char *at = shell->at, *end = shell->end;
    const bool is_said = end - at > 9 && strncmp(at, word, sizeof word - 1) == 0;
    at += is_said ? sizeof word - 1 : 0;
    at += strspn(at, " ");
    name->begin = at;
    while (at < end && (isalnum((unsigned char)*at) || strchr("_-.:", *at) != NULL)) {
        at++;
    }
    name->end = at;
    at += strspn(at, " ");
    const bool has_brackets = end - at > 2 && at[0] == '(' && at[1] == ')';
    at += has_brackets ? 2 : 0;
    at += at < end ? strspn(at, " \t\r\n") : 0;
    const bool is_it = at < end && *at == '{' && (is_said || has_brackets);
    return is_it && name->end > name->begin ? at + 1 : NULL;
}

/* A word of its own at `at` in the line. */
static bool is_word(struct text_span line, const char *at, size_t length)
{
    const char *behind = at + length;
    const bool begins = at == line.begin || strchr(" \t;&|(\"'`", at[-1]) != NULL;
    return begins && (behind == line.end || strchr(" \t\r;&|)\"'`", *behind) != NULL);
}

/* In a line that is no comment, elsewhere than at `name`. */
static bool is_in_line(struct text_span line, const char *word, struct text_span name)
{
    const size_t length = text_span_length(name);
    const struct text_span bare = text_bare(line);
    if (bare.begin < bare.end && *bare.begin == '#') {
        return false;
    }
    for (const char *at = text_span_find(line, word); at != NULL;
         at = text_span_find((struct text_span){at + length, line.end}, word)) {
        if (at != name.begin && is_word(line, at, length)) {
            return true;
        }
    }
    return false;
}

bool shell_function_is_called(const struct shell *shell, struct text_span name)
{
    const struct importer *importer = shell->importer;
    const char *arguments = importer->arguments != NULL ? importer->arguments : "";
    const char *word = text_span_copy(shell->arena, name);
    for (const char *next = importer->file.text; next != NULL;) {
        if (is_in_line(text_line(next, &next), word, name)) {
            return true;
        }
    }
    return is_in_line((struct text_span){arguments, arguments + strlen(arguments)}, word, name);
}
