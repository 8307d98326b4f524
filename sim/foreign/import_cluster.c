/* Writes a cluster file from the few facts that an import found. What the
 * import does not know is taken from a cluster of the catalogue, and the file
 * says so.
 */
#include "foreign/import.h"

#include "base/arena.h"
#include "foreign/wiring.h"
#include "input/catalogue.h"
#include "input/cluster.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { NAME_BYTES_MAX = 80 };

/* A slot is as fast as the GPU's own link, but for what that leaves of it; beyond that it is of a
 * later generation, and the GPU's link counts. */
static const double SLOT_FASTER = 1.25;

/* ---- options -------------------------------------------------------------------- */

bool import_need(const struct importer *importer, const char *option, const char *why)
{
    return diag_add(importer->diag, DIAG_USAGE, NULL, "%s is needed: %s", option, why);
}

const char *import_quote(struct arena *arena, const char *text)
{
    char *quoted = arena_alloc(arena, 2 * strlen(text) + 3);
    char *end = quoted;
    *end++ = '\'';
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            *end++ = '\'';
        }
        *end++ = (char)(*text < 0x20 || *text > 0x7e ? '?' : *text);
    }
    *end = '\'';
    return quoted;
}

static bool read_gpu(const struct importer *importer, const struct doc_node *root, struct gpu *gpu,
                     struct diag *diag)
{
    struct assumptions assumptions;
    assumptions_init(&assumptions, importer->arena);
    return gpu_read(root, gpu, &assumptions, diag);
}

bool import_choose_gpu(const struct importer *importer, const struct device_clues *clues,
                       struct import_cluster *cluster)
{
    cluster->gpu = device_find(importer, clues);
    if (cluster->gpu == NULL) {
        return false;
    }
    cluster->platform = device_platform(importer, cluster->gpu);
    cluster->like = importer->like != NULL ? importer->like : cluster->platform.cluster;
    return cluster->like != NULL ||
           import_need(importer, "--like CLUSTER",
                       "no cluster of the catalogue is known to have this GPU");
}

/* The network of the node by how it is wired, with the rate of one link. */
static bool join_by_links(struct importer *importer, const struct wiring *wiring,
                          struct import_cluster *cluster)
{
    const double rate = import_nvlink_rate(importer, cluster);
    const bool is_mesh = wiring->kind == WIRING_MESH;
    cluster->scale_up_kind = is_mesh ? "nvlink-mesh" : "nvswitch";
    cluster->scale_up_bytes_per_s = (double)wiring->links * rate;
    cluster->peer_bytes_per_s = is_mesh ? (double)wiring->peer_links * rate : 0;
    cluster->scale_up_source = arena_printf(
        importer->arena, "%" PRId64 " links of %.10g GB/s each way", wiring->links, rate * 1e-9);
    return rate > 0.0;
}

bool import_choose_scale_up(struct importer *importer, const struct wiring *wiring,
                            double pcie_bytes_per_s, struct import_cluster *cluster)
{
    struct arena *arena = importer->arena;
    const bool is_apart = wiring->kind == WIRING_APART;
    if (wiring->kind == WIRING_RING) {
        const char *text =
            arena_printf(arena,
                         "links join only GPUs %s: rings over all of them are meant, and what "
                         "others send each other over PCIe is told too fast",
                         wiring->words);
        import_comment(importer, cluster, text);
        diag_add(importer->diag, DIAG_WARNING, NULL, "%s", text);
    }
    if (is_apart) {
        const char *text = arena_printf(
            arena,
            "links join only GPUs %s, which a cluster file cannot say: all meet over PCIe here, so "
            "groups within one pair are told too slow",
            wiring->words);
        import_comment(importer, cluster, text);
        diag_add(importer->diag, DIAG_WARNING, NULL, "%s", text);
    }
    if (!is_apart && wiring->kind != WIRING_NONE) {
        return join_by_links(importer, wiring, cluster);
    }
    cluster->scale_up_kind = "pcie";
    cluster->scale_up_bytes_per_s = pcie_bytes_per_s;
    cluster->scale_up_source =
        arena_printf(arena, "%s; PCIe as %s", is_apart ? "no link joins all" : "no NVLink",
                     pcie_bytes_per_s > 0.0 ? "link_speed and link_width say"
                                            : "the host_link of the GPU's file says");
    return true;
}

int64_t import_domain_of_like(const struct importer *importer, const struct import_cluster *cluster)
{
    struct diag *unheard = diag_new(importer->arena); /* whoever writes the file reports it */
    const char *path = catalogue_find(importer->arena, importer->catalogue,
                                      catalogue_folders[CATALOGUE_CLUSTER], cluster->like);
    const struct doc_node *like = path != NULL ? doc_load(importer->arena, path, unheard) : NULL;
    const struct doc_node *node = like != NULL ? doc_find(like, "scale_up.domain_nodes") : NULL;
    int64_t nodes = 1;
    return node != NULL && node->kind == DOC_SCALAR &&
                   text_span_count((struct text_span){node->text, node->text + strlen(node->text)},
                                   &nodes)
               ? nodes
               : 1;
}

/* Behind one GPU's bridge hang one NIC or two; more are functions or ports of one card. */
enum { NICS_OF_GPU_MAX = 2 };

int64_t import_count_nics(struct importer *importer, int64_t found, int64_t gpus)
{
    if (importer->nics > 0 || found <= gpus * NICS_OF_GPU_MAX) {
        return importer->nics > 0 ? importer->nics : found;
    }
    diag_add(importer->diag, DIAG_WARNING, NULL,
             "%" PRId64 " NICs for %" PRId64 " GPUs: virtual functions or ports of one card, taken "
             "as one a GPU; --nics N says how many there are",
             found, gpus);
    return gpus;
}

double import_nvlink_rate(const struct importer *importer, const struct import_cluster *cluster)
{
    const double known = cluster->platform.link_bytes_per_s;
    if (importer->nvlink_bytes_per_s > 0.0 || known > 0.0) {
        return importer->nvlink_bytes_per_s > 0.0 ? importer->nvlink_bytes_per_s : known;
    }
    import_need(importer, "--nvlink RATE", "the rate of one NVLink of this GPU is not known");
    return 0.0;
}

void import_comment(struct importer *importer, struct import_cluster *cluster, const char *text)
{
    const char **comments =
        arena_array(importer->arena, cluster->comment_count + 1, sizeof *comments);
    for (uint32_t i = 0; i < cluster->comment_count; i++) {
        comments[i] = cluster->comments[i];
    }
    comments[cluster->comment_count++] = text;
    cluster->comments = comments;
}

/* ---- names ---------------------------------------------------------------------- */

static bool is_name(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-";
    return text[0] != '\0' && text[0] != '.' && text[strspn(text, letters)] == '\0' &&
           strlen(text) <= NAME_BYTES_MAX;
}

/* --name, or the name of the file without its end, with '-' for what names do not have. */
static const char *name_of(const struct importer *importer)
{
    if (importer->name != NULL) {
        return importer->name;
    }
    char *name = arena_strdup(importer->arena, import_stem(importer));
    for (char *letter = name; *letter != '\0'; letter++) {
        const char text[2] = {*letter, '\0'};
        if (!is_name(text)) {
            *letter = '-';
        }
    }
    return is_name(name) ? name : "imported";
}

/* A file that an option names; NULL with a message. */
static const struct doc_node *open_file(const struct importer *importer, enum catalogue_kind kind,
                                        const char *option, const char *name)
{
    const struct doc_node reference = {.kind = DOC_SCALAR, .text = name, .place = {.file = option}};
    return catalogue_open(importer->arena, importer->catalogue, kind, &reference, importer->diag);
}

/* ---- writing ------------------------------------------------------------------------ */

struct writer {
    const struct importer *importer;
    const struct import_cluster *cluster;
    const struct doc_node *like; /* the file */
    FILE *out;
};

static bool is_one_of(const char *key, const char *const *keys)
{
    while (*keys != NULL && strcmp(*keys, key) != 0) {
        keys++;
    }
    return *keys != NULL;
}

/* The keys of a section of `like`, but for those in `skipped` and its source. */
static void print_like(const struct writer *writer, const char *section, const char *const *skipped)
{
    static const char *const ours[] = {"source", "provenance", "assumed", "note", NULL};
    const struct doc_node *from = doc_find(writer->like, section);
    const struct doc_node *child = from == NULL ? NULL : from->child;
    for (; child != NULL; child = child->next) {
        if (child->key != NULL && !is_one_of(child->key, skipped) && !is_one_of(child->key, ours)) {
            fprintf(writer->out, "  %s: %s\n", child->key,
                    doc_to_text(writer->importer->arena, child));
        }
    }
}

static void print_source(const struct writer *writer, const char *what, const char *assumed)
{
    struct arena *arena = writer->importer->arena;
    const char *said = what == NULL ? ""
                                    : arena_printf(arena, "%s (imported from %s); ", what,
                                                   writer->importer->file.path);
    const char *source =
        arena_printf(arena, "%s%s as in topologies/%s", said, assumed, writer->cluster->like);
    fprintf(writer->out, "  provenance: assumed\n  source: %s\n", import_quote(arena, source));
}

static const char *rate_text(struct arena *arena, double bytes_per_s, bool is_network)
{
    return is_network ? arena_printf(arena, "%.10g Gbps", bytes_per_s * 8e-9)
                      : arena_printf(arena, "%.10g GB/s", bytes_per_s * 1e-9);
}

/* A name that YAML would take for nothing stands in quotes. */
static const char *yaml_name(struct arena *arena, const char *name)
{
    return strcasecmp(name, "null") == 0 ? import_quote(arena, name) : name;
}

static void print_head(const struct writer *writer)
{
    const struct import_cluster *cluster = writer->cluster;
    struct arena *arena = writer->importer->arena;
    const char *name = name_of(writer->importer);
    const char *from = arena_printf(arena, "imported from %s", writer->importer->file.path);
    fprintf(writer->out,
            "# Made by `stoker import`. What the imported file does not say is taken from\n"
            "# topologies/%s.yaml: fill it in, with sources of your own.\n"
            "# Save it as %s.yaml; a file and its cluster have the same name.\n",
            cluster->like, name);
    for (uint32_t i = 0; i < cluster->comment_count; i++) {
        const char *quoted = import_quote(arena, cluster->comments[i]); /* cleans it, too */
        fprintf(writer->out, "# %.*s\n", (int)strlen(quoted) - 2, quoted + 1);
    }
    fprintf(
        writer->out, "cluster: %s\ntitle: %s\nsource: %s\ngpu: %s\ngpus_per_node: %" PRId64 "\n",
        yaml_name(arena, name),
        import_quote(arena, arena_printf(arena, "%" PRId64 " x %s a node, %" PRId64 " x %s, %s",
                                         cluster->gpus_per_node, cluster->gpu, cluster->nics,
                                         rate_text(arena, cluster->nic_bytes_per_s, true), from)),
        import_quote(arena, from), cluster->gpu, cluster->gpus_per_node);
    if (cluster->nodes > 0) {
        fprintf(writer->out, "nodes: %" PRId64 "\n", cluster->nodes);
    }
}

/* Keys of `scale_up` that are not taken from the cluster that it is like: the import says them, or
 * they are a switch's, and there is none. */
static const char *const *said_of_links(const struct import_cluster *cluster)
{
    static const char *const nothing[] = {NULL}, *const domain[] = {"domain_nodes", NULL},
                             *const switched[] = {"kind", "bandwidth", "peer_bandwidth", NULL},
                             *const unswitched[] = {"kind",      "bandwidth",    "peer_bandwidth",
                                                    "multicast", "domain_nodes", NULL};
    if (cluster->scale_up_kind == NULL) {
        return cluster->domain_nodes > 0 ? domain : nothing;
    }
    return strcmp(cluster->scale_up_kind, "nvswitch") == 0 ? switched : unswitched;
}

static void print_links(const struct writer *writer)
{
    static const char *const said_of_nics[] = {"count", "bandwidth", "kind", NULL};
    const struct import_cluster *cluster = writer->cluster;
    struct arena *arena = writer->importer->arena;
    fprintf(writer->out, "scale_up:                   # per GPU, one way\n");
    if (cluster->scale_up_kind != NULL) {
        fprintf(writer->out, "  kind: %s\n  bandwidth: %s\n", cluster->scale_up_kind,
                rate_text(arena, cluster->scale_up_bytes_per_s, false));
    }
    if (cluster->peer_bytes_per_s > 0) {
        fprintf(writer->out, "  peer_bandwidth: %s\n",
                rate_text(arena, cluster->peer_bytes_per_s, false));
    }
    if (cluster->domain_nodes > 0) {
        fprintf(writer->out, "  domain_nodes: %" PRId64 "\n", cluster->domain_nodes);
    }
    print_like(writer, "scale_up", said_of_links(cluster));
    print_source(writer, cluster->scale_up_source,
                 cluster->scale_up_kind != NULL || cluster->domain_nodes > 0 ? "the rest"
                                                                             : "all of it");
    fprintf(writer->out,
            "nics:                       # per NIC, one way; fill in efficiency and latency\n"
            "  count: %" PRId64 "\n  bandwidth: %s\n",
            cluster->nics, rate_text(arena, cluster->nic_bytes_per_s, true));
    print_like(writer, "nics", said_of_nics);
    print_source(writer, cluster->nic_source, "efficiency and latency");
}

static void print_rest(const struct writer *writer)
{
    static const char *const nothing[] = {NULL};
    static const char *const sections[] = {"host", "storage", "collectives"};
    const struct import_cluster *cluster = writer->cluster;
    if (cluster->print_fabric != NULL) {
        const struct doc_node *hop = doc_find(writer->like, "fabric.hop_latency");
        fprintf(writer->out, "fabric:                     # fill in the hop latency\n");
        cluster->print_fabric(cluster->fabric_context, writer->out);
        fprintf(writer->out, "  hop_latency: %s\n",
                hop != NULL ? doc_to_text(writer->importer->arena, hop) : "0.5 us");
        print_source(writer, cluster->fabric_source, "hop latency");
    } else {
        fprintf(writer->out,
                "fabric:                     # the imported file is of one node: fill this in\n");
        print_like(writer, "fabric", nothing);
        print_source(writer, NULL, "all of it");
    }
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        if (doc_find(writer->like, sections[i]) != NULL) {
            fprintf(writer->out, "%s:%*s# not in the imported file: fill it in\n", sections[i],
                    (int)(27 - strlen(sections[i])), "");
            print_like(writer, sections[i], nothing);
            print_source(writer, NULL, "all of it");
        }
    }
}

static bool check_nics(const struct importer *importer, const struct import_cluster *cluster)
{
    const int64_t larger =
        cluster->nics > cluster->gpus_per_node ? cluster->nics : cluster->gpus_per_node;
    const int64_t smaller =
        cluster->nics > cluster->gpus_per_node ? cluster->gpus_per_node : cluster->nics;
    if (larger % smaller == 0) {
        return true;
    }
    const struct place place = {.file = importer->file.path};
    diag_add(importer->diag, DIAG_INPUT, &place,
             "%" PRId64 " NICs cannot be shared evenly by %" PRId64 " GPUs", cluster->nics,
             cluster->gpus_per_node);
    diag_help(importer->diag, "some may be for storage or management: --nics N says how many "
                              "carry the GPUs' traffic");
    return false;
}

/* All that was written to `out` since its beginning; NULL when it cannot be read back. */
static const char *text_of(struct arena *arena, FILE *out)
{
    const long length = ftell(out);
    if (ferror(out) || length < 0 || fseek(out, 0, SEEK_SET) != 0) {
        return NULL;
    }
    char *text = arena_alloc(arena, (size_t)length + 1);
    const size_t got = fread(text, 1, (size_t)length, out);
    text[got] = '\0';
    return got == (size_t)length ? text : NULL;
}

/* What is written must be read again: where the imported machine is beyond what a cluster file may
 * say, the reader's message tells, and nothing is printed. */
static bool check_text(const struct importer *importer, const char *text)
{
    struct cluster cluster;
    struct assumptions assumptions;
    assumptions_init(&assumptions, importer->arena);
    const struct doc_node *document = doc_parse(
        importer->arena, "the cluster as it would be written", text, strlen(text), importer->diag);
    return document != NULL && cluster_read(document, &cluster, &assumptions, importer->diag);
}

static bool print_checked(const struct importer *importer, struct writer *writer)
{
    writer->out = tmpfile();
    if (writer->out == NULL) {
        return diag_add(importer->diag, DIAG_FAILURE, NULL, "a temporary file cannot be made");
    }
    print_head(writer);
    print_links(writer);
    print_rest(writer);
    const char *text = text_of(importer->arena, writer->out);
    fclose(writer->out);
    if (text == NULL) {
        return diag_add(importer->diag, DIAG_FAILURE, NULL, "a temporary file cannot be read");
    }
    return check_text(importer, text) && fputs(text, importer->out) >= 0;
}

bool import_cluster_print(const struct importer *importer, const struct import_cluster *cluster)
{
    if (importer->name != NULL && !is_name(importer->name)) {
        diag_add(importer->diag, DIAG_USAGE, NULL, "--name %s: this is not a name", importer->name);
        diag_help(importer->diag, "a name has letters, digits, '.', '_' and '-'");
        return false;
    }
    const struct doc_node *gpu = open_file(importer, CATALOGUE_GPU, "--gpu", cluster->gpu);
    const struct doc_node *like = open_file(importer, CATALOGUE_CLUSTER, "--like", cluster->like);
    if (gpu == NULL || like == NULL || !check_nics(importer, cluster)) {
        return false;
    }
    struct import_cluster complete = *cluster;
    if (cluster->scale_up_kind != NULL && cluster->peer_bytes_per_s == 0 &&
        strcmp(cluster->scale_up_kind, "pcie") == 0) {
        struct gpu known;
        if (!read_gpu(importer, gpu, &known, importer->diag)) {
            return false;
        }
        const double own = known.host_link_bytes_per_s;
        const double told = cluster->scale_up_bytes_per_s;
        complete.scale_up_bytes_per_s = told > 0 && told < SLOT_FASTER * own ? told : own;
    }
    struct writer writer = {importer, &complete, like, NULL};
    return print_checked(importer, &writer);
}
