/* Counts before and after; a warning or an error for each study that lacks points. */
#include "report/merge_sheet.h"

#include "report/builds.h"

#include <inttypes.h>
#include <string.h>

void merge_add(const struct merging *merging, const char *path, struct sheet *sheet)
{
    static const struct field incomplete[] = {
        {"study", FIELD_AT(struct store_incomplete, key)},
        {"title", FIELD_AT(struct store_incomplete, title)},
        {"build", FIELD_AT(struct store_incomplete, build)},
        {"points", FIELD_AT(struct store_incomplete, point_count)},
        {"missing", FIELD_AT(struct store_incomplete, missing)},
        {"failed", FIELD_AT(struct store_incomplete, failed)},
        {"numbers", FIELD_AT(struct store_incomplete, numbers)},
    };
    static const struct field builds[] = {
        {"build", FIELD_AT(struct store_build, build)},
        {"runs", FIELD_AT(struct store_build, runs)},
    };
    const struct store_content *before = &merging->before;
    const struct store_content *after = &merging->after;
    const int64_t runs_new = after->runs - before->runs;
    const int64_t studies_new = (int64_t)after->study_count - before->study_count;
    sheet_text(sheet, "db", path);
    sheet_integer(sheet, "runs", after->runs);
    sheet_integer(sheet, "runs_new", runs_new);
    sheet_integer(sheet, "studies", after->study_count);
    sheet_integer(sheet, "studies_new", studies_new);
    sheet_rows(sheet_table(sheet, "builds", FIELD_LIST(builds)), after->builds, after->build_count,
               sizeof *after->builds);
    sheet_rows(sheet_table(sheet, "incomplete", FIELD_LIST(incomplete)), merging->incomplete,
               merging->incomplete_count, sizeof *merging->incomplete);
    sheet_say(sheet,
              "%s: %" PRId64 " runs (%" PRId64 " new), %" PRIu32 " studies (%" PRId64 " new)\n%s\n",
              path, after->runs, runs_new, after->study_count, studies_new,
              builds_text(sheet_arena(sheet), after->builds, after->build_count));
}

void merge_tell_incomplete(const struct merging *merging, const char *path, enum diag_kind kind,
                           struct diag *diag)
{
    for (uint32_t i = 0; i < merging->incomplete_count; i++) {
        const struct store_incomplete *study = &merging->incomplete[i];
        diag_add(diag, kind, NULL,
                 "of the %" PRId64 " points of study %s '%s' %" PRId64 " are missing and %" PRId64
                 " failed: numbers %s",
                 study->point_count, study->key, study->title, study->missing, study->failed,
                 study->numbers);
        const struct store_study_row *namesake = study->namesake;
        if (namesake == NULL) {
            diag_help(diag,
                      "run the shards that lack, and merge again; or `stoker sweep FILE "
                      "--db %s`, which runs what is not there",
                      path);
        } else if (strcmp(namesake->build, study->build) != 0) {
            diag_help(diag,
                      "study %s is of that title, too, by another version of stoker (sources "
                      "%.8s, this one %.8s): run all shards with one",
                      namesake->key, namesake->build, study->build);
        } else {
            diag_help(diag,
                      "study %s is of that title, too: its scenario, --set or catalogue "
                      "differs; run all shards with the same",
                      namesake->key);
        }
    }
}
