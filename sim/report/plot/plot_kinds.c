/* The table of kinds, and how a study is drawn: what its items are called, what is fixed in all of
 * them, and the page that its kind writes. */
#include "report/plot/plot_kinds.h"

#include "base/arena.h"
#include "report/numbers.h"
#include "report/plot/plot.h"
#include "report/sheet.h"
#include "store/store.h"

#include <stddef.h>
#include <string.h>

/* X(name, what it shows, what it takes and cannot draw) */
#define KINDS(X)                                                                            \
    X(lines, "a metric against one axis, a line for each series",                           \
      .takes = PLOT_TAKES_METRIC | PLOT_TAKES_X)                                            \
    X(causes, "the step by cause, a bar for each point", .takes = 0)                        \
    X(dollars, "days against dollars", .takes = 0)                                          \
    X(heatmap, "a metric over two axes, with what does not fit",                            \
      .takes = PLOT_TAKES_METRIC | PLOT_TAKES_X | PLOT_TAKES_Y)                             \
    X(pareto, "a metric against memory, with the front", .takes = PLOT_TAKES_METRIC)        \
    X(whatif, "what each change saves, ranked, and a ladder", .alone = "what changes save") \
    X(best, "each value of an axis at its best, and what today's layout loses",             \
      .takes = PLOT_TAKES_METRIC | PLOT_TAKES_X, .alone = "the best of each value")
#define KIND_ROW(id, words, ...) \
    {.name = #id, .title = (words), .write = plot_write_##id, __VA_ARGS__},
#define KIND_NAME(id, ...) #id,

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

bool plot_kind_takes(const char *kind, unsigned what)
{
    bool takes = false;
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        takes = takes || (strcmp(kinds[i].name, kind) == 0 && (kinds[i].takes & what) == what);
    }
    return takes;
}

const char *plot_kinds_taking(struct arena *arena, unsigned what)
{
    const char *text = "";
    const char *last = NULL;
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        if ((kinds[i].takes & what) == what) {
            text = last == NULL      ? text
                   : text[0] == '\0' ? last
                                     : arena_printf(arena, "%s, %s", text, last);
            last = kinds[i].name;
        }
    }
    sim_assert(last != NULL);
    return text[0] == '\0' ? last : arena_printf(arena, "%s and %s", text, last);
}

static const struct plot_kind *find_kind(struct arena *arena, const char *name, struct diag *diag)
{
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    diag_add(diag, DIAG_USAGE, NULL, "there is no plot '%s'", name);
    diag_help(diag, "the plots are %s", sheet_joined(arena, kind_names, KIND_COUNT));
    return NULL;
}

/* False, with a message: the request is of more than the kind draws at a time. */
static bool check_alone(const struct plot_kind *kind, const struct plot_request *request,
                        struct diag *diag)
{
    return kind->alone == NULL || request->series_count == 1 ||
           diag_add(diag, DIAG_USAGE, NULL, "%s is drawn of one study at a time, not of %u",
                    kind->alone, request->series_count);
}

/* ---- drawing ---------------------------------------------------------------- */

/* A piece of a title, up to the next ", ", is in all of them. */
static bool is_in_all(const struct plot_request *request, const char *piece, size_t length)
{
    for (uint32_t i = 0; i < request->series_count; i++) {
        const char *title = request->series[i].title;
        bool is_here = false;
        while (title != NULL && !is_here) {
            const char *end = strstr(title, ", ");
            const size_t own = end != NULL ? (size_t)(end - title) : strlen(title);
            is_here = own == length && strncmp(title, piece, length) == 0;
            title = end != NULL ? end + 2 : NULL;
        }
        if (!is_here) {
            return false;
        }
    }
    return true;
}

/* What differs: "70B, seven networks" beside "405B, seven networks" is "70B". All of it, if that
 * would leave nothing. */
static const char *name_of_series(struct arena *arena, const struct plot_request *request,
                                  const char *title)
{
    const char *name = "";
    for (const char *piece = title; piece != NULL;) {
        const char *end = strstr(piece, ", ");
        const size_t length = end != NULL ? (size_t)(end - piece) : strlen(piece);
        if (!is_in_all(request, piece, length)) {
            name = arena_printf(arena, "%s%s%.*s", name, name[0] != '\0' ? ", " : "", (int)length,
                                piece);
        }
        piece = end != NULL ? end + 2 : NULL;
    }
    return name[0] != '\0' ? name : title;
}

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
        const char *name = series->title == NULL ? ""
                           : request->series_count == 1
                               ? series->title
                               : name_of_series(page->arena, request, series->title);
        for (uint32_t row = 0; row < series->count; row++) {
            page->items[page->item_count++] =
                (struct plot_item){.row = &series->rows[row],
                                   .series_title = name,
                                   .series = i,
                                   .misses = series->misses != NULL && series->misses[row]};
        }
    }
    return true;
}

/* ---- what is fixed ---------------------------------------------------------------- */

/* Where a text of a row lies, NULL where the rows with a result differ in it or it is empty. */
static const char *common_text(const struct plot_page *page, size_t offset)
{
    const char *common = NULL;
    for (uint32_t i = 0; i < page->item_count; i++) {
        const char *text = (const char *)page->items[i].row + offset;
        if (!page->items[i].row->has_run) {
            continue;
        }
        if (common != NULL && strcmp(common, text) != 0) {
            return NULL;
        }
        common = text;
    }
    return common != NULL && common[0] != '\0' ? common : NULL;
}

/* 0: they differ. */
static double common_gpus(const struct plot_page *page)
{
    double gpus = 0;
    for (uint32_t i = 0; i < page->item_count; i++) {
        const struct store_row *row = page->items[i].row;
        if (row->has_run && gpus > 0 && (gpus < row->gpus || gpus > row->gpus)) {
            return 0;
        }
        gpus = row->has_run ? row->gpus : gpus;
    }
    return gpus;
}

/* "llama3-8b, 64 h100-sxm5-80gb, megatron-2024, bf16": what all points have in common. */
static const char *fixed_note(const struct plot_page *page)
{
    struct arena *arena = page->arena;
    const char *gpu = common_text(page, offsetof(struct store_row, gpu));
    const double gpus = common_gpus(page);
    const char *hardware = gpus > 0 ? arena_printf(arena, "%s %s", number_grouped(arena, gpus),
                                                   gpu != NULL ? gpu : "GPUs")
                                    : gpu;
    const char *const parts[] = {common_text(page, offsetof(struct store_row, model)), hardware,
                                 common_text(page, offsetof(struct store_row, software)),
                                 common_text(page, offsetof(struct store_row, precision))};
    const char *note = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i] != NULL) {
            note = arena_printf(arena, "%s%s%s", note, note[0] != '\0' ? ", " : "", parts[i]);
        }
    }
    return note;
}

bool plot_draw(struct arena *arena, const struct plot_request *request, struct diag *diag)
{
    const struct plot_kind *kind = find_kind(arena, request->kind, diag);
    struct plot_page page = {.arena = arena, .request = request, .diag = diag};
    if (kind == NULL || !check_alone(kind, request, diag) || !collect_items(&page)) {
        return false;
    }
    page.note = fixed_note(&page);
    return plot_page_draw(&page, kind->write);
}
