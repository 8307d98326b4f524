/* Writes the output of nccl-tests as measurements, in the YAML that `stoker
 * calibrate collectives` reads (input/formats/measurement.h).
 */
#include "foreign/import.h"

#include "base/arena.h"
#include "input/formats/nccl_tests.h"

#include <inttypes.h>
#include <stdio.h>

static bool read_file(const struct importer *importer, const struct text_file *file,
                      struct measurement_list *list)
{
    const struct nccl_tests_hints hints = {
        .operation = importer->operation,
        .cluster = importer->cluster,
        .gpus = importer->gpus,
        .nodes = importer->nodes,
    };
    if (!nccl_tests_is_json(file)) {
        return nccl_tests_read(importer->arena, file, &hints, list, importer->diag);
    }
    const struct doc_node *root =
        doc_parse(importer->arena, file->path, file->text, file->length, importer->diag);
    return root != NULL &&
           nccl_tests_read_json(importer->arena, root, &hints, list, importer->diag);
}

static void print_text(const struct importer *importer, const char *key, const char *text)
{
    if (text != NULL) {
        fprintf(importer->out, "  %s: %s\n", key, import_quote(importer->arena, text));
    }
}

static void print_measurement(const struct importer *importer,
                              const struct measurement *measurement)
{
    fprintf(importer->out, "- id: %s\n  operation: %s\n", measurement->id, measurement->operation);
    print_text(importer, "cluster", measurement->cluster);
    fprintf(importer->out, "  gpus: %" PRId64 "\n  nodes: %" PRId64 "\n", measurement->gpus,
            measurement->nodes);
    print_text(importer, "library", measurement->library);
    print_text(importer, "algorithm", measurement->algorithm);
    print_text(importer, "protocol", measurement->protocol);
    print_text(importer, "note", measurement->note);
    print_text(importer, "source", measurement->source);
    fprintf(importer->out, "  points:\n");
    for (uint32_t i = 0; i < measurement->point_count; i++) {
        const struct measured_point *point = &measurement->points[i];
        fprintf(importer->out, "  - {bytes: %.0f, time: %.10g us}\n", point->bytes,
                point->time_s * 1e6);
    }
}

bool import_nccl_tests(struct importer *importer)
{
    struct measurement_list list = {.count = 0};
    const struct text_file *file = import_file_at(importer, 0);
    for (uint32_t i = 0; file != NULL; file = import_file_at(importer, ++i)) {
        if (!read_file(importer, file, &list)) {
            return false;
        }
    }
    fprintf(importer->out,
            "# Whole buffers as nccl-tests counts them; times out of place.\nmeasurements:\n");
    for (uint32_t i = 0; i < list.count; i++) {
        print_measurement(importer, &list.items[i]);
    }
    return true;
}
