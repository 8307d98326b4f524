/* `nvidia-smi topo -m` as a cluster.
 *
 *             GPU0   GPU1   NIC0   NIC1   CPU Affinity   NUMA Affinity
 *     GPU0     X     NV18   PIX    SYS    0-47           0
 *     GPU1    NV18    X     SYS    PIX    48-95          1
 *     NIC0    PIX    SYS     X     SYS
 *
 * NV# is the number of NVLinks that two GPUs can use together. Behind a switch
 * each pair can use all links of a GPU, so one cell is the answer; without one
 * the cells of a row are links of their own, and what they join is the answer
 * (foreign/wiring). They are told apart by what the GPU has: a sum beyond that
 * means a switch.
 */
#include "foreign/import.h"

#include "base/arena.h"
#include "foreign/wiring.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { COLUMNS_MAX = 512, LINKS_MAX = 1000 };

struct matrix {
    struct importer *importer;
    struct text_span *columns; /* names: those of GPUs first */
    uint32_t gpu_count;
    uint32_t column_count; /* GPUs and NICs */
    int64_t *links;        /* [gpu * gpu_count + gpu]; -1: no row yet */
    bool *is_near;         /* by column: a GPU reaches it without the CPU */
    const char *header;    /* where it stands; NULL: not found yet */
    bool is_bad;
};

static bool report(struct matrix *matrix, const char *at, const char *message, const char *help)
{
    const struct place place = text_file_place(&matrix->importer->file, at);
    matrix->is_bad = true;
    diag_add(matrix->importer->diag, DIAG_INPUT, &place, "%s", message);
    diag_help(matrix->importer->diag, "%s", help);
    return false;
}

/* ---- the header --------------------------------------------------------------- */

static bool is_gpu(struct text_span word, int64_t *number)
{
    return text_span_length(word) > 3 && memcmp(word.begin, "GPU", 3) == 0 &&
           text_span_count((struct text_span){word.begin + 3, word.end}, number);
}

/* GPU0, GPU1, ..., then NICs, until "CPU Affinity". */
static bool read_header(struct matrix *matrix, const struct text_span *words, uint32_t count)
{
    matrix->header = words[0].begin;
    matrix->columns = arena_array(matrix->importer->arena, count, sizeof *matrix->columns);
    for (uint32_t i = 0; i < count && !text_span_is(words[i], "CPU"); i++) {
        int64_t number = 0;
        const bool is_one = is_gpu(words[i], &number);
        if (is_one && (number != matrix->gpu_count || matrix->gpu_count < matrix->column_count)) {
            return report(matrix, words[i].begin, "the GPUs of the header are not in order",
                          "keep the whole line: GPU0, GPU1, ..., then NICs");
        }
        matrix->gpu_count += is_one;
        matrix->columns[matrix->column_count++] = words[i];
    }
    const size_t gpus = matrix->gpu_count;
    matrix->links = arena_array(matrix->importer->arena, gpus * gpus, sizeof *matrix->links);
    for (size_t i = 0; i < gpus * gpus; i++) {
        matrix->links[i] = -1;
    }
    matrix->is_near =
        arena_array(matrix->importer->arena, matrix->column_count, sizeof *matrix->is_near);
    return true;
}

/* ---- the rows ------------------------------------------------------------------ */

/* NVLinks of "NV18"; 0 of a way over PCIe; -1 of anything else. */
static int64_t links_of(struct text_span cell)
{
    static const char *const ways[] = {"X", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC"};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        if (text_span_is(cell, ways[i])) {
            return 0;
        }
    }
    int64_t links = 0;
    const bool is_link = text_span_length(cell) > 2 && memcmp(cell.begin, "NV", 2) == 0 &&
                         text_span_count((struct text_span){cell.begin + 2, cell.end}, &links);
    return is_link && links > 0 && links <= LINKS_MAX ? links : -1;
}

static void read_row(struct matrix *matrix, const struct text_span *words, uint32_t count,
                     int64_t gpu)
{
    if (gpu >= matrix->gpu_count) {
        report(matrix, words[0].begin, "this GPU is not in the header",
               "a row for each GPU of the header, and no more");
        return;
    }
    int64_t *links = &matrix->links[(size_t)gpu * matrix->gpu_count];
    if (links[0] >= 0) {
        report(matrix, words[0].begin, "this GPU has a row already", "one matrix a file");
        return;
    }
    for (uint32_t i = 0; i < matrix->column_count; i++) {
        if (i + 1 >= count) {
            report(matrix, words[0].begin, "this row is shorter than the header",
                   "copy whole lines; a terminal may have cut them");
            return;
        }
        const struct text_span cell = words[i + 1];
        const int64_t found = links_of(cell);
        if (found < 0) {
            report(matrix, cell.begin, "this cell means nothing here",
                   "a cell is X, NV# (as NV18), PIX, PXB, PHB, NODE or SYS");
            return;
        }
        if (i < matrix->gpu_count) {
            links[i] = found;
        } else if (text_span_is(cell, "PIX") || text_span_is(cell, "PXB")) {
            matrix->is_near[i] = true;
        }
    }
}

static bool read_matrix(struct matrix *matrix)
{
    struct text_span *words = arena_array(matrix->importer->arena, COLUMNS_MAX, sizeof *words);
    const char *next = matrix->importer->file.text;
    while (next != NULL && !matrix->is_bad) {
        const struct text_span line = text_line(next, &next);
        const uint32_t count = text_words(line, words, COLUMNS_MAX);
        int64_t gpu = 0;
        if (count == 0 || !is_gpu(words[0], &gpu)) {
            continue; /* prompts, rows of NICs, the legend */
        }
        const bool is_header = gpu == 0 && (count == 1 || links_of(words[1]) < 0);
        if (matrix->header == NULL && is_header) {
            read_header(matrix, words, count);
        } else if (matrix->header != NULL) {
            read_row(matrix, words, count, gpu);
        }
    }
    const struct place whole = {.file = matrix->importer->file.path};
    if (matrix->header == NULL) {
        diag_add(matrix->importer->diag, DIAG_INPUT, &whole, "there is no matrix in this file");
        diag_help(matrix->importer->diag, "`nvidia-smi topo -m` prints it: a line 'GPU0 GPU1 ...' "
                                          "and a row for each GPU");
        return false;
    }
    for (uint32_t gpu = 0; !matrix->is_bad && gpu < matrix->gpu_count; gpu++) {
        if (matrix->links[(size_t)gpu * matrix->gpu_count] < 0) {
            report(matrix, matrix->columns[gpu].begin, "there is no row for this GPU",
                   "copy the whole matrix");
        }
    }
    return !matrix->is_bad;
}

/* ---- facts -------------------------------------------------------------------- */

/* Behind a switch a cell is all that a GPU has: the sum of a row's is more than its links. */
static bool is_switched(const struct matrix *matrix, int64_t links_of_gpu)
{
    const size_t gpus = matrix->gpu_count;
    int64_t most = 0;
    for (size_t gpu = 0; gpu < gpus; gpu++) {
        int64_t sum = 0;
        for (size_t other = 0; other < gpus; other++) {
            sum += matrix->links[gpu * gpus + other];
        }
        most = sum > most ? sum : most;
    }
    return most > links_of_gpu;
}

static bool choose_scale_up(const struct matrix *matrix, struct import_cluster *cluster)
{
    const struct wiring wiring =
        wiring_of(matrix->importer->arena, matrix->links, matrix->gpu_count,
                  is_switched(matrix, cluster->platform.links));
    return import_choose_scale_up(matrix->importer, &wiring, 0, cluster);
}

/* Those that a GPU reaches without the CPU, where there are such; else all. */
static bool choose_nics(const struct matrix *matrix, struct import_cluster *cluster)
{
    struct importer *importer = matrix->importer;
    const int64_t all = (int64_t)matrix->column_count - matrix->gpu_count;
    int64_t near = 0;
    for (uint32_t i = matrix->gpu_count; i < matrix->column_count; i++) {
        near += matrix->is_near[i];
    }
    if (near > 0 && near < all) {
        import_comment(importer, cluster,
                       arena_printf(importer->arena,
                                    "%" PRId64 " NICs that no GPU reaches without the CPU are "
                                    "left out.",
                                    all - near));
    }
    cluster->nics = import_count_nics(importer, near > 0 ? near : all, matrix->gpu_count);
    cluster->nic_bytes_per_s = importer->nic_bytes_per_s;
    cluster->nic_source = arena_printf(importer->arena,
                                       "%" PRId64 " of the %" PRId64 " NICs, bandwidth by "
                                       "--nic-bandwidth",
                                       cluster->nics, all);
    if (importer->nic_bytes_per_s <= 0.0) {
        return import_need(importer, "--nic-bandwidth RATE",
                           "this matrix does not say how fast a NIC is");
    }
    return cluster->nics > 0 || import_need(importer, "--nics N", "there is no NIC in this matrix");
}

bool import_topo_m(struct importer *importer)
{
    struct matrix *matrix = arena_alloc(importer->arena, sizeof *matrix);
    matrix->importer = importer;
    struct import_cluster cluster = {.nodes = 0};
    if (!read_matrix(matrix)) {
        return false;
    }
    cluster.gpus_per_node = matrix->gpu_count;
    const bool has_nics = choose_nics(matrix, &cluster);
    return import_choose_gpu(importer, &(struct device_clues){.cpu = PLATFORM_X86}, &cluster) &&
           choose_scale_up(matrix, &cluster) && has_nics &&
           import_cluster_print(importer, &cluster);
}
