# stoker validate: measured runs beside predictions.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
}

# A user's own runs: the columns that are needed, and three more.
write_mine() {
    cat > "$work/mine.csv" <<'CSV'
id,model_name,framework,gpu,gpus,precision,tp,pp,dp,zero_stage,micro_batch,seq_len,global_batch_sequences,measured_step_s
first,llama3-8b,megatron,h100-sxm5-80gb,64,bf16,2,1,32,1,1,8192,128,4.1
"second, longer",llama3-8b,megatron,H100-80GB-SXM,64,bf16,2,1,32,1,1,8192,256,8.1
profile,llama3-8b,torch-fsdp-2024,b200-sxm,8,bf16,1,1,,,,8192,16,
CSV
}

@test "the published set: at least 690 rows are scored beside the suspect ones" {
    "$STOKER" validate tests/published/runs.csv --json > "$work/set.json"
    python3 - "$work/set.json" <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
summary, rows = document["summary"], document["rows"]
assert summary["rows"] == len(rows) == 783
assert summary["scored"] >= 690
assert summary["scored"] + summary["skipped"] + summary["suspect"] == 783
keys = {"id", "config_key", "source", "status", "reason", "predicted_step_s", "measured_step_s", "error"}
assert all(keys <= set(row) for row in rows)
# the score again, from the rows
votes = {}
for row in rows:
    if row["is_scored"]:
        votes.setdefault((row["source"], row["config_key"]), []).append(row["error"])
apes = {k: sum(map(abs, v)) / len(v) for k, v in votes.items()}
assert summary["votes"] == len(votes)
assert abs(summary["mean_ape"] - sum(apes.values()) / len(apes)) < 1e-9
assert abs(summary["bias"] - sum(sum(v) / len(v) for v in votes.values()) / len(votes)) < 1e-9
sources = {}
for (source, _), ape in apes.items():
    sources.setdefault(source, []).append(ape)
assert abs(summary["macro_mape"] - sum(sum(v) / len(v) for v in sources.values()) / len(sources)) < 1e-9
assert all(row["reason"] for row in rows if row["status"] != "ok")
assert len(summary["baselines"]) == 3 and summary["baselines"][0]["constants"] == 1
PY
}

@test "a user's own runs: few columns, the catalogue's names" {
    write_mine
    run --separate-stderr "$STOKER" validate "$work/mine.csv"
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ "$output" == *"3 rows: 2 scored, 0 skipped, 0 suspect"* ]]
    [[ "$output" == *"second, longer"* ]]
}

@test "a row is predicted as the same scenario is by run" {
    write_mine
    cat > "$work/same.yaml" <<'YAML'
model: llama3-8b
cluster: h100-3200
gpus: 64
software: megatron-2026
parallel: {tp: 2, zero: 1, sequence_parallel: true}
batch: {global: 128, micro: 1, sequence_length: 8192}
YAML
    row=$("$STOKER" validate "$work/mine.csv" --rows first --json |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["rows"][0]["predicted_step_s"])')
    own=$("$STOKER" run "$work/same.yaml" --no-db --json 2> "$work/err" |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_s"])')
    [ "$row" = "$own" ]
}

@test "how many processes share the rows does not show in the result" {
    head -40 tests/published/runs.csv > "$work/some.csv"
    "$STOKER" validate "$work/some.csv" -j 1 --json > "$work/one"
    "$STOKER" validate "$work/some.csv" -j 7 --json > "$work/seven"
    cmp "$work/one" "$work/seven"
}

@test "--plot draws what --rows selects" {
    head -12 tests/published/runs.csv > "$work/some.csv"
    "$STOKER" validate "$work/some.csv" --summary --rows llmfoundry-00 --plot "$work/parity" > "$work/out"
    grep -q '^7 rows: ' "$work/out"
    [ "$(wc -l < "$work/parity.csv")" -eq 8 ]
    [ -s "$work/parity.svg" ]
    [ -s "$work/parity.png" ]
}

# A source with rows that share a configuration: 1 and 3 rows. The mean by votes, (0.5 (a + b + c) / 3 +
# 0.5 d), is the table's; the mean over rows was the picture's.
@test "the picture tells of each source what the table by source tells" {
    python3 - tests/published/runs.csv "$work/some.csv" <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
keys = {}
for row in rows:
    keys.setdefault((row["source"], row["config_key"]), []).append(row)
many = [key for key in keys if len(keys[key]) > 1 and not any(row["suspect"] for row in keys[key])]
source = many[0][0]
few = [key for key in keys if key[0] == source and len(keys[key]) == 1 and not keys[key][0]["suspect"]]
with open(sys.argv[2], "w", newline="") as out:
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(keys[many[0]] + keys[few[0]] + keys[few[1]])
PY
    "$STOKER" validate "$work/some.csv" --summary --json --plot "$work/parity" > "$work/out.json"
    python3 - "$work/out.json" "$work/parity.csv" <<'PY'
import csv, json, sys
groups = json.load(open(sys.argv[1]))["summary"]["groups"]["source"]
told = {group["name"]: "%d runs, %.1f %%" % (group["rows"], 100 * group["mean_ape"]) for group in groups}
shown = {row["source"]: row["summary"] for row in csv.DictReader(open(sys.argv[2]))}
assert shown and shown == told, (shown, told)
rows = list(csv.DictReader(open(sys.argv[2])))
plain = sum(abs(float(row["error_percent"])) for row in rows) / len(rows)
assert "%d runs, %.1f %%" % (len(rows), plain) != rows[0]["summary"], "rows and votes do not differ here"
PY
}

# Transformer Engine chooses an attention by itself, so a log leaves its column blank, as it does
# others that have a default. The step of the row is that of the same shape written as a scenario that
# says nothing of them either, and of the one that `show` writes: to the nanosecond.
@test "what an imported log leaves blank is what a scenario that says nothing has" {
    cat > "$work/own.log" <<'LOG'
------------------------ arguments ------------------------
  num_layers ...................................... 16
  hidden_size ..................................... 2048
  ffn_hidden_size ................................. 8192
  num_attention_heads ............................. 32
  num_query_groups ................................ 8
  group_query_attention ........................... True
  seq_length ...................................... 4096
  micro_batch_size ................................ 1
  global_batch_size ............................... 64
  padded_vocab_size ............................... 32000
  bf16 ............................................ True
  swiglu .......................................... True
  normalization ................................... RMSNorm
  position_embedding_type ......................... rope
  untie_embeddings_and_output_weights ............. True
  add_bias_linear ................................. False
  use_distributed_optimizer ....................... True
  sequence_parallel ............................... True
  tensor_model_parallel_size ...................... 2
  pipeline_model_parallel_size .................... 1
  world_size ...................................... 16
-------------------- end of arguments ---------------------
LOG
    for i in 1 2 3 4; do
        echo " [2025-05-01 10:00:0$i] iteration $i/ 4 | consumed samples: $((64 * i)) | elapsed time per iteration (ms): 500.0 | global batch size: 64 |"
    done >> "$work/own.log"
    "$STOKER" import megatron-log "$work/own.log" --gpu h100-sxm5-80gb 2> /dev/null > "$work/own.csv"
    step() { "$STOKER" run "$@" --no-db --json -q | jq .step_time_s; }
    of_row() { "$STOKER" validate "$1" --json | jq '.rows[0].predicted_step_s'; }
    cat > "$work/own.yaml" <<'YAML'
model: {model: published, source: made up, layers: 16, hidden: 2048, ffn_hidden: 8192, heads: 32, kv_heads: 8, vocab: 32000, max_positions: 4096, mlp: swiglu, norm: rmsnorm, positions: rotary, biases: false}
cluster: h100-3200
gpus: 16
software: megatron-2025
parallel: {tp: 2, sequence_parallel: true}
batch: {global: 64, sequence_length: 4096}
YAML
    [ "$(of_row "$work/own.csv")" = "$(step "$work/own.yaml")" ]
    [ "$("$STOKER" validate "$work/own.csv" --json | jq -r '.rows[0].filled' | grep -c attention)" -eq 1 ]
    python3 - "$work" <<'PY'
import csv, sys
row = next(csv.DictReader(open(sys.argv[1] + "/own.csv")))
assert row["flash_attention"] == "" and row["moe_dispatcher"] == "" and row["zero_group"] == "", row
for column in "none micro_batch recompute cp ep sequence_parallel zero_stage pp_schedule tied_embeddings family".split():
    with open("%s/%s.csv" % (sys.argv[1], column), "w", newline="") as out:
        writer = csv.DictWriter(out, list(row))
        writer.writeheader()
        writer.writerow(dict(row, **{column: ""} if column != "none" else {}))
PY
    for column in none micro_batch recompute cp ep sequence_parallel zero_stage pp_schedule tied_embeddings family; do
        "$STOKER" show "$work/$column.csv" --row own > "$work/shown.yaml"
        row=$(of_row "$work/$column.csv")
        [ "$row" = "$(step "$work/shown.yaml")" ] || { echo "$column blank: the row $row"; false; }
        case $column in micro_batch | recompute | cp | ep | tied_embeddings | family) [ "$row" = "$(step "$work/own.yaml")" ] ;; esac
    done
}

@test "wrong files: the message says where and what would be right" {
    for file in tests/bad_input/validate/*.csv; do
        status=0
        "$STOKER" validate "$file" > "$work/out" 2> "$work/err" || status=$?
        { echo "exit $status"; cat "$work/err"; } > "$work/text"
        diff "$work/text" "${file%.csv}.expected"
    done
}

@test "wrong rules: the message says where and what would be right" {
    head -3 tests/published/blind.csv > "$work/some.csv"
    mkdir -p "$work/catalogue/tests/published"
    rules=$work/catalogue/tests/published/rules.yaml
    for file in tests/bad_input/rules/*.yaml; do
        cp "$file" "$rules"
        status=0
        "$STOKER" validate "$work/some.csv" --catalogue "$work/catalogue" > "$work/out" 2> "$work/err" || status=$?
        { echo "exit $status"; sed "s|^$rules|$file|" "$work/err"; } > "$work/text"
        diff "$work/text" "${file%.yaml}.expected"
    done
}

# The rule's own value, not one that it takes from a column: 'micro' of no run may be 0.
@test "a value that a row's scenario refuses is told at the row and at the rule" {
    head -3 tests/published/blind.csv > "$work/some.csv"
    rules=$work/catalogue/tests/published/rules.yaml
    mkdir -p "$(dirname "$rules")"
    { cat tests/published/rules.yaml
      printf '%s\n' '  - set: [batch.micro=0]' '    source: https://example.org/a'; } > "$rules"
    run --separate-stderr -3 "$STOKER" validate "$work/some.csv" --catalogue "$work/catalogue"
    place=$rules:$(($(wc -l < "$rules") - 1)):11
    [[ $stderr == *"some.csv:2:1: warning: 'micro' must be a whole number from 1"* ]]
    [[ $stderr == *"= help: 'batch.micro=0' is set at $place"* ]]
    awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) c = $i == "micro_batch" ? i : c }
        NR == 2 { $c = "1000001" } 1' "$work/some.csv" > "$work/own.csv"
    run --separate-stderr "$STOKER" validate "$work/own.csv"
    [[ $stderr == *"own.csv:2:"*" warning: 'micro' must be a whole number"* ]]
    [[ $stderr != *"is set at"* ]]
}

# GPT-3's attention is unfused without, and tp splits the norms with: both show in the step.
@test "truth has one vocabulary, and what is misspelt is not taken for blank" {
    step() { # FLASH SEQUENCE_PARALLEL
        printf '%s\n%s\n' \
            id,model_name,framework,gpu,gpus,precision,tp,pp,seq_len,global_batch_sequences,measured_step_s,flash_attention,sequence_parallel \
            "one,llama3-8b,megatron,h100-sxm5-80gb,8,bf16,2,1,4096,8,,$1,$2" > "$work/one.csv"
        "$STOKER" validate "$work/one.csv" --json | python3 -c \
            'import json, sys; print(json.load(sys.stdin)["rows"][0]["predicted_step_s"])'
    }
    [ "$(step false 1)" = "$(step 0 true)" ]
    [ "$(step No Yes)" = "$(step 0 1)" ]
    [ "$(step TRUE FALSE)" = "$(step 1 0)" ]
    [ "$(step 0 1)" != "$(step 1 1)" ]
    [ "$(step 1 0)" != "$(step 1 1)" ]
    run "$STOKER" run tests/bad_input/validate/wrong_words.csv --row good --no-db
    [ "$status" -eq 3 ]
    [[ "$output" == *"wrong_words.csv:9:68: error: flash_attention 'flase' is not known"* ]]
}

# The columns do not say how many layers the catalogue's model has, so no number divides them.
@test "chunks of a pipeline that are not stated are not guessed without layers" {
    printf '%s\n%s\n%s\n' \
        id,model_name,framework,gpu,gpus,precision,tp,pp,pp_schedule,virtual_pp,seq_len,global_batch_sequences,measured_step_s \
        "blank,llama3-70b,megatron,h100-sxm5-80gb,64,bf16,4,8,interleaved,,4096,64," \
        "stated,llama3-70b,megatron,h100-sxm5-80gb,64,bf16,4,8,interleaved,5,4096,64," > "$work/two.csv"
    "$STOKER" validate "$work/two.csv" --json > "$work/json"
    jq -e '[.rows[] | [.id, .status, .reason]] | .[0] == ["blank", "skipped", "virtual_pp is blank"] and
        .[1][:2] == ["stated", "ok"]' "$work/json"
}

@test "wrong rows are counted, the others scored" {
    run --separate-stderr "$STOKER" validate tests/bad_input/validate/wrong_rows.csv --json
    [ "$status" -eq 0 ]
    python3 - <<PY
import json
document = json.loads('''$output''')
assert document["summary"]["scored"] == 1
assert document["summary"]["skipped"] == len(document["rows"]) - 1
PY
}

@test "-j is a number, a file is needed, and rows that are not there are told" {
    run "$STOKER" validate tests/published/runs.csv -j 0
    [ "$status" -eq 2 ]
    run "$STOKER" validate
    [ "$status" -eq 2 ]
    run "$STOKER" validate tests/published/runs.csv --rows nowhere
    [ "$status" -eq 3 ]
    [[ "$output" == *"no row has 'nowhere' in its id or source"* ]]
}

# Nothing is fitted to these: a change that helps others and harms these shows here. The worst is
# MT-NLG 530B on 3,360 A100, 15.2 % too fast.
@test "sources that no constant has seen are within 16 %, and 10 % on average" {
    "$STOKER" validate tests/published/blind.csv --json -q > "$work/blind.json"
    python3 - "$work/blind.json" <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
assert document["summary"]["scored"] == len(document["rows"]) == 6
assert all(abs(row["error"]) <= 0.16 for row in document["rows"])
assert document["summary"]["mean_ape"] <= 0.10
PY
}

# Products of one box of eight B200 hold 0.50 of their peak in bf16, those of others 0.60 and more; the
# file's centre lies between, so that these two slow boxes are predicted too fast, but no longer by 22 %
# with none inside its band: what boxes differ by is in it, and that new GPUs were further off on their day.
@test "boxes of B200 in 16 bits are within 15 % in the mean, and half of their steps in the band" {
    "$STOKER" validate tests/published/boxes.csv --json -q > "$work/boxes.json"
    python3 - "$work/boxes.json" <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
rows = document["rows"]
assert document["summary"]["scored"] == len(rows) == 21
assert document["summary"]["mean_ape"] <= 0.15
inside = [row["band"]["step_p10_s"] <= row["measured_step_s"] <= row["band"]["step_p90_s"] for row in rows]
assert sum(inside) >= 15, sum(inside)
assert all(row["band"]["step_p90_s"] / row["band"]["step_p10_s"] < 1.6 for row in rows)
PY
}

# One of them trained in bf16 and in mxfp8 (with graphs, which this has not), 1.02 times as fast. It is
# predicted the other way round: the band holds what was measured, and nothing is called clear.
@test "bf16 against mxfp8 on B200 is not clear: two kinds of units, each with its box" {
    cat > "$work/bits.yaml" <<'YAML'
scenario: bits
model: qwen3-30b-a3b
cluster: b200-3200
gpus: 8
software: megatron-2026
precision: bf16
parallel: {ep: 8}
batch: {global: 512, micro: 4, sequence_length: 4096}
sweep: {precision: [bf16, mxfp8]}
YAML
    "$STOKER" compare "$work/bits.yaml" --against "precision bf16" --json -q --db "$work/bits.db" > "$work/bits.json"
    jq -e '[.. | objects | select(.kinds? == ["precision"])] | length == 1 and
           all(.verdict != "clear" and .speed_up.p10 < 1.02 and .speed_up.p90 > 1.02)' "$work/bits.json"
}

# The columns and words that the published set was cut down to are all that count: rows that the table
# it was cut from still has as they were are predicted alike. That table grows and is corrected, so
# rows that are not ours, or no longer the same, are not judged, nor those to which we have added the
# day of the measurement.
@test "the published set predicts what the table that it was cut from does" {
    table=../shared/validation/published_runs.csv
    [ -f "$table" ] || skip "no ../shared"
    python3 - "$table" "$work" <<'PY'
import csv, re, sys
table, work = sys.argv[1:]
ours = {row["id"]: row for row in csv.DictReader(open("tests/published/runs.csv"))}
rows = list(csv.reader(open(table)))
reworded = {"notes", "assumed"}
dated = "(measured|trained from) (February|March)"

def is_same(row):
    mine = ours.get(row["id"])
    return mine is not None and not re.search(dated, mine["notes"]) and all(
        bool(mine[name]) == bool(row.get(name)) if name == "suspect" else mine[name] == row.get(name, "")
        for name in mine if name not in reworded and name != "published")

same = [row for row in rows[1:] if is_same(dict(zip(rows[0], row)))]
# A third says nothing that only its source knows (column set).
assert len(same) >= len(ours) / 4, len(same)
csv.writer(open(work + "/whole.csv", "w")).writerows([rows[0], *same])
PY
    "$STOKER" validate tests/published/runs.csv --json -q > "$work/cut.json"
    "$STOKER" validate "$work/whole.csv" --json -q > "$work/whole.json"
    python3 - "$work/cut.json" "$work/whole.json" <<'PY'
import json, sys
cut, whole = ({row["id"]: (row["status"], row["predicted_step_s"], row["is_scored"])
               for row in json.load(open(path))["rows"]} for path in sys.argv[1:])
assert all(cut[name] == whole[name] for name in whole), [name for name in whole if cut[name] != whole[name]]
PY
}

# A row that is skipped has no prediction, no error and no cause; a table in which none is scored no
# mean error. 0 would be a perfect score.
@test "what a row that is skipped does not have is null" {
    head -n 1 tests/published/runs.csv > "$work/skipped.csv"
    sed -n 2p tests/published/runs.csv | sed 's/^[^,]*/odd/' >> "$work/skipped.csv"
    "$STOKER" validate "$work/skipped.csv" --json -q > "$work/good.json"
    jq -e '.rows[0] | .predicted_step_s > 0 and .gpus > 0 and .error != null' "$work/good.json"
    python3 - "$work/skipped.csv" <<'PY'
import csv, sys
head, row = csv.reader(open(sys.argv[1]))
row[head.index("gpu")] = "a-gpu-nobody-has"
csv.writer(open(sys.argv[1], "w")).writerows([head, row])
PY
    "$STOKER" validate "$work/skipped.csv" --json -q > "$work/bad.json" || [ "$?" -eq 3 ]
    jq -e '.rows[0] | .status == "skipped" and
        ([.predicted_step_s, .error, .gpus, .fits, .compute_share, .largest_cause] |
         all(. == null))' "$work/bad.json"
    jq -e '.summary | .votes == 0 and
        ([.mean_ape, .macro_mape, .median_ape, .p90_ape, .bias] | all(. == null))' "$work/bad.json"
}

@test "--ratios: pairs of rows that differ in one column, and their ratio from the rows" {
    "$STOKER" validate tests/published/networks.csv --rows zeropp --json --ratios inter_node_gbps_per_node \
        > "$work/ratios.json"
    python3 - "$work/ratios.json" <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
rows = {row["id"]: row for row in document["rows"]}
ratios = document["ratios"]
assert ratios["pairs"] == len(ratios["rows"]) == 9
for pair in ratios["rows"]:
    first, second = rows[pair["first"]], rows[pair["second"]]
    assert pair["from"] < pair["to"] and first["id"][:14] == second["id"][:14]
    assert abs(pair["measured"] - second["measured_step_s"] / first["measured_step_s"]) < 1e-9
    assert abs(pair["predicted"] - second["predicted_step_s"] / first["predicted_step_s"]) < 1e-9
PY
    run "$STOKER" validate tests/published/blind.csv --ratios inter_node_gbps_per_nod
    [ "$status" -eq 2 ]
    [[ "$output" == *"did you mean 'inter_node_gbps_per_node'?"* ]]
}

# Bands are of sources that were left out: of ten votes eight lie inside, give or take.
@test "each row has the band of the other sources, and the catalogue's bands hold what they say" {
    "$STOKER" validate tests/published/networks.csv --rows zeropp --json > "$work/json"
    jq -e '[.rows[] | select(.status == "ok") | .band.step_p10_s < .predicted_step_s and
        .predicted_step_s < .band.step_p90_s] | length > 5 and all' "$work/json"
    jq -e '.summary.bands | .catalogue.inside >= 0.75 and .catalogue.inside <= 0.85 and
        .catalogue.votes > 400 and .rows.votes > 5 and .rows.log_width > 0.1' "$work/json"
    inside=$(jq '[.rows[] | select(.is_scored) | {config_key,
        inside: (if .measured_step_s >= .band.step_p10_s and .measured_step_s <= .band.step_p90_s
                 then 1 else 0 end)}] | group_by(.config_key) | map(map(.inside) | add / length) |
        add / length' "$work/json")
    jq -e --argjson inside "$inside" '.summary.bands.rows.inside - $inside | fabs < 1e-9' "$work/json"
    "$STOKER" validate tests/published/networks.csv --rows zeropp --summary > "$work/text"
    grep -q '^Bands: of [0-9]* votes of models/validated.csv and models/typed.csv [0-9]* % lie in$' "$work/text"
}
