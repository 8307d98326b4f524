/* Readers of `run.checkpoint`, of rows whose object is a struct scenario. */
#ifndef INPUT_RUN_CHECKPOINT_KEYS_H
#define INPUT_RUN_CHECKPOINT_KEYS_H

#include "input/schema/schema.h"

/* "500 steps", or a duration. */
void checkpoint_read_every(const struct schema_reader *reader, const struct schema_row *row);

/* Refused where the nodes have no such place. */
void checkpoint_read_target(const struct schema_reader *reader, const struct schema_row *row);

/* A multiple of peer_every. */
void checkpoint_read_drain(const struct schema_reader *reader, const struct schema_row *row);

/* Without a first place that it goes on from; without a peer. */
const struct schema_refusal *checkpoint_refuses_drain(const void *scenario);
const struct schema_refusal *checkpoint_refuses_peers(const void *scenario);

#endif
