/* Section 3: groups, links and transfers of GPU 0. */
#include "cli/explain_text.h"
#include "cli/explain_transfer.h"

#include "base/arena.h"
#include "out/table.h"

#include <inttypes.h>

/* ---- the model with this cluster's constants ---------------------------------- */

static void print_rules(const struct explanation *explanation, FILE *out)
{
    const struct cluster *cluster = &explanation->scenario->cluster;
    const struct fabric *fabric = &explanation->system->fabric;
    struct arena *arena = explanation->arena;
    fprintf(out,
            "  time      latency + bytes a rank sends / bandwidth\n"
            "  latency   of a collective: %g us + rounds inside a node x %g us\n"
            "            + rounds between nodes x (%g us + switches x %g us), given as inside + "
            "between;\n"
            "            a send is one round\n",
            cluster->collective_launch_s * 1e6, fabric_intra_round_s(fabric) * 1e6,
            fabric_inter_round_s(fabric, 0) * 1e6, cluster->hop_latency_s * 1e6);
    fprintf(out, "  bytes     a rank of N sends of S: all-gather, reduce-scatter (N - 1) / N S; "
                 "all-reduce\n            twice that as a ring, 2 S as a tree; send S\n");
    fprintf(out, "  scale-up  %s x %g = %s a GPU, each way\n",
            number_quantity(arena, cluster->scale_up_bytes_per_s, DIM_BYTES_PER_S),
            cluster->scale_up_efficiency,
            number_quantity(arena, (double)fabric->capacity[LINK_SCALE_UP_OUT], DIM_BYTES_PER_S));
    fprintf(out,
            "  NIC       %s x %g x %" PRId64 " NICs / %u ports of a node = %s a port, each way\n",
            number_quantity(arena, cluster->nic_bytes_per_s, DIM_BYTES_PER_S),
            cluster->nic_efficiency, cluster->nics_per_node, fabric->ports_per_node,
            number_quantity(arena, (double)fabric->capacity[LINK_NIC_OUT], DIM_BYTES_PER_S));
    fprintf(out,
            "  fabric    %s: %" PRId64 " nodes a leaf, %g:1; up-link of a leaf %s, of a pod %s\n\n",
            cluster->fabric_kind == FABRIC_RAIL ? "rail" : "tree", cluster->nodes_per_leaf,
            cluster->oversubscription,
            number_quantity(arena, (double)fabric->capacity[LINK_LEAF_UP], DIM_BYTES_PER_S),
            number_quantity(arena, (double)fabric->capacity[LINK_POD_UP], DIM_BYTES_PER_S));
}

/* ---- groups ---------------------------------------------------------------------- */

static void add_limit(struct table *table, const struct link_limit *limit)
{
    if (!limit->is_link) {
        table_cell(table, "latency only");
        table_cell(table, "%s", "");
        return;
    }
    table_cell(table, "%s x %.4g", link_titles[limit->kind], limit->usage);
    table_cell(table, "%.2f", limit->bytes_per_s / 1e9);
}

static void print_groups(const struct explanation *explanation, const struct stream_use *uses,
                         uint32_t count, FILE *out)
{
    struct table *table = table_new(explanation->arena);
    table_column(table, "  group", TABLE_LEFT);
    table_column(table, "ranks", TABLE_RIGHT);
    table_column(table, "nodes", TABLE_RIGHT);
    table_column(table, "switches", TABLE_RIGHT);
    table_column(table, "alone, capped by", TABLE_LEFT);
    table_column(table, "GB/s", TABLE_RIGHT);
    table_column(table, "all at once, by", TABLE_LEFT);
    table_column(table, "GB/s", TABLE_RIGHT);
    for (uint32_t i = 0; i < count; i++) {
        table_cell(table, "  %s", uses[i].name);
        table_cell(table, "%u", uses[i].group.ranks);
        table_cell(table, "%u", uses[i].group.nodes);
        table_cell(table, "%u", uses[i].group.hops_max);
        add_limit(table, &uses[i].alone);
        add_limit(table, &uses[i].together);
    }
    table_print(table, out);
    fputc('\n', out);
    explain_paragraph(out, 2,
                      "GB/s = capacity of the link / how often the bytes of a rank cross it: alone "
                      "by this group, and by all groups of its kind that share it.");
    fputc('\n', out);
}

/* ---- transfers ------------------------------------------------------------------- */

/* "ring 7 + 0": algorithm, rounds inside a node and between nodes. */
static const char *algorithm_text(struct arena *arena, const struct transfer_use *transfer)
{
    const struct transfer_choice *choice = &transfer->choice;
    if (!transfer->has_choice) {
        return "direct";
    }
    return arena_printf(arena, "%s %" PRId64 " + %" PRId64,
                        collective_algorithm_names[choice->algorithm], choice->rounds.intra,
                        choice->rounds.inter);
}

static void add_transfer(struct arena *arena, struct table *table,
                         const struct transfer_use *transfer)
{
    table_cell(table, "  %s", collective_operation_names[transfer->operation]);
    table_cell(table, "%.3f", transfer->bytes / 1e6);
    if (transfer->count > 0) {
        table_cell(table, "%" PRId64, transfer->count);
    } else {
        table_cell(table, "if one");
    }
    table_cell(table, "%s", algorithm_text(arena, transfer));
    table_cell(table, "%.3f", (double)transfer->rank_bytes / 1e6);
    table_cell(table, "%.1f", transfer->latency_s * 1e6);
    table_cell(table, "%.1f", transfer->alone_s * 1e6);
    table_cell(table, "%.1f", transfer->together_s * 1e6);
    if (transfer->count > 0) {
        table_cell(table, "%.3f", (double)transfer->count * transfer->together_s * 1e3);
    }
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
    table_column(table, "how, rounds", TABLE_LEFT);
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

static const char *yes_no(bool is_so)
{
    return is_so ? "yes" : "no";
}

static void print_overlap(const struct scenario *scenario, FILE *out)
{
    const struct software *software = &scenario->software;
    fprintf(out,
            "  %s: beside compute run tp in backward %s, dp gradients %s, parameters %s, p2p %s\n",
            software->name, yes_no(software->overlaps_tp_backward),
            yes_no(software->overlaps_dp_gradients), yes_no(software->overlaps_dp_parameters),
            yes_no(software->overlaps_p2p));
    if (scenario->parallel.zero == 3) {
        fprintf(out, "  FSDP gathers %" PRId64 " layer(s) ahead\n", software->fsdp_prefetch);
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
    print_groups(explanation, uses, count, out);
    print_transfers(explanation, uses, count, out);
    print_overlap(explanation->scenario, out);
}

/* ---- JSON -------------------------------------------------------------------------- */

static void put_limit(struct json *json, const char *key, const struct link_limit *limit)
{
    json_object_open(json, key);
    json_text(json, "link", limit->is_link ? link_titles[limit->kind] : "");
    json_integer(json, "capacity_bytes_per_s", limit->capacity_bytes_per_s);
    json_number(json, "usage", limit->usage);
    json_number(json, "bytes_per_s", limit->bytes_per_s);
    json_object_close(json);
}

static void put_transfer(struct json *json, const struct transfer_use *transfer)
{
    const struct transfer_choice *choice = &transfer->choice;
    json_object_open(json, NULL);
    json_text(json, "operation", collective_operation_names[transfer->operation]);
    json_number(json, "bytes", transfer->bytes);
    json_integer(json, "count", transfer->count);
    json_text(json, "algorithm",
              transfer->has_choice ? collective_algorithm_names[choice->algorithm] : "direct");
    json_integer(json, "rounds_intra", choice->rounds.intra);
    json_integer(json, "rounds_inter", choice->rounds.inter);
    json_integer(json, "rank_bytes", transfer->rank_bytes);
    json_number(json, "latency_s", transfer->latency_s);
    json_number(json, "time_alone_s", transfer->alone_s);
    json_number(json, "time_together_s", transfer->together_s);
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
        json_integer(json, "ranks", use->group.ranks);
        json_integer(json, "nodes", use->group.nodes);
        json_integer(json, "switches", use->group.hops_max);
        put_limit(json, "alone", &use->alone);
        put_limit(json, "together", &use->together);
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
}
