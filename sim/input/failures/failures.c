/* Each class is a mapping of its own, read by its schema; its rate is worked out behind it, when it
 * is known with what it grows.
 */
#include "input/failures/failures.h"

#include "base/arena.h"
#include "input/failures/rate.h"

#include <string.h>

enum { CLASSES_MAX = 256, REPAIR_STAGES_MAX = 8 };

const char *const failure_count_names[FAILURE_COUNT_COUNT_] = {"interruptions", "hardware"};
const char *const failure_component_names[FAILURE_COMPONENT_COUNT_] = {
    "gpu", "node", "nic", "leaf", "nvlink_domain", "power_domain", "job"};
const char *const failure_victim_names[FAILURE_VICTIM_COUNT_] = {
    "process", "gpu", "node", "leaf", "nvlink_domain", "power_domain", "file_system"};
const char *const failure_effect_names[FAILURE_EFFECT_COUNT_] = {"kills", "slows", "degrades",
                                                                 "stops", "corrupts"};
const char *const failure_detection_names[DETECTION_COUNT_] = {"crash", "hang", "slow",
                                                               "corruption"};
const char *const failure_ageing_names[AGEING_COUNT_] = {"none", "renewed", "repaired"};

/* A class with its rate as it is written. */
struct written {
    struct failure_kind kind;
    struct written_rate rate;
};

#define SCHEMA_OBJECT struct written
#include "input/failures/rate_rows.h"

static bool has_bad(const void *object)
{
    return ((const struct written *)object)->kind.has_bad;
}

static bool returns_bad(const void *object)
{
    return ((const struct written *)object)->kind.returns_bad > 0;
}

static const struct schema_refusal *without_bad_returns(const void *object)
{
    static const struct schema_refusal refusal = {"of a class whose repairs all help",
                                                  "say returns_bad: 10 %, or leave it out"};
    return returns_bad(object) ? NULL : &refusal;
}

static bool is_weibull(const void *object)
{
    return ((const struct written *)object)->kind.ageing != AGEING_NONE;
}

static bool is_repaired(const void *object)
{
    return ((const struct written *)object)->kind.ageing == AGEING_REPAIRED;
}

static bool is_slow(const void *object)
{
    return ((const struct written *)object)->kind.effect == FAILURE_SLOWS;
}

static const struct schema_refusal *without_ageing(const void *object)
{
    static const struct schema_refusal refusal = {"of a class whose rate does not change",
                                                  "say ageing: renewed, or ageing: repaired"};
    return is_weibull(object) ? NULL : &refusal;
}

static const struct schema_refusal *without_repair(const void *object)
{
    static const struct schema_refusal refusal = {"of a class that is not repaired as old",
                                                  "say ageing: repaired, or leave it out"};
    return is_repaired(object) ? NULL : &refusal;
}

static const struct schema_refusal *without_slowness(const void *object)
{
    static const struct schema_refusal refusal = {"of a class that slows no GPU",
                                                  "say effect: slows, or leave it out"};
    return is_slow(object) ? NULL : &refusal;
}

static const struct schema_refusal *without_links(const void *object)
{
    static const struct schema_refusal refusal = {"of a class that degrades no link",
                                                  "say effect: degrades, or leave it out"};
    return ((const struct written *)object)->kind.effect == FAILURE_DEGRADES ? NULL : &refusal;
}

static void read_repair(const struct schema_reader *reader, const struct schema_row *row);

static const struct schema_row kind_rows[] = {
    {TEXT("name", kind.name, "What fails; its random numbers hang on it."), .is_required = true},
    {CHOICE(
         "of", kind.of, failure_component_names, FAILURE_COMPONENT_COUNT_,
         "With what the rate grows: with GPUs, nodes (trays), NICs, leaf switches, NVLink domains "
         "(racks), power domains, or it is the job's whatever its size."),
     .is_required = true},
    RATE_ROWS(rate, "Of so many components of the kind that `of` names, where they are not GPUs or "
                    "nodes."),
    {CHOICE("ageing", kind.ageing, failure_ageing_names, AGEING_COUNT_,
            "Whether the rate changes with age (Weibull), and what a failure does to the age: "
            "renewed is replaced by a new one, repaired goes on as old."),
     .standard = "none"},
    {QUANTITY("shape", kind.shape, DIM_COUNT, LAW_SHAPE_MIN, LAW_SHAPE_MAX,
              "Of Weibull: below 1 what is new fails most, above 1 what is old."),
     .is_required = true, .applies = is_weibull, .refuses = without_ageing},
    {QUANTITY("age", kind.age_s, DIM_SECONDS, 0.0, 1e9,
              "Of each component when the run begins, where it is repaired."),
     .standard = "0 s", .refuses = without_repair},
    {CHOICE(
         "takes", kind.takes, failure_victim_names, FAILURE_VICTIM_COUNT_,
         "What is away until it is repaired; a GPU is away with its node, the nodes of a leaf, an "
         "NVLink or a power domain come back together."),
     .standard = "process"},
    {CHOICE("effect", kind.effect, failure_effect_names, FAILURE_EFFECT_COUNT_,
            "What it does to the run."),
     .standard = "kills"},
    {QUANTITY("speed", kind.speed, DIM_FRACTION, 0.001, 1.0,
              "Of the slow GPU, as a share of the others'."),
     .is_required = true, .applies = is_slow, .refuses = without_slowness},
    {QUANTITY("nic", kind.nic, DIM_FRACTION, 0.001, 1.0,
              "What a degraded NIC carries, both ways, as a share of the others': 0.5 where one of "
              "two ports is down."),
     .standard = "1", .refuses = without_links},
    {QUANTITY("scale_up", kind.scale_up, DIM_FRACTION, 0.001, 1.0,
              "What a degraded NVLink port carries, both ways, as a share of the others'."),
     .standard = "1", .refuses = without_links},
    {CHOICE("detected", kind.detected, failure_detection_names, DETECTION_COUNT_,
            "How somebody finds out; how long that takes is run.recovery.detection's."),
     .standard = "crash"},
    {SCHEMA_ROW("repair", SCHEMA_CUSTOM, SCHEMA_MEMBER(struct law, kind.repair),
                "Until the nodes are back; of what stops all: until it goes on. Or a list of "
                "stages, tried until one helps: [{takes: 15 min, helps: 50 %}, {takes: 2 days}]."),
     .dimension = DIM_SECONDS, .standard = "0 s", .read = read_repair},
    {QUANTITY("returns_bad", kind.returns_bad, DIM_FRACTION, 0.0, 0.99,
              "Share of the nodes that come back from repair as broken as they went."),
     .standard = "0 %"},
    {LAW("fails_again", kind.fails_again, "How long after that such a node fails again."),
     .is_required = true, .applies = returns_bad, .refuses = without_bad_returns},
    {SWITCH("bad", kind.has_bad, "A few components that fail more often than the others.")},
    {QUANTITY("bad.share", kind.bad_share, DIM_FRACTION, 0.0, 0.999, "Of all components."),
     .is_required = true, .applies = has_bad},
    {QUANTITY("bad.times", kind.bad_times, DIM_COUNT, 1.0, 1e6,
              "How many times as often as one of the others; the rate is the mean of all."),
     .is_required = true, .applies = has_bad},
    {COUNT("bad.retired_after", kind.bad_retired_after, 1, 1000000,
           "Failures of a bad one, after which an ordinary one takes its place."),
     .is_optional = true, .note = "it stays"},
};
const struct schema failure_kind_keys = SCHEMA_OF("class", "failures.classes.", kind_rows);

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct repair_stage

static const struct schema_row stage_rows[] = {
    {LAW("takes", takes, "How long it is tried."), .is_required = true},
    {QUANTITY("helps", helps, DIM_FRACTION, 0.0, 1.0, "Share of what comes to it that it mends."),
     .standard = "100 %"},
};
static const struct schema stage_keys = SCHEMA_OF("repair", "repair.", stage_rows);

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct failures

/* ---- reading ---- */

/* Which one fails is told apart of components that do not age; who comes back is a node. */
static bool check_bad(const struct failure_kind *kind, const struct doc_node *entry,
                      struct diag *diag)
{
    if (kind->has_bad && kind->ageing != AGEING_NONE) {
        diag_add(diag, DIAG_INPUT, &entry->place, "class '%s' has bad components that age",
                 kind->name);
        diag_help(diag, "leave ageing out, or bad");
        return false;
    }
    const bool takes_nodes =
        kind->takes != FAILURE_TAKES_PROCESS && kind->takes != FAILURE_TAKES_FILE_SYSTEM;
    const bool returns = kind->returns_bad > 0 || kind->stage_count > 0;
    if (returns && !takes_nodes && kind->effect != FAILURE_STOPS) {
        diag_add(diag, DIAG_INPUT, &entry->place,
                 "class '%s' takes no node that could come back from repair", kind->name);
        diag_help(diag, "say takes: node, or leave returns_bad and the stages of repair out");
        return false;
    }
    return true;
}

/* A class that degrades says which link. */
static bool settle_links(struct written *written, const struct doc_node *entry, struct diag *diag)
{
    struct failure_kind *kind = &written->kind;
    kind->speed = kind->effect == FAILURE_SLOWS ? kind->speed : 1;
    if (kind->effect != FAILURE_DEGRADES) {
        kind->nic = 1;
        kind->scale_up = 1;
        return true;
    }
    if (kind->nic < 1 || kind->scale_up < 1) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &entry->place, "class '%s' degrades no link", kind->name);
    diag_help(diag, "say what is left of one: nic: 0.5, or scale_up: 0.9");
    return false;
}

static bool read_stage(const struct schema_reader *reader, const struct doc_node *entry,
                       struct repair_stage *stage)
{
    struct doc_map map;
    if (!doc_map_open(&map, entry, reader->map->diag)) {
        return false;
    }
    assumptions_take(reader->assumptions, &map,
                     arena_printf(reader->assumptions->arena, "%srepair", reader->path));
    schema_read(&stage_keys, &map, stage, reader->assumptions);
    const bool is_last = entry->next == NULL;
    if (!doc_finish(&map)) {
        return false;
    }
    if (is_last == (stage->helps >= 1)) {
        return true;
    }
    diag_add(reader->map->diag, DIAG_INPUT, &entry->place,
             is_last ? "the last stage of a repair helps %g %%, and then the node is lost"
                     : "a stage that helps %g %% is the last: those behind it are never tried",
             100 * stage->helps);
    diag_help(reader->map->diag,
              "write it like [{takes: 15 min, helps: 50 %%}, {takes: 1 days, helps: 80 %%}, "
              "{takes: 21 days}]");
    return false;
}

/* A duration or a law, or a list of stages. */
static void read_repair(const struct schema_reader *reader, const struct schema_row *row)
{
    struct failure_kind *kind = &((struct written *)reader->object)->kind;
    const struct doc_node *node =
        reader->map->node != NULL ? doc_find(reader->map->node, schema_key(row)) : NULL;
    if (node == NULL || node->kind != DOC_SEQUENCE) {
        law_read(reader, row);
        return;
    }
    (void)doc_take(reader->map, schema_key(row));
    const uint32_t count = doc_child_count(node);
    bool is_good = count > 0 && count <= REPAIR_STAGES_MAX;
    if (!is_good) {
        diag_add(reader->map->diag, DIAG_INPUT, &node->place, "a repair has one to %d stages",
                 REPAIR_STAGES_MAX);
        diag_help(reader->map->diag,
                  "write it like [{takes: 15 min, helps: 50 %%}, {takes: 2 days}]");
    }
    kind->stages = arena_array(reader->assumptions->arena, (size_t)count + 1, sizeof *kind->stages);
    for (const struct doc_node *entry = node->child; is_good && entry != NULL;
         entry = entry->next) {
        is_good = read_stage(reader, entry, &kind->stages[kind->stage_count++]);
    }
    reader->map->is_bad = reader->map->is_bad || !is_good;
}

static bool read_kind(const struct schema_reader *reader, const struct doc_node *entry,
                      struct failure_kind *kind)
{
    struct diag *diag = reader->map->diag;
    struct doc_map map;
    struct written written = {.kind = {.name = NULL}};
    if (!doc_map_open(&map, entry, diag)) {
        return false;
    }
    const char *name = doc_find_text(entry, "name");
    const char *prefix = arena_printf(reader->assumptions->arena, "%s%s", reader->path,
                                      name != NULL ? name : "classes");
    assumptions_take(reader->assumptions, &map, prefix);
    struct schema own = failure_kind_keys; /* whose paths name the class */
    own.prefix = arena_printf(reader->assumptions->arena, "%s.", prefix);
    schema_read(&own, &map, &written, reader->assumptions);
    if (!doc_finish(&map)) {
        return false;
    }
    if (!settle_links(&written, entry, diag) || !check_bad(&written.kind, entry, diag)) {
        return false;
    }
    const char *wrong = rate_settle(&written.rate, written.kind.of, &written.kind.rate_per_s);
    if (wrong != NULL) {
        diag_add(diag, DIAG_INPUT, &written.rate.place, "class '%s' has no rate: %s",
                 written.kind.name, wrong);
        diag_help(diag, "`stoker list keys failures.classes.rate` has the units");
        return false;
    }
    *kind = written.kind;
    kind->place = entry->place;
    return true;
}

static bool check_names(const struct failures *failures, const struct doc_node *list,
                        struct diag *diag)
{
    for (uint32_t i = 0; i < failures->kind_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(failures->kinds[i].name, failures->kinds[k].name) == 0) {
                diag_add(diag, DIAG_INPUT, &list->place, "two classes are called '%s'",
                         failures->kinds[i].name);
                diag_help(diag, "what is drawn for a class hangs on its name: give each its own");
                return false;
            }
        }
    }
    return true;
}

static void read_classes(const struct schema_reader *reader, const struct schema_row *row)
{
    struct failures *failures = reader->object;
    struct doc_map *map = reader->map;
    if (!schema_require(reader, row)) {
        return;
    }
    const struct doc_node *list = doc_take(map, schema_key(row));
    const uint32_t count = doc_child_count(list);
    if (list->kind != DOC_SEQUENCE || count == 0 || count > CLASSES_MAX) {
        diag_add(map->diag, DIAG_INPUT, &list->place, "classes must be a list of 1 to %d",
                 CLASSES_MAX);
        diag_help(map->diag, "write it like [{name: gpu, of: gpu, rate: {mttf: 50700 h}}]");
        map->is_bad = true;
        return;
    }
    failures->kinds = arena_array(reader->assumptions->arena, count, sizeof *failures->kinds);
    bool is_good = true;
    for (const struct doc_node *entry = list->child; entry != NULL; entry = entry->next) {
        is_good = read_kind(reader, entry, &failures->kinds[failures->kind_count++]) && is_good;
    }
    is_good = is_good && check_names(failures, list, map->diag);
    map->is_bad = map->is_bad || !is_good;
}

static const struct schema_row rows[] = {
    {TEXT("failures", name, "Its name, which is that of its file, too."), .note = "inline"},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {CHOICE("counts", counts, failure_count_names, FAILURE_COUNT_COUNT_,
            "What the rates count: interruptions of jobs, or failures of hardware."),
     .is_required = true},
    {QUANTITY("rates_within", rates_within, DIM_COUNT, 1.0, FAILURE_FACTOR_MAX,
              "How far off the rates may be where they are used: a factor, in the mean; 1 of rates "
              "that were measured on the cluster itself."),
     .is_optional = true, .note = "failures.factor of models/limits.yaml"},
    {CUSTOM("classes", read_classes, "What fails, a mapping for each kind."),
     .inner = &failure_kind_keys},
};
const struct schema failures_schema = SCHEMA_OF("failures", "failures.", rows);

bool failures_read(const struct doc_node *node, struct failures *failures,
                   struct assumptions *assumptions, struct diag *diag)
{
    *failures = (struct failures){.name = "inline"};
    return schema_read_document(&failures_schema, node, failures, assumptions, diag);
}
