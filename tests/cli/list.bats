# stoker list: rows are what the files say; a file that is wrong stops no other.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
    db=$work/results.db
}

# What `stoker list` counts for a kind.
count_of() {
    "$STOKER" list --db "$db" | awk -v kind="$1" '$1 == kind { print $2 }'
}

# Rows of a list, without its head.
rows_of() {
    "$STOKER" list "$1" --db "$db" | awk 'END { print NR - 1 }'
}

@test "without a kind, each kind has the count of its rows" {
    for kind in models gpus clusters software libraries nics recipes failures spot scenarios commands causes metrics plots; do
        [ "$(count_of "$kind")" -eq "$(rows_of "$kind")" ]
        [ "$(count_of "$kind")" -gt 0 ]
    done
    [ "$(count_of models)" -ge "$(find models/llms -name '*.yaml' | wc -l)" ]
    [ "$(count_of scenarios)" -ge "$(find scenarios -maxdepth 1 -name '*.yaml' | wc -l)" ]
}

@test "without a results file there are no runs and studies, and a list of them is an error" {
    [ "$(count_of runs)" -eq 0 ]
    [ "$(count_of studies)" -eq 0 ]
    [ ! -e "$db" ]
    run "$STOKER" list runs --db "$db"
    [ "$status" -eq 1 ]
    [[ "$output" == *"there is no results file"* ]]
}

# Seven networks are seven points with a run each; the same study again adds none.
@test "runs and studies come from the results file, each run once" {
    "$STOKER" sweep scenarios/study-fabric-70b.yaml --db "$db" > /dev/null
    "$STOKER" sweep scenarios/study-fabric-70b.yaml --db "$db" > /dev/null
    [ "$(count_of studies)" -eq 1 ]
    [ "$(count_of runs)" -eq 7 ]
    [ "$("$STOKER" list runs --db "$db" -q | grep -c 'Llama 2 70B with FSDP')" -eq 7 ]
    "$STOKER" list studies --db "$db" | grep -Eq '^[0-9a-f]{16} +sweep +7 +[0-9a-f]{8} +Llama 2 70B'
}

# study-batch.yaml has 5 batches x 4 micro-batches x 4 depths of the pipeline.
@test "a scenario with a sweep shows its points" {
    "$STOKER" list scenarios | grep -Eq '^scenarios/study-batch.yaml +1024 +gpt3-175b .* 80  GPT-3'
    "$STOKER" list scenarios | grep -Eq '^scenarios/study-gpus.yaml .* 6  Llama'
    "$STOKER" list scenarios | grep -Eq '^scenarios/quickstart.yaml +64 +llama3-8b +h100-3200 +Llama'
}

@test "GPUs show their peaks, and a dash for a precision that they lack" {
    "$STOKER" list gpus | grep -Eq '^a100-sxm4-80gb +312 TFLOP/s +312 TFLOP/s +85.9 GB +2.039 TB/s'
    "$STOKER" list gpus | grep -Eq '^v100-sxm2-32gb +- +125 TFLOP/s +34.09 GB'
}

# 4 NICs x 200 Gbps for 8 GPUs.
@test "clusters show their network per GPU and per node, and their fabric" {
    "$STOKER" list clusters |
        grep -Eq '^a100-80gb-800 +a100-sxm4-80gb +8 +4 +100 Gbps +800 Gbps .* rail +1 +1 +625 MB/s'
    "$STOKER" list clusters | grep -Eq '^h100-roce-24k .* tree +1 +7 +2 TB/s'
}

@test "software shows what it overlaps" {
    "$STOKER" list software | grep -Eq '^megatron-2021 +megatron +2021 +unfused +nothing '
    "$STOKER" list software | grep -Eq '^megatron-2024 .* fa2 +tp, dp gradients, dp parameters, p2p '
}

@test "the document of a list has SI numbers" {
    run "$STOKER" list gpus --json
    [ "$status" -eq 0 ]
    [[ "$output" == *'"schema": "stoker.list/1"'* ]]
    [[ "$output" == *'"peak_bf16_flop_per_s": 312000000000000'* ]]
    run "$STOKER" list clusters --json
    [[ "$output" == *'"node_bytes_per_s": 12500000000'* ]] # v100-100: 100 Gbps
}

@test "a file that does not read is reported, and the others are listed" {
    mkdir -p "$work/models/gpus" "$work/models/llms" "$work/scenarios"
    echo 'gpu: broken' > "$work/models/gpus/broken.yaml"
    echo 'model: [' > "$work/models/llms/broken.yaml"
    printf 'scenario: a\nscenario: b\n' > "$work/scenarios/broken.yaml"
    for kind in gpus models scenarios; do
        rest=$("$STOKER" list "$kind")
        status=0
        output=$("$STOKER" list "$kind" --catalogue "$work" 2> "$work/errors") || status=$?
        [ "$status" -eq 3 ]
        grep -q 'broken.yaml:.*error: ' "$work/errors"
        [ "$output" = "$rest" ]
    done
}
