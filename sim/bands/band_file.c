/* Lines of models/validated.csv, read and written; the catalogue's. */
#include "bands/band.h"

#include "base/absent.h"
#include "bands/table_file.h"

static const double NUMBER_MOST = 1e12;
static const double BYTES_PER_GBPS = 1.25e8;

static const char *kind_name(uint32_t number)
{
    return band_kind_name(number == 1);
}

#define TRAIT(name_, member_) TABLE_TEXT(name_, struct band_vote, traits.member_)
#define SIZE(name_, member_) TABLE_COUNT(name_, struct band_vote, traits.member_, 1, NUMBER_MOST)
#define NUMBER(name_, member_, least_, format_) \
    TABLE_NUMBER(name_, struct band_vote, member_, least_, NUMBER_MOST, format_)

static const struct table_column columns[] = {
    {TABLE_QUOTED("id", struct band_vote, id)},
    {TABLE_QUOTED("source", struct band_vote, source)},
    {TRAIT("gpu", gpu)},
    {TRAIT("architecture", architecture)},
    {TRAIT("framework", framework)},
    {TRAIT("precision", precision)},
    {TABLE_COLUMN("kind", TABLE_SWITCH_KIND, bool, struct band_vote, traits.is_mixture),
     .word = kind_name, .word_count = 2, .wrong = "kind '%s' is none of a model"},
    {SIZE("gpus", gpus)},
    {SIZE("hidden", hidden)},
    {SIZE("seq_len", sequence_length)},
    {NUMBER("gbps_per_node", traits.network_bytes_per_s, 1e-3, "%.6g"), .unit = BYTES_PER_GBPS,
     .is_optional = true},
    {TRAIT("fabric", fabric)},
    {TRAIT("routing", routing)},
    {NUMBER("oversubscription", traits.oversubscription, 1, "%.6g")},
    {NUMBER("launch_share", traits.launch_share, 0, "%.4f"), .is_optional = true, .blank = ABSENT},
    {NUMBER("predicted_step_s", traits.step_s, 1e-9, "%.5g"), .is_optional = true, .blank = ABSENT},
    {NUMBER("measured_over_predicted", ratio, 1e-6, "%.4f")},
};

static const struct table_file votes_file = {
    TABLE_FILE(struct band_vote, columns),
    .remedy = "`stoker-lab validate FILE.csv --errors OUT.csv` writes the file anew"};

bool band_read(struct arena *arena, const char *path, struct band_votes *votes, struct diag *diag)
{
    void *items = NULL;
    const struct published_table *table = table_file_read(arena, path, &votes_file, &items, diag);
    if (table != NULL) {
        *votes = (struct band_votes){.items = items, .count = table->row_count};
    }
    return table != NULL;
}

bool band_write(struct arena *arena, const char *path, const struct band_votes *votes,
                struct diag *diag)
{
    return table_file_save(arena, path, &votes_file, votes->items, votes->count, diag);
}
