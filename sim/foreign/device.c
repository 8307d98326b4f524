/* A plain scan over the GPUs of the catalogue, some twenty small files. */
#include "foreign/device.h"

#include "base/arena.h"
#include "foreign/import.h"
#include "input/doc/doc_files.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Of what a log says and what the file of a GPU does: drivers keep some of it. */
static const double MEMORY_APART = 0.15;

struct listing {
    const char **names;
    uint32_t count;
};

static struct listing all_gpus(const struct importer *importer)
{
    struct listing list = {NULL, 0};
    list.names = catalogue_list(importer->arena, importer->catalogue,
                                catalogue_folders[CATALOGUE_GPU], &list.count);
    return list;
}

/* False, unheard: it cannot be read; whoever needs the file reports it. */
static bool load(const struct importer *importer, const char *name, struct gpu *gpu)
{
    struct diag *unheard = diag_new(importer->arena);
    const char *path = catalogue_find(importer->arena, importer->catalogue,
                                      catalogue_folders[CATALOGUE_GPU], name);
    const struct doc_node *root =
        path != NULL ? doc_files_load(importer->catalogue->files, importer->arena, path, unheard)
                     : NULL;
    struct assumptions assumptions;
    assumptions_init(&assumptions, importer->arena);
    return root != NULL && gpu_read(root, gpu, &assumptions, unheard);
}

struct gpu_platform device_platform(const struct importer *importer, const char *gpu)
{
    struct gpu known;
    return load(importer, gpu, &known) ? known.platform : (struct gpu_platform){.cluster = NULL};
}

double device_tdp_w(const struct importer *importer, const char *gpu)
{
    struct gpu known;
    return load(importer, gpu, &known) ? known.tdp_w : 0;
}

/* ---- by name ------------------------------------------------------------------------------ */

/* Whether `word` (of `length` bytes) is one of the words of a text: letters and digits between
 * anything else, whatever their case. */
static bool has_word(const char *text, const char *word, size_t length)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    while (*text != '\0') {
        const size_t own = strspn(text, letters);
        if (own == length && strncasecmp(text, word, length) == 0) {
            return true;
        }
        text += own > 0 ? own : 1;
    }
    return false;
}

/* Words of `device` that are in `name`; 0: one of them is not. */
static uint32_t words_met(const char *device, const char *name)
{
    uint32_t count = 0;
    for (const char *at = device; *at != '\0';) {
        const size_t length = strcspn(at, " ");
        if (length > 0) {
            if (!has_word(name, at, length)) {
                return 0;
            }
            count++;
        }
        at += length + (at[length] == ' ');
    }
    return count;
}

/* What says that a device is no module of a board: it is another GPU than that of the same name. */
static bool is_of_another_form(const char *device, const char *name)
{
    static const char *const forms[] = {"PCIe", "NVL"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t length = strlen(forms[i]);
        if (has_word(name, forms[i], length) && !has_word(device, forms[i], length)) {
            return true;
        }
    }
    return false;
}

/* "NVIDIA H100 80GB HBM3": makers count GiB. 0: it is not in the name. */
static double memory_of_name(const char *name)
{
    for (const char *at = strstr(name, "GB"); at != NULL; at = strstr(at + 1, "GB")) {
        const char *digits = at;
        while (digits > name && digits[-1] >= '0' && digits[-1] <= '9') {
            digits--;
        }
        int64_t count = 0;
        const bool is_word = digits == name || digits[-1] == ' ' || digits[-1] == '-';
        if (is_word && text_span_count((struct text_span){digits, at}, &count)) {
            return (double)count * (double)(1 << 30);
        }
    }
    return 0;
}

/* Of those with the most words in the name, that of the nearest memory. */
static const char *known_by_name(const struct importer *importer, const struct device_clues *clues)
{
    const struct listing all = all_gpus(importer);
    const char *best = NULL;
    uint32_t best_words = 0;
    double best_apart = HUGE_VAL;
    const double memory_bytes =
        clues->memory_bytes > 0 ? clues->memory_bytes : memory_of_name(clues->name);
    for (uint32_t i = 0; i < all.count; i++) {
        struct gpu gpu;
        if (!load(importer, all.names[i], &gpu) || gpu.platform.device == NULL ||
            is_of_another_form(gpu.platform.device, clues->name)) {
            continue;
        }
        const uint32_t words = words_met(gpu.platform.device, clues->name);
        const double apart = memory_bytes > 0 ? fabs(log(memory_bytes / gpu.memory_bytes)) : 0;
        if (words > 0 && apart <= MEMORY_APART &&
            (words > best_words || (words == best_words && apart < best_apart))) {
            best = all.names[i];
            best_words = words;
            best_apart = apart;
        }
    }
    return best;
}

/* ---- by PCI id ---------------------------------------------------------------------------- */

static const char *known_by_id(const struct importer *importer, const struct device_clues *clues)
{
    const struct listing all = all_gpus(importer);
    const char *id = arena_printf(importer->arena, "%04x:%04x", clues->vendor, clues->device);
    for (uint32_t i = 0; i < all.count; i++) {
        const struct gpu_platform platform = device_platform(importer, all.names[i]);
        for (const char *at = platform.pci; at != NULL && *at != '\0';) {
            const size_t length = strcspn(at, " ");
            if (length == strlen(id) && strncasecmp(at, id, length) == 0) {
                return all.names[i];
            }
            at += length + (at[length] == ' ');
        }
    }
    return NULL;
}

const char *device_known(const struct importer *importer, const struct device_clues *clues)
{
    return clues->vendor > 0     ? known_by_id(importer, clues)
           : clues->name != NULL ? known_by_name(importer, clues)
                                 : NULL;
}

/* ---- by a guess --------------------------------------------------------------------------- */

/* The GPUs of the catalogue of one compute capability, by name and separated by commas. */
struct candidates {
    const char *typical; /* that say they are typical beside the CPU; "": none */
    const char *others;
    uint32_t typical_count;
};

static const char *listed(struct arena *arena, const char *list, const char *name)
{
    return arena_printf(arena, "%s%s%s", list, list[0] != '\0' ? ", " : "", name);
}

static struct candidates find_candidates(const struct importer *importer,
                                         const struct device_clues *clues)
{
    struct candidates found = {.typical = "", .others = ""};
    const struct listing all = all_gpus(importer);
    for (uint32_t i = 0; clues->sm > 0 && i < all.count; i++) {
        const struct gpu_platform platform = device_platform(importer, all.names[i]);
        if (platform.compute_capability != clues->sm) {
            continue;
        }
        if (platform.is_typical && platform.cpu == clues->cpu) {
            found.typical = listed(importer->arena, found.typical, all.names[i]);
            found.typical_count++;
        } else {
            found.others = listed(importer->arena, found.others, all.names[i]);
        }
    }
    return found;
}

static const char *maker_of(uint32_t vendor)
{
    static const struct {
        uint32_t vendor;
        const char *name;
    } makers[] = {{PCI_NVIDIA, "NVIDIA"}, {0x1002, "AMD"}, {0x8086, "Intel"}, {0x1da3, "Habana"}};
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        if (makers[i].vendor == vendor) {
            return makers[i].name;
        }
    }
    return "an unknown maker";
}

/* Why --gpu is needed: another maker's, no GPU has that compute capability, none of those that have
 * it is the typical one beside that CPU, or several claim to be. */
static const char *why_unknown(const struct importer *importer, const struct device_clues *clues,
                               const struct candidates *found)
{
    static const char *const cpus[PLATFORM_CPU_COUNT_] = {"an x86", "an Arm"};
    struct arena *arena = importer->arena;
    if (clues->vendor > 0 && clues->vendor != PCI_NVIDIA) {
        return arena_printf(arena,
                            "these GPUs are of %s (PCI id %04x:%04x), and the catalogue has none "
                            "with that id",
                            maker_of(clues->vendor), clues->vendor, clues->device);
    }
    if (clues->sm == 0) {
        return "this file does not name the GPU";
    }
    if (found->typical_count > 1) {
        return arena_printf(arena,
                            "of compute capability %" PRId64 ", %s each say that they are the "
                            "typical one beside %s CPU (platform.typical)",
                            clues->sm, found->typical, cpus[clues->cpu]);
    }
    return found->others[0] == '\0'
               ? arena_printf(arena, "the catalogue has no GPU of compute capability %" PRId64,
                              clues->sm)
               : arena_printf(arena,
                              "the catalogue has GPUs of compute capability %" PRId64
                              " (%s), but none of them is typical beside %s CPU",
                              clues->sm, found->others, cpus[clues->cpu]);
}

/* The typical GPU of that compute capability beside that CPU. */
static const char *guess(const struct importer *importer, const struct device_clues *clues)
{
    const bool is_ours = clues->vendor == 0 || clues->vendor == PCI_NVIDIA;
    const struct candidates found = find_candidates(importer, clues);
    if (!is_ours || found.typical_count != 1) {
        import_need(importer, "--gpu NAME", why_unknown(importer, clues, &found));
        diag_help(importer->diag, "`stoker list gpus` has the names");
        return NULL;
    }
    const char *id = clues->device > 0 ? arena_printf(importer->arena, " (PCI id %04x:%04x)",
                                                      clues->vendor, clues->device)
                                       : "";
    diag_add(importer->diag, DIAG_WARNING, NULL,
             "%s is guessed from compute capability %" PRId64 " alone%s: --gpu NAME decides",
             found.typical, clues->sm, id);
    return found.typical;
}

const char *device_find(const struct importer *importer, const struct device_clues *clues)
{
    const char *known = device_known(importer, clues);
    if (importer->gpu == NULL) {
        return known != NULL ? known : guess(importer, clues);
    }
    const bool is_another = known != NULL && strcmp(known, importer->gpu) != 0;
    if (is_another || (known == NULL && clues->vendor > 0 &&
                       device_platform(importer, importer->gpu).pci != NULL)) {
        const char *told = clues->vendor > 0 ? arena_printf(importer->arena, "PCI id %04x:%04x",
                                                            clues->vendor, clues->device)
                                             : clues->name;
        diag_add(importer->diag, DIAG_WARNING, NULL,
                 "--gpu %s is taken, but the file's GPUs are %s (%s)", importer->gpu,
                 known != NULL ? known : maker_of(clues->vendor), told);
    }
    return importer->gpu;
}
