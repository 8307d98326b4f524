/* Writes a file for models/llms from a Hugging Face config.json, which
 * input/formats/hf_config has read.
 */
#include "foreign/import.h"

#include "base/arena.h"
#include "plan/cost.h"
#include "input/formats/hf_config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The user's word for `model`, which must be that of the file to save it in. */
static void set_name(const struct importer *importer, struct doc_node *model)
{
    struct doc_node *name = doc_find(model, "model");
    if (importer->name != NULL) {
        name->text = importer->name;
    }
}

static void print_key(const struct importer *importer, const struct doc_node *node)
{
    static const char *const free_texts[] = {"title", "source"};
    const char *text = NULL;
    for (size_t i = 0; i < 2; i++) {
        if (strcmp(node->key, free_texts[i]) == 0) {
            text = import_quote(importer->arena, node->text);
        }
    }
    fprintf(importer->out, "%s: %s\n", node->key,
            text != NULL ? text : doc_to_text(importer->arena, node));
}

/* What the user compares with the size that the model is known by. */
static void note_parameters(const struct importer *importer, const struct parameter_count *count)
{
    const int64_t beside = count->active - count->embedding;
    const char *both = count->active == count->total
                           ? ""
                           : arena_printf(importer->arena, " (%.2f B without the embedding)",
                                          (double)beside / 1e9);
    diag_add(importer->diag, DIAG_NOTE, NULL,
             "%.2f B parameters (%" PRId64 "), of which a token meets %.2f B%s",
             (double)count->total / 1e9, count->total, (double)count->active / 1e9, both);
    diag_help(importer->diag, "compare with the size that the model is published with");
    if (count->mtp > 0) {
        diag_add(importer->diag, DIAG_NOTE, NULL, "%.2f B more of multi-token prediction",
                 (double)count->mtp / 1e9);
    }
}

bool import_hf(struct importer *importer)
{
    const struct text_file *file = &importer->file;
    const struct doc_node *root =
        doc_parse(importer->arena, file->path, file->text, file->length, importer->diag);
    struct doc_node *node =
        root != NULL ? hf_config_read(importer->arena, root, file->path, importer->diag) : NULL;
    if (node == NULL) {
        return false;
    }
    set_name(importer, node);
    struct assumptions assumptions;
    struct model model = {0};
    assumptions_init(&assumptions, importer->arena);
    if (!model_read(node, &model, &assumptions, importer->diag)) {
        return false;
    }
    const struct parameter_count count = cost_parameters(&model);
    fprintf(importer->out, "# %" PRId64 " parameters, of which a token meets %" PRId64 ".\n",
            count.total, count.active);
    for (const struct doc_node *key = node->child; key != NULL; key = key->next) {
        print_key(importer, key);
    }
    note_parameters(importer, &count);
    return true;
}
