# What a scenario does not say, and what each would make of its step (study/unsaid).

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
}

json() {
    "$STOKER" run "$@" --no-db -q --json
}

# The twin: the scenario run with what a row says.
@test "each moves the step as the run with it does, and what moves most comes first" {
    for scenario in quickstart mixtral-8x7b-64; do
        json scenarios/$scenario.yaml > "$work/now"
        [ "$(jq '.unsaid | length' "$work/now")" -ge 4 ]
        jq -e '[.unsaid[].moves | if . < 0 then -. else . end] | . == (sort | reverse) and (last >= 0.001)' "$work/now"
        jq -r '.unsaid[] | [.moves, .set] | @tsv' "$work/now" |
            while IFS=$'\t' read -r moves sets; do
                arguments=()
                for set in $sets; do
                    arguments+=(--set "$set")
                done
                json scenarios/$scenario.yaml "${arguments[@]}" |
                    jq -ne --slurpfile now "$work/now" --argjson moves "$moves" \
                        'input | (.step_time_s / $now[0].step_time_s - 1 - $moves) | . < 1e-6 and . > -1e-6'
            done
    done
}

@test "the screen has the three that move it most, with the option that says them" {
    "$STOKER" run scenarios/quickstart.yaml --no-db > "$work/screen"
    json scenarios/quickstart.yaml > "$work/now"
    grep -A3 '^not said; would change the step by' "$work/screen" | tail -n 3 > "$work/rows"
    [ "$(grep -c -- '--set' "$work/rows")" -eq 3 ]
    jq -r '.unsaid[:3][] | .set' "$work/now" | while read -r set; do
        grep -qF -- "--set $set" "$work/rows"
    done
}

@test "what is said is not asked: by a key, by --set, by a recipe" {
    json scenarios/quickstart.yaml --set software.attention=fa2 > "$work/said"
    jq -e '[.unsaid[].set | select(startswith("software.attention"))] == []' "$work/said"
    json scenarios/quickstart.yaml > "$work/now"
    jq -e '[.unsaid[].set] | any(startswith("software.attention=")) and any(. == "software.overlap.tp_pieces=4")' "$work/now"
    json scenarios/quickstart.yaml --set recipe=userbuffers > "$work/recipe"
    jq -e '[.unsaid[].set] | any(startswith("software.attention=")) and (any(startswith("software.overlap.tp_pieces")) | not)' \
        "$work/recipe"
}

# megatron-2024 cannot overlap exchanges with other microbatches (Core 0.14 can).
@test "what the release has not is not asked" {
    has() {
        json scenarios/mixtral-8x7b-64.yaml --set software="$1" |
            jq -ne 'input | [.unsaid[].set] | any(. == "parallel.overlap_experts=true")'
    }
    has megatron-2025
    run has megatron-2024
    [ "$status" -eq 1 ]
}

@test "nothing is asked of what does not fit, is measured, or takes long" {
    run -4 --separate-stderr json scenarios/quickstart.yaml --set parallel.tp=1
    jq -e '.unsaid == []' <<< "$output"
    json scenarios/quickstart.yaml --anchor '4.1 s' | jq -ne 'input | .unsaid == []'
    json scenarios/quickstart.yaml --set 'run.step_time=4 s' | jq -ne 'input | .unsaid == []'
    json scenarios/gpt3-175b-1024.yaml > "$work/long"
    jq -e '.unsaid == [] and .engine.tasks > 200000' "$work/long"
    json scenarios/quickstart.yaml --fold off > "$work/whole" # it is the folded tasks that count
    jq -e '.unsaid != [] and .engine.tasks > 200000' "$work/whole"
}

@test "a profile that \`show\` wrote out says no more than its name" {
    "$STOKER" show scenarios/quickstart.yaml > "$work/shown.yaml"
    json "$work/shown.yaml" | jq '.band, .unsaid' > "$work/shown"
    json scenarios/quickstart.yaml | jq '.band, .unsaid' > "$work/now"
    cmp "$work/shown" "$work/now"
    sed -i 's/^  attention: fa2$/  attention: fa3/' "$work/shown.yaml"
    json "$work/shown.yaml" | jq -ne 'input | .band.class | endswith("features not said") | not'
}
