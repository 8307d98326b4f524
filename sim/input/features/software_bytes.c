/* Which precision a product or an exchange has by the software's recipe, and bytes that it writes,
 * keeps and sends of a value. Plain rules, O(1).
 */
#include "input/software.h"

/* Converted copies of a tensor: one along rows, one along columns. */
static const double CONVERTED_COPIES = 2.0;

/* Tokens sent to experts carry an fp32 scale for each 128 values (DeepEP). */
static const double DISPATCHED_FP8_BYTES = 1.0 + 4.0 / 128.0;

bool software_scales_first(const struct software *software, enum precision precision)
{
    return precision == PRECISION_NVFP4 ||
           (precision == PRECISION_FP8 && software->low.recipe == RECIPE_CURRENT);
}

bool software_scales_rows(const struct software *software, enum precision precision)
{
    return precision == PRECISION_FP8 && software->low.recipe == RECIPE_ROWWISE;
}

enum amax_group software_amax_group(const struct software *software, enum precision precision)
{
    const bool is_delayed = precision == PRECISION_FP8 && software->low.recipe == RECIPE_DELAYED;
    return is_delayed ? (enum amax_group)software->low.amax : AMAX_OWN;
}

bool software_attends_low(const struct software *software, enum precision precision,
                          bool is_backward)
{
    const struct low_precision *low = &software->low;
    return precision_is_low(precision) && software->attention != ATTENTION_UNFUSED &&
           low->attends && (low->attends_backward || !is_backward);
}

static double bytes_if(bool is_converted, enum precision precision)
{
    return is_converted ? precision_operand_bytes(precision) : (double)precision_bytes(precision);
}

double software_attended_bytes(const struct software *software, enum precision precision,
                               bool is_backward)
{
    return software_attends_low(software, precision, is_backward)
               ? precision_operand_bytes(PRECISION_FP8)
               : (double)precision_bytes(precision);
}

bool software_clamps_apart(const struct software *software)
{
    return !(software->fuses_bias_activation && software->fuses_clamp);
}

double software_kept_bytes(const struct software *software, enum precision precision)
{
    return bytes_if(software->low.keeps_inputs && software->low.in_wgrad, precision);
}

bool software_scales_tensors(const struct software *software, enum precision precision)
{
    return precision == PRECISION_FP8 &&
           (software->low.recipe == RECIPE_DELAYED || software->low.recipe == RECIPE_CURRENT);
}

double software_converted_bytes(const struct software *software, enum precision precision,
                                bool transposes_fp8)
{
    const bool is_one = software_scales_tensors(software, precision) &&
                        (transposes_fp8 || !software->low.keeps_transposes);
    return precision_is_low(precision)
               ? (is_one ? 1.0 : CONVERTED_COPIES) * precision_operand_bytes(precision)
               : (double)precision_bytes(precision);
}

double software_weight_bytes(const struct software *software, enum precision precision,
                             bool transposes_fp8)
{
    const double plain = (double)precision_bytes(precision);
    if (!precision_is_low(precision)) {
        return plain;
    }
    const double copies = software_converted_bytes(software, precision, transposes_fp8);
    switch ((enum weight_conversion)software->low.weights) {
    case WEIGHTS_EACH_STEP:
        return plain + copies;
    case WEIGHTS_STORED:
        return precision == PRECISION_NVFP4 ? plain + copies : copies;
    default:
        return plain;
    }
}

double software_gather_bytes(const struct software *software, enum precision precision)
{
    return bytes_if(software->low.gathers_parameters && precision == PRECISION_FP8 &&
                        !software_scales_rows(software, precision),
                    precision);
}

double software_activation_gather_bytes(const struct software *software, enum precision precision)
{
    return bytes_if(software->low.gathers_activations && !software_scales_rows(software, precision),
                    precision);
}

static double expert_bytes(uint32_t format, enum precision precision)
{
    const bool is_converted = format == EXCHANGE_FP8 && precision_is_low(precision);
    return is_converted ? DISPATCHED_FP8_BYTES : (double)precision_bytes(precision);
}

double software_dispatch_bytes(const struct software *software, enum precision precision)
{
    return expert_bytes(software->dispatch, precision);
}

double software_combine_bytes(const struct software *software, enum precision precision)
{
    return expert_bytes(software->combine, precision);
}
