/* What was named is put together as a small document, as if it had been a scenario's, and is read
 * by the ordinary readers; so the messages and `--set` are the same.
 */
#include "train/fabric_setting.h"

#include "base/arena.h"
#include "base/units.h"
#include "input/network/nic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the tree of what was named is put together: {cluster: .., gpu: .., library: ..}. */
struct assembly {
    struct arena *arena;
    const struct fabric_request *request;
    struct diag *diag;
    struct doc_node *root;
};

static void put(struct assembly *assembly, const char *key, struct doc_node *mapping)
{
    struct doc_node **link = &assembly->root->child;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    mapping->key = key;
    mapping->key_place = mapping->place;
    mapping->next = NULL;
    *link = mapping;
}

static bool put_file(struct assembly *assembly, enum catalogue_kind kind,
                     const struct doc_node *reference)
{
    const struct catalogue *catalogue = assembly->request->catalogue;
    struct doc_node *mapping =
        kind == CATALOGUE_LIBRARY
            ? library_open(assembly->arena, catalogue, reference, assembly->diag)
            : catalogue_open(assembly->arena, catalogue, kind, reference, assembly->diag);
    if (mapping != NULL) {
        put(assembly, catalogue_keys[kind], mapping);
    }
    return mapping != NULL;
}

static bool apply_sets(const struct assembly *assembly, const char *prefix)
{
    const struct fabric_request *request = assembly->request;
    bool is_good = true;
    for (uint32_t i = 0; i < request->set_count; i++) {
        if (strncmp(request->sets[i], prefix, strlen(prefix)) == 0) {
            is_good = doc_set(assembly->arena, assembly->root, request->sets[i], assembly->diag) &&
                      is_good;
        }
    }
    return is_good;
}

/* Sets that change nothing here would be missed in silence. */
static bool check_sets(const struct fabric_request *request, struct diag *diag)
{
    for (uint32_t i = 0; i < request->set_count; i++) {
        const char *set = request->sets[i];
        if (strncmp(set, "cluster.", 8) != 0 && strncmp(set, "gpu.", 4) != 0 &&
            strncmp(set, "library.", 8) != 0 && strncmp(set, "seed=", 5) != 0) {
            diag_add(diag, DIAG_USAGE, NULL, "--set %s: nothing of that name here", set);
            diag_help(diag, "set cluster.KEY, gpu.KEY or library.KEY");
            return false;
        }
    }
    return true;
}

static const struct doc_node *reference_of(struct arena *arena, const struct doc_node *found,
                                           const char *by_default)
{
    if (found != NULL || by_default == NULL) {
        return found;
    }
    struct doc_node *node = arena_alloc(arena, sizeof *node);
    *node = (struct doc_node){.kind = DOC_SCALAR, .text = by_default};
    return node;
}

static bool assemble(struct assembly *assembly)
{
    const struct fabric_request *request = assembly->request;
    struct arena *arena = assembly->arena;
    struct diag *diag = assembly->diag;
    assembly->root = arena_alloc(arena, sizeof *assembly->root);
    assembly->root->kind = DOC_MAPPING;
    const struct doc_node *cluster = reference_of(arena, NULL, request->cluster);
    if (!put_file(assembly, CATALOGUE_CLUSTER, cluster) || !apply_sets(assembly, "cluster.")) {
        return false;
    }
    if (!nic_settle(arena, request->catalogue, doc_find(assembly->root, "cluster"), diag)) {
        return false;
    }
    cluster = doc_find(assembly->root, "cluster");
    const struct doc_node *gpu = doc_find(cluster, "gpu");
    if (gpu == NULL) {
        diag_add(diag, DIAG_INPUT, &cluster->place, "the cluster names no gpu");
        diag_help(diag, "add --set cluster.gpu=NAME");
        return false;
    }
    const struct doc_node *library = doc_find(cluster, "collectives.library");
    if (request->library != NULL) {
        library = reference_of(arena, NULL, request->library);
    }
    return put_file(assembly, CATALOGUE_GPU, gpu) && apply_sets(assembly, "gpu.") &&
           put_file(assembly, CATALOGUE_LIBRARY, reference_of(arena, library, LIBRARY_DEFAULT)) &&
           apply_sets(assembly, "library.");
}

static bool read_seed(const struct fabric_request *request, uint64_t *seed, struct diag *diag)
{
    *seed = 42;
    for (uint32_t i = 0; i < request->set_count; i++) {
        if (strncmp(request->sets[i], "seed=", 5) == 0) {
            const char *text = request->sets[i] + 5;
            char *end = NULL;
            *seed = strtoull(text, &end, 10);
            if (text[0] < '0' || text[0] > '9' || *end != '\0' || *seed < 1 || *seed > UINT32_MAX) {
                return diag_add(diag, DIAG_INPUT, NULL, "--set %s: a whole number from 1 to %u",
                                request->sets[i], UINT32_MAX);
            }
        }
    }
    return true;
}

static bool read_all(const struct assembly *assembly, struct fabric_setting *setting)
{
    struct diag *diag = assembly->diag;
    struct assumptions assumptions;
    assumptions_init(&assumptions, assembly->arena);
    const struct doc_node *root = assembly->root;
    return cluster_read(doc_find(root, "cluster"), &setting->cluster, &assumptions, diag) &&
           gpu_read(doc_find(root, "gpu"), &setting->gpu, &assumptions, diag) &&
           library_read(doc_find(root, "library"), &setting->library, &assumptions, diag) &&
           collectives_check(&setting->library, setting->gpu.architecture, diag);
}

/* A group larger than the cluster, or than a rail joins. */
static bool check_gpus(const struct cluster *cluster, int64_t gpus, struct diag *diag)
{
    const int64_t nodes = cluster_nodes_max(cluster);
    const int64_t needed = (gpus + cluster->gpus_per_node - 1) / cluster->gpus_per_node;
    if (nodes == 0 || needed <= nodes) {
        return true;
    }
    diag_add(diag, DIAG_INFEASIBLE, &cluster->place,
             cluster->fabric_kind == FABRIC_RAIL_ONLY
                 ? "%lld GPUs cannot all reach each other: a rail of cluster %s joins %lld nodes"
                 : "%lld GPUs are more than cluster %s has: %lld nodes",
             (long long)gpus, cluster->name, (long long)nodes);
    diag_help(diag, "--gpus may be at most %lld", (long long)(nodes * cluster->gpus_per_node));
    return false;
}

bool fabric_setting_open(struct arena *arena, const struct fabric_request *request,
                         struct fabric_setting *setting, struct diag *diag)
{
    struct assembly assembly = {.arena = arena, .request = request, .diag = diag};
    uint64_t seed = 0;
    if (!check_sets(request, diag) || !read_seed(request, &seed, diag) || !assemble(&assembly) ||
        !read_all(&assembly, setting) || !check_gpus(&setting->cluster, request->gpus, diag)) {
        return false;
    }
    fabric_init(&setting->fabric, arena, &setting->cluster, &setting->gpu, (uint32_t)request->gpus,
                seed);
    setting->transfer = (struct transfer_setting){.arena = arena,
                                                  .fabric = &setting->fabric,
                                                  .library = &setting->library,
                                                  .architecture = setting->gpu.architecture};
    uint32_t *gpus = arena_array(arena, (size_t)request->gpus, sizeof *gpus);
    for (uint32_t i = 0; i < request->gpus; i++) {
        gpus[i] = i;
    }
    group_shape_init(&setting->transfer, gpus, (uint32_t)request->gpus, &setting->group);
    setting->group.forced = request->forced;
    return true;
}

/* A send is from the first GPU to the last. */
void fabric_setting_take_ends(struct fabric_setting *setting, int64_t gpus)
{
    const struct collective_choice forced = setting->group.forced;
    uint32_t *ends = arena_array(setting->transfer.arena, 2, sizeof *ends);
    ends[0] = 0;
    ends[1] = (uint32_t)gpus - 1;
    group_shape_init(&setting->transfer, ends, 2, &setting->group);
    setting->group.forced = forced;
}

/* ---- one size ---- */

enum { PIECES = 64 /* of pipelined algorithms, as single messages */ };

/* As the library runs what was quoted. Phases that follow one another have each a kind of link, and
 * what it reaches of it; what is all one phase has one pace on all its links. */
static struct single_sends_options sends_options(const struct transfer_quote *quote)
{
    struct single_sends_options options = {
        .has_latency = true,
        .latency_intra_ns = sim_time_from_s(quote->round_intra_s),
        .latency_inter_ns = sim_time_from_s(quote->round_inter_s),
        .start_ns = sim_time_from_s(quote->start_s),
    };
    if (quote->algorithm == ALGORITHM_TREE) { /* see ASSUMES in single_sends.h */
        options.latency_intra_ns = options.latency_inter_ns = 0;
        options.start_ns = sim_time_from_s(quote->latency_s);
    }
    if (quote->phase_count == 1) {
        options.pace_ns = sim_time_from_s(quote->phases[0].bytes / quote->rates_bytes_per_s[0]);
        return options;
    }
    for (uint32_t i = 0; i < quote->phase_count; i++) {
        double *share =
            quote->phases[i].rounds_inter > 0 ? &options.share_inter : &options.share_intra;
        *share = quote->rates_bytes_per_s[i] / quote->caps_bytes_per_s[i];
    }
    return options;
}

void fabric_setting_predict(struct fabric_setting *setting, enum collective_operation operation,
                            double bytes, bool has_single_sends, struct collective_row *row)
{
    collective_run(&setting->transfer, &setting->group, operation, bytes, &row->outcome);
    const uint32_t bottleneck = row->outcome.quote.bottleneck;
    row->bytes = bytes;
    row->has_sends = false;
    row->algorithm = transfer_algorithm_name(&setting->group, row->outcome.quote.algorithm);
    row->bottleneck = bottleneck == ENGINE_NONE
                          ? NULL
                          : fabric_link_name(setting->transfer.arena, &setting->fabric, bottleneck);
    if (has_single_sends) {
        struct arena *arena = arena_new();
        const struct single_sends_options options = sends_options(&row->outcome.quote);
        const struct single_sends_work work = {
            .group = &setting->group.group,
            .gpus = setting->group.gpus,
            .operation = operation,
            .algorithm = row->outcome.quote.algorithm,
            .bytes = bytes,
            .pieces = PIECES,
        };
        row->has_sends =
            single_sends_run(arena, setting->transfer.fabric, &work, &options, &row->sends);
        arena_free(arena);
    }
}

static const double TIME_S_MAX = 1e8; /* simulated time would overflow some way above */

bool fabric_setting_check(const struct fabric_setting *setting, enum collective_operation operation,
                          const double *sizes, uint32_t count, struct diag *diag)
{
    double most = 0;
    for (uint32_t i = 0; i < count; i++) {
        most = sizes[i] > most ? sizes[i] : most;
    }
    struct transfer_quote quote;
    transfer_quote(&setting->transfer, &setting->group, operation, most, &quote);
    if (quote.time_s <= TIME_S_MAX) {
        return true;
    }
    diag_add(diag, DIAG_INFEASIBLE, NULL,
             "%.3g bytes would take %.3g s; up to %.3g s are simulated", most, quote.time_s,
             TIME_S_MAX);
    diag_help(diag, "look for a unit or a power of ten that is off");
    return false;
}

/* ---- sizes ------------------------------------------------------------------------- */

static const double SIZE_BYTES_MAX = 1e15;

static bool parse_size(const char *text, double *bytes, struct diag *diag)
{
    char message[160];
    const char *problem = message;
    if (units_parse(text, DIM_BYTES, bytes, message, sizeof message)) {
        if (*bytes >= 0 && *bytes <= SIZE_BYTES_MAX) {
            return true;
        }
        problem = *bytes < 0 ? "a size is not negative" : "a size is at most 1 PB";
    }
    diag_add(diag, DIAG_USAGE, NULL, "--sizes '%s': %s", text, problem);
    diag_help(diag, "write it like 1MiB..16GiB or 1MB,64MB");
    return false;
}

static bool add_size(struct collective_sizes *sizes, double bytes, struct diag *diag)
{
    if (sizes->count == COLLECTIVE_SIZES_MAX) {
        return diag_add(diag, DIAG_USAGE, NULL, "--sizes: more than %d sizes",
                        COLLECTIVE_SIZES_MAX);
    }
    sizes->bytes[sizes->count++] = bytes;
    return true;
}

static bool parse_range(struct arena *arena, const char *text, const char *dots,
                        struct collective_sizes *sizes, struct diag *diag)
{
    double first = 0;
    double last = 0;
    if (!parse_size(arena_printf(arena, "%.*s", (int)(dots - text), text), &first, diag) ||
        !parse_size(dots + 2, &last, diag)) {
        return false;
    }
    if (first < 1 || last < first) {
        diag_add(diag, DIAG_USAGE, NULL, "--sizes '%s': from at least 1 B up to no less", text);
        return false;
    }
    for (int doublings = 0; ldexp(first, doublings) <= last; doublings++) {
        if (!add_size(sizes, ldexp(first, doublings), diag)) {
            return false;
        }
    }
    return true;
}

bool collective_sizes_parse(struct arena *arena, const char *text, struct collective_sizes *sizes,
                            struct diag *diag)
{
    sizes->count = 0;
    double none = 0;
    if (*text == '\0') {
        return parse_size(text, &none, diag);
    }
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        const char *part = arena_printf(arena, "%.*s", (int)length, text);
        const char *dots = strstr(part, "..");
        double bytes = 0;
        if (dots != NULL ? !parse_range(arena, part, dots, sizes, diag)
                         : !parse_size(part, &bytes, diag) || !add_size(sizes, bytes, diag)) {
            return false;
        }
        text += length + (text[length] == ',');
    }
    return true;
}
