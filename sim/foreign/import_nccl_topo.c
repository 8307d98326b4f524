/* NCCL's view of a node (NCCL_TOPO_DUMP_FILE) as a cluster.
 *
 *     <system version="1">
 *       <cpu numaid="0" host_hash="0x1" ...>
 *         <pci busid="0000:1b:00.0" link_speed="32.0 GT/s PCIe" link_width="16" ...>
 *           <gpu dev="0" sm="90" rank="0">
 *             <nvlink target="0000:05:00.0" count="18" tclass="0x068000"/>
 *         <nic> <net name="mlx5_0" speed="400000" .../>
 *
 * expat reads it, element by element; nothing is kept but GPUs and NICs. A
 * document type is refused, so nothing expands. net@speed is in Mbit/s.
 *
 * What clouds give to NCCL_TOPO_FILE lists PCI devices alone, by their class; NCCL finds the rest
 * when it runs. Then GPUs and NICs are such devices, and their links as in the cluster that it is
 * like.
 *
 * expat is the one library that may be missing: the Makefile defines HAVE_EXPAT
 * where pkg-config finds it. Without it nothing is left of this file but an
 * import that says what to install.
 */
#include "foreign/import.h"

#ifndef HAVE_EXPAT

bool import_nccl_topo(struct importer *importer)
{
    diag_add(importer->diag, DIAG_FAILURE, NULL,
             "this stoker was built without expat, which reads NCCL's XML");
    diag_help(importer->diag, "install expat's headers (Debian: libexpat1-dev), then make");
    return false;
}

#else

#include "base/arena.h"
#include "foreign/wiring.h"
#include "input/doc/name_table.h"

#include <expat.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 64, ATTRIBUTE_MAX = 1000 * 1000 * 1000 };

struct topo_gpu {
    struct place place;
    int64_t sm;
    int64_t links;           /* NVLinks or xGMI, to whatever */
    int64_t switch_links;    /* of these not to another GPU */
    double pcie_bytes_per_s; /* 0: not said, as the next */
    uint32_t vendor, device;
    const char *bus; /* id; "" */
};

/* Links from a GPU to another one. */
struct topo_link {
    uint32_t gpu;
    const char *target; /* bus id */
    int64_t count;
};

/* A PCI device, or what its children have of it. */
struct topo_pci {
    struct place place;
    double bytes_per_s;
    uint32_t vendor, device;
    const char *bus;
    bool is_gpu, is_nic;   /* by its class */
    uint32_t known_before; /* GPUs and NICs of the file that were read before it */
};

struct topo_net {
    struct place place;
    int64_t speed; /* Mbit/s */
};

struct topo {
    struct importer *importer;
    XML_Parser parser;
    struct topo_pci pci[DEPTH_MAX]; /* the pci element at each depth, or its parent's */
    struct topo_gpu *gpus;
    size_t gpu_capacity;
    struct topo_gpu *devices; /* of a GPU's class, of which no more is said */
    size_t device_capacity;
    int64_t nic_devices; /* the same of NICs */
    struct topo_link *links;
    size_t link_capacity;
    struct topo_net *nets;
    size_t net_capacity;
    struct name_table hosts; /* by host_hash */
    uint32_t gpu_count, device_count, link_count, net_count;
    uint32_t depth;
    bool is_bad; /* a message was added; the parser stops */
    bool is_in_gpu;
    bool is_on_arm; /* a CPU is: Grace */
    bool has_links; /* what links GPUs have is said */
};

/* ---- elements ------------------------------------------------------------------ */

/* By the byte, for expat has other ends of lines than editors: a return alone is one. */
static struct place place_here(const struct topo *topo)
{
    const struct text_file *file = &topo->importer->file;
    const XML_Index index = XML_GetCurrentByteIndex(topo->parser);
    const size_t at = index < 0 ? 0 : (size_t)index;
    return text_file_place(file, file->text + (at < file->length ? at : file->length));
}

static void refuse(struct topo *topo, const char *message, const char *help)
{
    const struct place place = place_here(topo);
    diag_add(topo->importer->diag, DIAG_INPUT, &place, "%s", message);
    diag_help(topo->importer->diag, "%s", help);
    topo->is_bad = true;
    XML_StopParser(topo->parser, XML_FALSE);
}

static const char *attribute(const char **attributes, const char *name)
{
    for (; attributes[0] != NULL; attributes += 2) {
        if (strcmp(attributes[0], name) == 0) {
            return attributes[1];
        }
    }
    return NULL;
}

/* A count that the element must have. */
static int64_t need_count(struct topo *topo, const char *element, const char **attributes,
                          const char *name)
{
    const char *text = attribute(attributes, name);
    int64_t count = 0;
    if (text == NULL || !text_span_count((struct text_span){text, text + strlen(text)}, &count) ||
        count < 1 || count > ATTRIBUTE_MAX) {
        refuse(topo, text == NULL ? "an attribute is missing here" : "an attribute here is wrong",
               arena_printf(topo->importer->arena, "<%s> has %s=\"N\", a count", element, name));
        return 0;
    }
    return count;
}

/* Payload of a PCIe link, one way: "32.0 GT/s PCIe", width "16". Up to 5 GT/s ten bits carry
 * eight, beyond that 130 carry 128. 0 when it is not said. */
static double pcie_rate(const char *speed, const char *width)
{
    double gigatransfers = 0.0;
    int64_t lanes = 0;
    if (speed == NULL || width == NULL ||
        !text_span_number((struct text_span){speed, speed + strcspn(speed, " ")}, &gigatransfers) ||
        !text_span_count((struct text_span){width, width + strlen(width)}, &lanes) ||
        gigatransfers <= 0.0 || gigatransfers > 1000.0 || lanes > 64) {
        return 0.0;
    }
    const double coding = gigatransfers < 6.0 ? 0.8 : 128.0 / 130.0;
    return gigatransfers * 1e9 / 8.0 * coding * (double)lanes;
}

/* "0x10de"; 0 when it is not said. */
static uint32_t pci_id(const char *text)
{
    char *end = NULL;
    const unsigned long id = text != NULL ? strtoul(text, &end, 16) : 0;
    return text != NULL && end != text && *end == '\0' && id <= UINT16_MAX ? (uint32_t)id : 0;
}

/* PCI classes of what draws or computes; a switch is a bridge (0x0680). */
static bool is_gpu_class(const char *class)
{
    return class != NULL && (strncmp(class, "0x03", 4) == 0 || strncmp(class, "0x12", 4) == 0);
}

static void read_pci(struct topo *topo, const char **attributes)
{
    const char *bus = attribute(attributes, "busid"), *class = attribute(attributes, "class");
    topo->pci[topo->depth] = (struct topo_pci){
        place_here(topo),
        pcie_rate(attribute(attributes, "link_speed"), attribute(attributes, "link_width")),
        pci_id(attribute(attributes, "vendor")),
        pci_id(attribute(attributes, "device")),
        bus != NULL ? arena_strdup(topo->importer->arena, bus) : "",
        is_gpu_class(class),
        class != NULL && strncmp(class, "0x02", 4) == 0,
        topo->gpu_count + topo->net_count,
    };
}

/* A device of which nothing was said within it. */
static void end_pci(struct topo *topo, const struct topo_pci *pci)
{
    if (pci->known_before < topo->gpu_count + topo->net_count) {
        return;
    }
    topo->nic_devices += pci->is_nic;
    if (pci->is_gpu) {
        topo->devices = arena_grow(topo->importer->arena, topo->devices, &topo->device_capacity,
                                   (size_t)topo->device_count + 1, sizeof *topo->devices);
        topo->devices[topo->device_count++] = (struct topo_gpu){
            .place = pci->place,
            .pcie_bytes_per_s = pci->bytes_per_s,
            .vendor = pci->vendor,
            .device = pci->device,
            .bus = pci->bus,
        };
    }
}

static void read_gpu(struct topo *topo, const char **attributes)
{
    const int64_t sm = need_count(topo, "gpu", attributes, "sm");
    topo->gpus = arena_grow(topo->importer->arena, topo->gpus, &topo->gpu_capacity,
                            (size_t)topo->gpu_count + 1, sizeof *topo->gpus);
    static const struct topo_pci none = {.bus = ""};
    const struct topo_pci *pci = topo->depth > 0 ? &topo->pci[topo->depth - 1] : &none;
    topo->gpus[topo->gpu_count++] = (struct topo_gpu){
        .place = place_here(topo),
        .sm = sm,
        .pcie_bytes_per_s = pci->bytes_per_s,
        .vendor = pci->vendor,
        .device = pci->device,
        .bus = pci->bus,
    };
    topo->is_in_gpu = true;
}

/* Links of the GPU that is open: to another one, or to a switch. */
static void read_links(struct topo *topo, const char *element, const char **attributes)
{
    const int64_t count = need_count(topo, element, attributes, "count");
    const char *target = attribute(attributes, "target");
    struct topo_gpu *gpu = &topo->gpus[topo->gpu_count - 1];
    gpu->links += count;
    if (!is_gpu_class(attribute(attributes, "tclass")) || target == NULL) {
        gpu->switch_links += count;
        return;
    }
    topo->links = arena_grow(topo->importer->arena, topo->links, &topo->link_capacity,
                             (size_t)topo->link_count + 1, sizeof *topo->links);
    topo->links[topo->link_count++] =
        (struct topo_link){topo->gpu_count - 1, arena_strdup(topo->importer->arena, target), count};
}

static void read_net(struct topo *topo, const char **attributes)
{
    const int64_t speed = need_count(topo, "net", attributes, "speed");
    topo->nets = arena_grow(topo->importer->arena, topo->nets, &topo->net_capacity,
                            (size_t)topo->net_count + 1, sizeof *topo->nets);
    topo->nets[topo->net_count++] = (struct topo_net){place_here(topo), speed};
}

static void read_cpu(struct topo *topo, const char **attributes)
{
    const char *host = attribute(attributes, "host_hash");
    const char *kind = attribute(attributes, "arch");
    bool is_new = false;
    if (host != NULL) {
        name_table_add(&topo->hosts, host, &is_new);
    }
    topo->is_on_arm = topo->is_on_arm || (kind != NULL && strcmp(kind, "arm64") == 0);
}

static void XMLCALL begin_element(void *user, const char *name, const char **attributes)
{
    struct topo *topo = user;
    if (topo->depth >= DEPTH_MAX) {
        refuse(topo, "elements are nested too deep", "a topology of NCCL has about ten levels");
        return;
    }
    topo->pci[topo->depth] =
        topo->depth > 0 ? topo->pci[topo->depth - 1] : (struct topo_pci){.bus = ""};
    if (topo->depth == 0 && strcmp(name, "system") != 0) {
        refuse(topo, "this is no topology of NCCL",
               strcmp(name, "graphs") == 0
                   ? "this is NCCL_GRAPH_DUMP_FILE; NCCL_TOPO_DUMP_FILE writes the topology"
                   : "the file that NCCL_TOPO_DUMP_FILE=FILE writes begins with <system>");
        return;
    }
    if (strcmp(name, "pci") == 0) {
        read_pci(topo, attributes);
    } else if (strcmp(name, "gpu") == 0) {
        read_gpu(topo, attributes);
    } else if ((strcmp(name, "nvlink") == 0 || strcmp(name, "xgmi") == 0) && topo->is_in_gpu) {
        read_links(topo, name, attributes);
    } else if (strcmp(name, "net") == 0) {
        read_net(topo, attributes);
    } else if (strcmp(name, "cpu") == 0) {
        read_cpu(topo, attributes);
    }
    topo->depth++;
}

static void XMLCALL end_element(void *user, const char *name)
{
    struct topo *topo = user;
    if (topo->depth > 0) {
        topo->depth--;
    }
    if (strcmp(name, "gpu") == 0) {
        topo->is_in_gpu = false;
    } else if (strcmp(name, "pci") == 0) {
        end_pci(topo, &topo->pci[topo->depth]);
    }
}

static void XMLCALL begin_doctype(void *user, const char *name, const char *system_id,
                                  const char *public_id, int has_internal_subset)
{
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_internal_subset;
    refuse(user, "a document type is not read", "NCCL writes none; take the line out");
}

static bool parse_file(struct topo *topo)
{
    const struct text_file *file = &topo->importer->file;
    topo->parser = XML_ParserCreate("UTF-8");
    if (topo->parser == NULL) {
        return diag_add(topo->importer->diag, DIAG_FAILURE, NULL, "not enough memory to read XML");
    }
    XML_SetUserData(topo->parser, topo);
    XML_SetElementHandler(topo->parser, begin_element, end_element);
    XML_SetStartDoctypeDeclHandler(topo->parser, begin_doctype);
    const enum XML_Status status = XML_Parse(topo->parser, file->text, (int)file->length, XML_TRUE);
    if (status != XML_STATUS_OK && !topo->is_bad) {
        refuse(topo, XML_ErrorString(XML_GetErrorCode(topo->parser)),
               "is this the whole file that NCCL_TOPO_DUMP_FILE=FILE wrote?");
    }
    XML_ParserFree(topo->parser);
    return !topo->is_bad;
}

/* ---- facts ---------------------------------------------------------------------- */

static bool check_gpus(const struct topo *topo)
{
    struct diag *diag = topo->importer->diag;
    const struct place whole = {.file = topo->importer->file.path};
    if (topo->gpu_count == 0) {
        diag_add(diag, DIAG_INPUT, &whole, "there is no GPU in this file");
        diag_help(diag, "NCCL writes those that it used; dump it with all GPUs of the node in "
                        "one job");
        return false;
    }
    for (uint32_t i = 1; i < topo->gpu_count; i++) {
        if (topo->gpus[i].sm != topo->gpus[0].sm) {
            return diag_add(diag, DIAG_INPUT, &topo->gpus[i].place,
                            "this GPU has compute capability %" PRId64 ", the first has %" PRId64,
                            topo->gpus[i].sm, topo->gpus[0].sm);
        }
        if (topo->gpus[i].links != topo->gpus[0].links) {
            diag_add(diag, DIAG_WARNING, &topo->gpus[i].place,
                     "this GPU has %" PRId64 " NVLinks, the first has %" PRId64
                     "; the least counts",
                     topo->gpus[i].links, topo->gpus[0].links);
        }
    }
    return true;
}

/* Of all pairs: links of their own, and by the switch the fewer of both. Links to GPUs that the
 * file has not are left out. */
static const int64_t *matrix_of(const struct topo *topo)
{
    const size_t gpus = topo->gpu_count;
    int64_t *matrix = arena_array(topo->importer->arena, gpus * gpus, sizeof *matrix);
    for (size_t a = 0; a < gpus; a++) {
        for (size_t b = 0; b < gpus; b++) {
            const int64_t own = topo->gpus[a].switch_links, other = topo->gpus[b].switch_links;
            matrix[a * gpus + b] = own < other ? own : other;
        }
    }
    for (uint32_t i = 0; i < topo->link_count; i++) {
        const struct topo_link *link = &topo->links[i];
        for (size_t b = 0; b < gpus; b++) {
            if (strcmp(topo->gpus[b].bus, link->target) == 0) {
                matrix[link->gpu * gpus + b] += link->count;
            }
        }
    }
    return matrix;
}

/* Where the file says GPUs by their class alone. */
static void take_devices(struct topo *topo)
{
    topo->has_links = topo->gpu_count > 0;
    if (topo->gpu_count == 0) {
        topo->gpus = topo->devices;
        topo->gpu_count = topo->device_count;
    }
}

static bool choose_scale_up(const struct topo *topo, struct import_cluster *cluster)
{
    if (!topo->has_links) {
        import_comment(topo->importer, cluster,
                       "The file lists PCI devices and no NVLinks: these are not from it.");
        return true;
    }
    double pcie = topo->gpus[0].pcie_bytes_per_s;
    bool has_switch = false;
    for (uint32_t i = 0; i < topo->gpu_count; i++) {
        const double own = topo->gpus[i].pcie_bytes_per_s;
        pcie = own < pcie ? own : pcie;
        has_switch = has_switch || topo->gpus[i].switch_links > 0;
    }
    const struct wiring wiring =
        wiring_of(topo->importer->arena, matrix_of(topo), topo->gpu_count, has_switch);
    return import_choose_scale_up(topo->importer, &wiring, pcie, cluster);
}

/* The fastest ones; slower ones are for management as a rule. */
static bool choose_nics(const struct topo *topo, struct import_cluster *cluster)
{
    struct importer *importer = topo->importer;
    int64_t fastest = 0;
    int64_t count = 0;
    for (uint32_t i = 0; i < topo->net_count; i++) {
        const int64_t speed = topo->nets[i].speed;
        count = speed > fastest ? 1 : count + (speed == fastest);
        fastest = speed > fastest ? speed : fastest;
    }
    if (count < topo->net_count) {
        import_comment(importer, cluster,
                       arena_printf(importer->arena,
                                    "%" PRId64 " slower NICs of the file are left out.",
                                    (int64_t)topo->net_count - count));
    }
    count = topo->net_count > 0 ? count : topo->nic_devices;
    cluster->nics = import_count_nics(importer, count, topo->gpu_count);
    cluster->nic_bytes_per_s =
        importer->nic_bytes_per_s > 0.0 ? importer->nic_bytes_per_s : (double)fastest * 1e6 / 8.0;
    const char *rate =
        fastest > 0 ? arena_printf(importer->arena, " of %" PRId64 " Mbit/s", fastest) : "";
    cluster->nic_source = arena_printf(
        importer->arena, "%" PRId64 " NICs%s%s", count, rate,
        importer->nics > 0 || importer->nic_bytes_per_s > 0.0 ? ", changed by options" : "");
    if (cluster->nics > 0 && cluster->nic_bytes_per_s <= 0.0) {
        return import_need(importer, "--nic-bandwidth RATE",
                           "the file does not say how fast its NICs are");
    }
    if (cluster->nics == 0) {
        import_need(importer, "--nics N and --nic-bandwidth RATE", "there is no NIC in this file");
        diag_help(importer->diag, "NCCL lists NICs only when it looked for some: run it on two "
                                  "nodes, or with NCCL_IB_HCA set");
        return false;
    }
    return true;
}

bool import_nccl_topo(struct importer *importer)
{
    struct topo *topo = arena_alloc(importer->arena, sizeof *topo);
    topo->importer = importer;
    name_table_init(&topo->hosts, importer->arena);
    struct import_cluster cluster = {.nodes = 0};
    if (!parse_file(topo)) {
        return false;
    }
    take_devices(topo);
    if (!check_gpus(topo)) {
        return false;
    }
    const struct device_clues clues = {
        .vendor = topo->gpus[0].vendor,
        .device = topo->gpus[0].device,
        .sm = topo->gpus[0].sm,
        .cpu = topo->is_on_arm ? PLATFORM_ARM : PLATFORM_X86,
    };
    if (!import_choose_gpu(importer, &clues, &cluster)) {
        return false;
    }
    cluster.gpus_per_node = topo->gpu_count;
    if (topo->hosts.count > 1) {
        import_comment(importer, &cluster,
                       arena_printf(importer->arena,
                                    "The GPUs of %" PRIu32 " hosts are one NVLink domain, which "
                                    "counts as a node here.",
                                    topo->hosts.count));
    }
    return choose_scale_up(topo, &cluster) && choose_nics(topo, &cluster) &&
           import_cluster_print(importer, &cluster);
}

#endif
