# whatif: each row is the run of its --set, each remedy works, the ladder holds, what can be wrong.

bats_require_minimum_version 1.5.0

write_scenario() {
    cat > "$1" << 'END'
scenario: GPT-3 13B in four stages behind thin up-links
model: {model: ours, source: made up, layers: 40, hidden: 5120, ffn_hidden: 20480, heads: 40,
  vocab: 51200, max_positions: 2048, mlp: gelu, norm: layernorm, positions: learned, biases: true,
  tied_embeddings: true}
cluster: h100-800
gpus: 64
software: megatron-2024
parallel: {tp: 4, pp: 4, zero: 1, schedule: 1f1b, sequence_parallel: true}
batch: {global: 64, micro: 1, sequence_length: 2048}
recompute: full
run: {tokens: 300B, checkpoint: {every: 10 min, mode: blocking}}
price: {gpu_hour: 2.00 USD}
slow: [{rank: 9, speed: 0.8}]
END
}

# The plain question is asked once: several tests read what it says.
setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    write_scenario "$BATS_FILE_TMPDIR/s.yaml"
    "${STOKER:-./stoker}" whatif "$BATS_FILE_TMPDIR/s.yaml" --db "$BATS_FILE_TMPDIR/results.db" \
        --json -q > "$BATS_FILE_TMPDIR/plain.json"
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    db=$BATS_TEST_TMPDIR/results.db
    file=$BATS_TEST_TMPDIR/s.yaml
    write_scenario "$file"
}

# For tests that are not about the best layout, whose search takes most of the time: it has a few.
search_few() {
    echo 'search: {parallel: {tp: [4], pp: [4], schedule: [1f1b], zero: [1]}, batch: {micro: [1]}, recompute: [full]}' >> "$file"
}

plain() {
    cat "$BATS_FILE_TMPDIR/plain.json"
}

whatif() {
    "$STOKER" whatif "$file" --db "$db" "$@"
}

# What the row of that name has: row JSON NAME FILTER.
row() {
    jq -r --arg name "$2" ".rows[] | select(.label == \$name) | $3" <<< "$1"
}

@test "each row is the run of its --set, to the nanosecond" {
    json=$(plain)
    while IFS=$'\t' read -r label step days sets; do
        arguments=()
        while IFS= read -r set; do
            arguments+=(--set "$set")
        done < <(jq -r '.[]' <<< "$sets")
        run --separate-stderr "$STOKER" run "$file" --no-db --json -q "${arguments[@]}"
        [ "$status" -eq 0 ] || { echo "$label"; false; }
        [ "$(jq -r .step_time_s <<< "$output")" = "$step" ] || { echo "$label"; false; }
        [ "$(jq -r .run.days <<< "$output")" = "$days" ] || { echo "$label"; false; }
    done < <(jq -r '.rows[] | select(.status == "ok")
                 | [.label, .step_time_s, .run.days, (.set | tojson)] | @tsv' <<< "$json" |
             sed 's/\\\\/\\/g')
    [ "$(jq '[.rows[] | select(.status == "ok")] | length' <<< "$json")" -ge 20 ]
    [ "$(jq .runs <<< "$json")" -le 60 ]
}

@test "a remedy works where it should" {
    json=$(plain)
    for name in "slow GPUs replaced" "no recomputation" "asynchronous checkpoints" \
        "NICs twice as fast" "NVLink twice as fast" "storage twice as fast" "more interleaving"; do
        saves=$(row "$json" "$name" .saves)
        jq -en "$saves > 0" || { echo "$name: $saves"; false; }
    done
    # What is ideal saves no less than what can be bought of it.
    for pair in "ideal network|NICs twice as fast" "ideal NVLink|NVLink twice as fast" \
        "ideal storage|storage twice as fast" "equal GPUs, no jitter|slow GPUs replaced"; do
        ideal=$(row "$json" "${pair%|*}" .value)
        bought=$(row "$json" "${pair#*|}" .value)
        jq -en "$ideal <= $bought" || { echo "$pair"; false; }
    done
    # Without a pipeline all wait for a GPU at 80 %, which takes 25 % longer: a fifth of the step is
    # saved, but for what is communicated.
    json=$("$STOKER" whatif scenarios/quickstart.yaml --db "$db" --json -q \
        --set 'slow=[{rank: 5, speed: 0.8}]')
    [[ $(jq -r .critical_bound_by <<< "$json") == "a slow GPU, rank 5 at 80 %"* ]]
    jq -en "$(row "$json" "slow GPUs replaced" .saves) | . > 0.17 and . < 0.2"
    jq -e '.ladder | map(.name) | index("slow GPUs replaced") != null' <<< "$json"
}

@test "the best layout is a row, whatever the scenario's own, and no row of layout beats it" {
    json=$(plain)
    best=$(row "$json" "the best layout" .step_time_s)
    # The others change one key of it, to values that are among the usual ones; 1 % is the gap.
    for name in "no recomputation" "selective recomputation" "twice the microbatch" "tp twice"         "tp half" "pp twice" "pp half" "more interleaving" "ZeRO 3"; do
        step=$(row "$json" "$name" .step_time_s)
        step=${step:-null} # megatron-2024 has no modules to recompute, and no ZeRO 3: not asked
        jq -en "$step == null or $best * 0.99 <= $step" || { echo "$name: $step"; false; }
    done
    # It is the one that auto finds.
    keys=(--set parallel=auto --set batch.micro=auto --set recompute=auto)
    [ "$best" = "$("$STOKER" run "$file" --no-db --json -q "${keys[@]}" | jq .step_time_s)" ]
    # What has that layout already has nothing to ask.
    sets=()
    while IFS= read -r set; do
        sets+=(--set "$set")
    done < <(row "$json" "the best layout" '.set[]')
    json=$(whatif --json -q "${sets[@]}")
    [ -z "$(row "$json" "the best layout" .set)" ]
    [ "$(jq '.base[0].step_time_s' <<< "$json")" = "$best" ]
    # Of a layout that does not fit.
    json=$(whatif --json -q --set parallel.tp=1 --set parallel.pp=1 --set recompute=none)
    [ "$(jq -r '.base[0].status' <<< "$json")" = infeasible ]
    [ "$(row "$json" "the best layout" .step_time_s)" = "$best" ]
}

# A pipeline of two stages may be none; of chunks that are interleaved there must be stages to do it.
@test "half of two stages is asked where nothing is interleaved" {
    search_few
    json=$(whatif --json -q --set parallel.tp=8 --set parallel.pp=2)
    [[ "$(row "$json" "pp half" '.set | tojson')" == *'"parallel.pp=1"'*'"parallel.schedule=1f1b"'* ]]
    json=$(whatif --json -q --set parallel.tp=8 --set parallel.pp=2 --set parallel.schedule=interleaved \
        --set parallel.virtual_stages=2)
    [ -n "$(row "$json" "pp twice" .label)" ]
    [ -z "$(row "$json" "pp half" .label)" ]
}

@test "what the software's release lacks is not asked, and told; --any-software asks" {
    # Core 0.10 has no ZeRO 3, nor norms that are computed again.
    json=$("$STOKER" whatif scenarios/quickstart.yaml --db "$db" --json -q)
    [ -z "$(row "$json" "ZeRO 3" .value)" ]
    [[ "$(jq -r .lacking <<< "$json")" == *"selective recomputation (recompute norm, activation)"*"ZeRO 3 (zero 3)"* ]]
    json=$("$STOKER" whatif scenarios/quickstart.yaml --db "$db" --json -q --any-software)
    [ -n "$(row "$json" "ZeRO 3" .value)" ]
    [ "$(jq .lacking <<< "$json")" = null ]
    # What lacks already may stay so.
    json=$("$STOKER" whatif scenarios/quickstart.yaml --db "$db" --json -q --set parallel.zero=3)
    [ -n "$(row "$json" "twice the microbatch" .value)" ]
}

@test "the best layout says also what its own keys make of others" {
    # With tp 1 nothing is cut along the sequence, whatever is written; with tp 2 it would be.
    json=$(whatif --json -q --set parallel.tp=1 --set 'search.parallel.tp=[2]' \
        --set 'search.parallel.sequence_parallel=[false]')
    row "$json" "the best layout" '.set | tojson' |
        jq -ne 'input | index("parallel.tp=2") != null and index("parallel.sequence_parallel=false") != null'
}

@test "what is worth something is a saved cost, by the piece" {
    json=$(plain)
    jq -e '.base[0].run.cost_usd as $now
        | [.rows[] | select(.status == "ok" and .group == "purchase" and .piece == "NIC")
           | (.worth_usd_per_piece * 64 - ($now - .run.cost_usd)) / $now | fabs < 1e-9]
        | length == 2 and all' <<< "$json"
    [ "$(row "$json" "slow GPUs replaced" .piece)" = GPU ]
}

@test "the ladder is the best, then the best given that, and the runs of its --sets" {
    json=$(plain)
    jq -e '[.ladder[].value] as $v | ($v | length) >= 3
        and all(range(1; $v | length); $v[.] < $v[. - 1])' <<< "$json"
    jq -e '.ladder[0].name as $name
        | [.rows[] | select(.status == "ok" and (.group == "free" or .group == "purchase")) | .value]
        | min as $least | $least' <<< "$json"
    [ "$(jq '.ladder[0].value' <<< "$json")" = "$(jq '[.rows[] | select(.status == "ok"
        and (.group == "free" or .group == "purchase")) | .value] | min' <<< "$json")" ]
    arguments=()
    while IFS= read -r set; do
        arguments+=(--set "$set")
    done < <(jq -r '.ladder[:3][].set[]' <<< "$json")
    [ "$("$STOKER" run "$file" --no-db --json -q "${arguments[@]}" | jq .step_time_s)" = \
        "$(jq '.ladder[2].step_time_s' <<< "$json")" ]
}

@test "margins are slopes: 5 % up less 5 % down" {
    json=$(plain)
    jq -e '([.rows[] | select(.label == "network +5 %" or .label == "network -5 %") | .value]) as [$up, $down]
        | (.margins[] | select(.resource == "network")) as $m
        # 8 NICs of 100 Gbps: 5 % is 5 Gbps, and the unit no more than a fifth.
        | $m.unit == "10 Gbps a NIC" and
          (($m.value_per_unit - ($up - $down) / 1) / $m.value_per_unit | fabs < 1e-6)' <<< "$json"
    [ "$(jq '.margins[] | select(.resource == "network") | .then_bound_by' <<< "$json")" = \
        "$(jq '.rows[] | select(.label == "network +5 %") | .bound_by' <<< "$json")" ]
}

@test "rows are ranked within their group, what cannot be had comes last with its reason" {
    echo 'require: [days <= 1]' >> "$file"
    search_few
    run --separate-stderr whatif
    [ "$status" -eq 0 ]
    [[ $output == *"the step hangs on compute "* ]]
    [[ $output == *" free"$'\n'*" to buy"$'\n'*" ideal, the most there is"$'\n'*"together, best first, they save: 1 "*"sensitivity to "* ]]
    # The answer is the second line, and names what stands first.
    [[ $(sed -n 2p <<< "$output") == "Free: of the days $(sed -n '/^ *free$/{n;s/^ *1  \([^ ]* [^ ]*\).*/\1/p}' <<< "$output")"*" saves "* ]]
    [[ $stderr == *"note: whatif does not look at 'require'"* ]]
    # Dollars of a margin have three digits and their sign.
    grep -Eq '^network .* -0\.[0-9]{3} +-[1-9]\.[0-9]{2} k$' <<< "$output"
    grep -Eq '^latency .* \+([1-9]\.[0-9]{2}|[1-9][0-9]\.[0-9])$' <<< "$output"
    run --separate-stderr whatif -q --set parallel.tp=1 --set parallel.pp=1
    [[ $output == *"infeasible"*"OOM: needs"* ]]
}

# A line for each row that saves or costs 0.2 % or more, with the band of its ratio: in text what JSON has.
@test "a row's line has the band of what it saves, rows without effect have none" {
    search_few
    text=$(whatif -q)
    json=$(whatif --json -q)
    [ "$(grep -Ec '^ *[0-9]+  ' <<< "$text")" -eq \
        "$(jq '[.rows[] | select(.group != "margin" and (.saves == null or (.saves | fabs) >= 0.002))] | length' <<< "$json")" ]
    [[ $text == *"no effect, under 0.2 %: "* ]]
    band=$(jq -r '[.rows[] | select(.label == "NICs twice as fast")][0] | (.band.speed_up | .p90 / .p10 | sqrt) as $f
        | [1 - (1 - .saves) * $f, 1 - (1 - .saves) / $f] | map(100 * . | round | (if . < 0 then "" else "+" end) + tostring) | join(" to ")' <<< "$json")
    grep '^ *[0-9]*  NICs twice as fast' <<< "$text" | grep -qF -- "$band"
    # All to the digit nearest to a fifth of the narrowest half, of what it takes and of what it saves.
    python3 - "$json" "$text" << 'END'
import json, math, re, sys
document, text = json.loads(sys.argv[1]), sys.argv[2]
told = {}
for line in text.split("\n"):
    found = re.match(r" *\d+  (.*?) {2,}(\S+) +(\S+)  ", line)
    if found:
        told[found[1]] = found[2], found[3]
rows = [row for row in document["rows"] if row["label"] in told]
assert len(rows) == len(told) > 5, told
half = {True: [], False: []}
for row in rows:
    if row["band"]["is_known"]:
        speed = row["band"]["speed_up"]
        share = math.sinh(math.log(speed["p90"] / speed["p10"]) / 2)
        half[True].append(row["value"] * share)
        half[False].append(100 * (1 - row["saves"]) * share)
for row in rows:
    for is_value, shown in zip((True, False), told[row["label"]]):
        digit = round(math.log10(min(half[is_value]) / 5))
        value = row["value"] if is_value else 100 * row["saves"]
        assert abs(float(shown) - value) <= 0.501 * 10 ** digit, (row["label"], shown, value)
        assert len(shown.partition(".")[2]) == max(0, -digit), (row["label"], shown, digit)
END
}

# What a numbered row is, its --set and the file with it: the same step by all three.
@test "a row is applied by its number, and its --set are printed" {
    search_few
    json=$(whatif --json -q)
    sets=$(whatif -q --sets)
    number=$(sed -n 's/^ *\([0-9]*\)  NICs twice as fast .*/\1/p' <<< "$sets")
    [ -n "$number" ]
    grep -Eqx " *$number  --set \"cluster.nics.bandwidth=[0-9]+ Gbps\"" <<< "$sets"
    whatif -q --apply "$number" > "$BATS_TEST_TMPDIR/better.yaml"
    grep -q '^# NICs twice as fast' "$BATS_TEST_TMPDIR/better.yaml"
    [ "$("$STOKER" run "$BATS_TEST_TMPDIR/better.yaml" --no-db --json -q | jq .step_time_s)" = \
        "$(row "$json" "NICs twice as fast" .step_time_s)" ]
    run -3 whatif -q --apply 99
    [[ $output == *"--apply 99: the table has "*" rows"* ]]
    run -2 whatif -q --apply 1 --json
    [[ $output == *"--json"*"--apply, which prints a scenario"* ]]
}

@test "what does not fit is told what makes it fit" {
    search_few
    run --separate-stderr whatif --json -q --set recompute=none \
        --set parallel.pp=1 --set parallel.tp=1 --set slow='[]'
    [ "$status" -eq 0 ]
    [ "$(jq -r '.base[0].status' <<< "$output")" = infeasible ]
    [ "$(jq '[.rows[] | select(.status == "ok")] | length' <<< "$output")" -ge 1 ]
    [ "$(jq '.ladder | length' <<< "$output")" -eq 0 ]
    run --separate-stderr whatif -q --set recompute=none --set parallel.pp=1 --set parallel.tp=1 \
        --set slow='[]'
    [[ $output == *"as it is it has no result: OOM: needs"*"others lack the same"* ]]
}

@test "without a run rows are ranked by the step's time" {
    search_few
    sed -i '/^run:/d' "$file"
    run --separate-stderr whatif -q
    [ "$status" -eq 0 ]
    [[ $output == *"ms/M tokens"* ]]
    [[ $output != *"asynchronous checkpoints"* ]]
    run whatif --by usd
    [ "$status" -eq 3 ]
    [[ $output == *"--by usd needs a run"*"--set run.tokens=1T"* ]]
}

@test "money needs a price" {
    sed -i '/^price:/d' "$file"
    run whatif --by usd --set gpu.price='{}'
    [ "$status" -eq 3 ]
    [[ $output == *"needs a price"* || $output == *"price"* ]]
}

# With electricity alone it has something to compare, and so has a spot price where a GPU has no rent.
@test "money that is nothing compares nothing" {
    search_few
    sed -i '/^price:/d' "$file"
    run whatif --by usd --set price.gpu_hour='0 USD'
    [ "$status" -eq 3 ]
    [[ $output == *"price.gpu_hour=0 USD: error: --by usd compares nothing: the run costs 0 USD"*"price.electricity"* ]]
    whatif -q --by usd --set price.gpu_hour='0 USD' --set price.electricity='0.1 USD/kWh'
    whatif -q --by usd --set gpu.price='{}' --set 'price={terms: spot, spot_gpu_hour: 1 USD}'
}

@test "a scenario that cannot be read has no rows" {
    run whatif --set parallel.tp=3
    [ "$status" -eq 3 ] || [ "$status" -eq 4 ]
    [[ $output == *"tp 3 does not divide heads 40"* ]]
    [ ! -e "$db" ]
}

@test "of what is ideal already nothing is asked" {
    search_few
    # Twice 8 Pbps is more than a key may have: these rows once failed, and so did the exit status.
    run --separate-stderr "$STOKER" whatif "$file" --db "$db" --json -q \
        --set 'ideal={network: true, scale_up: true, storage: true, host: true, gpus: true, pipeline: true}'
    [ "$status" -eq 0 ]
    jq -e '[.rows[] | select(.status == "failed" or .group != "free")] == [] and .margins == []' <<< "$output"
    jq -e '[.rows[].label] | index("adaptive routing") == null' <<< "$output"
}

@test "a step that waits for data hangs on these, not on what it computes" {
    # Workers that need 3 s for a sequence; the step by itself takes less than 4 s for several.
    json=$("$STOKER" whatif scenarios/quickstart.yaml --db "$db" --json -q \
        --set data='{workers_per_gpu: 1, time_per_sample: 3 s}')
    [[ $(jq -r .critical_bound_by <<< "$json") == "data stall ("* ]]
}

# On two GPUs of 80 GB the states of 8B parameters do not fit, on four
# they do, and the host's 25 GB/s of them are most of the step.
@test "what lies on the host need not, where it fits" {
    cat > "$file" << 'END'
scenario: Llama 3 8B, its optimizer on the host
model: llama3-8b
cluster: h100-3200
gpus: 8
software: megatron-2024
parallel: {tp: 4, zero: 0}
offload: {optimizer: 100 %}
batch: {global: 8, micro: 1, sequence_length: 8192}
END
    whatif --json > "$BATS_TEST_TMPDIR/four"
    jq -e '(.critical_bound_by | startswith("offload (68 %, of it optimizer on the host 63 %)"))
        and (.rows[] | select(.label == "without offload")
            | .status == "ok" and .saves > 0.6 and .set == ["offload.optimizer=0 %"])
        and .ladder[0].name == "without offload"' "$BATS_TEST_TMPDIR/four"
    run --separate-stderr whatif --set parallel.tp=2
    [[ $output == *"infeasible"*"without offload: OOM: needs "*" GB of 86"* ]]
    [[ $(plain) != *"without offload"* ]]
}

# The bill of 8 nodes with it less that without it, over 64 NICs.
@test "what is bought of the network costs what its parts cost" {
    bill() { "$STOKER" show h100-800 --nodes 8 --json "$@" | jq .derived.network_usd; }
    now=$(bill)
    json=$(plain)
    for row in "NICs twice as fast:64:cluster.network=1600Gbps" "twice the NICs:64:cluster.nics.count=16"; do
        IFS=: read -r name pieces set <<< "$row"
        then=$(bill --set "$set")
        jq -e --arg n "$name" --argjson usd "$then" --argjson now "$now" --argjson pieces "$pieces" \
            '.rows[] | select(.label == $n) | (.costs_usd_per_piece * $pieces / ($usd - $now) - 1 | fabs) < 1e-9 and $usd > $now' <<< "$json"
    done
    jq -e '[.rows[] | select(.label == "slow GPUs replaced" or .label == "NVLink twice as fast") | .costs_usd_per_piece] | all(. == null)' <<< "$json"
}

# Of each row and the scenario as it is: fp8 is faster by more than its band, twice the pipeline slower.
@test "in what share of draws a row is better than the scenario as it is" {
    "$STOKER" whatif scenarios/quickstart.yaml --no-db --json -q > "$BATS_TEST_TMPDIR/json"
    jq -e '[.wins[] | {(.row): .wins.days_share}] | add | .fp8 > 0.95 and .["pp twice"] < 0.2
        and .["the best layout"] > 0.5 and .["the best layout"] < 0.99' "$BATS_TEST_TMPDIR/json"
}

# `new` writes such a list, which is of the stages that it has.
@test "other stages of a pipeline whose layers are listed have them spread evenly" {
    "$STOKER" whatif scenarios/quickstart.yaml --set parallel.pp=2 --set 'parallel.layers_per_stage=[17, 15]' \
        --no-db --json -q > "$BATS_TEST_TMPDIR/json"
    step() { # SETS
        "$STOKER" run scenarios/quickstart.yaml "$@" --no-db --json -q | jq .step_time_s
    }
    jq -ne --argjson twice "$(step --set parallel.pp=4)" --argjson half "$(step --set parallel.pp=1)" \
        --argjson more "$(step --set parallel.pp=2 --set parallel.schedule=interleaved --set parallel.virtual_stages=2)" \
        'input | [.rows[] | {(.label): .step_time_s}] | add | .["pp twice"] == $twice and .["pp half"] == $half
        and .["more interleaving"] == $more' "$BATS_TEST_TMPDIR/json"
}
