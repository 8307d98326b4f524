/* A duration alone is a fixed law; a mapping is read by its own schema, and a median stands for the
 * shape of a lognormal one: mean / median = exp(shape^2 / 2).
 */
#include "input/failures/law.h"

#include "base/arena.h"

#include <math.h>
#include <string.h>

const char *const law_names[LAW_COUNT_] = {"fixed", "exponential", "lognormal", "weibull"};

static const double LONGEST_S = 1e10;

struct written {
    double mean_s;
    uint32_t kind;
    double shape;    /* 0: not said */
    double median_s; /* 0: not said */
};

#define SCHEMA_OBJECT struct written
#include "input/schema/rows.h"

static const struct schema_row rows[] = {
    {QUANTITY("mean", mean_s, DIM_SECONDS, 0.0, 1e10, "How long in the mean."),
     .is_required = true},
    {CHOICE("law", kind, law_names, LAW_COUNT_,
            "How it spreads: fixed not at all, lognormal as repairs do, weibull by its shape."),
     .standard = "fixed"},
    {QUANTITY("shape", shape, DIM_COUNT, LAW_SHAPE_MIN, LAW_SHAPE_MAX,
              "Of a Weibull law its shape, of a lognormal one the standard deviation of the "
              "logarithm."),
     .is_optional = true, .note = "fixed and exponential have none"},
    {QUANTITY("median", median_s, DIM_SECONDS, 0.0, 1e10,
              "Of a lognormal law, in the place of its shape: half of all are shorter."),
     .is_optional = true, .note = "the shape says it"},
};
const struct schema law_keys = SCHEMA_OF("law", "law.", rows);

/* The shape that a median means: NULL, or what is wrong. */
static const char *settle_shape(struct written *written)
{
    const bool has_shape = written->kind == LAW_LOGNORMAL || written->kind == LAW_WEIBULL;
    const bool is_said = written->shape > 0 || written->median_s > 0;
    if (!has_shape) {
        return is_said ? "a fixed or exponential law has neither shape nor median" : NULL;
    }
    if (written->median_s > 0) {
        if (written->kind != LAW_LOGNORMAL || written->shape > 0) {
            return "a median stands for the shape of a lognormal law";
        }
        if (written->median_s >= written->mean_s) {
            return "the median of a lognormal law lies below its mean";
        }
        written->shape = sqrt(2.0 * log(written->mean_s / written->median_s));
        return written->shape >= LAW_SHAPE_MIN && written->shape <= LAW_SHAPE_MAX
                   ? NULL
                   : "mean and median give a shape that is not within 0.1 and 10";
    }
    return is_said ? NULL : "a lognormal or Weibull law needs its shape";
}

static bool read_mapping(const struct schema_reader *reader, const struct doc_node *node,
                         struct law *law)
{
    struct diag *diag = reader->map->diag;
    struct doc_map map;
    struct written written = {.mean_s = 0};
    if (!doc_map_open(&map, node, diag)) {
        return false;
    }
    assumptions_take(reader->assumptions, &map,
                     arena_printf(reader->assumptions->arena, "%s%s", reader->path, node->key));
    schema_read(&law_keys, &map, &written, reader->assumptions);
    if (!doc_finish(&map)) {
        return false;
    }
    const char *wrong = settle_shape(&written);
    if (wrong != NULL) {
        diag_add(diag, DIAG_INPUT, &node->place, "%s", wrong);
        diag_help(diag, "write it like {mean: 5.5 days, law: lognormal, shape: 1.9}, or '7 min'");
        return false;
    }
    *law = (struct law){(enum law_kind)written.kind, written.mean_s, written.shape};
    return true;
}

void law_read(const struct schema_reader *reader, const struct schema_row *row)
{
    struct law *law = (void *)((char *)reader->object + row->offset);
    const struct doc_node *node = doc_take(reader->map, schema_key(row));
    if (node == NULL && !schema_applies(row, reader->object)) {
        return;
    }
    if (node == NULL && row->is_required && reader->map->node != NULL) {
        (void)schema_require(reader, row);
        return;
    }
    const struct doc_node standard = {
        .kind = DOC_SCALAR, .text = row->standard, .key = schema_key(row)};
    if (node == NULL && row->is_assumed) {
        assumptions_add(
            reader->assumptions,
            &(struct assumption){.name = arena_printf(reader->assumptions->arena, "%s%s",
                                                      reader->path, schema_key(row)),
                                 .value = row->standard,
                                 .reason = row->source != NULL ? row->source : DEFAULT_REASON});
    }
    if (node == NULL && row->standard == NULL) {
        return;
    }
    const struct doc_node *value = node != NULL ? node : &standard;
    if (value->kind == DOC_MAPPING) {
        reader->map->is_bad = !read_mapping(reader, value, law) || reader->map->is_bad;
        return;
    }
    double mean_s = 0;
    const bool is_good =
        doc_node_quantity(value, DIM_SECONDS, 0.0, LONGEST_S, &mean_s, reader->map->diag);
    *law = (struct law){LAW_FIXED, mean_s, 0};
    reader->map->is_bad = !is_good || reader->map->is_bad;
}
