/* In section 5 of `stoker explain`: for each stream of one GPU how much of its time was hidden,
 * beside what, and what ended the hiding.
 */
#include "report/explain/explain_sections.h"
#include "report/explain/explain_text.h"

#include "base/arena.h"
#include "des/event.h"
#include "train/overlap.h"

/* "forward 1.204, backward 0.310", with how many where that is known: "forward 3 x, 0.120". */
static const char *parts_text(struct arena *arena, const int64_t ns[OVERLAP_WORK_COUNT_],
                              const uint32_t *counts)
{
    const char *text = "";
    for (uint32_t work = 0; work < OVERLAP_WORK_COUNT_; work++) {
        if (ns[work] == 0) {
            continue;
        }
        const char *times =
            counts == NULL ? "" : arena_printf(arena, " %u x,", (unsigned)counts[work]);
        text = arena_printf(arena, "%s%s%s%s %.4f", text, text[0] == '\0' ? "" : "; ",
                            overlap_work_names[work], times, sim_time_to_s(ns[work]));
    }
    return text;
}

static void put_parts(struct sheet *in, const char *key, const int64_t ns[OVERLAP_WORK_COUNT_])
{
    struct sheet *parts = sheet_object(in, key);
    for (uint32_t work = 0; work < OVERLAP_WORK_COUNT_; work++) {
        sheet_number(parts, overlap_work_names[work], sim_time_to_s(ns[work]));
    }
}

static void put_stream(struct sheet *in, const char *name, const struct overlap_stream *stream)
{
    struct sheet *one = sheet_object(in, NULL);
    sheet_text(one, "stream", name);
    sheet_integer(one, "tasks", stream->tasks);
    sheet_number(one, "under_way_s", sim_time_to_s(stream->under_way_ns));
    sheet_number(one, "hidden_s", sim_time_to_s(overlap_sum(stream->beside_ns)));
    put_parts(one, "beside_s", stream->beside_ns);
    sheet_number(one, "waited_s", sim_time_to_s(overlap_sum(stream->waited_ns)));
    put_parts(one, "waited_before_s", stream->waited_ns);
    struct sheet *waits = sheet_object(one, "waits");
    for (uint32_t work = 0; work < OVERLAP_WORK_COUNT_; work++) {
        sheet_integer(waits, overlap_work_names[work], stream->waits[work]);
    }
}

static void say_stream(struct sheet *table, const char *name, const struct overlap_stream *stream)
{
    struct arena *arena = sheet_arena(table);
    sheet_text(table, NULL, arena_printf(arena, "  %s", name));
    sheet_integer(table, NULL, stream->tasks);
    sheet_number(table, NULL, sim_time_to_s(stream->under_way_ns));
    sheet_number(table, NULL, sim_time_to_s(overlap_sum(stream->beside_ns)));
    sheet_text(table, NULL, parts_text(arena, stream->beside_ns, NULL));
    sheet_number(table, NULL, sim_time_to_s(overlap_sum(stream->waited_ns)));
    sheet_text(table, NULL, parts_text(arena, stream->waited_ns, stream->waits));
}

static bool communicates(const struct overlap *overlap)
{
    bool has_tasks = false;
    for (uint32_t s = STREAM_COMPUTE + 1; s < STREAM_COUNT_; s++) {
        has_tasks |= overlap->streams[s].tasks > 0;
    }
    return has_tasks;
}

static void say_meaning(const struct overlap *overlap, struct sheet *in)
{
    explain_paragraph(in, 2,
                      "What hides communication, on a GPU of stage %u, which waits longest: under "
                      "way from when the GPU is there, its partners' delay in it; hidden while it "
                      "computes; waited for when nothing else is left to do.",
                      (unsigned)overlap->stage);
}

/* One GPU has no streams to tell of: then there is nothing to read, and in JSON an empty list. */
void explain_overlap(const struct explanation *explanation, struct sheet *in)
{
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("  stream")},
        {NULL, FIELD_COUNT("tasks")},
        {NULL, FIELD_RIGHT("under way s", "%.4f", 1)},
        {NULL, FIELD_RIGHT("hidden s", "%.4f", 1)},
        {NULL, FIELD_LEFT("beside")},
        {NULL, FIELD_RIGHT("waited s", "%.4f", 1)},
        {NULL, FIELD_LEFT("which ended with a")},
    };
    const struct engine_system *system = &explanation->system->engine;
    struct overlap overlap;
    overlap_simulate(explanation->arena, explanation->scenario, true, &overlap);
    struct sheet *object = sheet_object(in, "overlap");
    sheet_integer(object, "stage", overlap.stage);
    put_parts(object, "computing_s", overlap.computing_ns);
    struct sheet *streams = sheet_array(object, "streams");
    if (!communicates(&overlap)) {
        return;
    }
    say_meaning(&overlap, in);
    struct sheet *table = sheet_table(in, NULL, FIELD_LIST(fields));
    for (uint32_t s = STREAM_COMPUTE + 1; s < STREAM_COUNT_; s++) {
        if (overlap.streams[s].tasks > 0) {
            put_stream(streams, system->streams[s].name, &overlap.streams[s]);
            say_stream(table, system->streams[s].name, &overlap.streams[s]);
        }
    }
}
