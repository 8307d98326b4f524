/* Each rank's routes are traced once, and what they put on each link is added up, stage by stage:
 * the links of a stage are few, and are emptied again before the next.
 */
#include "train/bound/border.h"

#include "base/arena.h"
#include "plan/mesh.h"
#include "train/bound/alone.h"

#include <math.h>

/* What stages put on links, while they are looked at. */
struct border_loads {
    double *ns[BORDER_WAYS]; /* per link */
    uint32_t *links;         /* those that are not empty, `count` of them */
    uint32_t count;
    double nic_bytes[BORDER_WAYS]; /* out of all NICs */
    uint32_t *ranks_in;            /* of the stage, per scale-up domain */
};

struct border_finder {
    const struct alone_messages *messages;
    struct border_loads loads;
    struct border *border;
};

static struct border border_new(struct arena *arena, uint32_t stages)
{
    struct border border;
    for (uint32_t way = 0; way < BORDER_WAYS; way++) {
        border.leaving_ns[way] = arena_array(arena, stages, sizeof(int64_t));
        border.latency_ns[way] = arena_array(arena, stages, sizeof(int64_t));
        border.shared_ns[way] = arena_array(arena, stages, sizeof(int64_t));
        border.nic_ns[way] = arena_array(arena, stages, sizeof(int64_t));
    }
    border.has_nics = arena_array(arena, stages, sizeof *border.has_nics);
    return border;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void add_load(struct border_loads *loads, uint32_t link, enum border_way way, double ns)
{
    if (loads->ns[BORDER_BACK][link] <= 0 && loads->ns[BORDER_AHEAD][link] <= 0) {
        loads->links[loads->count++] = link;
    }
    loads->ns[way][link] += ns;
}

/* A rank's message. */
static void add_message(struct border_finder *finder, uint32_t stage, uint32_t place,
                        enum border_way way)
{
    struct step_system *system = finder->messages->system;
    const struct system_job *job = &system->jobs[0];
    struct fabric *fabric = &system->fabric;
    const uint32_t stages = (uint32_t)job->mesh.pp;
    const uint32_t to = (stage + (way == BORDER_AHEAD ? 1 : stages - 1)) % stages;
    const double bytes = finder->messages->bytes[way];
    struct fabric_route route;
    fabric_trace_begin(fabric);
    fabric_trace_send(fabric, system_gpu_of(job, mesh_stage_rank(&job->mesh, stage, place)),
                      system_gpu_of(job, mesh_stage_rank(&job->mesh, to, place)), FLUID_USAGE_ONE);
    fabric_trace_end(fabric, &route);
    const double leaving_ns = bytes / (double)route.cap_bytes_per_s * 1e9;
    const double latency_ns = fabric_message_s(fabric, &route, NULL) * 1e9;
    int64_t *least_ns = &finder->border->leaving_ns[way][stage];
    *least_ns = smaller(*least_ns, (int64_t)alone_shorter(leaving_ns));
    least_ns = &finder->border->latency_ns[way][stage];
    *least_ns = smaller(*least_ns, (int64_t)alone_shorter(latency_ns));
    for (uint32_t i = 0; i < route.count; i++) {
        const struct fabric_crossing *crossing = &route.crossings[i];
        const double usage = (double)crossing->usage / FLUID_USAGE_ONE;
        const double capacity = (double)fabric_link_capacity(fabric, crossing->link);
        add_load(&finder->loads, crossing->link, way, bytes * usage / capacity * 1e9);
        if (fabric_link_kind(fabric, crossing->link) == LINK_NIC_OUT) {
            finder->loads.nic_bytes[way] += bytes * usage;
        }
    }
}

/* The link that carries most of a stage's, and what of it goes either way. */
static void find_fullest(struct border_finder *finder, uint32_t stage)
{
    struct border_loads *loads = &finder->loads;
    double most_ns = 0;
    for (uint32_t i = 0; i < loads->count; i++) {
        const uint32_t link = loads->links[i];
        const double ns[BORDER_WAYS] = {loads->ns[BORDER_BACK][link],
                                        loads->ns[BORDER_AHEAD][link]};
        loads->ns[BORDER_BACK][link] = loads->ns[BORDER_AHEAD][link] = 0;
        if (ns[BORDER_BACK] + ns[BORDER_AHEAD] > most_ns) {
            most_ns = ns[BORDER_BACK] + ns[BORDER_AHEAD];
            for (uint32_t way = 0; way < BORDER_WAYS; way++) {
                finder->border->shared_ns[way][stage] = (int64_t)alone_shorter(ns[way]);
            }
        }
    }
    loads->count = 0;
}

/* Whether all GPUs of the domains in which ranks of the stage lie are the stage's. */
static bool has_domains(struct border_finder *finder, uint32_t stage)
{
    const struct system_job *job = &finder->messages->system->jobs[0];
    const struct fabric *fabric = &finder->messages->system->fabric;
    const uint32_t ranks = mesh_stage_size(&job->mesh);
    uint32_t *ranks_in = finder->loads.ranks_in;
    for (uint32_t place = 0; place < ranks; place++) {
        ranks_in[fabric_domain_of(fabric,
                                  system_gpu_of(job, mesh_stage_rank(&job->mesh, stage, place)))]++;
    }
    bool are_whole = true;
    for (uint32_t i = 0; i < fabric->domains; i++) {
        are_whole =
            are_whole && (ranks_in[i] == 0 || ranks_in[i] * fabric->domains == fabric->gpus);
        ranks_in[i] = 0;
    }
    return are_whole;
}

static void find_nics(struct border_finder *finder, uint32_t stage)
{
    const struct fabric *fabric = &finder->messages->system->fabric;
    const double ranks = mesh_stage_size(&finder->messages->system->jobs[0].mesh);
    const double byte_ns = border_nic_byte_ns(fabric) / ranks;
    finder->border->has_nics[stage] = has_domains(finder, stage);
    for (uint32_t way = 0; way < BORDER_WAYS; way++) {
        const double ns = finder->loads.nic_bytes[way] * byte_ns;
        finder->loads.nic_bytes[way] = 0;
        if (finder->border->has_nics[stage]) {
            finder->border->nic_ns[way][stage] = (int64_t)alone_shorter(ns);
        }
    }
}

double border_nic_byte_ns(const struct fabric *fabric)
{
    const double gpus = (double)fabric->cluster->gpus_per_node / fabric->ports_per_node;
    return gpus * 1e9 / (double)fabric_usual_capacity(fabric, fabric->first[LINK_NIC_OUT]);
}

struct border border_of(struct arena *arena, struct alone *alone)
{
    const struct alone_messages messages = alone_messages_of(alone);
    const struct mesh *mesh = &messages.system->jobs[0].mesh;
    const uint32_t stages = (uint32_t)mesh->pp;
    struct border border = border_new(arena, stages);
    if (!messages.are_regular) {
        return border;
    }
    struct arena *own = arena_new();
    const uint32_t links = messages.system->fabric.link_count;
    struct border_finder finder = {.messages = &messages,
                                   .border = &border,
                                   .loads = {.links = arena_array(own, links, sizeof(uint32_t))}};
    finder.loads.ranks_in = arena_array(own, messages.system->fabric.domains, sizeof(uint32_t));
    for (uint32_t way = 0; way < BORDER_WAYS; way++) {
        finder.loads.ns[way] = arena_array(own, links, sizeof(double));
    }
    for (uint32_t stage = 0; stage < stages; stage++) {
        for (uint32_t way = 0; way < BORDER_WAYS; way++) {
            border.leaving_ns[way][stage] = border.latency_ns[way][stage] = INT64_MAX;
            for (uint32_t place = 0; place < mesh_stage_size(mesh); place++) {
                add_message(&finder, stage, place, (enum border_way)way);
            }
        }
        find_fullest(&finder, stage);
        find_nics(&finder, stage);
    }
    arena_free(own);
    return border;
}
