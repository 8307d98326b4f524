/* The scripts are texts with a few places to fill in; what is filled in is a number, or quoted.
 *
 * Slurm: one script is the shards, the merge and what submits them, told apart by the number of the
 * task in its array: none, 0, or a shard's. So it may be given to sbatch or to a shell, and carries
 * what a user adds to its head to all of them. Every shard leaves its exit status in a file; the
 * merge depends on the end of the array, however that was (`afterany`: behind `afterok` a failed
 * shard would leave it waiting for ever), and first submits again what left none or a bad one, with
 * itself behind it.
 *
 * GNU parallel: without a command of its own it runs the lines that it reads, and finds no
 * replacement strings ({}, {/}, {= perl =}) in them.
 */
#include "report/shard_script.h"

#include "base/arena.h"
#include "base/version.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHARDS_LEAST = 8, PIECES_OF_SHARD = 1000, TRIES = 3 };

/* ---- words of a shell ----------------------------------------------------------------------- */

const char *shell_quoted(struct arena *arena, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_./:,+@%=";
    if (text[0] != '\0' && text[0] != '=' && text[strspn(text, plain)] == '\0') {
        return text;
    }
    const char *quoted = "'";
    for (const char *quote; (quote = strchr(text, '\'')) != NULL; text = quote + 1) {
        quoted = arena_printf(arena, "%s%.*s'\\''", quoted, (int)(quote - text), text);
    }
    return arena_printf(arena, "%s%s'", quoted, text);
}

/* ---- what scripts have in common ------------------------------------------------------------ */

/* All of it is quoted. */
struct script {
    const char *program, *folder, *here, *path; /* `path` sets STOKER_PATH, or is "" */
    const char *shard;                          /* "sweep" */
    const char *words;                          /* behind --shard and the file: "-- file.yaml" */
    const char *jobs;                           /* "4" where the user says so; or NULL */
    uint32_t count;
};

static const char *current_folder(struct arena *arena)
{
    char path[4096];
    return getcwd(path, sizeof path) != NULL ? arena_strdup(arena, path) : ".";
}

static uint32_t shard_count(const struct shard_script *asked)
{
    const uint32_t full = (asked->piece_count + PIECES_OF_SHARD - 1) / PIECES_OF_SHARD;
    uint32_t count = full > SHARDS_LEAST ? full : SHARDS_LEAST;
    count = count < asked->piece_count ? count : asked->piece_count;
    count = count < SHARD_SCRIPT_MAX ? count : SHARD_SCRIPT_MAX;
    return asked->count > 0 ? asked->count : count > 0 ? count : 1;
}

static struct script script_of(struct arena *arena, const struct shard_script *asked)
{
    const char *folder = stoker_program_dir(arena);
    const char *path = getenv("STOKER_PATH");
    struct script script = {
        .program = shell_quoted(arena, folder != NULL ? arena_printf(arena, "%s/stoker", folder)
                                                      : "stoker"),
        .folder = shell_quoted(arena, asked->folder),
        .here = shell_quoted(arena, current_folder(arena)),
        .path = "",
        .shard = asked->command,
        .words = asked->words,
        .jobs = asked->jobs,
        .count = shard_count(asked),
    };
    if (path != NULL && path[0] != '\0') {
        script.path = arena_printf(arena, "STOKER_PATH=%s ", shell_quoted(arena, path));
    }
    return script;
}

static bool check_lines(const struct script *script, struct diag *diag)
{
    const char *const texts[] = {script->program, script->folder, script->here, script->path,
                                 script->words};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strpbrk(texts[i], "\n\r") != NULL) {
            diag_add(diag, DIAG_USAGE, NULL,
                     "a path or an option with a line break in it cannot stand in a script");
            diag_help(diag, "use names without one");
            return false;
        }
    }
    return true;
}

/* Of the files that shards have left. */
static void print_join(const struct shard_script *asked, const char *indent, FILE *out)
{
    fprintf(out,
            "%sset --\n"
            "%sk=1\n"
            "%swhile [ $k -le $shards ]; do\n"
            "%s    [ ! -e \"$folder/$k%s\" ] || set -- \"$@\" %s\"$folder/$k%s\"\n"
            "%s    k=$((k + 1))\n"
            "%sdone\n"
            "%s[ $# -gt 0 ] || { echo \"no shard has left a file in $folder\" >&2; exit 1; }\n"
            "%s\"$stoker\" %s \"$@\"%s\n",
            indent, indent, indent, indent, asked->suffix, asked->read, asked->suffix, indent,
            indent, indent, indent, asked->join, asked->join_words);
}

/* ---- Slurm ---------------------------------------------------------------------------------- */

static void print_slurm_head(const struct script *script, const struct shard_script *asked,
                             FILE *out)
{
    fprintf(out,
            "#!/bin/bash\n"
            "# %" PRIu32 " shards of the %" PRIu32
            " %s of `stoker %s`, as a Slurm job array; and a "
            "job behind it\n"
            "# that runs those again that failed, and joins them. By stoker %s (sources %.8s).\n"
            "#\n"
            "#     sbatch THIS    or, where only login nodes may submit jobs:    bash THIS\n"
            "#\n"
            "# The folder below and the program must be there on every node. What your cluster\n"
            "# wants (--partition, --account, --time, --mem) is added here, for all jobs:\n"
            "#SBATCH --job-name=stoker\n"
            "#SBATCH --array=1-%" PRIu32 "\n"
            "#SBATCH --cpus-per-task=%s\n"
            "#SBATCH --requeue\n"
            "#SBATCH --open-mode=append\n"
            "#SBATCH --output=stoker-%%A_%%a.out\n"
            "\n",
            script->count, asked->piece_count, asked->pieces, script->shard, stoker_version(),
            stoker_build(), script->count, script->jobs != NULL ? script->jobs : "1");
}

static void print_slurm_commands(const struct script *script, const struct shard_script *asked,
                                 FILE *out)
{
    fprintf(out,
            "self=$(realpath \"$0\")\n"
            "cd %s || exit 1\n"
            "stoker=${STOKER:-%s}\n"
            "folder=%s\n"
            "shards=%" PRIu32 "\n"
            "try=${STOKER_TRY:-1} tries=%d\n"
            "%s%s%s"
            "\n"
            "shard() {\n"
            "    \"$stoker\" %s --shard=\"$1/$shards\" %s\"$folder/$1%s\" --quiet \\\n"
            "        --jobs=\"${SLURM_CPUS_PER_TASK:-%s}\"%s > /dev/null\n"
            "}\n"
            "\n"
            "join() {\n",
            script->here, script->program, script->folder, script->count, TRIES,
            script->path[0] != '\0' ? "export " : "", script->path,
            script->path[0] != '\0' ? "\n" : "", script->shard, asked->write, asked->suffix,
            script->jobs != NULL ? script->jobs : "1", script->words);
    print_join(asked, "    ", out);
    fputs("}\n\n", out);
}

static const char slurm_tail[] =
    "# after ID TRY: submits the merge, behind the array of that number.\n"
    "after() {\n"
    "    sbatch --parsable --dependency=\"afterany:${1%%;*}\" --array=0 \\\n"
    "        --export=ALL,STOKER_TRY=\"$2\" \"$self\" > /dev/null\n"
    "}\n"
    "\n"
    "# again SHARD,...: submits them once more, and the merge behind them.\n"
    "again() {\n"
    "    id=$(sbatch --parsable --array=\"$1\" \\\n"
    "        --export=ALL,STOKER_TRY=\"$((try + 1))\",STOKER_MERGE=submitted \"$self\") || return\n"
    "    after \"$id\" \"$((try + 1))\"\n"
    "}\n"
    "\n"
    "# The shards that left no exit status or a bad one, \"3,7\": their node or their time was "
    "up,\n"
    "# or points failed. What is wrong with the input (2, 3) stays wrong.\n"
    "failed() {\n"
    "    list=\n"
    "    for ((k = 1; k <= shards; k++)); do\n"
    "        case $(cat \"$folder/$k.status\" 2> /dev/null) in\n"
    "        0 | 2 | 3) ;;\n"
    "        *) list=$list,$k ;;\n"
    "        esac\n"
    "    done\n"
    "    echo \"${list#,}\"\n"
    "}\n"
    "\n"
    "case ${SLURM_ARRAY_TASK_ID-} in\n"
    "'') # not in the array: submit it\n"
    "    mkdir -p \"$folder\" && rm -f \"$folder\"/*.status || exit\n"
    "    id=$(sbatch --parsable --export=ALL,STOKER_TRY=1,STOKER_MERGE=submitted \"$self\") &&\n"
    "        after \"$id\" 1 && echo \"submitted: job ${id%%;*}, and the merge behind it\"\n"
    "    ;;\n"
    "0) # the merge\n"
    "    list=$(failed)\n"
    "    if [ -n \"$list\" ] && [ \"$try\" -lt \"$tries\" ]; then\n"
    "        echo \"run again, after try $try of $tries: shards $list\"\n"
    "        again \"$list\" && exit\n"
    "    fi\n"
    "    [ -z \"$list\" ] || echo \"these shards have failed: $list\"\n"
    "    join\n"
    "    ;;\n"
    "*) # a shard\n"
    "    mkdir -p \"$folder\" || exit\n"
    "    if [ -z \"${STOKER_MERGE-}\" ] && [ \"$SLURM_ARRAY_TASK_ID\" = \"$SLURM_ARRAY_TASK_MIN\" "
    "] &&\n"
    "        mkdir \"$folder/merge-$SLURM_ARRAY_JOB_ID\" 2> /dev/null; then\n"
    "        after \"$SLURM_ARRAY_JOB_ID\" 1\n"
    "    fi\n"
    "    rm -f \"$folder/$SLURM_ARRAY_TASK_ID.status\"\n"
    "    shard \"$SLURM_ARRAY_TASK_ID\"\n"
    "    status=$?\n"
    "    echo $status > \"$folder/$SLURM_ARRAY_TASK_ID.status\"\n"
    "    exit $status\n"
    "    ;;\n"
    "esac\n";

/* ---- GNU parallel --------------------------------------------------------------------------- */

static void print_parallel(const struct script *script, const struct shard_script *asked, FILE *out)
{
    fprintf(
        out,
        "#!/bin/sh\n"
        "# %" PRIu32 " shards of the %" PRIu32 " %s of `stoker %s`, by GNU parallel; then they are "
        "joined.\n"
        "# By stoker %s (sources %.8s).\n"
        "#\n"
        "#     sh THIS                   on this machine\n"
        "#     sh THIS -S one,two        over ssh on these, which have the folder below and the\n"
        "#                               program; any option of parallel may stand here\n"
        "#\n"
        "# A shard that failed is run again, %d times in all, on another machine where there is\n"
        "# one; its points that are done are not repeated. The same command goes on where it\n"
        "# was stopped.\n"
        "cd %s || exit 1\n"
        "stoker=%s\n"
        "folder=%s\n"
        "mkdir -p \"$folder\" || exit\n"
        "parallel --will-cite --jobs 1 --retries %d --joblog \"$folder/joblog\" \"$@\" << "
        "'SHARDS'\n",
        script->count, asked->piece_count, asked->pieces, script->shard, stoker_version(),
        stoker_build(), TRIES, script->here, script->program, script->folder, TRIES);
    for (uint32_t i = 1; i <= script->count; i++) {
        fprintf(out,
                "cd %s && %s%s %s --shard=%" PRIu32 "/%" PRIu32 " %s%s/%" PRIu32
                "%s --quiet%s%s%s > /dev/null\n",
                script->here, script->path, script->program, script->shard, i, script->count,
                asked->write, script->folder, i, asked->suffix,
                script->jobs != NULL ? " --jobs=" : "", script->jobs != NULL ? script->jobs : "",
                script->words);
    }
    fprintf(out,
            "SHARDS\n"
            "status=$?\n"
            "[ $status -eq 0 ] || echo \"$status shards have failed: see $folder/joblog\" >&2\n"
            "shards=%" PRIu32 "\n"
            "%s%s%s",
            script->count, script->path[0] != '\0' ? "export " : "", script->path,
            script->path[0] != '\0' ? "\n" : "");
    print_join(asked, "", out);
}

bool shard_script_print(struct arena *arena, const struct shard_script *asked, FILE *out,
                        struct diag *diag)
{
    const struct script script = script_of(arena, asked);
    if (!check_lines(&script, diag)) {
        return false;
    }
    if (asked->is_slurm) {
        print_slurm_head(&script, asked, out);
        print_slurm_commands(&script, asked, out);
        fputs(slurm_tail, out);
    } else {
        print_parallel(&script, asked, out);
    }
    return true;
}
