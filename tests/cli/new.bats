# new: a scenario to begin with, which runs as it is written.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    file=$BATS_TEST_TMPDIR/mine.yaml
}

@test "what is written fits, has the step that it says, and at most 30 lines" {
    while read -r model gpus cluster; do
        "$STOKER" new "$model" --gpus "$gpus" --cluster "$cluster" > "$file"
        [ "$(wc -l < "$file")" -le 30 ] || { cat "$file"; false; }
        run --separate-stderr "$STOKER" run "$file" --no-db --json -q
        [ "$status" -eq 0 ] || { echo "$model $gpus $cluster: $stderr"; false; }
        said=$(sed -nE '1s/.*; ([0-9.]+) s a step.*/\1/p' "$file")
        jq -e --argjson said "$said" '.memory.fits and
            ((.step_time_s - $said) / $said | fabs < 1e-3)' <<< "$output"
    done << 'END'
llama3-8b 16 h100-3200
llama3-70b 256 a100-80gb-1600
mixtral-8x7b 64 h100-400
llama2-7b 64 v100-100
pythia-1b 1 h200-3200
gpt3-175b 1536 h100-3200
END
}

@test "every layout that new and auto give is one that the profile's release has" {
    # By an account of its own of what each asks for, with which stoker's warnings agree.
    while read -r model gpus cluster software; do
        run -0 tests/support/released "$STOKER" --auto "$model:$gpus:$software" -- "$cluster"
        [[ $output == *"0 of 2 files ask for what their release has not; of 0 stoker says otherwise"* ]]
    done << 'END'
llama3-8b 16 h100-3200 megatron-2024
llama3-70b 128 h100-3200 megatron-2024
llama3-70b 64 b200-3200 megatron-2026
llama2-7b 64 v100-100 megatron-2022
gpt3-175b 512 a100-80gb-1600 megatron-2023
mixtral-8x7b 64 h100-400 megatron-2024
qwen3-30b-a3b 64 h100-3200 megatron-2025
llama3-8b 64 h100-400 torchtitan-2025
END
    run -0 tests/support/released "$STOKER" --any-software llama3-70b:128 -- h100-3200
    [[ $output == *"recompute norm"*"1 of 1 files ask for what their release has not; of 0 stoker says otherwise"* ]]
}

@test "a config.json of Hugging Face is a model, too" {
    "$STOKER" new tests/unit/data/import/llama3-8b/config.json --gpus 16 --cluster h100-3200 > "$file"
    "$STOKER" run "$file" --no-db -q > /dev/null
    # With the same layout as the model of the catalogue.
    "$STOKER" new llama3-8b --gpus 16 --cluster h100-3200 > "$BATS_TEST_TMPDIR/named.yaml"
    diff <(sed -n '/^parallel/,/^run/p' "$file") <(sed -n '/^parallel/,/^run/p' "$BATS_TEST_TMPDIR/named.yaml")
}

@test "batch, sequence, tokens and software may be said; a file is not written over" {
    "$STOKER" new llama3-8b --gpus 16 --cluster h100-3200 --batch 64 --sequence-length 4096 \
        --tokens 100B --software megatron-2025 -o "$file"
    grep -q 'global: 64 ' "$file"
    grep -q 'sequence_length: 4096' "$file"
    grep -q 'tokens: 100B ' "$file"
    grep -q 'software: megatron-2025' "$file"
    run "$STOKER" new llama3-8b --gpus 16 --cluster h100-3200 -o "$file"
    [ "$status" -eq 1 ]
    [[ $output == *"mine.yaml"*"is there already"*"name a file that is not there yet"* ]]
    [ "$(grep -c 'global: 64 ' "$file")" -eq 1 ]
}

@test "what cannot be is told" {
    run "$STOKER" new llama3-405b --gpus 8 --cluster h100-3200
    [ "$status" -eq 4 ]
    [[ $output == *"no layout of llama3-405b fits on 8 GPUs of h100-3200"*"the nearest is"* ]]
    run "$STOKER" new llama3-8b
    [ "$status" -eq 2 ]
    [[ $output == *"--gpus N and --cluster NAME is missing"*"stoker new MODEL --gpus 256"* ]]
    run "$STOKER" new llama3-8c --gpus 8 --cluster h100-3200
    [ "$status" -eq 3 ]
    [[ $output == *"llama3-8c"*"llama3-8b"* ]]
    run "$STOKER" new llama3-8b --gpus 8 --cluster h100-32000
    [ "$status" -eq 3 ]
    [[ $output == *"h100-32000"*"h100-3200"* ]]
    run "$STOKER" new llama3-8b --gpus 12 --cluster h100-3200
    [ "$status" -ne 0 ]
    [[ $output == *"12"* ]]
}

@test "a sequence longer than the usual tokens of a step is one to a GPU, not 0" {
    # 4,194,304 tokens are less than one sequence: 8 of these for 8 GPUs, which do not fit.
    run "$STOKER" new pythia-1b --gpus 8 --cluster b200-3200 --sequence-length 5000000 \
        --software megatron-2024
    [ "$status" -eq 4 ]
    [[ $output == *"no layout of pythia-1b fits on 8 GPUs"*"the nearest is"* ]]
}

@test "names are written as YAML reads them" {
    mkdir "$BATS_TEST_TMPDIR/my: models"
    sed 's/^title:.*/title: "Mine: #1"/' models/llms/pythia-1b.yaml \
        > "$BATS_TEST_TMPDIR/my: models/pythia-1b.yaml"
    "$STOKER" new "$BATS_TEST_TMPDIR/my: models/pythia-1b.yaml" --gpus 8 --cluster h100-3200 > "$file"
    run --separate-stderr "$STOKER" run "$file" --no-db --json -q
    [ "$status" -eq 0 ]
    [[ $(jq -r .scenario <<< "$output") == "Mine: #1 on 8 "* ]]
    run "$STOKER" new 'pythia-1b # other' --gpus 8 --cluster h100-3200
    [ "$status" -eq 3 ]
    [[ $output == *"'pythia-1b # other' is not the name of a model"* ]]
}
