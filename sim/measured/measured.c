/* Rows of measured kernels: reads and groups them. Rows stand by GPU, so a GPU's file is read once
 * for a run of rows.
 */
#include "measured/measured.h"

#include "base/arena.h"
#include "bands/quantile.h"

#include <math.h>
#include <string.h>

/* ---- fields ------------------------------------------------------------------------------ */

const char *measured_text(const struct measured_reader *reader, const char *column)
{
    return published_text(reader->table, reader->row, column);
}

void measured_complain(struct measured_reader *reader, const char *column, const char *wanted)
{
    const struct place place = published_place(reader->table, reader->row, column);
    diag_add(reader->diag, DIAG_INPUT, &place, "%s is '%s', and should be %s", column,
             measured_text(reader, column), wanted);
    reader->is_good = false;
}

double measured_positive(struct measured_reader *reader, const char *column, double most)
{
    double value = 0.0;
    if (!published_number(reader->table, reader->row, column, &value) ||
        !(value > 0.0 && value <= most)) {
        measured_complain(reader, column, "a number above 0");
        return 1.0;
    }
    return value;
}

int64_t measured_count(struct measured_reader *reader, const char *column, double most)
{
    const double value = measured_positive(reader, column, 1e9);
    if (value != floor(value) || value > most) { /* what was written */
        measured_complain(reader, column, "a whole number, and not that large");
        return 1;
    }
    return (int64_t)value;
}

uint32_t measured_name(struct measured_reader *reader, const char *column, const char *const *names,
                       uint32_t count, const char *wanted)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(measured_text(reader, column), names[i]) == 0) {
            return i;
        }
    }
    measured_complain(reader, column, wanted);
    return 0;
}

/* ---- rows -------------------------------------------------------------------------------- */

static const struct gpu *open_gpu(struct measured_reader *reader, const char *name)
{
    const struct doc_node reference = {
        .kind = DOC_SCALAR,
        .text = name,
        .place = published_place(reader->table, reader->row, "gpu"),
    };
    const struct doc_node *node =
        catalogue_open(reader->arena, reader->catalogue, CATALOGUE_GPU, &reference, reader->diag);
    struct gpu *gpu = arena_alloc(reader->arena, sizeof *gpu);
    struct assumptions assumptions;
    assumptions_init(&assumptions, reader->arena);
    reader->is_good = node != NULL && gpu_read(node, gpu, &assumptions, reader->diag);
    return gpu;
}

/* The rest of a row whose GPU is not known is not read. */
static bool read_head(struct measured_reader *reader, struct measured *row)
{
    const struct measured *known = reader->last;
    row->gpu_name = measured_text(reader, "gpu");
    row->source = measured_text(reader, "source");
    row->line = published_place(reader->table, reader->row, "gpu").line;
    if (row->gpu_name[0] == '\0') {
        measured_complain(reader, "gpu", "a GPU of models/gpus");
        return false;
    }
    const bool is_known = known != NULL && strcmp(known->gpu_name, row->gpu_name) == 0;
    row->gpu = is_known ? known->gpu : open_gpu(reader, row->gpu_name);
    return reader->is_good;
}

bool measured_read(struct measured_reader *reader, const char *path, measured_read_row *read_row,
                   size_t size, void **rows, uint32_t *count)
{
    reader->table = published_load(reader->arena, path, reader->diag);
    if (reader->table == NULL) {
        return false;
    }
    char *items = arena_array(reader->arena, (size_t)reader->table->row_count + 1, size);
    bool is_good = true;
    *count = 0;
    for (reader->row = 0; reader->row < reader->table->row_count; reader->row++) {
        struct measured *row = (void *)(items + *count * size);
        memset(row, 0, size);
        reader->is_good = true;
        if (read_head(reader, row)) {
            read_row(reader, row);
        }
        if (reader->is_good) {
            reader->last = row;
            (*count)++;
        }
        is_good = is_good && reader->is_good;
    }
    if (reader->table->row_count == 0) {
        const struct place place = {.file = path, .line = 1};
        diag_add(reader->diag, DIAG_INPUT, &place, "there is no measurement in this file");
    }
    *rows = items;
    return is_good && *count > 0;
}

/* ---- sections ---------------------------------------------------------------------------- */

struct measured_section measured_select(struct arena *arena, struct measured_list list,
                                        const char *gpu_name, uint32_t section)
{
    struct measured_section found = {.count = 0};
    found.rows = arena_array(arena, (size_t)list.count + 1, sizeof *found.rows);
    for (uint32_t i = 0; i < list.count; i++) {
        const struct measured *row = (const void *)((const char *)list.rows + i * list.size);
        if (row->section == section && strcmp(row->gpu_name, gpu_name) == 0) {
            found.rows[found.count++] = row;
        }
    }
    return found;
}

const char *measured_sources(struct arena *arena, const struct measured_section *section)
{
    const char *text = "";
    for (uint32_t i = 0; i < section->count; i++) {
        const char *source = section->rows[i]->source;
        if (source[0] != '\0' && strstr(text, source) == NULL) {
            text = arena_printf(arena, "%s%s%s", text, text[0] != '\0' ? "; " : "", source);
        }
    }
    return text[0] != '\0' ? text : "measurements that name no source";
}

struct measured_errors measured_errors_of(struct arena *arena, const double *errors, uint32_t count)
{
    struct measured_errors all = {.count = count};
    double *sizes = arena_array(arena, (size_t)count + 1, sizeof *sizes);
    if (count == 0) {
        return all;
    }
    for (uint32_t i = 0; i < count; i++) {
        sizes[i] = fabs(errors[i]);
        all.mean += sizes[i];
        all.bias += errors[i];
        if (sizes[i] > fabs(all.worst)) {
            all.worst = errors[i];
            all.worst_at = i;
        }
    }
    all.mean /= count;
    all.bias /= count;
    all.median = quantile_of(sizes, count, 0.5);
    all.p90 = quantile_of(sizes, count, 0.9);
    return all;
}
