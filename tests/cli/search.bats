# search: the best of a space, what it says of the rest, what can be wrong.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    db=$BATS_TEST_TMPDIR/results.db
    file=$BATS_TEST_TMPDIR/s.yaml
    cat > "$file" << 'END'
scenario: a small search
model: llama3-8b
cluster: h100-3200
gpus: 16
batch: {global: 32, micro: 1, sequence_length: 4096}
END
}

search() {
    "$STOKER" search "$file" --db "$db" "$@"
}

@test "the best of a space is what the sweep of the same space has" {
    cat >> "$file" << 'END'
search: {parallel: {tp: [2, 4, 8], cp: [1], pp: [1, 2], schedule: [1f1b], zero: [1], sequence_parallel: [true]}, batch.micro: [1, 2], recompute: [none, full]}
sweep: {parallel: {tp: [2, 4, 8], cp: [1], pp: [1, 2], sequence_parallel: [true]}, batch.micro: [1, 2], recompute: [none, full]}
END
    best=$(search --json -q | jq '.search.best')
    swept=$("$STOKER" sweep "$file" --db "$BATS_TEST_TMPDIR/sweep.db" --json -q |
        jq '[.points[] | select(.status == "ok") | .step_time_s] | min')
    jq -ne "$best - $swept | fabs < 1e-12"
}

# By hand: of tp 2 with and without sequence parallelism, of tp 1 without; of 32 layers in one stage
# none, one or all can go to the host, and 33 cannot; all of the optimizer's state, or none.
@test "a space has what --set names and every value of what nothing names" {
    rest=(--set 'search.parallel.pp=[1]' --set 'search.parallel.cp=[1]' --set 'search.parallel.zero=[1]'
        --set 'search.batch.micro=[1]' --set search.recompute=none --json -q)
    layouts() {
        search "$@" "${rest[@]}" | jq .search.counts.layouts
    }
    [ "$(layouts --set 'search.parallel.tp=[2]')" -eq 2 ]
    [ "$(layouts --set 'search.parallel.tp=[1, 2]')" -eq 3 ]
    [ "$(layouts --set 'search.parallel.tp=[1]' --set 'search.offload.activation_layers=[0, 1, 32, 33]')" -eq 3 ]
    [ "$(layouts --any-software --set 'search.parallel.tp=[1]' --set 'search.offload.optimizer=all')" -eq 2 ]
    [ "$(layouts --set 'search.parallel.tp=[1]' --set 'search.offload.optimizer=all')" -eq 1 ]
}

# The bound of days knows what lies beside the steps: of a run that waits for its nodes for three
# years as many layouts are simulated as of one that does not, and the best lies as much later.
@test "a queue, a start and a teardown do not blunt the bound of days" {
    space=(--by days --json -q --set run.tokens=1T --set 'search.parallel.cp=[1]' --set search.recompute=none)
    now=$(search "${space[@]}")
    late=$(search "${space[@]}" --set 'run.queue=1000 days' --set 'run.startup=1 day' --set 'run.teardown=1 day')
    [ "$(jq -c .search.counts <<< "$now")" = "$(jq -c .search.counts <<< "$late")" ]
    jq -e -s '.[1].search.best - .[0].search.best - 1002 | fabs < 1e-6' <<< "$now$late"
}

# The oracle is the sweep of the same space, whose points are held against the same requirement one by
# one. 40 GB leave out the best of all, which takes more.
@test "the best that meets what is required is the sweep's, and where none does the nearest is told" {
    cat >> "$file" << 'END'
search: {parallel: {tp: [2, 4, 8], cp: [1], pp: [1, 2], schedule: [1f1b], zero: [1], sequence_parallel: [true]}, batch.micro: [1, 2], recompute: [none, full]}
sweep: {parallel: {tp: [2, 4, 8], cp: [1], pp: [1, 2], sequence_parallel: [true]}, batch.micro: [1, 2], recompute: [none, full]}
run: {tokens: 1B}
END
    local found swept days plain
    plain=$(search --json -q | jq .search.best)
    echo 'require: [memory_peak_bytes <= 40 GB]' >> "$file"
    found=$(search --json -q | jq '[.search.best, .points[0].meets, .requirements[0].limit]')
    swept=$("$STOKER" sweep "$file" --no-db --json -q | jq '[.points[] | select(.meets).step_time_s] | min')
    jq -e --argjson swept "$swept" '.[0] / $swept - 1 | fabs < 1e-14' <<< "$found" # a last digit apart
    [ "$(jq -c '.[1:]' <<< "$found")" = '[true,40000000000]' ]
    jq -ne "$plain < $swept"
    run --separate-stderr search
    [[ "$output" == *" miss memory_peak_bytes <= 40 GB, "*"certificate: no layout of this space that meets memory_peak_bytes <= 40 GB has less than"* ]]
    # Of shards, too; days are of runs, which are predicted where they are required.
    for k in 1 2; do
        "$STOKER" search "$file" -q --shard $k/2 --write-found "$BATS_TEST_TMPDIR/$k" > "$BATS_TEST_TMPDIR/out"
    done
    search --json -q --read-found "$BATS_TEST_TMPDIR/1" --read-found "$BATS_TEST_TMPDIR/2" |
        jq -ne --argjson swept "$swept" 'input | .search.best / $swept - 1 | fabs < 1e-14'
    days=$("$STOKER" sweep "$file" --no-db --json -q | jq '[.points[] | select(.meets).run.days] | min')
    run --separate-stderr search --require "days<=$(jq -n "$days * 0.9")"
    [ "$status" -eq 4 ]
    [[ "$output" == *"certificate: no layout that fits into memory meets memory_peak_bytes <= 40 GB and days <= "*"nearest miss: "* ]]
    [[ "$stderr" == *"no point meets memory_peak_bytes <= 40 GB and days <= "*"nearest is "* ]]
    sed -i '/^run:/d' "$file"
    run search --require 'days<=60'
    [ "$status" -eq 2 ]
    [[ "$output" == *"no point has days, of which 'days <= 60' is required"* ]]
}

@test "the certificate counts every layout once, and the best can be run by its --set" {
    run --separate-stderr search --json -q --set 'search.parallel.cp=[1]' --set search.recompute=none \
        --set 'search.parallel.schedule=[1f1b, gpipe]' --gap 1%
    [ "$status" -eq 0 ]
    json=$output
    [ "$(jq '.search.is_certified' <<< "$json")" = true ]
    [ "$(jq '.search.gap <= 0.01' <<< "$json")" = true ]
    [ "$(jq '.search.counts | .layouts == .memory_of_line + .memory + .memory_counted + .bound +
        .simulated + .failed' <<< "$json")" = true ]
    [ "$(jq '.search.counts.bound > 0' <<< "$json")" = true ]
    [ "$(jq '.points | length' <<< "$json")" -gt 1 ]
    [ "$(jq '[.points[].step_time_s] | . == sort' <<< "$json")" = true ]
    sets=()
    while read -r set; do
        sets+=(--set "$set")
    done < <(jq -r '.points[0].set[]' <<< "$json")
    step=$("$STOKER" run "$file" --no-db -q --json "${sets[@]}" | jq .step_time_s)
    jq -ne "$step - $(jq '.search.best' <<< "$json") | fabs < 1e-12" > "$BATS_TEST_TMPDIR/same"
}

@test "a search looks at what the software's release has, says what it leaves out, and may be told not to" {
    # Megatron-LM has two schedules; of zero 0 to 3 Core 0.10 has two: what is left out and what is
    # looked at are together what there is.
    axes=(--set 'search.parallel={cp: [1], tp: [2], pp: [2], schedule: [1f1b, gpipe], zero: [0, 1, 3]}'
        --set search.recompute=none --json -q)
    json=$(search "${axes[@]}")
    any=$(search "${axes[@]}" --any-software)
    [ "$(jq '.search.counts | .layouts + .lacking' <<< "$json")" = "$(jq '.search.counts.layouts' <<< "$any")" ]
    [ "$(jq '.search.counts.lacking' <<< "$any")" = 0 ]
    [[ "$(jq -r .search.left_out <<< "$json")" == *"that megatron-2024 (Core 0.5 to 0.10) has not are left out: zero 3, 3-with-pp; schedule gpipe (--any-software)" ]]
    # 3 stages of zero times 2 schedules, of which 2 times 1 are had
    [ "$(jq '.search.counts.layouts * 3' <<< "$json")" = "$(jq '.search.counts.layouts' <<< "$any")" ]
    run --separate-stderr search -q
    [[ "$output" == *"layouts that megatron-2024 (Core 0.5 to 0.10) has not are left out: zero 2, 3"* ]]
}

# What stays is the scenario's affair: run predicts it, with a warning, and a search keeps it.
@test "what a scenario says that its release lacks is searched with, where search: does not name it" {
    cat > "$file" << 'END'
scenario: said
model: mixtral-8x7b
cluster: h100-3200
gpus: 16
software: megatron-2024
batch: {global: 32, sequence_length: 4096}
parallel: {tp: 2, ep: 4, pp: 2, overlap_experts: true}
search: {parallel: {tp: [2], cp: [1], ep: [4], pp: [2], zero: [1], schedule: [1f1b]}, batch: {micro: [1]}, recompute: [none]}
END
    run --separate-stderr -0 "$STOKER" run "$file" --no-db
    [[ "$stderr" == *"software megatron-2024"*"has no overlap of experts"* ]]
    json=$(search --json -q)
    [ "$(jq '.search.counts | .layouts > 0 and .lacking == 0' <<< "$json")" = true ]
    [[ "$(jq -r .search.fixed <<< "$json")" == *"overlap_experts true"* ]]
    run --separate-stderr search --set 'search.parallel.overlap_experts=[true]'
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"it lacks overlap of experts"* ]]
}

@test "a value that the release lacks is an error with its place, and the release that has it" {
    cat >> "$file" << 'END'
search: {parallel: {cp: [1], pp: [2]}, recompute: [{modules: [norm]}]}
END
    run --separate-stderr search
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"s.yaml:6:51: error: software megatron-2024 has none of the layouts of this search: it lacks recompute norm"* ]]
    [[ "$stderr" == *"megatron-2025 has: --set software=megatron-2025"*"--any-software"* ]]
    run --separate-stderr search -q --set software=megatron-2025
    [ "$status" -eq 0 ]
    run --separate-stderr search -q --any-software
    [ "$status" -eq 0 ]
    # what the scenario itself says is its own affair
    run --separate-stderr "$STOKER" run "$file" --no-db --set parallel.zero=3 --set parallel.tp=auto
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"layout found by search"*"has no zero 3"* ]]
}

@test "the order in which values are written moves no best" {
    for tp in '[1, 2, 4, 8]' '[8, 1, 2, 4]' '[4, 8, 1, 2]' '[8, 4, 2, 1]'; do
        search --any-software --json -q --set "search.parallel.tp=$tp" --set 'search.parallel.pp=[4, 1, 2]' \
            --set 'search.parallel.schedule=[1f1b]' > "$BATS_TEST_TMPDIR/json"
        jq -e .search.is_certified "$BATS_TEST_TMPDIR/json"
        jq .search.best "$BATS_TEST_TMPDIR/json" >> "$BATS_TEST_TMPDIR/bests"
    done
    [ "$(sort -u "$BATS_TEST_TMPDIR/bests" | wc -l)" -eq 1 ]
}

# Layouts of a list of values are those of each, and of three recomputations three times as many.
@test "a word and a single count are values like others" {
    sed -i 's/^model: .*/model: mixtral-8x7b/' "$file"
    layouts() {
        search --any-software --json -q --set 'search.parallel={tp: [2], cp: [1], pp: [2], ep: [4], zero: [1], schedule: [1f1b]}' \
            --set 'gpu.memory=1 TB' --set 'search.batch.micro=[1]' --set "search.parallel.etp=[$1]" \
            --set "search.recompute=[$2]" "${@:3}" | jq .search.counts.layouts
    }
    whole=$(layouts 1 full)
    cut=$(layouts tp full)
    [ "$whole" -ge 1 ]
    [ "$cut" -ge 1 ]
    [ "$(layouts 'tp, 1' full)" -eq $((whole + cut)) ]
    [ "$(layouts 1 '{layers: 3}')" -eq "$whole" ]
    [ "$(layouts 1 'full, {layers: 3}, {layers: 4}')" -eq $((3 * whole)) ]
    # Each of two stages has 16 of 32 layers, all of which may keep their activations on the host.
    [ "$(layouts 1 full --set 'search.offload.activation_layers=[15, 16]')" -eq $((2 * whole)) ]
    [ "$(layouts 1 full --set 'search.offload.activation_layers=[16, 17]')" -eq "$whole" ]
}

@test "the text has the layouts in order, the counts and the certificate" {
    run search --set 'search.parallel.cp=[1]' --set 'search.recompute=[none]' --top 3 -j 1
    [ "$status" -eq 0 ]
    [[ "$output" == *"rank "*"step s"* ]]
    [[ "$output" =~ [0-9]+\ layouts:\ [0-9]+\ do\ not\ fit ]]
    [[ "$output" == *"certificate: no layout of this space has less than "*" s (step)"* ]]
    [ "$(grep -cE '^ +[123] ' <<< "$output")" -eq 3 ]
    # The best is sure to about a tenth: two digits.
    [[ "$output" =~ The\ best\ of\ [0-9,]+\ layouts\ takes\ [0-9]+0\ ms\ a\ step,\ [0-9]+\ %\ MFU ]]
    "$STOKER" list runs --db "$db" | grep -q "a small search"
    run "$STOKER" plot last --db "$db" --kind pareto --metric tokens_per_s_per_gpu -o "$BATS_TEST_TMPDIR/front"
    [ "$status" -eq 0 ]
    grep -q "^memory_peak_gb,tokens_per_s_per_gpu" "$BATS_TEST_TMPDIR/front.csv"
    run "$STOKER" plot last --db "$db" --kind pareto -x batch.micro
    [ "$status" -eq 2 ]
}

@test "any -j and another run give the same" {
    for jobs in 1 3; do
        search --json -q -j $jobs --set 'search.parallel.schedule=[1f1b]' \
            --db "$BATS_TEST_TMPDIR/j$jobs.db" |
            jq 'del(.search.host_s)' > "$BATS_TEST_TMPDIR/j$jobs"
    done
    [ -s "$BATS_TEST_TMPDIR/j1" ]
    cmp "$BATS_TEST_TMPDIR/j1" "$BATS_TEST_TMPDIR/j3"
}

@test "days, cost and energy are searched where there is a run" {
    run search --by days
    [ "$status" -eq 3 ]
    [[ "$output" == *"--by days needs a run"*"--set run.tokens=1T"* ]]
    for by in days cost energy; do
        run --separate-stderr search --by $by --json -q --set run.tokens=100B \
            --set price.gpu_hour="2 USD" --set 'search.parallel.cp=[1]' \
            --set 'search.recompute=[none, full]' --gap 2%
        [ "$status" -eq 0 ]
        [ "$(jq '.search.is_certified' <<< "$output")" = true ]
        [ "$(jq '[.points[] | .value >= .least_value] | all' <<< "$output")" = true ]
    done
}

@test "a pipeline that waits for nothing has no bound" {
    run search --set ideal.pipeline=true
    [ "$status" -eq 3 ]
    [[ "$output" == *"--set ideal.pipeline=true: error: a search bounds steps by their pipeline"* ]]
}

@test "each axis takes lists, ranges and all; each is said by one key" {
    while IFS='|' read -r axis value bad; do
        run search --json -q --set "search.parallel.tp=[4]" --set "search.parallel.cp=[1]" \
            --set 'search.recompute=[none]' --set "search.$axis=$value" --gap 50%
        [ "$status" -eq 0 ]
        run search --set "search.$axis=$bad"
        [ "$status" -eq 3 ]
        [[ "$output" == *"error:"* ]]
        "$STOKER" help "search.$axis" > /dev/null
    done << 'END'
parallel.tp|4..8|[0]
parallel.cp|all|[x]
parallel.ep|[1]|[]
parallel.etp|[tp, 1]|[half]
parallel.pp|1..2|2..1
parallel.virtual_stages|2..4|-1
parallel.schedule|[gpipe,1f1b]|[gpip]
parallel.zero|0..3|4
parallel.sequence_parallel|all|maybe
batch.micro|[1,2,4]|1.5
parallel.cp_type|all|[rong]
parallel.layers_per_stage|[even, balanced]|[9]
parallel.zero_group|[1, 2]|[all, 0]
parallel.microbatch_group|4..5|[2, pp]
parallel.reshard|[after-forward, after-step]|never
parallel.overlap_experts|all|perhaps
parallel.order|[tp-cp-ep-pp-dp]|[tp-dp-pp]
recompute|[none, {layers: 1..3}, {modules: [norm]}]|[{modules: [nor]}]
offload.optimizer|[0,0.5]|2
offload.activation_layers|0..2|1..x
END
}

@test "a space that is wrong says where and what would be right" {
    echo 'search: {parallel.tq: [1]}' >> "$file"
    run search
    [ "$status" -eq 3 ]
    [[ "$output" == *"s.yaml:6:"*"'parallel.tq' is no axis of a search"*"parallel.tp"* ]]
    sed -i '$d' "$file"
    echo 'search: {parallel.tp: []}' >> "$file"
    run search
    [ "$status" -eq 3 ]
    [[ "$output" == *"'parallel.tp' has no values to search"*"or leave it out"* ]]
    sed -i '$d' "$file"
    echo 'search: {parallel.tp: [2], parallel: {tp: [4]}}' >> "$file"
    run search
    [ "$status" -eq 3 ]
    [[ "$output" == *"s.yaml:6:"*"'parallel.tp' is searched twice"* ]]
    run search --set search.batch=4
    [ "$status" -eq 3 ]
    [[ "$output" == *"'batch' is no axis of a search"*"the axes are parallel.tp, "*" batch.micro, "* ]]
    run search -j 0
    [ "$status" -eq 2 ]
    run search --gap 200%
    [ "$status" -eq 2 ]
    run search --top 0
    [ "$status" -eq 2 ]
}

@test "a prime number of GPUs, sizes that never go together, and nothing that fits" {
    run search --set gpus=13
    [ "$status" -eq 4 ]
    [[ "$output" == *"does not fill nodes"* ]]
    run search --set gpus=7 --set batch.global=7
    [ "$status" -eq 0 ] # dp 7, or pp 7
    run search --set 'search.batch.micro=[64]'
    [ "$status" -eq 4 ]
    [[ "$output" == *"no layout of the space has sizes that go together on 16 GPUs"* ]]
    run search --set model=llama3-405b
    [ "$status" -eq 4 ]
    [[ "$output" == *"none of "*" layouts fits into memory"*"the nearest is "*" GB of "* ]]
}

# In the background a shell without job control has SIGINT ignored; timeout sends it to a child that
# has not. Every GPU is simulated, so that there is something after seconds, and all only after many
# minutes; a slow machine gets more time.
@test "Ctrl-C keeps what was found and is status 1" {
    sed -i 's/gpus: 16/gpus: 1024/; s/global: 32/global: 1024/; s/llama3-8b/gpt3-175b/; s/4096/2048/' \
        "$file"
    for seconds in 1 4 20 100; do
        run timeout --preserve-status -s INT $seconds "$STOKER" search "$file" --db "$db" --fold off \
            --top 3 --set 'search.parallel={cp: [1], schedule: [1f1b, interleaved]}' \
            --set search.recompute=full
        [ "$status" -eq 1 ]
        [[ "$output" == *"interrupted"* ]]
        [[ "$output" != *"before a layout that fits was found"* ]] && break
    done
    [[ "$output" == *"interrupted: what was found until then is kept"* ]]
    [[ "$output" == *" not yet looked at, "*"so far: no layout of this space is better than "* ]]
    "$STOKER" list runs --db "$db" | grep -q "a small search"
}

@test "a layout over which its process ends is told, and status 5: there is no certificate" {
    sed -i 's/gpus: 16/gpus: 1024/; s/global: 32/global: 1024/; s/llama3-8b/gpt3-175b/; s/4096/2048/' \
        "$file"
    local -a words=(search "$file" --db "$db" --fold off -j 1 --set search.recompute=full --set
        'search.parallel={cp: [1], schedule: [1f1b], tp: [8], pp: [8, 16], zero: 1}')
    run --separate-stderr python3 - "$STOKER" "${words[@]}" <<'PY'
import os, signal, subprocess, sys, time
search = subprocess.Popen(sys.argv[1:])
children = f"/proc/{search.pid}/task/{search.pid}/children"
while not (found := open(children).read().split()):
    time.sleep(0.01)
time.sleep(0.05)
os.kill(int(found[0]), signal.SIGKILL)
sys.exit(search.wait())
PY
    [ "$status" -eq 5 ]
    [[ "$output" == *"without a certificate: no layout of this space is better than "* ]]
    [[ "$output" == *"but for 1 that failed, any of which may be better: its process was killed by signal 9"* ]]
    # What is stored says so, too: the layout is a failed point of the study, which the next run,
    # that loses none, stands in the place of.
    [[ "$stderr" == *" 0 infeasible, 1 failed "* ]]
    [ "$("$STOKER" list studies --db "$db" --json | jq -c '[.studies[].failed]')" = '[1]' ]
    run --separate-stderr "$STOKER" "${words[@]}"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"of this search when it had lost 1 layout, is replaced"* ]]
    [ "$("$STOKER" list studies --db "$db" --json | jq -c '[.studies[].failed]')" = '[0]' ]
}

@test "a search that finds nothing leaves no file, and takes none away" {
    run search --set 'search.batch.micro=[64]'
    [ "$status" -eq 4 ]
    [ ! -e "$db" ]
    "$STOKER" run "$file" --db "$db" -q > /dev/null
    run search --set 'search.batch.micro=[64]'
    [ "$status" -eq 4 ]
    "$STOKER" list runs --db "$db" | grep -q "a small search"
}

# What a background job of a script starts ignores Ctrl-C; it is the script that decides.
@test "a search that was started to ignore Ctrl-C ignores it" {
    run bash -c 'trap "" INT; "$@" & pid=$!; while sleep 0.05 && kill -INT $pid 2> /dev/null; do :; done; wait $pid' - \
        "$STOKER" search "$file" --db "$db" --fold off --top 3 --json -q \
        --set 'search.parallel={tp: [2, 4], cp: [1], schedule: [1f1b]}' --set search.recompute=full
    [ "$status" -eq 0 ]
    [ "$(jq '.search | .is_certified and (.is_interrupted | not)' <<< "$output")" = true ]
}

# ---- shards ---------------------------------------------------------------------------------

few='search.parallel={cp: [1], schedule: [1f1b, interleaved]}'

found() { # K/N, options
    "$STOKER" search "$file" --set "$few" --shard "$1" --write-found "$BATS_TEST_TMPDIR/${1/\//-of-}" "${@:2}"
}

@test "shards have each layout once, and joined the best of all, certified by the worst of them" {
    whole=$(search --json -q --set "$few")
    for count in 1 3 7; do
        parts=()
        sum=0
        worst=0
        for number in $(seq $count); do
            part=$(found "$number/$count" --json)
            [ "$(jq '.search.is_certified' <<< "$part")" = true ]
            [ "$(jq -r .shard <<< "$part")" = "$number/$count" ]
            ((sum += $(jq '.search.counts.layouts' <<< "$part")))
            parts+=(--read-found "$BATS_TEST_TMPDIR/$number-of-$count")
        done
        [ "$sum" -eq "$(jq '.search.counts.layouts' <<< "$whole")" ]
        run --separate-stderr search --json -q --set "$few" "${parts[@]}" --db "$BATS_TEST_TMPDIR/joined.db"
        [ "$status" -eq 0 ]
        [ -z "$stderr" ]
        [ "$(jq .search.best <<< "$output")" = "$(jq .search.best <<< "$whole")" ]
        [ "$(jq -c '.points[0].set' <<< "$output")" = "$(jq -c '.points[0].set' <<< "$whole")" ]
        [ "$(jq '.search | .is_certified and .gap == 0' <<< "$output")" = true ]
        [ "$(jq '.search.counts | .layouts == .memory_of_line + .memory + .memory_counted + .bound +
            .simulated + .failed' <<< "$output")" = true ]
    done
    # One that is missing is searched.
    run --separate-stderr search --json --set "$few" "${parts[@]:0:8}" --db "$BATS_TEST_TMPDIR/joined.db"
    [[ "$stderr" == *"3 of 7 parts are in none of the files of --read-found, or had lost layouts; they are searched here"* ]]
    [ "$(jq .search.best <<< "$output")" = "$(jq .search.best <<< "$whole")" ]
    [ "$(jq .search.counts.layouts <<< "$output")" -eq "$sum" ]
}

@test "a gap that shards leave is the joined one's, at most" {
    parts=()
    worst=0
    for number in 1 2 3; do
        part=$(found "$number/3" --json --gap 10%)
        worst=$(jq ".search.gap // 0 | if . > $worst then . else $worst end" <<< "$part")
        parts+=(--read-found "$BATS_TEST_TMPDIR/$number-of-3")
    done
    joined=$(search --json -q --set "$few" --gap 10% "${parts[@]}")
    [ "$(jq ".search | .is_certified and .gap <= $worst and .gap <= 0.1" <<< "$joined")" = true ]
    best=$(search --json -q --set "$few" | jq .search.best)
    [ "$(jq ".search | .best * (1 - .gap) <= $best * 1.000000001" <<< "$joined")" = true ]
}

@test "a part that fits nowhere, or says what it should not, is told" {
    found 1/2 > /dev/null
    found 1/3 > /dev/null
    refused() { # pattern, options
        run search --set "$few" "${@:2}"
        [ "$status" -eq 3 ]
        [[ "$output" == *$1* ]]
    }
    part=$BATS_TEST_TMPDIR/1-of-2
    refused 'is of another search*--gap' --read-found "$part" --gap 1%
    refused 'is of another search' --read-found "$part" --set search.recompute=none
    refused 'is of another search' --read-found "$part" --set gpus=32
    refused 'one of 3, those before it of 2' --read-found "$part" --read-found "$BATS_TEST_TMPDIR/1-of-3"
    sed '2s/^[0-9]*/1/' "$part" > "$BATS_TEST_TMPDIR/changed"
    refused 'not whole, or was changed*run its shard again' --read-found "$BATS_TEST_TMPDIR/changed"
    for bytes in 20 60 90 300 $(($(wc -c < "$part") - 1)); do
        head -c "$bytes" "$part" > "$BATS_TEST_TMPDIR/cut"
        refused 'error: this ' --read-found "$BATS_TEST_TMPDIR/cut"
    done
    refused 'no part of a search' --read-found "$file"
    refused 'no such file' --read-found "$BATS_TEST_TMPDIR/none"
    [ ! -e "$db" ]
    for wrong in '--shard 3/2' '--shard 1/2 --top 3' '--shard 1/2 --db x' '--write-found x' '--slurm --shard 1/2'; do
        # shellcheck disable=SC2086 # words
        run search $wrong
        [ "$status" -eq 2 ]
    done
    # Of a shard nothing need fit: others may have what does.
    run --separate-stderr "$STOKER" search "$file" --set "$few" --set model=llama3-405b --shard 1/2 \
        --write-found "$BATS_TEST_TMPDIR/none"
    [ "$status" -eq 0 ]
    [[ "$output" == *"certificate: no layout of this part of the space fits into memory"* ]]
}

@test "a script searches in shards and joins them" {
    "$STOKER" search "$file" --set "$few" --top 3 --db "$db" --slurm=5 > "$BATS_TEST_TMPDIR/script"
    bash -n "$BATS_TEST_TMPDIR/script"
    grep -qx '#SBATCH --array=1-5' "$BATS_TEST_TMPDIR/script"
    grep -qF ' search "$@"' "$BATS_TEST_TMPDIR/script"
    "$STOKER" search "$file" --set "$few" --top 3 --db "$db" --parallel=3 > "$BATS_TEST_TMPDIR/script"
    sh -n "$BATS_TEST_TMPDIR/script"
    [ "$(grep -c -- '--shard=./3 --write-found=' "$BATS_TEST_TMPDIR/script")" -eq 3 ]
    run ! grep -E -- '--shard.*--(top|db)' "$BATS_TEST_TMPDIR/script"
    type parallel > /dev/null || skip "no GNU parallel"
    run sh "$BATS_TEST_TMPDIR/script"
    [ "$status" -eq 0 ]
    [[ "$output" == *"certificate: no layout of this space has less than "* ]]
    "$STOKER" list runs --db "$db" | grep -q "a small search"
}

@test "a full disk is told, and the same command goes on" {
    run bash -c 'ulimit -f 100; trap "" XFSZ; exec "$@"' - "$STOKER" search "$file" --db "$db" \
        --set 'search.parallel.cp=[1]' --set 'search.recompute=[none]'
    [ "$status" -eq 1 ]
    [[ "$output" == *"free some space, then run the same command again"* ]]
    run search --set 'search.parallel.cp=[1]' --set 'search.recompute=[none]'
    [ "$status" -eq 0 ]
}

@test "other commands tell of a key that is no axis, too" {
    echo 'search: {parallel: {tq: [1]}}' >> "$file"
    for command in run show compare; do
        run "$STOKER" "$command" "$file" $([ "$command" != compare ] || echo scenarios/quickstart.yaml)
        [ "$status" -eq 3 ]
        [[ "$output" == *"s.yaml:6:21: error: 'parallel.tq' is no axis of a search"*"did you mean 'parallel.tp'?"* ]]
    done
}

@test "--set of a key that is searched is warned about" {
    run search --set parallel.tp=4 --set 'search.recompute=[none]' --gap 50%
    [ "$status" -eq 0 ]
    [[ "$output" == *"warning: --set parallel.tp=4 changes nothing"* ]]
    [[ "$output" == *"--set search.parallel.tp=4"* ]]
}

@test "ranges of sizes that do not divide take no time" {
    run bash -c 'ulimit -t 20; exec "$@"' - "$STOKER" search "$file" --db "$db" --gap 50% --set search.recompute=none \
        --set 'search.parallel={tp: 1..3000, cp: 1..3000, ep: 1, pp: 1..3000}'
    [ "$status" -eq 0 ]
}

@test "a file that cannot hold the results, and a plot that there is not, are told before the search" {
    echo 'no database' > "$db"
    # Of this space the search takes minutes.
    sed -i 's/gpus: 16/gpus: 1024/; s/global: 32/global: 1024/; s/llama3-8b/gpt3-175b/; s/4096/2048/' \
        "$file"
    run bash -c 'ulimit -t 20; exec "$@"' - "$STOKER" search "$file" --db "$db"
    [ "$status" -eq 1 ]
    [[ "$output" == *"is not a database"* ]]
    run bash -c 'ulimit -t 20; exec "$@"' - "$STOKER" search "$file" --db "$BATS_TEST_TMPDIR/new.db" --plot circles
    [ "$status" -eq 2 ]
    [ ! -e "$BATS_TEST_TMPDIR/new.db" ]
}

# 16 GPUs in two nodes of 8, tp 4, pp 2, dp 2. As usual a stage fills a node: gradients stay in it and
# activations cross; with pp before dp gradients cross, 8 billion parameters for one hidden tensor a
# microbatch: each is a `run` of that order, of six that differ (3! of tp, dp and pp), and the usual is best.
@test "the order of the mesh is an axis, as run has it" {
    cat >> "$file" << 'END'
parallel: {tp: 4, pp: 2}
search: {parallel: {tp: [4], pp: [2], cp: [1], zero: [1], schedule: [1f1b], sequence_parallel: [false], order: all}, batch.micro: [1], recompute: none}
END
    run -0 --separate-stderr search --json -q --top 10 --any-software
    jq -e '.search.counts.layouts == 6' <<< "$output"
    jq -e '[.points[].step_time_s] | . == sort and length == 6' <<< "$output"
    for order in tp-cp-ep-dp-pp tp-cp-ep-pp-dp; do
        step=$("$STOKER" run "$file" --no-db --json -q --set "parallel.order=$order" | jq .step_time_s)
        jq -e --argjson step "$step" '.points | any(.step_time_s == $step)' <<< "$output"
    done
    usual=$("$STOKER" run "$file" --no-db --json -q | jq .step_time_s)
    jq -e --argjson step "$usual" '.points[0].step_time_s == $step' <<< "$output"
    # Megatron-LM has the two (--use-tp-pp-dp-mapping), and the others are left out.
    run -0 search -q
    [[ $output == *"4 layouts that megatron-2024 (Core 0.5 to 0.10) has not are left out: any-order"* ]]
    run -0 --separate-stderr "$STOKER" run "$file" --no-db --set parallel.order=dp-tp-pp-cp-ep
    [[ $stderr == *"megatron-2024 (Core 0.5 to 0.10) has no any-order"* ]]
}

# Who names an axis that stays finds it among the layouts; who does not is told that it stayed, and
# at what. What the scenario says of stages and the search is to find cannot both be.
@test "axes that stay as they are, unless search: names them, are told" {
    run search --set search.parallel.pp=[2] --set search.parallel.cp=[1,2]
    [ "$status" -eq 0 ]
    [[ $output == *"fixed, as search: names none of them: cp_type ring, layers_per_stage even, zero_group cp x dp"* ]]
    run search --json -q --set search.parallel.pp=[2] --set search.parallel.layers_per_stage=all
    [ "$(jq -r .search.fixed <<< "$output")" = "cp_type ring, zero_group cp x dp, microbatch_group pp, reshard after-forward, order tp-cp-ep-dp-pp" ]
    run search --set search.parallel.pp=[2] --set search.parallel.layers_per_stage=all \
        --set parallel.layers_per_stage=[16,16]
    [ "$status" -eq 3 ]
    [[ $output == *"layers_per_stage is searched, but the scenario says what stages have"*"leave layers_per_stage,"* ]]
}

# Groups of 4, of 8 and of 16 microbatches are other layouts: those of all are the sum of each, also where
# nothing is looked at (a group is counted with the others of its line), and what the release lacks.
@test "layouts that differ in groups of microbatches are counted, each once" {
    counts() {
        search -q --json --set 'search.parallel.schedule=[interleaved]' --set 'search.parallel.pp=[2, 4]' \
            --set 'search.parallel.tp=[1]' --set "search.parallel.microbatch_group=$1" --set batch.global=64 |
            jq -c '.search.counts | {layouts, lacking}'
    }
    for groups in '[4]' '[8]' '[16]' '[4, 8, 16]'; do counts "$groups"; done |
        jq -ne '[inputs] | .[0:3] as $each | .[3] as $all | $each | length == 3 and
            (map(.layouts) | add) == $all.layouts and (map(.lacking) | add) == $all.lacking and
            (map(.layouts, .lacking) | min) > 0'
}
