# Random scenarios (tests/support/random_scenario), through the whole program: whoever computes a
# point, and whatever was computed before, it is what a run of its own gives.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    generator=$(dirname "$STOKER")/tests/fuzz/test_identity
    [ -x "$generator" ] || generator=build/gcc-release/tests/fuzz/test_identity
    work=$BATS_TEST_TMPDIR
    few_tasks="0 1 4 5 6 10 18 21" # dense, experts, ZeRO-3, slow GPUs, ECMP; 8 to 512 GPUs
}

# A study of eight points of the scenario with that number.
study_of() {
    "$generator" --print 1 "$1"
    cat << 'END'
sweep:
  cluster.nics.bandwidth: [80 Gbps, 200 Gbps]
  recompute: [none, full]
  software.p2p.calls: [apart, in-turn]
END
}

# Each point as `run` has it, less what the engine took on this machine.
runs_of() {
    local bandwidth recompute calls
    for bandwidth in 80 200; do
        for recompute in none full; do
            for calls in apart in-turn; do
                "$STOKER" run "$1" --no-db -q --json --set "cluster.nics.bandwidth=$bandwidth Gbps" \
                    --set "recompute=$recompute" --set "software.p2p.calls=$calls" |
                    jq -cS '[.step_time_s, .mfu, .breakdown, .memory.peak_bytes, .bound_by]'
            done
        done
    done
}

@test "points of random studies are the same for every number of processes" {
    for number in $few_tasks; do
        study_of "$number" > "$work/study.yaml"
        for jobs in 1 4; do
            rm -f "$work/$jobs.db"
            "$STOKER" sweep "$work/study.yaml" -j "$jobs" --db "$work/$jobs.db" -q > "$work/$jobs.text"
            tests/support/store-rows "$work/$jobs.db" > "$work/$jobs.rows"
        done
        [ "$(grep -c '^point ' "$work/1.rows")" -eq 8 ]
        cmp "$work/1.text" "$work/4.text"
        diff "$work/1.rows" "$work/4.rows"
    done
}

@test "points of random studies are what runs of their own give" {
    for number in $few_tasks; do
        study_of "$number" > "$work/study.yaml"
        "$STOKER" sweep "$work/study.yaml" -j 1 --db "$work/$number.db" -q --json > "$work/points.json"
        jq -cS '.points[] | [.step_time_s, .mfu, .breakdown, .memory.peak_bytes, .bound_by]' \
            "$work/points.json" > "$work/points"
        runs_of "$work/study.yaml" > "$work/runs"
        [ "$(wc -l < "$work/runs")" -eq 8 ]
        diff "$work/runs" "$work/points"
    done
}
