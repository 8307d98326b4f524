/* Each line is asked for each label: logs are read at some 100 MB/s by that. */
#include "foreign/logs/log_claims.h"

#include "base/arena.h"
#include "foreign/import.h"
#include "foreign/step_lines.h"
#include "foreign/training_log.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <string.h>

enum { DIGITS_MAX = 40 };

enum claim { CLAIM_FLOP, CLAIM_MFU, CLAIM_CHECKPOINT, CLAIM_COUNT_ };

/* Of lines that have `mark`, the number behind `label`, or before it. */
static const struct label {
    const char *mark; /* NULL: the label is one */
    const char *label;
    double factor;
    enum claim claim;
    bool is_before;
} labels[] = {
    {NULL, "throughput per GPU (TFLOP/s/GPU):", 1e12, CLAIM_FLOP, false}, /* Megatron-LM */
    {NULL, "TFLOP/s/device:", 1e12, CLAIM_FLOP, false},                   /* MaxText */
    {NULL, "model_tflops_per_gpu:", 1e12, CLAIM_FLOP, false},             /* nanotron */
    {NULL, "tflops:", 1e12, CLAIM_FLOP, false},                           /* torchtitan */
    {NULL, "TFLOPs:", 1e12, CLAIM_FLOP, false}, /* Megatron-DeepSpeed, GPT-NeoX */
    {NULL, "TFLOPS per GPU:", 1e12, CLAIM_FLOP, false},
    {"tps:", "mfu:", 0.01, CLAIM_MFU, false},              /* torchtitan, per cent */
    {": loss ", "mfu ", 0.01, CLAIM_MFU, false},           /* nanoGPT */
    {" tok/s", "% bf16 MFU", 0.01, CLAIM_MFU, true},       /* llm.c */
    {NULL, "throughput/device/mfu:", 1, CLAIM_MFU, false}, /* Composer */
    {"Finished saving the checkpoint", "in ", 1, CLAIM_CHECKPOINT, false}, /* torchtitan */
    {NULL, "checkpoint save time (s):", 1, CLAIM_CHECKPOINT, false},
    {NULL, "save-checkpoint time (s):", 1, CLAIM_CHECKPOINT, false},
};
enum { LABELS = sizeof labels / sizeof *labels };

static const char *const out_of_memory[] = {"CUDA out of memory", "OutOfMemoryError",
                                            "HIP out of memory", "RESOURCE_EXHAUSTED"};

struct values {
    double *items;
    size_t count, capacity;
};

static bool number_behind(const char *at, const char *end, double *value)
{
    char digits[DIGITS_MAX] = {0};
    size_t length = 0;
    while (at < end && (*at == ' ' || *at == '\t')) {
        at++;
    }
    for (; at < end && length < sizeof digits && strchr("0123456789.,", *at) != NULL; at++) {
        if (*at != ',') {
            digits[length++] = *at;
        }
    }
    while (length > 0 && digits[length - 1] == '.') { /* of a sentence */
        length--;
    }
    return length > 0 && text_span_number((struct text_span){digits, digits + length}, value);
}

static bool number_before(const char *begin, const char *at, double *value)
{
    const char *from = at;
    while (from > begin && strchr("0123456789.", from[-1]) != NULL) {
        from--;
    }
    return from < at && text_span_number((struct text_span){from, at}, value);
}

static bool read_label(const struct label *label, struct text_span line, double *value)
{
    const char *at = text_span_find(line, label->label);
    if (at == NULL || (label->mark != NULL && text_span_find(line, label->mark) == NULL)) {
        return false;
    }
    const bool is_read = label->is_before
                             ? number_before(line.begin, at, value)
                             : number_behind(at + strlen(label->label), line.end, value);
    *value *= label->factor;
    return is_read && *value > 0;
}

static double median_of(struct values *values, bool has_warm_up)
{
    const size_t first = has_warm_up ? log_warm_lines(values->count) : 0;
    if (values->count == 0) {
        return 0;
    }
    gsl_sort(values->items + first, 1, values->count - first);
    return gsl_stats_median_from_sorted_data(values->items + first, 1, values->count - first);
}

bool log_claims_wants(struct text_span line)
{
    for (uint32_t i = 0; i < LABELS; i++) {
        if (text_span_find(line, labels[i].label) != NULL) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof out_of_memory / sizeof *out_of_memory; i++) {
        if (text_span_find(line, out_of_memory[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void look_for_memory(const struct text_file *file, struct text_span line,
                            struct log_claims *claims)
{
    for (size_t i = 0; i < sizeof out_of_memory / sizeof *out_of_memory; i++) {
        const char *at = text_span_find(line, out_of_memory[i]);
        if (at != NULL && !claims->is_out_of_memory) {
            claims->is_out_of_memory = true;
            claims->out_of_memory = text_file_place(file, at);
        }
    }
}

struct log_claims log_claims_of(struct arena *arena, const struct text_file *file)
{
    struct log_claims claims = {.has_step = import_log_is_whole(file->text) ||
                                            step_lines_trainer(file->text) != NULL};
    struct values values[LABELS] = {{NULL, 0, 0}};
    for (const char *next = file->text; next != NULL;) {
        const struct text_span line = text_line(next, &next);
        for (uint32_t i = 0; i < LABELS; i++) {
            double value = 0;
            if (read_label(&labels[i], line, &value)) {
                values[i].items = arena_grow(arena, values[i].items, &values[i].capacity,
                                             values[i].count + 1, sizeof *values[i].items);
                values[i].items[values[i].count++] = value;
            }
        }
        look_for_memory(file, line, &claims);
    }
    double *into[CLAIM_COUNT_] = {&claims.flop_per_s, &claims.mfu, &claims.checkpoint_s};
    for (uint32_t i = 0; i < LABELS; i++) {
        double *figure = into[labels[i].claim];
        if (!(*figure > 0) && values[i].count > 0) {
            *figure = median_of(&values[i], labels[i].claim != CLAIM_CHECKPOINT);
            claims.checkpoints +=
                labels[i].claim == CLAIM_CHECKPOINT ? (int64_t)values[i].count : 0;
        }
    }
    return claims;
}
