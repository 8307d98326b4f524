/* An open hash table of steps, at most half full. The likeness is a hash of 64 bits: of 20,000
 * different scenarios two have the same with a chance of 1e-11.
 */
#include "measured/known_steps.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "input/scenario.h"
#include "train/jitter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file nests up to 64 levels (input/doc), and stands in the scenario a few below its root; keys
 * are short. */
enum { SLOTS_MIN = 1024, PATH_BYTES_MAX = 8192, DEPTH_MAX = 256 };

struct known_steps {
    struct arena *arena;
    struct known_entry *slots;
    size_t slot_count, count; /* slot_count is a power of two */
};

/* ---- what a step hangs on --------------------------------------------------------------- */

static bool always(const struct scenario *scenario)
{
    (void)scenario;
    return true;
}

static bool is_dense(const struct scenario *scenario)
{
    return scenario->model.experts == 0;
}

static bool has_16_bits(const struct scenario *scenario)
{
    return !precision_is_low((enum precision)scenario->precision);
}

static bool is_not_mxfp8(const struct scenario *scenario)
{
    return scenario->precision != PRECISION_MXFP8;
}

static bool is_not_nvfp4(const struct scenario *scenario)
{
    return scenario->precision != PRECISION_NVFP4;
}

/* Keys, and all below them, that steps of a kind do not hang on. mxfp8 takes from fp8 what its own
 * section lacks (input/gpu). */
static const struct idle_row {
    const char *path;
    bool (*is_idle)(const struct scenario *scenario);
} idle_rows[] = {
    {"scenario", always},
    {"software.jitter.spread", always},
    {"gpu.speed_spread", always},
    {"software.experts", is_dense},
    {"software.communication.experts", is_dense},
    {"software.communication.experts_network", is_dense},
    {"software.interference.experts", is_dense},
    {"software.interference.expert_sms", is_dense},
    {"software.fp8", has_16_bits},
    {"gpu.gemm_fp8", has_16_bits},
    {"gpu.gemm_mxfp8", is_not_mxfp8},
    {"gpu.gemm_nvfp4", is_not_nvfp4},
};

static bool is_idle(const struct scenario *scenario, const char *path)
{
    for (size_t i = 0; i < sizeof idle_rows / sizeof *idle_rows; i++) {
        if (strcmp(idle_rows[i].path, path) == 0) {
            return idle_rows[i].is_idle(scenario);
        }
    }
    return false;
}

struct open_node {
    const struct doc_node *next; /* child; NULL: none is left */
    size_t length;               /* of its path */
};

struct hashing {
    const struct scenario *scenario;
    char path[PATH_BYTES_MAX]; /* of the node at hand */
    struct open_node open[DEPTH_MAX];
    uint32_t depth;
    uint64_t hash;
};

static void add_text(struct hashing *hashing, const char *text)
{
    hashing->hash = rng_hash_bytes(text, strlen(text) + 1, hashing->hash);
}

static void open_node(struct hashing *hashing, const struct doc_node *node)
{
    const unsigned char kind[] = {(unsigned char)node->kind, node->is_quoted ? 1 : 0};
    hashing->hash = rng_hash_bytes(kind, sizeof kind, hashing->hash);
    add_text(hashing, node->text != NULL ? node->text : "");
    sim_assert(hashing->depth < DEPTH_MAX);
    hashing->open[hashing->depth++] = (struct open_node){node->child, strlen(hashing->path)};
}

/* The next child of the innermost node that is open, unless it is idle; else that node ends. */
static void go_on(struct hashing *hashing)
{
    struct open_node *open = &hashing->open[hashing->depth - 1];
    const struct doc_node *child = open->next;
    hashing->path[open->length] = '\0';
    if (child == NULL) {
        add_text(hashing, "]");
        hashing->depth--;
        return;
    }
    open->next = child->next;
    const char *key = child->key != NULL ? child->key : "-";
    const int size = snprintf(&hashing->path[open->length], PATH_BYTES_MAX - open->length, "%s%s",
                              open->length > 0 ? "." : "", key);
    sim_assert(size >= 0 && open->length + (size_t)size < PATH_BYTES_MAX);
    if (!is_idle(hashing->scenario, hashing->path)) {
        add_text(hashing, key);
        open_node(hashing, child);
    }
}

uint64_t known_steps_likeness(const struct scenario *scenario)
{
    struct hashing hashing = {.scenario = scenario, .path = "", .hash = 1};
    if (scenario->neighbour_count > 0) {
        return 0;
    }
    open_node(&hashing, scenario->document);
    while (hashing.depth > 0) {
        go_on(&hashing);
    }
    return hashing.hash != 0 ? hashing.hash : 1;
}

/* ---- the table -------------------------------------------------------------------------- */

static struct known_entry *slot_of(struct known_entry *slots, size_t slot_count, uint64_t likeness)
{
    size_t i = likeness & (slot_count - 1);
    while (slots[i].likeness != 0 && slots[i].likeness != likeness) {
        i = (i + 1) & (slot_count - 1);
    }
    return &slots[i];
}

struct known_steps *known_steps_new(struct arena *arena)
{
    struct known_steps *steps = arena_alloc(arena, sizeof *steps);
    *steps = (struct known_steps){.arena = arena, .slot_count = SLOTS_MIN};
    steps->slots = arena_array(arena, SLOTS_MIN, sizeof *steps->slots);
    return steps;
}

static void double_slots(struct known_steps *steps)
{
    const size_t wanted = 2 * steps->slot_count;
    struct known_entry *slots = arena_array(steps->arena, wanted, sizeof *slots);
    for (size_t i = 0; i < steps->slot_count; i++) {
        if (steps->slots[i].likeness != 0) {
            *slot_of(slots, wanted, steps->slots[i].likeness) = steps->slots[i];
        }
    }
    steps->slots = slots;
    steps->slot_count = wanted;
}

bool known_steps_find(const struct known_steps *steps, uint64_t likeness, struct known_step *step)
{
    const struct known_entry *entry = slot_of(steps->slots, steps->slot_count, likeness);
    if (likeness == 0 || entry->likeness == 0) {
        return false;
    }
    *step = entry->step;
    return true;
}

void known_steps_add(struct known_steps *steps, uint64_t likeness, const struct known_step *step)
{
    if (2 * (steps->count + 1) > steps->slot_count) {
        double_slots(steps);
    }
    struct known_entry *entry = slot_of(steps->slots, steps->slot_count, likeness);
    if (likeness != 0 && entry->likeness == 0) {
        *entry = (struct known_entry){likeness, *step};
        steps->count++;
    }
}

static int compare_likeness(const void *a, const void *b)
{
    const uint64_t one = ((const struct known_entry *)a)->likeness;
    const uint64_t other = ((const struct known_entry *)b)->likeness;
    return one < other ? -1 : one > other;
}

const struct known_entry *known_steps_list(struct arena *arena, const struct known_steps *steps,
                                           uint32_t *count)
{
    struct known_entry *list = arena_array(arena, steps->count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; i < steps->slot_count; i++) {
        if (steps->slots[i].likeness != 0) {
            list[(*count)++] = steps->slots[i];
        }
    }
    qsort(list, *count, sizeof *list, compare_likeness);
    return list;
}

/* ---- a step ----------------------------------------------------------------------------- */

struct known_step known_step_of(const struct scenario *scenario, const struct step_result *result)
{
    struct known_step step = {
        .step_ns = result->step_ns - result->jitter_ns,
        .flop_per_token_causal = result->flop_per_token_causal,
        .peak_flop_per_s = result->peak_flop_per_s,
        .fits = result->memory.fits,
    };
    memcpy(step.gpu_ns, result->gpu_ns, sizeof step.gpu_ns);
    step.gpu_ns[CAUSE_STRAGGLER_WAIT] -= scenario->gpus * result->jitter_ns;
    return step;
}

void known_step_add_jitter(const struct scenario *scenario, struct known_step *step)
{
    const double spread = jitter_spread_of(&scenario->gpu, &scenario->software);
    const int64_t wait_ns = jitter_wait_ns(spread, scenario->gpus, step->gpu_ns, NULL);
    step->step_ns += wait_ns;
    step->gpu_ns[CAUSE_STRAGGLER_WAIT] += scenario->gpus * wait_ns;
}
