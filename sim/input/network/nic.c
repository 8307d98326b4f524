/* A kind's figures are put into the cluster's own section, as if they had been written there: one
 * reader (cluster.c) then reads both, and messages about them point into the kind's file.
 */
#include "input/network/nic.h"

#include "base/arena.h"
#include "base/units.h"

#include <math.h>
#include <string.h>

#define RATE_MIN 1e3 /* bytes/s */
#define RATE_MAX 1e15
#define EFFICIENCY_MIN 0.01
#define LATENCY_MAX 1.0 /* s */
enum { MESSAGE_MAX = 128 };
static const double SAME_RATE = 0.01; /* relative: 400 Gbps and 50 GB/s are one */

/* ---- the table ---------------------------------------------------------------------- */

static void read_others(const struct schema_reader *reader, const struct schema_row *row)
{
    struct nic *nic = reader->object;
    const struct doc_node *list = doc_take(reader->map, schema_key(row));
    if (list == NULL) {
        return;
    }
    if (list->kind != DOC_SEQUENCE || doc_child_count(list) >= NIC_RATES_MAX) {
        diag_add(reader->map->diag, DIAG_INPUT, &list->place,
                 "'others' is a list of fewer than %d rates, such as [200 Gbps]", NIC_RATES_MAX);
        reader->map->is_bad = true;
        return;
    }
    for (const struct doc_node *item = list->child; item != NULL; item = item->next) {
        double *rate = &nic->rates_bytes_per_s[nic->rate_count];
        if (doc_node_quantity(item, DIM_LINK_BYTES_PER_S, RATE_MIN, RATE_MAX, rate,
                              reader->map->diag)) {
            nic->rate_count++;
        } else {
            reader->map->is_bad = true;
        }
    }
}

#define SCHEMA_OBJECT struct nic
#include "input/schema/rows.h"

static const struct schema_row rows[] = {
    {TEXT("nic", name, "Its name, which is that of its file, too."), .is_required = true},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {TEXT("announced", announced,
          "When its vendor announced it, of what nobody has measured yet: 2026-01."),
     .is_optional = true, .note = "it is there, and measured"},
    {SECTION("rate", "How fast one NIC is, one way."), .is_required = true},
    {QUANTITY("rate.bandwidth", rates_bytes_per_s[0], DIM_LINK_BYTES_PER_S, RATE_MIN, RATE_MAX,
              "The usual rate."),
     .is_required = true},
    {CUSTOM("rate.others", read_others, "Other rates that such NICs are built with."),
     .standard = "[]"},
    {SECTION("reach", "What large messages of collectives reach of it."), .is_required = true},
    {QUANTITY("reach.efficiency", efficiency, DIM_FRACTION, EFFICIENCY_MIN, 1.0,
              "What they reach of the bandwidth."),
     .is_required = true},
    {SECTION("message", "What a message takes."), .is_required = true},
    {QUANTITY("message.latency", latency_s, DIM_SECONDS, 0.0, LATENCY_MAX,
              "From one GPU to one on another node, one way."),
     .is_required = true},
    {QUANTITY("message.round_latency", round_latency_s, DIM_SECONDS, 0.0, LATENCY_MAX,
              "What the collective library's software for this network adds."),
     .standard = "0 s"},
    {SECTION("power", "What it draws at its usual rate."), .is_required = true},
    {QUANTITY("power.nic", power_w, DIM_WATT, 0.0, 1e4, "One NIC, without the optics in it."),
     .is_required = true},
    {QUANTITY("power.optics", optics_power_w, DIM_WATT, 0.0, 1e4,
              "The optics at one end of a link."),
     .is_required = true},
    {QUANTITY("power.port", port_power_w, DIM_WATT, 0.0, 1e4,
              "A switch, for each of its ports, without optics."),
     .is_required = true},
    {SECTION("host", "What the host pays.")},
    {QUANTITY("host.core_bandwidth", core_bytes_per_s, DIM_LINK_BYTES_PER_S, RATE_MIN, RATE_MAX,
              "What one core of the host moves (TCP)."),
     .is_optional = true, .note = "cores do not touch the data"},
};
const struct schema nic_schema = SCHEMA_OF("nic", "nic.", rows);

bool nic_read(const struct doc_node *node, struct nic *nic, struct assumptions *assumptions,
              struct diag *diag)
{
    *nic = (struct nic){.name = "inline", .rate_count = 1};
    return schema_read_document(&nic_schema, node, nic, assumptions, diag);
}

static bool read_object(const struct doc_node *node, void *object, struct assumptions *assumptions,
                        struct diag *diag)
{
    return nic_read(node, object, assumptions, diag);
}
static const struct doc_reader nic_reader = {sizeof(struct nic), read_object};

/* ---- what --set and the file say ---------------------------------------------------- */

/* What is worked on: a cluster whose section `nics` is a mapping. */
struct settling {
    struct arena *arena;
    const struct catalogue *catalogue;
    struct doc_node *cluster;
    struct doc_node *nics;
    struct diag *diag;
};

/* Who says it: what is higher goes before. */
enum sayer { SAID_BY_FILE, SAID_OVER_IT, SAID_BY_SET };

static enum sayer sayer_of(const struct doc_node *cluster, const struct doc_node *node)
{
    const char *file = node->place.file;
    if (node->place.line == 0) { /* files' lines count from 1 */
        return SAID_BY_SET;
    }
    return file != NULL && cluster->place.file != NULL && strcmp(file, cluster->place.file) != 0
               ? SAID_OVER_IT
               : SAID_BY_FILE;
}

/* A key of a kind's file, and of the section nics. */
struct figure {
    const char *path;
    const char *key;
    bool goes_with_rate; /* in proportion */
};
static const struct figure figures[] = {
    {"rate.bandwidth", "bandwidth", false},
    {"reach.efficiency", "efficiency", false},
    {"message.latency", "latency", false},
    {"message.round_latency", "round_latency", false},
    {"host.core_bandwidth", "core_bandwidth", false},
    {"power.nic", "power", true},
    {"power.optics", "optics_power", true},
    {"power.port", "port_power", true},
    {"announced", "announced", false},
};
enum { FIGURE_COUNT = sizeof figures / sizeof *figures };

/* Of what is said below a kind that was set, and where that is from. */
static void forget_file(const struct settling *settling, enum sayer by)
{
    static const char *const origins[] = {"source", "provenance", "assumed", "note"};
    for (size_t i = 0; i < sizeof origins / sizeof *origins; i++) {
        doc_drop(settling->nics, origins[i]);
    }
    for (uint32_t i = 0; i < FIGURE_COUNT; i++) {
        const struct doc_node *own = doc_find(settling->nics, figures[i].key);
        if (own != NULL && sayer_of(settling->cluster, own) < by) {
            doc_drop(settling->nics, figures[i].key);
        }
    }
    const struct doc_node *network = doc_find(settling->cluster, "network");
    if (network != NULL && sayer_of(settling->cluster, network) < by) {
        doc_drop(settling->cluster, "network");
    }
}

/* Where one of the two is said over the other, the lower goes; what is then left of both is an
 * error of cluster_read. */
static void settle_network(struct doc_node *cluster)
{
    const struct doc_node *whole = doc_find(cluster, "network");
    const struct doc_node *each = doc_find(cluster, "nics.bandwidth");
    if (whole == NULL || each == NULL || sayer_of(cluster, whole) == sayer_of(cluster, each)) {
        return;
    }
    const bool has_whole = sayer_of(cluster, whole) > sayer_of(cluster, each);
    struct doc_node *holder = has_whole ? doc_find(cluster, "nics") : cluster;
    doc_drop(holder, has_whole ? "bandwidth" : "network");
}

/* ---- its rate ----------------------------------------------------------------------- */

/* The node that says how fast the NICs are, and how much that is for each; NULL: none does, or it
 * is wrong in a way that its reader reports. */
static const struct doc_node *rate_node(const struct settling *settling, double *bytes_per_s)
{
    const struct doc_node *each = doc_find(settling->nics, "bandwidth");
    const struct doc_node *whole = doc_find(settling->cluster, "network");
    const struct doc_node *node = each != NULL ? each : whole;
    const char *count = doc_find_text(settling->nics, "count");
    char message[MESSAGE_MAX];
    double nics = 1.0;
    if (node == NULL || node->kind != DOC_SCALAR || (each != NULL && whole != NULL) ||
        !units_parse(node->text, DIM_LINK_BYTES_PER_S, bytes_per_s, message, sizeof message)) {
        return NULL;
    }
    if (each == NULL &&
        (count == NULL || !units_parse(count, DIM_COUNT, &nics, message, sizeof message) ||
         !(nics > 0.0))) {
        return NULL;
    }
    *bytes_per_s /= nics;
    return node;
}

static bool has_rate(const struct nic *nic, double bytes_per_s)
{
    for (uint32_t i = 0; i < nic->rate_count; i++) {
        const double rate = nic->rates_bytes_per_s[i];
        if (fabs(rate - bytes_per_s) <= SAME_RATE * rate) {
            return true;
        }
    }
    return false;
}

static const char *rate_text(struct arena *arena, double bytes_per_s)
{
    return arena_printf(arena, "%.4g Gbps", bytes_per_s * 8e-9);
}

/* "400 Gbps or 200 Gbps" */
static const char *rates_text(struct arena *arena, const struct nic *nic)
{
    const char *text = rate_text(arena, nic->rates_bytes_per_s[0]);
    for (uint32_t i = 1; i < nic->rate_count; i++) {
        const char *join = i + 1 < nic->rate_count ? ", " : " or ";
        text =
            arena_printf(arena, "%s%s%s", text, join, rate_text(arena, nic->rates_bytes_per_s[i]));
    }
    return text;
}

/* " or kind edr, omni-path": those that have this rate. */
static const char *kinds_text(const struct settling *settling, double bytes_per_s)
{
    struct arena *arena = settling->arena;
    const char *text = "";
    uint32_t count = 0;
    const char **names =
        catalogue_list(arena, settling->catalogue, catalogue_folders[CATALOGUE_NIC], &count);
    for (uint32_t i = 0; i < count; i++) {
        struct diag *quiet = diag_new(arena); /* a file that is wrong is told when it is named */
        struct assumptions unused;
        struct nic nic;
        assumptions_init(&unused, arena);
        const struct doc_node reference = {.kind = DOC_SCALAR, .text = names[i]};
        const struct doc_node *node =
            catalogue_open(arena, settling->catalogue, CATALOGUE_NIC, &reference, quiet);
        if (node != NULL && nic_read(node, &nic, &unused, quiet) && has_rate(&nic, bytes_per_s)) {
            text = arena_printf(arena, "%s%s%s", text, text[0] == '\0' ? ", or take kind " : ", ",
                                names[i]);
        }
    }
    return text;
}

static bool refuse_rate(const struct settling *settling, const struct nic *nic,
                        const struct doc_node *node, double bytes_per_s)
{
    struct arena *arena = settling->arena;
    diag_add(settling->diag, DIAG_INPUT, &node->place, "a NIC of kind %s has %s, not %s", nic->name,
             rates_text(arena, nic), rate_text(arena, bytes_per_s));
    diag_help(settling->diag, "leave %s out%s; for what no NIC has, leave kind out", node->key,
              kinds_text(settling, bytes_per_s));
    return false;
}

/* ---- filling in --------------------------------------------------------------------- */

/* The reason when the section of a kind's figure is assumed. */
static const char *assumed_reason(const struct doc_node *file, const char *path, size_t length)
{
    const struct doc_node *section = file->child;
    while (section != NULL &&
           !(strncmp(section->key, path, length) == 0 && section->key[length] == '\0')) {
        section = section->next;
    }
    const char *own = section != NULL ? doc_find_text(section, "provenance") : NULL;
    const char *provenance = own != NULL ? own : doc_find_text(file, "provenance");
    if (provenance == NULL || strcmp(provenance, "assumed") != 0) {
        return NULL;
    }
    const char *source = section != NULL ? doc_find_text(section, "source") : NULL;
    return source != NULL ? source : "";
}

/* The same power at `faster` times the usual rate; what is wrong the reader tells. */
static const char *scaled_text(struct arena *arena, const char *text, double faster)
{
    double power_w = 0.0;
    char message[MESSAGE_MAX];
    return units_parse(text, DIM_WATT, &power_w, message, sizeof message)
               ? arena_printf(arena, "%.6g W", power_w * faster)
               : text;
}

/* `faster`: the NIC's rate, of the kind's usual one. */
static void fill_in(const struct settling *settling, const struct doc_node *file, double faster)
{
    const bool has_rate = doc_find(settling->nics, "bandwidth") != NULL ||
                          doc_find(settling->cluster, "network") != NULL;
    for (uint32_t i = has_rate ? 1 : 0; i < FIGURE_COUNT; i++) { /* the rate stands first */
        const struct figure *figure = &figures[i];
        const struct doc_node *value = doc_find(file, figure->path);
        struct doc_node **link = doc_link(settling->nics, figure->key);
        if (value == NULL || *link != NULL) {
            continue;
        }
        struct doc_node *copy = doc_copy(settling->arena, value);
        copy->key = figure->key;
        copy->next = NULL;
        copy->assumed = assumed_reason(file, figure->path, strcspn(figure->path, "."));
        if (figure->goes_with_rate && faster != 1.0) {
            copy->text = scaled_text(settling->arena, copy->text, faster);
        }
        *link = copy;
    }
}

/* What the kind's file says, put beside what the cluster says. */
static bool settle_kind(const struct settling *settling, const struct doc_node *kind)
{
    struct arena *arena = settling->arena;
    struct diag *diag = settling->diag;
    if (kind->kind != DOC_SCALAR) {
        diag_add(diag, DIAG_INPUT, &kind->place, "'kind' must be the name of a kind of NIC");
        diag_help(diag, "such as kind: ndr (stoker list nics), or the path of a file of one");
        return false;
    }
    struct nic nic;
    struct assumptions unused;
    assumptions_init(&unused, arena);
    const struct doc_node *file =
        catalogue_open(arena, settling->catalogue, CATALOGUE_NIC, kind, diag);
    if (file == NULL || !doc_files_read(&nic_reader, file, &nic, &unused, diag)) {
        return false;
    }
    double bytes_per_s = 0.0;
    const struct doc_node *rate = rate_node(settling, &bytes_per_s);
    const bool is_another = rate != NULL && !has_rate(&nic, bytes_per_s);
    if (is_another && sayer_of(settling->cluster, rate) == sayer_of(settling->cluster, kind)) {
        return refuse_rate(settling, &nic, rate, bytes_per_s);
    }
    fill_in(settling, file, rate != NULL ? bytes_per_s / nic.rates_bytes_per_s[0] : 1.0);
    if (is_another) {
        doc_drop(settling->nics, "kind");
    }
    return true;
}

/* The section, if there is one: it and the cluster may then be changed. */
static struct doc_node *own_nics(struct arena *arena, struct doc_node *cluster)
{
    if (cluster->kind != DOC_MAPPING || doc_find(cluster, "nics") == NULL) {
        return NULL;
    }
    doc_own_children(arena, cluster);
    struct doc_node *nics = doc_find(cluster, "nics");
    doc_own_children(arena, nics);
    return nics;
}

bool nic_settle(struct arena *arena, const struct catalogue *catalogue, struct doc_node *cluster,
                struct diag *diag)
{
    struct doc_node *nics = own_nics(arena, cluster);
    const struct doc_node *kind =
        nics != NULL && nics->kind == DOC_MAPPING ? doc_find(nics, "kind") : NULL;
    const struct settling settling = {arena, catalogue, cluster, nics, diag};
    if (kind != NULL && sayer_of(cluster, kind) > SAID_BY_FILE) {
        forget_file(&settling, sayer_of(cluster, kind));
    }
    if (nics != NULL) {
        settle_network(cluster);
    }
    return kind == NULL || settle_kind(&settling, kind);
}
