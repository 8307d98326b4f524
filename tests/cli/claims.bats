# The claims of tests/claims/claims.csv: each command gives the figure that results/CLAIMS.md shows, and
# the verdict that stands there is that of the figure.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    export STOKER
}

@test "every claim has its figure and its verdict" {
    tests/claims/claims
}

# A copy whose one figure is 5 % off, or whose verdict is turned, does not pass.
@test "a figure that is another, or a wrong verdict, is found" {
    mkdir -p "$BATS_TEST_TMPDIR/tests" "$BATS_TEST_TMPDIR/results"
    cp -r tests/claims "$BATS_TEST_TMPDIR/tests"
    cp results/CLAIMS.md "$BATS_TEST_TMPDIR/results"
    for entry in models topologies scenarios; do
        ln -s "$PWD/$entry" "$BATS_TEST_TMPDIR/$entry"
    done
    claims=$BATS_TEST_TMPDIR/tests/claims/claims
    "$claims"
    sed -i 's/^weights-7b,\(.*\),14e9,/weights-7b,\1,14.7e9,/' "$claims.csv"
    run -1 "$claims"
    [[ $output == *"weights-7b: 1.4e+10 is 4.9 % from 14.7e9"*"CLAIMS.md is another"* ]]
    cp tests/claims/claims.csv "$claims.csv"
    sed -i '/^days-405b,/s/,differs,/,agrees,/' "$claims.csv"
    run -1 "$claims"
    [[ $output == *"days-405b: 68.7"*"the verdict is 'agrees'"* ]]
    cp tests/claims/claims.csv "$claims.csv"
    sed -i '/^c-65b,/s/65.2e9 --tokens/68.5e9 --tokens/' "$claims.csv"
    run -1 "$claims"
    [[ $output == *"c-65b: 5.75"* ]]
}
