/* The file is read only where a name is not found. */
#include "input/study/refused.h"

#include "base/arena.h"
#include "input/doc/doc.h"

#include <string.h>
#include <strings.h>

#define REFUSED_FILE "models/refused.yaml"

static bool begins_with(const char *name, const char *known)
{
    const size_t length = strlen(known);
    return strncasecmp(name, known, length) == 0 && (name[length] == '\0' || name[length] == '-');
}

static bool is_meant(const struct doc_node *row, const char *name)
{
    const char *own = doc_find_text(row, "name");
    const struct doc_node *also = doc_find(row, "also");
    bool is = own != NULL && begins_with(name, own);
    for (const struct doc_node *other = also != NULL ? also->child : NULL; other != NULL;
         other = other->next) {
        is = is || (other->kind == DOC_SCALAR && begins_with(name, other->text));
    }
    return is;
}

/* What a row must say. */
struct refusal {
    const char *title, *announced, *reason, *remedy;
};

static bool read_row(const struct doc_node *row, struct refusal *refusal)
{
    *refusal = (struct refusal){doc_find_text(row, "title"), doc_find_text(row, "announced"),
                                doc_find_text(row, "reason"), doc_find_text(row, "remedy")};
    return refusal->title != NULL && refusal->announced != NULL && refusal->reason != NULL &&
           refusal->remedy != NULL;
}

bool refused_tell(struct arena *arena, const struct catalogue *catalogue, const struct place *place,
                  const char *name, struct diag *diag)
{
    const char *path = catalogue_file(arena, catalogue, REFUSED_FILE);
    const struct doc_node *root =
        path != NULL ? doc_files_load(catalogue->files, arena, path, diag_new(arena)) : NULL;
    const struct doc_node *rows = root != NULL ? doc_find(root, "refused") : NULL;
    struct refusal refusal;
    for (const struct doc_node *row = rows != NULL ? rows->child : NULL; row != NULL;
         row = row->next) {
        if (row->kind == DOC_MAPPING && is_meant(row, name) && read_row(row, &refusal)) {
            diag_add(diag, DIAG_INPUT, place, "nothing is predicted of '%s': %s, announced %s: %s",
                     name, refusal.title, refusal.announced, refusal.reason);
            diag_help(diag, "%s; %s:%u has the source", refusal.remedy, row->place.file,
                      (unsigned)row->place.line);
            return true;
        }
    }
    return false;
}
