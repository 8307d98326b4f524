/* bands/differences: the kinds of difference between two scenarios, and what no kind explains. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "input/scenario_keys.h"
#include "bands/differences.h"
#include "support/fixture.h"

/* "kinds | keys that none explains" of quickstart with both sets and quickstart with the first.
 * Settings are parted by ';'. */
static const char *told(struct arena *arena, const char *path, const char *settings)
{
    const char *sets[8];
    uint32_t count = 0;
    while (*settings != '\0') {
        const size_t length = strcspn(settings, ";");
        sets[count++] = arena_strndup(arena, settings, length);
        settings += length + (settings[length] == ';' ? 1 : 0);
    }
    const struct scenario *a = fixture_scenario(arena, &(struct fixture_source){.path = path});
    const struct scenario *b = fixture_scenario(
        arena, &(struct fixture_source){.path = path, .sets = sets, .set_count = count});
    const struct differences found = differences_of(arena, a, b, NULL);
    const char *text = "";
    for (uint32_t i = 0; i < found.axis_count; i++) {
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? "; " : "", axis_get(found.axes[i]).name);
    }
    for (uint32_t i = 0; i < found.unmeasured_count; i++) {
        text = arena_printf(arena, "%s%s%s", text, i > 0 ? ", " : " | ", found.unmeasured[i]);
    }
    return text;
}

/* Quickstart: Llama 3 8B on 64 H100 (h100-3200), megatron-2024, bf16, tp 2, batch 256 x 8192. */
static void kinds_explain_the_keys_that_differ(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {"price.gpu_hour=7 USD;seed=3;run.tokens=2T", ""}, /* no step moves */
        {"parallel.cp=1;recompute=none", ""},              /* the defaults, written */
        {"cluster.network=400 Gbps", "network"},
        {"parallel.tp=4", "layout"},
        {"parallel.tp=4;batch.micro=2", "layout + micro-batch"},
        {"batch.micro=2", "micro-batch"},
        {"gpus=128;batch.global=512", "scale, weak"},
        {"gpus=128", "scale, strong"},
        {"gpus=128;batch.global=1024", "scale, strong; global batch"},
        {"batch.sequence_length=4096;batch.global=512", "sequence length"},
        {"recompute=full", "recompute"},
        {"precision=fp8", "precision"},
        {"precision=fp8;parallel.tp=4;cluster.network=400 Gbps", "precision; layout; network"},
        {"cluster=b200-3200", "gpu kind"},
        {"cluster=b200-3200;gpus=32;batch.global=128;parallel.tp=1", "gpu kind"},
        /* too far apart for one kind: the size is one of its own */
        {"cluster=b200-3200;gpus=1024;batch.global=4096", "gpu kind; scale, weak"},
        {"software=megatron-2026", "release"},
        {"software.overlap.dp_gradients=false", "feature"},
        {"optimizer.rule=sgd", " | optimizer.rule"},
        {"optimizer.rule=sgd;parallel.tp=4", "layout | optimizer.rule"},
        {"cluster.fabric.oversubscription=2", " | cluster.fabric.oversubscription"},
        {"model=llama3-70b;parallel.tp=8", "layout | "},
        /* what an ideal settles is no difference of its own, though files write it */
        {"ideal.network=true", "network"},
        {"ideal.network=true;parallel.tp=4", "layout; network"},
        {"ideal.scale_up=true", " | ideal.scale_up"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *arena = arena_new();
        const char *text = told(arena, "scenarios/quickstart.yaml", cases[i][0]);
        const size_t length = strlen(cases[i][1]);
        const bool is_open = length > 2 && cases[i][1][length - 1] == ' '; /* more may follow */
        if (is_open ? strncmp(text, cases[i][1], length) != 0 : strcmp(text, cases[i][1]) != 0) {
            fail_msg("%s: '%s' and not '%s'", cases[i][0], text, cases[i][1]);
        }
        arena_free(arena);
    }
}

/* A key that the table lacks would count as one that no runs differ in, and nobody would know. */
static void every_key_has_a_row_in_the_table(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    for (const struct scenario_part *part = scenario_parts; part->schema != NULL; part++) {
        for (uint32_t i = 0; i < part->schema->count; i++) {
            uint32_t column = 0;
            const char *key =
                arena_printf(arena, "%s%s", part->schema->prefix, part->schema->rows[i].path);
            if (!schema_has_inner(part->schema, &part->schema->rows[i]) &&
                differences_effect(key, &column) == DIFFERENCE_UNKNOWN) {
                fail_msg("%s is in no row of sim/bands/differences.c", key);
            }
        }
    }
    uint32_t column = 0;
    assert_int_equal(differences_effect("no.such.key", &column), DIFFERENCE_UNKNOWN);
    assert_int_equal(differences_effect("batch.micro", &column), DIFFERENCE_COLUMN);
    assert_string_equal(axis_columns[column], "micro_batch");
    assert_int_equal(differences_effect("price.pue", &column), DIFFERENCE_NONE);
    assert_int_equal(differences_effect("jobs", &column), DIFFERENCE_UNMEASURED);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_explain_the_keys_that_differ),
        cmocka_unit_test(every_key_has_a_row_in_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
