/* Turns what a user wrote after --plot into requests of report/plot, gives
 * each a file name that tells it from the others, and draws them.
 */
#include "cli/draw.h"

#include "base/arena.h"
#include "report/plot/plot_data.h"
#include "report/sheet.h"

#include <string.h>
#include <unistd.h>

/* ---- wishes ------------------------------------------------------------------ */

static bool check_name(struct cli *cli, const char *what, const char *name,
                       const char *const *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    diag_add(cli->diag, DIAG_USAGE, NULL, "there is no %s '%s'", what, name);
    diag_help_nearest(
        cli->diag, diag_nearest(name, names, count),
        arena_printf(cli->arena, "it is one of %s", sheet_joined(cli->arena, names, count)));
    return false;
}

const char *draw_kinds(struct arena *arena)
{
    return plot_kinds_taking(arena, 0);
}

const char *draw_kinds_of_metric(struct arena *arena)
{
    return plot_kinds_taking(arena, PLOT_TAKES_METRIC);
}

const char *draw_kinds_of_x(struct arena *arena)
{
    return plot_kinds_taking(arena, PLOT_TAKES_X);
}

const char *draw_kinds_of_y(struct arena *arena)
{
    return plot_kinds_taking(arena, PLOT_TAKES_Y);
}

/* A metric is not ignored in silence. */
static bool check_metric(struct cli *cli, const struct draw_wish *wish)
{
    if (plot_kind_takes(wish->kind, PLOT_TAKES_METRIC)) {
        return true;
    }
    diag_add(cli->diag, DIAG_USAGE, NULL, "'%s:%s': %s has no metric of one's choice", wish->kind,
             wish->metric, wish->kind);
    diag_help(cli->diag, "a metric is for %s", draw_kinds_of_metric(cli->arena));
    return false;
}

bool draw_parse(struct cli *cli, const char *text, struct draw_wish *wish)
{
    const size_t kind_length = strcspn(text, ":");
    wish->kind = arena_strndup(cli->arena, text, kind_length);
    if (text[kind_length] == ':') {
        wish->metric = text + kind_length + 1;
    }
    uint32_t kind_count = 0;
    uint32_t metric_count = 0;
    const char *const *kinds = plot_kinds(&kind_count);
    const char *const *metrics = store_metric_names(&metric_count);
    bool is_good = check_name(cli, "kind of plot", wish->kind, kinds, kind_count);
    if (wish->metric != NULL) {
        is_good = check_name(cli, "metric", wish->metric, metrics, metric_count) && is_good;
        is_good = is_good && check_metric(cli, wish);
    }
    return is_good;
}

const char *draw_suffix(struct cli *cli, const struct draw_wish *wish)
{
    return wish->metric == NULL ? wish->kind
                                : arena_printf(cli->arena, "%s-%s", wish->kind, wish->metric);
}

const char *draw_default_base(struct cli *cli, const char *path_or_key)
{
    const char *slash = strrchr(path_or_key, '/');
    const char *name = slash != NULL ? slash + 1 : path_or_key;
    const char *dot = strrchr(name, '.');
    const int length = dot != NULL && dot != name ? (int)(dot - name) : (int)strlen(name);
    return arena_printf(cli->arena, "results/%.*s", length, name);
}

/* ---- drawing ------------------------------------------------------------------- */

void draw_add_paths(struct cli *cli, const char *path_base, bool is_good, struct draw_paths *paths)
{
    static const char *const suffixes[] = {".svg", ".png", ".csv", ".gp"};
    for (size_t i = is_good ? 0 : 2; i < sizeof suffixes / sizeof *suffixes; i++) {
        const char *path = plot_path(cli->arena, path_base, suffixes[i]);
        if (access(path, F_OK) == 0) {
            paths->items = arena_grow(cli->arena, paths->items, &paths->capacity, paths->count + 1,
                                      sizeof *paths->items);
            paths->items[paths->count++] = path;
        }
    }
}

bool draw(struct cli *cli, const struct draw_wish *wish, const struct plot_series *series,
          uint32_t series_count, struct draw_paths *paths)
{
    sim_assert(series_count > 0);
    const struct plot_request request = {
        .kind = wish->kind,
        .metric = wish->metric,
        .x_axis = wish->x_axis,
        .y_axis = wish->y_axis,
        .title = series_count == 1 ? series[0].title : NULL,
        .path_base = wish->path_base,
        .size = wish->size,
        .limits = wish->limits,
        .limit_count = wish->limit_count,
        .series = series,
        .series_count = series_count,
    };
    const bool is_good = plot_draw(cli->arena, &request, cli->diag);
    draw_add_paths(cli, wish->path_base, is_good, paths);
    return is_good;
}

void draw_print_paths(const struct draw_paths *paths, FILE *out)
{
    for (size_t i = 0; i < paths->count; i++) {
        fprintf(out, "%s\n", paths->items[i]);
    }
}
