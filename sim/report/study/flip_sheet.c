/* Ratios are of the fastest as it is over the best of the others; below 1 that is the fastest. */
#include "report/study/flip_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/against_sheet.h"
#include "report/points.h"

#include <inttypes.h>
#include <math.h>

/* Where the answer turns or holds for want of a result, at the ends. */
static double order_of(const struct flip *flip, const struct flip_change *change)
{
    const double ratio = flip_ratio(flip, change);
    return !is_absent(ratio) ? ratio : flip_verdict_of(flip, change) == FLIP_TURNS ? 0 : HUGE_VAL;
}

/* Numbers of changes that have an answer, what hurts it most first. */
static const uint32_t *by_ratio(struct arena *arena, const struct flip *flip, uint32_t *count)
{
    uint32_t *order = arena_array(arena, flip->count + (size_t)1, sizeof *order);
    *count = 0;
    for (uint32_t i = 0; i < flip->count; i++) {
        const struct flip_change *change = &flip->changes[i];
        if (flip_verdict_of(flip, change) == FLIP_NONE) {
            continue;
        }
        uint32_t at = (*count)++;
        for (; at > 0 && order_of(flip, &flip->changes[order[at - 1]]) > order_of(flip, change);
             at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    return order;
}

/* The point for want of whose result a change has no ratio. */
static const struct store_row *lacking(const struct flip *flip, const struct flip_change *change)
{
    uint32_t number = flip->fastest;
    for (uint32_t i = 0; store_row_is_good(&change->rows[number]); i++) {
        number = i;
    }
    return &change->rows[number];
}

/* "fp8 (0.93 x, clear)" */
static const char *told(struct arena *arena, const struct flip *flip,
                        const struct flip_change *change)
{
    if (is_absent(flip_ratio(flip, change))) {
        return arena_printf(arena, "%s (%s has no result)", change->name,
                            lacking(flip, change)->label);
    }
    const char *verdict = change->against[flip->fastest].verdict;
    return arena_printf(arena, "%s (%.2f x%s%s)", change->name, flip_ratio(flip, change),
                        verdict != NULL ? ", " : "", verdict != NULL ? verdict : "");
}

/* Those of a verdict, the least ratio first; NULL: there is none. */
static const char *those(struct arena *arena, const struct flip *flip, enum flip_verdict verdict,
                         uint32_t *count)
{
    enum { TOLD_MOST = 3 };
    uint32_t all;
    const uint32_t *order = by_ratio(arena, flip, &all);
    const char *names[TOLD_MOST];
    *count = 0;
    for (uint32_t i = 0; i < all; i++) {
        const struct flip_change *change = &flip->changes[order[i]];
        if (flip_verdict_of(flip, change) == verdict && (*count)++ < TOLD_MOST) {
            names[*count - 1] = told(arena, flip, change);
        }
    }
    const uint32_t shown = *count < TOLD_MOST ? *count : TOLD_MOST;
    const char *text = sheet_joined(arena, names, shown);
    return *count == 0      ? NULL
           : *count > shown ? arena_printf(arena, "%s and %" PRIu32 " others", text, *count - shown)
                            : text;
}

const char *flip_answer(struct arena *arena, const struct flip *flip, const struct store_row *rows)
{
    uint32_t turn_count, open_count, hold_count;
    const char *turns = those(arena, flip, FLIP_TURNS, &turn_count);
    const char *open = those(arena, flip, FLIP_OPEN, &open_count);
    (void)those(arena, flip, FLIP_HOLDS, &hold_count);
    const uint32_t all = turn_count + open_count + hold_count;
    if (all == 0) {
        return NULL;
    }
    const char *head =
        arena_printf(arena, "%s stays the fastest with %" PRIu32 " of %" PRIu32 " changes",
                     rows[flip->fastest].label, hold_count, all);
    if (turns == NULL && open == NULL) {
        const uint32_t *order = by_ratio(arena, flip, &hold_count);
        return arena_printf(arena, "%s, least with %s.", head,
                            told(arena, flip, &flip->changes[order[0]]));
    }
    return arena_printf(arena, "%s%s%s%s%s.", head, turns != NULL ? "; turned by " : "",
                        turns != NULL ? turns : "", open != NULL ? "; open with " : "",
                        open != NULL ? open : "");
}

static const char *label_at(const struct store_row *rows, uint32_t number, uint32_t count)
{
    return number < count ? rows[number].label : NULL;
}

/* NULL: not all have a price, or nothing was run. */
static const char *cheapest_label(const struct store_row *rows, uint32_t count)
{
    const struct store_row *row = rows != NULL ? points_cheapest(rows, count) : NULL;
    return row != NULL ? row->label : NULL;
}

static void add_change(struct sheet *list, const struct flip *flip,
                       const struct flip_change *change)
{
    const uint32_t count = change->study.count;
    struct sheet *object = sheet_object(list, NULL);
    sheet_text(object, "change", change->name);
    sheet_text(object, "answer", flip_verdict_names[flip_verdict_of(flip, change)]);
    sheet_number(object, "speed_up", flip_ratio(flip, change));
    sheet_text(object, "cheapest", cheapest_label(change->rows, count));
    sheet_text(object, "next", label_at(change->rows, change->next, count));
    sheet_text(object, "lack", change->lack);
    struct sheet *points = sheet_array(object, "points");
    for (uint32_t i = 0; change->rows != NULL && i < count; i++) {
        struct sheet *point = points_add(points, &change->rows[i]);
        const struct study_point *of = &change->study.points[i];
        sheet_texts(point, "set", of->sets, of->set_count);
        if (change->against != NULL) {
            against_add(point, &change->against[i]);
        }
    }
}

static void add_row(struct sheet *table, const char *name, const struct against *held,
                    const char *next, const char *answer, const char *cheapest)
{
    struct arena *arena = sheet_arena(table);
    sheet_text(table, NULL, name);
    sheet_number(table, NULL, held != NULL ? held->speed_up : ABSENT);
    sheet_text(table, NULL, held != NULL ? against_range(arena, held) : NULL);
    sheet_text(table, NULL, held != NULL ? held->verdict : NULL);
    sheet_text(table, NULL, next);
    sheet_text(table, NULL, answer);
    sheet_text(table, NULL, cheapest);
}

/* Changes with which a point that matters has no result, each with the reason. */
static void say_lacking(const struct flip *flip, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const char *head = "\nno result\n";
    for (uint32_t i = 0; i < flip->count; i++) {
        const struct flip_change *change = &flip->changes[i];
        if (!is_absent(flip_ratio(flip, change))) {
            continue;
        }
        const char *why = change->lack;
        if (change->rows != NULL) {
            const struct store_row *row = lacking(flip, change);
            why = arena_printf(arena, "%s: %s", row->label, points_reason(arena, row));
        }
        sheet_say(sheet, "%s  %s: %s\n", head, change->name, why);
        head = "";
    }
}

void flip_add(const struct flip *flip, const struct store_row *rows, const struct against *against,
              struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    struct sheet *object = sheet_object(sheet, "flip");
    sheet_text(object, "of", rows[flip->fastest].label);
    struct sheet *list = sheet_array(object, "changes");
    for (uint32_t i = 0; i < flip->count; i++) {
        add_change(list, flip, &flip->changes[i]);
    }
    const uint32_t points = flip->count > 0 ? flip->changes[0].study.count : 0;
    const char *cheapest = cheapest_label(rows, points);
    const struct field fields[] = {
        {NULL, FIELD_LEFT("what would change it")},
        {NULL, FIELD_RIGHT("tokens/s", "%.2f x", 1)},
        {NULL, FIELD_LEFT("p10 to p90")},
        {NULL, FIELD_LEFT("call")},
        {NULL, FIELD_LEFT(points > 2 ? "next" : NULL), .gives_way = 2},
        {NULL, FIELD_LEFT("answer")},
        {NULL, FIELD_LEFT(cheapest != NULL ? "least USD" : NULL)},
    };
    struct sheet *table = sheet_table(sheet, NULL, FIELD_LIST(fields));
    sheet_caption(table, "\n");
    const uint32_t next = flip_next(rows, points, flip->fastest);
    add_row(table, "as it is", &against[flip->fastest], label_at(rows, next, points), NULL,
            cheapest);
    uint32_t count;
    const uint32_t *order = by_ratio(arena, flip, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct flip_change *change = &flip->changes[order[i]];
        const bool has_ratio = !is_absent(flip_ratio(flip, change));
        add_row(table, change->name, has_ratio ? &change->against[flip->fastest] : NULL,
                label_at(change->rows, change->next, points),
                flip_verdict_names[flip_verdict_of(flip, change)],
                cheapest_label(change->rows, points));
    }
    say_lacking(flip, sheet);
    sheet_say(sheet,
              "\ntokens/s are those of %s over those of the best other, each change in all points; "
              "below 1 the answer turns, where the two are too close it is open.\n",
              rows[flip->fastest].label);
}
