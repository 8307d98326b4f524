# A study on many processes: the rows are those of one.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    study=$work/study.yaml
    # 64 points: of a fourth of them the sizes do not divide, two by two they are one run under two
    # names, and those without recomputation do not fit.
    cat > "$study" << 'END'
scenario: GPT-3 on many
model: gpt3-175b
cluster: h100-3200
gpus: 1024
software: megatron-2024
parallel: {tp: 8, pp: 8, sequence_parallel: true}
batch: {global: 128, micro: 1, sequence_length: 2048}
variants: [{name: one}, {name: the same}, {name: more, set: {batch.global: 256}}, {name: odd, set: {batch.global: 100}}]
sweep:
  cluster.network: [400 Gbps, 800 Gbps, 1600 Gbps, 3200 Gbps]
  recompute: [none, full]
  parallel.zero: [0, 1]
END
}

rows() {
    tests/support/store-rows "$1"
}

whole() {
    "$STOKER" sweep "$study" -j 1 --db "$work/whole.db" > "$work/whole" 2> /dev/null
    rows "$work/whole.db" > "$work/whole.rows"
    [ "$(grep -c '^point ' "$work/whole.rows")" -eq 64 ]
    [ "$(grep -c '^point .*infeasible' "$work/whole.rows")" -ge 16 ]
}

@test "a sweep has the same rows and prints the same for every number of processes" {
    whole
    for jobs in 2 4 64; do
        "$STOKER" sweep "$study" -j $jobs --db "$work/$jobs.db" 2> /dev/null | cmp - "$work/whole"
        diff "$work/whole.rows" <(rows "$work/$jobs.db")
    done
}

@test "a sweep of several processes that was killed goes on to the same rows" {
    whole
    for _ in 1 2 3; do
        "$STOKER" sweep "$study" -j 4 --db "$work/killed.db" > /dev/null 2>&1 &
        sweeper=$!
        for _ in $(seq 400); do
            points=$("$STOKER" list studies --db "$work/killed.db" 2> /dev/null | awk 'NR == 2 { print $3 }')
            [ "${points:-0}" -ge 1 ] && break
            sleep 0.005
        done
        kill -9 "$sweeper" 2> /dev/null || true
        wait "$sweeper" || true
    done
    run --separate-stderr "$STOKER" sweep "$study" -j 3 --db "$work/killed.db"
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat "$work/whole")" ]
    [[ "$stderr" =~ \(([0-9]+)\ reused\) ]]
    [ "${BASH_REMATCH[1]}" -ge 1 ]
    diff "$work/whole.rows" <(rows "$work/killed.db")
}

@test "on a terminal a sweep says how fast it is and how long it will take" {
    command -v script > /dev/null || skip "script is missing"
    script -qec "'$STOKER' sweep '$study' -j 2 --db '$work/t.db'" /dev/null < /dev/null > "$work/shown"
    grep -qE '[0-9]+ of 64 points, [0-9]+ infeasible, [0-9.]+/s, [0-9.]+ (s|ms|min|h) left' "$work/shown"
}

@test "a number of processes that cannot be is wrong usage" {
    for wrong in 0 -1 x 257 ''; do
        run -2 "$STOKER" sweep "$study" --db "$work/none.db" -j "$wrong"
        [[ $output == *"--jobs is a count from 1 to 256, not '$wrong'"* ]]
    done
    [ ! -e "$work/none.db" ]
}
