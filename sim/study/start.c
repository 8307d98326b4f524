/* A scenario of few words is searched as any other; what it does not say is what is usual.
 *
 * The batch is about BATCH_TOKENS a step, in whole multiples of what any layout divides it into.
 */
#include "study/start.h"

#include "base/absent.h"
#include "base/arena.h"
#include "input/doc/doc.h"
#include "input/scenario.h"
#include "input/study/title.h"
#include "study/search/search_software.h"
#include "study/search/search_study.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SEQUENCE_MAX = 8192, EVERY_REPLICA_MAX = 1024, FEWER_REPLICAS = 8 };
#define BATCH_TOKENS \
    4194304.0 /* ASSUMES: 4 Mi tokens a step, as models of 2023 to 2025 are trained */

/* ---- what is asked of the search ------------------------------------------------------------ */

/* Beside what is usual of a layout (study/search/search_space). Of these a step may be searched in
 * seconds; others are for whoever asks for them. */
static const char space[] = "search: {parallel: {cp: [1], tp: all}}\n";

/* Layouts that are simulated, times their GPUs: of a million GPUs the eight layouts of the search's
 * first batch, of thousands as many as the gap takes. */
#define SIMULATED_GPUS_MAX 4e6

const char *start_scalar(struct arena *arena, const char *text)
{
    if (text[0] != '\0' && text[0] != '-' && text[0] != '?' &&
        strpbrk(text, ":#\"'{}[],&*!|>%@`\\\n\t") == NULL) {
        return text;
    }
    const char *quoted = "\"";
    for (const char *next = text; *next != '\0'; next++) {
        quoted = arena_printf(arena, "%s%s%c", quoted, strchr("\"\\", *next) ? "\\" : "", *next);
    }
    return arena_printf(arena, "%s\"", quoted);
}

static const struct doc_node *document_of(const struct start_asked *asked,
                                          const struct start_found *start, struct diag *diag)
{
    struct arena *arena = asked->arena;
    const char *length = start->sequence > 0
                             ? arena_printf(arena, ", sequence_length: %" PRId64, start->sequence)
                             : "";
    const char *software =
        asked->software != NULL
            ? arena_printf(arena, "software: %s\n", start_scalar(arena, asked->software))
            : "";
    const char *text = arena_printf(
        arena,
        "scenario: new\nmodel: %s\ncluster: %s\ngpus: %" PRId64
        "\n%sprecision: %s\nbatch: {global: %" PRId64 "%s}\nrun: {tokens: %.17g}\n%s",
        start_scalar(arena, asked->model), start_scalar(arena, asked->cluster), asked->gpus,
        software, start->precision, start->global, length, asked->tokens, space);
    return doc_parse(arena, "stoker new", text, strlen(text), diag);
}

/* Sequences of about BATCH_TOKENS, a multiple of all GPUs or, of many, of an eighth of them: a
 * replica of a model that needs so many has eight GPUs at least. */
static int64_t usual_global(const struct start_asked *asked, int64_t sequence)
{
    const int64_t gpus = asked->gpus;
    const bool is_divided = gpus > EVERY_REPLICA_MAX && gpus % FEWER_REPLICAS == 0;
    const int64_t unit = is_divided ? gpus / FEWER_REPLICAS : gpus;
    const double wanted =
        fmax(BATCH_TOKENS / (double)sequence, 1); /* long ones: one for each unit */
    return ((int64_t)wanted + unit - 1) / unit * unit;
}

/* Some scenario of these words, whose layout is any that divides; NULL, with messages. */
static const struct scenario *read(const struct start_asked *asked, const struct start_found *start,
                                   struct diag *diag)
{
    const struct doc_node *document = document_of(asked, start, diag);
    return document != NULL ? search_base(asked->arena, document, asked->base, diag) : NULL;
}

/* bf16, or what GPUs before it have. */
static const struct scenario *begin(const struct start_asked *asked, struct start_found *start,
                                    struct diag *diag)
{
    *start = (struct start_found){.precision = "bf16",
                                  .global = asked->global > 0 ? asked->global : asked->gpus,
                                  .sequence = asked->sequence};
    const struct scenario *scenario = read(asked, start, diag_new(asked->arena));
    if (scenario == NULL) {
        start->precision = "fp16";
        scenario = read(asked, start, diag_new(asked->arena));
    }
    if (scenario == NULL) {
        start->precision = "bf16";
        return read(asked, start, diag);
    }
    if (asked->sequence == 0) {
        const int64_t longest = scenario->batch.sequence_length;
        start->sequence = longest < SEQUENCE_MAX ? longest : SEQUENCE_MAX;
    }
    if (asked->global == 0) {
        start->global = usual_global(asked, start->sequence);
    }
    return scenario;
}

static bool goes_on(void *context, const struct search_state *state)
{
    const struct start_asked *asked = context;
    asked->shows(asked->context, state);
    if (asked->any_will_do && !is_absent(state->best)) {
        return false;
    }
    return (double)state->counts.simulated * (double)asked->gpus < SIMULATED_GPUS_MAX;
}

bool start_find(struct start_asked *asked, struct start_found *found, struct diag *diag)
{
    if (begin(asked, found, diag) == NULL) {
        return false;
    }
    const struct doc_node *document = document_of(asked, found, diag);
    const struct scenario *scenario =
        document != NULL ? search_base(asked->arena, document, asked->base, diag) : NULL;
    if (scenario == NULL ||
        !search_space_usual(asked->arena, document, scenario, &found->space, diag)) {
        return false;
    }
    found->title = title_generate(asked->arena, scenario);
    found->software = scenario->software.name;
    found->gpu_memory_bytes = scenario->gpu.memory_bytes;
    found->memory_margin = scenario->memory_margin;
    if (asked->base->any_software) {
        search_software_lift(&found->space);
    }
    const struct search_request request = {
        .space = &found->space,
        .by = SEARCH_BY_STEP,
        .gap = START_GAP,
        .folds = true,
        .goes_on = goes_on,
        .context = asked,
    };
    search_run(asked->arena, &request, &found->result);
    return true;
}
