/* What all plots share: the table of kinds, names of files, the head of every
 * script with its colours and fonts, and the call of gnuplot. A kind's own
 * file writes data and script; the picture is checked for being there and not
 * empty.
 */
#include "report/plot/plot.h"

#include "base/arena.h"
#include "report/plot/gnuplot.h"
#include "base/path.h"
#include "report/plot/plot_kinds.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* ---- kinds and paths --------------------------------------------------------- */

/* X(name, what it shows) */
#define KINDS(X)                                                  \
    X(lines, "a metric against one axis, a line for each series") \
    X(causes, "the step by cause, a bar for each point")          \
    X(dollars, "days against dollars")                            \
    X(heatmap, "a metric over two axes, with what does not fit")  \
    X(pareto, "a metric against memory, with the front")
#define KIND_ROW(name, title) {#name, title, plot_write_##name},
#define KIND_NAME(name, title) #name,

static const struct plot_kind kinds[] = {KINDS(KIND_ROW)};
static const char *const kind_names[] = {KINDS(KIND_NAME)};
#define KIND_COUNT ((uint32_t)(sizeof kinds / sizeof *kinds))

const char *const *plot_kinds(uint32_t *count)
{
    *count = KIND_COUNT;
    return kind_names;
}

const char *plot_kind_title(uint32_t number)
{
    return kinds[number].title;
}

static const char *directory_of(struct arena *arena, const char *path_base)
{
    const char *slash = strrchr(path_base, '/');
    if (slash == NULL) {
        return ".";
    }
    return slash == path_base ? "/" : arena_strndup(arena, path_base, (size_t)(slash - path_base));
}

/* What is written into scripts: letters that mean nothing to gnuplot, or to a shell. */
static const char *name_of(struct arena *arena, const char *path_base)
{
    const char *slash = strrchr(path_base, '/');
    char *name = arena_strdup(arena, slash != NULL ? slash + 1 : path_base);
    for (char *letter = name; *letter != '\0'; letter++) {
        const bool is_safe = (*letter >= 'a' && *letter <= 'z') ||
                             (*letter >= 'A' && *letter <= 'Z') ||
                             (*letter >= '0' && *letter <= '9') || strchr("._-", *letter) != NULL;
        if (!is_safe) {
            *letter = '_';
        }
    }
    return name[0] != '\0' ? name : "plot";
}

const char *plot_path(struct arena *arena, const char *path_base, const char *suffix)
{
    return arena_printf(arena, "%s/%s%s", directory_of(arena, path_base), name_of(arena, path_base),
                        suffix);
}

/* ---- what all scripts share ---------------------------------------------------- */

/* Okabe and Ito's palette, safe for colour-blind eyes; marks differ too, for print in grey.
 * tic() doubles per cent signs, because the label of a tic is a format. */
static const char house_style[] =
    "set encoding utf8\n"
    "array COLOUR[8] = ['#0072B2', '#D55E00', '#009E73', '#E69F00', '#56B4E9', '#CC79A7', "
    "'#999999', '#000000']\n"
    "array MARK[8] = [7, 5, 9, 11, 13, 15, 6, 4]\n"
    "do for [i=1:32] { eval sprintf(\"set linetype %d lc rgb '%s' lw 2.2 pt %d ps 1.1 dt %d\", "
    "i, COLOUR[(i-1)%8+1], MARK[(i-1)%8+1], (i-1)/8+1) }\n"
    "set border 3 lc rgb '#444444' lw 1\n"
    "set tics nomirror out scale 0.6 textcolor rgb '#333333'\n"
    "set xlabel textcolor rgb '#222222'\nset ylabel textcolor rgb '#222222'\n"
    "set grid ytics lc rgb '#dddddd' lw 0.8 lt 1\n"
    "set key samplen 1.6 spacing 1.15 textcolor rgb '#222222'\n"
    "tic(text) = strstrt(text, '%') == 0 ? text : "
    "text[1:strstrt(text, '%')] . '%' . tic(text[strstrt(text, '%')+1:*])\n";

/* Text from users is never part of a script. strcol() ends at a comma, quotes or not, so texts
 * are read with the quote as the separator: there, text k of a row is column 2k. */
void plot_head(struct plot_page *page, const char *const *numbers, uint32_t number_count,
               const char *const *texts, uint32_t text_count)
{
    page->number_count = number_count;
    page->text_count = text_count;
    page->texts = texts;
    csv_names(&page->csv, numbers, number_count);
    csv_names(&page->csv, texts, text_count);
    csv_row_end(&page->csv);
}

void plot_row(struct plot_page *page, const double *numbers, const char *const *texts)
{
    csv_numbers(&page->csv, numbers, page->number_count);
    csv_texts(&page->csv, texts, page->text_count);
    csv_row_end(&page->csv);
}

void plot_script_begin(struct plot_page *page, uint32_t row_count)
{
    FILE *script = page->script;
    const uint32_t count = page->text_count;
    fprintf(script, "# Drawn from %s.csv. Again: gnuplot %s.gp\n", page->name, page->name);
    fprintf(script, "DATA = '%s.csv'\n%s", page->name, house_style);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(script, "array %s[%u]\n", page->texts[i], row_count);
    }
    fputs("set datafile separator '\"'\nstats DATA skip 1 using (", script);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(script, "%s[int($0)+1] = strcol(%u), ", page->texts[i], 2 * i + 2);
    }
    fputs("0) nooutput\n"
          "set datafile separator ','\nset datafile columnheaders\n"
          "set title plot_title[1] textcolor rgb '#222222' font 'DejaVu Sans:Bold'\n",
          script);
}

void plot_script_end(struct plot_page *page, uint32_t width, uint32_t height, const char *plot)
{
    fprintf(page->script,
            "set terminal svg size %u,%u dynamic standalone mousing noenhanced "
            "font 'DejaVu Sans,11' background rgb 'white'\n"
            "set output '%s.svg'\n"
            "%s\n",
            width, height, page->name, plot);
    fprintf(page->script,
            "set terminal pngcairo size %u,%u noenhanced font 'DejaVu Sans,16' linewidth 1.6 "
            "background rgb 'white'\n"
            "set output '%s.png'\n"
            "replot\n"
            "set output\n",
            width * 3 / 2, height * 3 / 2, page->name);
}

const struct figure_metric *plot_request_metric(const struct plot_page *page)
{
    const char *name = page->request->metric != NULL ? page->request->metric : "mfu";
    const struct figure_metric *metric = plot_metric_find(name);
    if (metric == NULL) {
        uint32_t count = 0;
        const char *const *names = plot_metrics(&count);
        const char *near = diag_nearest(name, names, count);
        diag_add(page->diag, DIAG_USAGE, NULL, "there is no metric '%s'", name);
        diag_help(page->diag, near != NULL ? "did you mean %s?" : "try %s",
                  near != NULL ? near : "mfu, step_s, days or cost_usd");
    }
    return metric;
}

/* ---- drawing -------------------------------------------------------------------- */

static bool collect_items(struct plot_page *page)
{
    const struct plot_request *request = page->request;
    uint32_t count = 0;
    for (uint32_t i = 0; i < request->series_count; i++) {
        count += request->series[i].count;
    }
    if (count == 0) {
        return diag_add(page->diag, DIAG_FAILURE, NULL, "there is no point to plot");
    }
    page->items = arena_array(page->arena, count, sizeof *page->items);
    for (uint32_t i = 0; i < request->series_count; i++) {
        const struct plot_series *series = &request->series[i];
        for (uint32_t row = 0; row < series->count; row++) {
            page->items[page->item_count++] =
                (struct plot_item){.row = &series->rows[row],
                                   .series_title = series->title != NULL ? series->title : "",
                                   .series = i};
        }
    }
    return true;
}

static FILE *open_file(struct plot_page *page, const char *suffix)
{
    const char *path = plot_path(page->arena, page->request->path_base, suffix);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        diag_add(page->diag, DIAG_FAILURE, NULL, "cannot write %s: %s", path, strerror(errno));
    }
    return file;
}

static bool close_file(struct plot_page *page, FILE *file, const char *suffix)
{
    if (file == NULL) {
        return false;
    }
    const bool was_good = ferror(file) == 0;
    if (fclose(file) == 0 && was_good) {
        return true;
    }
    return diag_add(page->diag, DIAG_FAILURE, NULL, "cannot write %s: %s",
                    plot_path(page->arena, page->request->path_base, suffix), strerror(errno));
}

static bool write_files(struct plot_page *page, bool (*write)(struct plot_page *page))
{
    page->csv = (struct csv){.out = open_file(page, ".csv")};
    page->script = open_file(page, ".gp");
    bool is_good = page->csv.out != NULL && page->script != NULL;
    is_good = is_good && write(page);
    const bool is_data_good = close_file(page, page->csv.out, ".csv");
    const bool is_script_good = close_file(page, page->script, ".gp");
    return is_good && is_data_good && is_script_good;
}

/* gnuplot's exit status says nothing about a full disk. */
static bool check_picture(struct plot_page *page, const char *suffix)
{
    const char *path = plot_path(page->arena, page->request->path_base, suffix);
    struct stat status;
    if (stat(path, &status) == 0 && status.st_size > 0) {
        return true;
    }
    return diag_add(page->diag, DIAG_FAILURE, NULL, "gnuplot left %s empty", path);
}

static const struct plot_kind *find_kind(const char *name, struct diag *diag)
{
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    diag_add(diag, DIAG_USAGE, NULL, "there is no plot '%s'", name);
    diag_help(diag, "the plots are lines, causes, dollars, heatmap and pareto");
    return NULL;
}

bool plot_page_draw(struct plot_page *page, bool (*write)(struct plot_page *page))
{
    const char *path_base = page->request->path_base;
    page->name = name_of(page->arena, path_base);
    return path_make_directories(page->arena, path_base, page->diag) && write_files(page, write) &&
           gnuplot_run(page->arena, directory_of(page->arena, path_base), page->name, page->diag) &&
           check_picture(page, ".svg") && check_picture(page, ".png");
}

bool plot_draw(struct arena *arena, const struct plot_request *request, struct diag *diag)
{
    sim_assert(request->title != NULL);
    const struct plot_kind *kind = find_kind(request->kind, diag);
    struct plot_page page = {.arena = arena, .request = request, .diag = diag};
    return kind != NULL && collect_items(&page) && plot_page_draw(&page, kind->write);
}
