/* Plots: what is in the files, that gnuplot draws them, and that no text of a
 * user's is ever run. Without gnuplot, that data and script are written and the
 * message says what to install. */
#include "report/plot/plot.h"

#include "base/absent.h"
#include "base/arena.h"
#include "report/plot/gnuplot.h"
#include "report/plot/plot_data.h"
#include "report/plot/plot_labels.h"
#include "support/temporary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "store/store.h"
#include "support/assert_close.h"

#define ROWS 12

struct world {
    struct arena *arena;
    struct diag *diag;
    const char *directory;
    struct store_row rows[ROWS];
    struct plot_series series;
    struct plot_request request;
};

static void add_axis(struct store_row *row, const char *name, const char *text, double value)
{
    const uint32_t axis = row->axis_count++;
    snprintf(row->axes[axis], sizeof row->axes[axis], "%s", name);
    snprintf(row->value_texts[axis], sizeof row->value_texts[axis], "%s", text);
    row->values[axis] = value;
}

/* Four bandwidths (100 to 800 Gbps) by three microbatches (1, 2, 4); the step
 * takes 1 s of compute, and 100 s / Gbps of exposed DP. MFU 50 % of compute's share. */
static void fill_rows(struct world *world)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        struct store_row *row = &world->rows[i];
        const uint32_t gbps = 100u << (i / 3);
        const uint32_t micro = 1u << (i % 3);
        *row = (struct store_row){
            .number = i, .status = POINT_OK, .has_run = true, .memory_fits = true, .gpus = 8};
        row->breakdown_s[CAUSE_COMPUTE] = 1;
        row->breakdown_s[CAUSE_EXPOSED_DP] = 100.0 / gbps;
        row->step_s = 1 + 100.0 / gbps;
        row->mfu = 0.5 / row->step_s;
        row->wall_clock_days = 10 * row->step_s;
        row->cost_usd = 1e6 * row->step_s;
        char text[64];
        snprintf(text, sizeof text, "%u Gbps", gbps);
        add_axis(row, "cluster.nics.bandwidth", text, gbps * 1e9 / 8);
        snprintf(text, sizeof text, "%u", micro);
        add_axis(row, "batch.micro", text, micro);
        snprintf(row->label, sizeof row->label, "%u Gbps, micro %u", gbps, micro);
    }
    world->rows[0].status = POINT_INFEASIBLE;
    world->rows[0].memory_fits = false;
    world->rows[1].status = POINT_INFEASIBLE;
    world->rows[1].has_run = false;
    snprintf(world->rows[1].message, 256, "tp 6 does not divide 64 heads");
}

static int make_world(void **state)
{
    struct arena *arena = arena_new();
    struct world *world = arena_alloc(arena, sizeof *world);
    world->arena = arena;
    world->diag = diag_new(arena);
    world->directory = temporary_new(arena);
    fill_rows(world);
    world->series = (struct plot_series){.title = "H100", .rows = world->rows, .count = ROWS};
    world->request =
        (struct plot_request){.kind = "lines",
                              .metric = "mfu",
                              .title = "How much network?",
                              .path_base = arena_printf(arena, "%s/fabric", world->directory),
                              .series = &world->series,
                              .series_count = 1};
    *state = world;
    return 0;
}

static int end_world(void **state)
{
    struct world *world = *state;
    temporary_remove(world->directory);
    arena_free(world->arena);
    return 0;
}

static bool has_gnuplot(void)
{
    const char *path = getenv("PATH");
    char file[4096];
    while (path != NULL && *path != '\0') {
        const size_t length = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/gnuplot", (int)length, path);
        if (access(file, X_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':' ? 1 : 0);
    }
    return false;
}

/* Draws; without gnuplot, only checks the message. False when there is no picture to look at. */
static bool draw(struct world *world)
{
    const bool is_drawn = plot_draw(world->arena, &world->request, world->diag);
    if (has_gnuplot()) {
        if (!is_drawn) {
            diag_print(world->diag, stderr);
        }
        assert_true(is_drawn);
        return true;
    }
    assert_false(is_drawn);
    assert_non_null(strstr(diag_first_error(world->diag), "gnuplot is not installed"));
    return false;
}

static const char *text_of(const struct world *world, const char *suffix)
{
    const char *path = plot_path(world->arena, world->request.path_base, suffix);
    const char *text = temporary_read(world->arena, path);
    if (text == NULL) {
        fail_msg("%s is missing", path);
    }
    return text;
}

#define assert_holds(text, part)                         \
    do {                                                 \
        if (strstr(text, part) == NULL) {                \
            fail_msg("'%s' is not in:\n%s", part, text); \
        }                                                \
    } while (0)

static uint32_t lines_in(const char *text)
{
    uint32_t lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

/* ---- each kind -------------------------------------------------------------------- */

/* 18 apart: 12 goes up to 28, 100 has room. Below 110: 105 would go to 118, so 110; 100 to 92. */
static void names_on_a_line_are_moved_apart_and_stay_below_its_top(void **state)
{
    struct world *world = *state;
    double places[] = {100, 12, 10};
    plot_labels_spread(world->arena, places, 3, 18, 110);
    assert_close(places[2], 10, 1e-12);
    assert_close(places[1], 28, 1e-12);
    assert_close(places[0], 100, 1e-12);
    double high[] = {105, 100};
    plot_labels_spread(world->arena, high, 2, 18, 110);
    assert_close(high[0], 110, 1e-12);
    assert_close(high[1], 92, 1e-12);
}

static void every_kind_is_drawn_as_svg_and_png(void **state)
{
    struct world *world = *state;
    uint32_t count = 0;
    const char *const *kinds = plot_kinds(&count);
    assert_int_equal(count, 7);
    for (uint32_t i = 0; i < count; i++) {
        world->request.kind = kinds[i];
        world->request.path_base = arena_printf(world->arena, "%s/%s", world->directory, kinds[i]);
        world->diag = diag_new(world->arena);
        if (draw(world)) {
            assert_holds(text_of(world, ".svg"), "How much network?");
            assert_memory_equal(text_of(world, ".png"), "\x89PNG", 4);
            assert_int_equal(diag_exit_status(world->diag), 0);
        }
        assert_int_equal(access(plot_path(world->arena, world->request.path_base, ".csv"), R_OK),
                         0);
        assert_int_equal(access(plot_path(world->arena, world->request.path_base, ".gp"), R_OK), 0);
        assert_int_equal(access(plot_path(world->arena, world->request.path_base, ".log"), F_OK),
                         -1);
    }
}

static void every_metric_can_be_drawn(void **state)
{
    struct world *world = *state;
    uint32_t count = 0;
    const char *const *metrics = store_metric_names(&count);
    for (uint32_t i = 0; i < count; i++) {
        const struct figure_metric *metric = store_metric_find(metrics[i]);
        assert_non_null(metric);
        assert_string_equal(metric->name, metrics[i]);
        struct store_row row = world->rows[5];
        const double value = 2;
        memcpy((char *)&row + metric->offset, &value, sizeof value);
        assert_close(plot_metric_value(metric, &row), 2 * metric->factor, 0);
    }
    assert_null(store_metric_find("mfuu"));
}

static void lines_have_a_row_per_point_in_displayed_units(void **state)
{
    /* 800 Gbps (1e11 bytes/s): step 1.125 s, MFU 50 / 1.125 = 44.44444444 %. */
    struct world *world = *state;
    const bool is_drawn = draw(world);
    const char *csv = text_of(world, ".csv");
    assert_int_equal(lines_in(csv), ROWS + 1);
    assert_holds(csv, "line,x_index,x,mfu_percent,winner,misses,line_title,mark,x_label,");
    assert_holds(
        csv, "\"MFU, %\",\"How much network?\",\"-\",\"8 GPUs; ringed: the best at each place\"");
    assert_holds(csv, "3,800,44.44444444,2,0,\"micro 1\",\"-\",\"800\"");
    assert_holds(csv, "\"out of memory\"");
    assert_holds(csv, "\"does not divide\"");
    assert_holds(text_of(world, ".gp"), "set logscale x 2");
    if (is_drawn) {
        const char *svg = text_of(world, ".svg");
        assert_holds(svg, ">network bandwidth, Gbps per NIC<");
        assert_holds(svg, ">MFU, %<");
        assert_holds(svg, ">400<");
        assert_holds(svg, ">micro 4<");
        assert_holds(svg, ">out of memory <");
        assert_holds(svg, ">1 of 3<"); /* of three lines */
    }
}

static void words_on_an_axis_keep_their_order(void **state)
{
    struct world *world = *state;
    static const char *const clusters[] = {"v100-100", "h100-400", "a100-80gb-400"};
    for (uint32_t i = 0; i < 3; i++) {
        world->rows[i] = world->rows[5];
        world->rows[i].axis_count = 0;
        add_axis(&world->rows[i], "cluster", clusters[i], ABSENT);
    }
    world->series.count = 3;
    const bool is_drawn = draw(world);
    const char *csv = text_of(world, ".csv");
    assert_holds(csv, "0,1,1,33.33333333,0,0,\"-\",\"-\",\"h100-400\"");
    assert_null(strstr(text_of(world, ".gp"), "logscale"));
    if (is_drawn) {
        assert_holds(text_of(world, ".svg"), ">a100-80gb-400<");
    }
}

static void causes_stack_to_the_step_with_its_total_above(void **state)
{
    struct world *world = *state;
    world->request.kind = "causes";
    const bool is_drawn = draw(world);
    const char *csv = text_of(world, ".csv");
    /* Row 3, 200 Gbps: 1.5 s, of which compute 1 and exposed DP 0.5; MFU 33.3 %. */
    assert_holds(csv, "3,1.5,33.33333333,0,1,0,0,0,0,0,0,0,0,0.5,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
                      "\"200 Gbps, micro 1\"");
    if (is_drawn) {
        const char *svg = text_of(world, ".svg");
        assert_holds(svg, ">compute<");
        assert_holds(svg, ">exposed DP communication<");
        assert_holds(svg, ">  1.50 s  33.3 %  0<");
        assert_null(strstr(svg, "pipeline bubble")); /* no bar has one */
    }
}

static void the_same_cause_has_one_colour_and_no_two_share_it(void **state)
{
    struct world *world = *state;
    world->request.kind = "causes";
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        world->rows[3].breakdown_s[cause] = 0.1;
    }
    draw(world);
    const char *script = text_of(world, ".gp");
    char colours[CAUSE_COUNT_][8];
    for (uint32_t cause = 0; cause < CAUSE_COUNT_; cause++) {
        char key[64];
        snprintf(key, sizeof key,
                 "column('%s_s')):(column('bar')-0.37*THICK):", cause_names[cause]);
        const char *place = strstr(script, key);
        assert_non_null(place);
        static const char fill[] = "fc rgb '";
        place = strstr(place, fill);
        assert_non_null(place);
        snprintf(colours[cause], sizeof colours[cause], "%.7s", place + strlen(fill));
        for (uint32_t other = 0; other < cause; other++) {
            assert_string_not_equal(colours[cause], colours[other]);
        }
    }
    assert_string_equal(colours[CAUSE_COMPUTE], "#0072B2"); /* Okabe and Ito's blue */
}

/* Rows of the CSV whose column `number`, from 0, is 1. */
static uint32_t ones_in(const char *csv, uint32_t number)
{
    uint32_t ones = 0;
    for (const char *row = strchr(csv, '\n'); row != NULL && row[1] != '\0';
         row = strchr(row + 1, '\n')) {
        const char *field = row + 1;
        for (uint32_t i = 0; i < number; i++) {
            field = strchr(field, ',') + 1;
        }
        ones += strncmp(field, "1,", 2) == 0;
    }
    return ones;
}

/* Fewer days cost less too, and a larger microbatch costs more: only 800 Gbps with micro 1 is not
 * beaten. */
static void dollars_mark_what_nothing_beats(void **state)
{
    struct world *world = *state;
    world->request.kind = "dollars";
    for (uint32_t i = 0; i < ROWS; i++) {
        world->rows[i].cost_usd *= 1 + i % 3;
    }
    const bool is_drawn = draw(world);
    const char *csv = text_of(world, ".csv");
    assert_int_equal(lines_in(csv), ROWS - 2 + 1); /* two points have no prediction */
    assert_holds(csv,
                 "series,cost_million_usd,days,side,is_best,misses,label,series_title,plot_title");
    assert_holds(csv, "0,1.125,11.25,");
    assert_int_equal(ones_in(csv, 4), 1);
    if (is_drawn) {
        assert_holds(text_of(world, ".svg"), ">cost, million USD<");
    }
}

/* Costs that are days times a constant leave nothing to weigh: bars, the shortest first. */
static void dollars_of_one_price_are_ranked(void **state)
{
    struct world *world = *state;
    world->request.kind = "dollars";
    const bool is_drawn = draw(world);
    const char *csv = text_of(world, ".csv");
    assert_int_equal(lines_in(csv), ROWS - 2 + 1);
    assert_holds(csv, "\n0,11.25,1125000,0,\"800 Gbps, micro 1\"");
    assert_holds(csv, "\n9,20,2000000,0,\"100 Gbps, micro 4\"");
    if (is_drawn) {
        assert_holds(text_of(world, ".svg"), ">  20.0 days, 2.0 million USD<");
    }
}

/* Memory of gbps / 10 and micro GB: each faster network takes more, and of one network micro 1
 * takes least. Of 100 Gbps only micro 4 was predicted. So the front are 100 Gbps with micro 4 (14
 * GB), and 200, 400 and 800 with micro 1 (21, 41, 81 GB), whose steps are 2, 1.5, 1.25 and 1.125
 * s. */
static void a_front_has_what_none_beats_in_memory_and_metric(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < ROWS; i++) {
        world->rows[i].memory_peak_bytes = 1e9 * (10 * (1u << (i / 3)) + (1u << (i % 3)));
    }
    world->request.kind = "pareto";
    world->request.metric = "step_s";
    const bool is_drawn = draw(world);
    const char *csv = text_of(world, ".csv");
    assert_int_equal(lines_in(csv), ROWS - 2 + 1);
    assert_holds(csv, "memory_peak_gb,step_s,is_front,side,label,y_title,plot_title");
    assert_holds(csv, "\n14,2,1,");
    assert_holds(csv, "\n21,1.5,1,");
    assert_holds(csv, "41,1.25,1,");
    assert_holds(csv, "81,1.125,1,");
    assert_holds(csv, "22,1.5,0,");
    assert_int_equal(ones_in(csv, 2), 4);
    if (is_drawn) {
        assert_holds(text_of(world, ".svg"), ">peak memory of a GPU, GB<");
    }
}

static void dollars_need_a_run(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < ROWS; i++) {
        world->rows[i].wall_clock_days = ABSENT;
    }
    world->request.kind = "dollars";
    assert_false(plot_draw(world->arena, &world->request, world->diag));
    assert_holds(diag_first_error(world->diag), "no point of this study has days and dollars");
}

/* 100 Gbps has no run: no days, and 0 of them would be the shortest. */
static void a_value_that_does_not_exist_is_blank_and_not_the_best(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < 3; i++) {
        world->rows[i] = world->rows[3 + i];
        add_axis(&world->rows[i], "price.gpu_hour", "none", ABSENT);
        world->rows[i].wall_clock_days = ABSENT;
    }
    world->request.metric = "days";
    world->request.x_axis = "batch.micro";
    const bool is_drawn = draw(world);
    assert_holds(text_of(world, ".csv"), "0,0,1,,0,0,\"bandwidth 200 Gbps, gpu_hour none\"");
    world->request.kind = "heatmap";
    world->request.x_axis = "cluster.nics.bandwidth";
    world->request.y_axis = "batch.micro";
    assert_int_equal(draw(world), is_drawn);
    /* Two points for 200 Gbps, micro 1; the one that has 15 days is shown. */
    assert_holds(text_of(world, ".csv"), "0,0,15,1,1,0,\"200\",\"1\",\"15.0\",");
    for (uint32_t i = 3; i < 6; i++) {
        world->rows[i].wall_clock_days = ABSENT;
    }
    assert_int_equal(draw(world), is_drawn);
    assert_holds(text_of(world, ".csv"), "0,0,,0,0,0,\"200\",\"1\",\"-\",");
}

static void a_heatmap_has_a_cell_per_pair_and_marks_what_cannot_be(void **state)
{
    struct world *world = *state;
    world->request.kind = "heatmap";
    const bool is_drawn = draw(world);
    const char *csv = text_of(world, ".csv");
    assert_int_equal(lines_in(csv), ROWS + 1);
    assert_holds(csv, "0,0,,0,0,0,\"100\",\"1\",\"out of memory\",");
    assert_holds(csv, "0,1,,0,0,0,\"100\",\"2\",\"does not divide\",");
    assert_holds(csv, "3,2,44.44444444,1,0,0,\"800\",\"4\",\"44.4\",");
    if (is_drawn) {
        const char *svg = text_of(world, ".svg");
        assert_holds(svg, ">44.4<");
        assert_holds(svg, ">out of memory<");
        assert_holds(svg, ">microbatch, sequences (up); MFU, % (colour)<");
    }
}

static void a_cell_shows_the_best_of_its_points(void **state)
{
    /* Both rows have 800 Gbps and micro 4; a shorter step is better. */
    struct world *world = *state;
    world->rows[10] = world->rows[11];
    world->rows[10].step_s = 0.75;
    world->request.kind = "heatmap";
    world->request.metric = "step_s";
    draw(world);
    assert_holds(text_of(world, ".csv"), "3,2,0.75,1,0,1,");
    /* Nobody is there now. */
    assert_holds(text_of(world, ".csv"), "3,1,,0,0,0,\"800\",\"2\",\" \"");
}

static void a_heatmap_where_nothing_fits_is_still_drawn(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < ROWS; i++) {
        world->rows[i].status = POINT_INFEASIBLE;
    }
    world->request.kind = "heatmap";
    draw(world);
}

/* Of 100 Gbps with micro 4, the first that has a result, whose step is 2 s, steps of 1.5, 1.25 and
 * 1.125 s save 25, 37.5 and 43.75 %; the best first. Bands of 10 %: 1.5 s are 1.36 to 1.65 s. */
static void whatif_ranks_what_is_saved(void **state)
{
    struct world *world = *state;
    double factors[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        factors[i] = i == 3 ? 1.1 : i == 6 ? 1.7 : ABSENT;
    }
    world->series.factors = factors;
    world->request.kind = "whatif";
    const bool is_drawn = draw(world);
    const char *csv = text_of(world, ".csv");
    assert_int_equal(lines_in(csv), ROWS - 3 + 1);
    assert_holds(csv,
                 "y,kind,from_percent,to_percent,low_percent,high_percent,is_close,days,label");
    assert_holds(csv, "\n0,3,0,43.75,,,0,11.25,\"800 Gbps, micro 1\"");
    assert_holds(csv, "\n6,3,0,25,17.5,31.81818182,0,15,\"200 Gbps, micro 1\"");
    assert_holds(csv, "\n3,3,0,37.5,-6.25,63.23529412,1,12.5,\"400 Gbps, micro 1\"");
    if (is_drawn) {
        assert_holds(text_of(world, ".svg"), ">  43.8 %, 11.2 days<");
    }
}

/* Groups as whatif stores them; what is a little more or less is no bar, and a ladder's rungs begin
 * where those before end: 25 % saved, then 37.5 %. */
static void whatif_knows_groups_and_a_ladder(void **state)
{
    struct world *world = *state;
    static const char *const groups[] = {"now", "free", "purchase", "ideal", "margin"};
    struct store_row rows[5], rungs[2];
    for (uint32_t i = 0; i < 5; i++) {
        rows[i] = world->rows[2 + i];
        add_axis(&rows[i], "group", groups[i], ABSENT);
    }
    rungs[0] = world->rows[3];
    rungs[1] = world->rows[6];
    const struct plot_series series = {
        .title = "it", .rows = rows, .count = 5, .rungs = rungs, .rung_count = 2};
    world->request.series = &series;
    world->request.kind = "whatif";
    draw(world);
    const char *csv = text_of(world, ".csv");
    assert_int_equal(lines_in(csv), 3 + 2 + 1);
    assert_holds(csv, "\n3.8,4,0,25,,,0,15,\"1. 200 Gbps, micro 1\"");
    assert_holds(csv, "\n4.8,4,25,37.5,,,0,12.5,\"2. 400 Gbps, micro 1\"");
    rows[0].status = POINT_FAILED; /* nothing to hold them against */
    world->diag = diag_new(world->arena);
    assert_false(plot_draw(world->arena, &world->request, world->diag));
    assert_holds(diag_first_error(world->diag), "as it is it has no result");
}

/* Lines that are equal are one, with both names; of more than eight the best is drawn. */
static void many_lines_show_the_best(void **state)
{
    struct world *world = *state;
    struct store_row rows[40];
    for (uint32_t i = 0; i < 40; i++) {
        rows[i] = world->rows[3 + 3 * (i % 2)];
        rows[i].mfu = 0.3 + 0.001 * (i / 2 % 10) + 0.05 * (i % 2);
        char text[8];
        snprintf(text, sizeof text, "%u", i / 2);
        rows[i].axis_count = 1;
        add_axis(&rows[i], "batch.micro", text, i / 2);
    }
    world->series.rows = rows;
    world->series.count = 40;
    draw(world);
    const char *csv = text_of(world, ".csv");
    assert_int_equal(lines_in(csv), 2 + 1);
    assert_holds(csv, "\n0,0,200,30.9,0,");
    assert_holds(csv, "\n0,1,400,35.9,2,");
    assert_holds(csv, "each point the best of 10 lines: over micro");
    world->series.count = 24; /* micro 0 to 11, of which 10 and 11 are as 0 and 1 */
    draw(world);
    world->series.count = 6;
    rows[4].mfu = rows[0].mfu;
    rows[5].mfu = rows[1].mfu;
    draw(world);
    assert_holds(text_of(world, ".csv"), "\"micro 0 = micro 2\"");
}

/* Of what no step has lines are drawn, at 0. */
static void what_is_0_everywhere_is_drawn(void **state)
{
    struct world *world = *state;
    world->request.metric = "bubble";
    if (draw(world)) {
        assert_holds(text_of(world, ".svg"), ">bubble, s<");
    }
}

/* What changes save is held against one point: two studies have two. */
static void whatif_is_of_one_study(void **state)
{
    struct world *world = *state;
    const struct plot_series two[2] = {world->series, world->series};
    world->request.series = two;
    world->request.series_count = 2;
    world->request.kind = "whatif";
    assert_false(plot_draw(world->arena, &world->request, world->diag));
    assert_holds(diag_first_error(world->diag), "one study at a time");
    assert_int_equal(diag_exit_status(world->diag), 2);
}

static void one_point_can_be_drawn_by_every_kind_but_the_heatmap(void **state)
{
    struct world *world = *state;
    static const char *const kinds[] = {"lines", "causes", "dollars", "pareto"};
    world->series.rows = &world->rows[5];
    world->series.count = 1;
    for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        world->request.kind = kinds[i];
        world->diag = diag_new(world->arena);
        draw(world);
    }
}

static void series_are_told_apart_by_their_titles(void **state)
{
    struct world *world = *state;
    struct plot_series two[2] = {world->series, world->series};
    struct store_row other[ROWS];
    memcpy(other, world->rows, sizeof other);
    for (uint32_t i = 0; i < ROWS; i++) {
        other[i].mfu *= 0.9;
        other[i].axis_count = world->rows[i].axis_count = 1;
    }
    two[0].title = "Llama 3, H100, seven networks";
    two[1].rows = other;
    two[1].title = "Llama 3, A100, 80 GB, seven networks";
    world->request.title = NULL;
    world->request.series = two;
    world->request.series_count = 2;
    if (draw(world)) {
        const char *svg = text_of(world, ".svg");
        assert_holds(svg, ">H100<");        /* what all say is left out, */
        assert_holds(svg, ">A100, 80 GB<"); /* commas survive */
        assert_holds(svg, ">MFU against network bandwidth<");
        assert_holds(svg, ">%<"); /* and the axis needs the unit alone */
    }
}

/* ---- requests that cannot be ------------------------------------------------------------ */

static void assert_refused(struct world *world, const char *part)
{
    assert_false(plot_draw(world->arena, &world->request, world->diag));
    assert_holds(diag_first_error(world->diag), part);
}

static void an_unknown_kind_is_a_usage_error(void **state)
{
    struct world *world = *state;
    world->request.kind = "pie";
    assert_refused(world, "there is no plot 'pie'");
    assert_int_equal(diag_exit_status(world->diag), 2);
}

static void an_unknown_metric_is_a_usage_error(void **state)
{
    struct world *world = *state;
    world->request.metric = "mfo";
    assert_refused(world, "there is no metric 'mfo'");
    assert_int_equal(diag_exit_status(world->diag), 2);
}

static void an_unknown_axis_is_a_usage_error(void **state)
{
    struct world *world = *state;
    world->request.x_axis = "batch.macro";
    assert_refused(world, "no point of this study has the axis 'batch.macro'");
    assert_int_equal(diag_exit_status(world->diag), 2);
}

static void a_heatmap_of_one_axis_is_a_usage_error(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < ROWS; i++) {
        world->rows[i].axis_count = 1;
    }
    world->request.kind = "heatmap";
    assert_refused(world, "a heatmap needs a study with two axes");
}

static void a_study_without_points_cannot_be_drawn(void **state)
{
    struct world *world = *state;
    world->series.count = 0;
    assert_refused(world, "there is no point to plot");
}

static void a_study_where_nothing_fits_has_no_lines(void **state)
{
    struct world *world = *state;
    for (uint32_t i = 0; i < ROWS; i++) {
        world->rows[i].status = POINT_FAILED;
    }
    assert_refused(world, "no point of this study has a value of mfu");
    assert_true(lines_in(text_of(world, ".csv")) > 1); /* the data are there */
}

static void a_full_disk_is_a_failure(void **state)
{
    struct world *world = *state;
    const char *csv = plot_path(world->arena, world->request.path_base, ".csv");
    if (symlink("/dev/full", csv) != 0) {
        skip();
    }
    assert_refused(world, "cannot be written: No space left on device");
    assert_int_equal(diag_exit_status(world->diag), 1);
}

/* ---- gnuplot itself ---------------------------------------------------------------------- */

static void a_missing_gnuplot_leaves_data_and_script(void **state)
{
    struct world *world = *state;
    const char *before = getenv("PATH");
    char *path = arena_strdup(world->arena, before != NULL ? before : "");
    setenv("PATH", world->directory, 1);
    const bool is_drawn = plot_draw(world->arena, &world->request, world->diag);
    setenv("PATH", path, 1);
    assert_false(is_drawn);
    assert_holds(diag_first_error(world->diag), "gnuplot is not installed");
    assert_int_equal(diag_exit_status(world->diag), 1);
    assert_holds(text_of(world, ".csv"), "\"out of memory\"");
    assert_holds(text_of(world, ".gp"), "fabric.csv");
    assert_int_equal(access(plot_path(world->arena, world->request.path_base, ".log"), F_OK), -1);
}

static void a_failing_gnuplot_is_quoted_and_its_log_kept(void **state)
{
    struct world *world = *state;
    if (!has_gnuplot()) {
        skip();
    }
    temporary_write(arena_printf(world->arena, "%s/bad.gp", world->directory), "plto sin(x)\n");
    assert_false(gnuplot_run(world->arena, world->directory, "bad", world->diag));
    assert_holds(diag_first_error(world->diag), "invalid command");
    const char *log = arena_printf(world->arena, "%s/bad.log", world->directory);
    assert_int_equal(access(log, R_OK), 0);
}

static void the_users_settings_do_not_change_the_picture(void **state)
{
    /* GNUTERM would choose a terminal that does not exist. */
    struct world *world = *state;
    setenv("GNUTERM", "no-such-terminal", 1);
    draw(world);
    unsetenv("GNUTERM");
    assert_false(diag_has_error(world->diag) && has_gnuplot());
}

static void drawing_twice_gives_the_same_bytes(void **state)
{
    struct world *world = *state;
    if (!draw(world)) {
        skip();
    }
    const char *first = text_of(world, ".svg");
    draw(world);
    assert_string_equal(text_of(world, ".svg"), first);
}

/* ---- text from users ------------------------------------------------------------------------ */

static const char hostile[] = "`touch ran1` $(touch ran2) \"a\", 'b' \\n %s {/Bold x} \t\n end";

static void no_text_of_a_users_is_run_or_lost(void **state)
{
    /* gnuplot 5.4 runs backticks in its double-quoted strings; it would do so
     * in its working directory, which is the plot's. Each place where a user's
     * text can get to is filled with such a text. */
    struct world *world = *state;
    uint32_t count = 0;
    const char *const *kinds = plot_kinds(&count);
    struct plot_series two[2] = {world->series, world->series};
    two[0].title = hostile;
    two[1].title = hostile + 1;
    world->request.series = two;
    world->request.series_count = 2;
    world->request.title = hostile;
    for (uint32_t i = 0; i < ROWS; i++) {
        struct store_row *row = &world->rows[i];
        snprintf(row->label, sizeof row->label, "%s", hostile);
        snprintf(row->axes[0], sizeof row->axes[0], "%.60s", hostile);
        snprintf(row->axes[1], sizeof row->axes[1], "x%.60s", hostile);
        snprintf(row->value_texts[0], sizeof row->value_texts[0], "%u%.60s", i, hostile);
    }
    for (uint32_t i = 0; i < count; i++) {
        world->request.kind = kinds[i];
        const bool is_of_one = strcmp(kinds[i], "whatif") == 0 || strcmp(kinds[i], "best") == 0;
        world->request.series_count = is_of_one ? 1 : 2;
        const bool is_drawn = draw(world);
        assert_null(strstr(text_of(world, ".gp"), "touch"));
        if (is_drawn) {
            /* As it was, but for the double quotes, the backslash, the tab and the newline. */
            assert_holds(text_of(world, ".svg"),
                         "`touch ran1` $(touch ran2) ”a”, 'b' ∖n %s {/Bold x}    end");
        }
    }
    const char *directory = world->directory;
    assert_int_equal(access(arena_printf(world->arena, "%s/ran1", directory), F_OK), -1);
    assert_int_equal(access(arena_printf(world->arena, "%s/ran2", directory), F_OK), -1);
    assert_int_equal(access("ran1", F_OK), -1);
    assert_int_equal(access("ran2", F_OK), -1);
}

static void a_label_of_many_per_cent_signs_is_no_format(void **state)
{
    struct world *world = *state;
    memset(world->rows[3].label, '%', sizeof world->rows[3].label - 1);
    world->request.kind = "causes";
    if (draw(world)) {
        assert_holds(text_of(world, ".svg"), "%%%%%%%%%%%%%%%%%%%%");
    }
}

static void hostile_file_names_are_made_harmless(void **state)
{
    struct world *world = *state;
    struct arena *arena = world->arena;
    assert_string_equal(plot_path(arena, "results/fabric", ".svg"), "results/fabric.svg");
    assert_string_equal(plot_path(arena, "fabric", ".svg"), "./fabric.svg");
    assert_string_equal(plot_path(arena, "/fabric", ".svg"), "//fabric.svg");
    assert_string_equal(plot_path(arena, "a b/c'`id`.d-E_9", ".gp"), "a b/c__id_.d-E_9.gp");
    assert_string_equal(plot_path(arena, "a/", ".gp"), "a/plot.gp");
    world->request.path_base = arena_printf(arena, "%s/-e `touch ran3`'", world->directory);
    draw(world);
    assert_int_equal(access(arena_printf(arena, "%s/ran3", world->directory), F_OK), -1);
    assert_holds(text_of(world, ".gp"), "DATA = '-e__touch_ran3__.csv'");
}

/* A key whose row has no words for an axis is drawn in the unit of its dimension: 0.05 are 5 %, 600
 * are 600 s; words have their own. */
static void an_axis_without_words_has_the_unit_of_its_key(void **state)
{
    struct world *world = *state;
    static const struct {
        const char *path, *title;
        double value, shown;
    } cases[] = {
        {"run.startup", "run.startup, s", 600, 600},
        {"software.interference.network", "software.interference.network, %", 0.05, 5},
        {"cluster.nics.bandwidth", "network bandwidth, Gbps per NIC", 5e10, 400},
        {"run.startup", "run.startup", ABSENT, 0},
        {"no.key", "no.key", 3, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct store_row row = {.status = POINT_OK};
        add_axis(&row, cases[i].path, "long", cases[i].value);
        const struct plot_item item = {.row = &row};
        struct plot_axis axis;
        assert_true(plot_axis_collect(world->arena, &item, 1, NULL, 0, &axis, world->diag));
        assert_string_equal(axis.title, cases[i].title);
        assert_close(axis.values[0], cases[i].shown, 1e-12);
    }
}

static void directories_are_made_for_a_plot(void **state)
{
    struct world *world = *state;
    world->request.path_base = arena_printf(world->arena, "%s/new/er/fabric", world->directory);
    draw(world);
    text_of(world, ".csv");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_world, end_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_on_a_line_are_moved_apart_and_stay_below_its_top),
        TEST(every_kind_is_drawn_as_svg_and_png),
        TEST(every_metric_can_be_drawn),
        TEST(lines_have_a_row_per_point_in_displayed_units),
        TEST(words_on_an_axis_keep_their_order),
        TEST(causes_stack_to_the_step_with_its_total_above),
        TEST(the_same_cause_has_one_colour_and_no_two_share_it),
        TEST(dollars_mark_what_nothing_beats),
        TEST(dollars_of_one_price_are_ranked),
        TEST(dollars_need_a_run),
        TEST(a_front_has_what_none_beats_in_memory_and_metric),
        TEST(a_value_that_does_not_exist_is_blank_and_not_the_best),
        TEST(a_heatmap_has_a_cell_per_pair_and_marks_what_cannot_be),
        TEST(a_cell_shows_the_best_of_its_points),
        TEST(a_heatmap_where_nothing_fits_is_still_drawn),
        TEST(whatif_ranks_what_is_saved),
        TEST(whatif_knows_groups_and_a_ladder),
        TEST(many_lines_show_the_best),
        TEST(what_is_0_everywhere_is_drawn),
        TEST(whatif_is_of_one_study),
        TEST(one_point_can_be_drawn_by_every_kind_but_the_heatmap),
        TEST(series_are_told_apart_by_their_titles),
        TEST(an_unknown_kind_is_a_usage_error),
        TEST(an_unknown_metric_is_a_usage_error),
        TEST(an_unknown_axis_is_a_usage_error),
        TEST(a_heatmap_of_one_axis_is_a_usage_error),
        TEST(a_study_without_points_cannot_be_drawn),
        TEST(a_study_where_nothing_fits_has_no_lines),
        TEST(a_full_disk_is_a_failure),
        TEST(a_missing_gnuplot_leaves_data_and_script),
        TEST(a_failing_gnuplot_is_quoted_and_its_log_kept),
        TEST(the_users_settings_do_not_change_the_picture),
        TEST(drawing_twice_gives_the_same_bytes),
        TEST(no_text_of_a_users_is_run_or_lost),
        TEST(a_label_of_many_per_cent_signs_is_no_format),
        TEST(hostile_file_names_are_made_harmless),
        TEST(an_axis_without_words_has_the_unit_of_its_key),
        TEST(directories_are_made_for_a_plot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
