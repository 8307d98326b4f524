# search of policies: the best of a run with failures, what it says of the rest, what can be wrong.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    db=$BATS_TEST_TMPDIR/results.db
    file=$BATS_TEST_TMPDIR/s.yaml
    cat > "$file" << 'END'
scenario: a small run
model: llama3-8b
cluster: h100-3200
gpus: 64
parallel: {tp: 2}
batch: {global: 256, micro: 1, sequence_length: 8192}
run:
  tokens: 2T
  checkpoint: {every: 30 min}
  failures: rsc1-jobs-2024
  repetitions: 16
END
}

search() {
    "$STOKER" search "$file" --db "$db" "$@"
}

@test "the best is what the sweep of the same policies has, and can be run by its --set" {
    sed -i 's/^  repetitions: 16/&\n  queue: 30 days/' "$file" # which the days of each have
    cat >> "$file" << 'END'
search: {run: {checkpoint: {every: [2 min, 30 min, 4 h], mode: all}, recovery: {spares: [0, 1]}}}
sweep: {run: {checkpoint: {every: [2 min, 30 min, 4 h], mode: [blocking, async]}, recovery: {spares: [0, 1]}}}
END
    json=$(search --json -q --top 12)
    swept=$("$STOKER" sweep "$file" --db "$BATS_TEST_TMPDIR/sweep.db" --json -q)
    [ "$(jq '[.points[] | select(.name == null)] | length' <<< "$json")" -eq 12 ]
    # to the bit, each of them
    [ "$(jq -c '[.points[] | select(.name == null) | .run.days] | sort' <<< "$json")" = \
        "$(jq -c '[.points[].run.days] | sort' <<< "$swept")" ]
    [ "$(jq ".policies.best - ([.points[] | select(.name == null) | .run.days] | min) | fabs < 1e-9" <<< "$json")" = true ]
    # 3 intervals x 2 modes x 2 numbers of spares, its own, and the intervals of three formulas
    [ "$(jq .policies.counts.tried <<< "$json")" -eq 16 ]
    sets=()
    while read -r set; do
        sets+=(--set "$set")
    done < <(jq -r '.points[0].set[]' <<< "$json")
    days=$("$STOKER" run "$file" --no-db -q --json "${sets[@]}" | jq .run.days)
    [ "$days" = "$(jq '.points[0].run.days' <<< "$json")" ]
    own=$("$STOKER" run "$file" --no-db -q --json | jq .run.days)
    [ "$own" = "$(jq '.points[] | select(.name == "own") | .run.days' <<< "$json")" ]
}

# Of 4 and 8 spares the days are the same here, as more than 4 nodes are never broken. The 4 more are
# paid as nodes, 8 GPUs each all the time, so that the best by cost has fewer; and with nothing paid
# for spares the two are one again, but for their electricity.
@test "more spares than are needed cost what they are rented for" {
    echo 'search: {run: {recovery: {spares: [4, 8]}}}' >> "$file"
    price=(--set price.gpu_hour='2 USD' --set price.electricity='0.1 USD/kWh')
    json=$(search --json -q --by cost "${price[@]}")
    jq -e '[.points[] | select(.name == null) | .run] | .[0] as $few | .[1] as $many |
        ($few.days == $many.days) and ($many.energy_kwh > $few.energy_kwh) and
        ($many.cost_usd - $few.cost_usd - 4 * 8 * 24 * $few.days * 2 -
            0.1 * ($many.energy_kwh - $few.energy_kwh) | fabs < 1e-5)' <<< "$json"
    spares=$("$STOKER" run "$file" --no-db -q --json "${price[@]}" --set run.recovery.spares=4 | jq .run.spares_usd)
    jq -e ".points[0].run.days * 4 * 8 * 24 * 2 - $spares | fabs < 1e-6" <<< "$json"
    [ "$(jq -r '.points[0].set[-1]' <<< "$json")" = run.recovery.spares=4 ]
    jq -e '[.points[] | select(.name == null) | .run] |
        .[1].cost_usd - .[0].cost_usd - 0.1 * (.[1].energy_kwh - .[0].energy_kwh) | fabs < 1e-5' \
        <<< "$(search --json -q --by cost "${price[@]}" --set price.spares='0 %')"
}

@test "the text has the policies in order, what the best gains, and the formulas' intervals" {
    run search --set 'search.run.checkpoint.every=20 s..6 h' --set search.run.recovery.without_node=all
    [ "$status" -eq 0 ]
    [[ "$output" == *"policy "*" every "*"without_node"*"behind the best"* ]]
    [[ "$output" =~ [0-9]+\ policies\ were\ tried\ by\ days,\ 16\ histories\ each ]]
    [[ "$output" =~ of\ the\ intervals\ tried\ with\ the\ best,\ from\ .*\ to\ .*\ are\ as\ good ]]
    [[ "$output" == *"the best gains "*" over the scenario's own"* ]]
    [[ "$output" == *"by formula, for one constant rate: Young "*", Daly "*", exact "* ]]
    [ "$(grep -cE '^(own|Young|Daly|exact) ' <<< "$output")" -eq 4 ]
    "$STOKER" list runs --db "$db" | grep -q "a small run"
}

@test "again it is the same, and its points are there" {
    for turn in 1 2; do
        search --json -q --by energy --set 'search.run.checkpoint.every=20 s..6 h' |
            jq 'del(.policies.host_s, .counts.reused)' > "$BATS_TEST_TMPDIR/$turn"
    done
    [ -s "$BATS_TEST_TMPDIR/1" ]
    cmp "$BATS_TEST_TMPDIR/1" "$BATS_TEST_TMPDIR/2"
    run --separate-stderr search --by energy --set 'search.run.checkpoint.every=20 s..6 h'
    [[ "$stderr" == *"(5 reused)"* ]]
}

# LINE: the search. What is said of it, and its exit status.
refused() {
    local status_wanted=$1 line=$2
    shift 2
    sed -i '/^search:/d' "$file"
    echo "search: $line" >> "$file"
    run search
    [ "$status" -eq "$status_wanted" ] || { echo "$output"; return 1; }
    for words in "$@"; do
        [[ "$output" == *"$words"* ]] || { echo "$output"; return 1; }
    done
}

@test "what a search of policies cannot take is told with its place" {
    refused 3 '{run: {checkpoint: {evry: [1 min]}}}' "s.yaml:12:29: error: 'run.checkpoint.evry' is no axis" \
        "did you mean 'run.checkpoint.every'?"
    refused 3 '{run: {checkpoint: {every: []}}}' "s.yaml:12:36: error: 'run.checkpoint.every' has no values"
    refused 3 '{run: {checkpoint: {every: 1 h..1 min}}}' "s.yaml:12:36: error: the range '1 h..1 min'" \
        "smaller end first"
    refused 3 '{run: {checkpoint: {every: 1..60}}}' "s.yaml:12:36: error: " "unit"
    refused 3 '{run: {checkpoint: {every: all}}}' "s.yaml:12:36: error: 'run.checkpoint.every' cannot be all"
    refused 3 '{run: {checkpoint: {mode: [asinc]}}}' "s.yaml:12:36: error: 'run.checkpoint.mode' cannot be asinc" \
        "did you mean 'async'?"
    refused 3 '{run: {recovery: {spares: 4..2}}}' "s.yaml:12:35: error: the range '4..2'" "has no values"
    refused 3 '{run: {recovery: {spares: [1]}}, run.recovery.spares: [2]}' "'run.recovery.spares' is searched twice"
    refused 3 '{run: {recovery: {spares: [1]}}, parallel: {tp: [2]}}' \
        "s.yaml:12:53: error: 'parallel.tp' is an axis of layouts" "the layout first"
    refused 3 '{run: {checkpoint: {to: [shared, local]}}}' \
        "s.yaml:12:42: error: 'run.checkpoint.to: local': nodes of cluster h100-3200 have no drives"
}

@test "spares above the cluster, and what nothing can be said of" {
    line='{run: {recovery: {spares: [1, 5000]}}}'
    sed -i 's/^cluster: h100-3200/cluster: h100-roce-24k/' "$file"
    refused 3 "$line" "s.yaml:12:39: error: 'run.recovery.spares: 5000': 5000 spares beside 8 nodes are more than"
    run search --set run.failures=false --set 'search.run.recovery.spares=[1]'
    [ "$status" -eq 3 ]
    [[ "$output" == *"s.yaml:12:1: error: nothing fails in this run"*"run: {failures: "* ]]
    sed -i '/tokens/d' "$file"
    run search --set 'search.run.recovery.spares=[1]'
    [ "$status" -eq 3 ]
    [[ "$output" == *"nothing says for how many tokens"* ]]
}

@test "intervals beyond what lies between failures: no policy, and which would be one" {
    failures='run.failures={failures: x, counts: interruptions, classes: [{name: a, of: job, rate: {mttf: 10 min}}]}'
    refused 0 '{run: {checkpoint: {every: [10 h]}}}' "the best gains"
    run search --set "$failures"
    [ "$status" -eq 4 ]
    [[ "$output" == *"s.yaml:12:1: error: none of 1 policies lets the run be done: the run makes no progress: something ends it every 10.0 min"* ]]
    [[ "$output" == *"would be best: search intervals around that"* ]]
    # beside one that is: told, and ranked
    run search --set "$failures" --set 'search.run.checkpoint.every=[10 h, 1 min]'
    [ "$status" -eq 0 ]
    [[ "$output" == *"1 let no run be done"* ]]
}

@test "options of other searches are refused, and --by of what policies do not move" {
    sed -i '/^search:/d' "$file"
    echo 'search: {run: {recovery: {spares: [1]}}}' >> "$file"
    for option in --by=step --gap=1% --shard=1/2; do
        run search "$option"
        [ "$status" -eq 2 ]
    done
    run "$STOKER" search scenarios/quickstart.yaml --by goodput --db "$db"
    [ "$status" -eq 3 ]
    [[ "$output" == *"--by goodput is of policies"* ]]
    run search --set run.recovery.spares=7 # only its own is moved
    [ "$status" -eq 0 ]
    [[ "$output" == *"changes only the scenario's own policy"* ]]
}

@test "of policies that are equally good the first is kept, also where one alone is" {
    # What is made of the batch says nothing where the run waits for nodes: both are the same run.
    json=$(search --set search.run.recovery.batch='[shrunk, kept]' --json -q --top 1)
    jq -e '[.points[] | select(.name == null)] | length == 1
        and (.[0].set | index("run.recovery.batch=shrunk") != null)' <<< "$json"
    jq -e '.points[0].value == (.points[] | select(.name == "own") | .value)' <<< "$json"
}

# A step takes 3.9 s, so that no checkpoint can be written every 1 to 2 s, nor every 4 to 5 s.
@test "a range without a whole number of steps is told, with the next that is one" {
    for range in "1 s..2 s" "4 s..5 s"; do
        run --separate-stderr search --set "search.run.checkpoint.every=$range" -q
        [ "$status" -eq 3 ]
        [[ $stderr == *"no whole number of steps lies in the range '$range' of 'run.checkpoint.every'"*"the next is "*" steps): write a range that has it"* ]]
    done
    step=$("$STOKER" run "$file" --no-db --json -q | jq .step_time_s)
    next=$(grep -oE 'the next is [0-9.]+' <<< "$stderr" | grep -oE '[0-9.]+')
    jq -en "($next / $step - 2 | fabs) < 0.02"
}
