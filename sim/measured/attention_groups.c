/* Rows of one kind on one GPU are fitted together. */
#include "measured/attention_groups.h"

#include "base/arena.h"

#include <string.h>

static bool has_group(const struct attention_groups *groups, const struct measured *row)
{
    for (uint32_t i = 0; i < groups->count; i++) {
        const struct measured *first = groups->groups[i].first;
        if (strcmp(first->gpu_name, row->gpu_name) == 0 && first->section == row->section) {
            return true;
        }
    }
    return false;
}

/* A kind that the GPU's file lacks starts from the usual figures. */
static bool fit_group(struct attention_groups *groups, struct attention_group *group,
                      bool only_checks, struct diag *diag)
{
    const struct gpu *gpu = group->first->gpu;
    const uint32_t kind = group->first->section;
    const struct attention_rate start =
        gpu_has_attention(gpu, kind) ? gpu->attention[kind] : attention_fit_start(gpu);
    group->rows = attention_select(groups->arena, &groups->rows, group->first->gpu_name, kind);
    if (!only_checks) {
        return attention_fit(groups->arena, &group->rows, gpu, &start, &group->fit, diag);
    }
    group->fit.rate = start;
    group->fit.after = attention_errors_of(groups->arena, gpu, &start, &group->rows);
    group->fit.before = group->fit.after;
    return true;
}

bool attention_groups_fit(struct attention_groups *groups, bool only_checks, struct diag *diag)
{
    groups->groups = arena_array(groups->arena, groups->rows.count, sizeof *groups->groups);
    bool is_good = true;
    for (uint32_t i = 0; i < groups->rows.count && is_good; i++) {
        const struct measured *row = &groups->rows.rows[i].of;
        if (!has_group(groups, row)) {
            struct attention_group *group = &groups->groups[groups->count++];
            group->first = row;
            is_good = fit_group(groups, group, only_checks, diag);
        }
    }
    return is_good;
}
