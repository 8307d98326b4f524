/* One object for programs and one line for people, both of what the resolved scenario holds. */
#include "report/anchor_sheet.h"
#include "report/numbers.h"

#include "base/absent.h"
#include "base/arena.h"
#include "base/units.h"
#include "input/study/anchor.h"

static const char *said(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

void anchor_add(struct sheet *sheet, const struct anchor *anchor)
{
    if (!anchor->is_given) {
        return;
    }
    const bool is_measured = anchor->predicted_s > 0;
    struct sheet *in = sheet_object(sheet, "anchor");
    sheet_text(in, "run", said(anchor->run));
    sheet_text(in, "scenario", said(anchor->scenario));
    sheet_number(in, "measured_step_s", is_measured ? anchor->step_time_s : ABSENT);
    sheet_number(in, "predicted_step_s", is_measured ? anchor->predicted_s : ABSENT);
    sheet_number(in, "weight", anchor->weight);
    sheet_number(in, "factor", anchor->factor);
    sheet_number(in, "band", anchor->band > 0 ? anchor->band : ABSENT);
    sheet_integer(in, "votes", anchor->votes);
}

void anchor_say(struct sheet *sheet, const struct anchor *anchor)
{
    struct arena *arena = sheet_arena(sheet);
    if (!anchor->is_given) {
        return;
    }
    const char *run = said(anchor->run) != NULL ? anchor->run : said(anchor->scenario);
    sheet_say(sheet, "anchored%s%s: ", run != NULL ? " by " : "", run != NULL ? run : "");
    if (anchor->predicted_s > 0) {
        sheet_say(sheet, "%s measured, %s predicted, of which error %.0f %% counts here; ",
                  number_duration(arena, anchor->step_time_s),
                  number_duration(arena, anchor->predicted_s), 100 * anchor->weight);
    }
    sheet_say(sheet, "steps are %.4g times as long as simulated\n", anchor->factor);
}
