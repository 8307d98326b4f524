/* A row a line; sums below it as figures.
 */
#include "report/show/show_bill.h"

#include "base/arena.h"
#include "input/network/network_bill.h"
#include "report/numbers.h"

#include <inttypes.h>

static const char *part_text(struct arena *arena, const struct network_line *line)
{
    return line->is_cable ? arena_printf(arena, "%s, cable", line->part->name) : line->part->name;
}

static const char *ports_text(struct arena *arena, const struct network_line *line)
{
    const char *rate = number_gbps(arena, line->part->bytes_per_s);
    return line->part->part == PART_SWITCH
               ? arena_printf(arena, "%" PRId64 " x %s", line->part->ports, rate)
               : rate;
}

static void add_line(struct sheet *table, const struct network_line *line)
{
    struct arena *arena = sheet_arena(table);
    sheet_text(table, NULL, line->what);
    sheet_text(table, NULL, part_text(arena, line));
    sheet_text(table, NULL, ports_text(arena, line));
    sheet_number_as(table, NULL, (double)line->count,
                    line->count < 0
                        ? arena_printf(arena, "-%s", number_grouped(arena, -(double)line->count))
                        : number_grouped(arena, (double)line->count));
    sheet_integer(table, NULL, line->spares);
    sheet_number(table, NULL, line->each_usd);
    sheet_number(table, NULL, line->usd);
    sheet_number(table, NULL, line->power_w);
    sheet_text(table, NULL, line->part->date);
}

static void add_lines(struct show_sheet *sheet, const struct network_bill *bill)
{
    static const struct field fields[] = {
        {"what", FIELD_LEFT("network")},        {"part", FIELD_LEFT("part")},
        {"ports", FIELD_LEFT("ports")},         {"count", FIELD_COUNT("count")},
        {"spares", FIELD_COUNT("spares")},      {"each_usd", FIELD_RIGHT("USD each", "%.0f", 1)},
        {"usd", FIELD_RIGHT("USD", "%.0f", 1)}, {"power_w", FIELD_RIGHT("kW", "%.2f", 1e-3)},
        {"date", FIELD_LEFT("priced")},
    };
    struct sheet *table = show_sheet_table(sheet, "network_bill", FIELD_LIST(fields));
    for (uint32_t i = 0; i < bill->line_count; i++) {
        add_line(table, &bill->lines[i]);
    }
}

void show_bill(struct show_sheet *sheet, const struct cluster *cluster, int64_t nodes,
               const struct price_list *prices)
{
    struct arena *arena = sheet->arena;
    const struct network_order order = {.cluster = cluster, .nodes = nodes, .prices = prices};
    struct network_bill bill;
    show_sheet_text(sheet, "network_prices", prices->name);
    if (!network_bill_of(arena, &order, &bill)) {
        show_sheet_text(sheet, "network_without_price", bill.why);
        return;
    }
    show_sheet_number(sheet, "network_usd", bill.usd, arena_printf(arena, "%.0f USD", bill.usd));
    show_sheet_number(sheet, "network_usd_per_gpu", bill.gpu_usd,
                      arena_printf(arena, "%.0f USD", bill.gpu_usd));
    show_sheet_quantity(sheet, "network_power_w", bill.power_w, DIM_WATT);
    add_lines(sheet, &bill);
}
