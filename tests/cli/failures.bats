# What goes wrong on the machine is never taken for a verdict of the model.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    db=$work/results.db
    # Point 0 and 2 fit, point 1 does not divide.
    { cat scenarios/quickstart.yaml; echo 'sweep: {batch.micro: [1, 3, 2]}'; } > "$work/study.yaml"
    # The sanitizer's library would be the first, and end a process that gets SIGSEGV itself.
    export ASAN_OPTIONS=verify_asan_link_order=0:handle_segv=0
}

build_preload() {
    "${CC:-cc}" -shared -fPIC -o "$work/preload.so" tests/cli/preload.c -ldl
}

rows_of() {
    tests/support/store-rows "$1"
}

# A file of the catalogue is read once, to name the study. A bad block in it: the study has no name,
# and nothing is stored. When it can be read again, so can the study.
@test "a file that cannot be read ends the command: no verdict, no other study" {
    build_preload
    "$STOKER" sweep "$work/study.yaml" --db "$work/whole.db" > "$work/whole" 2> /dev/null
    rows_of "$work/whole.db" | sort > "$work/whole.rows"
    [ "$(grep -c '^point (.*infeasible' "$work/whole.rows")" -eq 1 ]
    for file in megatron-2024.yaml h100-sxm5-80gb.yaml; do
        rm -f "$db"
        run env LD_PRELOAD="$work/preload.so" OPEN_FAIL="/$file" OPEN_FAIL_AT=1 \
            "$STOKER" sweep "$work/study.yaml" --db "$db"
        [ "$status" -eq 1 ]
        [[ $output == *"$file"*"this file cannot be read to its end"* ]]
        [ ! -e "$db" ]
        # The second opening of it is the first that nobody makes.
        run --separate-stderr env LD_PRELOAD="$work/preload.so" OPEN_FAIL="/$file" OPEN_FAIL_AT=2 \
            "$STOKER" sweep "$work/study.yaml" --db "$db"
        [ "$status" -eq 0 ]
        [ "$output" = "$(cat "$work/whole")" ]
        diff "$work/whole.rows" <(rows_of "$db" | sort)
    done
}

@test "a scenario that cannot be read to its end is status 1" {
    build_preload
    for command in "run $work/study.yaml --no-db" "sweep $work/study.yaml --db $db" \
        "compare $work/study.yaml --db $db" "explain $work/study.yaml"; do
        # shellcheck disable=SC2086 # words
        run env LD_PRELOAD="$work/preload.so" OPEN_FAIL=/study.yaml OPEN_FAIL_AT=1 "$STOKER" $command
        [ "$status" -eq 1 ]
        [[ $output == *"study.yaml: error: this file cannot be read to its end"* ]]
    done
    [ ! -e "$db" ]
}

# ---- processes ----------------------------------------------------------------------------

# The children of a process; without pgrep, which a small system lacks.
children_of() {
    awk -v parent="$1" '$4 == parent { print $1 }' /proc/[0-9]*/stat 2> /dev/null || true
}

# The first child of a process that is there; fails when the process ends without one.
child_of() {
    local child=
    while [ -z "$child" ] && kill -0 "$1" 2> /dev/null; do
        child=$(children_of "$1" | head -1)
    done
    [ -n "$child" ] && echo "$child"
}

# A study of 96 points: enough to meet its worker alive.
write_many() {
    many=$work/many.yaml
    { cat scenarios/quickstart.yaml; echo "sweep: {batch.global: [$(seq -s ', ' 32 32 3072)]}"; } > "$many"
}

# Neither gone nor a zombie that nobody has fetched yet.
is_alive() {
    [ -e "/proc/$1/stat" ] && ! grep -q '^[0-9]* (.*) [ZX]' "/proc/$1/stat" 2> /dev/null
}

# Waits for the end of a process; where much else runs, for half a minute.
assert_ends() {
    for _ in $(seq 1500); do
        is_alive "$1" || return 0
        sleep 0.02
    done
    return 1
}

# Each of 32,768 GPUs is simulated, which wants more than 150 MB; of 64 and 128 a tenth of that.
@test "a point that runs out of memory has failed, and the sweep goes on" {
    [[ $STOKER != *-asan/* ]] || skip "the sanitizer reserves more memory than there is"
    sed 's/global: 256/global: 16384/' scenarios/quickstart.yaml > "$work/poison.yaml"
    echo 'sweep: {gpus: [64, 32768, 128]}' >> "$work/poison.yaml"
    for reused in 0 2; do
        run --separate-stderr bash -c 'ulimit -v 120000; exec "$@"' - \
            "$STOKER" sweep "$work/poison.yaml" --fold off --db "$db"
        [ "$status" -eq 5 ]
        [[ $output == *"failed: its process ended with status 1: out of memory ("*" bytes were asked for)"* ]]
        [[ $stderr == *"3 points: 2 ok, 0 infeasible, 1 failed ($reused reused)"* ]]
    done
}

@test "a worker that is killed costs its point, which the next run repeats" {
    write_many
    "$STOKER" sweep "$many" --db "$work/whole.db" > "$work/whole" 2> /dev/null
    for signal in KILL ABRT SEGV; do
        rm -f "$db"
        "$STOKER" sweep "$many" --db "$db" --json > "$work/json" 2> "$work/err" &
        sweeper=$!
        worker=$(child_of $sweeper)
        kill -STOP "$worker"
        kill -$signal "$worker"
        kill -CONT "$worker" 2> /dev/null || true
        status=0
        wait $sweeper || status=$?
        [ "$status" -eq 5 ]
        python3 - "$work/json" "$signal" <<'PY'
import json, signal, sys
document = json.load(open(sys.argv[1]))
assert len(document["points"]) == 96 and document["counts"]["failed"] == 1
number = int(getattr(signal, "SIG" + sys.argv[2]))
(failed,) = [point for point in document["points"] if point["status"] == "failed"]
assert failed["message"].startswith(f"its process was killed by signal {number} ("), failed
PY
        run --separate-stderr "$STOKER" sweep "$many" --db "$db"
        [ "$status" -eq 0 ]
        [[ $stderr == *" 0 failed (95 reused)"* ]]
        [ "$output" = "$(cat "$work/whole")" ]
    done
    diff <(rows_of "$work/whole.db" | sort) <(rows_of "$db" | sort)
}

# The worker is stopped: it could not see for itself that there is nobody to work for.
@test "no worker outlives the command, however that ends" {
    write_many
    for signal in KILL TERM HUP; do
        rm -f "$db"
        "$STOKER" sweep "$many" --db "$db" > /dev/null 2>&1 &
        sweeper=$!
        worker=$(child_of $sweeper)
        kill -STOP "$worker"
        is_alive "$worker"
        kill -$signal $sweeper
        wait $sweeper || true
        assert_ends "$worker"
    done
    "$STOKER" validate tests/published/runs.csv -j 3 > /dev/null 2>&1 &
    validator=$!
    worker=$(child_of $validator)
    for _ in {1..100}; do # they begin one after the other
        mapfile -t workers < <(children_of $validator)
        ((${#workers[@]} < 3)) || break
        sleep 0.05
    done
    [ "${#workers[@]}" -eq 3 ]
    kill -STOP "${workers[@]}"
    kill -KILL $validator
    wait $validator || true
    for worker in "${workers[@]}"; do
        assert_ends "$worker"
    done
}

@test "a row whose process is killed is named, and the others are scored" {
    head -200 tests/published/runs.csv > "$work/some.csv"
    for _ in {1..20}; do # its process may be done, or one that draws, before it is found
        rm -f "$work"/errors*
        "$STOKER" validate "$work/some.csv" -j 2 --plot "$work/errors" --json > "$work/json" 2> "$work/err" &
        validator=$!
        worker=$(child_of $validator) || true
        [ -z "$worker" ] || kill -KILL "$worker" 2> /dev/null || true
        status=0
        wait $validator || status=$?
        ! grep -q '^error: row .* was killed by signal 9' "$work/err" || break
    done
    [ "$status" -eq 1 ]
    "$STOKER" validate "$work/some.csv" --json > "$work/whole"
    python3 - "$work/json" "$work/whole" "$(cat "$work/err")" <<'PY'
import json, sys
some, whole = (json.load(open(path)) for path in sys.argv[1:3])
assert len(some["rows"]) == len(whole["rows"]) == 199
different = [(a, b) for a, b in zip(some["rows"], whole["rows"]) if a != b]
((killed, good),) = different
assert killed["status"] == "skipped" and not killed["is_scored"]
assert killed["reason"] == "its process was killed by signal 9 (Killed)"
assert f"row '{good['id']}' was not predicted: its process was killed by signal 9 (Killed)" in sys.argv[3]
assert some["summary"]["skipped"] == whole["summary"]["skipped"] + 1
PY
    [ ! -e "$work/errors.csv" ]
}

@test "a row whose files cannot be read is named, too" {
    build_preload
    head -12 tests/published/runs.csv > "$work/some.csv"
    run env LD_PRELOAD="$work/preload.so" OPEN_FAIL=/h100-sxm5-80gb.yaml OPEN_FAIL_AT=1 \
        "$STOKER" validate "$work/some.csv" -j 1
    [ "$status" -eq 1 ]
    [[ $output == *"was not predicted: this file cannot be read to its end"* ]]
}

# Without processes the command does the work itself; after the second fork, what is left of it.
@test "where no process can be started the result is the same" {
    build_preload
    "$STOKER" sweep "$work/study.yaml" --db "$work/whole.db" > "$work/whole" 2> /dev/null
    head -20 tests/published/runs.csv > "$work/some.csv"
    "$STOKER" validate "$work/some.csv" -j 3 --json > "$work/rows"
    for at in 1 2; do
        rm -f "$db"
        LD_PRELOAD=$work/preload.so FORK_FAIL_AT=$at "$STOKER" sweep "$work/study.yaml" --db "$db" \
            -q | cmp - "$work/whole"
        diff <(rows_of "$work/whole.db" | sort) <(rows_of "$db" | sort)
        LD_PRELOAD=$work/preload.so FORK_FAIL_AT=$at "$STOKER" validate "$work/some.csv" -j 3 --json |
            cmp - "$work/rows"
    done
}

# A writer that stays: the points of one transaction wait for it once, not once more one by one. What
# is 20 s elsewhere is 2 s here, and one by one would be minutes.
@test "a results file that another program keeps locked is waited for once, and nothing is lost" {
    build_preload
    write_many
    "$STOKER" sweep "$many" --db "$work/whole.db" > "$work/whole" 2> /dev/null
    LD_PRELOAD=$work/preload.so BUSY_MS=2000 "$STOKER" sweep "$many" -j 1 --db "$db" \
        > /dev/null 2> "$work/err" &
    sweeper=$!
    worker=$(child_of $sweeper)
    kill -STOP "$worker"
    python3 - "$db" "$sweeper" "$worker" <<'PY'
import os, signal, sqlite3, sys, time
holder = sqlite3.connect(sys.argv[1], timeout=10, isolation_level=None)
holder.execute("BEGIN IMMEDIATE")
begin = time.monotonic()
os.kill(int(sys.argv[3]), signal.SIGCONT)

def is_alive():
    try:
        return open(f"/proc/{sys.argv[2]}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError): # gone before it is opened, or before it is read
        return False

while is_alive() and time.monotonic() < begin + 30:
    time.sleep(0.02)
waited = time.monotonic() - begin
assert 1.9 < waited < 20, waited
PY
    status=0
    wait $sweeper || status=$?
    [ "$status" -eq 1 ]
    grep -q "cannot write: database is locked" "$work/err"
    grep -q "another program is writing to it; try again" "$work/err"
    run --separate-stderr "$STOKER" sweep "$many" --db "$db"
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat "$work/whole")" ]
}

# Of 128 GPUs each needs 32 MB + 128 * 5 kB = 32.6 MB; the machine is said to have 8,192, 16,384 or
# 49,152 pages of 4 KiB: 33.6, 67.1 and 201 MB.
@test "more memory than the machine has is told before it starts, with the figure and what has room" {
    [ "$(getconf PAGESIZE)" -eq 4096 ] || skip "pages of another size"
    build_preload
    { cat scenarios/quickstart.yaml; echo 'sweep: {gpus: [64, 128], batch.micro: [1, 2]}'; } > "$work/four.yaml"
    sweep_with() {
        rm -f "$db"
        run --separate-stderr env LD_PRELOAD="$work/preload.so" PHYS_PAGES="$1" "$STOKER" sweep \
            "$work/four.yaml" --fold=off --db "$db" "${@:2}"
        [ "$status" -eq 0 ]
    }
    sweep_with 16384 -j 4
    [[ ${stderr_lines[0]} == "warning: 4 processes may need about 131 MB of memory together (32.6 MB for '"*"'), and this machine has 67.1 MB" ]]
    [[ ${stderr_lines[1]} == *"-j 2 has room" ]]
    sweep_with 49152 -j 4
    [[ $stderr != *"of memory"* ]]
    sweep_with 7900
    [[ $stderr == *"needs about 32.6 MB of memory to be simulated, and this machine has 32.4 MB"* ]]
    [[ $stderr == *"4 points: 4 ok"* ]]
    if [ "$(nproc)" -gt 1 ]; then
        sweep_with 8192
        [[ $stderr == *"note: 1 process, not "*": each may need about 32.6 MB"* ]]
    fi
    run --separate-stderr env LD_PRELOAD="$work/preload.so" PHYS_PAGES=7000 "$STOKER" run \
        scenarios/quickstart.yaml --no-db
    [ "$status" -eq 0 ]
    [[ ${stderr_lines[0]} == *"needs about 32.0 MB of memory"*"has 28.7 MB" ]]
    run --separate-stderr env LD_PRELOAD="$work/preload.so" PHYS_PAGES=7000 "$STOKER" run \
        scenarios/quickstart.yaml --no-db -q
    [[ $stderr != *"of memory"* ]]
}
