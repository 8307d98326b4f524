/* What published_rules takes (measured/published), and what published_reading makes of a row by it.
 */
#include "measured/published/published_reading.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/path.h"
#include "support/temporary.h"

struct world {
    struct arena *arena;
    struct diag *diag;
    const char *directory;
};

static struct world world_new(void)
{
    struct arena *arena = arena_new();
    return (struct world){arena, diag_new(arena), temporary_new(arena)};
}

static void world_free(struct world *world)
{
    temporary_remove(world->directory);
    arena_free(world->arena);
}

/* A catalogue that holds these rules alone. */
static const struct published_rules *load(struct world *world, const char *text)
{
    const char *path = arena_printf(world->arena, "%s/" PUBLISHED_RULES_FILE, world->directory);
    assert_true(path_make_directories(world->arena, path, world->diag));
    temporary_write(path, text);
    const struct catalogue catalogue = {.directories = {world->directory}, .count = 1};
    return published_rules_load(world->arena, &catalogue, world->diag);
}

/* Entries of `rules` alone, with a source. */
static const struct published_rules *rules_of(struct world *world, const char *entries)
{
    return load(world, arena_printf(world->arena, "blanks: []\nrules:\n%s", entries));
}

/* What rules set in a table of one row, "a=1 b=2". */
static const char *sets_of(struct world *world, const struct published_rules *rules,
                           const char *columns, const char *row)
{
    const char *path = arena_printf(world->arena, "%s/rows.csv", world->directory);
    temporary_write(path, arena_printf(world->arena, "%s\n%s\n", columns, row));
    const struct published_table *table = published_load(world->arena, path, world->diag);
    if (rules == NULL || table == NULL) {
        diag_print(world->diag, stderr);
    }
    assert_non_null(rules);
    assert_non_null(table);
    const struct published_reading *reading = published_read(world->arena, table, 0, rules);
    const char *text = "";
    for (uint32_t i = 0; i < reading->set_count; i++) {
        text = arena_printf(world->arena, "%s%s%s", text, i == 0 ? "" : " ", reading->sets[i].text);
    }
    return text;
}

/* One rule that sets seed=1: whether it fits. */
static bool fits(const char *when, const char *column, const char *says)
{
    struct world world = world_new();
    const struct published_rules *rules = rules_of(
        &world, arena_printf(world.arena, "  - {when: {%s: %s}, set: [seed=1], source: a/b}\n",
                             column, when));
    const char *header = arena_printf(world.arena, "id,%s", column);
    const char *text = sets_of(&world, rules, header, arena_printf(world.arena, "x,%s", says));
    const bool is_fit = strcmp(text, "seed=1") == 0;
    assert_true(is_fit || text[0] == '\0');
    world_free(&world);
    return is_fit;
}

static void each_kind_of_condition_fits_what_it_says(void **state)
{
    (void)state;
    assert_true(fits("DGXC", "model_name", "DGXC"));
    assert_false(fits("DGXC", "model_name", "DGXC 2"));
    assert_true(fits("DGXC*", "model_name", "DGXC 2"));
    assert_false(fits("dgxc*", "model_name", "DGXC 2"));
    assert_true(fits("''", "model_name", ""));
    assert_false(fits("'*'", "model_name", ""));
    assert_true(fits("'*'", "model_name", "any"));
    assert_true(fits("[a, b]", "model_name", "b"));
    assert_true(fits("false", "cuda_graph", "No"));
    assert_false(fits("false", "cuda_graph", ""));
    assert_true(fits("2..", "pp", "2"));
    assert_false(fits("2..", "pp", "1"));
    assert_true(fits("..2022", "framework_year", "2022"));
    assert_false(fits("..2022", "framework_year", ""));
    assert_true(fits("8", "tp", "8"));
    assert_true(fits("'ETP [0-9]+'", "notes", "so: ETP 12."));
    assert_false(fits("'^ETP'", "notes", "so: ETP 12."));
    assert_true(fits("moe", "cuda_graph_scope", "attn+moe"));
    assert_false(fits("moe", "cuda_graph_scope", "attn+moe_router"));
}

/* A row that only names its model has that model's experts and sinks once a rule has set it; one
 * that describes its model has its columns'. */
static void rules_see_what_a_named_model_has(void **state)
{
    (void)state;
    struct world world = world_new();
    const struct published_rules *rules =
        rules_of(&world, "  - {when: {model_experts: 1..}, set: [seed=1], source: a/b}\n"
                         "  - {when: {hidden: ''}, set: [model=$model_name], source: a/b}\n"
                         "  - {when: {model_experts: 32}, set: [parallel.ep=8], source: a/b}\n"
                         "  - {when: {model_sinks: 1}, set: [parallel.cp=2], source: a/b}\n");
    const char *path = arena_printf(world.arena, "%s/models/llms/some.yaml", world.directory);
    assert_true(path_make_directories(world.arena, path, world.diag));
    temporary_write(path, "model: some\nlayers: 2\nhidden: 64\nffn_hidden: 64\nheads: 2\n"
                          "kv_heads: 2\nvocab: 64\nmax_positions: 64\nmlp: swiglu\n"
                          "norm: rmsnorm\npositions: rotary\nbiases: false\n"
                          "tied_embeddings: false\nembedding_norm: false\ndropout: false\n"
                          "sinks: true\nexperts: 32\nexperts_per_token: 2\nexpert_hidden: 64\n");
    static const char columns[] = "id,model_name,hidden,experts";
    assert_string_equal(sets_of(&world, rules, columns, "x,some,,"),
                        "model=some parallel.ep=8 parallel.cp=2");
    assert_string_equal(sets_of(&world, rules, columns, "x,other,,"), "model=other");
    assert_string_equal(sets_of(&world, rules, columns, "x,some,64,32"), "seed=1 parallel.ep=8");
    world_free(&world);
}

/* 25.11 is before 26.02; a release of another series is not compared. */
static void releases_are_compared_within_their_series(void **state)
{
    (void)state;
    assert_true(fits("25.11..26.02", "release", "25.11"));
    assert_true(fits("25.11..26.02", "release", "26.02"));
    assert_false(fits("25.11..26.02", "release", "26.04"));
    assert_true(fits("v5.0..", "release", "v5.1"));
    assert_false(fits("4.0..", "release", "v5.1"));
    assert_false(fits("25.11..", "release", "2024-03"));
}

/* 'model=x' forgets model.layers, and is not forgotten by it. */
static void later_rules_win_with_all_that_is_below_their_key(void **state)
{
    (void)state;
    struct world world = world_new();
    const struct published_rules *rules =
        rules_of(&world, "  - {set: [model.layers=2, seed=1], source: a/b}\n"
                         "  - {set: [model=mpt-7b, seed=2], source: a/b}\n"
                         "  - {set: [model.layers=3], source: a/b}\n");
    assert_string_equal(sets_of(&world, rules, "id", "x"), "model=mpt-7b seed=2 model.layers=3");
    world_free(&world);
}

static void assignments_take_captures_and_columns_and_are_left_out_where_these_are_blank(
    void **state)
{
    (void)state;
    struct world world = world_new();
    const struct published_rules *rules = rules_of(
        &world, "  - when: {notes: 'ETP ([0-9]+)(x?)'}\n"
                "    set: [parallel.etp=$1, parallel.ep=$2, parallel.tp=$tp, parallel.pp=$pp]\n"
                "    source: a/b\n"
                "  - {set: ['model.tied_embeddings=$tied_embeddings'], source: a/b}\n");
    assert_string_equal(sets_of(&world, rules, "id,tp,pp,tied_embeddings,notes", "x,8,,yes,ETP 4"),
                        "parallel.etp=4 parallel.tp=8 model.tied_embeddings=true");
    world_free(&world);
}

/* Of keys that no rule sets, and of others. */
static void what_a_row_sets_itself_goes_before_all_rules(void **state)
{
    (void)state;
    struct world world = world_new();
    const struct published_rules *rules =
        rules_of(&world, "  - {set: [model.layers=2, seed=1, gpus=8], source: a/b}\n");
    assert_string_equal(
        sets_of(&world, rules, "id,set", "x,\"model={layers: 4, hidden: 8}; seed=2 ;\""),
        "gpus=8 model={layers: 4, hidden: 8} seed=2");
    world_free(&world);
}

/* Words first, then blanks in order, each seeing what those before it filled. */
static void a_blank_is_filled_once_and_a_stated_field_never(void **state)
{
    (void)state;
    struct world world = world_new();
    const struct published_rules *rules = load(
        &world, "words: {framework: {NeMo: megatron}, recompute_modules: {moe_act: activation}}\n"
                "blanks:\n"
                "  - {fill: {zero_stage: 1, tp: 2}, source: a/b}\n"
                "  - {when: {framework: megatron, tp: 2}, fill: {zero_stage: 0}, source: a/b}\n"
                "rules:\n"
                "  - {set: ['recompute={modules: [$recompute_modules]}'], source: a/b}\n"
                "  - {set: [parallel.zero=$zero_stage, parallel.tp=$tp], source: a/b}\n");
    assert_string_equal(
        sets_of(&world, rules, "id,framework,recompute_modules", "x,nemo,mlp+moe_act"),
        "recompute={modules: [mlp, activation]} parallel.zero=0 parallel.tp=2");
    assert_string_equal(sets_of(&world, rules, "id,framework,zero_stage,tp", "x,nemo,3,2"),
                        "parallel.zero=3 parallel.tp=2");
    world_free(&world);
}

/* Of three assignments of two rules that set what is at or below 'recompute', one is what a column
 * means: that stays unless it is asked for, and what else such an entry sets stays always. */
static void rules_are_left_out_by_what_they_set(void **state)
{
    (void)state;
    struct world world = world_new();
    const struct published_rules *rules =
        rules_of(&world, "  - {set: [recompute=none], source: tests/published/README.md}\n"
                         "  - {set: [recompute.layers=2, seed=1], source: a/b}\n"
                         "  - {set: [recompute=full, recomputed=1], source: a/b}\n");
    assert_null(rules); /* 'recomputed' is no key */
    rules = rules_of(&world, "  - {set: [recompute=none], source: tests/published/README.md}\n"
                             "  - {set: [recompute.layers=2, seed=1], source: a/b}\n"
                             "  - {set: [recompute=full, gpus=8], source: a/b}\n");
    assert_string_equal(sets_of(&world, rules, "id", "x"), "seed=1 recompute=full gpus=8");
    static const char *const names[] = {"recompute"};
    struct published_keys keys = {names, 1, false};
    uint32_t dropped;
    const struct published_rules *fewer =
        published_rules_without(world.arena, rules, &keys, &dropped);
    assert_int_equal(dropped, 2);
    assert_string_equal(sets_of(&world, fewer, "id", "x"), "recompute=none seed=1 gpus=8");
    keys.has_columns = true;
    fewer = published_rules_without(world.arena, rules, &keys, &dropped);
    assert_int_equal(dropped, 3);
    assert_string_equal(sets_of(&world, fewer, "id", "x"), "seed=1 gpus=8");
    world_free(&world);
}

/* Of the day: a rule whose source came later than the row is none, one without a month always
 * was. */
static void a_row_of_its_day_has_no_later_rules(void **state)
{
    (void)state;
    struct world world = world_new();
    const struct published_rules *rules =
        rules_of(&world, "  - {set: [seed=1], known: 2025-06, source: a/b}\n"
                         "  - {set: [gpus=8], source: a/b}\n");
    const struct published_rules *dated = published_rules_of_the_day(world.arena, rules);
    static const char *const rows[][2] = {
        {"x,2025-05", "gpus=8"}, {"x,2025-06", "seed=1 gpus=8"}, {"x,2025-07", "seed=1 gpus=8"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(sets_of(&world, rules, "id,published", rows[i][0]), "seed=1 gpus=8");
        assert_string_equal(sets_of(&world, dated, "id,published", rows[i][0]), rows[i][1]);
    }
    assert_null(rules_of(&world, "  - {set: [seed=1], known: last year, source: a/b}\n"));
    world_free(&world);
}

/* The router and what prepares tokens for it are captured as one: keys have one word for both. */
static void words_that_mean_the_same_are_written_once(void **state)
{
    (void)state;
    struct world world = world_new();
    const struct published_rules *rules =
        load(&world, "words: {cuda_graph_scope: {attn: attention, moe_router: router, "
                     "moe_preprocess: router}}\n"
                     "blanks: []\n"
                     "rules:\n"
                     "  - {set: ['software.host.graphs=[$cuda_graph_scope]'], source: a/b}\n");
    assert_string_equal(
        sets_of(&world, rules, "id,cuda_graph_scope", "x,moe_router+moe_preprocess+attn"),
        "software.host.graphs=[router, attention]");
    world_free(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_of_condition_fits_what_it_says),
        cmocka_unit_test(rules_see_what_a_named_model_has),
        cmocka_unit_test(releases_are_compared_within_their_series),
        cmocka_unit_test(words_that_mean_the_same_are_written_once),
        cmocka_unit_test(later_rules_win_with_all_that_is_below_their_key),
        cmocka_unit_test(
            assignments_take_captures_and_columns_and_are_left_out_where_these_are_blank),
        cmocka_unit_test(what_a_row_sets_itself_goes_before_all_rules),
        cmocka_unit_test(a_blank_is_filled_once_and_a_stated_field_never),
        cmocka_unit_test(rules_are_left_out_by_what_they_set),
        cmocka_unit_test(a_row_of_its_day_has_no_later_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
