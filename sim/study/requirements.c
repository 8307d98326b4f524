/* A requirement is read from one line of text; each point is held against all in turn. In which
 * unit a metric's limit is written, and what a scenario needs to have it, its row says
 * (run/figures.h).
 */
#include "study/requirements.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "store/store_metrics.h"
#include "study/search/search.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- metrics and their units ----------------------------------------------------------------- */

/* A number of the scenario, not a figure of the result. */
static const struct figure_metric gpus_metric = {.name = "gpus",
                                                 .title = "GPUs",
                                                 .head = "GPUs",
                                                 .factor = 1,
                                                 .format = "%.0f",
                                                 .measure = FIGURE_MEASURE_COUNT};

double requirement_metric_value(const struct figure_metric *metric, const struct store_row *row)
{
    return metric == &gpus_metric ? (double)row->gpus : store_metric_value(metric, row);
}

/* ---- reading --------------------------------------------------------------------------------- */

const struct figure_metric *requirement_metric_find(const char *name)
{
    static const char *const words[][2] = {{"usd", "cost_usd"}, {"kwh", "energy_kwh"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        name = strcmp(name, words[i][0]) == 0 ? words[i][1] : name; /* as `whatif --by` has them */
    }
    return strcmp(name, gpus_metric.name) == 0 ? &gpus_metric : store_metric_find(name);
}

/* Into what is read, and where messages go. */
struct reader {
    struct arena *arena;
    struct diag *diag;
};

static const struct figure_metric *find_metric(const struct reader *reader,
                                               const struct requirement *requirement,
                                               const char *name)
{
    const struct figure_metric *metric = requirement_metric_find(name);
    if (metric != NULL) {
        return metric;
    }
    const char **names = arena_array(reader->arena, store_metric_count + 1, sizeof *names);
    for (uint32_t i = 0; i < store_metric_count; i++) {
        names[i] = store_metric_table[i].name;
    }
    names[store_metric_count] = gpus_metric.name;
    diag_add(reader->diag, requirement->kind, &requirement->place,
             "there is no metric '%s' that could be required", name);
    diag_help_nearest(reader->diag, diag_nearest(name, names, store_metric_count + 1),
                      "`stoker list metrics` names them; gpus is one, too");
    return NULL;
}

/* No figure that is a fraction reaches 2: 50 was meant as per cent. */
static bool refuse_fraction(const struct reader *reader, const struct requirement *requirement,
                            double value)
{
    struct diag *diag = reader->diag;
    diag_add(diag, requirement->kind, &requirement->place,
             "%s: %g is %g %%, and none is above 100 %%", requirement->metric->name, value,
             100 * value);
    diag_help(diag, "write it like %s %s %g %%", requirement->metric->name,
              requirement->is_least ? ">=" : "<=", value <= 100 ? value : 100);
    return false;
}

static bool read_limit(const struct reader *reader, struct requirement *requirement,
                       const char *text)
{
    const struct figure_measure *measure = &requirement->metric->measure;
    char message[256];
    char unused[256];
    double value = 0;
    if (measure->is_plain && units_parse(text, DIM_COUNT, &value, unused, sizeof unused)) {
        value *= measure->si;
    } else if (!units_parse(text, measure->dimension, &value, message, sizeof message)) {
        diag_add(reader->diag, requirement->kind, &requirement->place, "%s: %s",
                 requirement->metric->name, message);
        diag_help(reader->diag, "write it like %s %s %s", requirement->metric->name,
                  requirement->is_least ? ">=" : "<=",
                  measure->is_plain ? "60" : units_example(measure->dimension));
        return false;
    }
    if (measure->dimension == DIM_FRACTION && value > 1) {
        return refuse_fraction(reader, requirement, value);
    }
    requirement->limit = value / measure->si;
    return true;
}

static const char *trimmed(struct arena *arena, const char *text, size_t length)
{
    while (length > 0 && isspace((unsigned char)*text)) {
        text++;
        length--;
    }
    while (length > 0 && isspace((unsigned char)text[length - 1])) {
        length--;
    }
    return arena_printf(arena, "%.*s", (int)length, text);
}

/* "METRIC <= VALUE" or with >=; the requirement has its place and kind already. */
static bool read_text(const struct reader *reader, const char *text,
                      struct requirement *requirement)
{
    const char *sign = strpbrk(text, "<>=");
    if (sign == NULL || sign == text || *sign == '=' || sign[1] != '=') {
        diag_add(reader->diag, requirement->kind, &requirement->place,
                 "'%s' is no requirement: it has no metric, and <= or >=", text);
        diag_help(reader->diag, "write it like 'days <= 60' or 'mfu >= 40 %%', in quotes on the "
                                "command line");
        return false;
    }
    const char *name = trimmed(reader->arena, text, (size_t)(sign - text));
    const char *value = trimmed(reader->arena, sign + 2, strlen(sign + 2));
    requirement->is_least = *sign == '>';
    requirement->text = arena_printf(reader->arena, "%s %.2s %s", name, sign, value);
    requirement->metric = find_metric(reader, requirement, name);
    return requirement->metric != NULL && read_limit(reader, requirement, value);
}

/* One requirement more, unless it stands there already, as in each file of several. */
static bool add_text(const struct reader *reader, struct requirements *requirements,
                     const char *text, struct requirement requirement)
{
    if (!read_text(reader, text, &requirement)) {
        return false;
    }
    for (uint32_t i = 0; i < requirements->count; i++) {
        if (strcmp(requirements->items[i].text, requirement.text) == 0) {
            return true;
        }
    }
    requirements->items[requirements->count++] = requirement;
    return true;
}

static bool read_node(const struct reader *reader, const struct doc_node *node,
                      struct requirements *requirements)
{
    if (node->kind == DOC_SCALAR) {
        return add_text(reader, requirements, node->text,
                        (struct requirement){.place = node->place, .kind = DIAG_INPUT});
    }
    diag_add(reader->diag, DIAG_INPUT, &node->place, "a requirement is a line of text");
    diag_help(reader->diag, "write it like require: [days <= 60, gpus <= 512]");
    return false;
}

/* A list of them, or one alone. */
static bool read_document(const struct reader *reader, const struct doc_node *require,
                          struct requirements *requirements)
{
    if (require == NULL || require->kind == DOC_NULL) {
        return true;
    }
    if (require->kind != DOC_SEQUENCE) {
        return read_node(reader, require, requirements);
    }
    bool is_good = true;
    for (const struct doc_node *node = require->child; node != NULL; node = node->next) {
        is_good = read_node(reader, node, requirements) && is_good;
    }
    return is_good;
}

bool requirements_read(struct arena *arena, const struct requirements_asked *asked,
                       struct requirements *requirements, struct diag *diag)
{
    const struct reader reader = {arena, diag};
    uint32_t most = asked->text_count;
    for (uint32_t i = 0; i < asked->document_count; i++) {
        const struct doc_node *require = doc_find(asked->documents[i], "require");
        most += require == NULL ? 0 : 1 + doc_child_count(require);
    }
    *requirements = (struct requirements){
        .items = arena_array(arena, most, sizeof *requirements->items),
    };
    bool is_good = true;
    for (uint32_t i = 0; i < asked->document_count; i++) {
        const struct doc_node *require = doc_find(asked->documents[i], "require");
        is_good = read_document(&reader, require, requirements) && is_good;
    }
    for (uint32_t i = 0; i < asked->text_count; i++) {
        const char *text = asked->texts[i];
        const struct place place = {.file = arena_printf(arena, "--require '%s'", text)};
        is_good = add_text(&reader, requirements, text,
                           (struct requirement){.place = place, .kind = DIAG_USAGE}) &&
                  is_good;
    }
    return is_good;
}

/* ---- each point ------------------------------------------------------------------------------ */

double requirement_miss(const struct requirement *requirement, const struct store_row *row)
{
    const double value = requirement_metric_value(requirement->metric, row);
    if (is_absent(value)) {
        return ABSENT;
    }
    const double over =
        requirement->is_least ? requirement->limit - value : value - requirement->limit;
    const double size = fabs(requirement->limit);
    return size > 0 ? over / size : over > 0 ? 1 : 0;
}

const struct requirement *requirements_worst(const struct requirements *requirements,
                                             const struct store_row *row, double *miss)
{
    const struct requirement *worst = NULL;
    *miss = 0;
    for (uint32_t i = 0; i < requirements->count; i++) {
        const double own = requirement_miss(&requirements->items[i], row);
        if (is_absent(own)) {
            *miss = ABSENT;
            return &requirements->items[i];
        }
        if (own > *miss) {
            *miss = own;
            worst = &requirements->items[i];
        }
    }
    return worst;
}

bool requirements_are_met(const struct requirements *requirements, const struct store_row *row)
{
    double miss = 0;
    return store_row_is_good(row) && requirements_worst(requirements, row, &miss) == NULL;
}

const char *requirements_text(const struct requirements *requirements, struct arena *arena)
{
    const char *text = "";
    for (uint32_t i = 0; i < requirements->count; i++) {
        text =
            arena_printf(arena, "%s%s%s", text, i > 0 ? " and " : "", requirements->items[i].text);
    }
    return text;
}

/* In a worker. */
static double miss_of_result(const void *context, const struct result *result)
{
    struct store_row row;
    double miss = 0;
    store_row_of(result, "", &row);
    (void)requirements_worst(context, &row, &miss);
    return miss;
}

const struct search_require *requirements_of_search(const struct requirements *requirements,
                                                    struct arena *arena, const char *judge)
{
    if (requirements->count == 0) {
        return NULL;
    }
    struct search_require *require = arena_alloc(arena, sizeof *require);
    *require = (struct search_require){
        .text = requirements_text(requirements, arena),
        .value_most = HUGE_VAL,
        .memory_bytes_most = HUGE_VAL,
        .miss = miss_of_result,
        .context = requirements,
    };
    for (uint32_t i = 0; i < requirements->count; i++) {
        const struct requirement *item = &requirements->items[i];
        double *most = strcmp(item->metric->name, judge) == 0 ? &require->value_most
                       : strcmp(item->metric->name, "memory_peak_bytes") == 0
                           ? &require->memory_bytes_most
                           : NULL;
        require->is_of_run = require->is_of_run || item->metric->is_of_months;
        if (most != NULL && !item->is_least) {
            *most = fmin(*most, item->limit);
        }
    }
    return require;
}

static void tell_unknown(const struct requirement *requirement, struct diag *diag)
{
    const char *needs = requirement->metric->needs;
    diag_add(diag, requirement->kind, &requirement->place,
             "no point has %s, of which '%s' is required", requirement->metric->name,
             requirement->text);
    diag_help(diag, "%s", needs != NULL ? needs : "leave it out");
}

bool requirements_check_run(const struct requirements *requirements, bool has_run,
                            struct diag *diag)
{
    bool is_good = true;
    for (uint32_t i = 0; i < requirements->count && !has_run; i++) {
        if (requirements->items[i].metric->is_of_months) {
            tell_unknown(&requirements->items[i], diag);
            is_good = false;
        }
    }
    return is_good;
}

const bool *requirements_misses(const struct requirements *requirements,
                                const struct store_row *rows, uint32_t count, struct arena *arena)
{
    if (requirements->count == 0) {
        return NULL;
    }
    bool *misses = arena_array(arena, count, sizeof *misses);
    for (uint32_t i = 0; i < count; i++) {
        misses[i] = store_row_is_good(&rows[i]) && !requirements_are_met(requirements, &rows[i]);
    }
    return misses;
}

/* ---- all points ------------------------------------------------------------------------------ */

const struct store_row *requirements_nearest(const struct requirements *requirements,
                                             const struct store_row *rows, uint32_t count)
{
    const struct store_row *nearest = NULL;
    double least = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct store_row *row = &rows[i];
        double miss = ABSENT;
        if (store_row_is_good(row)) {
            (void)requirements_worst(requirements, row, &miss);
        }
        if (!is_absent(miss) && (nearest == NULL || miss < least)) {
            nearest = row;
            least = miss;
        }
    }
    return nearest;
}

bool requirements_check_known(const struct requirements *requirements, const struct store_row *rows,
                              uint32_t count, struct diag *diag)
{
    bool is_good = true;
    for (uint32_t i = 0; i < requirements->count; i++) {
        const struct requirement *requirement = &requirements->items[i];
        bool is_known = false;
        for (uint32_t k = 0; k < count; k++) {
            is_known =
                is_known || (store_row_is_good(&rows[k]) &&
                             !is_absent(requirement_metric_value(requirement->metric, &rows[k])));
        }
        if (!is_known) {
            tell_unknown(requirement, diag);
            is_good = false;
        }
    }
    return is_good;
}

const struct store_row *requirements_first_met(const struct requirements *requirements,
                                               const struct store_row *rows, uint32_t count)
{
    uint32_t i = 0;
    while (i < count && !requirements_are_met(requirements, &rows[i])) {
        i++;
    }
    return i < count ? &rows[i] : NULL;
}
