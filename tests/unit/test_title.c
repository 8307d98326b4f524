/* Titles of scenarios and studies of which something beside the file makes another. */
#include "input/study/title.h"

#include "base/arena.h"
#include "base/diag.h"
#include "support/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LAYOUT                                                                      \
    "software: megatron-2024\nprecision: bf16\nparallel: {tp: 8, pp: 1, zero: 3}\n" \
    "batch: {global: 512, micro: 1, sequence_length: 4096}\nrecompute: full\n"

static const char *text_of(struct arena *arena, const char *title)
{
    return arena_printf(arena, "scenario: %s\nmodel: llama3-8b\ncluster: h100-3200\ngpus: 64\n%s",
                        title, LAYOUT);
}

static const char *follow(struct arena *arena, const char *title, const char *set)
{
    return fixture_scenario(arena, &(struct fixture_source){.text = text_of(arena, title),
                                                            .sets = &set,
                                                            .set_count = set != NULL})
        ->title;
}

/* Whoever sets a title means it, also the one that the file has. */
static void a_title_that_is_set_stands(void **state)
{
    (void)state;
    static const char *const sets[] = {"cluster=b200-3200", "scenario='Llama 3 8B on 64 H100'"};
    struct arena *arena = arena_new();
    const char *text = text_of(arena, "Llama 3 8B on 64 H100");
    assert_string_equal(
        fixture_scenario(arena,
                         &(struct fixture_source){.text = text, .sets = sets, .set_count = 2})
            ->title,
        "Llama 3 8B on 64 H100");
    arena_free(arena);
}

/* Each fact that a title names and that is another one replaces it by what `stoker new` writes: the
 * model by its name or its size, GPUs by their number, their kind by a word of its own. What it
 * does not name may be anything, and what still holds is no reason: another network of the same
 * GPUs, the number that was there before, B200 in a title of GB200. */
static void a_title_that_names_another_thing_is_generated(void **state)
{
    (void)state;
    static const struct {
        const char *title, *set, *expected; /* NULL: it stays */
    } rows[] = {
        {"Llama 3 8B on 64 H100", NULL, NULL},
        {"Llama 3 8B on 64 H100", "cluster=b200-3200", "Llama 3.1 8B on 64 NVIDIA B200 SXM 180 GB"},
        {"Llama 3 8B on 64 H100", "gpu=h200-sxm-141gb",
         "Llama 3.1 8B on 64 NVIDIA H200 SXM 141 GB"},
        {"Llama 3 8B on 64 H100", "gpus=128", "Llama 3.1 8B on 128 NVIDIA H100 SXM5 80 GB"},
        {"Llama 3 8B on 64 H100", "model=llama3-70b", "Llama 3.1 70B on 64 NVIDIA H100 SXM5 80 GB"},
        {"our 8B", "model=llama3-70b", "Llama 3.1 70B on 64 NVIDIA H100 SXM5 80 GB"},
        {"Llama 3 8B on 64 H100", "gpus=64", NULL},
        {"Llama 3 8B on 64 H100", "cluster=h100-400", NULL},
        {"Llama 3 8B on 64 H100", "batch.global=1024", NULL},
        {"Llama 3 8B on 64 H100", "scenario=mine", "mine"},
        {"what to buy", "cluster=b200-3200", NULL},
        {"64 or 128 GPUs", "gpus=128", NULL},
        {"run 164, H1001", "gpus=128", NULL},
        {"run 164, H1001", "cluster=b200-3200", NULL},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *expected = rows[i].expected != NULL ? rows[i].expected : rows[i].title;
        assert_string_equal(follow(arena, rows[i].title, rows[i].set), expected);
    }
    arena_free(arena);
}

/* What a file holds whole, and no name of, is not held against its title. */
static void what_has_no_name_is_not_compared(void **state)
{
    (void)state;
    struct arena *arena = arena_new();
    struct fixture_source source = {.text = text_of(arena, "Llama 3 8B on 64 H100")};
    const struct scenario *scenario = fixture_scenario(arena, &source);
    source.text = scenario->resolved_text;
    assert_string_equal(fixture_scenario(arena, &source)->title, "Llama 3 8B on 64 H100");
    arena_free(arena);
}

/* A study's points differ by its axes: the title names what they have in common. Axes of the file
 * are what its author wrote the title for. */
static void a_study_is_named_by_what_its_points_share(void **state)
{
    (void)state;
    static const struct {
        const char *sweep, *set, *expected;
    } rows[] = {
        {NULL, NULL, "Llama 3 8B on 64 H100"},
        {"sweep.gpus=[64, 128]", NULL, "llama3-8b on GPUs of h100-3200"},
        {"sweep.cluster=[h100-400, b200-3200]", NULL, "llama3-8b on 64 GPUs of several clusters"},
        {"sweep.cluster=[h100-400, h100-800]", NULL, "Llama 3 8B on 64 H100"},
        {"sweep.batch.micro=[1, 2]", "gpus=1024", "llama3-8b on 1,024 GPUs of h100-3200"},
        {"sweep.gpus=[64, 128]", "scenario='a: b'", "a: b"},
    };
    struct arena *arena = arena_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *text = text_of(arena, "Llama 3 8B on 64 H100");
        struct diag *diag = diag_new(arena);
        struct doc_node *document = doc_parse(arena, "own.yaml", text, strlen(text), diag);
        assert_non_null(document);
        assert_true(rows[i].sweep == NULL || doc_set(arena, document, rows[i].sweep, diag));
        const char *const sets[] = {rows[i].set};
        assert_string_equal(title_of_study(arena, document, sets, rows[i].set != NULL),
                            rows[i].expected);
    }
    const char *text =
        arena_printf(arena, "%ssweep: {gpus: [64, 128]}\n", text_of(arena, "8B on 64 H100"));
    const struct doc_node *own = doc_parse(arena, "own.yaml", text, strlen(text), diag_new(arena));
    assert_string_equal(title_of_study(arena, own, NULL, 0), "8B on 64 H100");
    const char *const set = "model=llama3-70b";
    assert_string_equal(title_of_study(arena, own, &set, 1), "llama3-70b on GPUs of h100-3200");
    text = arena_printf(arena, "%svariants: [{name: b, set: {cluster: b200-3200}}]\n",
                        text_of(arena, "8B on 64 H100"));
    own = doc_parse(arena, "own.yaml", text, strlen(text), diag_new(arena));
    assert_string_equal(title_of_study(arena, own, &set, 1),
                        "llama3-70b on 64 GPUs of several clusters");
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_title_that_names_another_thing_is_generated),
        cmocka_unit_test(a_title_that_is_set_stands),
        cmocka_unit_test(what_has_no_name_is_not_compared),
        cmocka_unit_test(a_study_is_named_by_what_its_points_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
