# Scenarios by their names: `stoker run quickstart`, from anywhere; a file of that name goes before.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
}

@test "a name stands for the scenario's file in every command that takes one" {
    "$STOKER" run quickstart --no-db -q --json | jq 'del(.engine)' > "$work/named"
    "$STOKER" run scenarios/quickstart.yaml --no-db -q --json | jq 'del(.engine)' | diff "$work/named" -
    "$STOKER" explain quickstart memory > "$work/named"
    "$STOKER" explain scenarios/quickstart.yaml memory | diff "$work/named" -
    "$STOKER" compare quickstart llama3-405b-2k --no-db -q --json | jq -ne 'input | (.points | length) == 2'
    "$STOKER" diff quickstart scenarios/quickstart.yaml > "$work/diff"
    "$STOKER" diff scenarios/quickstart.yaml quickstart | diff "$work/diff" -
    "$STOKER" trace quickstart -o "$work/trace.json"
    test -s "$work/trace.json"
    "$STOKER" plot pipeline study-schedules -o "$work/pipeline" -q
    test -s "$work/pipeline.svg"
    for command in sweep whatif search quote why report; do
        "$STOKER" help $command | tr -s ' \n' ' ' | grep -q 'said by its name (`stoker list scenarios`)'
    done
    "$STOKER" sweep quickstart --axis batch.micro=1,2 --no-db -q --json | jq -ne 'input | (.points | length) == 2'
    "$STOKER" quote three-offers --best none --no-db -q --json | jq -ne 'input | .winner == "Beta"'
}

@test "names are found from elsewhere, and a file of the name goes before" {
    export STOKER_PATH=$PWD # the program may lie in build/
    cd "$work"
    "$STOKER" run quickstart --no-db -q --json | jq -ne 'input | .gpus == 64'
    sed 's/^gpus: 64/gpus: 32/' "$BATS_TEST_DIRNAME/../../scenarios/quickstart.yaml" > quickstart
    "$STOKER" run quickstart --no-db -q --json | jq -ne 'input | .gpus == 32'
    mkdir -p own/scenarios # as files of the catalogue a name may have a dot
    sed 's/^gpus: 64/gpus: 16/' "$STOKER_PATH/scenarios/quickstart.yaml" > own/scenarios/lora-6.0.yaml
    "$STOKER" run lora-6.0 --catalogue own --no-db -q --json | jq -ne 'input | .gpus == 16'
}

@test "a miss names what is near" {
    run -3 "$STOKER" run llama3-405b-2 --no-db
    [[ $output == "error: there is no file and no scenario 'llama3-405b-2'"*"did you mean 'llama3-405b-2k'?"* ]]
    run -3 "$STOKER" quote three-offer --no-db
    [[ $output == *"did you mean 'three-offers'?"* ]]
    run -3 "$STOKER" sweep something-else-altogether --no-db
    [[ $output == *'`stoker list scenarios` names the scenarios'* ]]
    for path in scenarios/nothing.yaml nothing.yaml . .. "a b" ""; do # a path is a path
        run -3 "$STOKER" run "$path" --no-db
        [[ $output == *": error: "* && $output != *"no scenario"* ]]
    done
}

@test "completion and the manual know the names" {
    "$STOKER" help --format bash > "$work/completion"
    for word in 'run llama3-405b-2' 'whatif quicks' 'explain study-old'; do
        bash -c 'source "$0"; PATH=$(dirname "$1"):$PATH; COMP_WORDS=(stoker $2); COMP_CWORD=2; _stoker; echo "${COMPREPLY[@]}"' \
            "$work/completion" "$STOKER" "$word" >> "$work/words"
    done
    diff "$work/words" - <<< $'llama3-405b-2k\nquickstart\nstudy-old-or-new'
    "$STOKER" help --format man stoker | tr '\n' ' ' | grep -q 'said by its name'
}

# Keys, options and files of the catalogue, by the words of models/words.yaml.
@test "help finds what has to do with a word, by other words for the same" {
    "$STOKER" help moe > "$work/moe"
    head -1 "$work/moe" | grep -q '^moe, mixture of experts, '
    grep -q '^  model.experts  ' "$work/moe"
    grep -qE '^ .*\bmixtral-8x7b\b' "$work/moe"
    [[ $(cat "$work/moe") != *llama3-8b* && $(cat "$work/moe") != *gpt3-175b* ]]
    [ "$("$STOKER" help 'Mixture of Experts' | tail -n +2)" = "$(tail -n +2 "$work/moe")" ]
    "$STOKER" help rail > "$work/rail"
    grep -q '^  cluster.fabric.pxn ' "$work/rail"
    grep -qE '\balibaba-hpn\b' "$work/rail"
    [[ $(cat "$work/rail") != *h100-dragonfly* ]]
    "$STOKER" help fp8 > "$work/fp8" # a key by its last word, and more
    head -1 "$work/fp8" | grep -q '^software.fp8: '
    grep -qE '\bb200-sxm\b' "$work/fp8"
    [ "$(sed -n '/^GPUs/,$p' "$work/fp8" | grep -c 'v100')" -eq 0 ]
    "$STOKER" help straggler | grep -qE '^  (slow|run|software)[a-z_.]* '
    for word in "" " " . '.*' '[' %; do # marks are no word
        run -2 "$STOKER" help "$word"
        [[ $output == *"there is no command and no key '$word'"* ]]
    done
    run -2 "$STOKER" help xyzzy
    [[ $output == *"there is no command and no key 'xyzzy'"* ]]
    [ "$("$STOKER" help data.prefetch | head -1 | cut -d: -f1)" = data.prefetch ]
}

@test "a word of the table stands in one row" {
    sed -n 's/^- \[\(.*\)\]$/\1/p' models/words.yaml | tr , '\n' | sed 's/^ *//' | sort | uniq -d > "$work/twice"
    [ ! -s "$work/twice" ]
    [ "$(grep -c '^- \[' models/words.yaml)" -ge 35 ]
}
