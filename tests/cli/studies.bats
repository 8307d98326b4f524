# sweep, compare and plot: points, tables, going on after a kill, pictures.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    db=$BATS_TEST_TMPDIR/results.db
    batch=scenarios/study-batch.yaml
    fabric=scenarios/study-fabric-70b.yaml
}

# A study in the folder of this test: write NAME, the lines from stdin below those of quickstart.
write() {
    cat scenarios/quickstart.yaml - > "$BATS_TEST_TMPDIR/$1.yaml"
}

sweep() {
    "$STOKER" sweep "$@" --db "$db"
}

@test "a sweep has a row for each combination, the last axis fastest" {
    write study <<< 'sweep: {batch.micro: [1, 2], parallel.tp: [2, 4, 8]}'
    run --separate-stderr sweep "$BATS_TEST_TMPDIR/study.yaml"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"6 points: 6 ok, 0 infeasible, 0 failed (0 reused)"* ]]
    mapfile -t lines < <(grep -v '^best \|^$' <<< "$output") # without the answer
    [[ "${lines[1]}" == "micro  tp "* ]]
    [[ "${lines[2]}" =~ ^\ *1\ +2\  ]]
    [[ "${lines[3]}" =~ ^\ *1\ +4\  ]]
    [[ "${lines[7]}" =~ ^\ *2\ +8\  ]]
    [[ "$output" == *"best USD: "*" at "*"best days: "* ]]
}

# An H100 does 989 TFLOP/s in bf16 and 1979 in fp8: less than twice as fast at twice the peak is less
# MFU, and is faster all the same.
@test "MFU names no winner across peaks" {
    write study <<< 'sweep: {precision: [bf16, fp8]}'
    sed -i 's/^software.*/software: megatron-2025/' "$BATS_TEST_TMPDIR/study.yaml"
    run --separate-stderr sweep "$BATS_TEST_TMPDIR/study.yaml" --plot lines -o "$BATS_TEST_TMPDIR/plot"
    [ "$status" -eq 0 ]
    [[ "$output" == *$'\nbest USD: '*" at precision fp8"$'\nbest days: '*" at precision fp8"$'\n'* ]]
    [[ "$output" != *"best MFU"* ]]
    grep -q 'tokens/s per GPU' "$BATS_TEST_TMPDIR/plot.csv"
    run --separate-stderr sweep "$BATS_TEST_TMPDIR/study.yaml" --metric mfu --plot lines:mfu -o "$BATS_TEST_TMPDIR/plot"
    [[ "$output" == *"best MFU %: "*" at precision bf16 (of different peaks: it does not compare)"$'\n'"best USD: "*" at precision fp8"* ]]
    grep -q 'does not compare' "$BATS_TEST_TMPDIR/plot.csv"
    run --separate-stderr sweep "$BATS_TEST_TMPDIR/study.yaml" --json
    [ "$(jq -c '[.winners[] | [.metric, .label, .compares]]' <<< "$output")" \
        = '[["cost_usd","precision fp8",true],["days","precision fp8",true]]' ]
}

@test "nested paths, lists as values and quantities are swept, too" {
    write study << 'END'
sweep:
  cluster: {nics: {bandwidth: [50 Gbps, 400 Gbps]}}
  parallel.layers_per_stage: [[32]]
END
    run sweep "$BATS_TEST_TMPDIR/study.yaml" --json
    [ "$status" -eq 0 ]
    [[ "$output" == *'"value": 6250000000'* ]]
    [[ "$output" == *'"value": 50000000000'* ]]
    [[ "$output" == *'"text": "[32]"'* ]]
}

@test "a point gives what a run with the same --set gives" {
    sweep "$fabric" --json > "$BATS_TEST_TMPDIR/points"
    first=$(grep -m1 '"step_time_s"' "$BATS_TEST_TMPDIR/points" | tr -d ' ')
    run=$("$STOKER" run "$fabric" --no-db -q --json --set 'cluster.network=50 Gbps' |
        grep '"step_time_s"' | tr -d ' ')
    [ "$first" = "$run" ]
}

# Two axes end alike: neither column is only called latency, and the third is short.
@test "axes that end in the same word are told apart by their whole names" {
    write study <<< 'sweep: {cluster.nics.latency: [5 us], cluster.scale_up.latency: [1 us], batch.micro: [1]}'
    run sweep "$BATS_TEST_TMPDIR/study.yaml"
    [ "$status" -eq 0 ]
    [[ "$output" =~ cluster\.nics\.latency\ +cluster\.scale_up\.latency\ +micro\  ]]
}

@test "points that cannot be say why, and the rest goes on" {
    write study <<< 'sweep: {parallel.tp: [1, 2, 3]}'
    run sweep "$BATS_TEST_TMPDIR/study.yaml"
    [ "$status" -eq 0 ]
    [[ "$output" == *"OOM: needs "*" GB of 86"* ]]
    [[ "$output" == *"sizes: "*"3"* ]]
    [[ "$output" == *"3 points: 1 ok, 2 infeasible, 0 failed"* ]]
}

@test "a sweep in which nothing fits is status 4, one with failed points 5" {
    write none <<< 'sweep: {parallel.tp: [3, 5]}'
    run sweep "$BATS_TEST_TMPDIR/none.yaml"
    [ "$status" -eq 4 ]
    write failed <<< 'sweep: {batch.micro: [1, banana]}'
    run sweep "$BATS_TEST_TMPDIR/failed.yaml"
    [ "$status" -eq 5 ]
    [[ "$output" == *"failed: "*banana* ]]
    run sweep "$BATS_TEST_TMPDIR/failed.yaml"
    [ "$status" -eq 5 ]
    [[ "$output" == *"2 points: 1 ok, 0 infeasible, 1 failed (1 reused)"* ]]
}

@test "a sweep that is wrong itself is status 3 with the place" {
    write study <<< 'sweep: {batch.micro: 4}'
    run sweep "$BATS_TEST_TMPDIR/study.yaml"
    [ "$status" -eq 3 ]
    [[ "$output" == *"study.yaml:"*"'batch.micro' needs a list of values"* ]]
    write study <<< 'sweep: {batch.mcro: [1, 2]}'
    run sweep "$BATS_TEST_TMPDIR/study.yaml"
    [ "$status" -eq 3 ]
    [[ "$output" == *"unknown key 'mcro'"*"did you mean 'micro'?"* ]]
    run sweep scenarios/quickstart.yaml
    [ "$status" -eq 3 ]
    write study << 'END'
sweep:
  gpus: [64, 128, 192, 256, 320, 384, 448, 512, 576, 640]
  batch.micro: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  batch.global: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  parallel.tp: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  parallel.pp: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
  seed: [1, 2]
END
    run sweep "$BATS_TEST_TMPDIR/study.yaml"
    [ "$status" -eq 3 ]
    [[ "$output" == *"more than 100000 points"* ]]
}

@test "a --set that the sweep overrides is warned about" {
    write study <<< 'sweep: {batch.micro: [1, 2]}'
    run sweep "$BATS_TEST_TMPDIR/study.yaml" --set batch.micro=4
    [ "$status" -eq 0 ]
    [[ "$output" == *"warning: --set batch.micro=4 changes nothing"* ]]
}

@test "sweep and compare show every metric of the list" {
    "$STOKER" list metrics --json > "$BATS_TEST_TMPDIR/metrics"
    priced=$BATS_TEST_TMPDIR/priced.yaml # so that each has a value
    { cat "$fabric"; echo 'price: {own: {gpu: 30000 USD}, carbon: 0.4 kg/kWh}'; } > "$priced"
    while read -r metric; do
        run --separate-stderr sweep "$priced" --set run.failures=true --set "run.checkpoint={every: 10 min, mode: async}" --metric "$metric"
        [ "$status" -eq 0 ]
        [[ "$output" == *"best "* ]]
        # "cluster.network,mfu,..." beside "label,gpus,mfu,..."
        head=$(sweep "$priced" -q --set run.failures=true --set "run.checkpoint={every: 10 min, mode: async}" \
            --metric "$metric" --format csv | head -n 1 | cut -d, -f2)
        other=$("$STOKER" compare "$priced" --db "$db" -q --set run.failures=true --set "run.checkpoint={every: 10 min, mode: async}" \
            --metric "$metric" --format csv | head -n 1 | cut -d, -f3)
        [[ -n $head && $head == "$other" ]] || { echo "$metric: $head, $other"; false; }
    done < <(jq -r '.metrics[].name' "$BATS_TEST_TMPDIR/metrics")
}

@test "--metric shows what it names" {
    run --separate-stderr sweep "$fabric" --metric tflops_per_gpu --metric days
    [ "$status" -eq 0 ]
    [[ "${lines[1]}" == "best TFLOP/s/GPU: "* && "${lines[2]}" == *"TFLOP/s/GPU"*"days"* ]]
    run sweep "$fabric" --metric banana
    [ "$status" -eq 2 ]
}

@test "a sweep that was stored is not computed again, unless something changed" {
    first=$(sweep "$fabric" 2> /dev/null)
    run --separate-stderr sweep "$fabric"
    [[ "$stderr" == *"(7 reused)"* ]]
    [ "$output" = "$first" ]
    run --separate-stderr sweep "$fabric" --set batch.micro=1
    [[ "$stderr" == *"(0 reused)"* ]]
    # A changed file of the catalogue makes another study.
    mkdir "$BATS_TEST_TMPDIR/own"
    cp -r models topologies "$BATS_TEST_TMPDIR/own"
    sed -i 's/^  efficiency: 0\.9$/  efficiency: 0.5/' "$BATS_TEST_TMPDIR/own/topologies/h100-3200.yaml"
    ! cmp -s topologies/h100-3200.yaml "$BATS_TEST_TMPDIR/own/topologies/h100-3200.yaml" || false
    run --separate-stderr sweep "$fabric" --catalogue "$BATS_TEST_TMPDIR/own"
    [[ "$stderr" == *"(0 reused)"* ]]
    [ "$output" != "$first" ]
}

# Who writes a value is no result: when assumptions were compared, two stood under one key.
@test "what somebody writes is the run of the file that assumes it" {
    file=$BATS_TEST_TMPDIR/file.yaml
    sed 's/^cluster: .*/cluster: h100-400/' scenarios/quickstart.yaml > "$file"
    "$STOKER" run "$file" --db "$db" --json -q > "$BATS_TEST_TMPDIR/first"
    key=$(jq -r .key "$BATS_TEST_TMPDIR/first")
    jq -e '[.assumptions[].name] | index("cluster.nics.bandwidth") != null' "$BATS_TEST_TMPDIR/first"
    "$STOKER" run "$file" --db "$db" --json -q --set cluster.nics.bandwidth='50 Gbps' > "$BATS_TEST_TMPDIR/second"
    jq -ne --arg key "$key" 'input | .key == $key and
        ([.assumptions[].name] | index("cluster.nics.bandwidth") == null)' "$BATS_TEST_TMPDIR/second"
    run --separate-stderr sweep "$file" --axis cluster.nics.bandwidth='50 Gbps,60 Gbps'
    [ "$status" -eq 0 ]
    # What `show` writes is the same run, too.
    "$STOKER" show "$file" > "$BATS_TEST_TMPDIR/shown.yaml"
    [ "$("$STOKER" run "$BATS_TEST_TMPDIR/shown.yaml" --db "$db" --json -q | jq -r .key)" = "$key" ]
}

# Each further point is a row of figures (0.6 kB), 80 rows of numbers of what hangs on it, and of its
# scenario, of 24 kB, the values that were set: 4 kB at most, where all texts of each made it 44.
@test "a point of a study is stored in 4 kB" {
    small=$BATS_TEST_TMPDIR/small.db
    rates() { seq -f '%g Gbps' -s ', ' 100 "$1"; }
    write few <<< "sweep: {cluster.nics.bandwidth: [$(rates 103)], recompute: [none, full]}"
    write many <<< "sweep: {cluster.nics.bandwidth: [$(rates 203)], recompute: [none, full]}"
    "$STOKER" sweep "$BATS_TEST_TMPDIR/few.yaml" --db "$small" -q > /dev/null
    "$STOKER" sweep "$BATS_TEST_TMPDIR/many.yaml" --db "$db" -q > /dev/null
    [ $(($(stat -c %s "$db") - $(stat -c %s "$small"))) -le $((200 * 4000)) ]
    # Which scenario it was, the file still says to the byte.
    key=$("$STOKER" list runs --db "$db" --json | jq -r '[.runs[].key] | sort | .[7]')
    "$STOKER" show run "$key" --db "$db" > "$BATS_TEST_TMPDIR/shown"
    grep -q 'bandwidth: [12][0-9][0-9] Gbps' "$BATS_TEST_TMPDIR/shown"
}

# Layouts differ in several values each: of 24 kB of scenario that is 0.1 kB of pieces. 3.3 kB in all.
@test "a point of a search is stored in 4 kB, too" {
    write search <<< 'memory: {margin: 0}
search: {recompute: [none, selective, full]}'
    search() {
        "$STOKER" search "$BATS_TEST_TMPDIR/search.yaml" --any-software --top 200 --db "$db" -q \
            --set batch.global="$1" --json | jq '.points | length'
    }
    search 256 > /dev/null
    bytes=$(stat -c %s "$db")
    points=$(($(search 512) + $(search 768) + $(search 1024)))
    [ "$points" -ge 40 ]
    [ $(($(stat -c %s "$db") - bytes)) -le $((points * 4000)) ]
}

@test "a sweep that was killed goes on where it stopped, to the same table" {
    "$STOKER" sweep "$batch" --db "$BATS_TEST_TMPDIR/whole.db" > "$BATS_TEST_TMPDIR/whole" 2> /dev/null
    "$STOKER" sweep "$batch" --db "$db" > /dev/null 2>&1 &
    sweeper=$!
    for _ in $(seq 400); do
        points=$("$STOKER" list studies --db "$db" 2> /dev/null | awk 'NR == 2 { print $3 }')
        [ "${points:-0}" -ge 3 ] && break
        sleep 0.02
    done
    kill -9 "$sweeper" 2> /dev/null || true
    wait "$sweeper" || true
    run --separate-stderr sweep "$batch"
    [ "$status" -eq 0 ]
    [[ "$stderr" =~ \(([0-9]+)\ reused\) ]]
    [ "${BASH_REMATCH[1]}" -ge 3 ]
    [ "$output" = "$(cat "$BATS_TEST_TMPDIR/whole")" ]
}

@test "compare puts variants side by side, and against the first" {
    run "$STOKER" compare scenarios/study-gpus.yaml --db "$db"
    [ "$status" -eq 0 ]
    [[ "$output" == *"against 1,024 H100"*"4,096 V100"* ]]
    run "$STOKER" compare scenarios/study-gpus.yaml --db "$db" --json
    [ "$status" -eq 0 ]
    [[ "$output" == *'"schema": "stoker.compare/1"'*'"speed_up": 1,'* ]]
    [[ "$output" == *'"reused": '* ]]
}

@test "compare puts files side by side, and tells equal titles apart" {
    cp scenarios/quickstart.yaml "$BATS_TEST_TMPDIR/other.yaml"
    run "$STOKER" compare scenarios/quickstart.yaml "$BATS_TEST_TMPDIR/other.yaml" --db "$db" -q
    [ "$status" -eq 0 ]
    [[ "$output" == *"other.yaml)"*"1.00 x"*"nothing"* ]]
    run "$STOKER" compare scenarios/quickstart.yaml --db "$db"
    [ "$status" -eq 3 ]
    run "$STOKER" compare scenarios/quickstart.yaml "$BATS_TEST_TMPDIR/missing.yaml" --db "$db"
    [ "$status" -eq 3 ]
}

@test "the variants of a study go with each point of its sweep" {
    write study << 'END'
variants: [{name: first, set: {gpus: 64}}, {name: second, set: {parallel: {tp: 4}}}]
sweep: {batch.micro: [1, 2]}
END
    run sweep "$BATS_TEST_TMPDIR/study.yaml" --json
    [ "$status" -eq 0 ]
    [[ "$output" == *'"label": "first, micro 1"'*'"label": "second, micro 2"'* ]]
    write study <<< 'variants: [{name: same}, {name: same}]'
    run sweep "$BATS_TEST_TMPDIR/study.yaml"
    [ "$status" -eq 3 ]
    [[ "$output" == *"variant 'same' is listed twice"* ]]
}

@test "a mapping of a variant takes the place of a word" {
    grep -q '^recompute: none' scenarios/quickstart.yaml
    write study << 'END'
variants:
  - {name: word, set: {recompute: full}}
  - {name: mapping, set: {recompute: {layers: 32}}}
END
    run --separate-stderr sweep "$BATS_TEST_TMPDIR/study.yaml" --json
    [ "$status" -eq 0 ]
    # All 32 layers are all there are.
    [ "$(grep -o '"step_time_s": [0-9.]*' <<< "$output" | sort -u | wc -l)" -eq 1 ]
}

# Two microbatches on two stages: a file whose orders are those of 1F1B takes its time.
# Sends as a file's go, whenever they are ready: with Megatron's calls only the named 1f1b waits.
@test "schedules are swept by name and by file" {
    cat > "$BATS_TEST_TMPDIR/mine.yaml" << 'END'
schedule: mine
source: 1F1B, written out
stages: 2
microbatches: 2
orders:
  - F0 F1 BW0 BW1
  - F0 BW0 F1 BW1
END
    write study << END
sweep:
  parallel.schedule: [1f1b, zb-h1, dualpipe, $BATS_TEST_TMPDIR/mine.yaml]
END
    run --separate-stderr sweep "$BATS_TEST_TMPDIR/study.yaml" --json \
        --set parallel.pp=2 --set batch.global=32 --set software.p2p.calls=apart
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"4 points: 3 ok, 1 infeasible"* ]]
    [[ "$output" == *"schedule dualpipe needs at least 2 x pp 2 = 4 microbatches, not 2"* ]]
    [ "$(grep -o '"step_time_s": [0-9.]*' <<< "$output" | sort | uniq -d | wc -l)" -eq 1 ]
}

# ---- pictures -----------------------------------------------------------------------

@test "sweep draws what it is asked for, and tells the paths" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    run sweep "$batch" --plot heatmap:mfu --plot lines:step_s -o "$BATS_TEST_TMPDIR/p"
    [ "$status" -eq 0 ]
    for suffix in svg png csv gp; do
        [ -s "$BATS_TEST_TMPDIR/p-heatmap-mfu.$suffix" ]
        [ -s "$BATS_TEST_TMPDIR/p-lines-step_s.$suffix" ]
        [[ "$output" == *"/p-heatmap-mfu.$suffix"* ]]
    done
}

@test "plot finds a study by key, by file and the last one" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    sweep "$fabric" > /dev/null
    key=$("$STOKER" list studies --db "$db" | awk 'NR == 2 { print $1 }')
    for study in "${key:0:6}" "$fabric" last; do
        rm -f "$BATS_TEST_TMPDIR"/p.*
        run "$STOKER" plot "$study" --db "$db" -o "$BATS_TEST_TMPDIR/p"
        [ "$status" -eq 0 ]
        [ -s "$BATS_TEST_TMPDIR/p.svg" ]
        [[ "${lines[0]}" == *"/p.svg" ]]
    done
}

@test "what cannot be drawn is an error that names what there is" {
    sweep "$fabric" > /dev/null
    run "$STOKER" plot last --db "$db" --kind pie
    [ "$status" -eq 2 ]
    [[ "$output" == *"lines, causes, dollars, heatmap, pareto, whatif"* ]]
    # A metric is not ignored in silence, as it was by sweep.
    run "$STOKER" sweep "$fabric" --no-db --plot causes:mfu
    [ "$status" -eq 2 ]
    [[ "$output" == *"causes has no metric"*"for lines, heatmap, pareto and best"* ]]
    run "$STOKER" plot last --db "$db" --metric mfuu
    [ "$status" -eq 2 ]
    [[ "$output" == *"did you mean 'mfu'?"* ]]
    run "$STOKER" plot ffff --db "$db"
    [ "$status" -eq 2 ]
    run "$STOKER" plot "$batch" --db "$db"
    [ "$status" -eq 2 ]
    [[ "$output" == *"stoker sweep $batch"* ]]
    run "$STOKER" plot last --db "$BATS_TEST_TMPDIR/none.db"
    [ "$status" -eq 1 ]
}

@test "without gnuplot, data and script are written and the message says so" {
    sweep "$fabric" > /dev/null
    mkdir "$BATS_TEST_TMPDIR/empty"
    PATH=$BATS_TEST_TMPDIR/empty run "$STOKER" plot last --db "$db" -o "$BATS_TEST_TMPDIR/p"
    [ "$status" -eq 1 ]
    [[ "$output" == *gnuplot* ]]
    [ -s "$BATS_TEST_TMPDIR/p.csv" ]
    [ -s "$BATS_TEST_TMPDIR/p.gp" ]
    [ ! -e "$BATS_TEST_TMPDIR/p.svg" ]
}

# ---- values that do not exist --------------------------------------------------------------------

# Two variants of one step; only the first says how long to train. 0 days would be the shortest.
write_absent() {
    awk '/^[a-z]/ { inside = /^run:/ } !inside' scenarios/quickstart.yaml - \
        > "$BATS_TEST_TMPDIR/absent.yaml" << 'END'
variants:
  - {name: asked, set: {run.tokens: 1T}}
  - {name: open}
  - {name: large, set: {parallel.tp: 1}}
  - {name: wrong, set: {parallel.tp: 3}}
END
}

@test "a value that does not exist is - on screen and never the best" {
    write_absent
    run --separate-stderr sweep "$BATS_TEST_TMPDIR/absent.yaml" --metric days --metric cost_usd
    [ "$status" -eq 0 ]
    [[ "$output" =~ asked\ +[0-9.]+\ +[0-9.]+ ]]
    [[ "$output" =~ open\ +-\ +- ]]
    [[ "$output" == *"best days: "*" at asked"* ]]
    run "$STOKER" compare "$BATS_TEST_TMPDIR/absent.yaml" --db "$db"
    [[ "$output" =~ open\ .*\ -\ +-\ +-\ +- ]]
    [[ "$output" =~ open\ +1\.00\ x\ +1\.00\ x\ +-\ +-\ +-\ +nothing ]]
    run "$STOKER" list runs --db "$db"
    [ "$(grep -c -E ' - +yes ' <<< "$output")" -ge 1 ]
    [ "$(grep -c -E ' - +- +- +no ' <<< "$output")" -ge 1 ]
}

@test "a value that does not exist is null in every document" {
    write_absent
    sweep "$BATS_TEST_TMPDIR/absent.yaml" --json > "$BATS_TEST_TMPDIR/sweep" 2> /dev/null
    "$STOKER" compare "$BATS_TEST_TMPDIR/absent.yaml" --db "$db" --json \
        > "$BATS_TEST_TMPDIR/compare" 2> /dev/null
    for document in sweep compare; do
        jq -e '.points | map({key: .label, value: .}) | from_entries |
            (.asked.run.days > 0) and (.open.run | all(.[]; . == null)) and .open.mfu > 0 and
            .large.memory.peak_bytes > .large.memory.limit_bytes and
            ([.large.step_time_s, .large.mfu, .large.bound_by, .large.run.days] | all(. == null)) and
            (.large.breakdown | all(.[]; . == null)) and
            (.wrong.memory | all(.[]; . == null)) and .wrong.step_time_s == null and
            .asked.axes.variant.value == null and .asked.message == null' \
            "$BATS_TEST_TMPDIR/$document"
    done
    jq -e '.points | map({key: .label, value: .against_first}) | from_entries |
        .large == null and .wrong == null and .open.cost_ratio == null and .open.speed_up == 1' \
        "$BATS_TEST_TMPDIR/compare"
    "$STOKER" list runs --db "$db" --json |
        jq -ne 'input | .runs | any(.days == null and .step_s > 0) and any(.step_s == null and .mfu == null) and
            any(.fits == true) and any(.fits == false)'
}

@test "a value that does not exist is blank in the data of a plot" {
    write_absent
    sweep "$BATS_TEST_TMPDIR/absent.yaml" --plot lines:days --plot causes --plot dollars \
        -o "$BATS_TEST_TMPDIR/p" > /dev/null 2>&1
    grep -q -E '^0,1,1,,0,' "$BATS_TEST_TMPDIR/p-lines-days.csv"   # open
    grep -q -E '^0,2,2,,0,.*"out of memory"' "$BATS_TEST_TMPDIR/p-lines-days.csv"
    grep -q -E '^2,,,,.*"large","-","out of memory"' "$BATS_TEST_TMPDIR/p-causes.csv"
    [ "$(grep -c asked "$BATS_TEST_TMPDIR/p-dollars.csv")" -eq 1 ]
    [ "$(grep -c open "$BATS_TEST_TMPDIR/p-dollars.csv")" -eq 0 ]
}

# Two files of one title and axis, with batches of 256 and 512: two lines with two points each, not
# one of four that jumps to and fro.
@test "two studies of one title are two lines, told apart by their files" {
    write one <<< 'sweep: {batch.micro: [1, 2]}'
    sed 's/^  global: 256$/  global: 512/' "$BATS_TEST_TMPDIR/one.yaml" > "$BATS_TEST_TMPDIR/two.yaml"
    ! cmp -s "$BATS_TEST_TMPDIR/one.yaml" "$BATS_TEST_TMPDIR/two.yaml" || false
    sweep "$BATS_TEST_TMPDIR/one.yaml" > /dev/null 2>&1
    sweep "$BATS_TEST_TMPDIR/two.yaml" > /dev/null 2>&1
    run "$STOKER" plot "$BATS_TEST_TMPDIR/one.yaml" "$BATS_TEST_TMPDIR/two.yaml" -x batch.micro \
        --db "$db" -o "$BATS_TEST_TMPDIR/p"
    [ "$status" -eq 0 ]
    [ "$(cut -d, -f1 "$BATS_TEST_TMPDIR/p.csv" | grep -c '^0$')" -eq 2 ]
    [ "$(cut -d, -f1 "$BATS_TEST_TMPDIR/p.csv" | grep -c '^1$')" -eq 2 ]
    grep -q '"Llama 3 8B on 64 H100 (.*one.yaml)"' "$BATS_TEST_TMPDIR/p.csv"
    grep -q '"Llama 3 8B on 64 H100 (.*two.yaml)"' "$BATS_TEST_TMPDIR/p.csv"
    key=$("$STOKER" list studies --db "$db" --json | jq -r '.studies[0].key')
    run "$STOKER" plot "$key" last --db "$db" -x batch.micro -o "$BATS_TEST_TMPDIR/p"
    [ "$status" -eq 0 ]
    grep -q "64 H100 ($key)\"" "$BATS_TEST_TMPDIR/p.csv"
    run "$STOKER" plot "$key" "$BATS_TEST_TMPDIR/one.yaml" --db "$db" -o "$BATS_TEST_TMPDIR/p"
    [ "$status" -eq 2 ]
    [[ "$output" == *"are one study"* ]]
}

# A plain scenario, one with two variants and one with a sweep of three: 1 + 2 + 3 points.
@test "files that are compared keep their sweeps and variants" {
    cp scenarios/quickstart.yaml "$BATS_TEST_TMPDIR/plain.yaml"
    write variants <<< 'variants: [{name: thin, set: {parallel.tp: 4}}, {name: wide, set: {parallel.tp: 8}}]'
    write swept <<< 'sweep: {batch.global: [256, 512, 1024]}'
    run --separate-stderr "$STOKER" compare "$BATS_TEST_TMPDIR/plain.yaml" \
        "$BATS_TEST_TMPDIR/variants.yaml" "$BATS_TEST_TMPDIR/swept.yaml" --db "$db" --json
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"6 points: 6 ok"* ]]
    [ "$(jq -r '.points[].label' <<< "$output" | sed "s|$BATS_TEST_TMPDIR/||")" = \
"Llama 3 8B on 64 H100
Llama 3 8B on 64 H100 (variants.yaml): thin
Llama 3 8B on 64 H100 (variants.yaml): wide
Llama 3 8B on 64 H100 (swept.yaml): global 256
Llama 3 8B on 64 H100 (swept.yaml): global 512
Llama 3 8B on 64 H100 (swept.yaml): global 1024" ]
    # A point is what run predicts with the same --set.
    for point in 2:parallel.tp=8 5:batch.global=1024; do
        [ "$(jq ".points[${point%%:*}].step_time_s" <<< "$output")" = \
            "$("$STOKER" run scenarios/quickstart.yaml --no-db -q --json --set "${point#*:}" |
                jq .step_time_s)" ]
    done
}

@test "a study that --set names anew has that title" {
    run "$STOKER" compare scenarios/study-fabric-70b.yaml --db "$db" -q --set scenario='70B, again'
    [ "${lines[0]}" = '70B, again' ]
}

# What a point saves of the base's cost, over its own GPU-hours.
@test "compare holds points against the one that is named, and says what a GPU-hour may cost more" {
    local study=scenarios/study-fabric-70b.yaml
    "$STOKER" compare $study --db "$db" --json -q --against '400 Gbps' > "$BATS_TEST_TMPDIR/compared"
    jq -e '.points[3] as $base | .against == "400 Gbps" and
        .points[3].against_named.speed_up == 1 and
        .points[6].against_named.worth_usd_per_gpu_hour > 0 and
        all(.points[];
            (.against_named.worth_usd_per_gpu_hour * .run.gpu_hours -
                ($base.run.cost_usd - .run.cost_usd) | fabs) < 1e-3 and
            (.against_named.speed_up * $base.tokens_per_s_per_gpu - .tokens_per_s_per_gpu |
                fabs) < 1e-6)' "$BATS_TEST_TMPDIR/compared"
    run "$STOKER" compare $study --db "$db" --against '400 Gbps' -q
    [[ $output == *'against 400 Gbps'*'worth USD/GPU-h'* ]]
    run ! grep -q '^400 Gbps .* x ' <<< "$output"
    run -2 "$STOKER" compare $study --db "$db" --against '40 Gbps'
    [[ $output == *"there is no point '40 Gbps'"*"did you mean"* ]]
}

# By hand: ranks are one more than the points that are less; the front is who is not beaten in all.
@test "compare ranks by days, dollars and energy, and names the front" {
    "$STOKER" compare scenarios/study-gpus.yaml --db "$db" --json -q > "$BATS_TEST_TMPDIR/ranked"
    python3 - "$BATS_TEST_TMPDIR/ranked" << 'PYTHON'
import json, sys
document = json.load(open(sys.argv[1]))
runs = {point["label"]: point["run"] for point in document["points"]}
aims = {"days_rank": "days", "cost_rank": "cost_usd", "energy_rank": "energy_kwh"}
def beats(one, other):
    pairs = [(one[key], other[key]) for key in aims.values()]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)
ranking = document["ranking"]
assert len(ranking) == len(runs) == 6
assert [entry["days_rank"] for entry in ranking] == sorted(entry["days_rank"] for entry in ranking)
for entry in ranking:
    run = runs[entry["label"]]
    for rank, key in aims.items():
        assert entry[rank] == 1 + sum(other[key] < run[key] for other in runs.values()), (entry, key)
    by = [label for label, other in runs.items() if beats(other, run)]
    assert (entry["beaten_by"] in by) if by else (entry["beaten_by"] is None), entry
    assert abs(entry["kwh_per_million_tokens"] - run["energy_kwh"] / 2e6) < 1e-9
assert any(entry["beaten_by"] for entry in ranking) and not all(e["beaten_by"] for e in ranking)
PYTHON
    run -0 "$STOKER" compare scenarios/study-gpus.yaml --db "$db" -q
    [[ $output == *"by days  by USD  by kWh"*"on the front"*"beaten by "* ]]
}

@test "runs of different tokens, or without a price, are not ranked as if they were alike" {
    cat > "$BATS_TEST_TMPDIR/tokens.yaml" << 'YAML'
scenario: two lengths
model: llama3-8b
cluster: h100-3200
gpus: 64
parallel: {tp: 2}
batch: {global: 64, sequence_length: 8192}
run: {tokens: 1T}
variants:
  - {name: one, set: {run.tokens: 1T}}
  - {name: two, set: {run.tokens: 2T}}
YAML
    run -0 "$STOKER" compare "$BATS_TEST_TMPDIR/tokens.yaml" --db "$db" -q
    [[ $output == *"Not ranked by days, USD and kWh: one trains 1.00T tokens, two trains 2.00T"* ]]
    "$STOKER" compare "$BATS_TEST_TMPDIR/tokens.yaml" --db "$db" -q --json > "$BATS_TEST_TMPDIR/json"
    jq -e 'has("ranking") and .ranking == null' "$BATS_TEST_TMPDIR/json"
    sed -e 's/run.tokens: 2T/gpu: gh200-96gb/' "$BATS_TEST_TMPDIR/tokens.yaml" > \
        "$BATS_TEST_TMPDIR/unpriced.yaml"
    run -0 "$STOKER" compare "$BATS_TEST_TMPDIR/unpriced.yaml" --db "$db" -q
    [[ $output == *"The front is of days and kWh: not all have a price."* ]]
}

# Scripts are in UTF-8, of which gnuplot warns in the POSIX locale.
@test "in a system without a locale gnuplot has nothing to say" {
    env -u LANG -u LC_CTYPE LC_ALL=POSIX "$STOKER" sweep scenarios/study-fabric-70b.yaml \
        --db "$db" --plot lines -o "$BATS_TEST_TMPDIR/plain" > /dev/null 2> "$BATS_TEST_TMPDIR/said"
    run ! grep gnuplot "$BATS_TEST_TMPDIR/said"
    [ ! -e "$BATS_TEST_TMPDIR/plain.log" ]
}

# Without a price and with electricity at 0 nothing is saved, which is not the same as +0.00.
@test "compare says nothing of what a GPU-hour is worth where nothing costs anything" {
    "$STOKER" compare scenarios/study-fabric-70b.yaml --db "$db" --json -q \
        --set 'price={gpu_hour: 0 USD, electricity: 0 USD/kWh}' > "$BATS_TEST_TMPDIR/free"
    jq -e '(.points | length) == 7 and
        all(.points[]; .against_first.speed_up > 0 and
            .against_first.worth_usd_per_gpu_hour == null)' "$BATS_TEST_TMPDIR/free"
}
