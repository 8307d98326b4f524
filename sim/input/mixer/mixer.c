/* Reading of mixers: the table of an operator's keys, its tensors found by name, and what kinds of
 * operators ask of their neighbours' widths. Lists are short, scans plain.
 */
#include "input/mixer/mixer.h"

#include "base/arena.h"

#include <string.h>

enum {
    WIDTH_MOST = 1000 * 1000,
    TAPS_MOST = 1000,
    POSITIONS_MOST = 1000 * 1000 * 1000,
    HEAD_PARAMETERS_MOST = 100 * 1000,
};

#define NAME(kind, name) name,
const char *const operator_kind_names[OPERATOR_KIND_COUNT_] = {OPERATOR_KINDS(NAME)};
const char *const scan_rule_names[SCAN_RULE_COUNT_] = {SCAN_RULES(NAME)};
const char *const index_loss_names[INDEX_LOSS_COUNT_] = {"sparse", "dense"};
#undef NAME

/* ---- what a kind of operator has --------------------------------------------------------- */

struct operator_rule {
    uint32_t reads_least, reads_most;
    uint32_t writes_most; /* 0: it changes in place */
    const char *reads;    /* in words */
};

static const struct operator_rule rules[OPERATOR_KIND_COUNT_] = {
    [OPERATOR_PROJECTION] = {1, 1, MIXER_LIST_MAX, "one tensor"},
    [OPERATOR_CONVOLUTION] = {1, MIXER_LIST_MAX, 0, "tensors"},
    [OPERATOR_NORM] = {1, MIXER_LIST_MAX, 0, "tensors"},
    [OPERATOR_ROTARY] = {1, MIXER_LIST_MAX, 0, "tensors"},
    [OPERATOR_ACTIVATION] = {1, MIXER_LIST_MAX, 0, "tensors"},
    [OPERATOR_GATE] = {2, 2, 0, "a tensor and its gate"},
    [OPERATOR_JOIN] = {2, MIXER_LIST_MAX, 1, "two tensors or more"},
    [OPERATOR_INDEX] = {3, 3, 1, "its queries, keys and weights"},
    [OPERATOR_ATTENTION] = {3, 4, 1, "queries, keys and values, then what an index chose"},
    [OPERATOR_SCAN] = {3, 6, 1, "queries, keys, values, then gates"},
};

/* ---- asking ------------------------------------------------------------------------------ */

int64_t mixer_width(const struct mixer_tensor *tensor)
{
    return (tensor->heads > 0 ? tensor->heads : 1) * tensor->dim;
}

int64_t mixer_share(const struct mixer_tensor *tensor, int64_t tp)
{
    const int64_t heads = tensor->heads > tp ? (tensor->heads + tp - 1) / tp : 1;
    return heads * tensor->dim;
}

int64_t mixer_list_width(const struct mixer *mixer, const struct mixer_list *list)
{
    int64_t width = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        width += mixer_width(&mixer->tensors[list->tensors[i]]);
    }
    return width;
}

int64_t mixer_list_share(const struct mixer *mixer, const struct mixer_list *list, int64_t tp)
{
    int64_t width = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        width += mixer_share(&mixer->tensors[list->tensors[i]], tp);
    }
    return width;
}

const struct mixer_tensor *mixer_read(const struct mixer *mixer, const struct mixer_operator *op,
                                      uint32_t index)
{
    sim_assert(index < op->reads.count);
    return &mixer->tensors[op->reads.tensors[index]];
}

uint32_t mixer_changed(const struct mixer_operator *op)
{
    const bool is_first = op->kind == OPERATOR_GATE || op->is_gated;
    return rules[op->kind].writes_most > 0 ? 0 : is_first ? 1 : op->reads.count;
}

uint32_t mixer_place(const struct mixer_operator *op, uint32_t tensor)
{
    uint32_t i = 0;
    while (i < op->reads.count && op->reads.tensors[i] != tensor) {
        i++;
    }
    return i;
}

bool mixer_changes(const struct mixer_operator *op, uint32_t tensor)
{
    return mixer_place(op, tensor) < mixer_changed(op);
}

int64_t mixer_chosen(const struct mixer *mixer)
{
    return mixer->index != NULL ? mixer->tensors[mixer->index->writes.tensors[0]].dim : 0;
}

bool mixer_shares_values(const struct mixer *mixer)
{
    return mixer->attention != NULL &&
           mixer->attention->reads.tensors[1] == mixer->attention->reads.tensors[2];
}

int64_t mixer_head_in(const struct mixer *mixer, const struct mixer_operator *op)
{
    return op->has_each_head ? mixer_read(mixer, op, 0)->dim : 0;
}

int64_t mixer_head_out(const struct mixer *mixer, const struct mixer_operator *op)
{
    return op->has_each_head ? mixer->tensors[op->writes.tensors[0]].dim : 0;
}

int64_t mixer_inputs(const struct mixer *mixer, const struct mixer_operator *op)
{
    return op->has_each_head ? mixer_head_in(mixer, op) : mixer_width(mixer_read(mixer, op, 0));
}

int64_t mixer_weights(const struct mixer *mixer, const struct mixer_operator *op)
{
    return mixer_inputs(mixer, op) * mixer_list_width(mixer, &op->writes);
}

bool mixer_reads_input(const struct mixer_operator *op)
{
    return op->kind == OPERATOR_PROJECTION && op->reads.tensors[0] == MIXER_INPUT;
}

bool mixer_writes_output(const struct mixer_operator *op)
{
    return op->kind == OPERATOR_PROJECTION && op->writes.tensors[0] == MIXER_OUTPUT;
}

bool mixer_is_whole(const struct mixer *mixer, const struct mixer_operator *op)
{
    for (uint32_t i = 0; i < op->writes.count; i++) {
        if (mixer->tensors[op->writes.tensors[i]].heads > 0) {
            return false;
        }
    }
    return !mixer_writes_output(op);
}

const struct mixer_operator *mixer_partial(const struct mixer *mixer)
{
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        if (op->kind == OPERATOR_PROJECTION && !op->has_each_head &&
            mixer_read(mixer, op, 0)->heads > 0 && !mixer_writes_output(op)) {
            return op;
        }
    }
    return NULL;
}

bool mixer_is_projected(const struct mixer *mixer, uint32_t tensor)
{
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        if (op->kind == OPERATOR_PROJECTION && op->reads.tensors[0] == tensor) {
            return true;
        }
    }
    return false;
}

/* ---- the keys of an operator -------------------------------------------------------------- */

#define SCHEMA_OBJECT struct mixer_operator
#include "input/schema/rows.h"

/* A key that means something to one kind alone. */
#define ONLY_OF(function_, kind_, why_, help_)                        \
    static const struct schema_refusal *function_(const void *object) \
    {                                                                 \
        static const struct schema_refusal refusal = {why_, help_};   \
        const struct mixer_operator *op = object;                     \
        return op->kind == (kind_) ? NULL : &refusal;                 \
    }
ONLY_OF(but_convolution, OPERATOR_CONVOLUTION, "of what is no convolution", "leave it out")
ONLY_OF(but_attention, OPERATOR_ATTENTION, "of what is no attention", "leave it out")
ONLY_OF(but_scan, OPERATOR_SCAN, "of what is no scan", "leave it out")
ONLY_OF(but_norm, OPERATOR_NORM, "of what is no norm", "leave it out")
ONLY_OF(but_index, OPERATOR_INDEX, "of what is no index", "leave it out")
#undef ONLY_OF

static const struct schema_refusal *without_bias(const void *object)
{
    static const struct schema_refusal refusal = {"of what is no projection or convolution",
                                                  "leave it out"};
    const struct mixer_operator *op = object;
    return op->kind == OPERATOR_PROJECTION || op->kind == OPERATOR_CONVOLUTION ? NULL : &refusal;
}

static const struct schema_refusal *without_heads(const void *object)
{
    static const struct schema_refusal refusal = {"of what is no projection or norm",
                                                  "leave it out"};
    const struct mixer_operator *op = object;
    return op->kind == OPERATOR_PROJECTION || op->kind == OPERATOR_NORM ? NULL : &refusal;
}

static bool is_convolution(const void *object)
{
    return but_convolution(object) == NULL;
}

static bool is_scan(const void *object)
{
    return but_scan(object) == NULL;
}

static const struct schema_row operator_rows[] = {
    {CHOICE("operator", kind, operator_kind_names, OPERATOR_KIND_COUNT_, "What it does."),
     .is_required = true},
    {TEXT("name", name, "What its kernels and parameters are called in tables."),
     .is_required = true},
    {NODE("reads", read_names, "Names of the tensors that it reads; input: the hidden state."),
     .is_required = true},
    {NODE("writes", written_names,
          "Names of the tensors that it makes; output: what is added to the hidden state."),
     .is_optional = true, .note = "it changes what it reads"},
    {BOOL("bias", has_bias, "Whether a value is added for each that it makes."),
     .standard = "false", .refuses = without_bias},
    {COUNT("width", width, 1, TAPS_MOST, "Tokens that a convolution sees, its own the last."),
     .is_required = true, .applies = is_convolution, .refuses = but_convolution},
    {COUNT("window", window, 1, POSITIONS_MOST, "Keys that a query sees."), .is_optional = true,
     .note = "all keys are seen", .refuses = but_attention},
    {BOOL_UNLESS("causal", is_bidirectional, "A token sees only those before it; else all."),
     .refuses = but_attention},
    {CHOICE("rule", rule, scan_rule_names, SCAN_RULE_COUNT_,
            "How a scan's state goes on from token to token."),
     .is_required = true, .applies = is_scan, .refuses = but_scan},
    {COUNT("chunk", chunk, 1, 65536, "Tokens that a scan works on at once."), .is_required = true,
     .applies = is_scan, .refuses = but_scan},
    {COUNT("head_parameters", head_parameters, 0, HEAD_PARAMETERS_MOST,
           "Learned numbers of each head of a scan's values: decays, biases of gates."),
     .standard = "0", .refuses = but_scan},
    {BOOL_UNLESS("learned", is_bare, "Whether a norm has weights."), .refuses = but_norm},
    {BOOL("gated", is_gated, "A norm multiplies by a function of the second tensor that it reads."),
     .standard = "false", .refuses = but_norm},
    {BOOL("each_head", has_each_head,
          "A norm or a projection has weights of its own for every head."),
     .standard = "false", .refuses = without_heads},
    {CHOICE("loss", loss, index_loss_names, INDEX_LOSS_COUNT_,
            "Keys over which an index learns what attention does: those that it chose, or all."),
     .standard = "sparse", .refuses = but_index},
};
static const struct schema operator_schema =
    SCHEMA_OF("operator", "model.mixers.operators.", operator_rows);

/* ---- tensors by name --------------------------------------------------------------------- */

static uint32_t find_tensor(const struct mixer *mixer, const char *name)
{
    uint32_t i = 0;
    while (i < mixer->tensor_count && strcmp(mixer->tensors[i].name, name) != 0) {
        i++;
    }
    return i;
}

static bool miss_tensor(struct diag *diag, const struct mixer *mixer, const struct doc_node *node)
{
    const char *names[MIXER_TENSORS_MAX];
    for (uint32_t i = 0; i < mixer->tensor_count; i++) {
        names[i] = mixer->tensors[i].name;
    }
    const char *text = node->text != NULL ? node->text : "";
    diag_add(diag, DIAG_INPUT, &node->place, "mixer %s has no tensor '%s'", mixer->name, text);
    diag_help_nearest(diag, diag_nearest(text, names, mixer->tensor_count),
                      "tensors are input, output and those that the mixer lists");
    return false;
}

static bool find_list(struct diag *diag, const struct mixer *mixer, const struct doc_node *node,
                      struct mixer_list *list)
{
    if (node == NULL) {
        return true;
    }
    if (node->kind != DOC_SEQUENCE || doc_child_count(node) > MIXER_LIST_MAX) {
        diag_add(diag, DIAG_INPUT, &node->place, "%s is a list of at most %d tensors", node->key,
                 MIXER_LIST_MAX);
        diag_help(diag, "write it like [q, k, v]");
        return false;
    }
    for (const struct doc_node *name = node->child; name != NULL; name = name->next) {
        const uint32_t found =
            name->text != NULL ? find_tensor(mixer, name->text) : mixer->tensor_count;
        if (found == mixer->tensor_count) {
            return miss_tensor(diag, mixer, name);
        }
        list->tensors[list->count++] = found;
    }
    return true;
}

/* ---- what must fit ----------------------------------------------------------------------- */

struct checker {
    struct diag *diag;
    const struct mixer *mixer;
    const struct mixer_operator *op;
    bool is_written[MIXER_TENSORS_MAX], is_read[MIXER_TENSORS_MAX], is_chosen[MIXER_TENSORS_MAX];
};

static bool check_counts(const struct checker *checker)
{
    const struct mixer_operator *op = checker->op;
    const struct operator_rule *rule = &rules[op->kind];
    const char *kind = operator_kind_names[op->kind];
    if (op->reads.count < rule->reads_least || op->reads.count > rule->reads_most) {
        return diag_add(checker->diag, DIAG_INPUT, &op->read_names->place, "%s %s reads %s", kind,
                        op->name, rule->reads);
    }
    if (op->is_gated && op->reads.count != 2) {
        return diag_add(checker->diag, DIAG_INPUT, &op->read_names->place,
                        "gated norm %s reads a tensor and its gate", op->name);
    }
    if (rule->writes_most == 0 && op->written_names != NULL) {
        diag_add(checker->diag, DIAG_INPUT, &op->written_names->place,
                 "%s %s changes what it reads", kind, op->name);
        diag_help(checker->diag, "leave writes out");
        return false;
    }
    if (rule->writes_most > 0 && (op->writes.count == 0 || op->writes.count > rule->writes_most)) {
        const struct place *place =
            op->written_names != NULL ? &op->written_names->place : &op->place;
        diag_add(checker->diag, DIAG_INPUT, place, "%s %s writes %s", kind, op->name,
                 rule->writes_most == 1 ? "one tensor" : "one tensor or more");
        diag_help(checker->diag, "name it: writes: [context]");
        return false;
    }
    return true;
}

/* What it reads was written, what it writes was not; input and output are of projections. */
static bool check_order(struct checker *checker)
{
    const struct mixer_operator *op = checker->op;
    for (uint32_t i = 0; i < op->reads.count; i++) {
        const uint32_t tensor = op->reads.tensors[i];
        const bool is_projection = op->kind == OPERATOR_PROJECTION;
        if (!checker->is_written[tensor] || (tensor == MIXER_INPUT && !is_projection)) {
            diag_add(checker->diag, DIAG_INPUT, &op->read_names->place,
                     tensor == MIXER_INPUT ? "%s %s reads %s, which projections alone do"
                                           : "%s %s reads %s, which no operator before it writes",
                     operator_kind_names[op->kind], op->name, checker->mixer->tensors[tensor].name);
            diag_help(checker->diag, "operators stand in the order in which they run");
            return false;
        }
        if (mixer_changed(op) > 0 && mixer_place(op, tensor) < i) {
            return diag_add(checker->diag, DIAG_INPUT, &op->read_names->place,
                            "%s %s reads %s twice", operator_kind_names[op->kind], op->name,
                            checker->mixer->tensors[tensor].name);
        }
        checker->is_read[tensor] = true;
    }
    for (uint32_t i = 0; i < op->writes.count; i++) {
        const uint32_t tensor = op->writes.tensors[i];
        const bool is_output = tensor == MIXER_OUTPUT;
        if ((checker->is_written[tensor] && !is_output) ||
            (is_output && (op->kind != OPERATOR_PROJECTION || op->writes.count > 1))) {
            return diag_add(checker->diag, DIAG_INPUT, &op->written_names->place,
                            is_output ? "%s %s writes output, which a projection alone does, and "
                                        "nothing beside it"
                                      : "%s %s writes %s once more",
                            operator_kind_names[op->kind], op->name,
                            checker->mixer->tensors[tensor].name);
        }
        checker->is_written[tensor] = true;
    }
    return true;
}

/* `one` and `other` of the operator: "keys" are 8 x 128 wide, "queries" ... */
static bool miss_fit(const struct checker *checker, const struct mixer_tensor *one,
                     const struct mixer_tensor *other, const char *must)
{
    const struct mixer_operator *op = checker->op;
    diag_add(checker->diag, DIAG_INPUT, &op->place,
             "%s %s: %s of %lld x %lld does not fit %s of %lld x %lld",
             operator_kind_names[op->kind], op->name, one->name, (long long)one->heads,
             (long long)one->dim, other->name, (long long)other->heads, (long long)other->dim);
    diag_help(checker->diag, "%s", must);
    return false;
}

static bool check_same(const struct checker *checker, const struct mixer_tensor *one,
                       const struct mixer_tensor *other)
{
    return one->heads == other->heads && one->dim == other->dim
               ? true
               : miss_fit(checker, one, other, "both have as many heads and values a head");
}

static bool is_shared_value(const struct mixer_operator *op)
{
    return op->kind == OPERATOR_ATTENTION && op->reads.tensors[1] == op->reads.tensors[2];
}

/* The result of attention, or of a scan. */
static bool check_result(const struct checker *checker, const struct mixer_tensor *most)
{
    const struct mixer_operator *op = checker->op;
    const struct mixer_tensor *value = mixer_read(checker->mixer, op, 2);
    const struct mixer_tensor *result = &checker->mixer->tensors[op->writes.tensors[0]];
    const bool is_wide =
        is_shared_value(op) ? result->dim <= value->dim : result->dim == value->dim;
    return result->heads == most->heads && is_wide
               ? true
               : miss_fit(checker, result, value,
                          "the result has the most heads that are read, each as wide as values");
}

/* Whatever attention reads fourth is what an index wrote, and nothing else reads that. */
static bool check_chosen(const struct checker *checker)
{
    const struct mixer_operator *op = checker->op;
    const struct mixer *mixer = checker->mixer;
    for (uint32_t i = 0; i < op->reads.count; i++) {
        const bool is_place = op->kind == OPERATOR_ATTENTION && i == 3;
        if (checker->is_chosen[op->reads.tensors[i]] != is_place) {
            diag_add(checker->diag, DIAG_INPUT, &op->read_names->place,
                     is_place ? "%s %s reads %s, which no index writes"
                              : "%s %s reads %s, which an index writes",
                     operator_kind_names[op->kind], op->name, mixer_read(mixer, op, i)->name);
            diag_help(checker->diag, "attention reads the places of the keys that an index chose "
                                     "behind queries, keys and values, and nothing else does");
            return false;
        }
    }
    if (op->reads.count == 4 && op->kind == OPERATOR_ATTENTION && op->window > 0) {
        diag_add(checker->diag, DIAG_INPUT, &op->place, "attention %s has a window and an index",
                 op->name);
        diag_help(checker->diag, "leave window out: the index chooses of all keys before a token");
        return false;
    }
    return true;
}

/* Of attention and scans: keys as wide as queries, as many heads or a part of those of `most`. */
static bool check_core(const struct checker *checker)
{
    const struct mixer_operator *op = checker->op;
    const struct mixer_tensor *query = mixer_read(checker->mixer, op, 0);
    const struct mixer_tensor *key = mixer_read(checker->mixer, op, 1);
    const struct mixer_tensor *value = mixer_read(checker->mixer, op, 2);
    const struct mixer_tensor *most = op->kind == OPERATOR_ATTENTION ? query : value;
    if (query->heads == 0 || key->heads == 0 || value->heads == 0) {
        return miss_fit(checker, key, query, "queries, keys and values have heads");
    }
    if (key->dim != query->dim || most->heads % key->heads != 0 ||
        most->heads % query->heads != 0) {
        return miss_fit(checker, key, key->dim != query->dim ? query : most,
                        "keys have as many values as queries, and heads that divide the others");
    }
    if (op->kind == OPERATOR_ATTENTION && key->heads != value->heads) {
        return miss_fit(checker, value, key, "values have as many heads as keys");
    }
    if (!check_result(checker, most)) {
        return false;
    }
    for (uint32_t i = 3; i < op->reads.count && op->kind == OPERATOR_SCAN; i++) {
        const struct mixer_tensor *gate = mixer_read(checker->mixer, op, i);
        if (gate->heads != value->heads || (gate->dim != 1 && gate->dim != key->dim)) {
            return miss_fit(checker, gate, value,
                            "a gate has a value for each head of values, or as many as keys");
        }
    }
    return true;
}

/* Parts side by side: as many heads as the result, or none, and together as wide. */
static bool check_join(const struct checker *checker)
{
    const struct mixer_operator *op = checker->op;
    const struct mixer_tensor *result = &checker->mixer->tensors[op->writes.tensors[0]];
    int64_t dim = 0;
    for (uint32_t i = 0; i < op->reads.count; i++) {
        const struct mixer_tensor *part = mixer_read(checker->mixer, op, i);
        dim += part->dim;
        if (part->heads != 0 && part->heads != result->heads) {
            return miss_fit(checker, part, result, "a part has no heads, or those of the result");
        }
    }
    return dim == result->dim ? true
                              : miss_fit(checker, mixer_read(checker->mixer, op, 0), result,
                                         "values a head of all parts together are the result's");
}

/* All whole; as many queries as weights, each as wide as a key. */
static bool check_index(const struct checker *checker)
{
    const struct mixer_operator *op = checker->op;
    const struct mixer_tensor *result = &checker->mixer->tensors[op->writes.tensors[0]];
    const struct mixer_tensor *query = mixer_read(checker->mixer, op, 0);
    const struct mixer_tensor *key = mixer_read(checker->mixer, op, 1);
    const struct mixer_tensor *weight = mixer_read(checker->mixer, op, 2);
    const struct mixer_tensor *cut = query->heads > 0    ? query
                                     : key->heads > 0    ? key
                                     : weight->heads > 0 ? weight
                                     : result->heads > 0 ? result
                                                         : NULL;
    if (cut != NULL) {
        diag_add(checker->diag, DIAG_INPUT, &op->place, "index %s: %s has heads", op->name,
                 cut->name);
        diag_help(checker->diag, "what an index reads and writes is whole on every rank: leave "
                                 "heads out, and give queries a dim of all heads together");
        return false;
    }
    return query->dim == key->dim * weight->dim
               ? true
               : miss_fit(checker, query, key,
                          "queries have the values of a key for each value of the weights");
}

/* A matrix for every head. */
static bool check_heads(const struct checker *checker)
{
    const struct mixer_operator *op = checker->op;
    const struct mixer_tensor *input = mixer_read(checker->mixer, op, 0);
    const struct mixer_tensor *result = &checker->mixer->tensors[op->writes.tensors[0]];
    return op->writes.count == 1 && input->heads > 0 && input->heads == result->heads
               ? true
               : miss_fit(checker, result, input,
                          "with each_head it writes one tensor, of as many heads as it reads");
}

static bool check_widths(const struct checker *checker)
{
    const struct mixer_operator *op = checker->op;
    if (op->kind == OPERATOR_PROJECTION && op->has_each_head) {
        return check_heads(checker);
    }
    if (op->kind == OPERATOR_JOIN || op->kind == OPERATOR_INDEX) {
        return op->kind == OPERATOR_JOIN ? check_join(checker) : check_index(checker);
    }
    if (op->kind == OPERATOR_GATE || op->is_gated) {
        const struct mixer_tensor *gated = mixer_read(checker->mixer, op, 0);
        const struct mixer_tensor *gate = mixer_read(checker->mixer, op, 1);
        return gate->dim == 1 && gate->heads == gated->heads ? true
                                                             : check_same(checker, gate, gated);
    }
    return op->kind != OPERATOR_ATTENTION && op->kind != OPERATOR_SCAN ? true : check_core(checker);
}

/* ---- a mixer ------------------------------------------------------------------------------ */

static bool check_reads(struct diag *diag, const struct mixer *mixer)
{
    uint32_t reads = 0;
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        reads += mixer->operators[i].reads.count;
    }
    if (reads <= MIXER_READS_MAX) {
        return true;
    }
    diag_add(diag, DIAG_INPUT, &mixer->place, "operators of mixer %s read %u tensors", mixer->name,
             reads);
    diag_help(diag, "all together they read %d at most", MIXER_READS_MAX);
    return false;
}

static bool check_operators(struct diag *diag, const struct mixer *mixer)
{
    struct checker checker = {.diag = diag, .mixer = mixer};
    checker.is_written[MIXER_INPUT] = true;
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        checker.op = &mixer->operators[i];
        if (!check_counts(&checker) || !check_order(&checker) || !check_chosen(&checker) ||
            !check_widths(&checker)) {
            return false;
        }
        if (checker.op->kind == OPERATOR_INDEX) {
            checker.is_chosen[checker.op->writes.tensors[0]] = true;
        }
    }
    for (uint32_t i = MIXER_OUTPUT; i < mixer->tensor_count; i++) {
        const bool is_output = i == MIXER_OUTPUT;
        if (is_output ? !checker.is_written[i] : !checker.is_read[i]) {
            diag_add(diag, DIAG_INPUT, &mixer->place,
                     is_output ? "mixer %s writes no %s" : "nothing in mixer %s reads %s",
                     mixer->name, mixer->tensors[i].name);
            diag_help(diag, is_output ? "it ends with a projection that writes: [output]"
                                      : "leave the tensor out, or say what is made of it");
            return false;
        }
    }
    return true;
}

/* Finds what is between the first and the last that see the sequence. */
static bool find_core(struct diag *diag, struct mixer *mixer)
{
    mixer->core_first = mixer->operator_count;
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        const struct mixer_operator **only = op->kind == OPERATOR_ATTENTION ? &mixer->attention
                                             : op->kind == OPERATOR_SCAN    ? &mixer->scan
                                             : op->kind == OPERATOR_INDEX   ? &mixer->index
                                                                            : NULL;
        if (only == NULL) {
            continue;
        }
        if (*only != NULL) {
            diag_add(diag, DIAG_INPUT, &op->place, "mixer %s has a second %s, %s", mixer->name,
                     operator_kind_names[op->kind], op->name);
            diag_help(diag, "a mixer has one of attention, one scan and one index at most");
            return false;
        }
        *only = op;
        mixer->core_first = mixer->core_first < i ? mixer->core_first : i;
        mixer->core_end = i + 1;
    }
    if (mixer->core_end == 0) {
        diag_add(diag, DIAG_INPUT, &mixer->place, "mixer %s mixes no tokens", mixer->name);
        diag_help(diag, "it has attention or a scan");
    }
    return mixer->core_end > 0;
}

/* ---- what is an index's alone -------------------------------------------------------------- */

static bool only_index_reads(const struct mixer *mixer, uint32_t tensor)
{
    bool is_index = false;
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        const struct mixer_operator *op = &mixer->operators[i];
        if (mixer_place(op, tensor) == op->reads.count || mixer_changes(op, tensor)) {
            continue;
        }
        if (op->kind != OPERATOR_INDEX) {
            return false;
        }
        is_index = true;
    }
    return is_index;
}

static void find_detached(struct mixer *mixer)
{
    for (uint32_t i = MIXER_OWN_; i < mixer->tensor_count && mixer->index != NULL; i++) {
        mixer->tensors[i].is_of_index = only_index_reads(mixer, i);
    }
    for (uint32_t i = 0; i < mixer->operator_count; i++) {
        struct mixer_operator *op = &mixer->operators[i];
        op->is_detached = op->kind == OPERATOR_PROJECTION;
        for (uint32_t k = 0; k < op->writes.count; k++) {
            op->is_detached = op->is_detached && mixer->tensors[op->writes.tensors[k]].is_of_index;
        }
    }
}

static struct operator_names names_of(struct arena *arena, const char *name)
{
    return (struct operator_names){
        .forward = name,
        .backward = arena_printf(arena, "%s backward", name),
        .dgrad = arena_printf(arena, "%s dgrad", name),
        .wgrad = arena_printf(arena, "%s wgrad", name),
        .bias = arena_printf(arena, "%s bias", name),
        .bias_gradient = arena_printf(arena, "%s bias gradient", name),
        .layout = arena_printf(arena, "%s layout", name),
        .add = arena_printf(arena, "%s gradient add", name),
    };
}

static void read_operators(const struct schema_reader *reader, const struct schema_row *row)
{
    struct mixer *mixer = reader->object;
    struct doc_map *outer = reader->map;
    if (!schema_require(reader, row)) {
        return;
    }
    const struct doc_node *list = doc_take_list(outer, schema_key(row), "operators", "- {...}");
    if (list == NULL) {
        return;
    }
    if (doc_child_count(list) > MIXER_OPERATORS_MAX) {
        outer->is_bad = true;
        diag_add(outer->diag, DIAG_INPUT, &list->place, "a mixer has at most %d operators",
                 MIXER_OPERATORS_MAX);
        return;
    }
    for (const struct doc_node *node = list->child; node != NULL; node = node->next) {
        struct doc_map map;
        struct mixer_operator op = {.place = node->place};
        if (!doc_map_open(&map, node, outer->diag)) {
            outer->is_bad = true;
            continue;
        }
        schema_read(&operator_schema, &map, &op, reader->assumptions);
        if (!doc_finish(&map) || !find_list(outer->diag, mixer, op.read_names, &op.reads) ||
            !find_list(outer->diag, mixer, op.written_names, &op.writes)) {
            outer->is_bad = true;
            continue;
        }
        op.names = names_of(reader->assumptions->arena, op.name);
        mixer->operators[mixer->operator_count++] = op;
    }
}

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct mixer_tensor

static const struct schema_row tensor_rows[] = {
    {TEXT("name", name, "What operators call it."), .is_required = true},
    {COUNT("heads", heads, 1, WIDTH_MOST, "Heads that it consists of, by which tp cuts it."),
     .is_optional = true, .note = "it is whole on every rank"},
    {COUNT("dim", dim, 1, WIDTH_MOST, "Values of a head; without heads, of a token."),
     .is_required = true},
};
static const struct schema tensor_schema =
    SCHEMA_OF("tensor", "model.mixers.tensors.", tensor_rows);

static void read_tensors(const struct schema_reader *reader, const struct schema_row *row)
{
    struct mixer *mixer = reader->object;
    struct doc_map *outer = reader->map;
    if (!schema_require(reader, row)) {
        return;
    }
    const struct doc_node *list =
        doc_take_list(outer, schema_key(row), "tensors", "- {name: q, heads: 32, dim: 128}");
    const uint32_t most = MIXER_TENSORS_MAX - MIXER_OWN_;
    if (list != NULL && doc_child_count(list) > most) {
        outer->is_bad = true;
        diag_add(outer->diag, DIAG_INPUT, &list->place, "a mixer has at most %u tensors", most);
        return;
    }
    for (const struct doc_node *node = list != NULL ? list->child : NULL; node != NULL;
         node = node->next) {
        struct doc_map map;
        struct mixer_tensor tensor = {.heads = 0};
        const bool is_map = doc_map_open(&map, node, outer->diag);
        if (is_map) {
            schema_read(&tensor_schema, &map, &tensor, reader->assumptions);
        }
        if (!is_map || !doc_finish(&map)) {
            outer->is_bad = true;
            continue;
        }
        if (find_tensor(mixer, tensor.name) < mixer->tensor_count) {
            outer->is_bad = true;
            diag_add(outer->diag, DIAG_INPUT, &node->place, "a second tensor %s", tensor.name);
            continue;
        }
        mixer->tensors[mixer->tensor_count++] = tensor;
    }
}

#undef SCHEMA_OBJECT
#define SCHEMA_OBJECT struct mixer

static const struct schema_row mixer_rows[] = {
    {TEXT("name", name, "What layer types call it."), .is_required = true},
    {CUSTOM("tensors", read_tensors, "What tokens have between operators."), .is_required = true,
     .inner = &tensor_schema},
    {CUSTOM("operators", read_operators, "What is done, in its order."), .is_required = true,
     .inner = &operator_schema},
};
const struct schema mixer_keys = SCHEMA_OF("mixer", "model.mixers.", mixer_rows);

bool mixer_read_node(const struct schema_reader *reader, const struct doc_node *node,
                     int64_t hidden, struct mixer *mixer)
{
    struct doc_map map;
    struct diag *diag = reader->map->diag;
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    *mixer = (struct mixer){
        .name = "", /* where a file has none: an error that others may outlast */
        .tensors = {{.name = "input", .dim = hidden}, {.name = "output", .dim = hidden}},
        .tensor_count = MIXER_OWN_,
        .place = node->place};
    schema_read(&mixer_keys, &map, mixer, reader->assumptions);
    const bool is_good = doc_finish(&map) && find_core(diag, mixer) && check_reads(diag, mixer) &&
                         check_operators(diag, mixer);
    if (is_good) {
        find_detached(mixer);
    }
    return is_good;
}
