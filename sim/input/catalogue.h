/* The catalogue: files that are referred to by name.
 *
 * A catalogue directory holds models/llms, models/gpus, models/software, models/libraries,
 * models/recipes, models/failures, models/spot, models/optimizers, topologies, topologies/nics and
 * topologies/prices; a name is the base name of a file in one of them. Names have letters, digits,
 * '.', '_' and '-' only, so that nothing in a scenario can reach another file by a name. A path,
 * which the user writes on purpose, holds a '/' or ends in .yaml, and must end in .yaml. A model
 * may also be a config.json of Hugging Face, or the path of a folder with one
 * (input/formats/hf_config.h).
 */
#ifndef INPUT_CATALOGUE_H
#define INPUT_CATALOGUE_H

#include "input/doc/doc_files.h"

enum { CATALOGUE_DIRECTORIES_MAX = 7 };

/* Where catalogue files are looked for, in order; each holds models/ and topologies/. */
struct catalogue {
    const char *directories[CATALOGUE_DIRECTORIES_MAX];
    uint32_t count;
    struct doc_files *files; /* what was read of them; NULL: each is read each time */
    const char *house;       /* path of the defaults of scenarios that name none; NULL: none */
};

/* The variable of the environment that names such a path. */
#define CATALOGUE_HOUSE_VARIABLE "STOKER_DEFAULTS"

/* What can be referred to: "model" lies in "models/llms", and so on. */
enum catalogue_kind {
    CATALOGUE_MODEL,
    CATALOGUE_CLUSTER,
    CATALOGUE_SOFTWARE,
    CATALOGUE_GPU,
    CATALOGUE_LIBRARY,
    CATALOGUE_NIC,
    CATALOGUE_RECIPE,
    CATALOGUE_FAILURES,
    CATALOGUE_SPOT,
    CATALOGUE_PRICES,
    CATALOGUE_OPTIMIZER,
    CATALOGUE_KIND_COUNT_
};
extern const char *const catalogue_keys[CATALOGUE_KIND_COUNT_];    /* "model", ... */
extern const char *const catalogue_folders[CATALOGUE_KIND_COUNT_]; /* "models/llms", ... */

/* What a path in a file stands for: beside that file if there is such a one, else as it is. */
const char *catalogue_path_beside(struct arena *arena, const struct catalogue *catalogue,
                                  const struct place *place, const char *path);

/* What a name or a path of a file is called: the part between the last '/' and ".yaml". */
const char *catalogue_base_name(struct arena *arena, const char *path);

/* It may be the bare name of a file (letters, digits, . _ -), as people write one: no path, no file
 * that is hidden, and not "-". */
bool catalogue_is_name(const char *text);

/* Path of a catalogue file: kind is "models/llms", "models/gpus", "models/software",
 * "models/libraries", "models/recipes", "models/failures", "models/spot", "topologies",
 * "topologies/nics", "topologies/prices" or "models/optimizers"; `name` is a bare name
 * (letters, digits, . _ -) or a path ending in .yaml. NULL when there is none. */
const char *catalogue_find(struct arena *arena, const struct catalogue *catalogue, const char *kind,
                           const char *name);

/* Path of the first directory's file of that path in it, "models/ratios.csv"; NULL: none has it. */
const char *catalogue_file(struct arena *arena, const struct catalogue *catalogue,
                           const char *path);

/* Names of all files of a kind, sorted, each once. */
const char **catalogue_list(struct arena *arena, const struct catalogue *catalogue,
                            const char *kind, uint32_t *count);

/* Each place where files of a kind were looked for, "./models/gpus, /usr/...": for a message that
 * there is none. */
const char *catalogue_sought(struct arena *arena, const struct catalogue *catalogue,
                             const char *kind);

/* The mapping that `reference` stands for, whose children may be shared (doc_own_children): a
 * mapping is itself; a text is a name or a path, and its file is read. A path is looked for beside
 * the file that holds the reference, then in the current directory. The file's own name must be
 * the one that its first key gives. A software profile may be `like:` another (a name or a path):
 * what it does not say, the other does. NULL on error. */
MUST_USE struct doc_node *catalogue_open(struct arena *arena, const struct catalogue *catalogue,
                                         enum catalogue_kind kind, const struct doc_node *reference,
                                         struct diag *diag);

#endif
