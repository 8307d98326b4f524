# --row: one row of a table of measured runs as a scenario; and the band of a prediction.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    runs=tests/published/runs.csv
    row=titan-8b-8g-FSDP
    work=$BATS_TEST_TMPDIR
}

step_of() {
    python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_s"])'
}

@test "run predicts a row as validate does" {
    "$STOKER" run "$runs" --row "$row" --no-db --json 2> "$work/err" | step_of > "$work/run"
    "$STOKER" validate "$runs" --rows "$row" --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
print([row["predicted_step_s"] for row in rows if row["id"] == sys.argv[1]][0])' "$row" > "$work/validate"
    cmp "$work/run" "$work/validate"
}

@test "show writes a row as YAML that has the same key and the same prediction" {
    "$STOKER" show "$runs" --row "$row" > "$work/one.yaml" 2> "$work/err"
    "$STOKER" show "$work/one.yaml" > "$work/two.yaml"
    [ "$(grep -o 'run_key .*' "$work/one.yaml")" = "$(grep -o 'run_key .*' "$work/two.yaml")" ]
    "$STOKER" run "$runs" --row "$row" --no-db --json 2> "$work/err" | step_of > "$work/table"
    "$STOKER" run "$work/one.yaml" --no-db --json 2> "$work/err" | step_of > "$work/file"
    cmp "$work/table" "$work/file"
}

# What differs in their sheets (tokens, prices) is no part of a step.
@test "a run that is both a scenario and a row has one prediction" {
    while read -r scenario id; do
        "$STOKER" run "scenarios/$scenario.yaml" --no-db --json 2> "$work/err" | step_of > "$work/scenario"
        "$STOKER" run "$runs" --row "$id" --no-db --json 2> "$work/err" | step_of > "$work/row"
        echo "$scenario: $(cat "$work/scenario"), $id: $(cat "$work/row")"
        cmp "$work/scenario" "$work/row"
    done <<'PAIRS'
deepseek-v3-2048 dsv3-isca25-mpft
gpt-oss-120b-64 mbridge-26.08-gptoss120b-GB300-64g-MXFP8-3
qwen3-235b-256 mbridge-26.08-qwen3-235b-GB200-256g-MXFP8-8
qwen3-30b-16 mbridge-26.06-qwen3-30b-H100-16g-FP8-26
korthikanti-22b-selective korthikanti22-22B-selective+SP
korthikanti-175b-full korthikanti22-175B-full
PAIRS
}

# Scenarios of a run that was measured: the anchors, and those whose published step stands in a row.
# Bands are of four fifths of the runs, so two of 20 outside are few: LLaMA 65B, whose authors' code
# was measured by nobody else, and gpt-oss on GB300, of which NVIDIA's release notes say that its
# kernels became slower. A scenario may not be further off than what is made of the row alone; half a
# point is rounding of what was published.
@test "shipped scenarios lie in their bands, and are no worse than the rows of their runs" {
    "$STOKER" validate "$runs" --json -q > "$work/rows.json"
    python3 - "$STOKER" "$work/rows.json" <<'PY'
import csv, json, subprocess, sys
rows = {row["id"]: row for row in json.load(open(sys.argv[2]))["rows"]}
runs = [(line["scenario"], line["metric"], float(line["measured"]), line["row"])
        for line in csv.DictReader(open("tests/published/anchors.csv"))]
runs += [("scenarios/%s.yaml" % name, "step_s", rows[row]["measured_step_s"], row) for name, row in (
    ("gpt-oss-120b-64", "mbridge-26.08-gptoss120b-GB300-64g-MXFP8-3"),
    ("qwen3-235b-256", "mbridge-26.08-qwen3-235b-GB200-256g-MXFP8-8"),
    ("qwen3-30b-16", "mbridge-26.06-qwen3-30b-H100-16g-FP8-26"))]
assert len(runs) == 20 and sum(row != "" for *_, row in runs) == 16
outside, worse = [], []
for scenario, metric, measured, row in runs:
    run = json.loads(subprocess.run([sys.argv[1], "run", scenario, "--no-db", "-q", "--json"],
                                    stdout=subprocess.PIPE, check=True).stdout)
    times = measured / run["step_time_s"] if metric == "step_s" else run[metric] / measured
    band = run["band"]["measured_over_predicted"]
    if not band["p10"] <= times <= band["p90"]:
        outside.append((scenario, times, band))
    if row != "" and abs(1 / times - 1) > abs(rows[row]["error"]) + 0.005:
        worse.append((scenario, 1 / times - 1, rows[row]["error"]))
assert worse == [], worse
known = {"scenarios/llama1-65b-2048.yaml", "scenarios/gpt-oss-120b-64.yaml"}
assert {scenario for scenario, *_ in outside} <= known, outside
PY
}

@test "explain shows the kernels and the collectives of a row" {
    "$STOKER" explain "$runs" --row "$row" > "$work/text" 2> "$work/err"
    grep -qi 'all-gather' "$work/text"
    grep -qi 'qkv' "$work/text"
}

@test "--set changes a row as it changes a file" {
    "$STOKER" run "$runs" --row "$row" --set gpus=16 --set batch.global=32 --no-db > "$work/text" 2> "$work/err"
    grep -q 'on 16 x h100-96gb-hbm2e' "$work/text"
}

@test "what a row leaves blank and was filled is told" {
    cat > "$work/mine.csv" <<'CSV'
id,model_name,framework,gpu,gpus,precision,tp,pp,seq_len,global_batch_sequences,measured_step_s
first,llama3-8b,megatron,h100-sxm5-80gb,64,bf16,2,1,8192,128,4.1
half,llama3-8b,megatron,h100-sxm5-80gb,63,bf16,2,1,8192,128,4.1
CSV
    run --separate-stderr "$STOKER" run "$work/mine.csv" --row first --no-db
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"mine.csv:2:1: note: not stated, so filled: "*"micro_batch 1"* ]]
    run --separate-stderr "$STOKER" explain "$work/mine.csv" --row half
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"mine.csv:3:40: error: tp x pp x cp is 2, and there are 63 GPUs"* ]]
}

@test "rows that are not there: the nearest are told; a table needs --row" {
    run "$STOKER" run "$runs" --row titan-8b-8g-FSD --no-db
    [ "$status" -eq 3 ]
    [[ "$output" == *"there is no row 'titan-8b-8g-FSD'"* ]]
    [[ "$output" == *"did you mean 'titan-8b-8g-FSDP'?"* ]]
    run "$STOKER" explain "$runs" --row titan-70b
    [ "$status" -eq 3 ]
    [[ "$output" == *"there are 'titan-70b-256g-2D'"*"and 3 more"* ]]
    for command in run explain show; do
        run "$STOKER" "$command" "$runs"
        [ "$status" -eq 2 ]
        [[ "$output" == *"say which: --row ID"* ]]
    done
}

# ---- bands -----------------------------------------------------------------------------------

# a catalogue whose file of errors holds ten runs of ratios 1.0 and ten of 2.0: four fifths are off
# by less than a factor of 2
make_catalogue() {
    mkdir -p "$work/catalogue/models"
    python3 - "$work/catalogue/models/validated.csv" <<'PY'
import sys
with open(sys.argv[1], "w") as out:
    print("id,source,gpu,architecture,framework,precision,kind,gpus,hidden,seq_len,gbps_per_node,"
          "fabric,routing,oversubscription,launch_share,predicted_step_s,measured_over_predicted", file=out)
    for i in range(20):
        print(f"r{i},s{i % 3},h100-sxm5-80gb,hopper,megatron,bf16,dense,64,4096,8192,3200,rail,"
              f"adaptive,1,0.05,4,{1 if i < 10 else 2}", file=out)
PY
}

@test "run gives the band of its class in figures and in JSON" {
    make_catalogue
    run --separate-stderr "$STOKER" run scenarios/quickstart.yaml --no-db --catalogue "$work/catalogue" --json
    python3 - <<PY
import json
document = json.loads('''$output''')
band = document["band"]
assert band["is_known"] and band["votes"] == 20 and band["sources"] == 3
assert band["class"] == "hopper, megatron, 16-bit or more, dense" and band["outside"] == []
close = lambda found, low, high: (abs(found["p10"] / low - 1) < 1e-9 and
                                  abs(found["p90"] / high - 1) < 1e-9)
assert close(band["measured_over_predicted"], 1 / 2, 2)
step, mfu, days = document["step_time_s"], document["mfu"], document["run"]["days"]
assert close(band["step_s"], step / 2, 2 * step)
assert close(band["mfu"], mfu / 2, 2 * mfu)
# Checkpoints come by the hour and block for as long whatever steps take: here 26 s in 21 days, by which
# days are no multiple of the step's band.
assert abs(band["days"]["p10"] / (days / 2) - 1) < 1e-4 and abs(band["days"]["p90"] / (days * 2) - 1) < 1e-4
assert band["all_votes"] == 20 and band["widening"] == 1
assert [run["id"] for run in band["nearest"]] == ["r0", "r1", "r2"]
PY
    "$STOKER" run scenarios/quickstart.yaml --no-db --catalogue "$work/catalogue" > "$work/text"
    grep -q '^80 % interval from 20 similar runs of 3 sources (hopper, megatron, 16-bit or more, dense)$' "$work/text"
}

@test "run says in what a scenario lies outside what was validated" {
    make_catalogue
    "$STOKER" run scenarios/quickstart.yaml --no-db --catalogue "$work/catalogue" \
        --set gpus=256 --set batch.global=1024 --set software=torchtitan-2025 > "$work/text"
    grep -q '; extrapolates: no run of torchtitan, 256 GPUs, at most 64 there; interval widened 1.50 x$' "$work/text"
}

# quickstart on h100-3200 is what those runs were; each line changes what none of them had.
@test "run says what no measured run had: networks, fabrics, stalls, slow GPUs, other jobs" {
    make_catalogue
    told() { # what is told, then the settings
        local text=$1
        shift
        "$STOKER" run scenarios/quickstart.yaml --no-db --catalogue "$work/catalogue" \
            "${@/#/--set=}" > "$work/text"
        grep -q "^80 % interval from 20 similar runs of .*; extrapolates: .*$text" "$work/text"
        "$STOKER" run scenarios/quickstart.yaml --no-db --catalogue "$work/catalogue" --json -q \
            "${@/#/--set=}" | jq -ne --arg text "$text" 'input | .band.outside | any(test($text))'
    }
    told '8 Gbps a node, those stated there have 3200' 'cluster.nics.bandwidth=1 Gbps'
    told 'no run on a torus fabric' cluster=h100-torus-3200
    told 'no run with routing ecmp' cluster.fabric.routing=ecmp
    told '3:1 oversubscribed, at most 1:1 measured' cluster.fabric.nodes_per_leaf=2 \
        cluster.fabric.oversubscription=3
    told 'no run waited for data .9[0-9][.][0-9] % of this step' 'data.time_per_sample=20 s'
    told 'no run waited for checkpoints' 'run.checkpoint={every: 30 s, mode: blocking}'
    told 'no run had a slow GPU .one at 50 %' 'slow=[{rank: 3, speed: 0.5}]'
    told 'no run had a weak link .one at 25 %' 'slow=[{rank: 3, nic: 0.25}]'
    told 'no run shared its fabric with other jobs' \
        'jobs=[{scenario: scenarios/quickstart.yaml}]'
}

@test "explain names the nearest measured runs and their errors beside the band" {
    make_catalogue
    "$STOKER" explain scenarios/quickstart.yaml --catalogue "$work/catalogue" > "$work/text"
    tr '\n' ' ' < "$work/text" > "$work/line"
    grep -q 'off by less than a factor of 2.000, .* of all 20 has it; 20 are of this class: hopper, megatron' "$work/line"
    grep -qE '^r0 +s0 +1.000 +\+0.0$' "$work/text"
    "$STOKER" explain scenarios/quickstart.yaml --catalogue "$work/catalogue" --json > "$work/json"
    jq -e '.band | .p10 == 0.5 and .widening == 1 and (.nearest | length) == 3 and .outside == []' \
        "$work/json"
}

# 256 GPUs are two doublings beyond 64: 80 % of the runs stay within 2, the band goes to 2 ^ 1.5.
@test "explain says what was measured, and what lying beyond it makes of that" {
    make_catalogue
    "$STOKER" explain scenarios/quickstart.yaml --catalogue "$work/catalogue" \
        --set gpus=256 --set batch.global=1024 > "$work/text"
    tr '\n' ' ' < "$work/text" > "$work/line"
    python3 - "$work/line" <<'PY'
import re, sys
text = open(sys.argv[1]).read()
within = float(re.search(r"off by less than a factor of ([0-9.]+),", text)[1])
times, beyond = re.search(r"([0-9.]+) times as wide: a factor of ([0-9.]+)[.] ", text).groups()
assert times == "1.50" and within == 2 and abs(float(beyond) - 2 ** 1.5) < 1e-3, text
PY
}

@test "a catalogue without errors, or with a wrong file of them: no band, and the rest as ever" {
    mkdir -p "$work/empty"
    cp -r models topologies "$work/empty"
    rm "$work/empty/models/validated.csv"
    cp "$STOKER" "$work/stoker" # alone: beside its folder's catalogue it would find that one
    STOKER=$work/stoker
    here=$PWD
    cd "$work/empty"
    run --separate-stderr env STOKER_PATH= "$STOKER" run "$here/scenarios/quickstart.yaml" --no-db
    [ "$status" -eq 0 ]
    [[ "$output" == *"no band: the catalogue has no models/validated.csv"* ]]
    echo source > models/validated.csv
    run --separate-stderr env STOKER_PATH= "$STOKER" run "$here/scenarios/quickstart.yaml" --no-db
    [ "$status" -eq 0 ]
    [[ "$output" == *"no band: ./models/validated.csv:1:1: columns are missing"* ]]
    sed '3s/,moe,/,mo,/; 3s/,dense,/,dens,/' "$here/models/validated.csv" > models/validated.csv
    run --separate-stderr env STOKER_PATH= "$STOKER" run "$here/scenarios/quickstart.yaml" --no-db
    [ "$status" -eq 0 ]
    [[ "$output" == *"no band: ./models/validated.csv:3:"*": kind '"*"' is none of a model"* ]]
}

@test "the published set's errors are in the catalogue, and are installed with it" {
    [ "$(wc -l < models/validated.csv)" -gt 400 ]
    grep -q "validated.csv\|'\*.csv'" Makefile
}

@test "a row that no scenario can be is refused at the column that says so" {
    table=tests/bad_input/validate/wrong_precisions.csv
    run "$STOKER" run "$table" --row h100-mxfp8 --no-db
    [ "$status" -ne 0 ]
    [[ "$output" == *"$table:4:36: error: gpu h100-sxm5-80gb has no peak for precision mxfp8"* ]]
    [[ "$output" == *"help: it has fp32, tf32, fp16, bf16, fp8"* ]]
}
