/* A file of models/optimizers. Nothing in it has a default but its title: what a file leaves out
 * would be said by nobody.
 */
#include "input/job/matrix_rule_keys.h"

#include "input/gpu.h"

enum { STEPS_MOST = 32, MOMENTS_MOST = 4, KERNELS_MOST = 1000 };
#define PASSES_MOST 1000.0

static const char *const cut_names[MATRIX_CUT_COUNT_] = {"shards", "whole"};
static const char *const gradients_names[MATRIX_GRADIENTS_COUNT_] = {"sharded", "whole"};
static const char *const gather_names[MATRIX_GATHER_COUNT_] = {"software", "behind"};

#define SCHEMA_OBJECT struct matrix_rule
#include "input/schema/rows.h"

static const struct schema_row rows[] = {
    {TEXT("optimizer", name, "Its name, which is that of its file, too."), .note = "inline"},
    {TEXT("title", title, "What people call it."), AS(const char *, name)},
    {COUNT("moments", moments, 0, MOMENTS_MOST, "Values that are kept of each parameter."),
     .is_required = true},
    {SECTION("newton_schulz", "The iteration that makes a matrix orthogonal."),
     .is_required = true},
    {COUNT("newton_schulz.steps", steps, 1, STEPS_MOST,
           "How often: A = X X', B = b A + c A A, X = a X + B X, the shorter side first."),
     .is_required = true},
    {CHOICE("newton_schulz.precision", precision, precision_names, PRECISION_COUNT_,
            "What these products multiply in."),
     .among =
         1u << PRECISION_FP32 | 1u << PRECISION_TF32 | 1u << PRECISION_BF16 | 1u << PRECISION_FP16,
     .is_required = true},
    {SECTION("layout", "How matrices lie on the ranks that update them."), .is_required = true},
    {BOOL("layout.splits_qkv", splits_qkv,
          "Queries, keys and values are made orthogonal each by itself; else as one matrix."),
     .is_required = true},
    {CHOICE("layout.tp", cut, cut_names, MATRIX_CUT_COUNT_,
            "What of a matrix that tp cuts is made orthogonal: a rank's shard as it is, or the "
            "whole, gathered, on every rank."),
     .is_required = true},
    {CHOICE("layout.gradients", gradients, gradients_names, MATRIX_GRADIENTS_COUNT_,
            "With zero 1: gradients are scattered as the software does it, or summed whole on "
            "every rank."),
     .is_required = true},
    {CHOICE("layout.gather", gather, gather_names, MATRIX_GATHER_COUNT_,
            "With zero 1: updated weights are gathered as the software does it, or when all are "
            "updated, behind."),
     .is_required = true},
    {SECTION("passes", "Reads and writes of a value of a matrix, over all kernels but products."),
     .is_required = true},
    {QUANTITY("passes.master", passes.master, DIM_COUNT, 0.0, PASSES_MOST, "Of what is updated."),
     .is_required = true},
    {QUANTITY("passes.moment", passes.moment, DIM_COUNT, 0.0, PASSES_MOST, "Of the first moment."),
     .is_required = true},
    {QUANTITY("passes.gradient", passes.gradient, DIM_COUNT, 0.0, PASSES_MOST, "Of the gradient."),
     .is_required = true},
    {QUANTITY("passes.single", passes.single, DIM_COUNT, 0.0, PASSES_MOST,
              "Of temporaries in fp32."),
     .is_required = true},
    {QUANTITY("passes.half", passes.half, DIM_COUNT, 0.0, PASSES_MOST,
              "Of temporaries and weights in 16 bits."),
     .is_required = true},
    {COUNT("passes.kernels", passes.kernels, 1, KERNELS_MOST,
           "Kernels of one matrix that these are."),
     .is_required = true},
};
const struct schema matrix_rule_schema = SCHEMA_OF("optimizer", "matrices.", rows);

bool matrix_rule_read(const struct doc_node *node, struct matrix_rule *rule,
                      struct assumptions *assumptions, struct diag *diag)
{
    *rule = (struct matrix_rule){.name = "inline", .title = ""};
    return schema_read_document(&matrix_rule_schema, node, rule, assumptions, diag);
}

static bool read_object(const struct doc_node *node, void *object, struct assumptions *assumptions,
                        struct diag *diag)
{
    return matrix_rule_read(node, object, assumptions, diag);
}
const struct doc_reader matrix_rule_reader = {sizeof(struct matrix_rule), read_object};
