/* What nccl-tests says: its text, and the JSON that `-J` writes.
 *
 * The text may be a whole job log: lines that are neither comments of
 * nccl-tests nor rows of its table are passed over, as are terminal escapes
 * and the rank labels of mpirun --tag-output and srun -l. Which word of a row
 * is what, the table's header says, so columns that come and go with the
 * version and its options (redop, root, -I, -S, -C) do no harm. Each table is
 * a measurement; one that begins again at a smaller size, or with another
 * type or reduction, is several. Rows of size 0 are left out, and so is a last
 * line that was cut off. Times are those out of place; a table that has only
 * in-place times gives those, with a warning.
 *
 * GPUs and nodes are counted from the lines that list the ranks, within the
 * group of the first (NCCL_TESTS_SPLIT makes several). The operation is the
 * name of the test, as in all_reduce_perf. What is said nowhere must come
 * with the hints.
 */
#ifndef INPUT_FORMATS_NCCL_TESTS_H
#define INPUT_FORMATS_NCCL_TESTS_H

#include "input/formats/measurement.h"
#include "input/doc/text_file.h"

/* What the user says beside the file; it holds also where the file says otherwise. */
struct nccl_tests_hints {
    const char *operation; /* NULL: as the file says */
    const char *cluster;
    int64_t gpus; /* 0: as the file says */
    int64_t nodes;
};

bool nccl_tests_is_json(const struct text_file *file);

/* Both append to `list`; false with a message when there is nothing, or something is wrong. */
MUST_USE bool nccl_tests_read(struct arena *arena, const struct text_file *file,
                              const struct nccl_tests_hints *hints, struct measurement_list *list,
                              struct diag *diag);
MUST_USE bool nccl_tests_read_json(struct arena *arena, const struct doc_node *root,
                                   const struct nccl_tests_hints *hints,
                                   struct measurement_list *list, struct diag *diag);

/* ---- what both share ---------------------------------------------------- */

/* Our word for the test named in `text` ("build/all_reduce_perf"), "" for a test that we do
 * not know, NULL when `text` names no test. */
const char *nccl_tests_operation(const char *text);

/* "NCCL 2.27.7" of 22707, as ncclGetVersion counts since 2.9; NULL of nonsense. */
const char *nccl_tests_library(struct arena *arena, int64_t code);

/* Lower case of "NAME=VALUE" when VALUE is one plain word (a forced algorithm or protocol);
 * else NULL. */
const char *nccl_tests_forced(struct arena *arena, const char *assignment, const char *name);

/* Facts about the run that hold for its measurements. */
struct nccl_tests_run {
    const char *operation; /* NULL, "" as above */
    int64_t gpus;          /* 0: not said */
    int64_t nodes;
    const char *gpu_name; /* of the first rank; NULL: not said */
    const char *library;
    const char *algorithm;
    const char *protocol;
};

/* Puts facts and hints into a measurement that has its points, and gives it an id that no
 * other of the list from `first` has. False with a message at its place when something that
 * must be known is not. */
MUST_USE bool nccl_tests_finish(struct arena *arena, const struct nccl_tests_run *run,
                                const struct nccl_tests_hints *hints, struct measurement_list *list,
                                struct diag *diag);

/* Whether a line of nccl-tests' text is looked at (text_sieve). */
bool nccl_tests_wants(struct text_span line);

#endif
