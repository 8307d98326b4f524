/* In what share of draws each point of a study wins (study/wins), asked of its rows and told. */
#ifndef CLI_STUDY_WINS_H
#define CLI_STUDY_WINS_H

#include "study/wins.h"

struct against;
struct session;
struct sheet;
struct store_row;

/* Of each row of the session; NULL: fewer than two have days whose bands are known. */
const struct wins *wins_of(const struct session *session, const struct store_row *base,
                           const struct against *against);

/* "wins" in a point's object. */
void wins_add(struct sheet *object, const struct wins *wins);

/* The table, below those of the points. */
void wins_say(struct sheet *sheet, const struct session *session, const struct wins *wins);

#endif
