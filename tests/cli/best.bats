# sweep --axis and --best: axes of the command line, each value at its own best layout.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    db=$BATS_TEST_TMPDIR/results.db
    file=$BATS_TEST_TMPDIR/s.yaml
    cat > "$file" << 'END'
scenario: a small cluster
model: llama3-8b
cluster: h100-3200
gpus: 32
batch: {global: 64, micro: 1, sequence_length: 4096}
run: {tokens: 100B}
price: {gpu_hour: 2 USD}
search: {parallel: {tp: [1, 2, 4, 8], cp: [1], pp: [1, 2], schedule: [1f1b], zero: [1, 3],
  sequence_parallel: [true]}, batch.micro: [1, 2], recompute: [none, full]}
END
    space='{parallel: {tp: [1, 2, 4, 8], cp: [1], pp: [1, 2], zero: [1, 3], sequence_parallel: [true]},
        batch.micro: [1, 2], recompute: [none, full]}'
}

sweep() {
    "$STOKER" sweep "$file" --db "$db" "$@"
}

@test "an axis of the command line is one of sweep:" {
    sweep --axis batch.micro=1..2 --axis cluster.network="400 Gbps,3200 Gbps" --json -q |
        jq -S '[.points[] | {point: .label, step_time_s}]' > "$BATS_TEST_TMPDIR/axis"
    echo 'sweep: {batch.micro: [1, 2], cluster.network: [400 Gbps, 3200 Gbps]}' >> "$file"
    sweep --json -q | jq -S '[.points[] | {point: .label, step_time_s}]' > "$BATS_TEST_TMPDIR/file"
    [ "$(jq length "$BATS_TEST_TMPDIR/axis")" -eq 4 ]
    cmp "$BATS_TEST_TMPDIR/axis" "$BATS_TEST_TMPDIR/file"
}

@test "the best of each value is that of trying all, and so is what it costs elsewhere" {
    json=$(sweep --axis cluster.network="50 Gbps,3200 Gbps" --best layout --json -q)
    { cat "$file"; echo "sweep: $space"; } > "$BATS_TEST_TMPDIR/all.yaml"
    for i in 0 1; do
        value=$(jq -r ".best[$i].value" <<< "$json")
        best=$("$STOKER" sweep "$BATS_TEST_TMPDIR/all.yaml" --db "$db" --json -q \
            --set cluster.network="$value" | jq '[.points[] | select(.status == "ok") | .step_time_s] | min')
        [ "$(jq ".best[$i].step_time_s" <<< "$json")" = "$best" ]
        [ "$(jq ".best[$i].is_certified" <<< "$json")" = true ]
    done
    # The other's layout, by its --set.
    arguments=()
    while IFS= read -r set; do
        arguments+=(--set "$set")
    done < <(jq -r '.best[1].set[]' <<< "$json")
    step=$("$STOKER" run "$file" --no-db --json -q --set cluster.network="50 Gbps" \
        "${arguments[@]}" | jq .step_time_s)
    jq -e --argjson step "$step" '.best[0].step_time_s as $own
        | (.best[0].regrets[1] - ($step / $own - 1)) | fabs < 1e-12' <<< "$json"
    jq -e '.best[0].regrets[0] == 0 and .best[0].regrets[1] > 0 and .best[1].regrets[0] >= 0' <<< "$json"
}

@test "usual: the best of the usual layouts at each value, which auto finds, in fewer than all" {
    sed -i '/^search:/,$d' "$file"
    json=$(sweep --axis cluster.network="50 Gbps,3200 Gbps" --best usual --gap 1% --json -q)
    for i in 0 1; do
        network=$(jq -r ".best[$i].value" <<< "$json")
        step=$(jq ".best[$i].step_time_s" <<< "$json")
        jq -e ".best[$i] | .is_certified and .gap <= 0.01" <<< "$json"
        [ "$step" = "$("$STOKER" run "$file" --no-db --json -q --set "cluster.network=$network" \
            --set parallel=auto --set batch.micro=auto --set recompute=auto | jq .step_time_s)" ]
    done
    # What search: names is looked through as for --best layout; both are exact then.
    narrow=(--set 'search.parallel.cp=[1]' --set 'search.parallel.schedule=[1f1b]'
        --set 'search.parallel.zero=[1, 3]' --set 'search.recompute=[none, full]'
        --set 'search.batch.micro=[1, 2]' --set 'search.parallel.tp=[1, 2]'
        --set search.parallel.layers_per_stage=all --set 'search.parallel.order=[tp-cp-ep-pp-dp]'
        --set 'search.parallel.zero_group=[2]' --set 'search.parallel.reshard=[after-step]')
    for best in usual layout; do
        sweep --axis cluster.network="50 Gbps,3200 Gbps" --best $best "${narrow[@]}" --json -q |
            jq -c '[.best[] | [.step_time_s, .layouts, .layout]]'
    done > "$BATS_TEST_TMPDIR/both"
    [ "$(sort -u "$BATS_TEST_TMPDIR/both" | wc -l)" -eq 1 ]
}

@test "an axis of the command line goes before the file's sweep: of the same key" {
    for written in 'cluster.network: [50 Gbps, 100 Gbps]' 'cluster: {network: [50 Gbps, 100 Gbps]}'; do
        { sed '/^sweep:/d' "$file"; echo "sweep: {$written, batch.micro: [1, 2]}"; } > "$BATS_TEST_TMPDIR/w.yaml"
        "$STOKER" sweep "$BATS_TEST_TMPDIR/w.yaml" --db "$db" --axis cluster.network="400 Gbps" --json -q |
            jq -ne 'input | [.points[].axes["cluster.network"].text] == ["400 Gbps", "400 Gbps"]'
    done
}

@test "people read the winners, in what they differ, and the regret" {
    run --separate-stderr sweep --axis cluster.network="50 Gbps,3200 Gbps" --best layout -q --by cost
    [ "$status" -eq 0 ]
    [[ $output == *"each at its best"*"50 Gbps"*"3200 Gbps"*"all: "*"worse with the layout of"* ]]
}

@test "a value at which nothing fits says what lacks, the others are told" {
    run --separate-stderr sweep --axis model="llama3-8b,llama3-405b" --best layout --json -q
    [ "$status" -eq 0 ]
    jq -e '.best[0].layout != null and .best[1].layout == null
        and (.best[1].lack | contains("the nearest is"))' <<< "$output"
    run sweep --axis model=llama3-405b --best layout -q
    [ "$status" -eq 3 ] || [ "$status" -eq 4 ]
    [[ $output == *"no layout fits, at any of 1 values"*"the nearest is"* ]]
}

# Each value's best is the best of those that meet it, where the best of all misses.
@test "what is required of a layout holds for each value's best" {
    local best met
    best=$(sweep --axis gpus=32,64 --best layout --json -q --require 'memory_peak_bytes<=1 TB')
    met=$(sweep --axis gpus=32,64 --best layout --json -q --require 'memory_peak_bytes<=30 GB')
    jq -ne --argjson best "$best" --argjson met "$met" 'all($met.best[]; .meets)
        and ([$met.best[].step_time_s, $best.best[].step_time_s] | .[0] > .[2] and .[1] >= .[3])'
}

# 48 GPUs are 3 x 16: a batch of 64 has no third, so the third goes to the stages, and the scenario's
# own layout (dp 48) says nothing of that. 33 GPUs are no nodes of 8: a row, and no failure.
@test "a value that cannot be is a row, and the others get their answers" {
    run --separate-stderr sweep --axis gpus=32,48,33 --best layout --set 'search.parallel.pp=[1, 2, 3]' --json -q
    [ "$status" -eq 0 ]
    jq -e '.best | (.[0].layout != null) and (.[1].set | any(. == "parallel.pp=3"))
        and .[2].layout == null and (.[2].lack | contains("gpus 33 does not fill nodes of 8"))' <<< "$output"
    # What is wrong of one value is a failed point, as of any sweep; of all it is what is told.
    run --separate-stderr sweep --axis model=llama3-8b,nope --best layout
    [ "$status" -eq 5 ]
    [[ $output == *"there is no model 'nope'"* && $stderr == *"1 ok, 0 infeasible, 1 failed"* ]]
    run sweep --axis model=nope --best layout
    [ "$status" -eq 3 ]
    run sweep --axis gpus=33 --best layout
    [ "$status" -eq 4 ]
}

@test "wrong axes are told" {
    run sweep --axis batch.micro
    [ "$status" -ne 0 ]
    [[ $output == *"--axis batch.micro has no key or no values"* ]]
    run sweep --axis batch.micro=4..1
    [[ $output == *"--axis batch.micro=4..1 has no values"* ]]
    run sweep --axis batch.mikro=1,2
    [ "$status" -eq 3 ]
    [[ $output == *"mikro"*"micro"* ]]
    run sweep --axis batch.micro=1,2 --by cost
    [ "$status" -eq 2 ]
    [[ $output == *"add --best layout"* ]]
    run sweep --axis batch.global=64,128 --axis batch.global=256
    [ "$status" -eq 2 ]
    [[ $output == *"--axis batch.global is there twice"*"--axis batch.global=A,B,C"* ]]
}

@test "what no layout can be judged by is told, as by search" {
    while IFS='|' read -r set by said; do
        run sweep --axis batch.global=64,128 --best layout --set "$set" --by "$by"
        [ "$status" -eq 3 ] || { echo "$set $by: $status $output"; false; }
        [[ $output == *"$said"* ]] || { echo "$output"; false; }
    done << 'END'
ideal.pipeline=true|step|a search bounds steps by their pipeline
run={}|cost|--by cost needs a run
run.stages=[{name: a, tokens: 10B}, {name: b, tokens: 90B}]|days|a search is for one layout of the whole run
END
}

@test "what changes no prediction is no axis, in the file neither" {
    for key in sweep variants require note scenario sweep.batch.micro; do
        run --separate-stderr sweep --axis "$key=1,2" -q
        [ "$status" -eq 3 ]
        [[ $stderr == *"'$key' is no axis: no prediction follows from it"*"batch.micro: [1, 2, 4]"* ]]
    done
    echo 'sweep: {batch.micro: [1, 2], note: [a, b]}' >> "$file"
    run --separate-stderr sweep -q
    [ "$status" -eq 3 ]
    [[ $stderr == *"s.yaml:10:30: error: 'note' is no axis"* ]]
}

@test "a comma too many is told, and brackets and quotes keep theirs" {
    for values in "1,,2" ",1" "1," "1, ,2"; do
        run --separate-stderr sweep --axis "batch.micro=$values" -q
        [ "$status" -eq 2 ]
        [[ $stderr == *"--axis batch.micro=$values lacks a value beside a comma"*"--axis batch.micro=A,B"* ]]
    done
    run --separate-stderr sweep --axis "batch.micro=[1,2" -q
    [ "$status" -eq 2 ]
    [[ $stderr == *"did not find expected"*"is sweep: {KEY: [A, B]} in the file"* ]]
    sweep --axis 'parallel.layers_per_stage=[],[32]' --axis batch.micro="1 , 2" --json -q > "$BATS_TEST_TMPDIR/json"
    jq -e '.points | length == 4' "$BATS_TEST_TMPDIR/json"
}

@test "what a search finds cannot be swept at the same time, in an axis or a variant" {
    # The layout would go before it: three rows, one and the same layout.
    run sweep --axis parallel.tp=1,2,4 --best layout
    [ "$status" -eq 2 ]
    [[ $output == *"finds 'parallel.tp' itself"*"(tp 1)"*"search: {parallel.tp: [...]}"* ]]
    echo 'variants: [{name: a, set: {cluster.network: 400 Gbps}}, {name: b, set: {recompute.layers: 2}}]' >> "$file"
    run sweep --best layout
    [ "$status" -eq 2 ]
    [[ $output == *"finds 'recompute' itself"*"(b)"* ]]
}

# The thick line is each value's best, as --json has it; the thin one the file's own layout, as a
# sweep without --best predicts it: what it loses is the one by the other.
@test "a picture of the best has the winners, the layout of today, and what that loses" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    axis=(--axis cluster.network="50 Gbps,400 Gbps,3200 Gbps" --set parallel.tp=4)
    picture=$BATS_TEST_TMPDIR/p
    sweep "${axis[@]}" --best layout --json -q --plot best:mfu --plot best:days -o "$picture" > "$picture.json"
    sweep "${axis[@]}" --json -q > "$picture-today.json"
    awk -F, 'NR > 1 { printf "%.3f %.3f\n", $2, $3 }' "$picture-best-mfu.csv" > "$picture.drawn"
    jq -rs '[[.[0].best[].step_time_s], [.[1].points[].step_time_s], [.[1].points[].mfu]] | transpose[]
        | [100 * .[2] * .[1] / .[0], 100 * .[2]] | @tsv' "$picture.json" "$picture-today.json" |
        awk '{ printf "%.3f %.3f\n", $1, $2 }' > "$picture.wanted"
    [ "$(wc -l < "$picture.wanted")" -eq 3 ]
    cmp "$picture.drawn" "$picture.wanted"
    loss=$(awk 'NR == 1 { printf "%+.1f %%", 100 * ($2 / $1 - 1) }' "$picture.wanted")
    grep -qF ">$loss<" "$picture-best-mfu.svg"
    [[ $loss == -[1-9]* ]]
    # In days it loses as many, the other way.
    grep -qE ">\+[1-9][0-9.]* %<" "$picture-best-days.svg"
    run ! grep -qE ">-[0-9.]+ %<" "$picture-best-days.svg"
    grep -q "below each value its best" "$picture-best-mfu.svg"
    winner=$(jq -r '.best[0].set[] | select(startswith("parallel.tp=")) | ltrimstr("parallel.tp=")' "$picture.json")
    grep -q ">tp $winner" "$picture-best-mfu.svg"
    for size in slide square print; do
        sweep "${axis[@]}" --best layout -q --plot best --size $size -o "$picture-$size" > /dev/null
    done
    "$STOKER" plot last --db "$db" --kind best -x cluster.network -q -o "$picture-again" > /dev/null
    tests/support/svg-boxes "$picture"*.svg
}

@test "a picture of the best of a scenario whose layout is auto has none of today" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    picture=$BATS_TEST_TMPDIR/p
    echo "parallel: auto" >> "$file"
    sweep --axis cluster.network="50 Gbps,3200 Gbps" --best layout -q --plot best -o "$picture" > /dev/null
    grep -q ">each value at its best<" "$picture.svg"
    run ! grep -q "today" "$picture.svg"
}

# Draws are those of compare: of the two values at their best layouts each wins in the share that it has there.
@test "the share of draws that a value wins at its best is what compare says of the two layouts" {
    sweep --axis cluster.network="400 Gbps,3200 Gbps" --best layout --json -q > "$BATS_TEST_TMPDIR/best"
    { cat "$file"; echo variants:; jq -r '.best[] | "- {name: \(.value), set: {cluster.network: \(.value), \(.set | map(sub("="; ": ")) | join(", "))}}"' \
        "$BATS_TEST_TMPDIR/best"; } > "$BATS_TEST_TMPDIR/both.yaml"
    "$STOKER" compare "$BATS_TEST_TMPDIR/both.yaml" --db "$db" --json -q > "$BATS_TEST_TMPDIR/compared"
    jq -e '(.wins | length) == 2 and ([.wins[].wins.days_share] | add - 1 | fabs) < 1e-9' "$BATS_TEST_TMPDIR/best"
    diff <(jq -c '[.wins[].wins]' "$BATS_TEST_TMPDIR/best") <(jq -c '[.points[].against_first.wins]' "$BATS_TEST_TMPDIR/compared")
}
