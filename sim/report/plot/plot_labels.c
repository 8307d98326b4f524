/* See plot_labels.h. Boxes of text are estimated (plot_text_width), with a margin.
 */
#include "report/plot/plot_labels.h"

#include "report/plot/plot_frame.h"

#include "base/arena.h"

#include <math.h>

enum { LINE_HEIGHT = 17, POINT_GAP = 10, POINT_SIZE = 6 };

static struct plot_box box_at(const struct plot_named *point, enum plot_side side)
{
    const double width = plot_text_width(point->label, PLOT_LETTER);
    const double half = LINE_HEIGHT / 2.0;
    const double x = point->x;
    const double y = point->y;
    switch (side) {
    case PLOT_RIGHT:
        return (struct plot_box){x + POINT_GAP, x + POINT_GAP + width, y - half, y + half};
    case PLOT_LEFT:
        return (struct plot_box){x - POINT_GAP - width, x - POINT_GAP, y - half, y + half};
    case PLOT_ABOVE:
        return (struct plot_box){x - width / 2, x + width / 2, y + half, y + half + LINE_HEIGHT};
    default:
        return (struct plot_box){x - width / 2, x + width / 2, y - half - LINE_HEIGHT, y - half};
    }
}

static bool do_overlap(const struct plot_box *a, const struct plot_box *b)
{
    return a->left < b->right && b->left < a->right && a->low < b->high && b->low < a->high;
}

struct extent {
    double width, height;
};

static bool is_free(const struct plot_named *points, uint32_t count, const struct extent *size,
                    uint32_t self, const struct plot_box *box)
{
    if (box->left < 0 || box->right > size->width || box->low < 0 || box->high > size->height) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct plot_named *other = &points[i];
        const struct plot_box mark = {other->x - POINT_SIZE, other->x + POINT_SIZE,
                                      other->y - POINT_SIZE, other->y + POINT_SIZE};
        if (i != self && (do_overlap(box, &mark) ||
                          (other->side != PLOT_NO_SIDE && do_overlap(box, &other->box)))) {
            return false;
        }
    }
    return true;
}

static void place(struct plot_named *points, uint32_t count, const struct extent *size,
                  uint32_t self)
{
    struct plot_named *point = &points[self];
    if (point->label[0] == '\0') {
        return;
    }
    for (uint32_t side = PLOT_RIGHT; side < PLOT_NO_SIDE; side++) {
        const struct plot_box box = box_at(point, (enum plot_side)side);
        if (is_free(points, count, size, self, &box)) {
            point->side = (enum plot_side)side;
            point->box = box;
            return;
        }
    }
}

void plot_labels_place(struct plot_named *points, uint32_t count, double width, double height)
{
    const struct extent size = {width, height};
    for (uint32_t i = 0; i < count; i++) {
        points[i].side = PLOT_NO_SIDE;
    }
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < count && i < PLOT_LABELS_MAX; i++) {
            if (points[i].is_front == (pass == 0)) {
                place(points, count, &size, i);
            }
        }
    }
}

void plot_labels_spread(struct arena *arena, double *places, uint32_t count, double gap, double top)
{
    uint32_t *order = arena_array(arena, count, sizeof *order);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = i;
        while (at > 0 && places[i] < places[order[at - 1]]) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = i;
    }
    for (uint32_t i = 1; i < count; i++) {
        places[order[i]] = fmax(places[order[i]], places[order[i - 1]] + gap);
    }
    for (uint32_t i = count; i-- > 0; top -= gap) {
        places[order[i]] = fmin(places[order[i]], top);
    }
}

/* An unseen label is empty, not NaN: see plot_lines.c. */
const char *plot_labels_command(struct arena *arena, const char *x, const char *y)
{
    static const char *const places[PLOT_NO_SIDE] = {
        [PLOT_RIGHT] = "left offset 1,0",
        [PLOT_LEFT] = "right offset -1,0",
        [PLOT_ABOVE] = "center offset 0,0.9",
        [PLOT_BELOW] = "center offset 0,-0.9",
    };
    const char *command = "";
    for (uint32_t side = 0; side < PLOT_NO_SIDE; side++) {
        command = arena_printf(arena,
                               "%s, \\\n     DATA using (%s):(%s):(column('side') == %u ? "
                               "label[int($0)+1] : '') with labels %s textcolor rgb '#222222'",
                               command, x, y, side, places[side]);
    }
    return command;
}
