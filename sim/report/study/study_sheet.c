/* What is told of a study is one message each: what is auto of its points, what has no room in
 * memory, that no point has a result.
 */
#include "report/study/study_sheet.h"

#include "bands/memory_errors.h"
#include "base/arena.h"
#include "base/units.h"
#include "base/version.h"
#include "input/job/token_routing.h"
#include "input/study/auto_layout.h"
#include "report/anchor_sheet.h"
#include "report/house_lines.h"
#include "report/points.h"

#include <inttypes.h>

enum { DIGITS = 3, TEXT_BYTES = 32 };

void study_tell_room(const struct study_start *start, struct diag *diag)
{
    char need[TEXT_BYTES];
    char all[TEXT_BYTES];
    char has[TEXT_BYTES];
    const double need_bytes = (double)start->need_bytes;
    units_format(need_bytes, DIM_BYTES, DIGITS, need, sizeof need);
    units_format(need_bytes * start->jobs, DIM_BYTES, DIGITS, all, sizeof all);
    units_format((double)start->machine_bytes, DIM_BYTES, DIGITS, has, sizeof has);
    const int64_t fitting = start->machine_bytes / start->need_bytes;
    if (fitting == 0) {
        diag_add(diag, DIAG_WARNING, NULL,
                 "'%s' needs about %s of memory to be simulated, and this machine has %s",
                 start->label, need, has);
        diag_help(diag, "without --fold=off most steps need little; or use a larger machine. What "
                        "is killed costs its point, and is run again by the same command");
    } else if (start->jobs > fitting) {
        diag_add(diag, DIAG_WARNING, NULL,
                 "%" PRIu32 " processes may need about %s of memory together (%s for '%s'), and "
                 "this machine has %s",
                 start->jobs, all, need, start->label, has);
        diag_help(diag, "-j %" PRId64 " has room", fitting);
    } else if (start->jobs < start->jobs_wanted) {
        diag_add(diag, DIAG_NOTE, NULL,
                 "%" PRIu32 " process%s, not %" PRIu32 ": each may need about %s of memory (for "
                 "'%s'), and this machine has %s",
                 start->jobs, start->jobs > 1 ? "es" : "", start->jobs_wanted, need, start->label,
                 has);
    }
}

enum { TOLD_LAYOUTS_MAX = 10 };

void study_tell_layouts(struct arena *arena, const struct study *study, struct diag *diag)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < study->count; i++) {
        const struct study_point *point = &study->points[i];
        if (point->layout != NULL && point->layout->is_found && found++ < TOLD_LAYOUTS_MAX) {
            diag_add(diag, DIAG_NOTE, NULL, "%s: %s", point->label,
                     auto_layout_text(arena, point->layout));
            if (found == 1 && point->layout->left_out != NULL) {
                diag_help(diag, "%s", point->layout->left_out);
            }
        }
    }
    if (found > TOLD_LAYOUTS_MAX) {
        diag_add(diag, DIAG_NOTE, NULL, "and so of %" PRIu32 " other points",
                 found - TOLD_LAYOUTS_MAX);
    }
}

/* Of points whose models have experts, unless their scenarios say how uneven these are. */
static void say_router(const struct study *study, struct sheet *sheet)
{
    uint32_t even = 0;
    for (uint32_t i = 0; i < study->count; i++) {
        even += study->points[i].has_even_router;
    }
    if (even > 0 && even == study->count) {
        sheet_say(sheet, ROUTING_EVEN_TEXT "\n\n");
    } else if (even > 0) {
        sheet_say(sheet, "of %" PRIu32 " of %" PRIu32 " points: " ROUTING_EVEN_TEXT "\n\n", even,
                  study->count);
    }
}

void study_add_head(const struct study_head *head, struct sheet *sheet)
{
    static const struct field study[] = {
        {"study.key", FIELD_AT(struct study, key)},
        {"study.title", FIELD_AT(struct study, title)},
        {"study.kind", FIELD_AT(struct study, kind)},
        {"counts.points", FIELD_AT(struct study, count)},
    };
    static const struct field outcome[] = {
        {"counts.ok", FIELD_AT(struct study_outcome, ok)},
        {"counts.infeasible", FIELD_AT(struct study_outcome, infeasible)},
        {"counts.failed", FIELD_AT(struct study_outcome, failed)},
        {"counts.reused", FIELD_AT(struct study_outcome, reused)},
    };
    static const struct field builds[] = {
        {"build", FIELD_AT(struct store_build, build)},
        {"runs", FIELD_AT(struct store_build, runs)},
        {"step_change_min", FIELD_AT(struct store_build, change_min)},
        {"step_change_max", FIELD_AT(struct store_build, change_max)},
    };
    sheet_text(sheet, "version", stoker_version());
    sheet_text(sheet, "build", stoker_build());
    sheet_members(sheet, FIELD_LIST(study), head->study);
    sheet_members(sheet, FIELD_LIST(outcome), head->outcome);
    sheet_text(sheet, "shard", head->shard);
    sheet_rows(sheet_table(sheet, "other_builds", FIELD_LIST(builds)), head->others,
               head->other_count, sizeof *head->others);
    sheet_texts(sheet, "plots", head->plots, head->plot_count);
    sheet_say(sheet, "%s\n", head->study->title);
}

void study_add_notes(const struct study_head *head, struct sheet *sheet)
{
    sheet_say(sheet, "\n");
    say_router(head->study, sheet);
    if (head->anchor != NULL) {
        anchor_add(sheet, head->anchor);
        anchor_say(sheet, head->anchor);
        sheet_say(sheet, "\n");
    }
    if (head->house != NULL) {
        house_add(head->house, sheet);
        sheet_say(sheet, "%s\n\n", house_line(sheet_arena(sheet), head->house));
    }
}

/* Of points that lack memory the one that lacks the least share of it; NULL: none lacks memory. */
static const struct store_row *nearest_of(const struct store_row *rows, uint32_t count)
{
    const struct store_row *nearest = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct store_row *row = &rows[i];
        const bool lacks = row->has_run && row->memory_peak_bytes > row->memory_limit_bytes;
        if (lacks && (nearest == NULL ||
                      memory_over(row->memory_peak_bytes, row->memory_limit_bytes) <
                          memory_over(nearest->memory_peak_bytes, nearest->memory_limit_bytes))) {
            nearest = row;
        }
    }
    return nearest;
}

void study_tell_none(struct arena *arena, const struct store_row *rows, uint32_t count,
                     struct diag *diag)
{
    const struct store_row *nearest = nearest_of(rows, count);
    const struct store_row *told = nearest != NULL ? nearest : &rows[0];
    diag_add(diag, DIAG_INFEASIBLE, NULL, "none of %" PRIu32 " points has a result", count);
    diag_help(
        diag,
        "%s %s: %s; parallel: auto looks for a layout that fits, `stoker search` for the best "
        "one",
        nearest != NULL ? "nearest is" : "the first,", told->label, points_reason(arena, told));
}
