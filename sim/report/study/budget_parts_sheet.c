/* Tables that stand below the quantities, each under what it is. */
#include "report/study/budget_parts_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/numbers.h"
#include "report/study/budget_sheet.h"

static void add_value(struct sheet *table, enum budget_quantity quantity, double value)
{
    sheet_number_as(table, NULL, value,
                    is_absent(value) ? "-"
                                     : budget_value_text(sheet_arena(table), quantity, value));
}

void budget_stages_add(const struct budget_stages *stages, double parameters, struct sheet *sheet)
{
    static const struct field fields[] = {
        {"tokens", FIELD_RIGHT("tokens of a stage", "%.4g", 1)},
        {"sequence", FIELD_RIGHT("sequences of", "%.0f", 1)},
        {"flop_per_token", FIELD_RIGHT("FLOPs a token", "%.4g", 1)},
        {"flop", FIELD_RIGHT("FLOPs", "%.4g", 1)},
        {"share", FIELD_RIGHT("share %", "%.1f", 100)},
    };
    const double by_parameters =
        is_absent(parameters) ? ABSENT : BUDGET_FLOP_PER_PARAMETER * parameters;
    struct sheet *table = sheet_table(sheet, "stages", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < stages->count; i++) {
        const struct budget_stage *stage = &stages->items[i];
        const double each = is_absent(stage->token_flop) ? by_parameters : stage->token_flop;
        const double mean = is_absent(stages->token_flop) ? by_parameters : stages->token_flop;
        const double flop = is_absent(each) ? ABSENT : each * stage->tokens;
        add_value(table, BUDGET_TOKENS, stage->tokens);
        sheet_number(table, NULL, stage->sequence > 0 ? (double)stage->sequence : ABSENT);
        add_value(table, BUDGET_TOKEN_FLOP, each);
        add_value(table, BUDGET_FLOP, flop);
        sheet_number(table, NULL,
                     is_absent(flop) ? stage->tokens / stages->tokens
                                     : flop / (mean * stages->tokens));
    }
}

void budget_serve_add(const struct budget_server *server, struct sheet *sheet)
{
    static const struct field fields[] = {
        {"weights", FIELD_LEFT("to serve it")},
        {"weight_bytes", FIELD_RIGHT("weights", "%.4g", 1)},
        {"kv_bytes", FIELD_RIGHT("KV", "%.4g", 1)},
        {"gpus", FIELD_RIGHT("GPUs", "%.0f", 1)},
        {"memory_tokens_per_s", FIELD_RIGHT("tokens/s, memory", "%.4g", 1)},
        {"compute_tokens_per_s", FIELD_RIGHT("tokens/s, compute", "%.4g", 1)},
        {"sequences", FIELD_RIGHT("meet at", "%.0f", 1)},
    };
    static const struct {
        const char *name;
        double bytes;
    } widths[] = {{"16 bits", 2}, {"int8", 1}, {"int4", 0.5}};
    struct arena *arena = sheet_arena(sheet);
    struct sheet *table = sheet_table(sheet, "serving", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        const struct budget_serving serving = budget_serve(server, widths[i].bytes);
        sheet_text(table, NULL, widths[i].name);
        sheet_number_as(table, NULL, serving.weight_bytes,
                        number_quantity(arena, serving.weight_bytes, DIM_BYTES));
        sheet_number_as(table, NULL, server->kv_bytes,
                        is_absent(server->kv_bytes)
                            ? "-"
                            : number_quantity(arena, server->kv_bytes, DIM_BYTES));
        sheet_number(table, NULL, serving.gpus);
        sheet_number(table, NULL, serving.memory_tokens_per_s);
        sheet_number(table, NULL, serving.compute_tokens_per_s);
        sheet_number(table, NULL, serving.sequences);
    }
    sheet_say(sheet,
              "\nServing is not simulated: two bounds, of one sequence by memory and of many "
              "by compute; KV is of one\nsequence. They meet at so many sequences, or never "
              "(-).\n");
}
