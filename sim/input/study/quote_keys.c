/* Entries of lists are read one by one, each by a schema of its own; what their values say together
 * is checked behind them. */
#include "input/study/quote_keys.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/date.h"
#include "input/scenario_load.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const double LIFE_S_MAX = 1e9; /* three decades */
static const double USD_MAX = 1e12;
static const int64_t GPUS_MAX = 10000000;

const char *const quote_by_names[QUOTE_BY_COUNT_] = {"cost", "date"};

static schema_read_function read_day, read_today, read_money, read_rates, read_job, read_jobs,
    read_delivery, read_offers;

/* ---- rows ------------------------------------------------------------------------------------ */

#define SCHEMA_OBJECT struct quote_rate
#include "input/schema/rows.h"

#define MONEY(path_, member_, dimension_, most_, help_)                                            \
    CUSTOM_AT(path_, read_money, double, member_, help_), .dimension = (dimension_), .least = 0.0, \
                                                          .most = (most_)

static const struct schema_row rate_rows[] = {
    {QUANTITY("usd", usd, DIM_USD, 1e-9, 1e9, "What one of it is worth."), .is_required = true,
     .example = "usd: 1.08 USD"},
    {CUSTOM_AT("date", read_day, int64_t, day, "Of which day that is."), .is_required = true,
     .example = "date: 2026-08-28"},
};
const struct schema quote_rate_keys = SCHEMA_OF("quote", "quote.rates.", rate_rows);

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct quote_job

static const struct schema_row job_rows[] = {
    {TEXT("name", name, "What tables call it."), .note = "that of its file"},
    {NODE("scenario", file, "What it trains: the path of a scenario."), .is_required = true,
     .example = "scenario: dense.yaml"},
    {CUSTOM_AT("from", read_day, int64_t, from_day, "It does not begin before that day."),
     .note = "as soon as the job before it is done"},
    {CUSTOM_AT("until", read_day, int64_t, until_day,
               "It should be done by then: in what share of draws it is."),
     .note = "any day"},
};
const struct schema quote_job_keys = SCHEMA_OF("quote", "quote.jobs.", job_rows);

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct quote_part

static const struct schema_row part_rows[] = {
    {COUNT("nodes", nodes, 1, GPUS_MAX, "Nodes that come then."), .is_optional = true,
     .note = "told by gpus"},
    {COUNT("gpus", gpus, 1, GPUS_MAX, "GPUs that come then."), .is_optional = true,
     .note = "told by nodes"},
    {CUSTOM_AT("date", read_day, int64_t, day, "From when on they can be used."),
     .is_required = true, .example = "date: 2027-01-15"},
};
const struct schema quote_part_keys = SCHEMA_OF("quote", "quote.offers.delivery.", part_rows);

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct quote_offer

static const struct schema_row offer_rows[] = {
    {TEXT("name", name, "What tables call it."), .is_required = true, .example = "name: Alpha"},
    {TEXT("vendor", vendor,
          "Whose machines they are: what offers of one vendor and GPU have is one box, of which a "
          "measurement tells for all of them."),
     AS(const char *, name), .note = "the name: another's than all others"},
    {NODE("cluster", cluster, "Its cluster: a name of topologies, or a path."), .is_required = true,
     .example = "cluster: h100-3200"},
    {NODE("gpu", gpu, "Its GPU: a name of models/gpus, or a path."), .note = "the cluster's"},
    {COUNT("gpus", gpus, 1, GPUS_MAX, "GPUs that are offered."), .is_optional = true,
     .note = "told by nodes, by the parts of its delivery, or the job's"},
    {COUNT("nodes", nodes, 1, GPUS_MAX, "Nodes that are offered."), .is_optional = true,
     .note = "told by gpus, by the parts of its delivery, or the job's"},
    {QUANTITY("network", network_bytes_per_s, DIM_LINK_BYTES_PER_S, 1.0, 1e15,
              "Bandwidth of a node's NICs together, one way."),
     .is_optional = true, .note = "the cluster's"},
    {MONEY("price", hour_usd, DIM_USD, 1e6,
           "Rent of a GPU for an hour, with its share of the "
           "node and of the network: 2.10 USD, 1.95 EUR."),
     .note = "it is bought"},
    {QUANTITY("term", term_s, DIM_SECONDS, 0.0, LIFE_S_MAX,
              "For how long rent is paid at least, from the delivery on."),
     .standard = "0 s"},
    {SWITCH("buy", is_bought,
            "What it is bought for, in place of price; one of gpu, node and "
            "total.")},
    {MONEY("buy.gpu", gpu_usd, DIM_USD, USD_MAX, "A GPU, with its share of all else."),
     .note = "told otherwise"},
    {MONEY("buy.node", node_usd, DIM_USD, USD_MAX, "A node, with its share of all else."),
     .note = "told otherwise"},
    {MONEY("buy.total", total_usd, DIM_USD, USD_MAX, "All that is offered."),
     .note = "told otherwise"},
    {QUANTITY("buy.life", life_s, DIM_SECONDS, 3600.0, LIFE_S_MAX,
              "Over what time it is written off, in equal parts from its delivery on."),
     .is_required = true, .example = "life: 5 years"},
    {QUANTITY("buy.residual", residual, DIM_FRACTION, 0.0, 1.0,
              "Share of the capital that it is worth at the end of its life."),
     .standard = "0 %"},
    {QUANTITY("buy.support", support, DIM_FRACTION, 0.0, 1.0,
              "Paid for support, as a share of the capital a year, month by month."),
     .standard = "0 %"},
    {MONEY("buy.hosting", hosting_usd_per_month, DIM_USD_PER_MONTH, 1e6,
           "Of a GPU: space, hands and plant, without electricity."),
     .note = "nothing"},
    {CUSTOM("delivery", read_delivery,
            "From when on it can be used: a date, or parts, [{nodes: 32, date: 2026-11-01}, "
            "{nodes: 32, date: 2027-01-15}]."),
     .is_required = true, .example = "delivery: 2026-10-01", .inner = &quote_part_keys},
    {MONEY("electricity", usd_per_kwh, DIM_USD_PER_KWH, 1e4,
           "Price of energy where it is paid apart."),
     .note = "as the job says"},
    {MONEY("storage", storage_usd_per_gb_month, DIM_USD, 1e6,
           "Rent of a GB of the shared storage for a month, of what checkpoints ask for."),
     .note = "as the job says"},
    {QUANTITY("pue", pue, DIM_COUNT, 1.0, 10.0, "The facility's power over that of its machines."),
     .is_optional = true, .note = "as the job says"},
    {NODE("set", set, "Other keys of the job on it: {software: megatron-2025, precision: fp8}."),
     .note = "the job as it is"},
};
const struct schema quote_offer_keys = SCHEMA_OF("quote", "quote.offers.", offer_rows);

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct quote

static const struct schema_row rows[] = {
    {TEXT("title", title, "What reports call the quote."), .note = "its file"},
    {CUSTOM("today", read_today, "The day on which it is asked: 2026-09-01."),
     .note = "the host's"},
    {CUSTOM("rates", read_rates,
            "Of each currency but USD, what one of it is worth: {EUR: {usd: "
            "1.08 USD, date: 2026-08-28}}."),
     .note = "all is in USD", .inner = &quote_rate_keys},
    {CHOICE("by", by, quote_by_names, QUOTE_BY_COUNT_,
            "What is to be least: what all jobs cost, or the day on which all are done."),
     .standard = "cost"},
    {CUSTOM_AT("day", read_money, double, day_usd,
               "What each day costs until all jobs are done, whoever wins: a team that waits, a "
               "market. By cost, it is part of that."),
     .dimension = DIM_USD, .least = 0.0, .most = 1e12, .note = "nothing"},
    {CUSTOM("job", read_job,
            "What is to be trained: the path of a scenario with run: {tokens: "
            "...}."),
     .note = "told by jobs"},
    {CUSTOM("jobs", read_jobs,
            "The same of several, one after the other on all that is there: "
            "[{scenario: dense.yaml, until: 2027-06-01}, {scenario: moe.yaml, "
            "from: 2027-03-01}]."),
     .note = "told by job", .inner = &quote_job_keys},
    {CUSTOM("offers", read_offers,
            "What is offered: [{name: Alpha, cluster: h100-3200, gpus: "
            "1024, price: 2.10 USD, delivery: 2026-10-01}]."),
     .is_required = true, .inner = &quote_offer_keys},
};
const struct schema quote_schema = SCHEMA_OF("quote", "quote.", rows);

/* ---- values ---------------------------------------------------------------------------------- */

/* False, with a message at the place. */
static bool bad(struct doc_map *map, const struct place *place, const char *what, const char *help)
{
    diag_add(map->diag, DIAG_INPUT, place, "%s", what);
    diag_help(map->diag, "%s", help);
    map->is_bad = true;
    return false;
}

static bool node_day(const struct schema_reader *reader, const struct schema_row *row,
                     const struct doc_node *node, int64_t *day)
{
    if (node->kind == DOC_SCALAR && date_parse(node->text, day)) {
        return true;
    }
    return bad(reader->map, &node->place,
               arena_printf(reader->assumptions->arena, "'%s' must be a day, not '%s'",
                            schema_key(row), node->kind == DOC_SCALAR ? node->text : "a list"),
               "write year, month and day: 2026-09-01");
}

static void read_day(const struct schema_reader *reader, const struct schema_row *row)
{
    int64_t day;
    if (row->is_required && !schema_require(reader, row)) {
        return;
    }
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    if (node != NULL && node_day(reader, row, node, &day)) {
        *(int64_t *)((char *)reader->object + row->offset) = day;
    }
}

static void read_today(const struct schema_reader *reader, const struct schema_row *row)
{
    struct quote *quote = reader->object;
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    quote->today = date_host_today();
    quote->is_today_told = node != NULL && node_day(reader, row, node, &quote->today);
}

/* Where a currency's three letters stand in "290 k EUR" or "0.08 EUR/kWh"; NULL: it is USD, or the
 * text has none. */
static const char *currency_in(const char *text)
{
    const char *end = strchr(text, '/');
    end = end != NULL ? end : text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1])) {
        end--;
    }
    if (end - text < 3 || (end - text > 3 && isalpha((unsigned char)end[-4]))) {
        return NULL;
    }
    for (int i = 1; i <= 3; i++) {
        if (!isupper((unsigned char)end[-i])) {
            return NULL;
        }
    }
    return strncmp(end - 3, "USD", 3) == 0 ? NULL : end - 3;
}

static const struct quote_rate *find_rate(const struct quote *quote, const char *currency)
{
    for (uint32_t i = 0; i < quote->rate_count; i++) {
        if (strncmp(quote->rates[i].currency, currency, 3) == 0) {
            return &quote->rates[i];
        }
    }
    return NULL;
}

/* In USD, with the currency's rate. `offer` has that of its price. */
static bool node_money(const struct schema_reader *reader, const struct schema_row *row,
                       const struct quote *quote, const struct doc_node *node, double *usd)
{
    struct doc_map *map = reader->map;
    struct arena *arena = reader->assumptions->arena;
    const char *currency = node->kind == DOC_SCALAR ? currency_in(node->text) : NULL;
    const struct quote_rate *rate = currency != NULL ? find_rate(quote, currency) : NULL;
    if (currency != NULL && rate == NULL) {
        return bad(map, &node->place, arena_printf(arena, "there is no rate for %.3s", currency),
                   arena_printf(arena,
                                "write rates: {%.3s: {usd: 1.08 USD, date: 2026-08-28}}, what one "
                                "%.3s is worth and when that was, or the price in USD",
                                currency, currency));
    }
    struct doc_node in_usd = *node; /* at the same place */
    if (currency != NULL) {
        in_usd.text = arena_printf(arena, "%.*sUSD%s", (int)(currency - node->text), node->text,
                                   currency + 3);
    }
    if (node->kind == DOC_SCALAR && strchr(node->text, '-') == node->text) {
        return bad(
            map, &node->place,
            arena_printf(arena, "'%s' must not be negative: '%s'", schema_key(row), node->text),
            "what is paid is a price from 0 on; a discount belongs into the price");
    }
    if (!doc_node_quantity(&in_usd, row->dimension, row->least, row->most, usd, map->diag)) {
        map->is_bad = true;
        return false;
    }
    *usd *= rate != NULL ? rate->usd : 1;
    return true;
}

/* Of an offer, or of the quote itself. */
static void read_money(const struct schema_reader *reader, const struct schema_row *row)
{
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    const bool is_of_offer = reader->schema == &quote_offer_keys;
    const struct quote_offer *offer = reader->object;
    double usd;
    if (node != NULL &&
        node_money(reader, row, is_of_offer ? offer->of : reader->object, node, &usd)) {
        memcpy((char *)reader->object + row->offset, &usd, sizeof usd);
    }
}

/* ---- rates ----------------------------------------------------------------------------------- */

static bool read_rate(const struct schema_reader *reader, const struct doc_node *entry,
                      struct quote_rate *rate)
{
    struct quote *quote = reader->object;
    struct doc_map map;
    *rate = (struct quote_rate){.of = quote, .currency = entry->key};
    if (strlen(entry->key) != 3 || currency_in(entry->key) == NULL) {
        return bad(reader->map, &entry->key_place, "a currency has three letters, and is not USD",
                   "write it like EUR, GBP or CHF");
    }
    if (!doc_map_open(&map, entry, reader->map->diag)) {
        reader->map->is_bad = true;
        return false;
    }
    schema_read(&quote_rate_keys, &map, rate, reader->assumptions);
    const struct doc_node *date = doc_find(entry, "date");
    if (!map.is_bad && date != NULL && rate->day > quote->today) {
        char text[DATE_BYTES];
        (void)bad(&map, &date->place,
                  arena_printf(reader->assumptions->arena, "the rate of %s is of %s, after today",
                               entry->key, date->text),
                  arena_printf(reader->assumptions->arena,
                               "take one that is known: of %s or before",
                               date_text(quote->today, text)));
    }
    const bool is_good = doc_finish(&map);
    reader->map->is_bad = reader->map->is_bad || !is_good;
    return is_good;
}

static void read_rates(const struct schema_reader *reader, const struct schema_row *row)
{
    struct quote *quote = reader->object;
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    if (node == NULL) {
        return;
    }
    if (node->kind != DOC_MAPPING || doc_child_count(node) > QUOTE_RATES_MAX) {
        (void)bad(reader->map, &node->place, "'rates' must be a mapping of currencies",
                  "write it like {EUR: {usd: 1.08 USD, date: 2026-08-28}}");
        return;
    }
    for (const struct doc_node *entry = node->child; entry != NULL; entry = entry->next) {
        quote->rate_count += read_rate(reader, entry, &quote->rates[quote->rate_count]) ? 1 : 0;
    }
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static const char *name_of(struct arena *arena, const char *path)
{
    static const char suffix[] = ".yaml";
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const size_t length = strlen(name);
    const size_t end = sizeof suffix - 1;
    const bool is_yaml = length > end && strcmp(name + length - end, suffix) == 0;
    return arena_printf(arena, "%.*s", (int)(is_yaml ? length - end : length), name);
}

static bool put_file(const struct schema_reader *reader, const struct doc_node *file,
                     struct quote_job *job)
{
    if (file->kind != DOC_SCALAR) {
        return bad(reader->map, &file->place, "a job is the path of a scenario",
                   "write it like dense.yaml");
    }
    job->file = file;
    job->place = file->place;
    if (job->name[0] == '\0') {
        job->name = name_of(reader->assumptions->arena, file->text);
    }
    return true;
}

static void read_job(const struct schema_reader *reader, const struct schema_row *row)
{
    struct quote *quote = reader->object;
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    quote->jobs[0] = (struct quote_job){.of = quote, .name = ""};
    if (node != NULL && put_file(reader, node, &quote->jobs[0])) {
        quote->job_count = 1;
    }
}

static bool read_job_entry(const struct schema_reader *reader, const struct doc_node *entry,
                           struct quote_job *job)
{
    struct doc_map map;
    *job = (struct quote_job){.of = reader->object, .name = ""};
    if (!doc_map_open(&map, entry, reader->map->diag)) {
        return false;
    }
    schema_read(&quote_job_keys, &map, job, reader->assumptions);
    struct schema_reader inner = *reader;
    inner.map = &map;
    if (job->file != NULL && put_file(&inner, job->file, job) && job->until_day != 0 &&
        job->until_day < job->from_day) {
        (void)bad(&map, &doc_find(entry, "until")->place, "it is to be done before it may begin",
                  "write a day after that of from");
    }
    return doc_finish(&map);
}

static const struct doc_node *take_list(const struct schema_reader *reader,
                                        const struct schema_row *row, uint32_t most,
                                        const char *example)
{
    const struct doc_node *list = doc_take(reader->map, schema_key(row));
    const uint32_t count = list->kind == DOC_SEQUENCE ? doc_child_count(list) : 0;
    if (count > 0 && count <= most) {
        return list;
    }
    struct arena *arena = reader->assumptions->arena;
    (void)bad(reader->map, &list->place,
              arena_printf(arena, "'%s' must be a list of 1 to %u", schema_key(row), most),
              arena_printf(arena, "write it like %s", example));
    return NULL;
}

static void read_jobs(const struct schema_reader *reader, const struct schema_row *row)
{
    struct quote *quote = reader->object;
    struct doc_map *map = reader->map;
    const struct doc_node *node = doc_find(map->node, schema_key(row));
    if (node == NULL && quote->job_count == 0 && doc_find(map->node, "job") == NULL) {
        (void)bad(map, &map->node->place, "there is no job: in it",
                  "write job: FILE, a scenario with run: {tokens: ...}");
    }
    if (node == NULL) {
        return;
    }
    if (doc_find(map->node, "job") != NULL) {
        (void)doc_take(map, schema_key(row));
        (void)bad(map, &node->place, "'job' and 'jobs' are both there", "leave one out");
        return;
    }
    const struct doc_node *list =
        take_list(reader, row, QUOTE_JOBS_MAX, "[{scenario: dense.yaml}, {scenario: moe.yaml}]");
    for (const struct doc_node *entry = list != NULL ? list->child : NULL; entry != NULL;
         entry = entry->next) {
        map->is_bad =
            !read_job_entry(reader, entry, &quote->jobs[quote->job_count++]) || map->is_bad;
    }
}

/* ---- offers ---------------------------------------------------------------------------------- */

static bool check_day(const struct schema_reader *reader, const struct quote *quote, int64_t day,
                      const struct place *place)
{
    struct arena *arena = reader->assumptions->arena;
    char text[DATE_BYTES], today[DATE_BYTES];
    if (day >= quote->today) {
        return true;
    }
    return bad(reader->map, place,
               arena_printf(arena, "a delivery on %s lies in the past: today is %s",
                            date_text(day, text), date_text(quote->today, today)),
               quote->is_today_told ? "write the day that is offered now, or an earlier today:"
                                    : "write the day that is offered now, or of an older quote its "
                                      "day, like today: 2026-09-01");
}

static bool read_part(const struct schema_reader *reader, const struct doc_node *entry,
                      struct quote_part *part)
{
    const struct quote_offer *offer = reader->object;
    struct doc_map map;
    *part = (struct quote_part){.of = offer->of, .place = entry->place};
    if (!doc_map_open(&map, entry, reader->map->diag)) {
        return false;
    }
    schema_read(&quote_part_keys, &map, part, reader->assumptions);
    struct schema_reader inner = *reader;
    inner.map = &map;
    if (!map.is_bad && (part->nodes > 0) == (part->gpus > 0)) {
        (void)bad(&map, &entry->place, "a part has nodes or gpus, and one of them",
                  "write it like {nodes: 32, date: 2026-11-01}");
    }
    if (!map.is_bad) {
        (void)check_day(&inner, offer->of, part->day, &doc_find(entry, "date")->place);
    }
    return doc_finish(&map);
}

/* Dates rise, all count the same, and nothing else says how many there are. */
static void check_parts(const struct schema_reader *reader, const struct doc_node *list,
                        const struct quote_offer *offer)
{
    for (uint32_t i = 1; i < offer->part_count; i++) {
        const struct quote_part *part = &offer->parts[i];
        if (part->day <= offer->parts[i - 1].day) {
            (void)bad(reader->map, &part->place, "a part comes no later than the one before it",
                      "write parts in the order of their dates, those of one day as one");
        } else if ((part->nodes > 0) != (offer->parts[0].nodes > 0)) {
            (void)bad(reader->map, &part->place, "some parts are told in nodes, some in gpus",
                      "write all in nodes, or all in gpus");
        }
    }
    if (offer->gpus > 0 || offer->nodes > 0) {
        (void)bad(reader->map, &list->place, "parts say how many there are, and so does the offer",
                  "leave out gpus or nodes of the offer");
    }
}

static void read_delivery(const struct schema_reader *reader, const struct schema_row *row)
{
    struct quote_offer *offer = reader->object;
    struct doc_map *map = reader->map;
    if (!schema_require(reader, row)) {
        return;
    }
    const struct doc_node *node = doc_find(map->node, schema_key(row));
    if (node->kind != DOC_SEQUENCE) {
        (void)doc_take(map, schema_key(row));
        struct quote_part *part = &offer->parts[0];
        *part = (struct quote_part){.of = offer->of, .place = node->place};
        if (node_day(reader, row, node, &part->day) &&
            check_day(reader, offer->of, part->day, &node->place)) {
            offer->part_count = 1;
        }
        return;
    }
    const struct doc_node *list =
        take_list(reader, row, QUOTE_PARTS_MAX, "[{nodes: 32, date: 2026-11-01}]");
    for (const struct doc_node *entry = list != NULL ? list->child : NULL; entry != NULL;
         entry = entry->next) {
        map->is_bad = !read_part(reader, entry, &offer->parts[offer->part_count++]) || map->is_bad;
    }
    if (list != NULL && !map->is_bad) {
        check_parts(reader, list, offer);
    }
}

static bool check_bought(struct doc_map *map, const struct quote_offer *offer,
                         const struct doc_node *buy)
{
    const int told =
        !is_absent(offer->gpu_usd) + !is_absent(offer->node_usd) + !is_absent(offer->total_usd);
    return told == 1 || bad(map, &buy->place, "what is bought has one price",
                            "write one of gpu, node and total, like {node: 290 k USD, life: 5 "
                            "years}");
}

/* How it is paid, and how large it is. */
static void check_offer(struct arena *arena, const struct doc_node *entry, struct doc_map *map,
                        struct quote_offer *offer)
{
    const struct doc_node *price = doc_find(entry, "price");
    const struct doc_node *buy = doc_find(entry, "buy");
    const struct doc_node *money = price != NULL ? price : buy;
    offer->price_place = money != NULL ? money->place : entry->place;
    if (price == NULL && !offer->is_bought) {
        (void)bad(map, &entry->place, arena_printf(arena, "'%s' has no price", offer->name),
                  "write price: 2.10 USD, the rent of a GPU for an hour, or buy: {node: 290 k USD, "
                  "life: 5 years}");
    } else if (price != NULL && offer->is_bought) {
        (void)bad(map, &price->place, arena_printf(arena, "'%s' is rented and bought", offer->name),
                  "leave out price or buy, or make two offers of it");
    } else if (offer->is_bought) {
        (void)check_bought(map, offer, buy);
    }
    if (offer->gpus > 0 && offer->nodes > 0) {
        (void)bad(map, &doc_find(entry, "nodes")->place, "gpus and nodes both say how many",
                  "leave one out");
    }
}

/* What its prices are written in. */
static const char *currency_of(struct arena *arena, const struct doc_node *entry)
{
    static const char *const paths[] = {"price", "buy.gpu", "buy.node", "buy.total"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const char *text = doc_find_text(entry, paths[i]);
        const char *found = text != NULL ? currency_in(text) : NULL;
        if (found != NULL) {
            return arena_printf(arena, "%.3s", found);
        }
    }
    return "USD";
}

static bool read_offer(const struct schema_reader *reader, const struct doc_node *entry,
                       struct quote_offer *offer)
{
    struct arena *arena = reader->assumptions->arena;
    struct doc_map map;
    *offer = (struct quote_offer){.of = reader->object,
                                  .name = "",
                                  .hour_usd = ABSENT,
                                  .gpu_usd = ABSENT,
                                  .node_usd = ABSENT,
                                  .total_usd = ABSENT,
                                  .usd_per_kwh = ABSENT,
                                  .storage_usd_per_gb_month = ABSENT,
                                  .pue = 0,
                                  .place = entry->place};
    if (!doc_map_open(&map, entry, reader->map->diag)) {
        return false;
    }
    schema_read(&quote_offer_keys, &map, offer, reader->assumptions);
    offer->currency = currency_of(arena, entry);
    if (!map.is_bad) {
        check_offer(arena, entry, &map, offer);
    }
    return doc_finish(&map);
}

static bool check_names(const struct quote *quote, struct diag *diag)
{
    for (uint32_t i = 0; i < quote->offer_count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(quote->offers[i].name, quote->offers[k].name) == 0) {
                diag_add(diag, DIAG_INPUT, &quote->offers[i].place, "two offers are called '%s'",
                         quote->offers[i].name);
                diag_help(diag, "give each a name of its own; vendor: may be the same");
                return false;
            }
        }
    }
    return true;
}

static void read_offers(const struct schema_reader *reader, const struct schema_row *row)
{
    struct quote *quote = reader->object;
    struct doc_map *map = reader->map;
    if (!schema_require(reader, row)) {
        return;
    }
    const struct doc_node *list = take_list(
        reader, row, QUOTE_OFFERS_MAX,
        "[{name: Alpha, cluster: h100-3200, gpus: 1024, price: 2.10 USD, delivery: 2026-10-01}]");
    if (list == NULL) {
        return;
    }
    quote->offers_place = list->place;
    bool is_good = true;
    for (const struct doc_node *entry = list->child; entry != NULL; entry = entry->next) {
        is_good = read_offer(reader, entry, &quote->offers[quote->offer_count++]) && is_good;
    }
    is_good = is_good && check_names(quote, map->diag);
    map->is_bad = map->is_bad || !is_good;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The scenario without its studies and its machine, which is the offer's. */
static bool load_job(struct arena *arena, const struct catalogue *catalogue, struct quote_job *job,
                     struct diag *diag)
{
    static const char *const dropped[] = {"sweep", "variants", "require", "cluster",
                                          "gpu",   "library",  "gpus"};
    const char *path = catalogue_path_beside(arena, catalogue, &job->file->place, job->file->text);
    if (!doc_files_exist(catalogue->files, path)) {
        diag_add(diag, DIAG_INPUT, &job->file->place, "there is no file '%s'", job->file->text);
        diag_help(diag, "a scenario is looked for beside this file, then in the current directory");
        return false;
    }
    struct doc_node *document = scenario_load_document(arena, path, diag);
    if (document == NULL) {
        return false;
    }
    document = doc_copy(arena, document);
    const char *gpus = doc_find_text(document, "gpus");
    if (document->kind == DOC_MAPPING) {
        for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) {
            doc_drop(document, dropped[i]);
        }
    }
    job->document = document;
    job->gpus_text = gpus;
    return true;
}

bool quote_read(struct arena *arena, const struct doc_node *document,
                const struct catalogue *catalogue, struct quote *quote, struct diag *diag)
{
    struct assumptions unused;
    assumptions_init(&unused, arena);
    *quote = (struct quote){.title = ""};
    if (!schema_read_document(&quote_schema, document, quote, &unused, diag)) {
        return false;
    }
    if (quote->title[0] == '\0') {
        quote->title = document->place.file != NULL ? document->place.file : "a quote";
    }
    bool is_good = true;
    for (uint32_t i = 0; i < quote->job_count; i++) {
        is_good = load_job(arena, catalogue, &quote->jobs[i], diag) && is_good;
    }
    return is_good;
}
