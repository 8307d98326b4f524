/* Tables that stand below the quantities, each under what it is. */
#include "report/study/budget_parts_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/numbers.h"
#include "report/picture/plot_isoflop.h"
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
        {"memory_tokens_per_s", FIELD_SHOW("tokens/s, memory", number_short)},
        {"compute_tokens_per_s", FIELD_SHOW("tokens/s, compute", number_short)},
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
              "by compute; KV is of one sequence. They meet at so many sequences, or never "
              "(-).\n");
}

void budget_fewest_add(const struct budget_size *sizes, uint32_t count, double parameters,
                       const struct budget_fewest *fewest, struct sheet *sheet)
{
    static const struct field fields[] = {
        {"gpu_bytes", FIELD_RIGHT("fewest that hold it, of", "%.4g", 1)},
        {"gpus_4", FIELD_RIGHT("4 B each", "%.0f", 1)},
        {"gpus_6", FIELD_RIGHT("6 B", "%.0f", 1)},
        {"gpus_16", FIELD_RIGHT("16 B", "%.0f", 1)},
        {"gpus_18", FIELD_RIGHT("18 B", "%.0f", 1)},
        {"gpus_18_with_quarter", FIELD_RIGHT("with 25 %", "%.0f", 1)},
        {"gpus", FIELD_LEFT("as")},
    };
    static const double widths[] = {4, 6, 16, 18};
    struct arena *arena = sheet_arena(sheet);
    struct sheet *table = sheet_table(sheet, "fewest", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t i = 0; i < count; i++) {
        sheet_number_as(table, NULL, sizes[i].gpu_bytes,
                        number_quantity(arena, sizes[i].gpu_bytes, DIM_BYTES));
        for (uint32_t k = 0; k < 5; k++) {
            sheet_number(table, NULL,
                         budget_gpus(widths[k < 4 ? k : 3] * parameters, sizes[i].gpu_bytes,
                                     k < 4 ? 0 : 0.25));
        }
        sheet_text(table, NULL, sizes[i].gpus);
    }
    if (fewest == NULL) {
        return;
    }
    struct sheet *trains = sheet_object(sheet, "trains");
    const bool is_found = fewest->gpus > 0;
    sheet_text(trains, "cluster", fewest->cluster);
    sheet_number(trains, "gpus", is_found ? (double)fewest->gpus : ABSENT);
    sheet_integer(trains, "tried", fewest->tried);
    sheet_integer(trains, "most", fewest->most);
    sheet_number(trains, "step_s", is_found ? fewest->step_s : ABSENT);
    sheet_number(trains, "memory_bytes", is_found ? fewest->memory_bytes : ABSENT);
    if (is_found) {
        sheet_say(sheet,
                  "\nfewest that train it, simulated: %s of %s (a layout of %s a GPU; "
                  "`stoker new` finds a fast one)\n",
                  number_grouped(arena, (double)fewest->gpus), fewest->cluster,
                  number_quantity(arena, fewest->memory_bytes, DIM_BYTES));
    } else {
        sheet_say(sheet, "\nfewest that train it: more than %s of %s, or no layout divides it\n",
                  number_grouped(arena, (double)fewest->most), fewest->cluster);
    }
}

bool budget_isoflop_draw(struct arena *arena, const struct budget_law *law, double flop,
                         const char *path_base, struct diag *diag)
{
    struct budget_curve *curves = arena_array(arena, BUDGET_CURVES, sizeof *curves);
    struct isoflop_curve drawn[BUDGET_CURVES];
    budget_isoflop(law, flop, curves);
    for (uint32_t i = 0; i < BUDGET_CURVES; i++) {
        drawn[i] = (struct isoflop_curve){
            .name = budget_value_text(arena, BUDGET_FLOP, curves[i].flop),
            .parameters = curves[i].parameters,
            .loss = curves[i].loss,
            .count = BUDGET_CURVE_POINTS,
            .best_parameters = curves[i].best_parameters,
            .best_loss = curves[i].best_loss,
            .is_asked = i == BUDGET_CURVES / 2,
        };
    }
    const struct plot_request request = {
        .title = arena_printf(arena, "The same FLOPs for models of any size, by %s", law->name),
        .path_base = path_base};
    return plot_isoflop(arena, drawn, BUDGET_CURVES, &request, diag);
}
