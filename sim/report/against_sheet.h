/* What is said of points held against one of them (bands/against): what sweep, search, compare and
 * whatif share. */
#ifndef REPORT_AGAINST_SHEET_H
#define REPORT_AGAINST_SHEET_H

#include "bands/against.h"
#include "report/sheet.h"
#include "report/winners.h"

/* Rows, and each against the base. */
struct against_rows {
    const struct store_row *rows;
    const struct against *against;
    uint32_t count;
};

/* " (80 % band 0.96 to 1.22, likely)", behind a figure or a ratio; "" where nothing is known of it,
 * and each NULL. */
const char *against_told(struct arena *arena, const char *band, const char *verdict);
const char *against_words(struct arena *arena, const struct against *against);

/* Of tokens/s, "1.07 to 1.19"; NULL: there is no band. */
const char *against_range(struct arena *arena, const struct against *against);

/* Half the width of the band of a figure that goes with tokens/s, held against the base's: by the
 * band of their ratio. What is known exactly differs by so much from the base's. ABSENT: it is not
 * known, or the base's. And of a figure of the base by its own band; 0: it has none. */
double against_half(const struct against *against, double value, double base_value);
double against_base_half(const struct against *against, double value);

/* A figure of the base in the digits of its own band, or in four; and a time of it, "3.8 s". */
const char *against_base_text(struct arena *arena, const struct against *against, double value);
const char *against_base_duration(struct arena *arena, const struct against *against,
                                  double seconds);

/* As a cell, of FIELD_RANGE(..., "speed_up"). */
void against_add_range(struct sheet *table, const struct against *against);

/* Days of any say what tokens/s do not: they come of histories, or differ by something else. */
bool against_have_days(const struct against *against, uint32_t count);

/* "-31.2 %, -35.0 to -27.1 %": days more than the base, from p10 to p90 where that is known; NULL:
 * no run. */
const char *against_days(struct arena *arena, const struct against *against);

/* A column of these, whose ends CSV has apart, and of the call, where they are to be shown; the
 * next is returned. And their cells. */
struct field *against_days_fields(bool has_days, struct field *fields);
void against_add_days(struct sheet *table, const struct against *against);

/* Of rows those that have a result and are not left out (NULL: none is). */
struct candidates against_candidates(struct arena *arena, const struct against_rows *of,
                                     const bool *are_left_out);

/* "band" in a point's object, and "days". */
void against_add(struct sheet *object, const struct against *against);

/* Where the bands are from, below a table; and what days more are, where it has them. */
void against_say(struct sheet *sheet, const struct against *against, uint32_t count);
void against_say_days(struct sheet *sheet, const struct against *against, uint32_t count);

/* "wins" in a point's object. */
void wins_add(struct sheet *object, const struct wins *wins);

/* What a column "wins %" is: in so many draws `what`. */
void wins_say_column(struct sheet *sheet, const char *what);

/* The table, below those of the points. */
void wins_say(struct sheet *sheet, const struct wins *wins, uint32_t count);

#endif
