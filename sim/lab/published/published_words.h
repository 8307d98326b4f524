/* What the words in the columns of published runs stand for, and what sources say beside them.
 *
 * Tables only; lab/published/published_rows reads them. Each array ends where its count says.
 */
#ifndef LAB_PUBLISHED_PUBLISHED_WORDS_H
#define LAB_PUBLISHED_PUBLISHED_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A platform: its topology, GPU, NICs of a node, and what its network is when not stated. */
struct platform_row {
    const char *gpu;
    const char *cluster, *file; /* of topologies/ and models/gpus/ */
    int nics;
    double gbps;     /* of a node, when blank */
    const char *set; /* what else is different; NULL: nothing */
};
extern const struct platform_row published_platforms[];
extern const uint32_t published_platform_count;

/* Profile of a framework from a year on, of a precision or ("") of all; the last row that
 * applies counts. */
struct software_row {
    const char *framework;
    int year;
    const char *precision;
    const char *file;
};
extern const struct software_row published_profiles[];
extern const uint32_t published_profile_count;

/* Other names of a framework, in any case of letters, and the one of the profiles. */
extern const char *const published_frameworks[][2];
extern const uint32_t published_framework_count;

/* What a source says elsewhere of its rows, beside the columns. */
#define SOURCE_SETS_MAX 3
struct source_row {
    const char *source, *framework, *model; /* begin so */
    const char *attention;            /* where its column is blank; NULL: as the year has it */
    bool has_dropout;                 /* whatever the year */
    const char *set[SOURCE_SETS_MAX]; /* assignments; NULL: no more */
    const char *recompute;            /* modules, where the column is blank; NULL: none */
};
/* The first that fits. */
extern const struct source_row published_sources[];
extern const uint32_t published_source_count;

/* Clusters of sources that are not their GPU's, of one NIC a node; by the beginning of the source.
 */
extern const char *const published_clusters[][2];
extern const uint32_t published_cluster_count;

/* What a family has beside its shapes; by the model's name or the family. */
struct family_row {
    const char *name;
    const char *norm, *positions;
    bool has_biases;
    int dropout_until; /* the last year in which it was trained with dropout */
};
extern const struct family_row published_families[];
extern const uint32_t published_family_count;

/* ZeRO stage by the column, of profiles whose name begins so or ("") of all; blanks too. The first
 * that fits. */
struct zero_row {
    const char *word;
    const char *framework;
    int zero;
};
extern const struct zero_row published_zero_words[];
extern const uint32_t published_zero_word_count;

/* Models that the columns do not describe, and what the catalogue calls them: latent attention,
 * width of heads, sinks, first dense layers. By the beginning of the name. */
extern const char *const published_models[][2];
extern const uint32_t published_model_count;

/* Sources, by their beginning, whose gradients are accumulated and reduced in bf16. */
extern const char *const published_bf16_gradients[];
extern const uint32_t published_bf16_gradient_count;

/* Words for what is recomputed, in the column and the notes, and ours. */
extern const char *const published_module_words[][2];
extern const uint32_t published_module_word_count;

#endif
