/* What all plots share: names of files, the head of every script with its colours and fonts, and
 * the call of gnuplot. A kind's own file writes data and script; which kinds there are is in
 * plot_kinds.c. Pictures that are there stay until new ones are whole.
 */
#include "report/plot/plot.h"

#include "base/arena.h"
#include "base/path.h"
#include "base/printable.h"
#include "report/plot/gnuplot.h"
#include "report/plot/plot_kinds.h"
#include "report/winners.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* A size of text is pixels in SVG, points of 4/3 pixels in PNG. Lines and points are in PNG as wide
 * as in SVG, a little more. */
#define PNG_LETTER 0.75
#define PNG_LINE 1.0667
#define PNG_POINT 0.9333

/* ---- what all scripts share ---------------------------------------------------------------- */

/* Okabe and Ito's palette, safe for colour-blind eyes; marks differ too, for print in grey.
 * tic() doubles per cent signs, because the label of a tic is a format; more() is the next line of
 * a text that was broken. */
static const char house_style[] =
    "set encoding utf8\n"
    "array COLOUR[8] = ['#0072B2', '#D55E00', '#009E73', '#E69F00', '#56B4E9', '#CC79A7', "
    "'#999999', '#000000']\n"
    "array MARK[8] = [7, 5, 9, 11, 13, 15, 6, 4]\n"
    "do for [i=1:32] { eval sprintf(\"set linetype %d lc rgb '%s' lw 2.2 pt %d ps 1.1 dt %d\", "
    "i, COLOUR[(i-1)%8+1], MARK[(i-1)%8+1], (i-1)/8+1) }\n"
    "set border 3 lc rgb '#444444' lw 1\n"
    "set tics nomirror out scale 0.6 textcolor rgb '#333333'\n"
    "set xlabel textcolor rgb '#222222'\n"
    "set grid ytics lc rgb '#dddddd' lw 0.8 lt 1\n"
    "set key samplen 1.6 spacing 1.15 textcolor rgb '#222222'\n"
    "tic(text) = strstrt(text, '%') == 0 ? text : "
    "text[1:strstrt(text, '%')] . '%' . tic(text[strstrt(text, '%')+1:*])\n"
    "more(text) = text eq '-' ? '' : \"\\n\".text\n";

const char *plot_item_label(const struct plot_page *page, const struct plot_item *item)
{
    return page->request->series_count < 2
               ? item->row->label
               : arena_printf(page->arena, "%s, %s", item->series_title, item->row->label);
}

void plot_add_note(struct plot_page *page, const char *text)
{
    page->note =
        page->note[0] == '\0' ? text : arena_printf(page->arena, "%s; %s", page->note, text);
}

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
    csv_names(&page->csv, plot_word_columns, PLOT_WORD_COUNT_);
    csv_row_end(&page->csv);
}

void plot_row(struct plot_page *page, const double *numbers, const char *const *texts)
{
    const char *words[PLOT_WORD_COUNT_] = {"", "", "", "", ""};
    if (!page->has_row) {
        plot_frame_words(page, words);
        page->has_row = true;
    }
    csv_numbers(&page->csv, numbers, page->number_count);
    csv_texts(&page->csv, texts, page->text_count);
    csv_texts(&page->csv, words, PLOT_WORD_COUNT_);
    csv_row_end(&page->csv);
}

/* Arrays of the text columns, so many from that one on. */
static void write_arrays(FILE *script, const char *const *texts, uint32_t count, uint32_t first,
                         uint32_t row_count)
{
    if (count == 0) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        fprintf(script, "array %s[%u]\n", texts[i], row_count);
    }
    fputs("stats DATA skip 1 using (", script);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(script, "%s[int($0)+1] = strcol(%u), ", texts[i], 2 * (first + i) + 2);
    }
    fputs("0) nooutput\n", script);
}

void plot_script_begin(struct plot_page *page, uint32_t row_count)
{
    FILE *script = page->script;
    fprintf(script, "# Drawn from %s.csv. Again: gnuplot %s.gp\n", page->name, page->name);
    fprintf(script, "DATA = '%s.csv'\nif (!exists('PART')) PART = ''\n%s", page->name, house_style);
    fputs("set datafile separator '\"'\n", script);
    write_arrays(script, page->texts, page->text_count, 0, row_count);
    write_arrays(script, plot_word_columns, PLOT_WORD_COUNT_, page->text_count, row_count);
    fputs("set datafile separator ','\nset datafile columnheaders\n", script);
}

static void write_terminal(struct plot_page *page, bool is_svg)
{
    const struct plot_size *size = page->size;
    const uint32_t width = page->frame.width;
    const uint32_t height = plot_frame_height(page);
    if (is_svg) {
        fprintf(page->script,
                "set terminal svg size %u,%u dynamic standalone noenhanced "
                "font 'DejaVu Sans,%d' linewidth %.4g background rgb 'white'\n"
                "set output '%s.svg'.PART\n",
                width, height, PLOT_LETTER, size->lines, page->name);
        return;
    }
    fprintf(page->script,
            "set terminal pngcairo size %.0f,%.0f noenhanced font 'DejaVu Sans,%d' fontscale %.4g "
            "linewidth %.4g pointscale %.4g background rgb 'white'\n"
            "set output '%s.png'.PART\n",
            floor(width * size->png), floor(height * size->png), PLOT_LETTER,
            PNG_LETTER * size->png, PNG_LINE * size->png * size->lines, PNG_POINT * size->png,
            page->name);
}

void plot_script_end(struct plot_page *page, const char *plot)
{
    plot_frame_write(page);
    write_terminal(page, true);
    fprintf(page->script, "%s\n", plot);
    write_terminal(page, false);
    fputs("replot\nset output\n", page->script);
}

void plot_script_end_with(struct plot_page *page, void (*plots)(struct plot_page *page))
{
    for (uint32_t pass = 0; pass < 2; pass++) {
        plot_frame_write(page);
        write_terminal(page, pass == 0);
        plots(page);
    }
    fputs("set output\n", page->script);
}

/* Peaks that differ: then a share of one is no measure. */
static bool items_have_peaks(const struct plot_page *page)
{
    const struct store_row **rows = arena_array(page->arena, page->item_count + 1u, sizeof *rows);
    for (uint32_t i = 0; i < page->item_count; i++) {
        rows[i] = page->items[i].row;
    }
    return peaks_differ(rows, page->item_count);
}

const struct figure_metric *plot_request_metric(struct plot_page *page)
{
    const char *asked = page->request->metric;
    const bool have_peaks = items_have_peaks(page);
    const char *name = asked != NULL ? asked : have_peaks ? "tokens_per_s_per_gpu" : "mfu";
    const struct figure_metric *metric = store_metric_find(name);
    if (metric != NULL && have_peaks && metric_is_of_peak(metric)) {
        plot_add_note(page, "of different peaks: it does not compare");
    }
    if (metric == NULL) {
        uint32_t count = 0;
        const char *const *names = store_metric_names(&count);
        const char *near = diag_nearest(name, names, count);
        diag_add(page->diag, DIAG_USAGE, NULL, "there is no metric '%s'", name);
        diag_help(page->diag, near != NULL ? "did you mean %s?" : "try %s",
                  near != NULL ? near : "mfu, step_s, days or cost_usd");
    }
    return metric;
}

static bool begin_file(const struct plot_page *page, const char *suffix, struct path_file *file)
{
    const char *path = plot_path(page->arena, page->request->path_base, suffix);
    return path_begin(page->arena, path, file, page->diag);
}

static bool write_files(struct plot_page *page, bool (*write)(struct plot_page *page))
{
    struct path_file csv;
    struct path_file script;
    if (!begin_file(page, ".csv", &csv)) {
        return false;
    }
    bool is_good = begin_file(page, ".gp", &script);
    if (is_good) {
        page->csv = (struct csv){.out = csv.out};
        page->script = script.out;
        is_good = write(page);
        is_good = path_end(&script, is_good, page->diag);
    }
    /* Where there is nothing to draw, the data are there all the same. */
    return path_end(&csv, true, page->diag) && is_good;
}

/* ---- pictures: gnuplot's, under another name until all is good ------------------------------- */

static const char *part_path(const struct plot_page *page, const char *suffix)
{
    return arena_printf(page->arena, "%s" GNUPLOT_PART,
                        plot_path(page->arena, page->request->path_base, suffix));
}

/* All of a file; NULL, or less than all, when it cannot be read. */
static const char *read_part(const struct plot_page *page, const char *path, size_t *size)
{
    struct stat status;
    FILE *file = stat(path, &status) == 0 ? path_open(path) : NULL;
    if (file == NULL) {
        return NULL;
    }
    char *text = arena_alloc(page->arena, (size_t)status.st_size + 1);
    *size = fread(text, 1, (size_t)status.st_size, file);
    fclose(file);
    return text;
}

static void put_escaped(struct arena *arena, const char *text, FILE *out)
{
    for (text = printable_line(arena, text); *text != '\0'; text++) {
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

struct picture {
    const struct plot_page *page;
    const char *text;
    size_t size;
};

/* Writes what is left of a picture, without the titles that gnuplot gives to what it draws: its
 * commands, which would show under the mouse. */
static void write_untitled(const char *text, const char *end, FILE *out)
{
    static const char begin[] = "<title>";
    static const char close[] = "</title>";
    for (;;) {
        const char *title = strstr(text, begin);
        const char *rest = title != NULL ? strstr(title, close) : NULL;
        fwrite(text, 1, (size_t)((rest != NULL ? title : end) - text), out);
        if (rest == NULL) {
            return;
        }
        text = rest + strlen(close);
    }
}

/* With our own title, for who cannot see it. */
static bool write_svg(const void *context, FILE *out)
{
    static const char begin[] = "<title>";
    static const char close[] = "</desc>";
    const struct picture *picture = context;
    const char *title = strstr(picture->text, begin);
    const char *rest = title != NULL ? strstr(title, close) : NULL;
    if (rest == NULL) {
        rest = picture->text;
    } else {
        fwrite(picture->text, 1, (size_t)(title - picture->text), out);
        fputs(begin, out);
        put_escaped(picture->page->arena, picture->page->title, out);
        fputs("</title>\n<desc>", out);
        put_escaped(picture->page->arena, picture->page->note, out);
    }
    write_untitled(rest, picture->text + picture->size, out);
    return true;
}

static bool write_png(const void *context, FILE *out)
{
    const struct picture *picture = context;
    fwrite(picture->text, 1, picture->size, out);
    return true;
}

/* gnuplot's exit status says nothing about a full disk. */
static bool put_picture(const struct plot_page *page, const char *suffix,
                        bool (*write)(const void *context, FILE *out))
{
    const char *path = plot_path(page->arena, page->request->path_base, suffix);
    const char *part = part_path(page, suffix);
    struct picture picture = {.page = page};
    picture.text = read_part(page, part, &picture.size);
    unlink(part);
    if (picture.text == NULL || picture.size == 0) {
        return diag_add(page->diag, DIAG_FAILURE, NULL, "gnuplot left %s empty", path);
    }
    return path_write_whole(
        page->arena, path,
        &(struct path_content){write, &picture, "choose another place with -o", false}, page->diag);
}

bool plot_page_draw(struct plot_page *page, bool (*write)(struct plot_page *page))
{
    const char *path_base = page->request->path_base;
    page->name = name_of(page->arena, path_base);
    page->title = page->title != NULL ? page->title : page->request->title;
    page->note = page->note != NULL ? page->note : "";
    page->size = &plot_size_table[page->request->size];
    if (!write_files(page, write)) {
        return false;
    }
    unlink(part_path(page, ".svg")); /* gnuplot would follow a link there */
    unlink(part_path(page, ".png"));
    if (!gnuplot_run(page->arena, directory_of(page->arena, path_base), page->name, page->diag)) {
        unlink(part_path(page, ".svg"));
        unlink(part_path(page, ".png"));
        return false;
    }
    const bool is_svg_good = put_picture(page, ".svg", write_svg);
    return put_picture(page, ".png", write_png) && is_svg_good;
}
