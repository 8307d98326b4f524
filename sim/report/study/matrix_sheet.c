/* Values of an axis are told apart by their texts, in the order in which points have them; a plain
 * look through all of them for each point: a study that people look at has hundreds.
 */
#include "report/study/matrix_sheet.h"

#include "base/arena.h"

#include <inttypes.h>
#include <string.h>

enum { AXES = 2, CELLS_MAX = 10000 };

/* The values of an axis. */
struct side {
    uint32_t axis;
    const char **texts;
    uint32_t count;
};

static uint32_t place_of(const struct side *side, const char *text)
{
    uint32_t place = 0;
    while (place < side->count && strcmp(side->texts[place], text) != 0) {
        place++;
    }
    return place;
}

static struct side side_of(struct arena *arena, const struct against_rows *of, uint32_t axis)
{
    struct side side = {axis, arena_array(arena, of->count, sizeof *side.texts), 0};
    for (uint32_t i = 0; i < of->count; i++) {
        const char *text = of->rows[i].value_texts[axis];
        if (place_of(&side, text) == side.count) {
            side.texts[side.count++] = text;
        }
    }
    return side;
}

struct matrix {
    struct side down, across;
    const struct store_row **cells; /* down->count rows of across->count; NULL: no such point */
};

static struct matrix matrix_of(struct arena *arena, const struct against_rows *of)
{
    const struct side first = side_of(arena, of, 0);
    const struct side second = side_of(arena, of, 1);
    const bool is_turned = second.count > first.count;
    struct matrix matrix = {is_turned ? second : first, is_turned ? first : second, NULL};
    matrix.cells =
        arena_array(arena, (size_t)first.count * second.count, sizeof(const struct store_row *));
    for (uint32_t i = 0; i < of->count; i++) {
        const struct store_row *row = &of->rows[i];
        const uint32_t line = place_of(&matrix.down, row->value_texts[matrix.down.axis]);
        const uint32_t column = place_of(&matrix.across, row->value_texts[matrix.across.axis]);
        matrix.cells[line * matrix.across.count + column] = row;
    }
    return matrix;
}

bool matrix_has_room(const struct shown_points *points)
{
    const struct against_rows *of = &points->of;
    if (!points->columns.are_asked || points->columns.count != 1 || of->count > CELLS_MAX ||
        (points->requirements != NULL && points->requirements->count > 0)) {
        return false;
    }
    for (uint32_t i = 0; i < of->count; i++) {
        if (of->rows[i].axis_count != AXES) {
            return false;
        }
    }
    struct arena *arena = arena_new();
    const struct matrix matrix = matrix_of(arena, of);
    const uint32_t cells = matrix.down.count * matrix.across.count;
    bool is_full = matrix.across.count > 1 && cells == of->count;
    for (uint32_t i = 0; i < cells && is_full; i++) {
        is_full = matrix.cells[i] != NULL;
    }
    arena_free(arena);
    return is_full;
}

static bool is_best(const struct winners *best, const struct store_row *row)
{
    bool is = row == best->best;
    for (uint32_t i = 0; i < best->equal_count; i++) {
        is = is || row == best->equals[i];
    }
    return is;
}

/* "*93.4"; "OOM"; "-". */
static const char *cell_text(const struct shown_points *points, const struct winners *best,
                             const struct store_row *row, struct arena *arena)
{
    if (!store_row_is_good(row)) {
        return strncmp(points_reason(arena, row), "OOM", strlen("OOM")) == 0 ? "OOM" : "-";
    }
    const char *text = points_metric(arena, points->columns.items[0], row);
    return text == NULL ? "-" : arena_printf(arena, "%s%s", is_best(best, row) ? "*" : "", text);
}

/* Why points have none: each reason once, with the first of them and how many more. */
static void say_reasons(const struct against_rows *of, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    bool *is_said = arena_array(arena, of->count, sizeof *is_said);
    for (uint32_t i = 0; i < of->count; i++) {
        if (store_row_is_good(&of->rows[i]) || is_said[i]) {
            continue;
        }
        const char *reason = points_reason(arena, &of->rows[i]);
        const size_t letters = strcspn(reason, ":");
        uint32_t more = 0;
        for (uint32_t k = i + 1; k < of->count; k++) {
            const bool is_alike = !store_row_is_good(&of->rows[k]) &&
                                  strncmp(points_reason(arena, &of->rows[k]), reason, letters) == 0;
            is_said[k] = is_said[k] || is_alike;
            more += is_alike;
        }
        sheet_say(sheet, "no result: %s, %s%s\n", of->rows[i].label, reason,
                  more > 0 ? arena_printf(arena, "; and %" PRIu32 " more", more) : "");
    }
}

void matrix_add(const struct shown_points *points, const struct winners *best, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct study_point *first = &points->study->points[0];
    const struct matrix matrix = matrix_of(arena, &points->of);
    const struct side *down = &matrix.down, *across = &matrix.across;
    struct field *fields = arena_array(arena, across->count + (size_t)1, sizeof *fields);
    fields[0] = (struct field){FIELD_COUNT(study_axis_head(first, down->axis))};
    for (uint32_t i = 0; i < across->count; i++) {
        fields[i + 1] = (struct field){FIELD_COUNT(across->texts[i])};
    }
    struct sheet *table = sheet_table(sheet, NULL, fields, across->count + 1);
    sheet_caption(table,
                  arena_printf(arena, "%s: %s down, %s across, * the best\n",
                               points->columns.items[0]->head, study_axis_head(first, down->axis),
                               study_axis_head(first, across->axis)));
    for (uint32_t line = 0; line < down->count; line++) {
        sheet_text(table, NULL, down->texts[line]);
        for (uint32_t column = 0; column < across->count; column++) {
            const struct store_row *row = matrix.cells[line * across->count + column];
            sheet_text(table, NULL, cell_text(points, best, row, arena));
        }
    }
    say_reasons(&points->of, sheet);
    sheet_say(sheet, "all of each point: --wide, or --format csv\n");
}
