/* Validation: every row of a CSV of published runs predicted and scored.
 *
 * A row becomes an ordinary scenario (published_rows) and is simulated as a user's own. Rows
 * are independent, so `jobs` processes share them; the result does not depend on how many. A row
 * over which its process ends, or whose files cannot be read, is skipped and marked: then the score
 * is short of it, and whoever asked must say so.
 */
#ifndef MEASURED_VALIDATE_H
#define MEASURED_VALIDATE_H

#include "bands/band.h"
#include "measured/known_steps.h"
#include "measured/published/published_rows.h"

enum row_status { ROW_OK, ROW_SKIPPED, ROW_INFEASIBLE, ROW_STATUS_COUNT_ };
extern const char *const row_status_names[ROW_STATUS_COUNT_]; /* "ok", "skipped", "infeasible" */

/* Texts are the table's, or the arena's; "" where blank. A number that does not exist is ABSENT:
 * the prediction of a row that was skipped, the error of one that says no time. */
struct validated_row {
    const struct published_table *table;
    uint32_t row; /* of the table */
    enum row_status status;
    bool has_failed; /* skipped for what is no fault of the row's; reason says what */
    const char *id, *config_key, *source, *framework, *framework_year, *gpu, *precision;
    const char *software, *gpu_file; /* of the catalogue, that the row was predicted with */
    struct band_traits traits;       /* if predicted */
    int64_t gpus;
    bool is_mixture;              /* of experts */
    const char *suspect;          /* why the row is reported apart; "": it is scored */
    const char *filled;           /* what was blank and how it was filled; "" */
    const char *fitted;           /* of these, what was changed until the memory sufficed; "" */
    const char *reason;           /* skipped or infeasible: why */
    struct published_wrong wrong; /* then: what the user should change */
    double predicted_s, measured_s;
    double error;                  /* predicted / measured - 1 */
    double step_p10_s, step_p90_s; /* of the band of other sources; ABSENT: nobody looked (score) */
    double gpu_s_per_token;        /* measured; predicted is that times (1 + error) */
    double model_flop_per_gpu;     /* of a step, causal; no recomputation */
    double peak_flop_per_s;        /* dense, of the precision used */
    uint64_t refused;              /* of the overrides of all rows: published_scenario */
    uint64_t likeness;             /* of the resolved scenario, but for its title: a hash */
    bool is_simulated;             /* what follows exists; false: predicted_s was given */
    bool fits;                 /* false: memory is short by our account; predicted all the same */
    const char *largest_cause; /* of the step, compute apart */
    double largest_share, compute_share; /* of the step's GPU time */
};

/* Predictions that there are already, to take instead of simulating: lab/predictions has them from
 * a file. */
enum prediction_kind {
    PREDICTION_FOUND,   /* *predicted_s is set */
    PREDICTION_MISSING, /* where it should be: the row is skipped */
    PREDICTION_UNSEEN,  /* they are not of such rows: it is simulated */
};
struct given_predictions {
    enum prediction_kind (*find)(const void *context, const struct published_table *table,
                                 uint32_t row, double *predicted_s);
    const void *context;
    const char *path; /* for messages */
};

struct validate_request {
    const struct catalogue *catalogue;
    uint32_t jobs; /* processes; 0: as many as the machine has cores */
    const struct published_override *overrides;
    uint32_t override_count;
    const uint32_t *rows; /* of the table, to be predicted; NULL: all */
    uint32_t row_count;
    const struct given_predictions *given; /* NULL: none */
    bool simulates_all;                    /* all the same, for what else a step says */
    /* Not simulated again; new ones are added. NULL: none; rows of one call which are alike are
     * simulated once by each process all the same. */
    struct known_steps *known;
};

/* Rows in the order asked for. Nothing that a row says ends it. */
const struct validated_row *validate_rows(struct arena *arena, const struct published_table *table,
                                          const struct validate_request *request);

#endif
