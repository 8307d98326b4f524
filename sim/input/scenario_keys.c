/* Every key of a scenario, one row each: what it means, its bounds, and what holds when it is
 * left out. The functions before the table read what is more than one value.
 */
#include "input/scenario_keys.h"

#include "input/scenario.h"

#include "base/arena.h"

#include <string.h>

#define SCHEMA_OBJECT struct scenario
#include "input/schema/rows.h"

static const int64_t STEPS_MAX = 1000000000;
static const double SECONDS_MAX = 1e9;

/* ---- run ---- */

/* "500 steps" -> 500; other texts are durations. */
static void read_every(const struct schema_reader *reader, const struct schema_row *row)
{
    struct doc_map *map = reader->map;
    struct checkpoint *checkpoint = &((struct scenario *)reader->object)->checkpoint;
    const struct doc_node *node = doc_take(map, schema_key(row));
    const char *unit = node != NULL && node->kind == DOC_SCALAR ? strstr(node->text, "step") : NULL;
    if (unit == NULL || (strcmp(unit, "step") != 0 && strcmp(unit, "steps") != 0)) {
        if (doc_require(map, schema_key(row))) {
            doc_get_quantity(map, schema_key(row), DIM_SECONDS, 0.001, SECONDS_MAX,
                             &checkpoint->every_s);
        }
        return;
    }
    char count_text[64] = "";
    const size_t length = (size_t)(unit - node->text);
    if (length < sizeof count_text) {
        memcpy(count_text, node->text, length);
    }
    struct doc_node count = *node; /* the number alone, at the same place */
    count.text = count_text;
    if (!doc_node_count(&count, 1, STEPS_MAX, &checkpoint->every_steps, map->diag)) {
        map->is_bad = true;
    }
}

static void read_failures(const struct schema_reader *reader, const struct schema_row *row)
{
    bool has_failures = false;
    if (doc_get_bool(reader->map, schema_key(row), &has_failures) && has_failures) {
        diag_add(reader->map->diag, DIAG_WARNING, &doc_take(reader->map, schema_key(row))->place,
                 "failures are not modelled in this version; goodput counts checkpoint and "
                 "data stalls only");
    }
}

/* ---- price ---- */

/* The scenario's price of a GPU-hour goes before the GPU's own. */
static void read_gpu_hour(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct scenario *scenario = reader->object;
    schema_read_key(reader, row);
    if (doc_take(reader->map, schema_key(row)) != NULL) {
        assumptions_drop(reader->assumptions, "gpu.price.gpu_hour");
    } else if (doc_find(scenario->document, "gpu.price.gpu_hour") == NULL) {
        assumptions_add(reader->assumptions,
                        &(struct assumption){.name = row->path,
                                             .value = "0 USD",
                                             .reason = "neither scenario nor GPU has a price"});
    }
}

/* ---- the table ---- */

static const char *const checkpoint_target_names[] = {"shared"};

static const struct schema_row rows[] = {
    {SECTION("run", "How long is trained, and what interrupts it.")},
    {QUANTITY("run.tokens", run_tokens, DIM_COUNT, 1.0, 1e18,
              "Tokens of the whole training, which give its steps, days and money."),
     .is_optional = true, .note = "only the step is predicted"},
    {SWITCH("run.checkpoint", checkpoint.is_enabled,
            "How often the states are written to storage, and whether training waits for it.")},
    {CUSTOM("run.checkpoint.every", read_every,
            "Time or steps between two checkpoints: '30 min', '500 steps'.")},
    {CHOICE("run.checkpoint.mode", checkpoint.mode, checkpoint_mode_names, CHECKPOINT_MODE_COUNT_,
            "Training stops until all is written (blocking), or goes on beside it (async)."),
     .standard = "blocking"},
    {ONLY_CHOICE("run.checkpoint.to", checkpoint_target_names, 1,
                 "Where checkpoints go: to the storage that all nodes share."),
     .standard = "shared"},
    {ONLY_BOOL("run.failures", "Whether GPUs fail; not modelled yet, so true only warns."),
     .standard = "false", .read = read_failures},

    {SWITCH("data", data.is_enabled, "DataLoader workers, which read samples from storage.")},
    {COUNT("data.workers_per_gpu", data.workers_per_gpu, 1, 256, "Worker processes per GPU."),
     .standard = "2"},
    {COUNT("data.prefetch", data.prefetch, 1, 64, "Batches that each worker holds ready."),
     .standard = "2"},
    {QUANTITY("data.time_per_sample", data.time_per_sample_s, DIM_SECONDS, 0.0, 1e3,
              "What one worker needs to prepare one sequence."),
     .standard = "2 ms", .is_assumed = true},
    {QUANTITY("data.bytes_per_token", data.bytes_per_token, DIM_BYTES, 0.0, 1e12,
              "What is read from storage for a token."),
     .standard = "4 B", .is_assumed = true},
    {QUANTITY("data.memory_per_worker", data.memory_per_worker_bytes, DIM_BYTES, 0.0, 1e15,
              "Memory of the host that a worker takes, without its queue."),
     .standard = "1 GB", .is_assumed = true},

    {SECTION("price", "What an hour, energy and cooling cost.")},
    {QUANTITY("price.gpu_hour", price.gpu_hour_usd, DIM_USD, 0.0, 1e6,
              "Rent of a GPU for an hour, or what owning it comes to."),
     AS(double, gpu.gpu_hour_usd), .note = "the GPU's", .read = read_gpu_hour},
    {QUANTITY("price.electricity", price.electricity_usd_per_kwh, DIM_USD_PER_KWH, 0.0, 1e4,
              "Price of energy where it is paid apart; a rented GPU-hour includes it."),
     .standard = "0 USD/kWh"},
    {QUANTITY("price.pue", price.pue, DIM_COUNT, 1.0, 10.0,
              "Power usage effectiveness: the facility's power over that of its machines."),
     .standard = "1.2", .is_assumed = true},
};

const struct schema scenario_schema = SCHEMA_OF("scenario", "", rows);
