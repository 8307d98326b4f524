# Points of a study that use what their software's release has not: told once for all that lack the same.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    file=$BATS_TEST_TMPDIR/points.yaml
    cat > "$file" << 'END'
scenario: points
model: llama3-8b
cluster: h100-3200
gpus: 64
software: megatron-2024
parallel: {tp: 2, pp: 4}
batch: {global: 128, micro: 1, sequence_length: 8192}
END
}

@test "a sweep warns once of what several points lack" {
    printf 'sweep:\n  parallel.schedule: [1f1b, zb-h1]\n  batch.micro: [1, 2]\n' >> "$file"
    run --separate-stderr "$STOKER" sweep --no-db "$file"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'warning:' <<< "$stderr")" -eq 1 ]
    [[ "$stderr" == *"software megatron-2024 (Core 0.5 to 0.10) has no schedule zb-h1, which 2 of 4 points ask for (parallel.schedule; first 'schedule zb-h1, micro 1')"* ]]
    [[ "$stderr" == *"no profile of megatron has"* ]]
    run --separate-stderr "$STOKER" sweep --no-db --any-software "$file"
    [[ "$stderr" != *"warning:"* ]]
}

@test "a comparison warns of each software by itself, and names the release that has it" {
    cat >> "$file" << 'END'
variants:
  - {name: as it was, set: {}}
  - {name: norms again, set: {recompute: {modules: [norm, activation]}}}
  - {name: norms again and more, set: {recompute: {modules: [norm, activation]}, batch.micro: 2}}
  - {name: elsewhere, set: {software: torchtitan-2024, parallel.zero: 0, parallel.schedule: zb-v}}
END
    run --separate-stderr "$STOKER" compare --no-db "$file"
    [ "$status" -eq 0 ]
    [ "$(grep -c 'warning:' <<< "$stderr")" -eq 2 ]
    [[ "$stderr" == *"has no recompute norm, activation, which 2 of 4 points ask for (recompute; first 'norms again')"* ]]
    [[ "$stderr" == *"torchtitan-2024 has no schedule zb-v, which 1 of 4 points asks for (parallel.schedule; first 'elsewhere')"*"torchtitan-2025 has"* ]]
}

@test "what all points have is not warned of, nor what a search looks for" {
    printf 'sweep:\n  batch.micro: [1, 2]\n' >> "$file"
    run --separate-stderr "$STOKER" sweep --no-db "$file"
    [ "$status" -eq 0 ]
    [[ "$stderr" != *"warning:"* ]]
    run --separate-stderr "$STOKER" compare --no-db scenarios/quickstart.yaml scenarios/mixtral-8x7b-64.yaml
    [[ "$stderr" != *"has no"* ]]
}

@test "files that are compared are looked at, too" {
    sed 's/pp: 4}/pp: 4, schedule: zb-h1}/' "$file" > "$BATS_TEST_TMPDIR/zero.yaml"
    run --separate-stderr "$STOKER" compare --no-db "$file" "$BATS_TEST_TMPDIR/zero.yaml"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"has no schedule zb-h1, which 1 of 2 points asks for"* ]]
}
