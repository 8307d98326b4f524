/* Values of an axis are told apart by their texts, in the order in which points have them; a plain
 * look through all of them for each point: a study that people look at has hundreds.
 */
#include "report/study/matrix_sheet.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/page.h"
#include "report/printers/sized.h"
#include "report/sheet.h"

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
    const struct store_row **cells; /* down->count rows of across->count; NULL: no such point, or
                                     * there are other numbers of pairs and of points */
};

static struct matrix matrix_of(struct arena *arena, const struct against_rows *of)
{
    const struct side first = side_of(arena, of, 0);
    const struct side second = side_of(arena, of, 1);
    const bool is_turned = second.count > first.count;
    struct matrix matrix = {is_turned ? second : first, is_turned ? first : second, NULL};
    if ((uint64_t)first.count * second.count != of->count) {
        return matrix;
    }
    matrix.cells = arena_array(arena, of->count, sizeof(const struct store_row *));
    for (uint32_t i = 0; i < of->count; i++) {
        const struct store_row *row = &of->rows[i];
        const uint32_t line = place_of(&matrix.down, row->value_texts[matrix.down.axis]);
        const uint32_t column = place_of(&matrix.across, row->value_texts[matrix.across.axis]);
        matrix.cells[line * matrix.across.count + column] = row;
    }
    return matrix;
}

static bool is_best(const struct winners *best, const struct store_row *row)
{
    bool is = row == best->best;
    for (uint32_t i = 0; i < best->equal_count; i++) {
        is = is || row == best->equals[i];
    }
    return is;
}

/* How all cells show the metric. */
static struct field cell_field(const struct shown_points *points, const struct store_row *base,
                               struct arena *arena)
{
    const struct figure_metric *metric = points->columns.items[0];
    struct field field = points_metric_field(metric);
    shown_metric_tell(points, base, 0, &field);
    struct sized sized = {.least = 0};
    for (uint32_t i = 0; i < points->of.count && field.is_sized; i++) {
        const struct store_row *row = &points->of.rows[i];
        sized_meet(&sized, store_row_is_good(row) ? store_metric_value(metric, row) : ABSENT);
    }
    return field.is_sized ? sized_field(arena, &sized, &field) : field;
}

/* "*93.4"; "OOM"; "-". */
static const char *cell_text(const struct shown_points *points, const struct field *field,
                             const struct winners *best, const struct store_row *row,
                             struct arena *arena)
{
    if (!store_row_is_good(row)) {
        return points_is_oom(row) ? "OOM" : "-";
    }
    const double value = store_metric_value(points->columns.items[0], row);
    return is_absent(value) ? "-"
                            : arena_printf(arena, "%s%s", is_best(best, row) ? "*" : "",
                                           field_shown(field, arena, value));
}

/* Each line is as wide as its columns' widest cells, the star of the best among them. */
static size_t width_of(const struct shown_points *points, const struct field *field,
                       const struct matrix *matrix, struct arena *arena)
{
    const struct side *down = &matrix->down, *across = &matrix->across;
    size_t all = page_text_width(study_axis_head(&points->study->points[0], down->axis));
    for (uint32_t line = 0; line < down->count; line++) {
        const size_t width = page_text_width(down->texts[line]);
        all = width > all ? width : all;
    }
    for (uint32_t column = 0; column < across->count; column++) {
        size_t widest = page_text_width(across->texts[column]);
        for (uint32_t line = 0; line < down->count; line++) {
            const struct store_row *row = matrix->cells[line * across->count + column];
            const struct winners starred = {.best = row};
            const size_t width = page_text_width(cell_text(points, field, &starred, row, arena));
            widest = width > widest ? width : widest;
        }
        all += strlen(SHEET_GAP) + widest;
    }
    return all;
}

bool matrix_has_room(const struct shown_points *points, const struct store_row *base,
                     size_t page_width)
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
    bool has_room = matrix.across.count > 1 && matrix.cells != NULL;
    for (uint32_t i = 0; i < of->count && has_room; i++) {
        has_room = matrix.cells[i] != NULL;
    }
    const struct field field = cell_field(points, base, arena);
    has_room = has_room && width_of(points, &field, &matrix, arena) <= page_width;
    arena_free(arena);
    return has_room;
}

/* Why points have none: each kind of reason once, with the first of them and how many more. */
static void say_reasons(const struct against_rows *of, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const char **reasons = arena_array(arena, of->count, sizeof *reasons); /* NULL: it is said */
    for (uint32_t i = 0; i < of->count; i++) {
        reasons[i] = store_row_is_good(&of->rows[i]) ? NULL : points_reason(arena, &of->rows[i]);
    }
    for (uint32_t i = 0; i < of->count; i++) {
        if (reasons[i] == NULL) {
            continue;
        }
        const size_t letters = strcspn(reasons[i], ":");
        uint32_t more = 0;
        for (uint32_t k = i + 1; k < of->count; k++) {
            if (reasons[k] != NULL && strncmp(reasons[k], reasons[i], letters) == 0) {
                reasons[k] = NULL;
                more++;
            }
        }
        sheet_say(sheet, "no result: %s, %s%s\n", of->rows[i].label, reasons[i],
                  more > 0 ? arena_printf(arena, "; and %" PRIu32 " more", more) : "");
    }
}

void matrix_add(const struct shown_points *points, const struct store_row *base,
                const struct winners *best, struct sheet *sheet)
{
    struct arena *arena = sheet_arena(sheet);
    const struct study_point *first = &points->study->points[0];
    const struct matrix matrix = matrix_of(arena, &points->of);
    sim_assert(matrix.cells != NULL); /* it has room */
    const struct side *down = &matrix.down, *across = &matrix.across;
    const struct field field = cell_field(points, base, arena);
    struct field *fields = arena_array(arena, across->count + (size_t)1, sizeof *fields);
    fields[0] = (struct field){FIELD_COUNT(study_axis_head(first, down->axis))};
    for (uint32_t i = 0; i < across->count; i++) {
        fields[i + 1] = (struct field){FIELD_COUNT(across->texts[i])};
    }
    struct sheet *table = sheet_table(sheet, NULL, fields, across->count + 1);
    sheet_caption(table, arena_printf(arena, "%s: %s down, %s across, * the best\n", field.head,
                                      study_axis_head(first, down->axis),
                                      study_axis_head(first, across->axis)));
    for (uint32_t line = 0; line < down->count; line++) {
        sheet_text(table, NULL, down->texts[line]);
        for (uint32_t column = 0; column < across->count; column++) {
            const struct store_row *row = matrix.cells[line * across->count + column];
            sheet_text(table, NULL, cell_text(points, &field, best, row, arena));
        }
    }
    say_reasons(&points->of, sheet);
    sheet_say(sheet, "all of each point: --wide, or --format csv\n");
}
