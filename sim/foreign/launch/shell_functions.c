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

/* A word of its own at `at` in the text, outside a comment. */
static bool is_word(struct text_span text, const char *at, size_t length)
{
    const char *behind = at + length, *line = at;
    const bool begins = at == text.begin || strchr(" \t\n;&|(\"'`", at[-1]) != NULL;
    const bool ends = *behind == '\0' || strchr(" \t\r\n;&|)\"'`", *behind) != NULL;
    while (line > text.begin && line[-1] != '\n') {
        line--;
    }
    line += strspn(line, " \t");
    return begins && ends && *line != '#';
}

bool shell_function_is_called(const struct shell *shell, struct text_span name)
{
    const struct importer *importer = shell->importer;
    const size_t length = text_span_length(name);
    const char *arguments = importer->arguments != NULL ? importer->arguments : "";
    const char *const texts[] = {importer->file.text, arguments};
    const char *word = text_span_copy(shell->arena, name);
    for (size_t i = 0; i < 2; i++) {
        const struct text_span text = {texts[i], texts[i] + strlen(texts[i])};
        for (const char *at = text_span_find(text, word); at != NULL;
             at = text_span_find((struct text_span){at + length, text.end}, word)) {
            if (at != name.begin && is_word(text, at, length)) {
                return true;
            }
        }
    }
    return false;
}
