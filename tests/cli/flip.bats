# compare --flip: each change is the run of its --set, the answer turns where another is the fastest.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    cat > "$work/two.yaml" << 'END'
scenario: two layouts
model: llama3-8b
cluster: h100-800
gpus: 32
software: megatron-2025
parallel: {zero: 1}
batch: {global: 64, micro: 1, sequence_length: 4096}
recompute: full
run: {tokens: 100B}
price: {gpu_hour: 2 USD}
variants:
- {name: tensors, set: {parallel.tp: 2}}
- {name: pipeline, set: {parallel.pp: 4}}
END
}

flip() {
    "$STOKER" compare "$work/two.yaml" --flip --no-db -q "$@"
}

@test "each change is the run of its --set, its ratio that of tokens/s, and below 1 the answer turns" {
    flip --json > "$work/json"
    for change in "twice the GPUs and batch" "half the sequence" fp8 "the best layout"; do
        for i in 0 1; do
            sets=()
            while read -r set; do sets+=(--set "$set"); done < <(jq -r --arg n "$change" \
                ".flip.changes[] | select(.change == \$n) | .points[$i].set[]" "$work/json")
            [ "$("$STOKER" run <(sed '/^variants/,$d' "$work/two.yaml") --no-db -q --json "${sets[@]}" | jq .step_time_s)" = \
                "$(jq --arg n "$change" ".flip.changes[] | select(.change == \$n) | .points[$i].step_time_s" "$work/json")" ]
        done
    done
    jq -e 'def speed: .tokens_per_step / .step_time_s;
        .flip.of == "tensors" and ([.flip.changes[] | select(.speed_up != null)
            | .points as [$a, $b] | ($a | speed) / ($b | speed) / .speed_up - 1 | fabs < 1e-9] | length > 10 and all)
        and ([.flip.changes[] | select(.speed_up != null)
            | (.points[0].band.verdict // "too close") as $call
            | .answer == (if $call == "too close" then "open" elif .speed_up < 1 then "turns" else "holds" end)] | all)' "$work/json"
    jq -e '[.flip.changes[] | select(.change == "half the sequence")][0]
        | .answer == "turns" and .next == "pipeline" and .cheapest == "pipeline"' "$work/json"
}

# Of its own scenario: 32 and 64 GPUs are 64 and 128, replicas that were told are as many as that makes.
@test "a change is of each point's own scenario" {
    sed -i 's/parallel.tp: 2/parallel.tp: 2, gpus: 64, parallel.dp: 32/' "$work/two.yaml"
    flip --json | jq -ne 'input | .flip.changes[] | select(.change == "twice the GPUs") | [.points[].gpus] == [128, 64]
        and (.points[0].set | index("parallel.dp=auto") != null)'
    # What arises in one alone is another question.
    flip --json | jq -ne 'input | [.flip.changes[].change] | (index("less interleaving") == null) and (index("tp half") == null)'
}

@test "the sentence names what turns it, the table begins with what hurts most" {
    COLUMNS=100 flip > "$work/text"
    head -5 "$work/text" | tr '\n' ' ' | grep -q 'tensors stays the fastest with [0-9]* of [0-9]* changes; turned by GPUs of the next generation (b200-sxm) (0\.[0-9]* x, clear)'
    [ "$(awk 'length > 100' "$work/text" | wc -l)" -eq 0 ]
    sed -n '/^what would change it/,/^$/p' "$work/text" | sed '1,2d;/^$/d' | grep -o '[0-9.]* x' | sort -c -n
}

@test "where the fastest has no result the answer turns, where it alone has one it holds" {
    sed -i 's/^batch: .*/batch: {global: 32, micro: 1, sequence_length: 4096}/' "$work/two.yaml"
    sed -i 's/tensors, set: {parallel.tp: 2}/data, set: {}/; s/parallel.pp: 4}}/parallel.tp: 8}}/' "$work/two.yaml"
    flip --json > "$work/json"
    jq -e '.flip.of == "data" and ([.flip.changes[] | select(.change == "half the batch")][0] | .answer == "turns" and .speed_up == null)' "$work/json"
    flip | grep -q '^  half the batch: data: sizes: '
}

@test "one point with a result has no answer to turn" {
    sed -i 's/parallel.pp: 4/parallel.pp: 5/' "$work/two.yaml"
    flip --json | jq -ne 'input | .flip == null'
}
