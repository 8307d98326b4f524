/* The report of a stored study, for who decides and did not run it: one tree, printed as a page
 * (report/html), as Markdown, text or JSON.
 *
 *     the answer, with its bands           what it is held against, ranked
 *     where the step goes                  of each point by cause; its critical path
 *     assumptions                          those of the catalogue, by what they move
 *     how far to believe it                from which measured runs bands are
 *     what is not modelled                 bands/unproven
 *     to redo it                           commands, and the scenario
 *
 * It says what is stored (study/reported) and simulates nothing. What a study cannot tell it does
 * not guess: what else would help is a question to `stoker whatif`, of the scenario at its end.
 */
#ifndef REPORT_STUDY_REPORT_SHEET_H
#define REPORT_STUDY_REPORT_SHEET_H

#include "report/sheet.h"
#include "report/study/reported.h"

/* How somebody gets the same answer again. */
struct report_redo {
    const char *const *commands;
    uint32_t command_count;
    const char *name; /* of the file that the commands read */
    const char *text; /* what stands in it; NULL: it could not be read */
};

void report_add(const struct reported *reported, const struct report_redo *redo,
                struct sheet *sheet);

#endif
