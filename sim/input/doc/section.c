/* Thin helpers over input/doc/doc that readers of sections share. Nothing is
 * decided here.
 */
#include "input/doc/section.h"

#include "base/arena.h"

bool section_open(struct doc_map *section, struct doc_map *map, const char *key, const char *prefix,
                  struct assumptions *assumptions)
{
    *section = (struct doc_map){.diag = map->diag};
    const struct doc_node *node = doc_take(map, key);
    if (node == NULL) {
        return false;
    }
    if (!doc_map_open(section, node, map->diag)) {
        map->is_bad = true;
        return false;
    }
    assumptions_take(assumptions, section, arena_printf(assumptions->arena, "%s.%s", prefix, key));
    return true;
}

bool section_need(struct doc_map *section, struct doc_map *map, const char *key, const char *prefix,
                  struct assumptions *assumptions)
{
    doc_require(map, key);
    return section_open(section, map, key, prefix, assumptions);
}

void section_close(struct doc_map *section, struct doc_map *map)
{
    if (section->node != NULL && !doc_finish(section)) {
        map->is_bad = true;
    }
}

/* An absent section was reported once; its keys are not missed one by one. */
static bool has_key(struct doc_map *map, const char *key)
{
    return map->node != NULL && doc_require(map, key);
}

bool section_need_count(struct doc_map *map, const char *key, int64_t min, int64_t max,
                        int64_t *value)
{
    return has_key(map, key) && doc_get_count(map, key, min, max, value);
}

bool section_need_quantity(struct doc_map *map, const char *key, enum dimension dimension,
                           double min, double max, double *value)
{
    return has_key(map, key) && doc_get_quantity(map, key, dimension, min, max, value);
}
