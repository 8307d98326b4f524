/* A Hugging Face config.json as a model of ours (input/model.h).
 *
 * `model: path/config.json` in a scenario, or the folder that holds it, is read through here;
 * `stoker import hf` prints what comes out as YAML. The result is a mapping with the keys of a
 * model file, each with the place of what it was taken from, so that a later message points
 * into the config.json. Shapes come from the file alone; a class's default stands in for none. What
 * a config says besides shapes is ignored; what it says about shapes and a model file cannot say is
 * a note, or an error when parameters would be wrong, as is a key that looks like a shape and is
 * not known (hf_keys.c).
 *
 *     model: NAME                  # folder of config.json, or the file's name
 *     title, source                # _name_or_path and model_type
 *     layers: 32                   # num_hidden_layers
 *     ...
 *
 * Types are rows of hf_types, families and their keys are in hf_families; a type that is not known
 * is read when it is a plain decoder, with a note. Of a model that reads images too the decoder is
 * taken (its text_config), with a note.
 */
#ifndef INPUT_FORMATS_HF_CONFIG_H
#define INPUT_FORMATS_HF_CONFIG_H

#include "input/doc/doc_files.h"

/* The config.json that `text` means, or NULL when it means something else: the path of a file
 * that ends in .json, or of a folder with a config.json in it, either beside the file of
 * `place` or in the current directory. What ends in .json or in '/' and is not there
 * is returned all the same. */
const char *hf_config_path(struct arena *arena, struct doc_files *files, const struct place *place,
                           const char *text);

/* NULL on error. `root` is the parsed file at `path`. */
MUST_USE struct doc_node *hf_config_read(struct arena *arena, const struct doc_node *root,
                                         const char *path, struct diag *diag);

#endif
