/* The answer comes first, in words; then tables, what moves most on top. A table's figures have
 * signs: they are what is more in B.
 */
#include "report/study/diff_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "report/builds.h"
#include "report/numbers.h"
#include "report/time_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { NAME_WIDTH = 33, VALUE_WIDTH = 12, WIDE_VALUE = 24, LABEL_WIDTH = 40, KEYS_SHOWN = 8 };
#define LEAST_SHARE 5e-4 /* of a step or a run: what is less moves nothing */

/* ---- numbers ------------------------------------------------------------------------------ */

/* "+1,234", "-0.087"; "0" for what rounds to it, "-" for what is not known. */
static const char *signed_text(struct arena *arena, double more, int decimals)
{
    if (is_absent(more)) {
        return "-";
    }
    const double unit = pow(10, -decimals);
    if (fabs(more) < unit / 2) {
        return "0";
    }
    return decimals == 0 ? arena_printf(arena, "%s%s", more > 0 ? "+" : "-",
                                        number_grouped(arena, fabs(more)))
                         : arena_printf(arena, "%+.*f", decimals, more);
}

static const char *share_text(struct arena *arena, double a, double b)
{
    return is_absent(a) || is_absent(b) || !(a > 0)
               ? "-"
               : arena_printf(arena, "%+.2f", 100 * (b / a - 1));
}

static double more(double a, double b)
{
    return is_absent(a) || is_absent(b) ? ABSENT : b - a;
}

/* ---- the answer --------------------------------------------------------------------------- */

static void say_figure(struct sheet *sheet, const char *what, double a, double b,
                       const char *(*text)(struct arena *arena, double value))
{
    struct arena *arena = sheet_arena(sheet);
    if (is_absent(a) || is_absent(b)) {
        return;
    }
    const char *share = a > 0 ? arena_printf(arena, " (%+.2f %%)", 100 * (b / a - 1)) : "";
    if (fabs(b - a) <= 0.0) {
        sheet_say(sheet, "  %s  %s, as before\n", what, text(arena, a));
    } else {
        sheet_say(sheet, "  %s  %s, was %s%s\n", what, text(arena, b), text(arena, a), share);
    }
}

static const char *days_text(struct arena *arena, double days)
{
    return arena_printf(arena, "%.2f", days);
}

static const char *usd_text(struct arena *arena, double usd)
{
    return number_grouped(arena, usd);
}

static const char *step_text(struct arena *arena, double step_s)
{
    return arena_printf(arena, "%.4g s", step_s);
}

/* Which of the two is to blame for most of it. */
static void say_cause(const struct diff_found *found, struct sheet *sheet)
{
    const bool has_run = !is_absent(found->told[0].days) && !is_absent(found->told[1].days);
    const double whole = has_run ? found->told[1].days - found->told[0].days
                                 : found->told[1].step_s - found->told[0].step_s;
    const double program = has_run ? found->program.days : found->program.step_s;
    const char *unit = has_run ? "days" : "s a step";
    struct arena *arena = sheet_arena(sheet);
    if (found->problem != NULL) {
        sheet_say(sheet, "what moved it cannot be simulated: %s\n", found->problem);
        return;
    }
    const struct diff_worth *first = found->worth_count > 0 ? &found->worths[0] : NULL;
    const double moves = first == NULL ? ABSENT : has_run ? first->moves.days : first->moves.step_s;
    sheet_say(sheet, "inputs %s, the program %s of %s %s", signed_text(arena, whole - program, 3),
              signed_text(arena, program, 3), signed_text(arena, whole, 3), unit);
    if (first != NULL && !is_absent(moves) && fabs(moves) > 0) {
        sheet_say(sheet, "; most of all %s (%s)", sheet_shortened(arena, first->name, NAME_WIDTH),
                  signed_text(arena, moves, 3));
    }
    sheet_say(sheet, "\n");
}

static void add_side(const struct diff_side *side, const struct diff_figures *told,
                     const struct diff_figures *now, const char *letter, struct sheet *sheet)
{
    struct sheet *object = sheet_object(sheet, letter);
    const struct store_row *row = side->told;
    sheet_text(object, "name", side->name);
    sheet_text(object, "key", row->key);
    sheet_text(object, "title", row->title);
    sheet_text(object, "build", row->build);
    sheet_number(object, "step_s", told->step_s);
    sheet_number(object, "days", told->days);
    sheet_number(object, "cost_usd", told->usd);
    struct sheet *by_this = sheet_object(object, "by_this_build");
    sheet_number(by_this, "step_s", now->step_s);
    sheet_number(by_this, "days", now->days);
    sheet_number(by_this, "cost_usd", now->usd);
    sheet_say(sheet, "%s  %s: %s, build %.*s\n", strcmp(letter, "a") == 0 ? "A" : "B", side->name,
              sheet_shortened(sheet_arena(sheet), row->title, LABEL_WIDTH), BUILDS_DIGITS,
              row->build);
}

static void add_answer(const struct diff_asked *asked, const struct diff_found *found,
                       struct sheet *sheet)
{
    const struct diff_figures *a = &found->told[0], *b = &found->told[1];
    const bool is_same = !(fabs(more(a->step_s, b->step_s)) > 0) &&
                         !(fabs(more(a->days, b->days)) > 0) && !(fabs(more(a->usd, b->usd)) > 0);
    const bool fits[2] = {!is_absent(a->step_s), !is_absent(b->step_s)};
    sheet_say(sheet, "%s\n",
              fits[0] != fits[1] ? (fits[1] ? "A does not fit into memory, B does"
                                            : "B does not fit into memory, A does")
              : !fits[0]         ? "neither A nor B fits into memory"
              : is_same          ? "B is as A"
                                 : "B is not as A");
    say_figure(sheet, "days", a->days, b->days, days_text);
    say_figure(sheet, "USD ", a->usd, b->usd, usd_text);
    say_figure(sheet, "step", a->step_s, b->step_s, step_text);
    say_cause(found, sheet);
    sheet_say(sheet, "\n");
    for (uint32_t i = 0; i < 2; i++) {
        add_side(&asked->sides[i], &found->told[i], &found->now[i], i == 0 ? "a" : "b", sheet);
    }
    sheet_say(sheet, "\n");
}

/* ---- what moved it ------------------------------------------------------------------------ */

static void add_figures(struct sheet *table, const struct diff_figures *figures)
{
    struct arena *arena = sheet_arena(table);
    const struct {
        double value;
        int decimals;
    } cells[] = {{figures->days, 3}, {figures->usd, 0}, {figures->step_s, 4}};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        sheet_number_as(table, NULL, cells[i].value,
                        signed_text(arena, cells[i].value, cells[i].decimals));
    }
}

static void add_row(struct sheet *table, const char *name, const char *kind,
                    const char *const values[2], const struct diff_figures *moves)
{
    struct arena *arena = sheet_arena(table);
    sheet_text_as(table, NULL, name, sheet_shortened(arena, name, NAME_WIDTH));
    for (uint32_t side = 0; side < 2; side++) {
        sheet_text_as(table, NULL, values[side], sheet_shortened(arena, values[side], VALUE_WIDTH));
    }
    add_figures(table, moves);
    sheet_text(table, NULL, kind);
}

/* In JSON, with whole names and values. */
static void add_inputs(const struct diff_found *found, struct sheet *sheet)
{
    struct sheet *inputs = sheet_array(sheet, "inputs");
    for (uint32_t i = 0; i < found->worth_count; i++) {
        const struct diff_worth *worth = &found->worths[i];
        const struct {
            const char *key;
            const struct diff_figures *figures;
        } parts[] = {{"moves", &worth->moves}, {"alone_in_a", &worth->alone}};
        struct sheet *object = sheet_object(inputs, NULL);
        sheet_text(object, "name", worth->name);
        sheet_text(object, "kind", diff_kind_names[worth->input->kind]);
        sheet_text(object, "a", worth->input->values[0]);
        sheet_text(object, "b", worth->input->values[1]);
        for (size_t k = 0; k < 2; k++) {
            struct sheet *part = sheet_object(object, parts[k].key);
            sheet_number(part, "step_s", parts[k].figures->step_s);
            sheet_number(part, "days", parts[k].figures->days);
            sheet_number(part, "cost_usd", parts[k].figures->usd);
        }
    }
    const struct {
        const char *key;
        const struct diff_figures *figures;
    } rest[] = {{"together", &found->together}, {"program", &found->program}};
    for (size_t k = 0; k < 2; k++) {
        struct sheet *part = sheet_object(sheet, rest[k].key);
        sheet_number(part, "step_s", rest[k].figures->step_s);
        sheet_number(part, "days", rest[k].figures->days);
        sheet_number(part, "cost_usd", rest[k].figures->usd);
    }
    sheet_text(sheet, "shared_by",
               found->problem != NULL ? NULL
               : found->is_exact      ? "shapley"
                                      : "mean of first and last");
    sheet_integer(sheet, "simulated", found->simulated);
    sheet_text(sheet, "problem", found->problem);
}

/* Too little to be told of a step or a run that takes so much; so is what is not there. */
static bool is_little(double moved, double of)
{
    return is_absent(moved) || is_absent(of) || fabs(moved) <= LEAST_SHARE / 100 * fabs(of);
}

/* What cannot be had without others is something. */
static bool moves_nothing(const struct diff_found *found, const struct diff_figures *moves)
{
    const struct diff_figures *of = &found->told[0];
    return !is_absent(moves->step_s) && is_little(moves->step_s, of->step_s) &&
           is_little(moves->days, of->days) && is_little(moves->usd, of->usd);
}

static struct sheet *moves_table(struct sheet *sheet)
{
    static const struct field fields[] = {
        {NULL, FIELD_LEFT("what moved it"), .csv = "name"},
        {NULL, FIELD_LEFT("A"), .csv = "a"},
        {NULL, FIELD_LEFT("B"), .csv = "b"},
        {NULL, FIELD_COUNT("days"), .csv = "days"},
        {NULL, FIELD_COUNT("USD"), .csv = "cost_usd"},
        {NULL, FIELD_COUNT("step s"), .csv = "step_s"},
        {NULL, FIELD_LEFT("call"), .csv = "kind"},
    };
    return sheet_table(sheet, NULL, FIELD_LIST(fields));
}

/* Inputs that moved something, and what no input moved. */
static void add_moves(const struct diff_asked *asked, const struct diff_found *found,
                      struct sheet *sheet)
{
    static const char *const nothing[] = {"", ""};
    struct arena *arena = sheet_arena(sheet);
    struct sheet *table = moves_table(sheet);
    const char *idle = "";
    uint32_t idle_count = 0;
    for (uint32_t i = 0; i < found->worth_count; i++) {
        const struct diff_worth *worth = &found->worths[i];
        if (moves_nothing(found, &worth->moves)) {
            idle = idle_count++ < KEYS_SHOWN
                       ? arena_printf(arena, "%s%s%s", idle, idle_count > 1 ? ", " : "",
                                      worth->input->name)
                       : idle;
            continue;
        }
        add_row(table, worth->name, diff_kind_names[worth->input->kind], worth->input->values,
                &worth->moves);
    }
    if (!moves_nothing(found, &found->together)) {
        add_row(table, "together, beyond these", "", nothing, &found->together);
    }
    const char *const builds[] = {arena_printf(arena, "%.8s", asked->sides[0].told->build),
                                  arena_printf(arena, "%.8s", asked->sides[1].told->build)};
    add_row(table, "the program", "build", builds, &found->program);
    if (idle_count > 0) {
        sheet_say(sheet, "moves nothing: %s%s\n", idle,
                  idle_count > KEYS_SHOWN
                      ? arena_printf(arena, " and %" PRIu32 " more", idle_count - KEYS_SHOWN)
                      : "");
    }
    if (found->worth_count > 1) {
        sheet_say(sheet, found->is_exact
                             ? "Shares are Shapley's: the mean over all orders of changing them, "
                               "simulated.\n"
                             : "Shares are the mean of what each moves in A alone and in B last, "
                               "simulated.\n");
    }
}

/* ---- where the time goes ------------------------------------------------------------------ */

static const double *parts_of(const struct store_row *row, bool is_account)
{
    return is_account ? row->account_s : row->breakdown_s;
}

/* Of a step by cause in seconds, or of the months by account in hours. */
static void add_parts(const struct diff_asked *asked, bool is_account, struct sheet *sheet)
{
    const struct field fields[] = {
        {"part", FIELD_LEFT(is_account ? "where the months go, hours" : "where the step goes, s")},
        {"a", FIELD_RIGHT("A", is_account ? "%.1f" : "%.4f", 1)},
        {"b", FIELD_RIGHT("B", is_account ? "%.1f" : "%.4f", 1)},
        {"moved", FIELD_COUNT("moved")},
    };
    const double unit = is_account ? 1 / SECONDS_PER_HOUR : 1;
    const uint32_t count = is_account ? ACCOUNT_COUNT_ : CAUSE_COUNT_;
    const struct store_row *a = asked->sides[0].told, *b = asked->sides[1].told;
    const double whole = is_account ? a->wall_clock_days * SECONDS_PER_DAY : a->step_s;
    struct sheet *table =
        sheet_table(sheet, is_account ? "accounts" : "causes", FIELD_LIST(fields));
    const bool has_both = !is_absent(is_account ? a->wall_clock_days : a->step_s) &&
                          !is_absent(is_account ? b->wall_clock_days : b->step_s);
    sheet_caption(table, "\n");
    for (uint32_t i = 0; has_both && i < count; i++) {
        const double of_a = parts_of(a, is_account)[i], of_b = parts_of(b, is_account)[i];
        const double least = LEAST_SHARE * whole;
        if (is_absent(of_a) || is_absent(of_b) || !(of_a > least || of_b > least)) {
            continue;
        }
        sheet_text(table, NULL, is_account ? account_names[i] : cause_titles[i]);
        sheet_number(table, NULL, of_a * unit);
        sheet_number(table, NULL, of_b * unit);
        const double moved = (of_b - of_a) * unit;
        sheet_number_as(table, NULL, moved,
                        signed_text(sheet_arena(sheet), moved, is_account ? 1 : 4));
    }
}

/* ---- constants ---------------------------------------------------------------------------- */

static const char *key_text(struct arena *arena, const struct diff_key *key, uint32_t side)
{
    if (key->values[side] == NULL) {
        return NULL;
    }
    struct doc_node alone = *key->values[side];
    alone.key = NULL;
    alone.next = NULL;
    return doc_to_text(arena, &alone);
}

static void add_constants(const struct diff_found *found, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    struct sheet *object = sheet_object(sheet, "constants");
    sheet_integer(object, "changed", found->inputs.constants);
    struct sheet *list = sheet_array(object, "keys");
    sheet_say(sheet, "\nconstants of the catalogue: %" PRIu32 " changed\n",
              found->inputs.constants);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < found->inputs.key_count; i++) {
        const struct diff_key *key = &found->inputs.keys[i];
        if (key->kind != DIFF_CONSTANT) {
            continue;
        }
        const char *a = key_text(arena, key, 0), *b = key_text(arena, key, 1);
        struct sheet *entry = sheet_object(list, NULL);
        sheet_text(entry, "key", key->path);
        sheet_text(entry, "a", a);
        sheet_text(entry, "b", b);
        if (shown++ < KEYS_SHOWN) {
            sheet_say(sheet, "  %s: %s, was %s\n", sheet_shortened(arena, key->path, LABEL_WIDTH),
                      sheet_shortened(arena, b != NULL ? b : "not there", WIDE_VALUE),
                      sheet_shortened(arena, a != NULL ? a : "not there", WIDE_VALUE));
        }
    }
    if (shown > KEYS_SHOWN) {
        sheet_say(sheet, "  and %" PRIu32 " more (--json has all)\n", shown - KEYS_SHOWN);
    }
}

void diff_add(const struct diff_asked *asked, const struct diff_found *found, struct sheet *sheet)
{
    add_answer(asked, found, sheet);
    add_inputs(found, sheet);
    if (found->problem == NULL) {
        add_moves(asked, found, sheet);
    }
    add_parts(asked, false, sheet);
    add_parts(asked, true, sheet);
    add_constants(found, sheet);
}

/* ---- many --------------------------------------------------------------------------------- */

static double moved_share(const struct diff_point *point)
{
    return point->rows[0] == NULL || point->rows[1] == NULL
               ? ABSENT
               : more(1, point->rows[1]->step_s / point->rows[0]->step_s);
}

/* A line of its own for what only one of them has. */
static void add_point(struct sheet *table, const struct diff_point *point)
{
    struct arena *arena = sheet_arena(table);
    struct diff_figures figures[2] = {DIFF_FIGURES_NONE, DIFF_FIGURES_NONE};
    for (uint32_t side = 0; side < 2; side++) {
        if (point->rows[side] != NULL) {
            figures[side] = diff_figures_of(point->rows[side]);
        }
    }
    const struct diff_figures *a = &figures[0], *b = &figures[1];
    sheet_text(table, NULL, point->label);
    sheet_number(table, NULL, a->step_s);
    sheet_number(table, NULL, b->step_s);
    sheet_number_as(table, NULL, is_absent(a->step_s) ? ABSENT : more(1, b->step_s / a->step_s),
                    share_text(arena, a->step_s, b->step_s));
    sheet_number_as(table, NULL, more(a->days, b->days),
                    signed_text(arena, more(a->days, b->days), 3));
    sheet_number_as(table, NULL, more(a->usd, b->usd), signed_text(arena, more(a->usd, b->usd), 0));
    sheet_text(table, NULL,
               point->rows[0] == NULL   ? "only in B"
               : point->rows[1] == NULL ? "only in A"
                                        : "");
}

void diff_add_points(const struct diff_points *points, struct sheet *sheet)
{
    static const struct field fields[] = {
        {"label", FIELD_LEFT("")},
        {"a_step_s", FIELD_RIGHT("A, step s", "%.4g", 1)},
        {"b_step_s", FIELD_RIGHT("B, step s", "%.4g", 1)},
        {"step_more", FIELD_COUNT("moved %")},
        {"days_more", FIELD_COUNT("days")},
        {"usd_more", FIELD_COUNT("USD")},
        {"only", FIELD_LEFT("")},
    };
    struct arena *arena = sheet_arena(sheet);
    uint32_t both = 0, moved = 0, most = 0;
    for (uint32_t i = 0; i < points->count; i++) {
        const double share = moved_share(&points->items[i]);
        both += !is_absent(share);
        moved += !is_absent(share) && fabs(share) > 0;
        if (!is_absent(share) && !(fabs(share) <= fabs(moved_share(&points->items[most])))) {
            most = i;
        }
    }
    sheet_say(sheet, "%" PRIu32 " of %" PRIu32 " steps moved", moved, both);
    if (moved > 0) {
        sheet_say(sheet, ", most of all %s (%+.2f %%)",
                  sheet_shortened(arena, points->items[most].label, LABEL_WIDTH),
                  100 * moved_share(&points->items[most]));
    }
    sheet_say(sheet, "\nA  %s: %s\nB  %s: %s\n\n", points->names[0], points->titles[0],
              points->names[1], points->titles[1]);
    sheet_integer(sheet, "both", both);
    sheet_integer(sheet, "moved", moved);
    struct sheet *table = sheet_table(sheet, "points", FIELD_LIST(fields));
    for (uint32_t i = 0; i < points->count; i++) {
        add_point(table, &points->items[i]);
    }
    if (points->next != NULL && both > 0) {
        sheet_say(sheet, "\nWhy one of them did: %s\n", points->next);
    }
}
