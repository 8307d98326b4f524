/* What `import launch` is made of: each trainer's settings, and the keys that they come to. */
#ifndef FOREIGN_LAUNCH_LAUNCH_H
#define FOREIGN_LAUNCH_LAUNCH_H

#include "foreign/told.h"

struct shell_script;

/* ---- documents ----------------------------------------------------------------------------- */

/* One setting for each scalar, and for each list as a text, by its dotted path behind `prefix`;
 * "auto" says nothing. */
void document_tell(struct told *told, const struct doc_node *root, const char *prefix);

/* The configuration, "of DeepSpeed", that the setting `name` names: a here-document of the
 * script (NULL: it has none), a file beside it, or --with. NULL, with a message: it is nowhere. */
const struct doc_node *launch_load(struct told *told, const char *name,
                                   const struct shell_script *script, const char *of);

/* ---- accelerate: settings "accelerate." and an option of its --------------------------------- */

/* Whether what it says in an option, or in its file's key, is read. */
bool accelerate_is_known(const char *name);

/* Sets what that means to the Trainer and to DeepSpeed. */
MUST_USE bool accelerate_read(struct told *told, const struct shell_script *script);

/* ---- DeepSpeed: settings "ds." and the path in its JSON ------------------------------------- */

told_find_row deepspeed_row;

/* Reads the file that the setting `name` names. False, with a message: as launch_load. */
MUST_USE bool deepspeed_open(struct told *told, const char *name,
                             const struct shell_script *script);

bool deepspeed_is_there(struct told *told, const char *name, const struct shell_script *script);

/* Keys of ZeRO, precision, offload; `told` has "ds." settings. */
void deepspeed_keys(struct told *told);

/* ---- Hugging Face's Trainer ----------------------------------------------------------------- */

told_find_row trainer_row;

/* All keys but those of the machine, of settings of TrainingArguments and DeepSpeed. */
MUST_USE bool trainer_read(struct told *told);

/* The usual software of such a run. */
const char *trainer_software(struct told *told);

/* ---- NeMo and Megatron-Bridge ---------------------------------------------------------------- */

/* Sets what a key of theirs means by Megatron's names; what means nothing is told, or left. */
void nemo_tell(struct told *told, const struct told_setting *written);

/* Whether a word is an override of theirs, "model.tensor_model_parallel_size=4". */
bool nemo_is_override(const char *word);

/* All keys but those of the machine, of settings that nemo_tell made. */
MUST_USE bool nemo_read(struct told *told);

/* ---- torchtitan ------------------------------------------------------------------------------ */

/* All keys but those of the machine, of the importer's file, a TOML. */
MUST_USE bool titan_read_told(struct told *told);

#endif
