/* Lines of a file of known steps: "stoker-steps 1 BUILD", then for each step its likeness, step_ns,
 * fits, two figures in FLOP and gpu_ns of each cause, then "end COUNT HASH". It is written under
 * another name first, so that a file that is there is whole, or was cut by a machine that failed.
 */
#include "measured/known_steps_file.h"

#include "base/arena.h"
#include "base/path.h"
#include "base/rng.h"
#include "input/doc/text_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 1 << 28, LINE_BYTES_MAX = 1024 };

/* ---- writing ---------------------------------------------------------------------------- */

/* One line, with its end. */
static void print_step(const struct known_entry *entry, char *line)
{
    const struct known_step *step = &entry->step;
    int at =
        snprintf(line, LINE_BYTES_MAX, "%016" PRIx64 " %" PRId64 " %d %a %a", entry->likeness,
                 step->step_ns, step->fits, step->flop_per_token_causal, step->peak_flop_per_s);
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        sim_assert(at > 0 && at < LINE_BYTES_MAX);
        at += snprintf(line + at, LINE_BYTES_MAX - (size_t)at, " %" PRId64, step->gpu_ns[cause]);
    }
    sim_assert(at > 0 && at + 1 < LINE_BYTES_MAX);
    line[at] = '\n';
    line[at + 1] = '\0';
}

/* What a file of steps is written from. */
struct steps_source {
    const struct known_entry *entries;
    uint32_t count;
    const char *build;
};

static bool write_lines(const void *context, FILE *out)
{
    const struct steps_source *source = context;
    char line[LINE_BYTES_MAX];
    snprintf(line, sizeof line, "stoker-steps 1 %s\n", source->build);
    uint64_t hash = 0;
    for (uint32_t i = 0;; i++) {
        hash = rng_hash_bytes(line, strlen(line), hash);
        if (fputs(line, out) < 0) {
            return false;
        }
        if (i == source->count) {
            break;
        }
        print_step(&source->entries[i], line);
    }
    return fprintf(out, "end %" PRIu32 " %016" PRIx64 "\n", source->count, hash) > 0;
}

bool known_steps_write(struct arena *arena, const struct known_steps *steps, const char *build,
                       const char *path, struct diag *diag)
{
    struct steps_source source = {.build = build};
    source.entries = known_steps_list(arena, steps, &source.count);
    const struct path_content content = {
        .write = write_lines,
        .context = &source,
        .remedy = "what it would hold is not lost to others: run this one again, to a place with "
                  "room",
    };
    return path_write_whole(arena, path, &content, diag);
}

/* ---- reading ---------------------------------------------------------------------------- */

/* A line that is as written gives the same line again. */
static bool read_step(const char *line, struct known_entry *entry)
{
    struct known_step *step = &entry->step;
    char *at;
    entry->likeness = strtoull(line, &at, 16);
    step->step_ns = strtoll(at, &at, 10);
    step->fits = strtol(at, &at, 10) != 0;
    step->flop_per_token_causal = strtod(at, &at);
    step->peak_flop_per_s = strtod(at, &at);
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        step->gpu_ns[cause] = strtoll(at, &at, 10);
    }
    char again[LINE_BYTES_MAX];
    print_step(entry, again);
    return strncmp(again, line, strlen(again)) == 0;
}

static bool refuse_part(struct diag *diag, const struct place *place)
{
    diag_add(diag, DIAG_INPUT, place, "this file of steps is not whole, or was changed");
    diag_help(diag, "run its shard again: `stoker validate ... --shard K/N --write-steps %s`",
              place->file);
    return false;
}

static bool check_build(const char *text, const char *build, const struct place *place,
                        struct diag *diag)
{
    static const char head[] = "stoker-steps 1 ";
    const size_t head_length = sizeof head - 1;
    const size_t build_length = strlen(build);
    if (strncmp(text, head, head_length) != 0) {
        diag_add(diag, DIAG_INPUT, place, "this is no file of steps");
        diag_help(diag, "`stoker validate --write-steps` writes one");
        return false;
    }
    if (strncmp(text + head_length, build, build_length) != 0 ||
        text[head_length + build_length] != '\n') {
        diag_add(diag, DIAG_INPUT, place, "these steps are of another version of stoker");
        diag_help(diag,
                  "run all shards with one version: this one's sources are %.8s, those of "
                  "the file %.8s",
                  build, text + head_length);
        return false;
    }
    return true;
}

/* Of a line that is known to have an end. */
static const char *line_behind(const char *line)
{
    return line + strcspn(line, "\n") + 1;
}

bool known_steps_read(struct arena *arena, struct known_steps *steps, const char *build,
                      const char *path, struct diag *diag)
{
    struct text_file file;
    if (!text_file_load(arena, path, FILE_BYTES_MAX, &file, diag)) {
        return false;
    }
    const struct place place = {.file = path};
    if (!check_build(file.text, build, &place, diag)) {
        return false;
    }
    const char *line = line_behind(file.text);
    uint64_t hash = rng_hash_bytes(file.text, (size_t)(line - file.text), 0);
    uint32_t count = 0;
    for (; strncmp(line, "end ", 4) != 0; count++) {
        struct known_entry entry;
        if (!read_step(line, &entry)) {
            return refuse_part(diag, &place);
        }
        known_steps_add(steps, entry.likeness, &entry.step);
        const char *next = line_behind(line);
        hash = rng_hash_bytes(line, (size_t)(next - line), hash);
        line = next;
    }
    char end[64];
    snprintf(end, sizeof end, "end %" PRIu32 " %016" PRIx64 "\n", count, hash);
    return strcmp(line, end) == 0 || refuse_part(diag, &place);
}
