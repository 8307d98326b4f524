/* Section 3 of `stoker explain`: groups, links and transfers of GPU 0. */
#include "report/explain/explain_text.h"
#include "report/explain/explain_transfer.h"

#include "base/arena.h"
#include "report/table.h"

#include <inttypes.h>
#include <string.h>

/* ---- the model with this cluster's constants ---------------------------------- */

static const struct ledger *record_rates(const struct explanation *explanation)
{
    const struct software *software = &explanation->scenario->software;
    const struct fabric_shares shares = {software->scale_up_bandwidth, software->network_bandwidth};
    struct ledger *ledger = ledger_new(explanation->arena);
    fabric_record(&explanation->system->fabric, shares, ledger);
    return ledger;
}

static void print_rules(const struct explanation *explanation, FILE *out)
{
    const struct cluster *cluster = &explanation->scenario->cluster;
    fprintf(
        out,
        "  time      latency + bytes a rank sends / bandwidth, phase by phase\n"
        "  latency   of a collective: %s's base and rounds (models/libraries), + %g us a round\n"
        "            between nodes + switches x %g us; of a send: %g us in a node, %g us + "
        "switches between\n",
        explanation->scenario->library.name, cluster->round_latency_s * 1e6,
        cluster->hop_latency_s * 1e6, cluster->scale_up_latency_s * 1e6,
        cluster->nic_latency_s * 1e6);
    fprintf(out, "  choice    the algorithm and protocol of least time on an idle fabric, unless "
                 "`collectives` says so\n");
    fprintf(out, "  fabric    %s, %s routing (stoker show %s has its links)\n\n",
            fabric_kind_names[cluster->fabric_kind], routing_names[cluster->routing],
            cluster->name);
    explain_print_ledger(record_rates(explanation), explanation->arena, out);
}

/* ---- transfers ------------------------------------------------------------------- */

/* "multi-rail-ring, Simple", or "direct" for a plain send. */
static const char *algorithm_text(struct arena *arena, const struct transfer_origin *origin)
{
    if (!origin->has_quote) {
        return "direct";
    }
    return arena_printf(arena, "%s, %s%s", collective_algorithm_names[origin->algorithm],
                        collective_protocol_names[origin->protocol],
                        origin->is_extrapolated ? " (extrapolated)" : "");
}

static void add_limit(struct table *table, const struct link_limit *limit)
{
    if (limit->link[0] == '\0') {
        table_cell(table, "latency only");
        table_cell(table, "%s", "");
        return;
    }
    table_cell(table, "%s", limit->link);
    table_cell(table, "%.2f", limit->bytes_per_s / 1e9);
}

static void print_limits(const struct explanation *explanation, const struct stream_use *uses,
                         uint32_t count, FILE *out)
{
    struct table *table = table_new(explanation->arena);
    table_column(table, "  group", TABLE_LEFT);
    table_column(table, "ranks", TABLE_RIGHT);
    table_column(table, "nodes", TABLE_RIGHT);
    table_column(table, "MB", TABLE_RIGHT);
    table_column(table, "alone, bound by", TABLE_LEFT);
    table_column(table, "GB/s", TABLE_RIGHT);
    table_column(table, "all at once, by", TABLE_LEFT);
    table_column(table, "GB/s", TABLE_RIGHT);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < uses[i].transfer_count; j++) {
            const struct transfer_use *transfer = &uses[i].transfers[j];
            table_cell(table, "  %s", uses[i].name);
            table_cell(table, "%u", uses[i].ranks);
            table_cell(table, "%u", uses[i].nodes);
            table_cell(table, "%.3f", transfer->origin->bytes / 1e6);
            add_limit(table, &transfer->alone);
            add_limit(table, &transfer->together);
            table_row_end(table);
        }
    }
    table_print(table, out);
    fputc('\n', out);
    explain_paragraph(out, 2,
                      "GB/s = capacity of the link / how often the bytes of a rank cross it, times "
                      "what the library reaches of it: alone by this group, and by all groups of "
                      "its kind that share it. Nodes are NVLink domains.");
    fputc('\n', out);
}

static void add_transfer(struct arena *arena, struct table *table,
                         const struct transfer_use *transfer)
{
    table_cell(table, "  %s", collective_operation_names[transfer->origin->operation]);
    table_cell(table, "%.3f", transfer->origin->bytes / 1e6);
    table_cell(table, "%" PRId64, transfer->count);
    table_cell(table, "%s", algorithm_text(arena, transfer->origin));
    table_cell(table, "%.3f", transfer->rank_bytes / 1e6);
    table_cell(table, "%.1f", transfer->latency_s * 1e6);
    table_cell(table, "%.1f", transfer->alone_s * 1e6);
    table_cell(table, "%.1f", transfer->together_s * 1e6);
    table_cell(table, "%.3f", (double)transfer->count * transfer->together_s * 1e3);
    table_row_end(table);
}

static void add_stream(struct arena *arena, struct table *table, const struct stream_use *use)
{
    for (uint32_t i = 0; i < use->transfer_count; i++) {
        add_transfer(arena, table, &use->transfers[i]);
    }
    table_cell(table, "= %s", use->name);
    table_cell(table, "%s", "");
    table_cell(table, "%" PRId64, use->count);
    table_cell(table, "%s", "");
    table_cell(table, "%.3f", use->sent_bytes / 1e6);
    table_cell(table, "%s", "");
    table_cell(table, "%s", "");
    table_cell(table, "%s", "");
    table_cell(table, "%.3f", use->together_s * 1e3);
}

static void print_transfers(const struct explanation *explanation, const struct stream_use *uses,
                            uint32_t count, FILE *out)
{
    struct table *table = table_new(explanation->arena);
    table_column(table, "  transfer", TABLE_LEFT);
    table_column(table, "MB", TABLE_RIGHT);
    table_column(table, "a step", TABLE_RIGHT);
    table_column(table, "how", TABLE_LEFT);
    table_column(table, "MB a rank", TABLE_RIGHT);
    table_column(table, "latency", TABLE_RIGHT);
    table_column(table, "alone us", TABLE_RIGHT);
    table_column(table, "at once", TABLE_RIGHT);
    table_column(table, "ms a step", TABLE_RIGHT);
    for (uint32_t i = 0; i < count; i++) {
        add_stream(explanation->arena, table, &uses[i]);
    }
    table_print(table, out);
    fputc('\n', out);
}

/* What the simulation made of it: streams wait for links that others use. */
static void print_simulated(const struct explanation *explanation, FILE *out)
{
    const struct step_result *step = &explanation->result->step;
    if (!result_has_step(explanation->result)) {
        return;
    }
    struct table *table = table_new(explanation->arena);
    table_column(table, "  links", TABLE_LEFT);
    table_column(table, "count", TABLE_RIGHT);
    table_column(table, "busiest", TABLE_LEFT);
    table_column(table, "GB", TABLE_RIGHT);
    table_column(table, "used %", TABLE_RIGHT);
    table_column(table, "mean %", TABLE_RIGHT);
    for (uint32_t i = 0; i < step->link_use_count; i++) {
        const struct link_use *use = &step->link_uses[i];
        table_cell(table, "  %s", use->kind);
        table_cell(table, "%u", use->count);
        table_cell(table, "%s", use->busiest);
        table_cell(table, "%.3f", use->bytes / 1e9);
        table_cell(table, "%.1f", 100 * use->utilisation_max);
        table_cell(table, "%.1f", 100 * use->utilisation_mean);
    }
    table_print(table, out);
    fputs("\n  simulated, each stream's transfers took, of their time alone on the fabric:\n ",
          out);
    const char *before = "";
    for (uint32_t i = 0; i < step->traffic_count; i++) {
        if (strcmp(step->traffic[i].stream, before) != 0) {
            fprintf(out, " %s %.3f", step->traffic[i].stream, step->traffic[i].slowdown);
            before = step->traffic[i].stream;
        }
    }
    fputs("\n\n", out);
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

static void print_overlap(const struct scenario *scenario, FILE *out)
{
    const struct software *software = &scenario->software;
    fprintf(out,
            "  %s: beside compute run tp in backward %s, dp gradients %s, parameters %s, p2p %s\n",
            software->name, yes_no(software->overlaps_tp_backward),
            yes_no(software->overlaps_dp_gradients), yes_no(software->overlaps_dp_parameters),
            yes_no(software->overlaps_p2p));
    if (software->tp_pieces > 1 && scenario->parallel.is_sequence_parallel) {
        fprintf(out,
                "  blocks of layers are computed in %" PRId64
                " pieces, tp's collectives beside them\n",
                software->tp_pieces);
    }
    if (software->scale_up_bandwidth < 1.0 || software->network_bandwidth < 1.0) {
        fprintf(out,
                "  of a benchmark's bandwidth a step's transfers get %g over NVLink, %g over the "
                "network\n",
                software->scale_up_bandwidth, software->network_bandwidth);
    }
    if (scenario->parallel.zero == 3) {
        fprintf(out, "  FSDP gathers %" PRId64 " layer(s) ahead%s\n", software->fsdp_prefetch,
                gather_notes[software->fsdp_gathers]);
    } else if (software->overlaps_dp_gradients) {
        fprintf(out, "  a bucket is whole layers with at least %g MB of gradients\n",
                software->bucket_bytes / 1e6);
    }
    fputc('\n', out);
}

void explain_network_print(const struct explanation *explanation, FILE *out)
{
    struct stream_use uses[STREAM_COUNT_];
    const uint32_t count = explain_streams(explanation, uses);
    fputs("  GPU 0, of the first stage. \"if one\": all in one piece, for comparison.\n", out);
    print_rules(explanation, out);
    if (count == 0) {
        fputs("  One GPU: nothing is sent.\n\n", out);
        return;
    }
    print_limits(explanation, uses, count, out);
    print_transfers(explanation, uses, count, out);
    print_simulated(explanation, out);
    print_overlap(explanation->scenario, out);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void put_limit(struct json *json, const char *key, const struct link_limit *limit)
{
    json_object_open(json, key);
    json_text(json, "link", limit->link);
    json_number(json, "bytes_per_s", limit->bytes_per_s);
    json_object_close(json);
}

static void put_transfer(struct json *json, const struct transfer_use *transfer)
{
    const struct transfer_origin *origin = transfer->origin;
    json_object_open(json, NULL);
    json_text(json, "operation", collective_operation_names[origin->operation]);
    json_number(json, "bytes", origin->bytes);
    json_integer(json, "count", transfer->count);
    json_text(json, "algorithm",
              origin->has_quote ? collective_algorithm_names[origin->algorithm] : "direct");
    json_text(json, "protocol",
              origin->has_quote ? collective_protocol_names[origin->protocol] : "");
    json_integer(json, "phases", transfer->phases);
    json_number(json, "rank_bytes", transfer->rank_bytes);
    json_number(json, "latency_s", transfer->latency_s);
    json_number(json, "time_alone_s", transfer->alone_s);
    json_number(json, "time_together_s", transfer->together_s);
    put_limit(json, "alone", &transfer->alone);
    put_limit(json, "together", &transfer->together);
    json_bool(json, "extrapolated", origin->is_extrapolated);
    json_object_close(json);
}

void explain_network_json(const struct explanation *explanation, struct json *json)
{
    struct stream_use uses[STREAM_COUNT_];
    const uint32_t count = explain_streams(explanation, uses);
    json_array_open(json, "streams");
    for (uint32_t i = 0; i < count; i++) {
        const struct stream_use *use = &uses[i];
        json_object_open(json, NULL);
        json_text(json, "name", use->name);
        json_integer(json, "ranks", use->ranks);
        json_integer(json, "nodes", use->nodes);
        json_integer(json, "count", use->count);
        json_number(json, "rank_bytes", use->sent_bytes);
        json_number(json, "time_together_s", use->together_s);
        json_array_open(json, "transfers");
        for (uint32_t j = 0; j < use->transfer_count; j++) {
            put_transfer(json, &use->transfers[j]);
        }
        json_array_close(json);
        json_object_close(json);
    }
    json_array_close(json);
    explain_put_ledger("sums", record_rates(explanation), explanation->arena, json);
}
