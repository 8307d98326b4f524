# Runs of months with failures, as people ask for them.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    db=$work/months.db
    quick=scenarios/quickstart.yaml
}

# Rows of a results file, their columns apart by "|".
rows_of() {
    python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    print(*row, sep="|")' "$@"
}

@test "accounts add up to the days, and failures are listed" {
    "$STOKER" run "$quick" --set run.failures=true --json --db "$db" > "$work/out.json"
    jq -e '([.run.accounts[]] | add) as $sum | .run.days * 86400 | . / $sum - 1 | fabs < 1e-9' "$work/out.json"
    jq -e '.run.repetitions == 200 and (.run.failures | length) == 18 and .run.days_p95 >= .run.days_p5' "$work/out.json"
    jq -e '.run.effective_training_time_ratio >= .run.goodput and .run.goodput > 0' "$work/out.json"
    [ "$(rows_of "$db" "SELECT count(*) FROM failure")" -eq 18 ]
    "$STOKER" run "$quick" --set run.failures=true --no-db > "$work/screen"
    grep -q '^where the months go' "$work/screen"
    grep -q '^ETTR ' "$work/screen"
    grep -q '^  gpu_hbm3 ' "$work/screen"
}

@test "without failures nothing of them is said" {
    "$STOKER" run "$quick" --json --db "$db" > "$work/out.json"
    jq -e '.run.repetitions == null and .run.interruptions == null and (.run.failures | length) == 0' "$work/out.json"
    jq -e '([.run.accounts[]] | add) as $sum | .run.days * 86400 | . / $sum - 1 | fabs < 1e-9' "$work/out.json"
    run "$STOKER" run "$quick" --no-db
    [[ $output != *"where the months go"* ]]
}

@test "a run that makes no progress says why, and what would help" {
    run "$STOKER" run "$quick" --no-db --set 'run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: job, rate: {mttf: 2 min}}]}'
    [ "$status" -eq 4 ]
    [[ $output == *"the run makes no progress: something ends it every 2"* ]]
    [[ $output == *"run.checkpoint.every"* ]]
    [[ $output == *"- days"* ]]
}

@test "a checkpoint that takes longer than its interval is infeasible" {
    run "$STOKER" run "$quick" --no-db --set 'run.checkpoint={every: 4 s, mode: blocking}' --set 'cluster.storage.write=10 MB/s'
    [ "$status" -eq 4 ]
    [[ $output == *"a checkpoint takes"*"longer than the"*"from one to the next"* ]]
    [[ $output == *"cluster.storage.write"* ]]
}

@test "what drains on for longer than until the next does is infeasible" {
    local slow='cluster.storage={local_write: 5 GB/s, write: 0.5 GB/s, read: 100 GB/s, per_node: 10 GB/s}'
    run "$STOKER" run "$quick" --no-db --set "$slow" --set 'run.step_time=4 s' \
        --set 'run.checkpoint={every: 10 steps, mode: blocking, to: local, drain_every: 3}'
    [ "$status" -eq 4 ]
    [[ $output == *"in the file system after 3.75 min, longer than the 2.00 min until the next goes there"* ]]
    [[ $output == *"every 6-th (run.checkpoint.drain_every)"* ]]
    run "$STOKER" run "$quick" --no-db --set "$slow" --set 'run.step_time=4 s' \
        --set 'run.checkpoint={every: 10 steps, mode: blocking, to: local, drain_every: 6}'
    [ "$status" -eq 0 ]
}

@test "checkpoints in memory that do not fit the hosts are infeasible, with figures" {
    run "$STOKER" run "$quick" --no-db --set 'run.checkpoint={every: 30 min, to: peer}' --set 'cluster.host.memory=70 GB'
    [ "$status" -eq 4 ]
    [[ $output == *"the host of a node needs 78.3 GB of 70.0 GB (70.3 GB for 5 copies of what its ranks write"* ]]
    [[ $output == *"run.checkpoint.to"* ]]
    run "$STOKER" run "$quick" --no-db --set 'run.checkpoint={every: 30 min, to: memory}' --set 'cluster.host.memory=70 GB'
    [ "$status" -eq 0 ]
}

@test "a job that shrinks to one node goes on without a peer" {
    "$STOKER" run "$quick" --no-db --set gpus=16 --set run.tokens=1G --set cluster.storage.network=fabric \
        --set 'run.checkpoint={every: 10 steps, mode: async, to: peer}' \
        --set 'run.recovery={spares: 0, without_node: elastic}' \
        --set 'run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: node, rate: {mttf: 40 h}, takes: node, repair: 3 h}]}' > "$work/out"
    grep -q 'interruptions' "$work/out"
}

@test "explain says what goes to a peer and what is read from there" {
    "$STOKER" explain "$quick" --set run.failures=true --set 'run.checkpoint={every: 30 min, mode: async, to: peer}' > "$work/out"
    for label in 'to the memory of hosts and their peers' 'from there to the file system' \
        'read from the memory of hosts and their peers' 'read from the file system'; do
        grep -q "^  $label  " "$work/out"
    done
}

@test "explain has the arithmetic of goodput and the best interval" {
    "$STOKER" explain "$quick" --set run.failures=true > "$work/out"
    for label in 'ETTR' 'runtime goodput' 'ML productivity goodput' 'best by Young' 'best by Daly' 'lost'; do
        grep -q "^  $label  " "$work/out"
    done
    grep -q '^  ETTR .*arXiv 2410.21680' "$work/out"
    grep -q '^  ML productivity goodput .*Google Cloud, 2024' "$work/out"
}

@test "a sweep of intervals has the metrics of months, at any -j, and in shards" {
    { cat "$quick"; echo 'sweep: {run.checkpoint.every: [10 min, 1 h, 6 h]}'; } > "$work/sweep.yaml"
    for jobs in 1 3; do
        "$STOKER" sweep "$work/sweep.yaml" --set run.failures=true -j "$jobs" --db "$work/$jobs.db" --json > "$work/$jobs.json"
    done
    cmp <(jq 'del(.. | .engine? // empty, .host_s? // empty)' "$work/1.json") <(jq 'del(.. | .engine? // empty, .host_s? // empty)' "$work/3.json")
    [ "$(jq '[.points[].days_p95] | length' "$work/1.json")" -eq 3 ]
    "$STOKER" sweep "$work/sweep.yaml" --set run.failures=true --shard 1/2 --db "$work/a.db" -q
    "$STOKER" sweep "$work/sweep.yaml" --set run.failures=true --shard 2/2 --db "$work/b.db" -q
    "$STOKER" merge "$work/a.db" "$work/b.db" --db "$work/2.db" -q
    for n in 1 2 3; do
        rows_of "$work/$n.db" 'SELECT key, wall_clock_days, goodput, wall_clock_days_p95, energy_kwh FROM run ORDER BY 1' > "$work/$n.rows"
        [ "$(wc -l < "$work/$n.rows")" -eq 3 ]
    done
    cmp "$work/1.rows" "$work/2.rows"
    cmp "$work/1.rows" "$work/3.rows"
}

# Once in 10 s each of 64 GPUs: more than can be drawn for months.
@test "what fails all the time is given up soon, and its best interval is a number" {
    run bash -c 'ulimit -t 20; exec "$@"' - "$STOKER" run "$quick" --no-db --set run.checkpoint.mode=blocking --set 'run.failures={failures: inline, counts: hardware, classes: [{name: a, of: gpu, rate: {mttf: 10 s}}]}'
    [ "$status" -eq 4 ]
    [[ $output == *"something ends it every 156 ms"*"write a checkpoint every 156 ms"* ]]
}

# Once in a second each of 64 NICs, which are slow for an hour until somebody knows: 230,000 at a
# time, at all of which each failure looked.
@test "what gets slow all the time is given up soon" {
    run bash -c 'ulimit -t 10; exec "$@"' - "$STOKER" run "$quick" --no-db --set 'run.failures={failures: inline, counts: hardware, classes: [{name: a, of: nic, rate: {mttf: 1 s}, takes: node, effect: degrades, nic: 50 %, detected: slow, repair: 1 day}]}'
    [ "$status" -eq 4 ]
    [[ $output == *"error: the run makes no progress: a history with what slows or stops it was given up"* ]]
}

# Two minutes are enough for the 22.5 s that a checkpoint takes, ten seconds are not: it is told, and
# counted. What is not held is not paid.
@test "nodes on spot are told of, saved on notice, and not paid while they are away" {
    spot() { "$STOKER" "$1" "$quick" --set run.tokens=100G --set run.spot=aws-v100-us-west-2c \
        --set run.recovery.spares=0 --set 'price={terms: spot, spot_gpu_hour: 1 USD}' "${@:2}"; }
    local short='run.spot={notice: 10 s, rate: {mttf: 4.23 h}, together: 1.82, back: {mean: 57 min, law: lognormal, median: 40 min}}'
    spot run --no-db > "$work/out"
    grep -q '^  spot  ' "$work/out"
    grep -q 'nodes on spot were taken .* without loss of a step; .* GPU-hours' "$work/out"
    spot run --no-db --json > "$work/out.json"
    jq -e '.run | .unheld_gpu_hours > 100 and .notices_saved > 0.95 * .interruptions' "$work/out.json"
    jq -e '.run | (.cost_usd / .gpu_hours - 1 | fabs) < 1e-9' "$work/out.json"
    jq -e '.run | ((.gpu_hours + .unheld_gpu_hours) / (.days * 24 * 64) - 1 | fabs) < 1e-9' "$work/out.json"
    jq -e '[.accounts[] | select(.account == "lost")] | length == 0' "$work/out.json"
    spot run --no-db --json --set "$short" > "$work/short.json"
    jq -e '.run.notices_saved < 0.2 * .run.interruptions' "$work/short.json"
    jq -e '[.accounts[] | select(.account == "lost")][0].time_s > 3600' "$work/short.json"
    spot explain > "$work/explained"
    grep -q 'a checkpoint is safe after .*before the nodes go' "$work/explained"
    grep -q 'GPU-hours that are held .*is not paid' "$work/explained"
    spot explain --set "$short" | grep -q 'a checkpoint is safe after .*none is written'
    spot run --no-db --json -j 3 | jq -ne --slurpfile one "$work/out.json" 'input | .run == $one[0].run'
}

@test "a run for whose nodes there is hardly ever capacity makes no progress, and it is said" {
    run "$STOKER" run "$quick" --no-db --set gpus=2048 --set batch.global=2048 --set run.spot=aws-v100-us-west-2c
    [ "$status" -eq 4 ]
    [[ $output == *"there is hardly ever capacity for its 256 nodes on spot, each of which is there for 81.7 % of the time"* ]]
    run "$STOKER" run "$quick" --no-db --set gpus=8192 --set batch.global=8192 --set run.tokens=50T --set run.recovery.spares=0 --set 'run.spot={notice: 30 s, rate: {mttf: 1900 h}, back: 9 h}'
    [[ $output == *"each of which is there for 99.5 % of the time"* ]]
    [[ $output == *"without_node: elastic"* ]]
}

@test "a run that waits for repairs all the time is told to keep spares" {
    local node='run.failures={failures: inline, counts: hardware, classes: [{name: a, of: node, rate: {mttf: 100 h}, takes: node, repair: 90 days}]}'
    run "$STOKER" run "$quick" --no-db --set "$node" --set run.recovery.spares=1
    [ "$status" -eq 4 ]
    [[ $output == *"--set run.recovery.spares=1: error: the run makes no progress: for "*" % of the time it waits until nodes are repaired, 1 spare beside its 8"* ]]
    [[ $output == *"keep more spares (run.recovery.spares), or go on with fewer replicas"* ]]
    local gone="${node/100 h/5 h}"
    run "$STOKER" run "$quick" --no-db --set "${gone/90 days/50000 h}" --set 'run.recovery={spares: 0, without_node: elastic}'
    [ "$status" -eq 4 ]
    [[ $output == *"0 spares beside its 8"*"help: keep spares (run.recovery.spares)"* ]]
    [[ $output != *"or go on with fewer"* ]]
    run "$STOKER" run "$quick" --no-db --set "$node" --set run.recovery.spares=1 --set 'run.spot={notice: 30 s, rate: {mttf: 100000000 h}, back: 1 s}'
    [ "$status" -eq 4 ]
    [[ $output == *"it waits until nodes are repaired, 1 spare beside its 8"* ]]
}

@test "what stops all is no lack of nodes" {
    run "$STOKER" run "$quick" --no-db --set run.recovery.spares=0 --set 'run.failures={failures: inline, counts: hardware, classes: [{name: storage, of: job, effect: stops, rate: {mttf: 20 min}, repair: 200 h}, {name: node, of: node, takes: node, rate: {mttf: 10 h}, repair: 1 h}]}'
    [ "$status" -eq 4 ]
    [[ $output == *"the run makes no progress: something ends it every 75.0 min"* ]]
}

# What stops all goes back to no checkpoint, and without any there is no interval of them.
@test "where nothing is written no best interval is told" {
    "$STOKER" run "$quick" --no-db --json -q --set run.checkpoint=off --set 'run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: job, effect: stops, repair: 1 h, rate: {mttf: 100 h}}]}' > "$work/out.json"
    jq -e '.run.interruptions > 0 and .run.checkpoint_young_s == null and .run.checkpoint_best_s == null' "$work/out.json"
}

@test "a run that makes no progress has no accounts" {
    "$STOKER" run "$quick" --no-db --json --set 'run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: job, rate: {mttf: 2 min}}]}' > "$work/out.json" || [ $? -eq 4 ]
    jq -e '(.accounts | length) == 0 and .run.days == null and .run.cost_usd == null' "$work/out.json"
}

# Two seconds a sample are more than the step: most of it is waiting, of the measured one, too.
@test "of a measured step the same share waits for data" {
    for failures in false true; do
        "$STOKER" run "$quick" --no-db --json --set data.time_per_sample='2 s' --set run.failures=$failures > "$work/ours.json"
        "$STOKER" run "$quick" --no-db --json --set data.time_per_sample='2 s' --set run.failures=$failures --set run.step_time='6 s' > "$work/measured.json"
        jq -e -n --slurpfile a "$work/ours.json" --slurpfile b "$work/measured.json" '$a[0].run.data_stall_s > 0 and ($a[0].run.data_stall_s / $a[0].step_time_s / ($b[0].run.data_stall_s / 6) - 1 | fabs < 1e-9)'
    done
}

# What `run` refuses is no point of a study, either.
@test "sweep and compare do not rank months that cannot be had" {
    { cat "$quick"; echo 'sweep: {run.checkpoint.every: [30 s, 10 min]}'; } > "$work/two.yaml"
    run --separate-stderr "$STOKER" sweep "$work/two.yaml" --db "$work/ends.db" --metric days \
        --set 'run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: job, rate: {mttf: 2 min}}]}'
    [ "$status" -eq 0 ]
    [[ $output == *"10 min "*"months: the run makes no progress: something ends it every 2.00 min"* ]]
    [[ $output == *"best days: "*" at 30 s"* ]]
    # 10 min are whole steps.
    every=$("$STOKER" run "$quick" --no-db -q --json | jq '.step_time_s | (600 / . | floor) * . / 60' | xargs printf %.2f)
    run --separate-stderr "$STOKER" sweep "$work/two.yaml" --db "$work/slow.db" \
        --set cluster.storage.write="10 MB/s" --set run.checkpoint.mode=blocking
    [ "$status" -eq 4 ]
    [[ $output == *"10 min "*"months: a checkpoint takes 3.12 h, longer than the $every min"* ]]
    [[ $stderr == *"2 infeasible"* ]]
    run --separate-stderr "$STOKER" compare "$quick" "$quick" --db "$work/full.db" --set cluster.storage.capacity="1 GB"
    [ "$status" -eq 4 ]
    [[ $output == *"months: 953 checkpoints that are kept ask for storage of 134 TB"* ]]
}

@test "compare and sweep hold days against each other history by history" {
    cat > "$work/pairs.yaml" << 'END'
scenario: pairs
model: llama3-8b
cluster: h100-3200
gpus: 64
parallel: {tp: 2}
batch: {global: 256, micro: 1, sequence_length: 8192}
run: {tokens: 2T, checkpoint: {every: 600 s}, failures: rsc1-jobs-2024, repetitions: 64}
END
    # The third is as many whole steps as 600 s: the middle of those intervals that are.
    same=$("$STOKER" run "$work/pairs.yaml" --no-db -q --json | jq '.step_time_s | ((600 / . | floor) + 0.5) * .' | xargs printf %.3f)
    echo "sweep: {run.checkpoint.every: [600 s, 660 s, $same s]}" >> "$work/pairs.yaml"
    "$STOKER" compare "$work/pairs.yaml" --json -q --db "$db" > "$work/out.json"
    # the mean of the pairs is the difference of the means, and its error far below theirs
    jq -e '.points[1] as $p | $p.against_first.days | .histories == 64 and
        (.more - ($p.run.days / $points[0].run.days - 1) | fabs < 1e-8)' \
        --argjson points "$(jq .points "$work/out.json")" "$work/out.json"
    # paired variance at most a tenth of two independent runs'
    for every in 600 660; do
        "$STOKER" run "$work/pairs.yaml" --set "run.checkpoint.every=$every s" --json -q --no-db > "$work/$every.json"
    done
    jq -e '(.points[1].against_first.days.error * .points[0].run.days) as $e | $e * $e <= $independent / 10' \
        --argjson independent "$(jq -s 'map(.run.days_error | . * .) | add' "$work/600.json" "$work/660.json")" \
        "$work/out.json"
    jq -e '.points[0].against_first.days.histories == 64 and .points[0].against_first.days.error == 0 or
        .points[0].against_first.days.histories == 0' "$work/out.json"
    jq -e '.points[1].against_first.days.verdict | . == "clear" or . == "likely" or . == "too close"' "$work/out.json"
    # as many steps as of 600 s: the same to the bit, and nothing to tell
    jq -e '.points[2].against_first.days | .more == 0 and .error == 0 and .verdict == "too close"' "$work/out.json"
    "$STOKER" compare "$work/pairs.yaml" -q --db "$db" > "$work/screen"
    grep -q 'days more .*call' "$work/screen"
    grep -qE '^every 660 s|^660 s .* [+-][0-9.]+ %, [+-][0-9.]+ to [+-][0-9.]+ %' "$work/screen"
    "$STOKER" sweep "$work/pairs.yaml" -q --db "$db" > "$work/screen"
    grep -q '^days are relative to 600 s' "$work/screen"
}

# Steps are the same in the first two, so that 90 days of a queue are all that lies between them; the
# third has steps that are 1.19 times as long, which is 3.6 of 19.5 days, and is there 86 days sooner
# than the second.
@test "days more are of the days that are printed, queue and all" {
    cat > "$work/queue.yaml" << 'END'
scenario: queue
model: llama3-8b
cluster: h100-3200
gpus: 64
parallel: {tp: 2}
batch: {global: 256, micro: 1, sequence_length: 8192}
run: {tokens: 1T, checkpoint: {every: 20 min, mode: async}, repetitions: 16}
variants:
- {name: now, set: {}}
- {name: in 90 days, set: {run.queue: 90 days}}
- {name: slower, set: {cluster.network: 400 Gbps}}
END
    for failures in true false; do
        "$STOKER" compare "$work/queue.yaml" --set run.failures=$failures --json -q --db "$db" > "$work/out.json"
        jq -e '.points as $p | ([$p[].run.days] | .[1] - .[0] - 90 | fabs < 1e-6) and
            ($p | map(.against_first.days.more)[1:] | . as $more |
                ($more[0] - 90 / $p[0].run.days | fabs < 1e-8) and
                ($more[1] - ($p[2].run.days / $p[0].run.days - 1) | fabs < 1e-8)) and
            [$p[1:][].against_first.days.verdict] == ["clear", "clear"]' "$work/out.json"
        "$STOKER" compare "$work/queue.yaml" --set run.failures=$failures --against 'in 90 days' -q --db "$db" > "$work/screen"
        grep -qE '^slower +0.8. x .* -7[0-9.]+ % .*clear' "$work/screen"
        grep -q '^Days more are of the days that are printed' "$work/screen"
        "$STOKER" sweep "$work/queue.yaml" --set run.failures=$failures -q --db "$db" > "$work/screen"
        grep -qE '^in 90 days .* \+4[0-9.]+ % .*clear' "$work/screen"
    done
    # the band is of the part that hangs on the step
    "$STOKER" run "$work/queue.yaml" --no-db -q --json > "$work/now.json"
    "$STOKER" run "$work/queue.yaml" --no-db -q --json --set run.queue='90 days' > "$work/late.json"
    jq -e -s '
        map(.band.days) | (.[1].p10 - .[0].p10 - 90 | fabs < 1e-6) and (.[1].p90 - .[0].p90 - 90 | fabs < 1e-6)' \
        "$work/now.json" "$work/late.json"
}

@test "any -j draws the same histories" {
    for jobs in 1 2 3; do
        "$STOKER" run "$quick" -j $jobs --no-db -q --json --set run.tokens=100T --set run.repetitions=100 \
            --set 'run.recovery={spares: 0, without_node: elastic, restart: 1 min}' \
            --set 'run.checkpoint={every: 10 min, mode: async}' \
            --set 'run.failures={failures: x, counts: hardware, classes: [{name: a, of: node, rate: {mttf: 40 h}, takes: node, repair: 3 h}, {name: s, of: gpu, rate: {mttf: 400 h}, takes: gpu, effect: slows, speed: 70 %, repair: 1 h}]}' |
            jq 'del(.engine)' > "$work/$jobs.json"
    done
    jq -e '.run.regimes_simulated > 5 and .run.interruptions > 10000' "$work/1.json"
    cmp "$work/1.json" "$work/2.json"
    cmp "$work/1.json" "$work/3.json"
    run "$STOKER" run "$quick" -j 0 --no-db
    [ "$status" -eq 2 ]
}

two_stages='run.stages=[{name: short, tokens: 100B, set: {batch: {global: 512, sequence_length: 4096}}}, {name: main, tokens: 900B}]'

@test "stages are a table of the screen, a list of the document and rows of the results file" {
    "$STOKER" run "$quick" --set "$two_stages" --set run.failures=true --json --db "$db" > "$work/out.json"
    jq -e '[.run.stages[].steps] == [47684, 429154] and .run.steps == 476838' "$work/out.json"
    jq -e '[.run.stages[].sequence_length] == [4096, 8192] and .run.stages[0].name == "short"' "$work/out.json"
    jq -e '([.run.stages[].days] | add) / .run.days - 1 | fabs < 1e-9' "$work/out.json"
    jq -e '([.run.stages[].gpu_hours] | add) / .run.gpu_hours - 1 | fabs < 1e-9' "$work/out.json"
    jq -e '([.run.accounts[]] | add) as $sum | .run.days * 86400 | . / $sum - 1 | fabs < 1e-9' "$work/out.json"
    [ "$(rows_of "$db" "SELECT name, batch, sequence_length, steps FROM stage ORDER BY number")" = \
        $'short|512|4096|47684\nmain|256|8192|429154' ]
    "$STOKER" run "$quick" --set "$two_stages" --set 'run.maintenance={every: 5 days, takes: 6 h}' --no-db > "$work/screen"
    grep -Eq '^short +100G +47,684 +512 +4,096 +64 +tp 2, cp 1, pp 1, dp 32 ' "$work/screen"
    grep -q '^  planned ' "$work/screen"
    grep -qE 'goodput 9[0-9.]* % \(.*no failures\)' "$work/screen"
    "$STOKER" explain "$quick" --set "$two_stages" > "$work/explained"
    grep -q 'of stage short *= 47,684' "$work/explained"
}

@test "a stage that does not fit is told by its name and place" {
    { sed '/^run:/,/^[a-z]*:/{/^run:/d}' "$quick" | sed '/^  tokens:/d;/^  checkpoint:/,/^    mode:/d'
      echo 'run:'
      echo '  stages:'
      echo '    - {name: usual, tokens: 500B}'
      echo '    - {name: long, tokens: 500B, set: {batch.global: 32, batch.sequence_length: 131072}}'; } > "$work/long.yaml"
    run "$STOKER" run "$work/long.yaml" --no-db
    [ "$status" -eq 4 ]
    [[ $output == *"long.yaml:"*":7: error: stage 'long' of the run does not fit: of its pipeline stage 0 needs "* ]]
    [[ $output == *"- days"*"a stage of the run does not fit"* ]]
    "$STOKER" run "$work/long.yaml" --json --db "$work/unfit.db" > "$work/out.json" || [ $? -eq 4 ]
    jq -e '.run.days == null and (.run.stages | length) == 0 and .step_time_s > 0' "$work/out.json"
}

@test "an evaluation longer than the steps before it is infeasible" {
    step=$("$STOKER" run "$quick" --no-db --json -q | jq .step_time_s)
    run "$STOKER" run "$quick" --no-db --set 'run.evaluation={every: 10 steps, takes: 5 min}'
    [ "$status" -eq 4 ]
    # Ten steps, and the whole steps that 10 times 5 min hold.
    [[ $output == *"an evaluation takes 5.00 min, longer than the $(jq -n "$step * 10" | xargs printf %.1f) s of steps from one to the next"* ]]
    [[ $output == *"evaluate no more often than every $(jq -n "3000 / $step | ceil") steps"* ]]
}

# 1e15 tokens of 2,097,152 a step are 4.8e8 steps, 4.8e7 pauses in each history: histories were walked
# for minutes where something fails, or until they were given up and the run "makes no progress".
@test "what takes too long to evaluate is refused before its months are walked" {
    run bash -c "ulimit -t 2; exec '$STOKER' run '$quick' --no-db --set run.tokens=1e15 \
        --set 'run.evaluation={every: 10 steps, takes: 5 min}'"
    [ "$status" -eq 4 ]
    [[ $output == *"- USD, - GPU-hours, - kWh: an evaluation takes longer than the steps before it"* ]]
    [[ $output == *"error: an evaluation takes 5.00 min, longer than the "*" s of steps"* ]]
    [[ $output != *"no progress"* ]]
}

@test "a replica without a copy of the states is infeasible, and says which layout has one" {
    run "$STOKER" run "$quick" --no-db --set run.failures=true --set run.recovery.from=replica
    [ "$status" -eq 4 ]
    [[ $output == *"--set run.recovery.from=replica: error: no replica has a copy of the optimizer's states: zero 1 shards them over all 32 GPUs that hold the same weights"* ]]
    [[ $output == *"keep copies of the shards, as with parallel.zero_group: 16, or say run.recovery.from: checkpoint"* ]]
    run "$STOKER" run "$quick" --no-db --set run.failures=true --set run.recovery.from=replica --set gpus=8
    [ "$status" -eq 4 ]
    [[ $output == *"no replica in another node has a copy of the states: all copies of some of them lie in one node"* ]]
    run "$STOKER" run "$quick" --no-db --set run.failures=true --set run.recovery.from=replica --set gpus=8 --set parallel.tp=8
    [ "$status" -eq 4 ]
    [[ $output == *"no replica has a copy of the states: there is one replica"* ]]
    run "$STOKER" run "$quick" --no-db --set run.failures=true --set run.recovery.from=replica --set parallel.zero_group=16
    [ "$status" -eq 0 ]
    run "$STOKER" explain "$quick" --set run.failures=true --set run.recovery.from=replica --set parallel.zero_group=16
    [ "$status" -eq 0 ]
    [[ $output == *"read from replicas"*"= 0.245377  s"* ]]
}

@test "searches take the run as one stage" {
    run "$STOKER" search "$quick" --set "$two_stages"
    [ "$status" -eq 3 ]
    [[ $output == *"a search is for one layout of the whole run, and this one has stages"* ]]
}

# Without stops D days of steps take (exp(r D) - 1) / r. With a restart a day in the mean ages are
# exponential of 1 day, but for the first days: after each begin, and maintenance on day 10 and 20,
# one day of age lacks in all, so that of 22 days 19 are left. At age a r a / (1 + r a) of a step
# is drift: 19 (r - 2 r^2). Since maintenance ages are those of a straight line, for 10, 10 and 2.3
# days: r (10^2 + 10^2 + 2.3^2) / 2 - r^2 (10^3 + 10^3) / 3. Stops take a hundredth of the time.
@test "steps that drift take as long as the formula says, and starts make them short" {
    days() {
        "$STOKER" run "$quick" --no-db --json "$@" | jq '.run.days'
    }
    usual=$(days)
    for percent in 0.001 0.2 3; do
        jq -n "$(days --set "run.drift.per_day=$percent %") as \$days | ($percent / 100) as \$r |
            \$days / (((\$r * $usual | exp) - 1) / \$r) - 1 | fabs < 2e-5" | grep -qx true
    done
    nodes='run.failures={counts: hardware, classes: [{name: node, of: node, rate: {mttf: 8 days}}]}'
    drifting() {
        "$STOKER" run "$quick" --no-db --json --set "$nodes" --set run.checkpoint.every="10 min" \
            --set 'run.maintenance={every: 10 days, takes: 1 h}' \
            --set "run.drift={per_day: 1 %, since: $1}" | jq '.run.accounts.degraded'
    }
    start=$(drifting start)
    maintenance=$(drifting maintenance)
    jq -n "$start / (86400 * 19 * (0.01 - 0.0002)) | . > 0.95 and . < 1.01" | grep -qx true
    jq -n "$maintenance / (86400 * (1.026 - 0.067)) | . > 0.97 and . < 1.005" | grep -qx true
}
