/* What `stoker-lab validate --anchors` says: what a run of one's own would have been worth as an
 * anchor (lab/anchor_score).
 */
#include "base/arena.h"
#include "lab/cli/lab_validate.h"
#include "lab/anchor_score.h"
#include "report/sheet.h"

#define SCORE(member) FIELD_AT(struct anchor_score, member)

static const struct field fields[] = {
    {"differ_in", SCORE(name), FIELD_LEFT("anchor and run differ in")},
    {"pairs", SCORE(pairs), FIELD_COUNT("pairs")},
    {"sources", SCORE(sources), FIELD_COUNT("sources")},
    {"alone", SCORE(alone), FIELD_RIGHT("no anchor %", "%.1f", 100)},
    {"whole", SCORE(whole), FIELD_RIGHT("whole ratio %", "%.1f", 100)},
    {"weighted", SCORE(weighted), FIELD_RIGHT("weighted %", "%.1f", 100)},
    {"weight", SCORE(weight), FIELD_RIGHT("weight", "%.2f", 1)},
    {"right_way", SCORE(right_way), FIELD_RIGHT("right way %", "%.0f", 100)},
    {"inside_alone", SCORE(inside_alone), FIELD_RIGHT("in band %", "%.0f", 100)},
    {"width_alone", SCORE(width_alone), FIELD_RIGHT("ln width", "%.3f", 1)},
    {"inside", SCORE(inside), FIELD_RIGHT("in anchored %", "%.0f", 100)},
    {"width", SCORE(width), FIELD_RIGHT("ln width", "%.3f", 1)},
};

void validate_anchors_print(const struct lab_validation *lab, struct sheet *sheet)
{
    const struct validation *validation = &lab->validation;
    struct cli *cli = validation->options.cli;
    const struct catalogue catalogue = options_catalogue(&validation->options);
    struct anchor_evidence evidence;
    struct anchor_score scores[ANCHOR_LINES];
    const char *reason = "";
    struct sheet *object = sheet_object(sheet, "anchors");
    if (!anchor_evidence_load(cli->arena, &catalogue, &evidence, &reason, cli->diag)) {
        sheet_say(object, "\nno anchors: %s\n", reason);
        return;
    }
    anchor_scores(&catalogue, &evidence, validation->found.scored, validation->found.scored_count,
                  scores);
    sheet_number(object, "trust", evidence.limits.trust);
    struct sheet *table = sheet_table(object, "lines", FIELD_LIST(fields));
    sheet_caption(table, "\n");
    for (uint32_t line = 0; line < ANCHOR_LINES; line++) {
        if (scores[line].pairs > 0) {
            sheet_row(table, &scores[line]);
        }
    }
    sheet_say(
        object,
        "Every run of a source as the anchor of every other one of the same model; means of "
        "absolute errors, each source\ncounting as much. Weights and bands are from the other "
        "sources. right way: both are off to the same side.\n");
}
