/* Which model of the catalogue a name of Hugging Face's hub, or of a recipe, is of:
 * "meta-llama/Llama-2-7b-hf" is llama2-7b, "llama3_8b_pretrain_config" llama3-8b.
 */
#ifndef FOREIGN_LAUNCH_HUB_H
#define FOREIGN_LAUNCH_HUB_H

#include "foreign/import.h"

/* NULL: of none. */
const char *hub_model(const struct importer *importer, const char *name);

/* The size of its vocabulary; 0: of none. */
int64_t hub_vocabulary(const struct importer *importer, const char *name);

#endif
