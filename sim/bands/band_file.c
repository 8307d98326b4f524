/* Lines of models/validated.csv, read and written; the catalogue's. */
#include "bands/band.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/path.h"
#include "bands/csv.h"
#include "bands/published_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const columns[] = {
    "id",        "source",           "gpu",           "architecture",
    "framework", "precision",        "kind",          "gpus",
    "hidden",    "seq_len",          "gbps_per_node", "fabric",
    "routing",   "oversubscription", "launch_share",  "measured_over_predicted",
};
enum { COLUMN_COUNT = sizeof columns / sizeof *columns };

static const double GBPS_PER_BYTES = 8e-9;

/* A number from `least` on; else false with a message. */
static bool read_number(const struct published_table *table, uint32_t row, const char *column,
                        double least, double *value, struct diag *diag)
{
    if (published_number(table, row, column, value) && *value >= least && *value <= 1e12) {
        return true;
    }
    const struct place place = published_place(table, row, column);
    return diag_add(diag, DIAG_INPUT, &place, "%s '%s' is no number from %g on", column,
                    published_text(table, row, column), least);
}

/* One of the two kinds of model; else false with a message. */
static bool read_kind(const struct published_table *table, uint32_t row, bool *is_mixture,
                      struct diag *diag)
{
    const char *kind = published_text(table, row, "kind");
    *is_mixture = strcmp(kind, band_kind_name(true)) == 0;
    if (*is_mixture || strcmp(kind, band_kind_name(false)) == 0) {
        return true;
    }
    const struct place place = published_place(table, row, "kind");
    diag_add(diag, DIAG_INPUT, &place, "kind '%s' is none of a model", kind);
    diag_help(diag, "it is '%s' or '%s'; `stoker validate FILE.csv --errors` writes it",
              band_kind_name(false), band_kind_name(true));
    return false;
}

static bool read_vote(const struct published_table *table, uint32_t row, struct band_vote *vote,
                      struct diag *diag)
{
    double gpus = 0, hidden = 0, length = 0, gbps = 0, oversubscription = 0, launch = ABSENT;
    bool is_mixture;
    if (table->problems[row].what != NULL) {
        const struct place place = published_place(table, row, "");
        return diag_add(diag, DIAG_INPUT, &place, "%s", table->problems[row].what);
    }
    if (!read_kind(table, row, &is_mixture, diag) ||
        !read_number(table, row, "gpus", 1, &gpus, diag) ||
        !read_number(table, row, "hidden", 1, &hidden, diag) ||
        !read_number(table, row, "seq_len", 1, &length, diag) ||
        !read_number(table, row, "oversubscription", 1, &oversubscription, diag) ||
        !read_number(table, row, "measured_over_predicted", 1e-6, &vote->ratio, diag)) {
        return false;
    }
    if (published_text(table, row, "gbps_per_node")[0] != '\0' &&
        !read_number(table, row, "gbps_per_node", 1e-3, &gbps, diag)) {
        return false;
    }
    if (published_text(table, row, "launch_share")[0] != '\0' &&
        !read_number(table, row, "launch_share", 0, &launch, diag)) {
        return false;
    }
    vote->id = published_text(table, row, "id");
    vote->source = published_text(table, row, "source");
    vote->traits = (struct band_traits){
        .gpu = published_text(table, row, "gpu"),
        .architecture = published_text(table, row, "architecture"),
        .framework = published_text(table, row, "framework"),
        .precision = published_text(table, row, "precision"),
        .is_mixture = is_mixture,
        .gpus = (int64_t)gpus,
        .hidden = (int64_t)hidden,
        .sequence_length = (int64_t)length,
        .network_bytes_per_s = gbps / GBPS_PER_BYTES,
        .fabric = published_text(table, row, "fabric"),
        .routing = published_text(table, row, "routing"),
        .oversubscription = oversubscription,
        .launch_share = launch,
    };
    return true;
}

bool band_read(struct arena *arena, const char *path, struct band_votes *votes, struct diag *diag)
{
    const struct published_table *table = published_load(arena, path, diag);
    if (table == NULL || !published_has_columns(table, columns, COLUMN_COUNT, diag)) {
        return false;
    }
    struct band_vote *items = arena_array(arena, table->row_count + (size_t)1, sizeof *items);
    for (uint32_t i = 0; i < table->row_count; i++) {
        if (!read_vote(table, i, &items[i], diag)) {
            return false;
        }
    }
    *votes =
        (struct band_votes){items, table->row_count, band_sort(arena, items, table->row_count)};
    return true;
}

static void write_votes(const struct band_votes *votes, FILE *out)
{
    for (uint32_t i = 0; i < COLUMN_COUNT; i++) {
        fprintf(out, "%s%s", i == 0 ? "" : ",", columns[i]);
    }
    fputc('\n', out);
    for (uint32_t i = 0; i < votes->count; i++) {
        const struct band_traits *traits = &votes->items[i].traits;
        csv_write_quoted(votes->items[i].id, out);
        fputc(',', out);
        csv_write_quoted(votes->items[i].source, out);
        fprintf(out, ",%s,%s,%s,%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",", traits->gpu,
                traits->architecture, traits->framework, traits->precision,
                band_kind_name(traits->is_mixture), traits->gpus, traits->hidden,
                traits->sequence_length);
        if (traits->network_bytes_per_s > 0) {
            fprintf(out, "%.6g", traits->network_bytes_per_s * GBPS_PER_BYTES);
        }
        fprintf(out, ",%s,%s,%.6g,", traits->fabric, traits->routing, traits->oversubscription);
        if (!is_absent(traits->launch_share)) {
            fprintf(out, "%.4f", traits->launch_share);
        }
        fprintf(out, ",%.4f\n", votes->items[i].ratio);
    }
}

bool band_write(struct arena *arena, const char *path, const struct band_votes *votes,
                struct diag *diag)
{
    struct path_file file;
    if (!path_begin(arena, path, &file, diag)) {
        return false;
    }
    write_votes(votes, file.out);
    return path_end(&file, true, diag);
}
