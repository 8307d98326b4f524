/* Texts of scenarios as deltas: one is stored whole, of those like it what differs.
 *
 * Points of a study are one resolved scenario, of some 25 kB, in which a few values are set. A text
 * is stored in pieces where a stored one, its base, has most of it:
 *
 *     [17, [0, 3011], "100 Gbps", [3019, 21500]]
 *
 * JSON: the run whose scenario is the base, by the number of its key, then in order what comes of
 * it (from which character on, how many) and what does not. A text that is stored whole begins with
 * another character than [. The view `scenario` gives back all of them.
 */
#ifndef STORE_STORE_SCENARIO_H
#define STORE_STORE_SCENARIO_H

#include "store/store_sql.h"

/* The text of a row of `scenario_rows`, in SQL. A base that is missing leaves no rows, and NULL. */
#define SCENARIO_TEXT                                                                             \
    "CASE WHEN substr(scenario_rows.text, 1, 1) <> '[' THEN scenario_rows.text ELSE "             \
    "(SELECT group_concat(CASE WHEN piece.type = 'array' THEN substr(base.text, "                 \
    "json_extract(piece.value, '$[0]') + 1, json_extract(piece.value, '$[1]')) ELSE piece.value " \
    "END, '') FROM scenario_rows AS base, json_each(scenario_rows.text) AS piece WHERE "          \
    "base.run_key = json_extract(scenario_rows.text, '$[0]') AND piece.key > 0) END"

/* Inserts the row of a run: its key, its text. */
MUST_USE enum put scenario_insert(struct store *store, const struct value *values,
                                  struct diag *diag);

/* What was stored was not, after all. */
void scenario_forget(struct store *store);

/* Closes what is owned: the last call. */
void scenario_close(struct store *store);

#endif
