# stoker run: results, exit statuses, and what goes where.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    db=$BATS_TEST_TMPDIR/results.db
    scenario=scenarios/quickstart.yaml
}

# One member of the document: number KEY ARGUMENT...
number() {
    local key=$1
    shift
    "$STOKER" run "$scenario" --no-db --json "$@" | sed -n "s/^ *\"$key\": \([^,]*\),*$/\1/p" | head -1
}

@test "the document has what design.md promises" {
    "$STOKER" run "$scenario" --no-db --json > "$BATS_TEST_TMPDIR/json"
    for key in schema scenario version seed gpus step_time_s tokens_per_s_per_gpu tflops_per_gpu mfu \
        mfu_full_attention hfu memory peak_bytes weights gradients optimizer activations fits \
        breakdown run days gpu_hours goodput cost_usd energy_kwh bound_by assumptions engine ranks \
        ranks_simulated tasks events host_s host_peak_bytes; do
        grep -q "\"$key\":" "$BATS_TEST_TMPDIR/json"
    done
    ! grep -qiE 'nan|inf[^e]' <(grep -E ': -?(nan|inf)' "$BATS_TEST_TMPDIR/json") || false
}

@test "the same scenario gives the same bytes, folded or not" {
    same() { "$STOKER" run "$scenario" --no-db --json "$@" | sed '/"engine": {/,$d'; }
    [[ "$(same)" == *step_time_s* ]]
    [ "$(same)" = "$(same)" ]
    [ "$(same)" = "$(same --fold off)" ]
}

@test "--set changes the result, with the units of the file" {
    full=$(number step_time_s)
    slow=$(number step_time_s --set 'cluster.nics.bandwidth=10 Gbps')
    [ -n "$full" ]
    awk "BEGIN { exit !($slow > $full) }"
    [ "$(number gpus --set gpus=128)" = 128 ]
}

# Llama 3 8B, tp 2, half of 8192 tokens: 4 heads of 128 of keys and as many of values, 8 MB in 16 bits, go
# round the ring in one byte each; their gradients stay in two.
@test "attention in fp8 is faster and sends keys and values in bytes" {
    ring=(--set parallel.cp=2 --set parallel.cp_type=ring --set precision=fp8)
    fp8=("${ring[@]}" --set software.fp8.attention=true)
    shifts='[.transfers[] | select(.operation == "shift") | .bytes] | sort | map(tostring) | join(" ")'
    plain=$("$STOKER" run "$scenario" --no-db --json -q "${ring[@]}" | jq -r "$shifts")
    [ "$plain" = 8388608 ]
    low=$("$STOKER" run "$scenario" --no-db --json -q "${fp8[@]}" | jq -r "$shifts")
    [ "$low" = "4194304 8388608" ]
    awk "BEGIN { exit !($(number step_time_s "${fp8[@]}") < $(number step_time_s "${ring[@]}")) }"
}

# 256 sequences over dp 32: 8 microbatches, after each pass of which 64 GPUs agree, or 2 of tensor
# parallelism, or nobody.
@test "delayed scaling agrees on its scales after each pass of a microbatch" {
    fp8=(--set precision=fp8 --set software.fp8.recipe=delayed)
    of='[.transfers[] | select(.stream == "fp8 scales") | .count] | map(tostring) | join(" ")'
    all=$("$STOKER" run "$scenario" --no-db --json -q "${fp8[@]}" --set software.fp8.amax=all)
    [ "$(jq -r "$of" <<< "$all")" = "8 8" ]
    [ "$(jq '[.transfers[] | select(.stream == "fp8 scales") | .rank_bytes] | max' <<< "$all")" -gt 0 ]
    own=$("$STOKER" run "$scenario" --no-db --json -q "${fp8[@]}" --set software.fp8.amax=own)
    [ "$(jq -r "$of" <<< "$own")" = "" ]
    tensor=$(number step_time_s "${fp8[@]}" --set software.fp8.amax=tensor)
    awk "BEGIN { exit !($(jq .step_time_s <<< "$all") > $tensor) }"
    awk "BEGIN { exit !($tensor > $(jq .step_time_s <<< "$own")) }"
    current=$("$STOKER" run "$scenario" --no-db --json -q --set precision=fp8 \
        --set software.fp8.recipe=current --set software.fp8.amax=all)
    [ "$(jq -r "$of" <<< "$current")" = "" ]
}

# A GPU whose products do not transpose writes its fp8 operands twice.
@test "what a GPU can do is a key of its file" {
    fp8=(--set cluster=b200-3200 --set software=megatron-2025 --set precision=fp8)
    own=$(number step_time_s "${fp8[@]}")
    [ "$own" = "$(number step_time_s "${fp8[@]}" --set gpu.transposes_fp8=true)" ]
    awk "BEGIN { exit !($(number step_time_s "${fp8[@]}" --set gpu.transposes_fp8=false) > $own) }"
}

# Products of experts that share fewer streams wait for each other's launch.
@test "how many streams a framework gives to experts is a key" {
    scenario=scenarios/qwen3-30b-16.yaml
    four=$(number step_time_s)
    [ "$four" = "$(number step_time_s --set software.experts.streams=4)" ]
    awk "BEGIN { exit !($(number step_time_s --set software.experts.streams=1) > $four) }"
}

@test "--seed is --set seed" {
    [ "$(number seed)" = 42 ]
    [ "$(number seed --seed 7)" = 7 ]
    run "$STOKER" run "$scenario" --no-db --seed 0
    [ "$status" -eq 3 ]
}

@test "data goes to stdout, notes to stderr, and -q leaves these out" {
    run --separate-stderr "$STOKER" run scenarios/study-batch.yaml --no-db
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"stoker sweep scenarios/study-batch.yaml"*"80 points"* ]]
    [[ "$output" != *"stoker sweep"* ]]
    run --separate-stderr "$STOKER" run scenarios/study-batch.yaml --no-db -q
    [ -z "$stderr" ]
}

@test "bad input is status 3 with the place" {
    printf 'model: llama3-8b\nclster: h100-3200\n' > "$BATS_TEST_TMPDIR/bad.yaml"
    run "$STOKER" run "$BATS_TEST_TMPDIR/bad.yaml" --no-db
    [ "$status" -eq 3 ]
    [[ "$output" == *"bad.yaml:2:1: error: unknown key 'clster'"* ]]
    run "$STOKER" run "$BATS_TEST_TMPDIR/missing.yaml" --no-db
    [ "$status" -eq 3 ]
    run "$STOKER" run "$scenario" --no-db --set 'cluster.nics.bandwidth=400'
    [ "$status" -eq 3 ]
}

@test "what the software's release lacks is told, with the release that has it, and predicted" {
    # The modules of selective recomputation came with Core 0.12; zb-h1 with no release of Megatron-LM.
    sets=(--set 'recompute={modules: [norm]}' --set parallel.pp=2 --set parallel.schedule=zb-h1)
    run -0 --separate-stderr "$STOKER" run "$scenario" --no-db "${sets[@]}"
    [[ $output == *"step 4."* ]]
    [[ $stderr == *"zb-h1: warning: software megatron-2024 (Core 0.5 to 0.10) has no schedule zb-h1"* ]]
    [[ $stderr == *"no profile of megatron has"* ]]
    [[ $stderr == *"has no recompute norm"*"megatron-2025 has: --set software=megatron-2025"* ]]
    run -0 --separate-stderr "$STOKER" explain "$scenario" "${sets[@]}"
    [[ $stderr == *"has no recompute norm"* ]]
    # a file's place; and with what has it, or a profile that says that it has, not a word
    sed 's/^recompute: .*/recompute: {modules: [norm]}/' "$scenario" > "$BATS_TEST_TMPDIR/norm.yaml"
    run -0 --separate-stderr "$STOKER" run "$BATS_TEST_TMPDIR/norm.yaml" --no-db
    [[ $stderr =~ norm.yaml:[0-9]+:12:" warning: software megatron-2024 (Core 0.5 to 0.10) has no recompute norm" ]]
    run -0 --separate-stderr "$STOKER" run "$BATS_TEST_TMPDIR/norm.yaml" --no-db -q \
        --set software=megatron-2025
    [ -z "$stderr" ]
    run -0 --separate-stderr "$STOKER" run "$BATS_TEST_TMPDIR/norm.yaml" --no-db \
        --set 'software.has.recompute=[none, norm]'
    [ -z "$stderr" ]
}

@test "a plan that does not fit is status 4, and its result is printed and stored" {
    run --separate-stderr "$STOKER" run "$scenario" --db "$db" --set parallel.tp=1 \
        --set parallel.sequence_parallel=false
    [ "$status" -eq 4 ]
    [[ "$output" == *"DOES NOT FIT"* ]]
    [[ "$stderr" == *"does not fit into memory"* ]]
    [ -f "$db" ]
}

@test "sizes that do not divide are status 4, with those that do" {
    run "$STOKER" run "$scenario" --no-db --set parallel.tp=3
    [ "$status" -eq 4 ]
    [[ "$output" == *"help:"* ]]
}

@test "storing twice changes nothing" {
    "$STOKER" run "$scenario" --db "$db" > /dev/null
    before=$(cksum < "$db")
    "$STOKER" run "$scenario" --db "$db" > /dev/null
    [ "$(cksum < "$db")" = "$before" ]
}

@test "--no-db writes nothing" {
    cd "$BATS_TEST_TMPDIR"
    "$STOKER" run "$OLDPWD/$scenario" --catalogue "$OLDPWD" --no-db > /dev/null
    [ ! -e results ]
}

# The number at byte `offset` of an SQLite header is set to 7.
patch_header() {
    printf '\007' | dd of="$db" bs=1 seek="$1" conv=notrunc status=none
}

@test "a results file of another schema is refused and left alone" {
    "$STOKER" run "$scenario" --db "$db" > /dev/null
    patch_header 62 # user_version, of which this is the second lowest byte
    before=$(cksum < "$db")
    run --separate-stderr "$STOKER" run "$scenario" --db "$db"
    [ "$status" -eq 1 ]
    [[ "$output" == *"where the step goes"* ]]
    [[ "$stderr" == *schema*"--db"* ]]
    [ "$(cksum < "$db")" = "$before" ]
}

@test "a results file of another program is refused" {
    "$STOKER" run "$scenario" --db "$db" > /dev/null
    patch_header 68 # application_id
    run "$STOKER" run "$scenario" --db "$db"
    [ "$status" -eq 1 ]
    [[ "$output" == *"another program"* ]]
}

@test "a corrupt results file is refused and left alone" {
    yes 'this is no database' | head -c 8192 > "$db"
    before=$(cksum < "$db")
    run "$STOKER" run "$scenario" --db "$db"
    [ "$status" -eq 1 ]
    [[ "$output" == *"results.db"* ]]
    [ "$(cksum < "$db")" = "$before" ]
}

@test "a results file in a place that cannot be written is a failure" {
    run "$STOKER" run "$scenario" --db /proc/nowhere/results.db
    [ "$status" -eq 1 ]
    [[ "$output" == *"/proc/nowhere"* ]]
}

@test "a full disk on stdout is a failure with a message" {
    run bash -c '"$0" run "$1" --no-db 2>&1 > /dev/full' "$STOKER" "$scenario"
    [ "$status" -eq 1 ]
    [[ "$output" == *"cannot write to standard output"* ]]
    run bash -c '"$0" list models --json 2>&1 > /dev/full' "$STOKER"
    [ "$status" -eq 1 ]
}

@test "a closed stdout is a failure, and the results file stays whole" {
    run bash -c '"$0" run "$1" --db "$2" >&-' "$STOKER" "$scenario" "$db"
    [ "$status" -eq 1 ]
    "$STOKER" run "$scenario" --db "$db" > /dev/null
}

@test "a reader that stops early gets no message" {
    run bash -c '"$0" show "$1" | head -1' "$STOKER" "$scenario"
    [ "$status" -eq 0 ]
    [ "${#lines[@]}" -eq 1 ]
}

@test "mfu as papers count it is beside ours when it is asked for" {
    # Llama 3 8B, 8192 tokens: 6 x 8,030,261,248 = 48.182 GFLOP a token; with 12 L H Q T, 12 x 32 x
    # 4096 x 8192 more, 61.066; the vocabulary is a multiple of 128, so that Megatron's is ours.
    "$STOKER" run scenarios/quickstart.yaml --no-db --mfu-convention 6nd | grep -Eq '^  mfu as 6nd counts +48\.182 '
    "$STOKER" run scenarios/quickstart.yaml --no-db --mfu-convention palm | grep -Eq '^  mfu as palm counts +61\.066 '
    "$STOKER" run scenarios/quickstart.yaml --no-db --json --mfu-convention megatron > "$BATS_TEST_TMPDIR/json"
    grep -q '"mfu_convention": "megatron"' "$BATS_TEST_TMPDIR/json"
    [ "$(sed -n 's/^  "mfu": //p' "$BATS_TEST_TMPDIR/json")" = "$(sed -n 's/^    "megatron": //p' "$BATS_TEST_TMPDIR/json")" ]
    run "$STOKER" run scenarios/quickstart.yaml --no-db --mfu-convention theirs
    [ "$status" -eq 2 ]
    [[ "$output" == *"causal, megatron, palm or 6nd, not 'theirs'"* ]]
}

@test "weight gradients of frozen weights are no model FLOPs" {
    # Llama 3 8B, 8192 tokens, GFLOP: matrices 13.9586 and logits 1.0507 forward and for their
    # inputs' gradients, attention 2.1475 three times: 2 x 15.0093 + 6.4425 = 36.461.
    "$STOKER" run scenarios/quickstart.yaml --no-db --set lora.rank=16 |
        grep -Eq '^  mfu: forward \+ backward, causal attention +36\.461 '
}

# 70B with FSDP at 34 Gbps: 43 % of the step is compute, more than any other cause, and the NICs are
# busy for 96 % of it. More GPUs' FLOP/s would not help: of the path 1 % is compute.
@test "a step whose NICs are never idle is bound by them, not by what runs beside" {
    run "$STOKER" run scenarios/study-fabric-70b.yaml --no-db -q --json \
        --set 'cluster.nics.bandwidth=34 Gbps'
    [[ "$(jq -r .bound_by <<< "$output")" =~ ^"DP communication (9"[6-8]" %, of it bytes over NIC out 9"[4-6]" %)" ]]
    jq -e '.busiest_link == "NIC out" and .busiest_link_utilisation > 0.95' <<< "$output"
    run "$STOKER" run scenarios/study-fabric-70b.yaml --no-db -q
    [[ "$output" == *"bound by compute kernels ("*"; busiest link: NIC out, "* ]]
}

# 64 H100 at their peak do a step's 107.9 PFLOP in 1.70 s. A measured step has no band, and none is told.
@test "a stated step is the step, on the whole screen, unless no GPU is so fast" {
    "$STOKER" run scenarios/quickstart.yaml --no-db -q --set run.step_time='10 s' > "$BATS_TEST_TMPDIR/screen"
    grep -qE '^ *17.0 % MFU +3277 tokens/s/GPU' "$BATS_TEST_TMPDIR/screen"
    grep -qE '^step 10.0 s +of 2,097,152 tokens, as run.step_time states; simulated: 3.8. s$' "$BATS_TEST_TMPDIR/screen"
    grep -qE '^  step, the sum +10.00 +100.0$' "$BATS_TEST_TMPDIR/screen"
    grep -q '^no band: the step is stated (run.step_time)$' "$BATS_TEST_TMPDIR/screen"
    run -4 --separate-stderr "$STOKER" run scenarios/quickstart.yaml --db "$db" --set run.step_time='1 s' --json
    [ "$output" = "" ]
    [ ! -e "$db" ]
    [[ "$stderr" == *"run.step_time=1 s: error: a step of 1.00 s asks for more than the peak of 64 GPUs"*"at the peak its work takes 1.70 s"* ]]
    run -3 --separate-stderr "$STOKER" search scenarios/quickstart.yaml --db "$db" --by days --set run.step_time='10 s'
    [[ "$stderr" == *"by days all layouts are the same: run.step_time states the step of each"* ]]
}

# Zero 3 shards the optimizer over all replicas, so that no copy is left: refused as sizes are that do not
# divide, before anything is shown or stored.
@test "a replica that holds no copy is refused, not reported" {
    for format in --json -q; do
        run -4 --separate-stderr "$STOKER" run scenarios/quickstart.yaml --db "$db" $format \
            --set run.failures=true --set run.recovery.from=replica --set parallel.zero=3
        [ "$output" = "" ]
        [ ! -e "$db" ]
        [[ "$stderr" == *"no replica has a copy of the optimizer's states"* ]]
    done
}

@test "what fails without checkpoints loses all, and that is told" {
    sed '/^  checkpoint:/,/^    mode:/d; s/^  tokens: 1T/&\n  failures: true/' scenarios/quickstart.yaml > "$BATS_TEST_TMPDIR/s.yaml"
    run -0 --separate-stderr "$STOKER" run "$BATS_TEST_TMPDIR/s.yaml" --no-db
    [[ "$output" =~ without\ checkpoints:\ steps\ done\ again\ take\ [23][0-9.]+\ %\ of\ the\ time ]]
    [[ "$stderr" =~ s.yaml:[0-9]+:[0-9]+:\ note:\ no\ checkpoint\ is\ written,\ so\ that ]]
    [[ "$stderr" == *"help: write some, such as run.checkpoint: {every: 30 min, mode: async}"* ]]
    run -0 --separate-stderr "$STOKER" run "$BATS_TEST_TMPDIR/s.yaml" --no-db --set run.failures=false
    [[ "$stderr$output" != *"steps done again"* ]]
    run -0 --separate-stderr "$STOKER" run "$BATS_TEST_TMPDIR/s.yaml" --no-db --set run.checkpoint='{every: 30 min}'
    [[ "$stderr$output" != *"no checkpoint is written"* ]]
}

@test "nothing that is printed as zero has a sign, in text and in JSON" {
    run "$STOKER" run scenarios/quickstart.yaml --no-db -q --set price.carbon='-0 kg/kWh'
    [[ "$output" == *" 0.0 t CO2 "* ]]
    [[ ! "$output" =~ (^|\ )-0(\.0+)?(\ |$) ]]
    run "$STOKER" run scenarios/quickstart.yaml --no-db -q --json --set price.carbon='-0 kg/kWh'
    [[ ! "$output" =~ :\ *-0(\.0+)?[,\ }] ]]
    "$STOKER" whatif scenarios/quickstart.yaml --db "$db" -q > "$BATS_TEST_TMPDIR/screen"
    run ! grep -E '(^| )-0(\.0+)? |[0-9]e-1[0-9]' "$BATS_TEST_TMPDIR/screen"
}

# Beside goodput stands what takes it: nothing, or ten days of start of some 31, which were "checkpoint
# and data stalls only". What it is stands in the same words everywhere.
@test "goodput says what it counts, on screen, explained, in help, in JSON and as a metric" {
    words="productive time / wall-clock"
    run "$STOKER" run scenarios/quickstart.yaml --no-db -q
    [[ "$output" =~ goodput\ 100.0\ %\ \(no\ failures\) ]]
    run "$STOKER" run scenarios/quickstart.yaml --no-db -q --set run.startup='10 days' --set run.queue='3 days'
    [[ "$output" =~ goodput\ 67.[0-9]\ %\ \(planned\ 32.[0-9]\ %,\ no\ failures\) ]]
    run "$STOKER" run scenarios/quickstart.yaml --no-db -q --set run.failures=true
    [[ "$output" == *"goodput "*" %: $words"*"ETTR "*" %: steps that count / wall-clock"* ]]
    run "$STOKER" explain scenarios/quickstart.yaml -q
    [[ "$output" =~ goodput\ .*$words ]]
    run "$STOKER" list metrics
    [[ "$output" == *"goodput "*"($words), %"*"ETTR (steps that count / wall-clock), %"* ]]
    for word in goodput ETTR "runtime goodput" ml_productivity_goodput; do
        run "$STOKER" help "$word"
        [ "$status" -eq 0 ]
        [[ "$output" == *" / "* || "$output" == *" x MFU"* ]]
    done
    "$STOKER" run scenarios/quickstart.yaml --no-db -q --json |
        jq -ne --arg words "$words" 'input | .run | .definitions.goodput == $words and
            (.ml_productivity_goodput / .effective_training_time_ratio > 0.4) and
            (.definitions | keys) - keys == []'
    # No other word of ours calls it goodput alone; ML productivity goodput is another.
    run grep -rnE '(^|[^y] )goodput,? [0-9.]+ %$' README.md tests/golden
    [ "$status" -eq 1 ]
}

@test "what has no price costs nothing that could be said" {
    unpriced=(--set gpu=gh200-96gb)
    run --separate-stderr "$STOKER" run scenarios/quickstart.yaml "${unpriced[@]}" --db "$db"
    [[ "$output" =~ \ -\ USD\ +[0-9,]+(\ [kM])?\ GPU-hours ]]
    [[ "$output" =~ \ -\ USD\ +per\ million\ tokens ]]
    "$STOKER" run scenarios/quickstart.yaml "${unpriced[@]}" --no-db --json |
        jq -ne 'input | .run | .days > 0 and .cost_usd == null and .usd_per_million_tokens == null'
    python3 - "$db" << 'END'
import sqlite3, sys
row = sqlite3.connect(sys.argv[1]).execute(
    "SELECT wall_clock_days > 0, cost_usd, usd_per_million_tokens FROM run").fetchall()
assert row == [(1, None, None)], row
END
    "$STOKER" explain scenarios/quickstart.yaml "${unpriced[@]}" |
        grep -F "no cost: neither the scenario nor the GPU has a price"
    cat scenarios/quickstart.yaml - > "$BATS_TEST_TMPDIR/priced.yaml" << 'END'
variants:
  - {name: priced}
  - {name: open, set: {gpu: gh200-96gb}}
END
    for command in sweep compare; do
        run --separate-stderr "$STOKER" $command "$BATS_TEST_TMPDIR/priced.yaml" --db "$db"
        [[ "$output" =~ open\ .*\ -\ .*compute ]]
        run --separate-stderr "$STOKER" $command "$BATS_TEST_TMPDIR/priced.yaml" --db "$db" --json
        jq -e '.points | (.[0].run.cost_usd > 0) and .[1].run.days > 0 and .[1].run.cost_usd == null' \
            <<< "$output"
    done
}

# run/figures.h has it once: dollars over tokens, in the document, the store and on the screen.
@test "a figure that is shown is the same in the document, in the store and on the screen" {
    "$STOKER" run "$scenario" --db "$db" --json > "$BATS_TEST_TMPDIR/run.json"
    shown=$(python3 - "$BATS_TEST_TMPDIR/run.json" "$db" << 'END'
import json, math, sqlite3, sys
document = json.load(open(sys.argv[1]))
run, band = document["run"], document["band"]["cost_usd"]
figure = run["usd_per_million_tokens"]
assert abs(figure * run["tokens"] / 1e6 / run["cost_usd"] - 1) < 1e-12
assert sqlite3.connect(sys.argv[2]).execute("SELECT usd_per_million_tokens FROM run").fetchall() == [(figure,)]
half = (band["p90"] - band["p10"]) / 2 * figure / run["cost_usd"] # the screen has the digits of its band
unit = 10 ** round(math.log10(half / 5))
print("%.*f USD  per million tokens" % (round(-math.log10(unit)), round(figure / unit) * unit))
END
    )
    "$STOKER" run "$scenario" --no-db | grep -qF "$shown"
}

# 953 checkpoints of 112.4 GB are 107.1 TB, of 80 % 133.9 TB; seven are 787 GB, of 983.7 GB.
@test "checkpoints that are kept must fit on the storage" {
    run --separate-stderr "$STOKER" run scenarios/quickstart.yaml --no-db -q \
        --set cluster.storage.capacity="133 TB"
    [ "$status" -eq 4 ]
    [[ $stderr == *"scenarios/quickstart.yaml:35:5: error: 953 checkpoints that are kept ask for storage of 134 TB"* ]]
    [[ $stderr == *"run.checkpoint.keep may be at most 946"* ]]
    # 890 ask for 125.07 TB: what is said differs
    run --separate-stderr "$STOKER" run scenarios/quickstart.yaml --no-db -q \
        --set cluster.storage.capacity="125 TB" --set run.checkpoint.keep=890
    [ "$status" -eq 4 ]
    [[ $stderr == *"ask for storage of 125.1 TB, 80 % full; it has 125.0 TB"* ]]
    # Nor is it the same where a byte is missing, of 140 GB.
    bytes=$("$STOKER" run scenarios/quickstart.yaml --no-db -q --json | jq '.run.checkpoint_bytes / 0.8 | ceil')
    for less in 1 2 10 1000; do
        run --separate-stderr "$STOKER" run scenarios/quickstart.yaml --no-db -q --set run.checkpoint.keep=1 \
            --set cluster.storage.capacity="$((bytes - less)) B"
        [ "$status" -eq 4 ]
        [[ $stderr =~ "ask for storage of "(.*)", 80 % full; it has "([0-9.]* [A-Z]*) ]]
        [ "${BASH_REMATCH[1]}" != "${BASH_REMATCH[2]}" ]
    done
    run -0 "$STOKER" run scenarios/quickstart.yaml --no-db -q --set run.checkpoint.keep=1 --set cluster.storage.capacity="$bytes B"
    for case in "134 TB:1000:0" "984 GB:7:0" "983 GB:7:4"; do
        IFS=: read -r capacity keep wanted <<< "$case"
        run "$STOKER" run scenarios/quickstart.yaml --no-db -q \
            --set cluster.storage.capacity="$capacity" --set run.checkpoint.keep="$keep"
        [ "$status" -eq "$wanted" ]
    done
}

# A title that names 64 H100 is no title of 32 B200; the key is of what was simulated, not of its name
# (a wish for another name is a key of its own, as `--set scenario=` has always been).
@test "a title follows what is set, and --title names a run" {
    local work=$BATS_TEST_TMPDIR
    sed 's/^scenario: .*/scenario: eight billion/' scenarios/quickstart.yaml > "$work/plain.yaml"
    set -- --set gpus=32 --set cluster=b200-3200 --no-db -q
    run "$STOKER" run scenarios/quickstart.yaml "$@"
    [ "${lines[0]}" = "Llama 3.1 8B on 32 NVIDIA B200 SXM 180 GB" ]
    run "$STOKER" run "$work/plain.yaml" "$@"
    [ "${lines[0]}" = "eight billion" ]
    "$STOKER" run scenarios/quickstart.yaml "$@" --json > "$work/run.json"
    grep -q '"scenario": "Llama 3.1 8B on 32 NVIDIA B200 SXM 180 GB"' "$work/run.json"
    run "$STOKER" run scenarios/quickstart.yaml "$@" --title "ours: it's # 1"
    [ "${lines[0]}" = "ours: it's # 1" ]
    run "$STOKER" sweep scenarios/quickstart.yaml --axis gpus=32,64 --no-db -q
    [ "${lines[0]}" = "llama3-8b on GPUs of h100-3200" ]
}

# Messages between stages, copies to the host and back, collectives: of each kind JSON, SQLite and
# explain have the same time alone on the fabric, which is a latency and bytes at some rate.
@test "every transfer of a step has the latency and the time that explain has" {
    scenario=scenarios/quickstart.yaml
    sets=(--set parallel.pp=4 --set run.checkpoint=off)
    "$STOKER" run "$scenario" "${sets[@]}" --json --db "$BATS_TEST_TMPDIR/t.db" > "$BATS_TEST_TMPDIR/run.json"
    "$STOKER" explain "$scenario" "${sets[@]}" --json > "$BATS_TEST_TMPDIR/explain.json"
    python3 - "$BATS_TEST_TMPDIR" << 'END'
import json, sqlite3, sys
at = sys.argv[1] + "/"
traffic = json.load(open(at + "run.json"))["transfers"]
names = ["stream", "operation", "bytes", "latency_s", "alone_s"]
rows = sqlite3.connect(at + "t.db").execute(
    "SELECT stream, operation, buffer_bytes, latency_s, alone_s FROM traffic").fetchall()
assert sorted(rows) == sorted(tuple(row[name] for name in names) for row in traffic)
streams = json.load(open(at + "explain.json"))["network"]["streams"]
seen = set()
for use in traffic:
    assert use["alone_s"] >= use["latency_s"] > 0, use
    for stream in streams:
        for transfer in stream["transfers"]:
            if (stream["name"], transfer["operation"], transfer["bytes"]) == (use["stream"], use["operation"], use["bytes"]):
                assert abs(transfer["latency_s"] / use["latency_s"] - 1) < 1e-9
                # of four bytes a round and its latency are whole nanoseconds
                assert abs(transfer["time_alone_s"] - use["alone_s"]) < 1e-6 * use["alone_s"] + 1e-7
                seen.add(use["operation"])
assert {"send", "all-gather", "reduce-scatter"} <= seen, seen
END
}

# main, the command, and then: predict_result (what the cli asks), run_predict (days), step_simulate
# (a step). Whatever else bore these names passed on what it got.
@test "three functions named predict or simulate lie between main and the engine's queue" {
    command -v gdb >/dev/null || skip "gdb is missing"
    run gdb -q -batch -ex 'break event_post' \
        -ex "run run scenarios/quickstart.yaml --no-db >/dev/null" -ex bt "$STOKER"
    run grep -E '^#[0-9]+ .*(predict|simulate)[a-z_]* \(' <<<"$output"
    [ "${#lines[@]}" -eq 3 ]
}

# A call of both directions between two stages is as long on either side: where activations go in
# shares and gradients whole, as long as whole ones take both ways. One side had looked at its own.
@test "stages that meet agree on a call whose directions are of other sizes" {
    step() {
        "$STOKER" run scenarios/gpt3-175b-1024.yaml --no-db -q --json --set parallel.sequence_parallel=false \
            --set parallel.schedule=1f1b --set parallel.virtual_stages=1 --set cluster.network="100 Gbps" \
            --set software.p2p.calls="$1" --set software.p2p.scatter_gather="$2" | jq .step_time_s
    }
    for calls in together in-turn; do
        none=$(step $calls none)
        some=$(step $calls activations)
        both=$(step $calls both)
        echo "$calls $none $some $both"
        python3 -c "assert $none * 1.001 >= $some > 1.05 * $both, ($none, $some, $both)"
    done
}

# Nothing of it is drawn: no failure in minutes, and the step was measured. It had ended with a
# broken invariant.
@test "a band without width is one figure" {
    run --separate-stderr "$STOKER" run quickstart --no-db -q --set run.tokens=252M --set run.step_time="3 s" \
        --set run.failures=llama3-2024
    [ "$status" -eq 0 ]
    grep -qE '^p10 to p90: [0-9.]+ days, [0-9.]+ USD, [0-9.]+ kWh, goodput' <<<"$output"
}
