# The arithmetic that `stoker explain` prints adds up to what `stoker run` predicts.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    text=$BATS_TEST_TMPDIR/text
    json=$BATS_TEST_TMPDIR/json
}

explain() {
    "$STOKER" explain -q "$@" > "$text"
    "$STOKER" explain -q "$@" --json > "$json"
}

# What `run` says: the first number under a key of its document, in nanoseconds.
run_ns() {
    local key=$1
    shift
    "$STOKER" run -q --no-db --json "$@" |
        awk -F': ' -v key="\"$key\"" '$1 ~ key && !seen++ { printf "%.0f\n", $2 * 1e9 }'
}

# Nanoseconds of all kernels of a phase, added up one by one.
kernels_ns() {
    awk -v wanted="$1" '
        /"(forward|backward|recompute|ends|step_sums_s)": \{/ { gsub(/[ ":{]/, ""); phase = $0 }
        /"kind":/ { in_kernel = 1 }
        /"time_ns":/ && in_kernel {
            gsub(/[^0-9]/, "")
            if (phase == wanted) sum += $0
            in_kernel = 0
        }
        END { printf "%.0f\n", sum }' "$json"
}

# A printed sum: the number after "= " in the line that begins with a label.
value_of() {
    awk -v label="  $1 " 'index($0, label) == 1 && / = / && !seen++ {
        sub(/.* = /, "")
        gsub(/,/, "")
        print $1
    }' "$text"
}

@test "kernel times x layers x microbatches add up to compute, with one stage" {
    # Llama 3 8B: 32 layers, 8 microbatches, one stage. Every kernel is whole nanoseconds,
    # so the sum is exact: 8 x (32 x (forward + backward) + embedding and head).
    explain scenarios/quickstart.yaml
    sum=$((8 * (32 * ($(kernels_ns forward) + $(kernels_ns backward)) + $(kernels_ns ends))))
    [ "$sum" -gt 0 ]
    [ "$sum" -eq "$(run_ns compute scenarios/quickstart.yaml)" ]
}

@test "a recomputed forward pass costs what the forward pass does" {
    # GPT 22B: 48 layers, one microbatch.
    explain scenarios/korthikanti-22b-full.yaml
    [ "$(kernels_ns recompute)" -eq "$(kernels_ns forward)" ]
    sum=$((48 * $(kernels_ns forward)))
    [ "$sum" -eq "$(run_ns recompute scenarios/korthikanti-22b-full.yaml)" ]
}

@test "the kernels of a table add up to its last line" {
    explain scenarios/quickstart.yaml
    # us is the only column with three decimals but for the gaps; a kernel's line has no "= ".
    awk '/^  forward +m n k/ { inside = 1; next }
         inside && /^= all/ { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9][0-9][0-9]$/) {
                                  all = $i; break }
                              exit }
         inside && !/^=/ { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+\.[0-9][0-9][0-9]$/) {
                               sum += $i; break } }
         END { if (all == 0 || sprintf("%.3f", sum) != sprintf("%.3f", all)) exit 1 }' "$text"
}

@test "a transfer is latency + bytes / bandwidth" {
    # Two GPUs of a node gather 8,192 x 4,096 x 2 B = 67.109 MB: each sends half, 33,554,432 B,
    # at 450 GB/s x 0.82; 90.9 us, and the library's base and one round.
    explain scenarios/quickstart.yaml
    grep -E '^  all-gather +67\.109 +1560 +ring, Simple +33\.554 ' "$text" |
        awk '{ latency = $(NF - 3); alone = $(NF - 2) }
             END { exit !(latency > 3.4 && sprintf("%.1f", alone - latency) == "90.9") }'
    # 32 layers x 8 microbatches x (2 forward + 4 backward), the head's input 8 times and 8 more
    # backward, the gradient of the embedding's result 8 times.
    [ $((32 * 8 * 6 + 3 * 8)) -eq 1560 ]
    # The library's 15 + 8.4 us and one round of 3.4 us: as printed, and as run predicts it.
    grep -Eq '^  a rank sends +1 times x \(2 ranks - 1\) / 2 ranks x 67\.108864 MB += 33\.554432  MB$' \
        "$text"
    grep -Eq '^  latency +23\.400 us \+ 1 rounds x 3\.400 us .* = 26\.800  us$' "$text"
    [ "$(value_of 'alone on the fabric')" = 117.733 ]
    "$STOKER" run -q --no-db --json scenarios/quickstart.yaml | grep -q '"alone_s": 0.00011773'
}

# Two messages of a pipeline's stage: what a message takes, and its bytes over a port of a NIC.
@test "a send is a message's latency and its bytes" {
    explain scenarios/gpt3-175b-1024.yaml
    grep -Eq '^  send forward, send +the buffer, [0-9]+ times in a step' "$text"
    local message
    message=$(value_of 'a message between nodes')
    [ "$(awk -v message="$message" '/^  send forward, send/ { in_send = 1 }
        in_send && /^  latency / { print ($(NF - 1) == message) ? "same" : "other"; exit }' \
        "$text")" = same ]
}

@test "parameters and FLOPs are those of the formula" {
    # 32 x 218,112,000 + 2 x 128,256 x 4,096 + 4,096
    explain scenarios/quickstart.yaml
    [ "$(value_of 'N, parameters')" = $((32 * 218112000 + 2 * 128256 * 4096 + 4096)) ]
    # 3 x (2 x 32 x 218,103,808 + 32 x 2 x 4,096 x 8,192 + 2 x 4,096 x 128,256)
    flop=$((3 * (2 * 32 * 218103808 + 32 * 2 * 4096 * 8192 + 2 * 4096 * 128256)))
    grep -q "\"flop_per_token_causal\": $flop,\$" "$json"
}

@test "memory kinds add up to the total" {
    for file in scenarios/quickstart.yaml scenarios/study-fabric-70b.yaml \
        scenarios/gpt3-175b-1024.yaml; do
        explain "$file"
        sed -i '/ GB$/!d' "$text"
        sum=$(for kind in weights gradients optimizer activations "logits and the loss" \
            temporaries buffers overhead; do
            value_of "$kind"
        done | awk '{ sum += $1 } END { printf "%.4f", sum }')
        [ "$sum" = "$(value_of total | awk '{ printf "%.4f", $1 }')" ]
    done
}

# A query of 4,096 values of 2 B, cut by tp 2, for 8,192 tokens.
@test "the tensors that a layer keeps add up to what it keeps" {
    explain scenarios/quickstart.yaml
    grep -Eq '^  queries +1 x 2 B x 4,096 wide / 2 parts x 8,192 tokens x 1 hot; kept += 33\.554432  MB$' \
        "$text"
    [ $((2 * 4096 / 2 * 8192)) -eq 33554432 ]
    awk '/; kept +=/ { sum += $(NF - 1); count++ }
        /^  kept of a layer/ { layer = $(NF - 1) }
        END { exit !(count == 10 && sprintf("%.6f", sum) == layer) }' "$text"
}

@test "the bubble is (p - 1) / (v m), and nothing is said of it without a pipeline" {
    # 8 stages of 4 chunks, 48 microbatches, three of a kind each: (7 x 3) / (4 x 48 x 3).
    explain scenarios/gpt3-175b-1024.yaml
    grep -Eq '^  idle of a stage +\(8 stages - 1\) x \(1 F \+ 1 B \+ 1 W\) += 21$' "$text"
    [ "$(value_of 'work of a stage')" = $((4 * 48 * 3)) ]
    [ "$(value_of 'bubble / work by formula')" = 0.036458 ]
    explain scenarios/quickstart.yaml
    ! grep -q 'bubble by formula' "$text" || false
}

# Eight stages, 32 microbatches, F = B = W. ZB-H1: 7 x (F + B - W) of 32 x 3. DualPipe: 3 x (FB + B -
# 2 W) with pairs of 3, of 32 x 3 (each microbatch passes a stage once); DualPipeV: 7 x (FB + B - 2 W)
# of 2 x 32 x 3. ZB-V has a closed form of spans alone, and its longest path is taken.
@test "the bubble of each schedule is what its closed form computes" {
    local plan=(scenarios/study-schedules.yaml --set recompute=full)
    while read -r schedule chunks idle work; do
        explain "${plan[@]}" --set "parallel.schedule=$schedule" \
            --set "parallel.virtual_stages=$chunks"
        [ "$(value_of 'idle of a stage')" = "$idle" ]
        [ "$(value_of 'work of a stage')" = "$work" ]
        bubble=$(awk -v idle="$idle" -v work="$work" 'BEGIN { printf "%.6f", idle / work }')
        [ "$(value_of 'bubble / work by formula')" = "$bubble" ]
    done << 'END'
1f1b 1 21 96
zb-h1 1 7 96
dualpipe 2 6 96
dualpipev 2 14 192
END
    explain "${plan[@]}" --set parallel.schedule=zb-v --set parallel.virtual_stages=2
    grep -Eq '^  idle of a stage +longest path of the orders' "$text"
}

# 1F1B on four stages has (4 - 1) / 16 of bubble and 4 microbatches of 8 layers in flight. Paired,
# one more is, and each of its rounds takes two pairs: the bubble is nearly the work, as simulated.
@test "overlapped experts keep one more microbatch, and their bubble is that of the pairs" {
    local plan=(scenarios/mixtral-8x7b-64.yaml --set parallel.schedule=1f1b
        --set parallel.virtual_stages=1)
    explain "${plan[@]}"
    grep -Eq 'in flight, first stage .* = 4$' "$text"
    grep -Eq 'bubble / work by formula .* = 0.187500$' "$text"
    explain "${plan[@]}" --set parallel.overlap_experts=true
    grep -Eq 'in flight, first stage .* = 5$' "$text"
    # Layer by layer: of four microbatches of eight layers, and of one layer that enters.
    grep -Eq 'layers in flight .* = 33$' "$text"
    grep -Eq 'kept layers +at most 33 in flight' "$text"
    awk '/bubble by formula/ { formula = $(NF - 1) } /bubble simulated/ { simulated = $(NF - 1) }
        END { exit !(formula > 0.9 * simulated && formula < simulated) }' "$text"
}

# (128 + 16) / 16 = 9.
@test "copies of experts are counted among those of a GPU" {
    explain scenarios/qwen3-30b-16.yaml --set routing.redundant_experts=16
    grep -q '9 of 144 experts a GPU (16 are copies)' <(tr -s '\n ' ' ' < "$text")
    grep -q '144 experts / 16 ep x' "$text"
}

@test "all sections are there, and a scenario without tokens has no run" {
    explain scenarios/korthikanti-22b-full.yaml
    [ "$(grep -Ec '^[1-8]\. [A-Z]' "$text")" -eq 8 ]
    grep -q 'names no run.tokens' "$text"
    ! grep -q 'GPU-hours' "$text" || false
    grep -q '"schema": "stoker.explain/1"' "$json"
    for key in model layer network pipeline step memory run assumptions band; do
        grep -q "^  \"$key\": {" "$json"
    done
}

@test "every assumed constant has its file and line" {
    explain scenarios/quickstart.yaml
    count=$(grep -c '"reason":' "$json")
    [ "$count" -gt 8 ] # more than the screen of run shows
    [ "$(grep -Ec '^  [a-z_.]+ = .* \(.*(:[0-9]+|default)\)$' "$text")" -eq "$count" ]
}

@test "explain takes --set, and a plan that does not fit is explained and has status 4" {
    run --separate-stderr "$STOKER" explain scenarios/quickstart.yaml --set parallel.tp=1
    [ "$status" -eq 4 ]
    [[ "$output" == *"DOES NOT FIT"* ]]
    [[ "$stderr" == *"does not fit into memory"* ]]
}

# torchtitan's longest sequences (benchmarks/llama3_h100_202412_torchtitan.md), and ZeRO-3 of
# Narayanan et al. 2021, table 2; the latter also with 400 microbatches. A hundred thousand
# microbatches, or a kilobyte a second, are refused.
@test "sizes that were trained are not too large, absurd ones are" {
    local long=$BATS_TEST_TMPDIR/long.yaml zero3=$BATS_TEST_TMPDIR/zero3.yaml
    printf '%s\n' 'scenario: long sequences' 'model: llama3-405b' 'cluster: h100-3200' 'gpus: 512' \
        'parallel: {tp: 8, sequence_parallel: true, pp: 8, cp: 8, zero: 3, schedule: 1f1b}' \
        'batch: {global: 8, micro: 1, sequence_length: 262144}' 'recompute: full' > "$long"
    printf '%s\n' 'scenario: ZeRO-3' 'model: gpt-530b' 'cluster: a100-80gb-1600' 'gpus: 2240' \
        'parallel: {tp: 1, pp: 1, zero: 3}' 'recompute: full' \
        'batch: {global: 2240, micro: 1, sequence_length: 2048}' > "$zero3"
    "$STOKER" explain -q "$long" > "$text"
    "$STOKER" explain -q "$zero3" > "$text"
    "$STOKER" explain -q "$zero3" --set batch.global=896000 > "$text"
    run -4 --separate-stderr "$STOKER" explain -q "$zero3" --set batch.global=224000000
    [[ $stderr == *'too many to simulate'* ]]
    run -4 --separate-stderr "$STOKER" explain -q "$zero3" --set cluster.nics.bandwidth='1 kB/s'
    [[ $stderr == *'for moving data'* ]]
}

@test "wrong use and a missing file are told apart" {
    run "$STOKER" explain
    [ "$status" -eq 2 ]
    run "$STOKER" explain nowhere.yaml
    [ "$status" -eq 3 ]
}

# What is waited for is booked: exposed communication, and what partners delayed.
@test "explain says what hides each stream's time, beside what, and what ended it" {
    "$STOKER" explain scenarios/study-fabric-70b.yaml --json -q > "$BATS_TEST_TMPDIR/explained"
    jq -e '.step as $step | $step.overlap.streams |
        (map(.stream) == ["dp gather", "dp reduce", "gradient norm"]) and
        all(.[]; ((.beside_s | add) - .hidden_s | fabs) < 1e-9 and
                 ((.waited_before_s | add) - .waited_s | fabs) < 1e-9 and
                 .hidden_s <= .under_way_s) and
        ((map(.waited_s) | add) >= $step.breakdown.exposed_dp - 1e-6)' "$BATS_TEST_TMPDIR/explained"
    run --separate-stderr "$STOKER" explain scenarios/study-fabric-70b.yaml
    [[ $output == *"which ended with a"*"dp gather "*"dp reduce "*"optimizer 1 x,"* ]]
}

@test "a model without a head has no lines of logits" {
    "$STOKER" explain scenarios/quickstart.yaml > "$BATS_TEST_TMPDIR/with"
    "$STOKER" explain scenarios/quickstart.yaml --set model.lm_head=false > "$BATS_TEST_TMPDIR/without"
    # Of its operations, of its products and of the memory that they take.
    [ "$(grep -Ec '^  logits +[0-9]' "$BATS_TEST_TMPDIR/with")" -eq 3 ]
    run ! grep -Eq '^  logits +[0-9]' "$BATS_TEST_TMPDIR/without"
    grep -Eq '^  logits and the loss += 0\.0+ +GB$' "$BATS_TEST_TMPDIR/without"
}

@test "gaps in CUDA graphs are told where something is captured, and one by one they add up" {
    explain scenarios/qwen3-235b-256.yaml --set gpu.launch.in_graph="1.25 us"
    grep -q '^  gaps  *3 us before each kernel, 1\.25 us in CUDA graphs$' "$text"
    [ "$(jq '[.. | objects | .launch_in_graph_s? // empty] | .[0] * 1e9 | round' "$json")" = 1250 ]
    [ "$(jq '[.. | objects | select(has("kind")) | .launch_ns? // empty] | unique | .[0]' "$json")" = 1250 ]
    explain scenarios/qwen3-235b-256.yaml --set 'software.host.graphs=[none]'
    grep -q '^  gaps  *3 us before each kernel$' "$text"
    [ "$(jq '[.. | objects | has("launch_in_graph_s")] | any' "$json")" = false ]
    [ "$(jq '[.. | objects | select(has("kind")) | .launch_ns? // empty] | unique | .[0]' "$json")" = 3000 ]
}

# Reads that take longer than what trains are the path, one after the other; those that are hidden
# are not on it.
@test "the critical path is as long as the step, with reads that are waited for or hidden" {
    local slow=(--set cluster.storage.network=fabric --set cluster.storage.read_per_node="0.01 GB/s")
    for bytes in "1 kB" "130 B"; do
        "$STOKER" explain scenarios/quickstart.yaml --json -q "${slow[@]}" \
            --set data.bytes_per_token="$bytes" > "$BATS_TEST_TMPDIR/read"
        jq -e '([.. | .critical_path? // empty][0] | map(.seconds) | add) as $path | .step.step_time_s as $step
            | ($path - $step | fabs) < 1e-9' "$BATS_TEST_TMPDIR/read"
        jq -r '[.. | .critical_path? // empty][0][0].part' "$BATS_TEST_TMPDIR/read" >> "$BATS_TEST_TMPDIR/parts"
    done
    [ "$(paste -sd '|' "$BATS_TEST_TMPDIR/parts")" = "reading data, bytes over file system, reading|compute kernels" ]
    "$STOKER" explain scenarios/quickstart.yaml --json -q \
        --set data='{workers_per_gpu: 1, time_per_sample: 3 s}' > "$BATS_TEST_TMPDIR/waits"
    jq -e '([.. | .critical_path? // empty][0] | map(.seconds) | add) as $path | .step.step_time_s as $step
        | ($path - $step | fabs) < 1e-9' "$BATS_TEST_TMPDIR/waits"
}

# Reads cross the NICs of a pipeline's messages. One step by itself reads at its beginning; of many,
# whose loaders read ahead, each is shorter, and by how much is said.
@test "a path that is longer than the step says by how much, and why" {
    local reads=(--set parallel.pp=4 --set data.time_per_sample="50 ms" --set cluster.storage.network=fabric)
    "$STOKER" explain scenarios/quickstart.yaml --json -q "${reads[@]}" > "$json"
    longer=$(jq '.step | (.critical_path | map(.seconds) | add) - .step_time_s' "$json")
    jq -ne "$longer > 1e-7 and $longer < 1e-5"
    said=$("$STOKER" explain scenarios/quickstart.yaml -q "${reads[@]}" | tr -s '\n ' ' ' |
        sed -n 's/.*This one is of a step by itself, which reads its data at once and takes \([^ ]*\) s longer than the one above.*/\1/p')
    jq -ne "$said / $longer - 1 | fabs < 0.01"
    run --separate-stderr "$STOKER" explain scenarios/quickstart.yaml -q
    [[ $output != *"of a step by itself"* ]]
}

# Parts of the run, so they add up to it, but for what is too small to be said: at most 10 parts
# of 1e-5. Behind NICs of 50 Gbps messages of a pipeline lock in phase with one another: none holds.
@test "what a slower resource costs is forecast where it can be" {
    "$STOKER" explain scenarios/mixtral-8x7b-64.yaml --json -q > "$json"
    jq -e '.step | .forecast_holds and .forecast_gain > 1.5 and .forecast_gain < 2
        and (.forecast | map(.share) | add - 1 | fabs) < 1e-4' "$json"
    jq -e '.step.forecast[0] | .resource == "compute kernels" and .share > 0.85 and .share < 0.93
        and .in_doubt == false' "$json"
    # the latency of DP is a little less than nothing, and shown without a sign
    "$STOKER" explain scenarios/mixtral-8x7b-64.yaml -q > "$text"
    grep -q '^  DP communication, latency  *0\.000$' "$text"
    jq -e '.step.forecast | map(select(.resource == "DP communication, latency"))[0].share < 0' "$json"
    # gradients that are reduced beside messages of the pipeline: what is simulated is not what is said
    "$STOKER" explain scenarios/llama3-405b-16k.yaml --json -q --set batch.sequence_length=6144 > "$json"
    jq -e '.step.forecast | map(select(.resource == "DP communication, bytes over NIC out"))[0].in_doubt == true' "$json"
    "$STOKER" explain scenarios/study-gpus.yaml -q --set 'cluster.nics.bandwidth=50 Gbps' --json > "$json"
    jq -e '.step | (.forecast_holds | not) and .forecast_gain > 100 and (has("forecast") | not)' "$json"
    "$STOKER" explain scenarios/study-gpus.yaml -q --set 'cluster.nics.bandwidth=50 Gbps' > "$text"
    grep -q 'What a slower resource costs cannot be told' "$text"
    # jobs that share the fabric: none is asked for
    "$STOKER" explain scenarios/two-jobs.yaml -q --json > "$json"
    jq -e '.step | has("forecast_holds") | not' "$json"
}

# 64 NICs of which one in 4000 h loses a port: 0.384 a day, each for an hour and 6 of repair. 8 nodes
# of which one in 16 days breaks, for a day: half a day of work comes in a day, of two hands a
# quarter. One of ten diagnoses is wrong: 1 / 0.9 attempts.
recovering=(scenarios/quickstart.yaml
    --set 'run.recovery={spares: 4, spares_at: end, hot_spares: 1, cold_start: 20 min, hands: 2, wrong_diagnosis: 10 %, slow: endure}'
    --set 'run.drift={per_day: 1 %, since: maintenance}' --set cluster.fabric.nodes_per_leaf=4
    --set 'run.failures={counts: hardware, classes: [{name: port, of: nic, rate: {mttf: 4000 h}, takes: node, effect: degrades, nic: 0.5, detected: slow, repair: 6 h}, {name: node, of: node, rate: {mttf: 16 days}, takes: node, repair: 1 days}]}')

@test "attempts, cold starts, hands, degraded links and drift are told" {
    "$STOKER" explain "${recovering[@]}" > "$text"
    [ "$(value_of 'a step gets longer by')" = 1.000 ]
    grep -q 'a step gets longer by  *a day, since it was last maintained' "$text"
    [ "$(value_of 'attempts to restart')" = 1.11111 ]
    [ "$(value_of 'a node that was blamed is away')" = 14400.000000 ]
    [ "$(value_of 'spares that are hot')" = 1 ]
    [ "$(value_of 'a restart with a cold one')" = 1200.000000 ]
    [ "$(value_of 'repairs of node')" = 0.5000 ]
    [ "$(value_of 'hands at work')" = 25.000 ]
    [ "$(value_of 'port at a time')" = 0.112 ]
    grep -q '0.384 a day x (0.0417 days + 0.2500 days); a NIC carries 50 % until it is repaired' "$text"
    [ -z "$(value_of 'repairs of port')" ]
    # Half a NIC of one rank holds up its ring much as half of each NIC would (within 0.3 %); a spare of one switch up is no slower.
    step=$("$STOKER" run "${recovering[@]}" --no-db -q --json | jq .step_time_s)
    half=$("$STOKER" run "${recovering[@]}" --no-db -q --json --set 'cluster.network=1600 Gbps' | jq .step_time_s)
    regime() { sed -nE "s/^with $1  *([0-9.]+)$/\1/p" "$text"; }
    jq -ne "$(regime 'port in pipeline stage 0') as \$port | \$port > 1.005 * $step and (\$port / $half - 1 | fabs) < 0.004"
    jq -ne "$(regime '1 node on spares elsewhere') / $step - 1 | fabs < 1e-4"
    "$STOKER" explain "${recovering[@]}" --set run.recovery.slow=replace > "$text"
    [ "$(value_of 'repairs of port')" = 0.0960 ]
    [ "$(value_of 'hands at work')" = 29.800 ]
    [ "$(value_of 'port at a time')" = 0.016 ]
    "$STOKER" explain "${recovering[@]}" --set run.recovery.slow=replace --json > "$text"
    jq -e '.run.regimes | map(select(.regime == "with port in pipeline stage 0")) | length == 1' "$text"
    "$STOKER" explain scenarios/quickstart.yaml --set run.failures=true > "$text"
    for line in 'attempts to restart' 'spares that are hot' 'hands at work' 'a step gets longer by'; do
        [ -z "$(value_of "$line")" ]
    done
}

@test "sections that are named are those alone, and a wrong name gets the nearest" {
    explain scenarios/quickstart.yaml memory step
    [ "$(grep -c '^[0-9]\. ' "$text")" -eq 2 ]
    jq -e 'keys == ["answer", "key", "memory", "scenario", "schema", "step", "version"] or
        (has("memory") and has("step") and (has("model") or has("run") | not))' "$json"
    "$STOKER" explain scenarios/quickstart.yaml -q --json | jq -ne --slurpfile part "$json" 'input | .memory == $part[0].memory'
    run -2 "$STOKER" explain scenarios/quickstart.yaml memori
    [[ $output == *"there is no section 'memori'"*"did you mean 'memory'?"* ]]
}

# As a section says them, one below the other; what moves nothing is named.
@test "constants by what they move" {
    explain scenarios/quickstart.yaml --rank
    [[ $(sed -n 2p "$text") == "Of "*" assumed constants software.attention_kernels.derate moves the days most: 20 % more of it by -5.7 %." ]]
    "$STOKER" explain scenarios/quickstart.yaml assumptions -q --json | jq -ne --slurpfile rank "$json" 'input.assumptions.constants as $all
        | $rank[0].constants as $ranked
        | ($ranked | map(.name)) == [$all[] | select(.moves != null and (.moves | fabs) >= 0.0001) | .name]
        and ($ranked | map(.moves | fabs) | . == (sort | reverse)) and ($ranked | length) > 2'
    grep -q '^no effect on it, under 0.01 %: .*cluster.nics.power' "$text"
    # 20 % more of it, by a run.
    now=$("$STOKER" run scenarios/quickstart.yaml -q --json --no-db | jq .run.days)
    moved=$("$STOKER" run scenarios/quickstart.yaml -q --json --no-db --set gpu.power.exponent=0.66 | jq .run.days)
    jq -e --argjson now "$now" --argjson moved "$moved" '.constants[] | select(.name == "gpu.power.exponent") | (.moves / ($moved / $now - 1) - 1 | fabs) < 0.02' "$json"
}
