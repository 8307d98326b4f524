# --anchor and anchor: one measured step of one's own corrects the level of all predictions.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    file=scenarios/quickstart.yaml
}

# predict ARGUMENT...: the JSON of a run of $file.
predict() {
    "$STOKER" run "$file" --no-db -q --json "$@"
}

# equal X Y [RELATIVE]
equal() {
    awk -v x="$1" -v y="$2" -v most="${3:-1e-8}" 'BEGIN { d = x / y - 1; exit !(d < most && -d < most) }' ||
        { echo "$1 is not $2"; false; }
}

@test "a measured step of the scenario itself is what is predicted then, and all follows from it" {
    predict > "$work/plain"
    predict --anchor "4.2 s" > "$work/anchored"
    equal "$(jq .step_time_s "$work/anchored")" 4.2
    factor=$(jq '4.2 / .step_time_s' "$work/plain")
    equal "$(jq .anchor.factor "$work/anchored")" "$factor"
    equal "$(jq .anchor.predicted_step_s "$work/anchored")" "$(jq .step_time_s "$work/plain")"
    jq -e '.anchor.weight == 1 and .anchor.measured_step_s == 4.2 and .anchor.run == null' "$work/anchored"
    jq -e '.anchor == null' "$work/plain"
    for figure in .mfu .hfu .tokens_per_s_per_gpu .tflops_per_gpu; do
        equal "$(jq "$figure" "$work/anchored")" "$(jq "$figure / $factor" "$work/plain")"
    done
    for cause in compute exposed_tp straggler_wait; do
        equal "$(jq ".breakdown.$cause" "$work/anchored")" "$(jq ".breakdown.$cause * $factor" "$work/plain")"
    done
    # Days are steps and 953 checkpoints that block as before.
    days=$(jq "(.run.steps * 4.2 + .run.checkpoints * .run.checkpoint_s) / 86400" "$work/plain")
    equal "$(jq .run.days "$work/anchored")" "$days" 1e-5
    equal "$(jq .run.cost_usd "$work/anchored")" "$(jq ".run.cost_usd / .run.days * $days" "$work/plain")" 1e-5
    # A repeat lies within 2 %; without the anchor the band is several times as wide.
    equal "$(jq .band.step_s.p90 "$work/anchored")" "$(jq -n '4.2 * 1.02')" 1e-6
    equal "$(jq .band.step_s.p10 "$work/anchored")" "$(jq -n '4.2 / 1.02')" 1e-6
    jq -e '.band.measured_over_predicted.p90 > 1.04' "$work/plain"
}

@test "the screen says by what it is anchored, how much, and where the band is from" {
    predicted=$(predict | jq .step_time_s)
    run --separate-stderr "$STOKER" run "$file" --no-db -q --anchor "4.2 s" --set batch.micro=2
    [[ "$output" == *"anchored: 4.20 s measured, $(printf %.2f "$predicted") s predicted, of which error "*" % counts here; steps are 1."*" times as long as simulated"* ]]
    [[ "$output" == *"as the ratios of "*" pairs of runs that differ as it does from its anchor"* ]]
    run --separate-stderr "$STOKER" sweep "$file" --axis batch.micro=1,2 --anchor "4.2 s" --db "$work/db" -q
    [[ "$output" == *"anchored: 4.20 s measured"* ]]
}

# --set changes what is asked for, and not what was measured.
@test "a run that differs in one kind shares a part of the error, and its band is narrower for it" {
    predict --set batch.micro=2 > "$work/plain"
    predict --set batch.micro=2 --anchor "4.2 s" > "$work/anchored"
    jq -e '.anchor.weight > 0.1 and .anchor.weight < 0.9 and .anchor.votes > 5' "$work/anchored"
    equal "$(jq .anchor.factor "$work/anchored")" \
        "$(jq '(.anchor.measured_step_s / .anchor.predicted_step_s | log) * .anchor.weight | exp' "$work/anchored")"
    equal "$(jq .step_time_s "$work/anchored")" "$(jq ".step_time_s * $(jq .anchor.factor "$work/anchored")" "$work/plain")"
    width='.band.measured_over_predicted | (.p90 / .p10 | log)'
    awk -v a="$(jq "$width" "$work/anchored")" -v p="$(jq "$width" "$work/plain")" 'BEGIN { exit !(a < 0.9 * p) }'
    # The whole ratio, if it is wanted.
    predict --set batch.micro=2 --anchor "4.2 s" --set anchor.weight=1 > "$work/whole"
    equal "$(jq .step_time_s "$work/whole")" "$(jq "4.2 / .anchor.predicted_step_s * $(jq .step_time_s "$work/plain")" "$work/whole")"
}

@test "all points of a study have one factor: ratios are as without it" {
    "$STOKER" sweep "$file" --axis "cluster.network=400 Gbps,3200 Gbps" --db "$work/db" -q --json > "$work/plain"
    "$STOKER" sweep "$file" --axis "cluster.network=400 Gbps,3200 Gbps" --anchor "4.2 s" --db "$work/db" -q --json > "$work/anchored"
    jq -e '.counts.reused == 0 and .anchor.weight == 1' "$work/anchored"
    equal "$(jq '.points[1].step_time_s' "$work/anchored")" 4.2
    ratio='.points | .[1].step_time_s / .[0].step_time_s'
    equal "$(jq "$ratio" "$work/anchored")" "$(jq "$ratio" "$work/plain")"
    # A second time it is in the store.
    "$STOKER" sweep "$file" --axis "cluster.network=400 Gbps,3200 Gbps" --anchor "4.2 s" --db "$work/db" -q --json |
        jq -ne 'input | .counts.reused == 2'
    # Another anchor is another study.
    "$STOKER" sweep "$file" --axis "cluster.network=400 Gbps,3200 Gbps" --anchor "4.3 s" --db "$work/db" -q --json |
        jq -ne 'input | .counts.reused == 0'
}

@test "what anchor: says is what --anchor does, and what is worked out can be read again" {
    { cat "$file"; echo 'anchor: {step_time: 4.2 s}'; } > "$work/s.yaml"
    predict --anchor "4.2 s" | jq '{step_time_s, run, anchor}' > "$work/option"
    "$STOKER" run "$work/s.yaml" --no-db -q --json > "$work/run"
    jq '{step_time_s, run, anchor}' "$work/run" | cmp - "$work/option"
    "$STOKER" show "$work/s.yaml" > "$work/shown.yaml"
    "$STOKER" run "$work/shown.yaml" --no-db -q --json > "$work/again"
    [ "$(jq -r .key "$work/again")" = "$(jq -r .key "$work/run")" ]
    # --anchor goes before it.
    "$STOKER" run "$work/s.yaml" --no-db -q --json --anchor "5 s" | jq -ne 'input | .step_time_s > 4.99 and .step_time_s < 5.01'
}

@test "a measured run with other keys, of another file, as a row, and as a log" {
    { cat "$file"; echo 'anchor: {step_time: 2.1 s, set: {gpus: 128}}'; } > "$work/s.yaml"
    "$STOKER" run "$work/s.yaml" --no-db -q --json > "$work/set"
    equal "$(jq .anchor.predicted_step_s "$work/set")" "$(predict --set gpus=128 | jq .step_time_s)"
    predict --set gpus=128 > "$work/other"
    sed 's/^gpus:.*/gpus: 128/' "$file" > "$work/other.yaml"
    { cat "$file"; echo 'anchor: {step_time: 2.1 s, scenario: other.yaml}'; } > "$work/s.yaml"
    "$STOKER" run "$work/s.yaml" --no-db -q --json > "$work/scenario"
    equal "$(jq .step_time_s "$work/scenario")" "$(jq .step_time_s "$work/set")"
    # A row, which is predicted as --row of run predicts it.
    row=titan-8b-8g-FSDP
    "$STOKER" run tests/published/runs.csv --row $row --no-db -q --json > "$work/row"
    "$STOKER" run tests/published/runs.csv --row $row --anchor tests/published/runs.csv:$row --no-db -q --json > "$work/anchored"
    measured=$(python3 -c "
import csv
print(next(r['measured_step_s'] for r in csv.DictReader(open('tests/published/runs.csv')) if r['id'] == '$row'))")
    equal "$(jq .anchor.predicted_step_s "$work/anchored")" "$(jq .step_time_s "$work/row")"
    equal "$(jq .step_time_s "$work/anchored")" "$measured" 1e-5
    [ "$(jq -r .anchor.run "$work/anchored")" = tests/published/runs.csv:$row ]
    # A log's sizes with the cluster and software of the scenario: its median step is 16.3 s (import_log.bats).
    "$STOKER" run "$file" --no-db --json --anchor tests/unit/data/import/megatron.log > "$work/log" 2> "$work/err"
    jq -e '.anchor.measured_step_s == 16.3 and .anchor.weight > 0 and .anchor.votes > 0' "$work/log"
    # Gradients, of which it says nothing, are those of the scenario: else no measured pair would differ likewise.
    ratio=$(jq '16.3 / .anchor.predicted_step_s' "$work/log" | xargs printf %.2f)
    predicted=$(jq .anchor.predicted_step_s "$work/log" | xargs printf %.4g)
    grep -q "warning: the anchor's 16.3 s are $ratio times the $predicted s predicted" "$work/err"
}

@test "where no measured pair differs likewise the anchor changes nothing, and says so" {
    predict --set optimizer.rule=sgd > "$work/plain"
    "$STOKER" run "$file" --no-db --json --set optimizer.rule=sgd --anchor "4.2 s" > "$work/anchored" 2> "$work/err"
    jq -e '.anchor.weight == 0 and .anchor.factor == 1' "$work/anchored"
    [ "$(jq -c '[.step_time_s, .band]' "$work/anchored")" = "$(jq -c '[.step_time_s, .band]' "$work/plain")" ]
    grep -q 'the anchor changes nothing: .*(optimizer.rule)' "$work/err"
}

@test "--anchor of compare is one for all files; each file may have its own" {
    sed 's/^gpus:.*/gpus: 128/' "$file" > "$work/other.yaml"
    "$STOKER" compare "$file" "$work/other.yaml" --anchor "4.2 s" --db "$work/db" -q --json > "$work/one"
    equal "$(jq '.points[0].step_time_s' "$work/one")" 4.2
    equal "$(jq '.points[1].step_time_s' "$work/one")" \
        "$(predict --set gpus=128 | jq ".step_time_s * $(jq .anchor.factor "$work/one")")"
    echo 'anchor: {step_time: 2.5 s}' >> "$work/other.yaml"
    "$STOKER" compare "$file" "$work/other.yaml" --db "$work/db" -q --json > "$work/own"
    equal "$(jq '.points[0].step_time_s' "$work/own")" "$(predict | jq .step_time_s)"
    equal "$(jq '.points[1].step_time_s' "$work/own")" 2.5
}

# What saves how many per cent of a step does not depend on the level.
@test "whatif and search rank as without an anchor" {
    "$STOKER" whatif "$file" --db "$work/db" -q --json > "$work/plain"
    "$STOKER" whatif "$file" --db "$work/db" -q --json --anchor "3.4 s" > "$work/anchored"
    equal "$(jq '.base[0].step_time_s' "$work/anchored")" 3.4
    names='[.rows[] | select((.saves | type) == "number" and .saves > 0.002)] | sort_by(-.saves) | map(.label)'
    jq -e "$names | length > 8" "$work/plain"
    [ "$(jq -c "$names" "$work/plain")" = "$(jq -c "$names" "$work/anchored")" ]
    jq -e '.anchor.weight == 1' "$work/anchored"
    # Bounds are of anchored steps, too: with steps shorter than simulated the same layout wins, with a certificate.
    for by in days step; do
        for factor in 1 0.7 1.4; do
            "$STOKER" search "$file" --db "$work/db" -q --json --set anchor.factor=$factor --top 1 --by $by > "$work/$factor"
        done
        for factor in 0.7 1.4; do
            [ "$(jq -c '.points[0].axes' "$work/$factor")" = "$(jq -c '.points[0].axes' "$work/1")" ]
            equal "$(jq '.points[0].step_time_s' "$work/$factor")" "$(jq ".points[0].step_time_s * $factor" "$work/1")"
        done
    done
}

@test "explain shows the arithmetic, and its path is as long as the anchored step" {
    "$STOKER" explain "$file" -q --anchor "4.2 s" --set batch.micro=2 --json > "$work/json"
    jq -e '.step | (.critical_path | map(.seconds) | add) as $path | .step_time_s / $path - 1 | fabs < 1e-9' "$work/json"
    # In proportion: what lies on it has the same shares.
    shares='[.step.critical_path[] | select(.share > 1e-6) | [.part, (.share * 1e6 | round)]]'
    "$STOKER" explain "$file" -q --set batch.micro=2 --json | jq -c "$shares" > "$work/plain"
    jq -c "$shares" "$work/json" | cmp - "$work/plain"
    run --separate-stderr "$STOKER" explain "$file" -q --anchor "4.2 s" --set batch.micro=2
    [[ "$output" == *"the anchor's factor"*"pow(4.200000 s / $(predict | jq .step_time_s | xargs printf %.6f) s, "* ]]
    [[ "$output" == *"The prediction is relative to its anchor"* ]]
}

# The history of a run with failures has anchored steps and repairs that take as long as before.
@test "of a run with failures steps are longer, and what stops it is not" {
    for set in anchor.factor=1 anchor.factor=1.2; do
        "$STOKER" run scenarios/llama3-405b-16k.yaml --no-db -q --json --set run.failures=true \
            --set run.repetitions=8 --set run.tokens=2T --set $set > "$work/$set" || cat "$work/$set"
    done
    useful=.run.accounts.useful
    equal "$(jq "$useful" "$work/anchor.factor=1.2")" "$(jq "$useful * 1.2" "$work/anchor.factor=1")" 1e-3
    equal "$(jq .run.checkpoint_s "$work/anchor.factor=1.2")" "$(jq .run.checkpoint_s "$work/anchor.factor=1")" 1e-9
}

@test "wrong anchors are told with what would be right" {
    for wrong in tests/bad_input/anchors/*.expected; do
        status=0
        "$STOKER" run "${wrong%.expected}.yaml" --no-db > "$work/out" 2> "$work/err" || status=$?
        { echo "exit $status"; cat "$work/err"; } | diff "$wrong" - || { echo "$wrong"; false; }
        [ ! -s "$work/out" ]
    done
    # A value that no log has, told short; lines and files may be long.
    log=tests/unit/data/import/megatron.log
    { head -c 200000 /dev/zero | tr '\0' z; echo; cat $log; } > "$work/long.log"
    sed "s/recompute_granularity \.*.*/recompute_granularity ... $(printf 'q%.0s' {1..70000})/" $log > "$work/damaged.log"
    for name in long damaged; do
        status=0
        "$STOKER" run "$file" --no-db -q --set model=llama3-8b --anchor "$work/$name.log" > "$work/out" 2> "$work/err" || status=$?
        echo "$status" >> "$work/statuses"
    done
    [ "$(paste -sd ' ' "$work/statuses")" = "0 3" ]
    grep -q "damaged.log:20:6: error: recompute_granularity is 'q*'" "$work/err"
    [ "$(wc -c < "$work/err")" -lt 1000 ]
    run --separate-stderr "$STOKER" run "$file" --no-db --anchor 4.2
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"--anchor 4.2: error: 'step_time': a duration needs a unit"* ]]
    run --separate-stderr "$STOKER" run "$file" --no-db --set anchor=my.log
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"give --anchor"* ]]
    # A study whose scenario cannot be by itself is judged by its first point that can.
    sed '/^gpus/d' "$file" > "$work/s.yaml"
    echo 'sweep: {gpus: [64, 128]}' >> "$work/s.yaml"
    { sed 's/^scenario:.*/scenario: the one that was measured/' "$file"; } > "$work/measured.yaml"
    echo 'anchor: {step_time: 4.2 s, scenario: measured.yaml}' >> "$work/s.yaml"
    "$STOKER" sweep "$work/s.yaml" --db "$work/db" -q --json | jq -ne 'input | .anchor.weight == 1 and (.points[0].step_time_s - 4.2 | fabs) < 1e-6'
    # Nor are a point's own anchors possible.
    run --separate-stderr "$STOKER" sweep "$file" --axis anchor.weight=0,1 --anchor "4.2 s" --db "$work/db"
    [ "$status" -eq 5 ] || [ "$status" -eq 3 ]
    [[ "$stderr$output" == *"anchor.factor is not (step_time / predicted) ^ weight"* ]]
}
