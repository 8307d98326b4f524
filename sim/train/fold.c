/* Folds a system into one that has a single actor for each class of actors
 * that cannot be told apart. The graph that is refined (plan/symmetry) has
 * these nodes, in this order: actors, channels, tight links.
 */
#include "train/fold.h"

#include "base/arena.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/wide.h"
#include "des/fluid.h"
#include "plan/symmetry.h"

/* Labels of crossings lie above every stream number, and room is left for doubling them. */
#define LABEL_CROSSING 0x4000000000000000ull
#define LABEL_PATH_SHIFT 48
#define USAGE_MAX (1ull << LABEL_PATH_SHIFT)

struct folder {
    struct arena *arena;
    const struct engine_system *full;
    const struct fold_orbits *orbits; /* NULL: each of the system's parts is one */
    int64_t *sizes;                   /* per class: real actors, channels or links */
    uint32_t *tight_number; /* per link: its number among the tight ones, or ENGINE_NONE */
    uint32_t *tight_links;  /* the links that can be tight */
    uint32_t tight_count;
    struct symmetry_classes classes;
    /* Classes renumbered within each kind of node. */
    uint32_t *number; /* per class: its number among actors, channels or links */
    uint32_t actor_classes, channel_classes, link_classes;
    uint32_t *link_first; /* per link: where its crossings begin in link_crossings */
    struct link_crossing {
        uint32_t channel;
        uint32_t path; /* of the channel */
        uint64_t usage;
    } * link_crossings;
    /* Scratch: where a class of actors, or links, stands in the list that is being made, if it
     * does: what is read there says so. */
    uint32_t *actor_place, *link_place;
};

/* ---- which links can be tight ------------------------------------------------------- */

/* How a crossing stands for real ones. */
static struct fold_crossing crossing_of(const struct folder *folder, uint32_t number)
{
    const struct engine_crossing *crossing = &folder->full->crossings[number];
    return folder->orbits != NULL ? folder->orbits->crossings[number]
                                  : (struct fold_crossing){crossing->usage, 1, crossing->link};
}

/* What is counted while links are looked at channel by channel: of the paths of `channel` the
 * most across one real link. */
struct link_demand {
    uint128 largest;
    uint32_t channel;
};

/* Real links by numbers in the order in which crossings name them, from 1: there may be a thousand
 * times as many as are crossed. Returns how many that are. */
static uint32_t number_vias(const struct folder *folder, uint32_t *numbers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < folder->full->crossing_count; i++) {
        uint32_t *number = &numbers[crossing_of(folder, i).via];
        count += *number == 0 ? 1 : 0;
        *number = *number == 0 ? count : *number;
    }
    return count;
}

/* Per real link, as numbered. */
struct demands {
    const uint32_t *numbers;
    struct link_demand *of;
};

/* A channel's paths never carry at once: of those across one link the largest counts. */
static void add_demand(const struct folder *folder, uint32_t number, const struct demands *demands,
                       uint128 *all)
{
    const struct engine_system *full = folder->full;
    const struct engine_channel *channel = &full->channels[number];
    for (uint32_t k = 0; k < channel->path_count; k++) {
        const struct engine_path *path = &full->paths[channel->path_first + k];
        for (uint32_t i = 0; i < path->crossing_count; i++) {
            const struct engine_crossing *crossing = &full->crossings[path->crossing_first + i];
            const struct fold_crossing real = crossing_of(folder, path->crossing_first + i);
            struct link_demand *demand = &demands->of[demands->numbers[real.via] - 1];
            const uint128 wanted = (uint128)real.each * (uint128)path->cap_bytes_per_s;
            if (demand->channel != number + 1) {
                demand->channel = number + 1;
                demand->largest = 0;
            }
            if (wanted > demand->largest) {
                all[crossing->link] += crossing->usage / real.each * (wanted - demand->largest);
                demand->largest = wanted;
            }
        }
    }
}

static void find_tight_links(struct folder *folder)
{
    const struct engine_system *full = folder->full;
    const uint32_t vias = folder->orbits != NULL ? folder->orbits->via_count : full->link_count;
    struct arena *scratch = arena_new();
    uint32_t *numbers = arena_array(scratch, vias, sizeof *numbers);
    const uint32_t crossed = number_vias(folder, numbers);
    const struct demands demands = {numbers,
                                    arena_array(scratch, crossed, sizeof(struct link_demand))};
    uint128 *all = arena_array(scratch, full->link_count, sizeof *all);
    for (uint32_t c = 0; c < full->channel_count; c++) {
        add_demand(folder, c, &demands, all);
    }
    folder->tight_number =
        arena_array(folder->arena, full->link_count, sizeof *folder->tight_number);
    folder->tight_links = arena_array(folder->arena, full->link_count, sizeof *folder->tight_links);
    for (uint32_t l = 0; l < full->link_count; l++) {
        const uint128 capacity = (uint128)full->link_capacities[l] * FLUID_USAGE_ONE;
        folder->tight_number[l] = ENGINE_NONE;
        if (all[l] > capacity) {
            folder->tight_number[l] = folder->tight_count;
            folder->tight_links[folder->tight_count++] = l;
        }
    }
    arena_free(scratch);
}

/* ---- the graph ----------------------------------------------------------------------- */

static uint64_t hash_words(const uint64_t *words, size_t count)
{
    return rng_hash_bytes(words, count * sizeof *words, 0x73746f6b6572ull);
}

static void colour_nodes(const struct folder *folder, uint64_t *colours)
{
    const struct engine_system *full = folder->full;
    for (uint32_t i = 0; i < full->actor_count; i++) {
        const struct engine_actor *actor = &full->actors[i];
        const uint64_t words[] = {1, actor->job, actor->program, actor->speed};
        *colours++ = hash_words(words, 4);
    }
    for (uint32_t i = 0; i < full->channel_count; i++) {
        const struct engine_channel *channel = &full->channels[i];
        uint64_t colour = 2;
        for (uint32_t k = 0; k < channel->path_count; k++) {
            const uint64_t cap = (uint64_t)full->paths[channel->path_first + k].cap_bytes_per_s;
            colour = hash_words((const uint64_t[]){colour, cap}, 2);
        }
        const uint64_t words[] = {colour, channel->kind, channel->needed,
                                  (uint64_t)channel->latency_ns};
        *colours++ = hash_words(words, 4);
    }
    for (uint32_t i = 0; i < folder->tight_count; i++) {
        const uint64_t words[] = {3, (uint64_t)full->link_capacities[folder->tight_links[i]]};
        *colours++ = hash_words(words, 2);
    }
}

/* Edges under construction. */
struct edge_list {
    struct symmetry_edge *edges;
    struct symmetry_counts *counts;
    uint32_t count;
};

static void connect(struct edge_list *list, struct symmetry_edge edge,
                    struct symmetry_counts counts)
{
    list->counts[list->count] = counts;
    list->edges[list->count++] = edge;
}

/* From a channel to the tight links that one of its paths crosses. */
static void connect_path(const struct folder *folder, uint32_t channel, uint32_t path,
                         struct edge_list *list)
{
    const struct engine_system *full = folder->full;
    const struct engine_path *is = &full->paths[full->channels[channel].path_first + path];
    const uint32_t first_link = full->actor_count + full->channel_count;
    for (uint32_t i = 0; i < is->crossing_count; i++) {
        const struct engine_crossing *crossing = &full->crossings[is->crossing_first + i];
        const struct fold_crossing real = crossing_of(folder, is->crossing_first + i);
        const uint32_t tight = folder->tight_number[crossing->link];
        if (tight != ENGINE_NONE) {
            const uint64_t label = (uint64_t)path << LABEL_PATH_SHIFT | real.each;
            sim_assert(real.each < USAGE_MAX && path < (1u << 14));
            connect(list,
                    (struct symmetry_edge){full->actor_count + channel, first_link + tight,
                                           LABEL_CROSSING | label},
                    (struct symmetry_counts){real.links, (uint32_t)(crossing->usage / real.each)});
        }
    }
}

/* Over all paths: those that share their crossings each have them. */
static size_t count_crossings(const struct engine_system *full)
{
    size_t count = 0;
    for (uint32_t i = 0; i < full->path_count; i++) {
        count += full->paths[i].crossing_count;
    }
    return count;
}

static void connect_nodes(const struct folder *folder, struct edge_list *list)
{
    const struct engine_system *full = folder->full;
    const uint32_t first_channel = full->actor_count;
    for (uint32_t c = 0; c < full->channel_count; c++) {
        const struct engine_channel *channel = &full->channels[c];
        for (uint32_t i = 0; i < channel->member_count; i++) {
            const struct engine_member *member = &full->members[channel->member_first + i];
            connect(list, (struct symmetry_edge){member->actor, first_channel + c, member->stream},
                    (struct symmetry_counts){1, member->weight});
        }
        for (uint32_t k = 0; k < channel->path_count; k++) {
            connect_path(folder, c, k, list);
        }
    }
}

/* How many real ones a node of the graph stands for. */
static int64_t size_of(const struct folder *folder, uint32_t node)
{
    const struct engine_system *full = folder->full;
    if (node < full->actor_count) {
        return full->actors[node].multiplicity;
    }
    if (node - full->actor_count < full->channel_count) {
        return full->channels[node - full->actor_count].multiplicity;
    }
    const uint32_t tight = node - full->actor_count - full->channel_count;
    return folder->orbits != NULL ? folder->orbits->link_sizes[folder->tight_links[tight]] : 1;
}

static void find_classes(struct folder *folder)
{
    const struct engine_system *full = folder->full;
    const uint32_t nodes = full->actor_count + full->channel_count + folder->tight_count;
    uint64_t *colours = arena_array(folder->arena, nodes, sizeof *colours);
    const size_t edges = (size_t)full->member_count + count_crossings(full);
    struct edge_list list = {
        .edges = arena_array(folder->arena, edges, sizeof *list.edges),
        .counts = arena_array(folder->arena, edges, sizeof *list.counts),
    };
    colour_nodes(folder, colours);
    connect_nodes(folder, &list);
    const struct symmetry_graph graph = {nodes, list.count, colours, list.edges, list.counts};
    symmetry_refine(folder->arena, &graph, &folder->classes);
    folder->sizes = arena_array(folder->arena, folder->classes.count, sizeof *folder->sizes);
    for (uint32_t node = 0; node < nodes; node++) {
        folder->sizes[folder->classes.class_of[node]] += size_of(folder, node);
    }
    folder->number = arena_array(folder->arena, folder->classes.count, sizeof *folder->number);
    for (uint32_t k = 0; k < folder->classes.count; k++) {
        const uint32_t node = folder->classes.first[k];
        uint32_t *counter = node < full->actor_count ? &folder->actor_classes
                            : node < full->actor_count + full->channel_count
                                ? &folder->channel_classes
                                : &folder->link_classes;
        folder->number[k] = (*counter)++;
    }
}

static uint32_t class_of_actor(const struct folder *folder, uint32_t actor)
{
    return folder->number[folder->classes.class_of[actor]];
}

static uint32_t class_of_channel(const struct folder *folder, uint32_t channel)
{
    return folder->number[folder->classes.class_of[folder->full->actor_count + channel]];
}

static uint32_t class_of_link(const struct folder *folder, uint32_t tight)
{
    const uint32_t first = folder->full->actor_count + folder->full->channel_count;
    return folder->number[folder->classes.class_of[first + tight]];
}

/* ---- the quotient ----------------------------------------------------------------------- */

/* For each tight link, the paths that cross it. */
static void index_link_crossings(struct folder *folder)
{
    const struct engine_system *full = folder->full;
    folder->link_first =
        arena_array(folder->arena, folder->tight_count + 2u, sizeof *folder->link_first);
    folder->link_crossings =
        arena_array(folder->arena, count_crossings(full), sizeof *folder->link_crossings);
    uint32_t *cursor = folder->link_first + 1;
    for (uint32_t k = 0; k < full->path_count; k++) {
        const struct engine_path *path = &full->paths[k];
        for (uint32_t i = 0; i < path->crossing_count; i++) {
            const uint32_t link = full->crossings[path->crossing_first + i].link;
            const uint32_t tight = folder->tight_number[link];
            if (tight != ENGINE_NONE) {
                cursor[tight + 1]++;
            }
        }
    }
    for (uint32_t l = 0; l < folder->tight_count; l++) {
        cursor[l + 1] += cursor[l];
    }
    for (uint32_t c = 0; c < full->channel_count; c++) {
        const struct engine_channel *channel = &full->channels[c];
        for (uint32_t k = 0; k < channel->path_count; k++) {
            const struct engine_path *path = &full->paths[channel->path_first + k];
            for (uint32_t i = 0; i < path->crossing_count; i++) {
                const struct engine_crossing *crossing = &full->crossings[path->crossing_first + i];
                const uint32_t tight = folder->tight_number[crossing->link];
                if (tight != ENGINE_NONE) {
                    folder->link_crossings[cursor[tight]++] =
                        (struct link_crossing){c, k, crossing->usage};
                }
            }
        }
    }
}

static void fold_actors(const struct folder *folder, struct engine_system *out)
{
    const struct engine_system *full = folder->full;
    struct engine_actor *actors = arena_array(folder->arena, folder->actor_classes, sizeof *actors);
    for (uint32_t k = 0; k < folder->classes.count; k++) {
        const uint32_t node = folder->classes.first[k];
        if (node >= full->actor_count) {
            break; /* classes are numbered by their first node: actors come first */
        }
        struct engine_actor *actor = &actors[folder->number[k]];
        *actor = full->actors[node];
        actor->multiplicity = folder->sizes[k];
        for (uint32_t s = 0; s < ENGINE_STREAMS_MAX; s++) {
            if (actor->channels[s] != ENGINE_NONE) {
                actor->channels[s] = class_of_channel(folder, actor->channels[s]);
            }
        }
    }
    out->actors = actors;
    out->actor_count = folder->actor_classes;
}

static void fold_links(const struct folder *folder, struct engine_system *out)
{
    int64_t *capacities = arena_array(folder->arena, folder->link_classes, sizeof *capacities);
    for (uint32_t i = folder->tight_count; i-- > 0;) {
        const uint32_t number = class_of_link(folder, i);
        capacities[number] = folder->full->link_capacities[folder->tight_links[i]];
    }
    out->link_capacities = capacities;
    out->link_count = folder->link_classes;
}

/* Where (class, stream) stands among the first `count`; else `count`. On a channel an actor nearly
 * always has one stream, so that the class's place is it. */
static uint32_t place_of_member(const struct folder *folder, uint32_t actor, uint32_t stream,
                                const struct engine_member *members, uint32_t count)
{
    const uint32_t last = folder->actor_place[actor];
    if (last >= count || members[last].actor != actor) {
        return count;
    }
    uint32_t at = members[last].stream == stream ? last : 0;
    while (at < count && (members[at].actor != actor || members[at].stream != stream)) {
        at++;
    }
    return at;
}

/* The members of one real channel, grouped by (class, stream). */
static uint32_t fold_members(const struct folder *folder, const struct engine_channel *channel,
                             struct engine_member *members)
{
    const struct engine_system *full = folder->full;
    uint32_t count = 0;
    for (uint32_t i = 0; i < channel->member_count; i++) {
        const struct engine_member *member = &full->members[channel->member_first + i];
        const uint32_t actor = class_of_actor(folder, member->actor);
        const uint32_t at = place_of_member(folder, actor, member->stream, members, count);
        if (at == count) {
            folder->actor_place[actor] = at;
            members[count++] = (struct engine_member){actor, member->stream, 0};
        }
        members[at].weight += member->weight;
    }
    return count;
}

/* What the paths number `path` of all channels of class `number` use of one link. */
static uint64_t folded_usage(const struct folder *folder, uint32_t tight, uint32_t number,
                             uint32_t path)
{
    uint64_t usage = 0;
    for (uint32_t i = folder->link_first[tight]; i < folder->link_first[tight + 1]; i++) {
        const struct link_crossing *crossing = &folder->link_crossings[i];
        if (crossing->path == path && class_of_channel(folder, crossing->channel) == number) {
            usage += crossing->usage;
        }
    }
    return usage;
}

static uint32_t fold_crossings(const struct folder *folder, const struct engine_path *path,
                               uint32_t number, uint32_t path_number,
                               struct engine_crossing *crossings)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        const uint32_t link = folder->full->crossings[path->crossing_first + i].link;
        const uint32_t tight = folder->tight_number[link];
        if (tight == ENGINE_NONE) {
            continue;
        }
        const uint32_t link_class = class_of_link(folder, tight);
        const uint32_t at = folder->link_place[link_class];
        if (at >= count || crossings[at].link != link_class) {
            folder->link_place[link_class] = count;
            crossings[count++] = (struct engine_crossing){
                link_class, folded_usage(folder, tight, number, path_number)};
        }
    }
    return count;
}

/* Arrays of the quotient under construction, large enough for the first channel of each class. */
struct quotient {
    struct engine_channel *channels;
    struct engine_path *paths;
    struct engine_member *members;
    struct engine_crossing *crossings;
    uint32_t path_count, member_count, crossing_count;
};

static bool is_channel(const struct engine_system *full, uint32_t node)
{
    return node >= full->actor_count && node < full->actor_count + full->channel_count;
}

static void allocate_quotient(const struct folder *folder, struct quotient *quotient)
{
    const struct engine_system *full = folder->full;
    uint32_t members = 0;
    uint32_t paths = 0;
    uint32_t crossings = 0;
    for (uint32_t k = 0; k < folder->classes.count; k++) {
        const uint32_t node = folder->classes.first[k];
        if (is_channel(full, node)) {
            const struct engine_channel *channel = &full->channels[node - full->actor_count];
            members += channel->member_count;
            paths += channel->path_count;
            for (uint32_t i = 0; i < channel->path_count; i++) {
                crossings += full->paths[channel->path_first + i].crossing_count;
            }
        }
    }
    *quotient = (struct quotient){
        .channels = arena_array(folder->arena, folder->channel_classes, sizeof *quotient->channels),
        .paths = arena_array(folder->arena, paths, sizeof *quotient->paths),
        .members = arena_array(folder->arena, members, sizeof *quotient->members),
        .crossings = arena_array(folder->arena, crossings, sizeof *quotient->crossings)};
}

static void fold_channel(const struct folder *folder, const struct engine_channel *original,
                         uint32_t number, struct quotient *quotient)
{
    struct engine_channel *channel = &quotient->channels[number];
    channel->member_first = quotient->member_count;
    channel->member_count =
        fold_members(folder, original, quotient->members + quotient->member_count);
    quotient->member_count += channel->member_count;
    channel->path_first = quotient->path_count;
    for (uint32_t i = 0; i < original->path_count; i++) {
        const struct engine_path *from = &folder->full->paths[original->path_first + i];
        struct engine_path *path = &quotient->paths[quotient->path_count++];
        *path = *from;
        path->crossing_first = quotient->crossing_count;
        path->crossing_count =
            fold_crossings(folder, from, number, i, quotient->crossings + quotient->crossing_count);
        quotient->crossing_count += path->crossing_count;
    }
}

static void fold_channels(struct folder *folder, struct engine_system *out)
{
    const struct engine_system *full = folder->full;
    struct quotient quotient;
    allocate_quotient(folder, &quotient);
    folder->actor_place =
        arena_array(folder->arena, folder->actor_classes, sizeof *folder->actor_place);
    folder->link_place =
        arena_array(folder->arena, folder->link_classes, sizeof *folder->link_place);
    for (uint32_t k = 0; k < folder->classes.count; k++) {
        const uint32_t node = folder->classes.first[k];
        if (!is_channel(full, node)) {
            continue;
        }
        const struct engine_channel *original = &full->channels[node - full->actor_count];
        const uint32_t number = folder->number[k];
        quotient.channels[number] = *original;
        quotient.channels[number].multiplicity = folder->sizes[k];
        fold_channel(folder, original, number, &quotient);
    }
    out->channels = quotient.channels;
    out->channel_count = folder->channel_classes;
    out->paths = quotient.paths;
    out->path_count = quotient.path_count;
    out->members = quotient.members;
    out->member_count = quotient.member_count;
    out->crossings = quotient.crossings;
    out->crossing_count = quotient.crossing_count;
}

static const uint32_t *list_actor_classes(struct arena *arena, const struct folder *folder)
{
    uint32_t *actor_class = arena_array(arena, folder->full->actor_count, sizeof *actor_class);
    for (uint32_t i = 0; i < folder->full->actor_count; i++) {
        actor_class[i] = class_of_actor(folder, i);
    }
    return actor_class;
}

struct folded_system *fold_system(struct arena *arena, const struct engine_system *full)
{
    return fold_orbits(arena, full, NULL);
}

struct folded_system *fold_orbits(struct arena *arena, const struct engine_system *full,
                                  const struct fold_orbits *orbits)
{
    struct folder *folder = arena_alloc(arena, sizeof *folder);
    struct folded_system *folded = arena_alloc(arena, sizeof *folded);
    folder->arena = arena;
    folder->full = full;
    folder->orbits = orbits;
    find_tight_links(folder);
    find_classes(folder);
    index_link_crossings(folder);
    folded->engine = *full;
    folded->engine.classes = NULL; /* of actors that are no more */
    fold_actors(folder, &folded->engine);
    fold_links(folder, &folded->engine);
    fold_channels(folder, &folded->engine);
    folded->actor_class = list_actor_classes(arena, folder);
    return folded;
}

const uint32_t *fold_classes(struct arena *arena, const struct engine_system *full)
{
    struct folder folder = {.arena = arena_new(), .full = full};
    find_tight_links(&folder);
    find_classes(&folder);
    const uint32_t *classes = list_actor_classes(arena, &folder);
    arena_free(folder.arena);
    return classes;
}
