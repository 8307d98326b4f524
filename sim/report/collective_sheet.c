/* A row for each size; single messages have a column where they were asked for. */
#include "report/collective_sheet.h"

#include "base/units.h"

static void add_algorithm(struct sheet *in, const char *key, const void *record)
{
    const struct collective_row *row = record;
    (void)key;
    sheet_say(in, "%s%s", row->algorithm, row->outcome.quote.is_extrapolated ? " *" : "");
}

static void add_sends_shown(struct sheet *in, const char *key, const void *record)
{
    const struct collective_row *row = record;
    if (row->has_sends) {
        sheet_number(in, key, sim_time_to_s(row->sends.end));
    } else {
        sheet_null_as(in, key, "none");
    }
}

/* Of what was not simulated, no member. */
static void add_sends(struct sheet *in, const char *key, const void *record)
{
    const struct collective_row *row = record;
    if (row->has_sends) {
        sheet_number(in, key, sim_time_to_s(row->sends.end));
    } else {
        sheet_nothing(in);
    }
}

static void add_messages(struct sheet *in, const char *key, const void *record)
{
    const struct collective_row *row = record;
    if (row->has_sends) {
        sheet_integer(in, key, (int64_t)row->sends.messages);
    } else {
        sheet_nothing(in);
    }
}

struct sheet *collective_sheet_of(struct arena *arena, const struct collective_sheet *of)
{
    const struct field fields[] = {
        {"bytes", FIELD_AT(struct collective_row, bytes), FIELD_COUNT("bytes")},
        {"time_s", FIELD_AT(struct collective_row, outcome.time_s),
         FIELD_RIGHT("time us", "%.2f", 1e6)},
        {"algbw_bytes_per_s", FIELD_AT(struct collective_row, outcome.algbw_bytes_per_s),
         FIELD_RIGHT("algbw GB/s", "%.2f", 1e-9)},
        {"busbw_bytes_per_s", FIELD_AT(struct collective_row, outcome.busbw_bytes_per_s),
         FIELD_RIGHT("busbw GB/s", "%.2f", 1e-9)},
        {"algorithm", FIELD_AT(struct collective_row, algorithm)},
        {NULL, .add = add_algorithm, FIELD_LEFT("algorithm")},
        {"protocol", FIELD_AT(struct collective_row, outcome.quote.protocol),
         FIELD_NAMES(collective_protocol_names), FIELD_LEFT("protocol")},
        {NULL, .add = add_sends_shown,
         FIELD_RIGHT(of->has_single_sends ? "single sends us" : NULL, "%.2f", 1e6)},
        {"bottleneck", FIELD_AT(struct collective_row, bottleneck), FIELD_LEFT("bottleneck")},
        {"latency_s", FIELD_AT(struct collective_row, outcome.quote.latency_s)},
        {"phases", FIELD_AT(struct collective_row, outcome.quote.phase_count)},
        {"extrapolated", FIELD_AT(struct collective_row, outcome.quote.is_extrapolated)},
        {"single_sends_s", .add = add_sends},
        {"single_sends", .add = add_messages},
    };
    const char *operation = collective_operation_names[of->operation];
    struct sheet *sheet = sheet_new(arena, "stoker.collective/1");
    sheet_text(sheet, "operation", operation);
    sheet_text(sheet, "cluster", of->setting->cluster.name);
    sheet_text(sheet, "library", of->setting->library.name);
    sheet_integer(sheet, "gpus", of->gpus);
    sheet_integer(sheet, "nvlink_domains", of->setting->group.nodes);
    sheet_say(sheet, "# %s over %lld GPUs on %u NVLink domain(s) of %s, %s\n\n", operation,
              (long long)of->gpus, of->setting->group.nodes, of->setting->cluster.name,
              of->setting->library.name);
    sheet_rows(sheet_table(sheet, "rows", FIELD_LIST(fields)), of->rows, of->count,
               sizeof *of->rows);
    for (uint32_t i = 0; i < of->count; i++) {
        if (of->rows[i].outcome.quote.is_extrapolated) {
            sheet_say(sheet, "\n* outside the sizes that the library's constants were fitted to\n");
            break;
        }
    }
    return sheet;
}

void collective_warn_of_choice(const struct collective_choice *asked,
                               const struct collective_sheet *of, struct diag *diag)
{
    if (of->count == 0) {
        return;
    }
    const struct transfer_quote *quote = &of->rows[0].outcome.quote;
    const enum collective_algorithm ran = quote->algorithm;
    const uint32_t forced = asked->algorithm;
    const uint32_t protocol = asked->protocol;
    if (!tuner_is_asked(forced, ran)) {
        diag_add(diag, DIAG_WARNING, NULL, "%s is not offered for %s over these GPUs; %s ran",
                 collective_algorithm_names[forced], collective_operation_names[of->operation],
                 collective_algorithm_names[ran]);
    } else if (protocol != COLLECTIVE_ANY && protocol != (uint32_t)quote->protocol) {
        diag_add(diag, DIAG_WARNING, NULL, "%s is not offered for %s over these GPUs; %s ran",
                 collective_protocol_names[protocol], collective_operation_names[of->operation],
                 collective_protocol_names[quote->protocol]);
    }
}
