# What goes wrong on the machine is never taken for a verdict of the model.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    db=$work/results.db
    # Point 0 and 2 fit, point 1 does not divide.
    { cat scenarios/quickstart.yaml; echo 'sweep: {batch.micro: [1, 3, 2]}'; } > "$work/study.yaml"
    export ASAN_OPTIONS=verify_asan_link_order=0
}

# Every row of every table but for what the engine took.
rows_of() {
    python3 - "$1" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for (table,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1").fetchall():
    columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
    columns = [name for name in columns if name not in ("engine_host_s", "engine_host_peak_bytes")]
    for row in db.execute(f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid"):
        print(table, row)
PY
}

# A file of the catalogue is read once for each point to name the study, and once to predict it. A
# bad block in the first three: the study has no name, and nothing is stored. In one of the others:
# that point has failed, and the next run makes up for it.
@test "a file that cannot be read fails a point, or the command: no verdict, no other study" {
    "${CC:-cc}" -shared -fPIC -o "$work/preload.so" tests/cli/preload_open.c
    "$STOKER" sweep "$work/study.yaml" --db "$work/whole.db" > "$work/whole" 2> /dev/null
    rows_of "$work/whole.db" | sort > "$work/whole.rows"
    [ "$(grep -c '^point (.*infeasible' "$work/whole.rows")" -eq 1 ]
    for file in megatron-2024.yaml h100-sxm5-80gb.yaml; do
        for at in 1 2 3 4 5 6; do
            rm -f "$db"
            run env LD_PRELOAD="$work/preload.so" OPEN_FAIL="/$file" OPEN_FAIL_AT=$at \
                "$STOKER" sweep "$work/study.yaml" --db "$db"
            [[ $output == *"$file"*"this file cannot be read to its end"* ||
                $output == *"failed: this file cannot be read to its end"* ]]
            if [ "$at" -le 3 ]; then
                [ "$status" -eq 1 ]
                [ ! -e "$db" ]
                continue
            fi
            [ "$status" -eq 5 ]
            [[ $output == *" 1 failed (0 reused)"* ]]
            run --separate-stderr "$STOKER" sweep "$work/study.yaml" --db "$db"
            [ "$status" -eq 0 ]
            [[ $stderr == *"3 points: 2 ok, 1 infeasible, 0 failed (2 reused)"* ]]
            [ "$output" = "$(cat "$work/whole")" ]
            diff "$work/whole.rows" <(rows_of "$db" | sort)
        done
    done
    # The seventh opening of it is the first that nobody makes.
    run env LD_PRELOAD="$work/preload.so" OPEN_FAIL="/$file" OPEN_FAIL_AT=7 \
        "$STOKER" sweep "$work/study.yaml" --db "$work/last.db"
    [ "$status" -eq 0 ]
}

@test "a scenario that cannot be read to its end is status 1" {
    "${CC:-cc}" -shared -fPIC -o "$work/preload.so" tests/cli/preload_open.c
    for command in "run $work/study.yaml --no-db" "sweep $work/study.yaml --db $db" \
        "compare $work/study.yaml --db $db" "explain $work/study.yaml"; do
        # shellcheck disable=SC2086 # words
        run env LD_PRELOAD="$work/preload.so" OPEN_FAIL=/study.yaml OPEN_FAIL_AT=1 "$STOKER" $command
        [ "$status" -eq 1 ]
        [[ $output == *"study.yaml: error: this file cannot be read to its end"* ]]
    done
    [ ! -e "$db" ]
}
