# stoker plot pipeline: when each stage computes what.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
}

# 4 stages of 32 microbatches: 128 forwards and 128 backwards of 1F1B; ZB-H1 has 128 B and 128 W.
@test "plot pipeline draws every action of each stage" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    for schedule in 1f1b zb-h1 dualpipe; do
        run "$STOKER" plot pipeline scenarios/quickstart.yaml --set parallel.pp=4 \
            --set "parallel.schedule=$schedule" -o "$work/$schedule"
        [ "$status" -eq 0 ]
        for suffix in svg png csv gp; do
            [ -s "$work/$schedule.$suffix" ]
            [[ "$output" == *"/$schedule.$suffix"* ]]
        done
    done
    [ "$(grep -c '"forward"' "$work/1f1b.csv")" -eq 128 ]
    [ "$(grep -c '"backward"' "$work/1f1b.csv")" -eq 128 ]
    [ "$(grep -c '"input gradients"' "$work/zb-h1.csv")" -eq 128 ]
    [ "$(grep -c '"weight gradients"' "$work/zb-h1.csv")" -eq 128 ]
    [ "$(grep -c '"forward"' "$work/dualpipe.csv")" -eq 128 ] # of 64 microbatches' halves
    grep -q 'bubble' "$work/1f1b.csv"
}

# Micro 8 on one GPU of 80 GB: run says 4, and so does its drawing.
@test "a plan that does not fit into memory is drawn, and its title and status say so" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    plan=(scenarios/quickstart.yaml --set parallel.pp=2 --set parallel.tp=1 --set batch.micro=8)
    run -4 --separate-stderr "$STOKER" run "${plan[@]}" --no-db
    said=$stderr
    run -4 --separate-stderr "$STOKER" plot pipeline "${plan[@]}" -o "$work/p"
    [ "$stderr" = "$said" ]
    [[ "$output" == *"$work/p.svg"* ]]
    grep -qF 'DOES NOT FIT INTO MEMORY' "$work/p.csv"
    run -0 "$STOKER" plot pipeline "${plan[@]}" --set batch.micro=1 -o "$work/fits"
    run -1 grep -F 'DOES NOT FIT' "$work/fits.csv"
}

@test "plot pipeline of what is no scenario" {
    run "$STOKER" plot pipeline "$work/none.yaml" -o "$work/p"
    [ "$status" -eq 3 ]
}

# 8 forwards and backwards of 2 chunks on 4 stages.
@test "a schedule of one's own is run and drawn" {
    own=(scenarios/quickstart.yaml --set parallel.pp=4 --set batch.global=64
        --set parallel.schedule=scenarios/schedules/breadth-first.yaml)
    run "$STOKER" explain "${own[@]}"
    [ "$status" -eq 0 ]
    [[ "$output" == *"breadth-first: p = 4 stages, v = 2 chunks"* ]]
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    "$STOKER" plot pipeline "${own[@]}" -o "$work/own"
    [ "$(grep -c '"backward"' "$work/own.csv")" -eq 64 ]
    grep -q 'breadth-first, 8 microbatches' "$work/own.csv"
}

# A worker of 2 s for each of 32 microbatches makes a step of 64 s; what is drawn is the step alone.
@test "a step is drawn without its loaders, and says what they make of it" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    sets=(--set parallel.pp=4 --set data.bytes_per_token="0 B" --set data.workers_per_gpu=1)
    for kind in pipeline power; do
        "$STOKER" plot "$kind" scenarios/quickstart.yaml "${sets[@]}" --set data.time_per_sample="2 s" \
            -o "$BATS_TEST_TMPDIR/$kind" > /dev/null
        tr '\n' ' ' < "$BATS_TEST_TMPDIR/$kind.svg" > "$BATS_TEST_TMPDIR/words"
        grep -q "without its" "$BATS_TEST_TMPDIR/words"
        grep -q "64 s" "$BATS_TEST_TMPDIR/words"
    done
}
