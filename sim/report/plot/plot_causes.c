/* One bar for each point of a study, stacked from the causes of its step.
 * Causes have one order and one colour everywhere, so that plots can be laid
 * side by side.
 */
#include "report/plot/plot_kinds.h"

#include "base/absent.h"
#include "base/arena.h"

#include <string.h>

#define BARS_MAX 60          /* more do not fit on a page */
#define LEVEL_LETTERS_MAX 11 /* of a label that is not slanted */

/* The same cause has the same colour in every plot. Okabe and Ito's colours for the causes
 * that most plots show, neighbours of them for the others. */
static const char *const cause_colours[CAUSE_COUNT_] = {
    [CAUSE_COMPUTE] = "#0072B2",         [CAUSE_RECOMPUTE] = "#004166",
    [CAUSE_OPTIMIZER] = "#009E73",       [CAUSE_LAUNCH] = "#F0E442",
    [CAUSE_INTERFERENCE] = "#8C6D31",    [CAUSE_EXPOSED_TP] = "#56B4E9",
    [CAUSE_EXPOSED_CP] = "#9BD3C4",      [CAUSE_EXPOSED_EP] = "#CC79A7",
    [CAUSE_EXPOSED_PP] = "#7B4FA3",      [CAUSE_EXPOSED_DP] = "#D55E00",
    [CAUSE_BUBBLE] = "#999999",          [CAUSE_STRAGGLER_WAIT] = "#666666",
    [CAUSE_DATA_STALL] = "#E69F00",      [CAUSE_CHECKPOINT_STALL] = "#333333",
    [CAUSE_EXPOSED_OFFLOAD] = "#B3A100",
};

static const char *bar_label(const struct plot_page *page, const struct plot_item *item)
{
    return page->request->series_count < 2
               ? item->row->label
               : arena_printf(page->arena, "%s, %s", item->series_title, item->row->label);
}

static const char *const text_columns[] = {"label", "mark", "plot_title"};

static void write_data(struct plot_page *page)
{
    const char *numbers[3 + CAUSE_COUNT_] = {"bar", "step_s", "mfu_percent"};
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        numbers[3 + cause] = arena_printf(page->arena, "%s_s", cause_names[cause]);
    }
    PLOT_HEAD(page, numbers, text_columns);
    for (uint32_t i = 0; i < page->item_count; i++) {
        const struct store_row *row = page->items[i].row;
        const char *mark = plot_mark(row);
        double values[3 + CAUSE_COUNT_] = {i, row->step_s, 100 * row->mfu};
        memcpy(values + 3, row->breakdown_s, CAUSE_COUNT_ * sizeof *values);
        for (uint32_t value = 1; mark != NULL && value < 3 + CAUSE_COUNT_; value++) {
            values[value] = ABSENT;
        }
        plot_row(page, values,
                 PLOT_TEXTS(bar_label(page, &page->items[i]), mark == NULL ? "" : mark,
                            page->request->title));
    }
}

/* The longest bar, the longest label, and which causes there are. */
struct extent {
    double step_s_max;
    size_t letters_max;
    bool has_cause[CAUSE_COUNT_];
};

static struct extent measure(const struct plot_page *page)
{
    struct extent extent = {.step_s_max = 0};
    for (uint32_t i = 0; i < page->item_count; i++) {
        const struct store_row *row = page->items[i].row;
        const size_t letters = strlen(bar_label(page, &page->items[i]));
        extent.letters_max = letters > extent.letters_max ? letters : extent.letters_max;
        if (plot_mark(row) != NULL) {
            continue;
        }
        extent.step_s_max = row->step_s > extent.step_s_max ? row->step_s : extent.step_s_max;
        for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
            extent.has_cause[cause] = extent.has_cause[cause] || row->breakdown_s[cause] > 0;
        }
    }
    return extent;
}

/* An unseen label is empty, not NaN: see plot_lines.c. */
static const char *plot_command(struct plot_page *page, const struct extent *extent)
{
    const char *plot = "plot";
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        if (extent->has_cause[cause]) {
            plot = arena_printf(
                page->arena,
                "%s DATA using (strcol('mark') eq '-' ? column('%s_s') : 0) lc rgb '%s' "
                "title '%s', \\\n    ",
                plot, cause_names[cause], cause_colours[cause], cause_titles[cause]);
        }
    }
    const int decimals = extent->step_s_max >= 100  ? 0
                         : extent->step_s_max >= 10 ? 1
                         : extent->step_s_max >= 1  ? 2
                                                    : 3;
    return arena_printf(
        page->arena,
        "%s DATA using (column('bar')):(strcol('mark') eq '-' ? column('step_s') : 0):"
        "(strcol('mark') eq '-' ? "
        "sprintf(\"%%.%df s\\n%%.1f %%%%\", column('step_s'), column('mfu_percent')) : '') "
        "with labels offset 0,1.6 textcolor rgb '#222222' notitle, \\\n"
        "     DATA using (column('bar')):(0):(strcol('mark') ne '-' ? strcol('mark') : '') "
        "with labels offset 0,0.8 textcolor rgb '#777777' notitle",
        plot, decimals);
}

static void write_script(struct plot_page *page, const struct extent *extent)
{
    FILE *script = page->script;
    plot_script_begin(page, page->item_count);
    fprintf(script,
            "set style data histogram\nset style histogram rowstacked gap 1\n"
            "set boxwidth 0.62\nset style fill solid 0.95 noborder\n"
            "set xtics ()\nset for [i=1:%u] xtics add (tic(label[i]) i-1)\nset xtics scale 0\n"
            "set xrange [-0.6:%u-0.4]\nset yrange [0:%.6g]\n"
            "set ylabel 'seconds of a step; above: total, MFU'\n"
            "set key outside right center invert reverse Left\n",
            page->item_count, page->item_count, 1.18 * extent->step_s_max);
    if (extent->letters_max > LEVEL_LETTERS_MAX) {
        fputs("set xtics rotate by -25\n", script);
    }
    /* A label on the level wants 8.5 pixels a letter and a gap; bars stand no closer than 84. */
    const bool is_level = extent->letters_max <= LEVEL_LETTERS_MAX;
    const uint32_t wanted = is_level ? (uint32_t)extent->letters_max * 17 / 2 + 14 : 84;
    const uint32_t width = 330 + (wanted > 84 ? wanted : 84) * page->item_count;
    plot_script_end(page, width < 800 ? 800 : width, 480, plot_command(page, extent));
}

bool plot_write_causes(struct plot_page *page)
{
    write_data(page);
    const struct extent extent = measure(page);
    if (!(extent.step_s_max > 0)) {
        return diag_add(page->diag, DIAG_FAILURE, NULL, "no point of this study has a prediction");
    }
    if (page->item_count > BARS_MAX) {
        return diag_add(page->diag, DIAG_USAGE, NULL,
                        "%u bars do not fit on a page; at most %d are drawn (try lines)",
                        page->item_count, BARS_MAX);
    }
    write_script(page, &extent);
    return true;
}
