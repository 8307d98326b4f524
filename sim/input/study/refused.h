/* What is offered and nothing is predicted of: names with the reason and with what would help, as
 * models/refused.yaml of the catalogue has them. A refusal is data, as parts of it are: who
 * knows more deletes its row and writes a file.
 *
 *     if (!refused_tell(arena, catalogue, place, name, diag)) {
 *         diag_add(diag, DIAG_INPUT, place, "there is no gpu '%s'", name);
 *     }
 */
#ifndef INPUT_STUDY_REFUSED_H
#define INPUT_STUDY_REFUSED_H

#include "input/catalogue.h"

/* True, with the message at `place` (NULL: nowhere), when the name is one of those, or one of those
 * and more behind a '-'. Without the file nothing is. */
bool refused_tell(struct arena *arena, const struct catalogue *catalogue, const struct place *place,
                  const char *name, struct diag *diag);

#endif
