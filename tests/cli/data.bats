# A DataLoader that cannot keep up sets the pace, and the prediction says so.

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
}

step_s() {
    "$STOKER" run scenarios/quickstart.yaml --no-db --json "$@" |
        sed -nE 's/.*"step_time_s": ([0-9.e+-]+),?/\1/p'
}

# 8 microbatches of one sequence, 20 s each to make, 2 workers: 8 x 20 / 2 = 80 s a step.
@test "two workers of 20 s a sequence make a step of 80 s" {
    run step_s --set data.time_per_sample="20 s" --set data.workers_per_gpu=2
    awk -v s="$output" 'BEGIN { exit !(s > 79.9 && s < 80.1) }'
}

@test "a step that waits for data says that it is bound by it" {
    run "$STOKER" run scenarios/quickstart.yaml --no-db --set data.time_per_sample="20 s"
    [ "$status" -eq 0 ]
    [[ "$output" == *"bound by data stall (9"* ]]
    [[ "$output" == *"data stall "* ]]
}

@test "a loader that keeps up costs nothing" {
    [ "$(step_s)" = "$(step_s --set data.time_per_sample="10 ms")" ]
}
