/* The table of kinds, and which of them a file is. */
#include "foreign/import_kinds.h"

#include "base/arena.h"
#include "foreign/step_lines.h"
#include "input/formats/nccl_tests.h"

#include <inttypes.h>
#include <string.h>

/* In the order in which a file without a kind is asked about them. */
static const struct import_kind kinds[] = {
    {"hf", import_hf, IMPORT_HF, .marks = {"\"model_type\"", ":"}, .begins = '{'},
    {"nccl-topo", import_nccl_topo, IMPORT_NCCL_TOPO, .marks = {"<system", "<pci"},
     .stand_apart = true},
    {"ibnetdiscover", import_ibnet, IMPORT_IBNET, .marks = {"switchguid=", "Switch"},
     .stand_apart = true},
    {"slurm-topology", import_slurm, IMPORT_SLURM, .marks = {"SwitchName=", "Nodes="},
     .stand_apart = true},
    {"slurm-topology", import_slurm, IMPORT_SLURM, .marks = {"BlockName=", "Nodes="},
     .stand_apart = true},
    {"slurm-topology", import_slurm, IMPORT_SLURM, .marks = {"topology:", "nodes:"},
     .stand_apart = true},
    {"slurm-topology", import_slurm, IMPORT_SLURM, .marks = {"\"NetworkNodes\"", "\"Instance"},
     .stand_apart = true, .begins = '{'},
    {"slurm-topology", import_slurm, IMPORT_SLURM, .marks = {"physicalHostTopology", "subblock"},
     .stand_apart = true},
    {"slurm-topology", import_slurm, IMPORT_SLURM, .marks = {"network-block-id\"", "\"data\""},
     .stand_apart = true, .begins = '{'},
    {"slurm-topology", import_slurm, IMPORT_SLURM,
     .marks = {"network.topology.nvidia.com/", "labels"}, .stand_apart = true},
    {"slurm-topology", import_slurm, IMPORT_SLURM,
     .marks = {"fabric.topograph.run/tier-", "labels"}, .stand_apart = true},
    {"slurm-topology", import_slurm, IMPORT_SLURM,
     .marks = {"topology.k8s.aws/network-node-layer-", "labels"}, .stand_apart = true},
    {"slurm-topology", import_slurm, IMPORT_SLURM,
     .marks = {"cloud.google.com/gce-topology-", "labels"}, .stand_apart = true},
    {"sacct", import_sacct, IMPORT_SACCT, .marks = {"JobID|", "NNodes"}, .files = FILES_EACH},
    {"power-log", import_power, IMPORT_POWER, .marks = {"power.draw", ","}},
    {"power-log", import_power, IMPORT_POWER, .marks = {"# gpu", "pwr"}},
    {"topo-m", import_topo_m, IMPORT_TOPO_M, .marks = {"GPU0", " X "}},
    {"nccl-tests", import_nccl_tests, IMPORT_NCCL_TESTS, .marks = {"busbw", "algbw"},
     .files = FILES_EACH, .wants = nccl_tests_wants},
    {"nccl-tests", import_nccl_tests, IMPORT_NCCL_TESTS, .marks = {"bus_bw", "alg_bw"},
     .stand_apart = true, .files = FILES_EACH, .wants = nccl_tests_wants},
    {"megatron-log", import_megatron, IMPORT_LOGS,
     .marks = {"elapsed time per iteration", "iteration"}, .files = FILES_RANKS,
     .head = "- arguments -", .reader = &import_megatron_reader, .wants = import_megatron_wants},
    {"torchtitan-log", import_torchtitan, IMPORT_LOGS, .marks = {"loss:", "tps: "},
     .files = FILES_RANKS, .reader = &import_torchtitan_reader, .wants = import_torchtitan_wants},
    {"torchtitan-log", import_torchtitan, IMPORT_LOGS, .marks = {"loss:", "wps: "},
     .files = FILES_RANKS, .reader = &import_torchtitan_reader, .wants = import_torchtitan_wants},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"--num-layers", "--hidden-size"},
     .stand_apart = true, .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"--tensor-model-parallel-size", "--"},
     .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"run_recipe", "--recipe"}, .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"nemo llm ", "--factory"}, .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"[training]", "]"}, .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"[parallelism]", "]"}, .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"tensor_model_parallel_size=", "."},
     .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"tensor_model_parallel_size:", ":"},
     .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"per_device_train_batch_size", "="},
     .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"per_device_train_batch_size", ":"},
     .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"--per_device_train_batch_size", "--"},
     .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"\"zero_optimization\"", ":"}, .begins = '{',
     .yields = true},
    {"launch", import_launch, IMPORT_LAUNCH, .marks = {"\"train_micro_batch_size_per_gpu\"", ":"},
     .begins = '{', .yields = true},
    {"step-log", import_step_log, IMPORT_STEPS, .files = FILES_RANKS, .reader = &import_step_reader,
     .wants = import_step_wants},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

const struct import_kind *import_kind_at(uint32_t index)
{
    return index < KIND_COUNT ? &kinds[index] : NULL;
}

/* "hf, nccl-topo, ... or step-log" */
const char *import_kind_words(struct arena *arena)
{
    const char *words = kinds[0].name;
    for (uint32_t i = 1; i < KIND_COUNT; i++) {
        if (kinds[i].bit != kinds[i - 1].bit || kinds[i].function != kinds[i - 1].function) {
            words = arena_printf(arena, "%s%s%s", words, i + 1 == KIND_COUNT ? " or " : ", ",
                                 kinds[i].name);
        }
    }
    return words;
}

const struct import_kind *import_kind_find(const struct importer *importer, const char *name)
{
    const char *names[KIND_COUNT];
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        names[i] = kinds[i].name;
        if (strcmp(names[i], name) == 0) {
            return &kinds[i];
        }
    }
    diag_add(importer->diag, DIAG_USAGE, NULL, "there is no kind '%s' to import", name);
    diag_help_nearest(importer->diag, diag_nearest(name, names, KIND_COUNT),
                      import_kind_words(importer->arena));
    return NULL;
}

/* ---- what a file is ------------------------------------------------------------------------ */

/* Where the first mark stands, with the other one in its line; NULL: nowhere. */
static const char *find_line(const char *text, const char *const *marks)
{
    const char *at = strstr(text, marks[0]);
    while (at != NULL) {
        const char *line = at;
        while (line > text && line[-1] != '\n') {
            line--;
        }
        const char *end = at + strcspn(at, "\n");
        if (text_span_find((struct text_span){line, end}, marks[1]) != NULL) {
            return at;
        }
        at = strstr(end, marks[0]);
    }
    return NULL;
}

static bool find_marks(const char *text, const struct import_kind *kind, const char **at)
{
    const bool is_begun = kind->begins == '\0' || text[strspn(text, " \t\r\n")] == kind->begins;
    if (kind->marks[0] == NULL || !is_begun) {
        return false;
    }
    *at = !kind->stand_apart                     ? find_line(text, kind->marks)
          : strstr(text, kind->marks[1]) != NULL ? strstr(text, kind->marks[0])
                                                 : NULL;
    return *at != NULL;
}

const struct import_kind *import_kind_of(const char *text, uint32_t bits, const char **at)
{
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        if ((kinds[i].bit & bits) != 0 && find_marks(text, &kinds[i], at)) {
            return &kinds[i];
        }
    }
    return NULL;
}

bool import_kind_is(const struct import_kind *kind, const char *text)
{
    const char *at;
    bool is_it = kind->marks[0] == NULL && step_lines_trainer(text) != NULL;
    for (uint32_t i = 0; i < KIND_COUNT && !is_it; i++) {
        is_it = kinds[i].function == kind->function && find_marks(text, &kinds[i], &at);
    }
    return is_it;
}

/* One of the kinds that is read by another function. */
static const struct import_kind *other_kind(const char *text, const struct import_kind *kind,
                                            uint32_t bits, const char **at)
{
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        const bool is_asked =
            kinds[i].function != kind->function && !kinds[i].yields && (kinds[i].bit & bits) != 0;
        if (is_asked && find_marks(text, &kinds[i], at)) {
            return &kinds[i];
        }
    }
    return NULL;
}

static void refuse_two(const struct text_file *file, const struct import_kind *const *both,
                       const char *const *at, struct diag *diag)
{
    const bool is_later = at[1] > at[0];
    const struct place place = text_file_place(file, is_later ? at[1] : at[0]);
    const struct place before = text_file_place(file, is_later ? at[0] : at[1]);
    diag_add(diag, DIAG_INPUT, &place, "two kinds are in one file: %s here, %s in line %" PRIu32,
             both[is_later]->name, both[!is_later]->name, before.line);
    diag_help(diag, "say which is meant: stoker import %s FILE; or split the file", both[0]->name);
}

const struct import_kind *import_kind_of_file(const struct text_file *file, uint32_t bits,
                                              struct diag *diag)
{
    const char *at[2] = {NULL, NULL};
    const struct import_kind *both[2] = {import_kind_of(file->text, bits, &at[0]), NULL};
    both[1] = both[0] != NULL ? other_kind(file->text, both[0], bits, &at[1]) : NULL;
    if (both[1] != NULL) {
        refuse_two(file, both, at, diag);
        return NULL;
    }
    const bool has_steps = both[0] == NULL && step_lines_trainer(file->text) != NULL;
    return has_steps ? &kinds[KIND_COUNT - 1] : both[0];
}

/* ---- logs that tell the whole run ----------------------------------------------------------- */

static const struct import_kind *kind_of(const char *text)
{
    const char *at;
    return import_kind_of(text, IMPORT_LOGS, &at);
}

bool import_log_is_whole(const char *text)
{
    return kind_of(text) != NULL;
}

const char *import_log_lines(struct importer *importer)
{
    enum { LINES_MAX = 1 << 16 };
    const struct import_kind *kind = kind_of(importer->file.text);
    const struct place place = {.file = importer->file.path};
    if (kind == NULL) {
        diag_add(importer->diag, DIAG_INPUT, &place, "there is no step in it that is known");
        diag_help(importer->diag,
                  "a line like 'elapsed time per iteration (ms): 1234.5' (Megatron), 'step: 10  "
                  "loss: 4.5  ...  tps: 5,123' (torchtitan), 'iter time (s): 5.11' (DeepSpeed), or "
                  "another of `stoker import step-log`");
        return NULL;
    }
    char *text = arena_alloc(importer->arena, LINES_MAX);
    importer->out = fmemopen(text, LINES_MAX, "w");
    sim_assert(importer->out != NULL);
    const bool is_good = kind->function(importer);
    const bool is_whole = fclose(importer->out) == 0;
    if (is_good && !is_whole) {
        diag_add(importer->diag, DIAG_INPUT, &place,
                 "what it says of its run is too long: more "
                 "than %d bytes",
                 LINES_MAX);
        diag_help(importer->diag, "an argument of the run is as long as that: is the log damaged? "
                                  "`stoker import` writes the row, for --anchor FILE.csv:ID");
        return NULL;
    }
    return is_good ? text : NULL;
}

bool import_log_pace(struct importer *importer, struct log_pace *pace)
{
    return import_log_is_whole(importer->file.text)
               ? import_megatron_pace(importer, pace) || import_torchtitan_pace(importer, pace)
               : import_log_step(importer, pace);
}
