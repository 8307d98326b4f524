# Every shipped scenario of up to 1,024 GPUs, simulated GPU by GPU, says what it says folded.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
}

# The document of scenario `$1` without `engine`, which counts what was simulated.
document() {
    local scenario=$1
    shift
    "$STOKER" run "$scenario" --no-db --json "$@" | sed '/^ *"engine": {/,/^ *}/d'
}

simulated() {
    "$STOKER" run "$1" --no-db --json | sed -n 's/^ *"ranks_simulated": \([0-9]*\).*/\1/p' | head -n 1
}

@test "each shipped scenario is the same to the byte, folded or GPU by GPU" {
    compared=0
    folded=0
    for scenario in scenarios/*.yaml; do
        gpus=$(sed -n 's/^gpus: *\([0-9]*\).*/\1/p' "$scenario")
        [ "$gpus" -le 1024 ] || continue
        document "$scenario" > "$work/folded"
        document "$scenario" --fold off > "$work/plain"
        grep -q '"step_time_s": [0-9]' "$work/folded"
        cmp "$work/folded" "$work/plain" || { echo "$scenario"; false; }
        compared=$((compared + 1))
        [ "$(simulated "$scenario")" -ge "$gpus" ] || folded=$((folded + 1))
    done
    # So many there are at least, and folding found something to fold in nearly all.
    [ "$compared" -ge 25 ]
    [ "$folded" -ge 20 ]
}
