/* Shares are of the sum of a path's parts, which is the step. */
#include "report/hangs.h"

#include "base/absent.h"
#include "base/arena.h"

#include <string.h>

static const double WORTH_A_COLUMN = 0.05; /* of a path */
static const double WORTH_A_WORD = 0.25;   /* of a path, of the second cause */
static const double ALIKE = 0.05;          /* points */
enum { NAMED_MAX = 3, SHOWN_MAX = 3, GIVES_WAY = 9 };

const char *hangs_name(struct arena *arena, enum cause cause)
{
    static const char before[] = "exposed ";
    static const char after[] = " communication";
    const char *title = cause_titles[cause];
    if (strncmp(title, before, strlen(before)) == 0) {
        title += strlen(before);
    }
    const size_t length = strlen(title);
    const bool has_end =
        length > strlen(after) && strcmp(title + length - strlen(after), after) == 0;
    return has_end ? arena_strndup(arena, title, length - strlen(after)) : title;
}

static double path_s(const struct store_row *row)
{
    double sum_s = 0;
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        sum_s += row->path_s[cause];
    }
    return sum_s;
}

double hangs_share(const struct store_row *row, enum cause cause)
{
    const double sum_s = path_s(row);
    return sum_s > 0 ? row->path_s[cause] / sum_s : 0;
}

/* The cause of the largest share but those before it in that order: the nth, from 0. */
static enum cause nth_cause(const struct store_row *row, uint32_t n)
{
    bool is_taken[CAUSE_COUNT_] = {false};
    uint32_t most = 0;
    for (uint32_t i = 0; i <= n; i++) {
        most = CAUSE_COUNT_;
        for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
            if (!is_taken[c] && (most == CAUSE_COUNT_ || row->path_s[c] > row->path_s[most])) {
                most = c;
            }
        }
        is_taken[most] = true;
    }
    return (enum cause)most;
}

const char *hangs_text(struct arena *arena, const struct store_row *row)
{
    const enum cause first = nth_cause(row, 0);
    const char *text =
        arena_printf(arena, "%s %.0f %%", hangs_name(arena, first), 100 * hangs_share(row, first));
    for (uint32_t n = 1; n < SHOWN_MAX; n++) {
        const enum cause cause = nth_cause(row, n);
        if (hangs_share(row, cause) >= WORTH_A_COLUMN) {
            text = arena_printf(arena, "%s, %s %.0f", text, hangs_name(arena, cause),
                                100 * hangs_share(row, cause));
        }
    }
    return text;
}

/* What most rows hang on, of rows that hang on anything. */
static enum cause usual_cause(const struct hangs_rows *of)
{
    uint32_t counts[CAUSE_COUNT_] = {0};
    uint32_t usual = 0;
    for (uint32_t i = 0; i < of->count; i++) {
        counts[nth_cause(&of->rows[of->order[i]], 0)]++;
    }
    for (uint32_t c = 1; c < CAUSE_COUNT_; c++) {
        usual = counts[c] > counts[usual] ? c : usual;
    }
    return (enum cause)usual;
}

struct named {
    const char *text;
    uint32_t count; /* of rows, of which the first NAMED_MAX are in the text */
};

static void name_one(struct arena *arena, struct named *named, const char *label, const char *on,
                     double share)
{
    if (named->count++ < NAMED_MAX) {
        named->text =
            arena_printf(arena, "%s%s%s on %s (%.0f %%)", named->text != NULL ? named->text : "",
                         named->text != NULL ? ", " : "", label, on, 100 * share);
    }
}

static const char *rest_of(struct arena *arena, const struct named *named)
{
    return named->count > NAMED_MAX
               ? arena_printf(arena, " and %u more", (unsigned)(named->count - NAMED_MAX))
               : "";
}

const char *hangs_sentence(struct arena *arena, const struct hangs_rows *of)
{
    if (of->count == 0) {
        return NULL;
    }
    const enum cause usual = usual_cause(of);
    double least = 1;
    double most = 0;
    struct named others = {NULL, 0};
    struct named seconds = {NULL, 0};
    for (uint32_t i = 0; i < of->count; i++) {
        const struct store_row *row = &of->rows[of->order[i]];
        const enum cause first = nth_cause(row, 0);
        const enum cause second = nth_cause(row, 1);
        const double share = hangs_share(row, first);
        if (first != usual) {
            name_one(arena, &others, row->label, hangs_name(arena, first), share);
            continue;
        }
        least = share < least ? share : least;
        most = share > most ? share : most;
        if (hangs_share(row, second) >= WORTH_A_WORD) {
            name_one(arena, &seconds, row->label, hangs_name(arena, second),
                     hangs_share(row, second));
        }
    }
    const bool is_one = 100 * (most - least) < 1;
    return arena_printf(arena, "%s on %s (%s%.0f %% of the critical path)%s%s%s%s%s%s",
                        of->count == 1 ? "it hangs" : "all hang", hangs_name(arena, usual),
                        is_one ? "" : arena_printf(arena, "%.0f to ", 100 * least), 100 * most,
                        others.count > 0 ? ", but " : "", others.count > 0 ? others.text : "",
                        rest_of(arena, &others), seconds.count > 0 ? "; also " : "",
                        seconds.count > 0 ? seconds.text : "", rest_of(arena, &seconds));
}

/* ---- columns of a table ---------------------------------------------------------------------- */

static void add_extremes(struct hangs *hangs, enum cause cause)
{
    double least = 1;
    double most = 0;
    for (uint32_t i = 0; i < hangs->of.count; i++) {
        const double share = hangs_share(&hangs->of.rows[hangs->of.order[i]], cause);
        least = share < least ? share : least;
        most = share > most ? share : most;
    }
    hangs->are_alike = hangs->are_alike && most - least <= ALIKE;
    if (most >= WORTH_A_COLUMN) {
        hangs->causes[hangs->count++] = cause;
    }
}

struct hangs hangs_of(struct arena *arena, const struct store_row *rows, uint32_t count)
{
    uint32_t *order = arena_array(arena, count, sizeof *order);
    struct hangs hangs = {.of = {rows, order, 0}, .are_alike = true};
    for (uint32_t i = 0; i < count; i++) {
        if (store_row_is_good(&rows[i]) && path_s(&rows[i]) > 0) {
            order[hangs.of.count++] = i;
        }
    }
    for (uint32_t c = 0; c < CAUSE_COUNT_; c++) {
        add_extremes(&hangs, (enum cause)c);
    }
    return hangs;
}

struct field *hangs_heads(struct arena *arena, const struct hangs *hangs, struct field *fields)
{
    for (uint32_t i = 0; i < hangs->count; i++) {
        *fields++ = (struct field){
            FIELD_RIGHT(arena_printf(arena, "%s %%", hangs_name(arena, hangs->causes[i])), "%.0f",
                        100),
            .csv = arena_printf(arena, "%s_share", cause_names[hangs->causes[i]]),
            .gives_way = GIVES_WAY,
            .is_for_programs = hangs->are_alike,
        };
    }
    return fields;
}

void hangs_cells(const struct hangs *hangs, const struct store_row *row, struct sheet *table)
{
    for (uint32_t i = 0; i < hangs->count; i++) {
        sheet_number(table, NULL,
                     store_row_is_good(row) ? hangs_share(row, hangs->causes[i]) : ABSENT);
    }
}

void hangs_say(const struct hangs *hangs, struct sheet *sheet)
{
    const char *sentence = hangs_sentence(sheet_arena(sheet), &hangs->of);
    if (sentence != NULL) {
        sheet_say(sheet, "%s\n", sentence);
    }
}
