/* Lines: "stoker-search 1 BUILD KEY K N", counts, what the software has not, the certificate, the
 * nearest layout, then one for each layout found, one of the near misses and one for each, the
 * failure if there is one, and "end LINES HASH". Doubles are in hexadecimal, which is exact; a line
 * that was read is printed again and compared, so that one that does not say what it holds is
 * refused.
 */
#include "study/search/search_part.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/path.h"
#include "base/rng.h"
#include "input/doc/text_file.h"
#include "input/scenario.h"
#include "study/search/search_space.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 28, COUNTS = 9, NUMBERS = 23 };
static const char failure_word[] = "failed ";
static const char near_word[] = "near ";
static const char lacking_word[] = "lacking ";

const char *search_part_key(struct arena *arena, const struct search_request *request)
{
    const struct search_space *space = request->space;
    const char *text =
        arena_printf(arena, "%s\n%s %a %a %d%s", space->base->resolved_text,
                     search_by_names[request->by], request->gap, request->near, request->folds,
                     request->require != NULL ? request->require->text : "");
    uint64_t hash = rng_hash_bytes(text, strlen(text), 0);
    for (uint32_t i = 0; i < SEARCH_AXIS_COUNT_; i++) {
        const struct search_values *values = &space->axes[i];
        hash = rng_hash_bytes(&i, sizeof i, hash);
        if (i != SEARCH_RECOMPUTE && values->count > 0) {
            hash = rng_hash_bytes(values->items, values->count * sizeof *values->items, hash);
        }
    }
    for (uint32_t i = 0; i < space->recompute_count; i++) {
        const int64_t numbers[] = {space->recomputes[i].kind, space->recomputes[i].modules,
                                   space->recomputes[i].layers};
        hash = rng_hash_bytes(numbers, sizeof numbers, hash);
    }
    hash = rng_hash_bytes(&space->allowed, sizeof space->allowed, hash);
    const uint64_t more = (uint64_t)space->has_every_count + 2 * (uint64_t)space->has_written_etp;
    return arena_printf(arena, "%016" PRIx64, hash + more);
}

/* ---- lines --------------------------------------------------------------------------------- */

static const char *counts_line(struct arena *arena, const struct search_result *result)
{
    const struct search_counts *counts = &result->counts;
    return arena_printf(arena,
                        "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                        " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
                        counts->layouts, counts->by_line, counts->by_memory, counts->by_count,
                        counts->by_bound, counts->missed, counts->simulated, counts->failed,
                        result->families);
}

static bool read_counts(const char *line, struct search_result *result)
{
    uint64_t numbers[COUNTS];
    char *at = (char *)line;
    for (uint32_t i = 0; i < COUNTS; i++) {
        numbers[i] = strtoull(at, &at, 10);
    }
    result->counts = (struct search_counts){numbers[0], numbers[1], numbers[2], numbers[3],
                                            numbers[4], numbers[5], numbers[6], numbers[7]};
    result->families = numbers[8];
    return true;
}

/* What the software has not: how many, and the bits of each list of features, of any and of all. */
static const char *lacking_line(struct arena *arena, const struct search_result *result)
{
    const char *line = arena_printf(arena, "%s%" PRIu64, lacking_word, result->lacking.layouts);
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        line = arena_printf(arena, "%s %" PRIx32 " %" PRIx32, line, result->lacking.any.lists[i],
                            result->lacking.all.lists[i]);
    }
    return arena_printf(arena, "%s\n", line);
}

static void read_lacking(const char *line, struct search_result *result)
{
    char *at = (char *)line + sizeof lacking_word - 1;
    result->lacking.layouts = strtoull(at, &at, 10);
    for (uint32_t i = 0; i < FEATURE_LIST_COUNT_; i++) {
        result->lacking.any.lists[i] = (uint32_t)strtoul(at, &at, 16);
        result->lacking.all.lists[i] = (uint32_t)strtoul(at, &at, 16);
    }
}

/* In hexadecimal, so that no digit is lost; what does not exist (ABSENT) is written as "nan". */
static const char *certificate_line(struct arena *arena, const struct search_result *result)
{
    return arena_printf(arena, "%d %a %a %a\n", result->is_certified, result->best, result->least,
                        result->nearest_bytes);
}

static double read_double(char **at)
{
    const double value = strtod(*at, at);
    return is_absent(value) ? ABSENT : value;
}

static bool read_certificate(const char *line, struct search_result *result)
{
    char *at = (char *)line;
    result->is_certified = strtol(at, &at, 10) != 0;
    result->best = read_double(&at);
    result->least = read_double(&at);
    result->nearest_bytes = read_double(&at);
    return true;
}

static const char *found_line(struct arena *arena, const struct search_found *found)
{
    const struct relayout *layout = &found->layout;
    const int64_t numbers[NUMBERS] = {layout->tp,
                                      layout->cp,
                                      layout->pp,
                                      layout->ep,
                                      layout->etp,
                                      layout->virtual_stages,
                                      layout->schedule,
                                      layout->zero,
                                      layout->micro,
                                      layout->is_sequence_parallel,
                                      layout->recompute.kind,
                                      layout->recompute.modules,
                                      layout->recompute.layers,
                                      layout->offload.activation_layers,
                                      layout->context,
                                      layout->reshard,
                                      layout->overlap,
                                      layout->zero_group,
                                      layout->microbatch_group,
                                      layout->ends[0],
                                      layout->ends[1],
                                      layout->layers,
                                      layout->order};
    const char *line = "";
    for (uint32_t i = 0; i < NUMBERS; i++) {
        line = arena_printf(arena, "%s%" PRId64 " ", line, numbers[i]);
    }
    return arena_printf(arena, "%s%a %a %a %a %a\n", line, layout->offload.optimizer, found->value,
                        found->least, found->step_s, found->memory_bytes);
}

static void read_found(const char *line, struct search_found *found)
{
    int64_t numbers[NUMBERS];
    char *at = (char *)line;
    for (uint32_t i = 0; i < NUMBERS; i++) {
        numbers[i] = strtoll(at, &at, 10);
    }
    *found = (struct search_found){
        .layout = {.tp = numbers[0],
                   .cp = numbers[1],
                   .pp = numbers[2],
                   .ep = numbers[3],
                   .etp = numbers[4],
                   .virtual_stages = numbers[5],
                   .schedule = (uint32_t)numbers[6],
                   .zero = numbers[7],
                   .micro = numbers[8],
                   .is_sequence_parallel = numbers[9] != 0,
                   .recompute = {.kind = (uint32_t)numbers[10],
                                 .modules = (uint32_t)numbers[11],
                                 .layers = numbers[12]},
                   .offload = {.activation_layers = numbers[13]},
                   .context = (uint32_t)numbers[14],
                   .reshard = (uint32_t)numbers[15],
                   .overlap = (uint32_t)numbers[16],
                   .zero_group = numbers[17],
                   .microbatch_group = numbers[18],
                   .ends = {numbers[19], numbers[20]},
                   .layers = numbers[21],
                   .order = (uint32_t)numbers[22]},
    };
    found->layout.offload.optimizer = strtod(at, &at);
    found->value = strtod(at, &at);
    found->least = strtod(at, &at);
    found->step_s = strtod(at, &at);
    found->memory_bytes = strtod(at, &at);
}

static const char *near_line(struct arena *arena, const struct search_near *near)
{
    const struct search_counts *counts = &near->counts;
    return arena_printf(
        arena, "%s%" PRIu32 " %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
        near_word, near->count, near->is_certified, counts->layouts, counts->by_count,
        counts->by_bound, counts->simulated, counts->failed);
}

static void read_near(const char *line, struct search_near *near)
{
    char *at = (char *)line + sizeof near_word - 1;
    *near = (struct search_near){.count = (uint32_t)strtoul(at, &at, 10)};
    near->is_certified = strtol(at, &at, 10) != 0;
    near->counts.layouts = strtoull(at, &at, 10);
    near->counts.by_count = strtoull(at, &at, 10);
    near->counts.by_bound = strtoull(at, &at, 10);
    near->counts.simulated = strtoull(at, &at, 10);
    near->counts.failed = strtoull(at, &at, 10);
}

static const char *head_line(struct arena *arena, const struct search_part_origin *origin,
                             struct shard shard)
{
    return arena_printf(arena, "stoker-search 1 %s %s %" PRIu32 " %" PRIu32 "\n", origin->build,
                        origin->key, shard.number, shard.count);
}

/* ---- writing ------------------------------------------------------------------------------- */

/* What is written, and the hash of it. */
struct output {
    FILE *out;
    uint64_t hash;
    uint32_t lines;
    bool is_good;
};

static void put(struct output *output, const char *line)
{
    output->hash = rng_hash_bytes(line, strlen(line), output->hash);
    output->lines++;
    output->is_good = output->is_good && fputs(line, output->out) >= 0;
}

/* What a file of a part is written from. */
struct part_source {
    struct arena *arena;
    const struct search_part *part;
    const struct search_part_origin *origin;
};

static bool put_part(const void *context, FILE *out)
{
    const struct part_source *source = context;
    struct arena *arena = source->arena;
    const struct search_result *result = &source->part->result;
    const struct search_found nearest = {.layout = result->nearest};
    struct output output = {.out = out, .is_good = true};
    put(&output, head_line(arena, source->origin, source->part->shard));
    put(&output, counts_line(arena, result));
    put(&output, lacking_line(arena, result));
    put(&output, certificate_line(arena, result));
    put(&output, found_line(arena, &nearest));
    for (uint32_t i = 0; i < result->found_count; i++) {
        put(&output, found_line(arena, &result->found[i]));
    }
    put(&output, near_line(arena, &result->near));
    for (uint32_t i = 0; i < result->near.count; i++) {
        put(&output, found_line(arena, &result->near.found[i]));
    }
    if (result->failure != NULL) {
        put(&output, arena_printf(arena, "%s%.*s\n", failure_word,
                                  (int)strcspn(result->failure, "\n"), result->failure));
    }
    return output.is_good &&
           fprintf(out, "end %" PRIu32 " %016" PRIx64 "\n", output.lines, output.hash) > 0;
}

bool search_part_write(struct arena *arena, const struct search_part *part,
                       const struct search_part_origin *origin, const char *path, struct diag *diag)
{
    const struct part_source source = {arena, part, origin};
    const struct path_content content = {
        .write = put_part,
        .context = &source,
        .remedy = "other shards are not lost by that: run this one again, to a place with room",
    };
    return path_write_whole(arena, path, &content, diag);
}

/* ---- reading ------------------------------------------------------------------------------- */

/* What is read, line by line. */
struct source {
    struct arena *arena;
    const char *line; /* that is next */
    uint64_t hash;
    uint32_t lines;
};

/* Whether the next line is that one. */
static bool is_next(const struct source *source, const char *line)
{
    return strncmp(source->line, line, strlen(line)) == 0;
}

static void pass(struct source *source)
{
    const size_t length = strcspn(source->line, "\n") + (strchr(source->line, '\n') != NULL);
    source->hash = rng_hash_bytes(source->line, length, source->hash);
    source->line += length;
    source->lines++;
}

static bool pass_found(struct source *source, struct search_found *found)
{
    read_found(source->line, found);
    if (!is_next(source, found_line(source->arena, found))) {
        return false;
    }
    pass(source);
    return true;
}

static bool pass_near(struct source *source, struct search_near *near)
{
    read_near(source->line, near);
    if (!is_next(source, near_line(source->arena, near))) {
        return false;
    }
    pass(source);
    size_t capacity = 0;
    for (uint32_t i = 0; i < near->count; i++) {
        near->found =
            arena_grow(source->arena, near->found, &capacity, i + (size_t)1, sizeof *near->found);
        if (!pass_found(source, &near->found[i])) {
            return false;
        }
    }
    return true;
}

static bool read_result(struct source *source, struct search_result *result)
{
    struct arena *arena = source->arena;
    size_t capacity = 0;
    struct search_found nearest;
    *result = (struct search_result){.gap = ABSENT};
    if (!read_counts(source->line, result) || !is_next(source, counts_line(arena, result))) {
        return false;
    }
    pass(source);
    if (!is_next(source, lacking_word)) {
        return false;
    }
    read_lacking(source->line, result);
    if (!is_next(source, lacking_line(arena, result))) {
        return false;
    }
    pass(source);
    if (!read_certificate(source->line, result) ||
        !is_next(source, certificate_line(arena, result))) {
        return false;
    }
    pass(source);
    if (!pass_found(source, &nearest)) {
        return false;
    }
    result->nearest = nearest.layout;
    while (!is_next(source, near_word)) {
        result->found = arena_grow(arena, result->found, &capacity, result->found_count + (size_t)1,
                                   sizeof *result->found);
        if (!pass_found(source, &result->found[result->found_count++])) {
            return false;
        }
    }
    if (!pass_near(source, &result->near)) {
        return false;
    }
    if (is_next(source, failure_word)) {
        const char *text = source->line + sizeof failure_word - 1;
        result->failure = arena_strndup(arena, text, strcspn(text, "\n"));
        pass(source);
    }
    return true;
}

static bool check_origin(const struct source *source, const struct search_part_origin *origin,
                         const struct place *place, struct diag *diag)
{
    if (!is_next(source, "stoker-search 1 ")) {
        diag_add(diag, DIAG_INPUT, place, "this is no part of a search");
        diag_help(diag, "`stoker search FILE --shard K/N --write-found` writes one");
        return false;
    }
    if (!is_next(source, arena_printf(source->arena, "stoker-search 1 %s ", origin->build))) {
        diag_add(diag, DIAG_INPUT, place, "this part is of another version of stoker");
        diag_help(diag, "run all shards with one version: this one's sources are %.8s",
                  origin->build);
        return false;
    }
    if (!is_next(source, arena_printf(source->arena, "stoker-search 1 %s %s ", origin->build,
                                      origin->key))) {
        diag_add(diag, DIAG_INPUT, place, "this part is of another search");
        diag_help(diag, "its scenario, catalogue, space, --by, --gap, --fold or --set differs; run "
                        "all shards with the same");
        return false;
    }
    return true;
}

bool search_part_read(struct arena *arena, const char *path,
                      const struct search_part_origin *origin, struct search_part *part,
                      struct diag *diag)
{
    struct text_file file;
    if (!text_file_load(arena, path, FILE_BYTES_MAX, &file, diag)) {
        return false;
    }
    const struct place place = {.file = path};
    struct source source = {.arena = arena, .line = file.text};
    if (!check_origin(&source, origin, &place, diag)) {
        return false;
    }
    const char *at = file.text + strlen(arena_printf(arena, "stoker-search 1 %s %s ", origin->build,
                                                     origin->key));
    char *end;
    part->shard.number = (uint32_t)strtoul(at, &end, 10);
    part->shard.count = (uint32_t)strtoul(end, &end, 10);
    bool is_whole = is_next(&source, head_line(arena, origin, part->shard)) &&
                    part->shard.number >= 1 && part->shard.number <= part->shard.count;
    if (is_whole) {
        pass(&source);
        is_whole = read_result(&source, &part->result) &&
                   strcmp(source.line, arena_printf(arena, "end %" PRIu32 " %016" PRIx64 "\n",
                                                    source.lines, source.hash)) == 0;
    }
    if (!is_whole) {
        diag_add(diag, DIAG_INPUT, &place, "this part of a search is not whole, or was changed");
        diag_help(diag, "run its shard again: `stoker search ... --shard K/N --write-found %s`",
                  path);
    }
    return is_whole;
}

/* ---- several of them ------------------------------------------------------------------------- */

static bool take_part(struct arena *arena, struct search_parts *parts,
                      const struct search_part *part, const char *path, struct diag *diag)
{
    if (parts->items == NULL) {
        parts->count = part->shard.count;
        parts->items = arena_array(arena, part->shard.count, sizeof *parts->items);
        memset(parts->items, 0, part->shard.count * sizeof *parts->items);
    }
    if (part->shard.count != parts->count) {
        const struct place place = {.file = path};
        diag_add(diag, DIAG_INPUT, &place,
                 "this part is one of %" PRIu32 ", those before it of %" PRIu32, part->shard.count,
                 parts->count);
        diag_help(diag, "join the shards of one division");
        return false;
    }
    if (part->result.counts.failed == 0) {            /* else it is tried again */
        parts->items[part->shard.number - 1] = *part; /* again the same, if it comes twice */
    }
    return true;
}

bool search_parts_read(struct arena *arena, const struct search_parts_files *files,
                       const struct search_part_origin *origin, struct search_parts *parts,
                       struct diag *diag)
{
    *parts = (struct search_parts){.count = 0};
    uint32_t known = 0;
    for (uint32_t i = 0; i < files->count; i++) {
        const char *path = files->paths[i];
        struct search_part part;
        if (!search_part_read(arena, path, origin, &part, diag) ||
            !take_part(arena, parts, &part, path, diag)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < parts->count; i++) {
        known += parts->items[i].shard.number > 0;
    }
    if (known < parts->count) {
        diag_add(diag, DIAG_NOTE, NULL,
                 "%" PRIu32 " of %" PRIu32
                 " parts are in none of the files of --read-found, or had "
                 "lost layouts; they are searched here",
                 parts->count - known, parts->count);
    }
    return true;
}

void search_parts_run(struct arena *arena, const struct search_parts *parts,
                      const struct search_request *asked, struct search_result *whole)
{
    const uint32_t count = parts->count;
    struct search_result *results = arena_array(arena, count, sizeof *results);
    struct search_request request = *asked;
    for (uint32_t i = 0; i < count; i++) {
        const struct search_part *part = &parts->items[i];
        request.shard = (struct shard){i + 1, count};
        if (part->shard.number > 0) {
            results[i] = part->result;
        } else {
            search_run(arena, &request, &results[i]);
        }
    }
    search_join(arena, results, count, asked->gap, whole);
}
