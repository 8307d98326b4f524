/* Plots as commands ask for them: "lines:mfu", with names of files that follow from it. */
#ifndef CLI_DRAW_H
#define CLI_DRAW_H

#include "cli/commands.h"
#include "report/plot/plot.h"

struct draw_paths {
    const char **items; /* pictures, data and scripts that were written */
    size_t count;
    size_t capacity;
};

/* What is wanted; kind and metric as texts of the user's. */
struct draw_wish {
    const char *kind;
    const char *metric; /* NULL: as plot_request_metric has it */
    const char *x_axis; /* NULL: the first */
    const char *y_axis;
    const char *path_base;
    uint32_t size;                   /* of plot_size_names */
    const struct plot_limit *limits; /* what is required, to be drawn with it */
    uint32_t limit_count;
};

/* --size, into member `size` of a command's input. */
#define DRAW_SIZE_OPTION(input)                                                                 \
    {                                                                                           \
        "size", 0, "SIZE", "As large as usual (as it needs), or for a slide, square, or print", \
            OPTION_CHOICE(input, size, plot_size_names, PLOT_SIZE_COUNT)                        \
    }

/* Subjects of options: "lines, causes and best", all kinds, and those that take a metric or x. */
const char *draw_kinds(struct arena *arena);
const char *draw_kinds_of_metric(struct arena *arena);
const char *draw_kinds_of_x(struct arena *arena);
const char *draw_kinds_of_y(struct arena *arena);

/* "heatmap:mfu" -> kind and metric. A usage error when there is no such kind or metric, and of a
 * metric for a kind that shows none. */
MUST_USE bool draw_parse(struct cli *cli, const char *text, struct draw_wish *wish);

/* "lines-mfu": what tells the files of a wish from those of another. */
const char *draw_suffix(struct cli *cli, const struct draw_wish *wish);

/* "results/study-batch" for "scenarios/study-batch.yaml", "results/3f2a" for the key "3f2a". */
const char *draw_default_base(struct cli *cli, const char *path_or_key);

/* Draws, and adds what was written to `paths`. False when something is missing. */
MUST_USE bool draw(struct cli *cli, const struct draw_wish *wish, const struct plot_series *series,
                   uint32_t series_count, struct draw_paths *paths);

/* Adds the files of a plot. On failure old pictures may lie there: only data and script are told
 * of then. */
void draw_add_paths(struct cli *cli, const char *path_base, bool is_good, struct draw_paths *paths);

void draw_print_paths(const struct draw_paths *paths, FILE *out);

#endif
