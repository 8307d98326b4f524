/* Which links can hold a transfer up. A link is slack, and none of the solver's business,
 *
 *   - if its capacity is at least the sum of usage * cap of all paths across it, of the paths of
 *     one channel only the largest; or
 *   - if what feeds it cannot bring more than its capacity. The uplink of a leaf switch that is not
 *     oversubscribed carries what comes through the ports of its nodes. So each path across a link
 *     is given another link that it crosses, its feeder, and those with one feeder count together
 *     as their caps do, but at most as the feeder's capacity (times usage here / usage there, the
 *     largest of theirs). Links are looked at one after the other; one that has been found fed
 *     feeds no other any more, for two may feed each other.
 *
 * Without the second kind all rates are what they were, to the byte. For let a link be fed, and l
 * be its level as fluid_solve.c defines it (1), where it is an equation: the least l with
 *
 *     sum over flows below l of usage * charge + l * sum over the others of usage * weight
 *         = capacity.
 *
 * The same sum, over those who have one feeder, is at most the feeder's capacity: it is less if the
 * feeder's own level is above l, by (1) of the feeder; if that is l, by its equation; if it is
 * below, since all flows across the feeder are, and their charges fit. Over those whose caps count
 * it is at most these, and less if l is below one of theirs. All together are at most the capacity
 * of the link, so they can only be equal to it if no feeder's level is above l and no such cap.
 * Then whoever has the level l has it by its feeder or its cap, too.
 *
 * The feeder of a path is the link whose capacity leaves least to each of the paths that it has in
 * common with this one: of an uplink the port by which they leave their node, which has more of
 * them than the port to which they go. Long paths, as rings have, that cross the link by many ports
 * are shared among their feeders, with a part of their usage each. Where these do not feed all of
 * them, others are tried (feeding_way): any choice will do that shows the link to be fed.
 *
 * Cost: O(crossings); of tight links that several channels cross, the crossings of their short
 * paths, and where these are fed, all paths of their feeders.
 */
#include "des/engine_state.h"

#include "base/arena.h"

enum { SHORT_PATH = 16 }; /* crossings */

/* While the paths of `channel` are looked at: the most that one of them takes of a link. */
struct link_demand {
    uint128 all;
    uint128 largest;
    uint32_t channel; /* + 1 */
    bool is_shared;   /* by several channels */
};

static const struct engine_crossing *crossings_of(const struct engine_system *system,
                                                  const struct engine_path *path)
{
    return path->crossing_count > 0 ? &system->crossings[path->crossing_first] : NULL;
}

static void add_demand(const struct engine_system *system, uint32_t number,
                       struct link_demand *demands)
{
    const struct engine_channel *channel = &system->channels[number];
    for (uint32_t k = 0; k < channel->path_count; k++) {
        const struct engine_path *path = &system->paths[channel->path_first + k];
        for (uint32_t i = 0; i < path->crossing_count; i++) {
            const struct engine_crossing *crossing = &crossings_of(system, path)[i];
            struct link_demand *demand = &demands[crossing->link];
            const uint128 wanted = (uint128)crossing->usage * (uint64_t)path->cap_bytes_per_s;
            if (demand->channel != number + 1) {
                demand->is_shared = demand->channel != 0;
                demand->channel = number + 1;
                demand->largest = 0;
            }
            if (wanted > demand->largest) {
                demand->all += wanted - demand->largest;
                demand->largest = wanted;
            }
        }
    }
}

static uint128 capacity_of(const struct engine_system *system, uint32_t link)
{
    return (uint128)(uint64_t)system->link_capacities[link] * FLUID_USAGE_ONE;
}

/* ---- paths of a link ------------------------------------------------------------------------ */

/* The paths across each link that several channels may fill: of link i from firsts[i] to
 * firsts[i + 1] - 1. */
struct crossed_by {
    uint32_t *firsts;
    uint32_t *paths;
    uint64_t *usages;
};

static struct crossed_by list_paths(struct arena *arena, const struct engine_system *system,
                                    const uint8_t *kinds)
{
    struct crossed_by by = {.firsts =
                                arena_array(arena, system->link_count + 2u, sizeof *by.firsts)};
    uint32_t *ends = by.firsts + 1;
    for (uint32_t p = 0; p < system->path_count; p++) {
        const struct engine_crossing *crossings = crossings_of(system, &system->paths[p]);
        for (uint32_t i = 0; i < system->paths[p].crossing_count; i++) {
            ends[crossings[i].link + 1] += kinds[crossings[i].link] == ENGINE_LINK_SHARED;
        }
    }
    for (uint32_t i = 0; i < system->link_count; i++) {
        ends[i + 1] += ends[i];
    }
    by.paths = arena_array(arena, ends[system->link_count] + 1u, sizeof *by.paths);
    by.usages = arena_array(arena, ends[system->link_count] + 1u, sizeof *by.usages);
    for (uint32_t p = 0; p < system->path_count; p++) {
        const struct engine_crossing *crossings = crossings_of(system, &system->paths[p]);
        for (uint32_t i = 0; i < system->paths[p].crossing_count; i++) {
            const uint32_t link = crossings[i].link;
            if (kinds[link] == ENGINE_LINK_SHARED) {
                by.paths[ends[link]] = p;
                by.usages[ends[link]++] = crossings[i].usage;
            }
        }
    }
    return by;
}

/* ---- what feeds a link ---------------------------------------------------------------------- */

/* What comes through one feeder. */
struct feed {
    uint32_t paths; /* of the link in question that cross it, the short ones */
    /* The largest quotient of the usages of paths that it feeds: here, and there. */
    uint64_t here, there; /* here: 0: it feeds none */
    uint128 wanted;       /* by these */
};

/* Which of the links that a short path crosses feeds it: what leaves least to each path, the first
 * or the last of several; or the narrowest link for each, whoever else crosses it. (Where the GPUs
 * of a stage are folded, a pod's uplink has the messages of all of them, and leaves less to each
 * than a port, yet of rings it has less than the leaf in question: it feeds but a part of them.) */
enum feeding_way { FEEDS_LEAST_FIRST, FEEDS_LEAST_LAST, FEEDS_NARROWEST, FEEDING_WAYS };

struct feeding {
    const struct engine_system *system;
    const struct crossed_by *by;
    const uint8_t *kinds;
    uint32_t link;
    struct feed *feeds; /* by link; zero but for those of `met` */
    uint32_t *met;      /* links that short paths cross, too */
    uint32_t met_count;
    uint64_t *left; /* by path, of the long ones: of its usage what nobody feeds yet */
    uint128 unfed;  /* wanted by paths, as far as nobody feeds them */
    enum feeding_way way;
};

static bool is_short(const struct engine_path *path)
{
    return path->crossing_count <= SHORT_PATH;
}

static void count_feeds(struct feeding *feeding, const struct engine_path *path)
{
    const struct engine_crossing *crossings = crossings_of(feeding->system, path);
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        const uint32_t link = crossings[i].link;
        if (link == feeding->link || feeding->kinds[link] == ENGINE_LINK_SLACK) {
            continue;
        }
        if (feeding->feeds[link].paths++ == 0) {
            feeding->met[feeding->met_count++] = link;
        }
    }
}

/* The crossing that leaves least, in that way, to each that has it in common with the link; NULL:
 * there is none. */
static const struct engine_crossing *feeder_of(const struct feeding *feeding,
                                               const struct engine_path *path)
{
    const struct engine_crossing *crossings = crossings_of(feeding->system, path);
    const struct engine_crossing *found = NULL;
    double least = 0;
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        const uint32_t paths = feeding->feeds[crossings[i].link].paths;
        const double capacity = (double)feeding->system->link_capacities[crossings[i].link];
        const bool is_narrowest = feeding->way == FEEDS_NARROWEST;
        const double usage = is_narrowest ? 1.0 : (double)crossings[i].usage;
        const double each = capacity / usage / paths;
        const bool is_last = feeding->way == FEEDS_LEAST_LAST && each <= least;
        if (paths > 0 && (found == NULL || each < least || is_last)) {
            found = &crossings[i];
            least = each;
        }
    }
    return found;
}

static void feed_short(struct feeding *feeding, const struct engine_path *path, uint64_t usage)
{
    const uint128 wanted = (uint128)usage * (uint64_t)path->cap_bytes_per_s;
    const struct engine_crossing *feeder = feeder_of(feeding, path);
    if (feeder == NULL) {
        feeding->unfed += wanted;
        return;
    }
    struct feed *feed = &feeding->feeds[feeder->link];
    feed->wanted += wanted;
    if (feed->here == 0 || (uint128)usage * feed->there > (uint128)feed->here * feeder->usage) {
        feed->here = usage;
        feed->there = feeder->usage;
    }
}

/* As much of the usage of long paths as the feeder takes at the quotient of the short ones. */
static void feed_long(struct feeding *feeding, uint32_t feeder)
{
    const struct crossed_by *by = feeding->by;
    struct feed *feed = &feeding->feeds[feeder];
    if (feed->here == 0) {
        return;
    }
    for (uint32_t i = by->firsts[feeder]; i < by->firsts[feeder + 1]; i++) {
        const uint32_t path = by->paths[i];
        const uint128 most = (uint128)by->usages[i] * feed->here / feed->there;
        const uint64_t part = most < feeding->left[path] ? (uint64_t)most : feeding->left[path];
        feeding->left[path] -= part;
        feed->wanted += (uint128)part * (uint64_t)feeding->system->paths[path].cap_bytes_per_s;
    }
}

/* The most that comes to the link. */
static uint128 sum_feeds(const struct feeding *feeding)
{
    uint128 sum = feeding->unfed;
    for (uint32_t i = 0; i < feeding->met_count; i++) {
        const struct feed *feed = &feeding->feeds[feeding->met[i]];
        if (feed->here > 0) {
            const uint128 there = capacity_of(feeding->system, feeding->met[i]);
            const uint128 brought = (there * feed->here + feed->there - 1) / feed->there;
            sum += feed->wanted < brought ? feed->wanted : brought;
        }
    }
    return sum;
}

/* Short paths each have one feeder. */
static void feed_all_short(struct feeding *feeding)
{
    const struct crossed_by *by = feeding->by;
    for (uint32_t i = by->firsts[feeding->link]; i < by->firsts[feeding->link + 1]; i++) {
        const struct engine_path *path = &feeding->system->paths[by->paths[i]];
        if (is_short(path)) {
            feed_short(feeding, path, by->usages[i]);
        }
    }
}

/* The usage of long ones is shared among the feeders of the short. */
static void feed_all_long(struct feeding *feeding)
{
    const struct crossed_by *by = feeding->by;
    const uint32_t first = by->firsts[feeding->link];
    const uint32_t end = by->firsts[feeding->link + 1];
    for (uint32_t i = first; i < end; i++) {
        const bool is_long = !is_short(&feeding->system->paths[by->paths[i]]);
        feeding->left[by->paths[i]] = is_long ? by->usages[i] : 0;
    }
    for (uint32_t i = 0; i < feeding->met_count; i++) {
        feed_long(feeding, feeding->met[i]);
    }
    for (uint32_t i = first; i < end; i++) {
        const uint32_t path = by->paths[i];
        const int64_t cap = feeding->system->paths[path].cap_bytes_per_s;
        feeding->unfed += (uint128)feeding->left[path] * (uint64_t)cap;
        feeding->left[path] = 0;
    }
}

static void forget_feeds(struct feeding *feeding)
{
    feeding->unfed = 0;
    for (uint32_t i = 0; i < feeding->met_count; i++) {
        struct feed *feed = &feeding->feeds[feeding->met[i]];
        *feed = (struct feed){.paths = feed->paths};
    }
}

/* Whether what comes fits; if it does but for the long paths, with other feeders of the short. */
static bool is_fed(struct feeding *feeding)
{
    const uint128 capacity = capacity_of(feeding->system, feeding->link);
    for (uint32_t way = 0; way < FEEDING_WAYS; way++) {
        feeding->way = (enum feeding_way)way;
        forget_feeds(feeding);
        feed_all_short(feeding);
        if (sum_feeds(feeding) > capacity) {
            return false;
        }
        feed_all_long(feeding);
        if (sum_feeds(feeding) <= capacity) {
            return true;
        }
    }
    return false;
}

static bool look_for_feeds(struct feeding *feeding, uint32_t link)
{
    const struct crossed_by *by = feeding->by;
    feeding->link = link;
    feeding->met_count = 0;
    for (uint32_t i = by->firsts[link]; i < by->firsts[link + 1]; i++) {
        const struct engine_path *path = &feeding->system->paths[by->paths[i]];
        if (is_short(path)) {
            count_feeds(feeding, path);
        }
    }
    const bool found = feeding->met_count > 0 && is_fed(feeding);
    for (uint32_t i = 0; i < feeding->met_count; i++) {
        feeding->feeds[feeding->met[i]] = (struct feed){0};
    }
    return found;
}

static void find_fed(struct arena *scratch, const struct engine_system *system, uint8_t *kinds)
{
    const struct crossed_by by = list_paths(scratch, system, kinds);
    struct feeding feeding = {
        .system = system,
        .by = &by,
        .kinds = kinds,
        .feeds = arena_array(scratch, system->link_count, sizeof *feeding.feeds),
        .met = arena_array(scratch, system->link_count, sizeof *feeding.met),
        .left = arena_array(scratch, system->path_count + 1u, sizeof *feeding.left),
    };
    for (uint32_t i = 0; i < system->link_count; i++) {
        if (kinds[i] == ENGINE_LINK_SHARED && look_for_feeds(&feeding, i)) {
            kinds[i] = ENGINE_LINK_SLACK;
        }
    }
}

uint8_t *engine_links_sort(struct arena *arena, const struct engine_system *system)
{
    struct arena *scratch = arena_new();
    struct link_demand *demands = arena_array(scratch, system->link_count, sizeof *demands);
    for (uint32_t i = 0; i < system->channel_count; i++) {
        add_demand(system, i, demands);
    }
    uint8_t *kinds = arena_array(arena, system->link_count, sizeof *kinds);
    for (uint32_t i = 0; i < system->link_count; i++) {
        const uint8_t tight = demands[i].is_shared ? ENGINE_LINK_SHARED : ENGINE_LINK_OF_ONE;
        kinds[i] = demands[i].all > capacity_of(system, i) ? tight : ENGINE_LINK_SLACK;
    }
    find_fed(scratch, system, kinds);
    arena_free(scratch);
    return kinds;
}
