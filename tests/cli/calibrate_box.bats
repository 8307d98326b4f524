# calibrate box: settings of one machine from six numbers, and scenarios that have it.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    file=tests/bad_input/boxes/scenarios/base.yaml # of B200, in bf16
    cat > "$work/numbers.yaml" <<'YAML'
box: mine
cluster: b200-3200
gemm_large: {m: 16384, n: 57344, k: 8192, dtype: bf16, time: 14.2 ms}
gemm_small: {m: 4096, n: 4096, k: 512, dtype: bf16, time: 24 us}
attention: {kernel: cudnn, sequences: 1, heads: 64, kv_heads: 8, length: 4096, head_dim: 128, forward: 0.28 ms, backward: 0.84 ms}
copy: {bytes: 4 GiB, time: 1.3 ms}
all_reduce: {bytes: 4 GiB, gpus: 8, nodes: 1, time: 9.9 ms}
YAML
}

# predict ARGUMENT...: the JSON of a run of $file.
predict() {
    "$STOKER" run "$file" --no-db -q --json "$@"
}

half() { # of the band's logarithm
    jq '.band.step_s | (.p90 / .p10 | log) / 2' "$1"
}

# Each number is predicted as measured then; slower products, attention, memory and links make the step
# longer; known rates leave a narrower band; --set goes before the box.
@test "numbers become settings that a scenario has by its box" {
    "$STOKER" calibrate box "$work/numbers.yaml" -o "$work/mine.yaml" --json > "$work/fit.json"
    jq -e '(.moves | length) == 6 and all(.moves[]; .is_met) and
           .measured == {gemm: 0.0175, attention: 0.0175, memory: 0.0175, links: 0.0175}' "$work/fit.json"
    "$STOKER" calibrate box "$work/numbers.yaml" > "$work/printed.yaml"
    diff <(grep -v '^#' "$work/printed.yaml") <(grep -v '^#' "$work/mine.yaml")
    sed '/^box:/d' "$file" > "$work/plain.yaml"
    { cat "$work/plain.yaml"; echo 'box: ./mine.yaml'; } > "$work/boxed.yaml"
    for name in plain boxed; do
        file=$work/$name.yaml predict > "$work/$name"
    done
    jq -se '.[1].step_time_s > 1.05 * .[0].step_time_s' "$work/plain" "$work/boxed"
    file=$work/plain.yaml predict --set "box=$work/mine.yaml" > "$work/set"
    [ "$(jq .step_time_s "$work/set")" = "$(jq .step_time_s "$work/boxed")" ]
    [ "$(jq .band.box_spread "$work/plain" | cut -c1-4)" = 0.12 ]
    jq -e '.band.box_spread > 0 and .band.box_spread <= 0.0175' "$work/boxed"
    awk -v with="$(half "$work/boxed")" -v without="$(half "$work/plain")" 'BEGIN { exit !(with < without) }'
    file=$work/boxed.yaml predict --set gpu.gemm.sustained=0.3 > "$work/slower"
    jq -se '.[1].step_time_s > 1.2 * .[0].step_time_s' "$work/boxed" "$work/slower"
    # Resolved, it says what is known and what was set, and is predicted alike.
    "$STOKER" show "$work/boxed.yaml" > "$work/shown.yaml"
    grep -q '^  gemm: 1.75 %' <(sed -n '/^box:/,/^[^ ]/s/^  //p' "$work/shown.yaml")
    file=$work/shown.yaml predict > "$work/again"
    [ "$(jq .step_time_s "$work/again")" = "$(jq .step_time_s "$work/boxed")" ]
    [ "$(jq .band.box_spread "$work/again")" = "$(jq .band.box_spread "$work/boxed")" ]
    "$STOKER" run "$work/boxed.yaml" --no-db -q | grep -q 'box mine'
}

# Variants and sweeps find it beside their file, wherever they are run; one of another GPU is its point's
# error alone.
@test "variants and sweeps name boxes beside their file" {
    "$STOKER" calibrate box "$work/numbers.yaml" -o "$work/mine.yaml" > "$work/out"
    sed 's/sustained: .*/sustained: 0.4/; s/^box: .*/box: slow/' "$work/mine.yaml" > "$work/slow.yaml"
    sed '/^box:/d' "$file" > "$work/study.yaml"
    cp "$work/study.yaml" "$work/sweep.yaml"
    cat >> "$work/study.yaml" <<'YAML'
variants:
  - {name: mean}
  - {name: mine, set: {box: ./mine.yaml}}
  - {name: H200, set: {cluster: h200-3200, box: mine.yaml}}
YAML
    echo 'sweep: {box: [mine.yaml, ./slow.yaml]}' >> "$work/sweep.yaml"
    run --separate-stderr "$STOKER" compare "$work/study.yaml" --json -q --db "$work/c.db"
    echo "$output" > "$work/compare.json"
    jq -e '[.. | objects | select(has("step_time_s") and .step_time_s != null) | .step_time_s] |
           unique | length == 2' "$work/compare.json"
    grep -q 'a box of b200' "$work/compare.json"
    "$STOKER" sweep "$work/sweep.yaml" --json -q --db "$work/s.db" > "$work/sweep.json"
    jq -e '[.. | objects | select(has("step_time_s")) | .step_time_s] | unique | length == 2' "$work/sweep.json"
}

# A product alone leaves attention's part of what boxes differ by: less is taken off than by both.
@test "what was measured narrows its part of the band, and nothing else does" {
    sed '/^box:/d' "$file" > "$work/plain.yaml"
    file=$work/plain.yaml
    predict > "$work/none"
    for number in gemm_large gemm_small attention copy all_reduce; do
        grep -E "^(cluster|$number):" "$work/numbers.yaml" > "$work/one.yaml"
        "$STOKER" calibrate box "$work/one.yaml" -o "$work/box.yaml" > "$work/out"
        predict --set "box=$work/box.yaml" > "$work/$number"
        half "$work/$number" >> "$work/halves"
    done
    half "$work/none" >> "$work/halves"
    python3 - "$work/halves" <<'PY'
import sys
gemm, small, attention, copy, links, none = [float(line) for line in open(sys.argv[1])]
assert small == none, (small, none)          # is no rate
assert gemm < attention < none               # products are most of this step
assert none * 0.999 < copy <= none           # of memory no two boxes were found
assert none * 0.99 < links <= none           # hardly any of this step
PY
}

@test "a step of the box is the anchor of its scenarios, and says nothing of another model" {
    cp "$file" "$work/base.yaml"
    sed -i '/^box:/d' "$work/base.yaml"
    { cat "$work/numbers.yaml"; echo 'step: {scenario: base.yaml, time: 4 s}'; } > "$work/with.yaml"
    "$STOKER" calibrate box "$work/with.yaml" -o "$work/box.yaml" | grep -q 'anchor'
    { cat "$work/base.yaml"; echo 'box: ./box.yaml'; } > "$work/mine.yaml"
    file=$work/mine.yaml predict > "$work/anchored"
    jq -e '(.step_time_s - 4 | fabs) < 1e-6 and .anchor.weight == 1' "$work/anchored"
    # The measured run was on this box, too: a longer sequence is off by what is left then.
    file=$work/mine.yaml predict --set batch.sequence_length=4096 > "$work/other"
    jq -e --argjson at "$(jq .anchor.predicted_step_s "$work/anchored")" '.anchor.predicted_step_s == $at' "$work/other"
    run --separate-stderr "$STOKER" run "$work/mine.yaml" --no-db -q --set model.layers=16 --json
    [ "$status" -eq 0 ]
    [ "$(jq .anchor <<< "$output")" = null ]
    run --separate-stderr "$STOKER" run "$work/mine.yaml" --no-db --set model.layers=16
    [[ "$stderr" == *"the box's step is of another model than llama3-8b, so it corrects nothing: layers 32 there, 16 here"* ]]
    # Another folder: what it names is found from the root.
    mkdir "$work/there"
    "$STOKER" calibrate box "$work/with.yaml" -o "$work/there/box.yaml" > "$work/out"
    grep -q "^anchor: {scenario: \"$(realpath "$work")/base.yaml\", step_time: 4 s}" "$work/there/box.yaml"
}

# Its syntax, and its fields: a file that has all of them is read, and one that has another is not.
@test "the script is Python, and has the reader's fields" {
    "$STOKER" calibrate box --script > "$work/measure.py"
    command -v python3 > "$work/out" || skip "no python3"
    python3 - "$work/measure.py" "$work/full.yaml" <<'PY'
import ast, sys
tree = ast.parse(open(sys.argv[1]).read())
fields = next(ast.literal_eval(node.value) for node in tree.body
              if isinstance(node, ast.Assign) and node.targets[0].id == "FIELDS")
sizes = next(node.value for node in tree.body
             if isinstance(node, ast.Assign) and node.targets[0].id == "SIZES")
for key, value in zip(sizes.keys, sizes.values):
    assert {size.value for size in value.keys} <= set(fields[key.value]), key.value
known = {"m": 8192, "n": 8192, "k": 8192, "dtype": "bf16", "time": "2 ms", "spread": "2 %", "kernel": "fa3",
         "sequences": 1, "heads": 32, "kv_heads": 8, "length": 4096, "head_dim": 128, "causal": "true",
         "forward": "1 ms", "backward": "3 ms", "bytes": "1 GiB", "gpus": 8, "nodes": 1}
with open(sys.argv[2], "w") as file:
    print("cluster: h100-3200", file=file)
    for number, keys in fields.items():
        if number != "step":
            time = {"all_reduce": "8 ms"}.get(number, "2 ms")
            values = {**known, "time": time}
            print(number + ": {" + ", ".join(f"{key}: {values[key]}" for key in keys) + "}", file=file)
assert set(fields) == {"gemm_large", "gemm_small", "attention", "copy", "all_reduce", "step"}
PY
    "$STOKER" calibrate box "$work/full.yaml" > "$work/out"
    sed -i 's/^copy: {/copy: {speed: 1, /' "$work/full.yaml"
    run --separate-stderr -3 "$STOKER" calibrate box "$work/full.yaml"
    [[ "$stderr" == *"unknown key 'speed'"* ]]
    for word in 'cuda.Event' 'median' 'WARM_UP_S' 'SAMPLES' 'torchrun'; do
        grep -q "$word" "$work/measure.py"
    done
    grep -E '^(import|from|    from|    import|        import) ' "$work/measure.py" | awk '{ print $2 }' |
        grep -vE '^(argparse|os|statistics|sys|time|torch(\..*)?)$' && false || true
}

# With a PyTorch of wood, whose events say that products run at 600 TFLOP/s after 5 us, and all else
# takes so many ms: all of the script runs, on one GPU and as ranks of a node, and what it prints is read.
@test "what the script prints is what the reader reads" {
    command -v python3 > "$work/out" || skip "no python3"
    "$STOKER" calibrate box --script | sed 's/^WARM_UP_S = [0-9.]*/WARM_UP_S = 0/' > "$work/measure.py"
    mkdir -p "$work/torch/nn/attention" "$work/torch/distributed"
    cat > "$work/torch/__init__.py" <<'PY'
import contextlib, sys
from unittest.mock import MagicMock
class Event:
    def __init__(self, enable_timing): assert enable_timing
    def record(self): self.at = now[0]
    def elapsed_time(self, stop): return stop.at - self.at
now = [0.0]  # ms
def work(ms):
    def run(*arguments, **names): now[0] += ms; return MagicMock()
    return run
def mm(a, b, out): now[0] += 0.005 + 2 * a.shape[0] * a.shape[1] * b.shape[0] / 600e9
float32 = float16 = bfloat16 = float8_e4m3fn = uint8 = object()
cuda = MagicMock(Event=Event)
cuda.get_device_name = lambda: "a GPU of wood"
version = MagicMock(cuda="13.0")
__version__ = "2.10"
backends = MagicMock()
def randn(*shape, **names):
    tensor = MagicMock(shape=shape)
    tensor.to.return_value = tensor.t.return_value = tensor
    return tensor
empty = zeros = ones = randn_like = randn
def empty_like(other): return MagicMock(copy_=work(2.2))
def tensor(values, **names): return MagicMock(item=lambda: values[0])
no_grad = contextlib.nullcontext
autograd = MagicMock(grad=work(5.0))
from . import nn, distributed
PY
    echo 'from . import attention
class functional:
    @staticmethod
    def scaled_dot_product_attention(*arguments, **names):
        import torch
        return torch.work(2.0)()' > "$work/torch/nn/__init__.py"
    echo 'import contextlib, enum
SDPBackend = enum.Enum("SDPBackend", "CUDNN_ATTENTION FLASH_ATTENTION")
def sdpa_kernel(backends): return contextlib.nullcontext()' > "$work/torch/nn/attention/__init__.py"
    echo 'from enum import Enum
ReduceOp = Enum("ReduceOp", "MAX")
def init_process_group(kind): assert kind == "nccl"
def destroy_process_group(): pass
def get_world_size(): return 8
def all_reduce(*arguments, **names):
    import torch
    torch.work(15.8)()' > "$work/torch/distributed/__init__.py"
    PYTHONPATH=$work python3 "$work/measure.py" --cluster h200-3200 --name wood > "$work/one.yaml"
    RANK=0 LOCAL_RANK=0 LOCAL_WORLD_SIZE=8 PYTHONPATH=$work python3 "$work/measure.py" --cluster h200-3200 --kernel fa2 \
        --step-scenario mine.yaml --step-time '4.1 s' > "$work/eight.yaml"
    cp "$file" "$work/mine.yaml"
    RANK=3 LOCAL_RANK=3 LOCAL_WORLD_SIZE=8 PYTHONPATH=$work python3 "$work/measure.py" --cluster h200-3200 > "$work/other"
    [ ! -s "$work/other" ]
    # 2 x 16384^3 / 600e12 s are 14.6602 ms.
    grep -q '^gemm_large: {m: 16384, n: 16384, k: 16384, dtype: bf16, time: 14.6652 ms}' "$work/one.yaml"
    grep -q '^copy: {bytes: 4294967296 B, time: 2.2 ms}' "$work/one.yaml"
    grep -q '^all_reduce: {bytes: 4294967296 B, gpus: 8, nodes: 1, time: 15.8 ms}' "$work/eight.yaml"
    for name in one eight; do
        "$STOKER" calibrate box "$work/$name.yaml" --json > "$work/$name.json" 2> "$work/err"
    done
    jq -e '.box == "wood" and .measured.links == null and .measured.gemm == 0.0175 and (.has_anchor | not)' "$work/one.json"
    jq -e '.measured.links == 0.0175 and .has_anchor' "$work/eight.json"
}

@test "wrong numbers and wrong boxes: the message says where and what would be right" {
    for wrong in tests/bad_input/boxes/*.yaml; do
        status=0
        "$STOKER" calibrate box "$wrong" > "$work/out" 2> "$work/err" || status=$?
        { echo "exit $status"; cat "$work/err"; } | diff "${wrong%.yaml}.expected" - || { echo "$wrong"; false; }
        [ ! -s "$work/out" ]
    done
    for wrong in tests/bad_input/boxes/scenarios/*.expected; do
        status=0
        "$STOKER" run "${wrong%.expected}.yaml" --no-db -q > "$work/out" 2> "$work/err" || status=$?
        { echo "exit $status"; cat "$work/err"; } | diff "$wrong" - || { echo "$wrong"; false; }
    done
}

# A rail joins 128 nodes. It was a broken invariant of the fabric, for whoever calibrates collectives, too.
@test "curves on more nodes than a cluster can have are refused where they stand" {
    cat > "$work/curve.yaml" <<'YAML'
measurements:
- {id: far, operation: all-reduce, cluster: h100-rail-only-3200, gpus: 4096, nodes: 512, source: made up, points: [{bytes: 1048576, time: 1 ms}]}
YAML
    run --separate-stderr -3 "$STOKER" calibrate collectives "$work/curve.yaml" --check
    [[ "$stderr" == *"curve.yaml:2:3: error: far: 512 nodes, and h100-rail-only-3200 has 128"* ]]
}

@test "what has no meaning is wrong usage, and what a bound holds up is told" {
    run --separate-stderr -2 "$STOKER" calibrate box
    [[ "$stderr" == *"'box', and a file is needed"* ]]
    run --separate-stderr -2 "$STOKER" calibrate box "$work/numbers.yaml" --check
    [[ "$stderr" == *"--check has no meaning for calibrate box"* ]]
    run --separate-stderr -2 "$STOKER" calibrate box "$work/numbers.yaml" "$work/numbers.yaml"
    run --separate-stderr -2 "$STOKER" calibrate box --script "$work/numbers.yaml"
    [[ "$stderr" == *"--script reads no file"* ]]
    run --separate-stderr -2 "$STOKER" calibrate gemm tests/published/gemm.csv --script
    [[ "$stderr" == *"--script has no meaning for calibrate gemm"* ]]
    run --separate-stderr -2 "$STOKER" calibrate collectives "$work/numbers.yaml" --script
    # 64 x 64 x 64 in 200 us: something else holds it up, and no settings come of it.
    echo 'gpu: h100-sxm5-80gb
gemm_small: {m: 64, n: 64, k: 64, dtype: bf16, time: 200 us}' > "$work/tiny.yaml"
    run --separate-stderr -1 "$STOKER" calibrate box "$work/tiny.yaml" -o "$work/tiny-box.yaml"
    [[ "$stderr" == *"tiny.yaml:2:13: error: gemm_small: 0.2 ms measured, and as far as gpu.gemm.k_half goes "* ]]
    [ ! -e "$work/tiny-box.yaml" ]
    # 7 % faster than the library moves with the links in full: nearer than before, and told.
    printf 'cluster: h100-3200\nall_reduce: {bytes: 4 GiB, gpus: 64, nodes: 8, time: %s ms}\n' 20.3 > "$work/links.yaml"
    run --separate-stderr -0 "$STOKER" calibrate box "$work/links.yaml"
    [[ "$stderr" == *"links.yaml:2:13: warning: all_reduce: 20.3 ms measured, and as far as cluster.nics.efficiency goes "* ]]
    [[ "$output" == *"cluster.nics.efficiency: 1 "* ]]
}

# Products and attention of SimuMax's box of eight B200 as published (gemm.csv, attention.csv: 1085.4,
# 828.0, 980.4 and 820.6 TFLOP/s; tests/published/boxes.csv has the whole table). Its 19 steps are predicted
# 13 % too fast by the mean box; three kernels take most of that off, and half of the widths.
@test "three numbers of a box that published its kernels take most of the error of its steps off" {
    cat > "$work/kernels.yaml" <<'YAML'
gpu: b200-sxm
gemm_large: {m: 16384, n: 57344, k: 8192, dtype: bf16, time: 14.1821 ms}
gemm_small: {m: 4096, n: 4096, k: 512, dtype: bf16, time: 20.748 us}
attention: {kernel: cudnn, sequences: 1, heads: 64, kv_heads: 8, length: 4096, head_dim: 128, forward: 0.28037 ms, backward: 0.83740 ms}
YAML
    "$STOKER" calibrate box "$work/kernels.yaml" -o "$work/box.yaml" > "$work/out"
    python3 - tests/published/boxes.csv "$work/boxed.csv" "$work/box.yaml" <<'PY'
import csv, sys
with open(sys.argv[1], newline="") as file:
    rows = list(csv.DictReader(file))
with open(sys.argv[2], "w", newline="") as file:
    writer = csv.DictWriter(file, rows[0].keys())
    writer.writeheader()
    for row in rows:
        if row["id"].startswith("simumax"):
            row["set"] = ";".join(filter(None, [row["set"], "box=" + sys.argv[3]]))
            writer.writerow(row)
PY
    "$STOKER" validate tests/published/boxes.csv --rows simumax --json -q > "$work/plain.json"
    "$STOKER" validate "$work/boxed.csv" --json -q > "$work/boxed.json"
    python3 - "$work/plain.json" "$work/boxed.json" <<'PY'
import json, math, sys
def score(path):
    rows = json.load(open(path))["rows"]
    inside = [row["band"]["step_p10_s"] <= row["measured_step_s"] <= row["band"]["step_p90_s"] for row in rows]
    widths = [math.log(row["band"]["step_p90_s"] / row["band"]["step_p10_s"]) / 2 for row in rows]
    return len(rows), sum(abs(row["error"]) for row in rows) / len(rows), sum(inside), sum(widths) / len(rows)
count, plain, _, wide = score(sys.argv[1])
boxed_count, boxed, inside, narrow = score(sys.argv[2])
assert count == boxed_count == 19
assert boxed <= 0.06 and boxed < plain / 2, (plain, boxed)
assert narrow < 0.75 * wide and inside >= 15, (wide, narrow, inside)
PY
}
