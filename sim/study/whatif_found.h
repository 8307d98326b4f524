/* What a what-if found (study/whatif): what each row is worth, the best first, and a ladder.
 *
 * Gains neither add nor subtract: two remedies may hide one another, or one may be worth nothing
 * until another is there. So the ladder simulates them together: the best, then of the next best
 * ones the best given that, and so on. Only some of the best are tried on each rung, so that the
 * whole takes at most WHATIF_RUNS_MAX predictions.
 *
 * What differs by less than two steps can be told apart (bands/limits) is no gain, no rung, no loss
 * of an ideal, and no slope.
 *
 *     struct whatif_found found = {.by = WHATIF_BY_DAYS};
 *     if (whatif_ask(arena, &asked, &found, &study, diag)) {
 *         ... the study is run; found.rows are its rows ...
 *         whatif_climb(&climb, &found);
 *     }
 */
#ifndef STUDY_WHATIF_FOUND_H
#define STUDY_WHATIF_FOUND_H

#include "store/store.h"
#include "study/whatif.h"

/* What is to be least. */
enum whatif_by { WHATIF_BY_DAYS, WHATIF_BY_USD, WHATIF_BY_KWH, WHATIF_BY_COUNT_ };
extern const char *const whatif_by_names[WHATIF_BY_COUNT_];

enum { WHATIF_RUNGS_MAX = 5 };

/* One rung of the ladder. */
struct whatif_rung {
    uint32_t remedy;
    struct store_row row; /* with those below, too */
};

/* Memory is the arena's that was given. */
struct whatif_found {
    uint32_t by; /* enum whatif_by */
    const struct doc_node *document;
    const struct scenario *scenario;
    const char *software; /* its */
    struct whatif_remedy *remedies;
    uint32_t count;
    const char *lacking;          /* what was not asked, since the software has it not; NULL */
    double resolution;            /* ln of a ratio that is told from none; 0: any */
    const struct store_row *rows; /* [row_count]: the scenario as it is, then each remedy */
    uint32_t row_count;
    struct whatif_rung rungs[WHATIF_RUNGS_MAX];
    uint32_t rung_count, runs; /* predictions in all */
};

/* The first rows' study. False with messages: what is to be least needs a run or a price, or as
 * whatif_study. */
MUST_USE bool whatif_ask(struct arena *arena, const struct whatif_asked *asked,
                         struct whatif_found *found, struct study *study, struct diag *diag);

/* Who runs the ladder's studies. */
struct whatif_climb {
    struct arena *arena;
    const struct study_base *base;
    struct diag *diag;
    /* Runs a study and reads its rows. False: the store failed. */
    bool (*run)(void *context, const struct study *study, struct store_row **rows, uint32_t *count);
    void *context;
};
void whatif_climb(const struct whatif_climb *climb, struct whatif_found *found);

/* ---- what a row is worth --------------------------------------------------------------------- */

bool whatif_has_run(const struct whatif_found *found);

/* What is to be least, for the same tokens: of the run, or of a million tokens in ms. */
double whatif_value(const struct whatif_found *found, const struct store_row *row);
/* Its name and unit: "USD". */
const char *whatif_head(const struct whatif_found *found);

/* ln of a ratio of two rows that is told from none. What steps of the same length differ in is no
 * matter of who meets whom; of days it is that of the part that hangs on steps. */
double whatif_resolution(const struct whatif_found *found, const struct store_row *row,
                         const struct store_row *other);

/* The document with the files that it names in it. */
const struct doc_node *whatif_whole(const struct whatif_found *found);

const struct whatif_remedy *whatif_remedy_of(const struct whatif_found *found,
                                             const struct store_row *row);

/* What it saves of the scenario as it is: 0.1 is a tenth; ABSENT: one of them has no result. */
double whatif_saves(const struct whatif_found *found, const struct store_row *row);

/* Of the piece that is bought: what the run costs less, in USD; ABSENT: nothing has a price. Of
 * owned GPUs the run's cost has its share of the network, so that it is worth what is left. */
double whatif_worth(const struct whatif_found *found, const struct store_row *row);

/* Rows that have a result, of some groups (bits of enum whatif_group), the best first. */
uint32_t *whatif_order(const struct whatif_found *found, struct arena *arena, unsigned groups,
                       uint32_t *count);

/* What people are shown: rows that save or cost something, free ones, purchases and ideals after
 * one another, by which number they are asked for from 1 on; and those that do neither. */
struct whatif_list {
    const uint32_t *shown; /* rows */
    uint32_t count;
    const uint32_t *idle;
    uint32_t idle_count;
};
struct whatif_list whatif_listed(const struct whatif_found *found, struct arena *arena);

#endif
