/* Each job is the document of its scenario, of which the keys that make studies give way to those
 * of the portfolio. */
#include "input/study/portfolio_keys.h"

#include "base/arena.h"
#include "input/network/prices.h"
#include "input/scenario_load.h"

#include <string.h>

#define LIFE_S_MAX 1e9 /* three decades */

static schema_read_function read_jobs;

/* ---- entries --------------------------------------------------------------------------------- */

#define SCHEMA_OBJECT struct portfolio_job
#include "input/schema/rows.h"

static const struct schema_row job_rows[] = {
    {TEXT("name", name, "What tables call it."), .note = "that of its file"},
    {NODE("scenario", file, "What it runs: the path of a scenario."), .is_required = true},
    {QUANTITY("weight", weight, DIM_FRACTION, 0.0, 1e15,
              "Its share of the site's GPU-hours, of which only the ratio to the others' counts."),
     .is_required = true},
};
const struct schema portfolio_job_keys = SCHEMA_OF("portfolio", "portfolio.portfolio.", job_rows);

static bool has_port(const void *object)
{
    return ((const struct portfolio *)object)->price.port_usd > 0;
}

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct portfolio

static const struct schema_row rows[] = {
    {TEXT("title", title, "What reports call the portfolio."), .note = "its file"},
    {CUSTOM("portfolio", read_jobs,
            "What the site trains: [{scenario: dense.yaml, weight: 60 %}, {scenario: moe.yaml, "
            "weight: 40 %}]."),
     .is_required = true, .inner = &portfolio_job_keys},
    {ONLY_NODE("cluster", "The cluster of all scenarios."), .note = "the one that all have"},
    {ONLY_NODE("sweep", "The fabrics: values of keys, each combination of which is one: "
                        "{cluster.network: [400 Gbps, 800 Gbps]}.")},
    {ONLY_NODE("variants", "Fabrics that differ in several keys: [{name: rails, set: "
                           "{cluster.fabric.kind: rail}}].")},
    {ONLY_NODE("defaults", "A house's defaults, of scenarios that name none of their own: the path "
                           "of a file."),
     .note = "none"},
    {QUANTITY("lose", lose, DIM_FRACTION, 0.0, 1.0,
              "How much of the portfolio's work a fabric may lose against what is best for each "
              "scenario."),
     .is_required = true},
    {SWITCH("price", price.is_told, "What a GPU-hour comes to with each fabric.")},
    {QUANTITY("price.gpu_hour", price.gpu_hour_usd, DIM_USD, 0.0, 1e6,
              "Of a GPU with its share of the node, without the network."),
     .is_required = true},
    {QUANTITY(
         "price.port", price.port_usd, DIM_USD, 0.0, 1e9,
         "Of one end of a link with half its cable, of a NIC or of a switch, in the place of a "
         "price of each part."),
     .is_optional = true, .note = "parts cost what " PRICES_DEFAULT " has"},
    {QUANTITY("price.port_bandwidth", price.port_bytes_per_s, DIM_LINK_BYTES_PER_S, 1.0, 1e15,
              "Of the port that costs so much, one way; others cost by their bandwidth."),
     .is_required = true, .applies = has_port},
    {QUANTITY("price.life", price.life_s, DIM_SECONDS, 3600.0, LIFE_S_MAX,
              "Over what time the network is written off."),
     .is_required = true},
};
const struct schema portfolio_schema = SCHEMA_OF("portfolio", "portfolio.", rows);

/* ---- reading --------------------------------------------------------------------------------- */

static const char *name_of(struct arena *arena, const char *path)
{
    static const char suffix[] = ".yaml";
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(name);
    const size_t end = sizeof suffix - 1;
    const bool is_yaml = length > end && strcmp(name + length - end, suffix) == 0;
    return arena_printf(arena, "%.*s", (int)(is_yaml ? length - end : length), name);
}

static bool check_job(struct arena *arena, struct portfolio_job *job, struct doc_map *map)
{
    const struct doc_node *weight = doc_find(map->node, "weight");
    if (weight != NULL && !(job->weight > 0)) {
        diag_add(map->diag, DIAG_INPUT, &weight->place, "a weight must be above 0");
        diag_help(map->diag, "leave the scenario out, or write its share of the site's GPU-hours, "
                             "like 20 %%");
        map->is_bad = true;
    }
    if (job->file != NULL && job->file->kind != DOC_SCALAR) {
        diag_add(map->diag, DIAG_INPUT, &job->file->place, "a portfolio's scenario is a path");
        diag_help(map->diag, "write it like scenario: dense.yaml");
        map->is_bad = true;
    } else if (job->file != NULL && job->name[0] == '\0') {
        job->name = name_of(arena, job->file->text);
    }
    return doc_finish(map);
}

static bool read_job(const struct schema_reader *reader, const struct doc_node *entry,
                     struct portfolio_job *job)
{
    struct doc_map map;
    *job = (struct portfolio_job){.name = "", .weight = 1, .place = entry->place};
    if (!doc_map_open(&map, entry, reader->map->diag)) {
        return false;
    }
    schema_read(&portfolio_job_keys, &map, job, reader->assumptions);
    return check_job(reader->assumptions->arena, job, &map);
}

static bool check_names(const struct portfolio *portfolio, struct diag *diag)
{
    for (uint32_t i = 0; i < portfolio->job_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(portfolio->jobs[i].name, portfolio->jobs[k].name) == 0) {
                diag_add(diag, DIAG_INPUT, &portfolio->jobs[i].place,
                         "'%s' is in the portfolio twice", portfolio->jobs[i].name);
                diag_help(diag, "add its weights, or give both a name of their own");
                return false;
            }
        }
    }
    return true;
}

static void read_jobs(const struct schema_reader *reader, const struct schema_row *row)
{
    struct portfolio *portfolio = reader->object;
    struct doc_map *map = reader->map;
    if (!schema_require(reader, row)) {
        return;
    }
    const struct doc_node *list = doc_take(map, schema_key(row));
    const uint32_t count = list->kind == DOC_SEQUENCE ? doc_child_count(list) : 0;
    if (count == 0 || count > PORTFOLIO_JOBS_MAX) {
        diag_add(map->diag, DIAG_INPUT, &list->place, "a portfolio must be a list of 1 to %d",
                 PORTFOLIO_JOBS_MAX);
        diag_help(map->diag, "write it like [{scenario: dense.yaml, weight: 60 %%}, {scenario: "
                             "moe.yaml, weight: 40 %%}]");
        map->is_bad = true;
        return;
    }
    portfolio->jobs = arena_array(reader->assumptions->arena, count, sizeof *portfolio->jobs);
    bool is_good = true;
    for (const struct doc_node *entry = list->child; entry != NULL; entry = entry->next) {
        is_good = read_job(reader, entry, &portfolio->jobs[portfolio->job_count++]) && is_good;
    }
    is_good = is_good && check_names(portfolio, map->diag);
    map->is_bad = map->is_bad || !is_good;
}

/* ---- documents ------------------------------------------------------------------------------- */

/* The scenario with the portfolio's keys in place of its own. */
static bool put_keys(struct arena *arena, const struct doc_node *portfolio,
                     struct doc_node *document, struct diag *diag)
{
    static const char *const studies[] = {"sweep", "variants", "require"};
    static const char *const machines[] = {"cluster", "gpu", "library"};
    static const char *const keys[] = {"cluster", "sweep", "variants", "defaults"};
    const bool has_cluster = doc_find(portfolio, "cluster") != NULL;
    for (size_t i = 0; i < 3; i++) {
        doc_drop(document, studies[i]);
        if (has_cluster) {
            doc_drop(document, machines[i]);
        }
    }
    const bool has_own_house = doc_find(document, "defaults") != NULL;
    for (size_t i = 0; i < (has_own_house ? 3u : 4u); i++) {
        const struct doc_node *value = doc_find(portfolio, keys[i]);
        if (value != NULL && !doc_put(arena, document, keys[i], value, diag)) {
            return false;
        }
    }
    return true;
}

static bool load_job(struct arena *arena, const struct doc_node *portfolio,
                     const struct catalogue *catalogue, struct portfolio_job *job,
                     struct diag *diag)
{
    const char *path = catalogue_path_beside(arena, catalogue, &job->file->place, job->file->text);
    if (!doc_files_exist(catalogue->files, path)) {
        diag_add(diag, DIAG_INPUT, &job->file->place, "there is no file '%s'", job->file->text);
        diag_help(diag, "a scenario is looked for beside this file, then in the current directory");
        return false;
    }
    struct doc_node *document = scenario_load_document(arena, path, diag);
    if (document == NULL) {
        return false;
    }
    document = doc_copy(arena, document);
    if (document->kind == DOC_MAPPING && !put_keys(arena, portfolio, document, diag)) {
        return false;
    }
    job->document = document;
    return true;
}

bool portfolio_read(struct arena *arena, const struct doc_node *document,
                    const struct catalogue *catalogue, struct portfolio *portfolio,
                    struct diag *diag)
{
    struct assumptions unused;
    assumptions_init(&unused, arena);
    *portfolio = (struct portfolio){.title = "", .lose_place = document->place};
    if (!schema_read_document(&portfolio_schema, document, portfolio, &unused, diag)) {
        return false;
    }
    const struct doc_node *lose = doc_find(document, "lose");
    portfolio->lose_place = lose != NULL ? lose->place : document->place;
    if (portfolio->title[0] == '\0') {
        portfolio->title = document->place.file != NULL ? document->place.file : "a portfolio";
    }
    bool is_good = true;
    for (uint32_t i = 0; i < portfolio->job_count; i++) {
        is_good = load_job(arena, document, catalogue, &portfolio->jobs[i], diag) && is_good;
    }
    return is_good;
}
