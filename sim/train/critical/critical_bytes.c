/* Which link, or what else, binds the bytes of a transfer: collectives know the links they were
 * priced for, by phase; what has no price takes the thinnest link of its path.
 *
 * A path without links is one with a rate of its own: the host's work on optimizer states, and the
 * way back from its memory, which nothing shares (train/system).
 */
#include "train/critical/critical_parts.h"

#include "base/check.h"
#include "train/program/program_offload.h"
#include "train/system.h"

#include <math.h>

/* The other direction of link_titles[LINK_HOST], which has no link of the fabric. */
static const char HOST_LINK_BACK[] = "host link, back";

bool critical_is_message(uint32_t stream)
{
    return stream >= STREAM_SEND_FORWARD && stream <= STREAM_RECEIVE_BACKWARD;
}

/* ENGINE_NONE: nothing binds but the library. */
static const char *title_of(const struct fabric *fabric, uint32_t link)
{
    return link == ENGINE_NONE ? "" : link_titles[fabric_link_kind(fabric, link)];
}

/* The link of a path that has the least bandwidth for each of its bytes, as the fabric numbers
 * it. */
static uint32_t thinnest_link(const struct step_system *system, const struct engine_path *path)
{
    const struct engine_system *engine = &system->engine;
    uint32_t thinnest = ENGINE_NONE;
    double least = HUGE_VAL;
    for (uint32_t i = 0; i < path->crossing_count; i++) {
        const struct engine_crossing *crossing = &engine->crossings[path->crossing_first + i];
        const double bandwidth =
            (double)engine->link_capacities[crossing->link] / (double)crossing->usage;
        if (bandwidth < least) {
            least = bandwidth;
            thinnest = system->links[crossing->link];
        }
    }
    return thinnest;
}

const char *critical_thinnest_of(const struct step_system *system, const struct engine_path *path)
{
    return title_of(&system->fabric, thinnest_link(system, path));
}

/* An actor of the system that is of this class. */
static uint32_t first_of_class(const struct step_system *system, const struct folded_system *folded,
                               uint32_t class)
{
    uint32_t actor = 0;
    while (folded->actor_class[actor] != class) {
        actor++;
        sim_assert(actor < system->engine.actor_count);
    }
    return actor;
}

const char *critical_thinnest(const struct step_system *system, const struct folded_system *folded,
                              uint32_t actor, uint32_t stream)
{
    const struct engine_system *engine = &system->engine;
    const uint32_t built = first_of_class(system, folded, actor);
    const uint32_t channel = engine->actors[built].channels[stream];
    return critical_thinnest_of(system, &engine->paths[engine->channels[channel].path_first]);
}

/* ---- transfers ------------------------------------------------------------------------------ */

/* Of a GPU's own, to its host and to storage: the channels of a stream are alike in their kinds of
 * links. */
static struct critical_share own_share(const struct step_system *system, uint32_t transfer)
{
    const struct engine_system *engine = &system->engine;
    const uint32_t stream = (uint32_t)system->transfers.origins[transfer].stream;
    const uint32_t number = engine->transfers[transfer].path;
    if (stream == STREAM_OFFLOAD && number == OFFLOAD_PATH_CPU) {
        return (struct critical_share){CRITICAL_HOST, "", 1};
    }
    if (stream == STREAM_FETCH) {
        return (struct critical_share){CRITICAL_BYTES, HOST_LINK_BACK, 1};
    }
    uint32_t actor = 0;
    while (engine->actors[actor].channels[stream] == ENGINE_NONE) {
        actor++;
        sim_assert(actor < engine->actor_count);
    }
    const uint32_t channel = engine->actors[actor].channels[stream];
    const struct engine_path *path = &engine->paths[engine->channels[channel].path_first + number];
    return (struct critical_share){CRITICAL_BYTES, critical_thinnest_of(system, path), 1};
}

uint32_t critical_shares(const struct step_system *system, uint32_t transfer,
                         struct critical_share shares[COLLECTIVE_PHASES_MAX])
{
    const struct transfer_origin *origins = system->transfers.origins;
    sim_assert(!critical_is_message((uint32_t)origins[transfer].stream));
    if (!origins[transfer].has_quote) {
        shares[0] = own_share(system, transfer);
        return 1;
    }
    uint32_t count = 0;
    double all_s = 0;
    for (uint32_t next = transfer + 1; next != 0; next = system->engine.transfers[next - 1].next) {
        const struct transfer_origin *phase = &origins[next - 1];
        sim_assert(count < COLLECTIVE_PHASES_MAX);
        shares[count++] = (struct critical_share){
            CRITICAL_BYTES, title_of(&system->fabric, phase->link), phase->flow_s};
        all_s += phase->flow_s;
    }
    for (uint32_t i = 0; i < count; i++) {
        shares[i].share = all_s > 0 ? shares[i].share / all_s : 1.0 / count;
    }
    return count;
}
