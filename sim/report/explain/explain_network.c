/* Section 3 of `stoker explain`: groups, links and transfers of GPU 0. */
#include "input/scenario.h"
#include "report/explain/explain_text.h"
#include "report/explain/explain_transfer.h"

#include "base/arena.h"
#include "report/numbers.h"
#include "train/program/program_calls.h"

#include <inttypes.h>
#include <string.h>

/* ---- the model with this cluster's constants ---------------------------------- */

static void add_rules(const struct explanation *explanation, struct sheet *in)
{
    const struct cluster *cluster = &explanation->scenario->cluster;
    const struct software *software = &explanation->scenario->software;
    sheet_say(in, "  GPU 0, of the first stage.\n");
    if (cluster->peer_bytes_per_s > 0) {
        sheet_say(
            in,
            "  in a node without a switch, n GPUs of a group use n - 1 times %g GB/s of a GPU's "
            "%g GB/s\n",
            cluster->peer_bytes_per_s / 1e9, cluster->scale_up_bytes_per_s / 1e9);
    }
    sheet_say(in,
              "  choice    the algorithm and protocol of least time on an idle fabric, unless "
              "`collectives` says so\n"
              "  fabric    %s, %s routing (stoker show %s has its links)\n",
              fabric_kind_names[cluster->fabric_kind], routing_names[cluster->routing],
              cluster->name);
    sheet_say(in, "  NICs      %" PRId64 " a node of %s%s\n\n", cluster->nics_per_node,
              number_gbps(explanation->arena, cluster->nic_bytes_per_s),
              cluster->nic_kind[0] == '\0'
                  ? ""
                  : arena_printf(explanation->arena, ": %s", cluster->nic_kind));
    const struct fabric_losses losses = {software->scale_up_bandwidth,
                                         software->staging_bytes_per_s};
    struct ledger *ledger = ledger_new(explanation->arena);
    fabric_record(&explanation->system->fabric, losses, ledger);
    explain_ledger(in, "sums", ledger);
}

/* ---- transfers ------------------------------------------------------------------- */

/* "multi-rail-ring, Simple", or "direct" for a plain send. */
static const char *algorithm_text(struct arena *arena, const struct transfer_origin *origin)
{
    if (!origin->has_quote) {
        return "direct";
    }
    return arena_printf(arena, "%s, %s%s",
                        transfer_algorithm_name(&origin->shape, origin->algorithm),
                        collective_protocol_names[origin->protocol],
                        origin->is_extrapolated ? " (extrapolated)" : "");
}

static void say_limit(struct sheet *table, const struct link_limit *limit)
{
    const bool has_link = limit->link[0] != '\0';
    sheet_text(table, NULL, has_link ? limit->link : "latency only");
    sheet_number_as(table, NULL, limit->bytes_per_s, has_link ? NULL : "");
}

static void say_limits(const struct stream_use *uses, uint32_t count, struct sheet *in)
{
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("  group"), .before = "  "},
        {NULL, FIELD_COUNT("ranks")},
        {NULL, FIELD_COUNT("nodes")},
        {NULL, FIELD_RIGHT("MB", "%.3f", 1e-6)},
        {NULL, FIELD_LEFT("alone, bound by")},
        {NULL, FIELD_RIGHT("GB/s", "%.2f", 1e-9)},
        {NULL, FIELD_LEFT("all at once, by")},
        {NULL, FIELD_RIGHT("GB/s", "%.2f", 1e-9)},
    };
    struct sheet *table = sheet_table(in, NULL, FIELD_LIST(fields));
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < uses[i].transfer_count; j++) {
            const struct transfer_use *transfer = &uses[i].transfers[j];
            sheet_text(table, NULL, uses[i].name);
            sheet_integer(table, NULL, uses[i].ranks);
            sheet_integer(table, NULL, uses[i].nodes);
            sheet_number(table, NULL, transfer->origin->bytes);
            say_limit(table, &transfer->alone);
            say_limit(table, &transfer->together);
        }
    }
    sheet_say(in, "\n");
    explain_paragraph(in, 2,
                      "GB/s = capacity of the link / how often the bytes of a rank cross it, times "
                      "what the library reaches of it: alone by this group, and by all groups of "
                      "its kind that share it. Nodes are NVLink domains.");
    sheet_say(in, "\n");
}

static void say_transfer(struct sheet *table, const struct transfer_use *transfer)
{
    sheet_say(table, "  %s", collective_operation_names[transfer->origin->operation]);
    sheet_number(table, NULL, transfer->origin->bytes);
    sheet_integer(table, NULL, transfer->count);
    sheet_text(table, NULL, algorithm_text(sheet_arena(table), transfer->origin));
    sheet_number(table, NULL, transfer->rank_bytes);
    sheet_number(table, NULL, transfer->latency_s);
    sheet_number(table, NULL, transfer->alone_s);
    sheet_number(table, NULL, transfer->together_s);
    sheet_number(table, NULL, (double)transfer->count * transfer->together_s);
}

static void say_stream(struct sheet *table, const struct stream_use *use)
{
    for (uint32_t i = 0; i < use->transfer_count; i++) {
        say_transfer(table, &use->transfers[i]);
    }
    sheet_say(table, "= %s", use->name);
    sheet_nothing(table);
    sheet_integer(table, NULL, use->count);
    sheet_nothing(table);
    sheet_number(table, NULL, use->sent_bytes);
    sheet_nothing(table);
    sheet_nothing(table);
    sheet_nothing(table);
    sheet_number(table, NULL, use->together_s);
}

static void say_transfers(const struct stream_use *uses, uint32_t count, struct sheet *in)
{
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("  transfer")},
        {NULL, FIELD_RIGHT("MB", "%.3f", 1e-6)},
        {NULL, FIELD_COUNT("a step")},
        {NULL, FIELD_LEFT("how")},
        {NULL, FIELD_RIGHT("MB a rank", "%.3f", 1e-6)},
        {NULL, FIELD_RIGHT("latency", "%.1f", 1e6)},
        {NULL, FIELD_RIGHT("alone us", "%.1f", 1e6)},
        {NULL, FIELD_RIGHT("at once", "%.1f", 1e6)},
        {NULL, FIELD_RIGHT("ms a step", "%.3f", 1e3)},
    };
    struct sheet *table = sheet_table(in, NULL, FIELD_LIST(fields));
    for (uint32_t i = 0; i < count; i++) {
        say_stream(table, &uses[i]);
    }
    sheet_say(in, "\n");
}

/* Of each stream the transfer that takes most of a step, as its time alone is computed. */
static const struct ledger *record_longest(const struct explanation *explanation,
                                           const struct stream_use *uses, uint32_t count)
{
    struct ledger *ledger = ledger_new(explanation->arena);
    for (uint32_t i = 0; i < count; i++) {
        const struct transfer_use *longest = &uses[i].transfers[0];
        for (uint32_t j = 1; j < uses[i].transfer_count; j++) {
            const struct transfer_use *transfer = &uses[i].transfers[j];
            if ((double)transfer->count * transfer->together_s >
                (double)longest->count * longest->together_s) {
                longest = transfer;
            }
        }
        explain_transfer_record(explanation, &uses[i], longest, ledger);
    }
    return ledger;
}

/* What the simulation made of it: streams wait for links that others use. */
static void say_simulated(const struct explanation *explanation, struct sheet *in)
{
    static const struct field fields[] = {
        {NULL, FIELD_AT(struct link_use, kind), FIELD_LEFT("  links"), .before = "  "},
        {NULL, FIELD_AT(struct link_use, count), FIELD_COUNT("count")},
        {NULL, FIELD_AT(struct link_use, busiest), FIELD_LEFT("busiest")},
        {NULL, FIELD_AT(struct link_use, bytes), FIELD_RIGHT("GB", "%.3f", 1e-9)},
        {NULL, FIELD_AT(struct link_use, utilisation_max), FIELD_RIGHT("used %", "%.1f", 100)},
        {NULL, FIELD_AT(struct link_use, utilisation_mean), FIELD_RIGHT("mean %", "%.1f", 100)},
    };
    const struct step_result *step = &explanation->result->step;
    if (!result_has_step(explanation->result)) {
        return;
    }
    sheet_rows(sheet_table(in, NULL, FIELD_LIST(fields)), step->link_uses, step->link_use_count,
               sizeof *step->link_uses);
    sheet_say(in,
              "\n  simulated, each stream's transfers took, of their time alone on the fabric:\n ");
    const char *before = "";
    for (uint32_t i = 0; i < step->traffic_count; i++) {
        if (strcmp(step->traffic[i].stream, before) != 0) {
            sheet_say(in, " %s %.3f", step->traffic[i].stream, step->traffic[i].slowdown);
            before = step->traffic[i].stream;
        }
    }
    sheet_say(in, "\n\n");
}

static const char *yes_no(bool is_so)
{
    return is_so ? "yes" : "no";
}

static const char *const gather_notes[GATHER_UNIT_COUNT_] = {
    [GATHER_LAYER] = "",
    [GATHER_TENSOR] = ", each tensor by itself: latency is of all of a layer's calls",
    [GATHER_MATRIX] = ", each matrix by itself: latency is of all of a layer's calls",
};

static void say_gathers(const struct software *software, const struct parallel *parallel,
                        struct sheet *in)
{
    const char *note = gather_notes[software->fsdp_gathers];
    if (software->fsdp_live_parameters > 0 && software->fsdp_prefetch > 0) {
        sheet_say(in, "  FSDP gathers layers ahead up to %g million parameters%s\n",
                  (double)software->fsdp_live_parameters / 1e6, note);
    } else {
        sheet_say(in, "  FSDP gathers %" PRId64 " layer(s) ahead%s\n", software->fsdp_prefetch,
                  note);
    }
    if (software->fsdp_is_one_queue) {
        sheet_say(in, "  gathers%s reductions%s wait for each other in one queue\n",
                  software->fsdp_queues_sums ? "," : " and",
                  software->fsdp_queues_sums ? " and sums over replicas" : "");
    }
    if (parallel->has_quantized_weights) {
        sheet_say(in, "  weights are gathered in int8\n");
    }
    if (parallel->has_local_weights) {
        sheet_say(in, "  backward passes gather within %" PRId64 " GPUs, from a second copy\n",
                  parallel->zero_local_group);
    }
    if (parallel->has_quantized_gradients) {
        sheet_say(in,
                  "  gradients are reduced in int4 by two all-to-alls, within %" PRId64
                  " GPUs and across\n",
                  parallel->zero_local_group);
    }
}

static void say_overlap(const struct explanation *explanation, struct sheet *in)
{
    const struct scenario *scenario = explanation->scenario;
    const struct software *software = &scenario->software;
    sheet_say(
        in, "  %s: beside compute run tp in backward %s, dp gradients %s, parameters %s, p2p %s\n",
        software->name, yes_no(software->overlaps_tp_backward),
        yes_no(software->overlaps_dp_gradients), yes_no(software->overlaps_dp_parameters),
        yes_no(software->overlaps_p2p));
    if (calls_are_made(&scenario->parallel, software)) {
        sheet_say(
            in,
            "  stages meet to send and receive, both directions %s; nothing computes meanwhile\n",
            software->stage_calls == STAGE_CALLS_IN_TURN ? "in turn" : "together");
    }
    if (scenario->parallel.pp > 1 && scenario->parallel.tp > 1 &&
        !scenario->parallel.is_sequence_parallel && !software_scatters(software, false)) {
        sheet_say(in,
                  "  without sequence_parallel each of %" PRId64
                  " tensor-parallel ranks sends other stages whole %s\n",
                  scenario->parallel.tp,
                  software_scatters(software, true) ? "gradients" : "tensors");
    }
    if (software->tp_pieces > 1 && scenario->parallel.is_sequence_parallel) {
        sheet_say(in,
                  "  blocks of layers are computed in %" PRId64
                  " pieces, tp's collectives beside them\n",
                  software->tp_pieces);
    }
    const struct fabric *fabric = &explanation->system->fabric;
    if (fabric->scale_up_share < 1.0 || fabric->network_share < 1.0) {
        sheet_say(in,
                  "  of a benchmark's bandwidth a step's transfers get %.3g over NVLink, %.3g over "
                  "the network\n",
                  fabric->scale_up_share, fabric->network_share);
    }
    if (scenario->parallel.zero == 3) {
        say_gathers(software, &scenario->parallel, in);
    } else if (software->overlaps_dp_gradients) {
        sheet_say(in, "  a bucket is whole layers with at least %g MB of gradients\n",
                  software->bucket_bytes / 1e6);
    }
    sheet_say(in, "\n");
}

/* ---- JSON -------------------------------------------------------------------------- */

static void put_limit(struct sheet *in, const char *key, const struct link_limit *limit)
{
    struct sheet *object = sheet_object(in, key);
    sheet_text(object, "link", limit->link);
    sheet_number(object, "bytes_per_s", limit->bytes_per_s);
}

static void put_transfer(struct sheet *in, const struct transfer_use *transfer)
{
    const struct transfer_origin *origin = transfer->origin;
    const bool has_quote = origin->has_quote;
    sheet_text(in, "operation", collective_operation_names[origin->operation]);
    sheet_number(in, "bytes", origin->bytes);
    sheet_integer(in, "count", transfer->count);
    sheet_text(in, "algorithm",
               has_quote ? transfer_algorithm_name(&origin->shape, origin->algorithm) : "direct");
    sheet_text(in, "protocol", has_quote ? collective_protocol_names[origin->protocol] : "");
    sheet_integer(in, "phases", transfer->phases);
    sheet_number(in, "rank_bytes", transfer->rank_bytes);
    sheet_number(in, "latency_s", transfer->latency_s);
    sheet_number(in, "time_alone_s", transfer->alone_s);
    sheet_number(in, "time_together_s", transfer->together_s);
    put_limit(in, "alone", &transfer->alone);
    put_limit(in, "together", &transfer->together);
    sheet_bool(in, "extrapolated", origin->is_extrapolated);
}

static void put_stream(struct sheet *in, const struct stream_use *use)
{
    sheet_text(in, "name", use->name);
    sheet_integer(in, "ranks", use->ranks);
    sheet_integer(in, "nodes", use->nodes);
    sheet_integer(in, "count", use->count);
    sheet_number(in, "rank_bytes", use->sent_bytes);
    sheet_number(in, "time_together_s", use->together_s);
    struct sheet *transfers = sheet_array(in, "transfers");
    for (uint32_t i = 0; i < use->transfer_count; i++) {
        put_transfer(sheet_object(transfers, NULL), &use->transfers[i]);
    }
}

/* ---- the section ------------------------------------------------------------------- */

void explain_network(const struct explanation *explanation, struct sheet *in)
{
    struct stream_use uses[STREAM_COUNT_];
    const uint32_t count = explain_streams(explanation, uses);
    struct sheet *streams = sheet_array(in, "streams");
    for (uint32_t i = 0; i < count; i++) {
        put_stream(sheet_object(streams, NULL), &uses[i]);
    }
    add_rules(explanation, in);
    if (count == 0) {
        sheet_say(in, "  One GPU: nothing is sent.\n\n");
        return;
    }
    say_limits(uses, count, in);
    say_transfers(uses, count, in);
    explain_paragraph(
        in, 2,
        "A transfer's time alone, of each stream the one that takes most of a step. A "
        "library's constants are in models/libraries.");
    explain_ledger(in, "transfer_sums", record_longest(explanation, uses, count));
    say_simulated(explanation, in);
    say_overlap(explanation, in);
}
