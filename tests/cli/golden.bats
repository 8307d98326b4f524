# Every prediction in tests/golden is what it was when it was last argued.

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
}

@test "the predictions of the golden scenarios have not changed" {
    while read -r name; do
        tests/golden/screen "$STOKER" "scenarios/$name.yaml" > "$BATS_TEST_TMPDIR/$name.txt"
        diff -u "tests/golden/$name.txt" "$BATS_TEST_TMPDIR/$name.txt"
    done < tests/golden/scenarios.list
}

@test "the predictions of the golden collectives have not changed" {
    while read -r name arguments; do
        # shellcheck disable=SC2086 # the list holds words
        "$STOKER" collective $arguments > "$BATS_TEST_TMPDIR/$name.txt"
        diff -u "tests/golden/$name.txt" "$BATS_TEST_TMPDIR/$name.txt"
    done < tests/golden/collectives.list
}

# What folding made of a scenario (ranks simulated, tasks, events) is as deterministic as its step; a
# fold that got worse would show nowhere else.
@test "the golden texts hold how much was simulated" {
    while read -r name; do
        run grep -cE '^simulated [0-9,]+ of [0-9,]+ ranks, [0-9,]+ tasks, [0-9,]+ events$' \
            "tests/golden/$name.txt"
        [ "$output" -eq 1 ]
    done < tests/golden/scenarios.list
    run grep -rlE ' events in ' tests/golden --include='*.txt'
    [ "$status" -eq 1 ]
}
