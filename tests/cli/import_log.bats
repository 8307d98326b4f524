# stoker import megatron-log, torchtitan-log: a run for `stoker validate`.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    data=tests/unit/data/import
    work=$BATS_TEST_TMPDIR
}

# field FILE COLUMN: of the line below the names.
field() {
    python3 - "$1" "$2" <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
assert len(rows) == 1
print(rows[0][sys.argv[2]])
PY
}

# is COLUMN VALUE
is() {
    [ "$(field "$work/run.csv" "$1")" = "$2" ] || { echo "$1: $(field "$work/run.csv" "$1")"; false; }
}

# refuse KIND FILE TEXT: exit status 3, nothing on stdout, and TEXT among the messages.
refuse() {
    status=0
    "$STOKER" import "$1" "$2" --gpu h100-sxm5-80gb > "$work/out" 2> "$work/err" || status=$?
    [ "$status" -eq 3 ]
    [ ! -s "$work/out" ]
    grep -qF -- "$3" "$work/err" || { cat "$work/err"; false; }
}

# Steps 1 and 2 are a quarter of six lines, and of a smaller batch. Of 17.0, 16.2, 16.1 and 16.4 s the
# median is 16.3; the second line of step 4 and two cut lines do not count.
@test "Megatron's log is a run: arguments, vocabulary, the median step after warm-up" {
    "$STOKER" import megatron-log "$data/megatron.log" --gpu h100-sxm5-80gb > "$work/run.csv" 2> "$work/err"
    is id megatron
    is framework megatron
    is framework_year 2025
    is measured_step_s 16.3
    is global_batch_sequences 128
    is gpus 16
    is tp 2
    is pp 1
    is zero_stage 1
    is sequence_parallel 1
    is precision bf16
    is family llama
    is kv_heads 8
    is vocab 128256
    is tied_embeddings 0
    is recompute none
    grep -q 'left out: 2 lines, steps 1 to 2; cut off: 2' "$work/err"
}

# tps of steps 20 to 50 are 6100, 6200, 6150, 6300: 2 x 8 x 8192 tokens on 16 GPUs, 8192 each, take
# 8192 (1/6150 + 1/6200) / 2 = 1.32666 s in the median.
@test "torchtitan's log is a run: colours, two ranks, a dictionary over several lines" {
    "$STOKER" import torchtitan-log "$data/torchtitan.log" --name ours > "$work/run.csv" 2> "$work/err"
    is id ours
    is framework torchtitan
    is framework_year 2025
    is model_name llama3-8b
    is gpu h100-96gb-hbm2e
    is gpus 16
    is tp 2
    is micro_batch 2
    is seq_len 8192
    is global_batch_sequences 16
    is zero_stage fsdp-full
    is recompute selective
    is torch_compile 1
    is precision bf16
    is measured_step_s 1.32666
    grep -q 'steps 20 to 50; left out: 2 lines, steps 1 to 10; cut off: 1' "$work/err"
}

@test "lines of both kinds go into one file that validate reads" {
    "$STOKER" import megatron-log "$data/megatron.log" --gpu h100-sxm5-80gb > "$work/runs.csv"
    "$STOKER" import torchtitan-log "$data/torchtitan.log" --no-header --network "3200 Gbps" \
        --gpus-per-node 8 >> "$work/runs.csv"
    run --separate-stderr "$STOKER" validate "$work/runs.csv" --json
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    python3 - <<PY
import json
rows = json.loads('''$output''')["rows"]
assert [row["status"] for row in rows] == ["ok", "ok"]
assert abs(rows[0]["measured_step_s"] - 16.3) < 1e-9
PY
}

@test "options say what the log does not, and overrule it" {
    "$STOKER" import megatron-log "$data/megatron.log" --gpu b200-sxm --model llama3-8b --gpus 32 \
        --gpus-per-node 4 --network "1600 Gbps" --software megatron-2026 --skip 0 > "$work/run.csv"
    is model_name llama3-8b
    is hidden ''
    is gpus 32
    is gpus_per_node 4
    is inter_node_gbps_per_node 1600
    is framework megatron-2026
    is framework_year ''
    grep -q 'steps 1 to 6; of another batch: 2' "$work/run.csv"
}

@test "torchtitan in other years: wps, a mesh of parallelism, JSON, and TOML before the log" {
    cat > "$work/old.log" <<'LOG'
[training]
batch_size = 1   # of a GPU
seq_len = 4096
[experimental]
pipeline_parallel_degree = 2
[activation_checkpoint]
mode = "full"
2024-06-01 10:00:00,000 - root - INFO - Building 3-D device mesh with ['pp', 'dp', 'tp'], [2, 4, 2]
2024-06-01 10:00:00,000 - root - INFO - Model llama2 7B size: 6,738,415,616 total parameters
2024-06-01 10:01:00,000 - root - INFO - step:  1  loss: 12.2386  memory: 5.13GiB(5.4%)  wps: 1,000  mfu: 10.1%
2024-06-01 10:01:10,000 - root - INFO - step: 10  loss: 12.2386  memory: 5.13GiB(5.4%)  wps: 2,048  mfu: 20.1%
LOG
    "$STOKER" import torchtitan-log "$work/old.log" --gpu a100-sxm4-80gb > "$work/run.csv"
    is gpus 16
    is pp 2
    is tp 2
    is model_name llama2-7b
    is recompute full
    is framework_year 2024
    is global_batch_sequences 4
    is measured_step_s 0.5
    cat > "$work/new.log" <<'LOG'
[titan] 2026-02-24 19:46:00,000 - root - INFO - Running with configs: {
  "model": {"name": "llama3", "flavor": "70B", "converters": ["float8"]},
  "training": {"local_batch_size": 4, "global_batch_size": 128, "seq_len": 8192},
  "compile": {"enable": true, "components": ["model", "loss"]}
}
[titan] 2026-02-24 19:46:01,000 - root - INFO - Building device mesh with parallelism: pp=1, dp_replicate=2, dp_shard=8, cp=1, tp=4, ep=1, etp=1
[titan] 2026-02-24 19:46:02,000 - root - INFO - Applied FullAC activation checkpointing to the model
[titan] 2026-02-24 19:46:03,000 - root - INFO - step:  1  loss:  7.6  grad_norm: 26.6  memory: 66.91GiB(37.51%)  tps: 1,024  tflops: 314.71  mfu: 13.99%
LOG
    "$STOKER" import torchtitan-log "$work/new.log" --gpu h100-sxm5-80gb > "$work/run.csv"
    is gpus 64
    is zero_stage hsdp
    is zero_group 8
    is precision fp8
    is torch_compile 1
    is recompute full
    is global_batch_sequences 128
    is measured_step_s 16
}

@test "logs that will not do: where, and what would be right" {
    printf 'nothing\nhere\n' > "$work/none.log"
    refuse megatron-log "$work/none.log" "$work/none.log: error: there is no step in it"
    refuse torchtitan-log "$work/none.log" "a line like 'step: 10  loss: 4.5"
    grep -v tensor_model_parallel_size "$data/megatron.log" > "$work/short.log"
    refuse megatron-log "$work/short.log" 'the log does not tell tensor_model_parallel_size'
    sed 's/world_size \.* 16/world_size .................. many/' "$data/megatron.log" > "$work/word.log"
    refuse megatron-log "$work/word.log" "word.log:29:6: error: world_size is 'many', and no whole number"
    grep -v 'padded vocab' "$data/megatron.log" > "$work/words.log"
    refuse megatron-log "$work/words.log" 'the log does not tell vocab_size'
    grep -v 'device mesh' "$data/torchtitan.log" > "$work/mesh.log"
    refuse torchtitan-log "$work/mesh.log" 'the log does not tell how many GPUs there were'
    sed 's/llama3/ours/g' "$data/torchtitan.log" > "$work/model.log"
    refuse torchtitan-log "$work/model.log" "model 'ours 8B' is not known"
    run "$STOKER" import megatron-log "$data/megatron.log"
    [ "$status" -eq 3 ]
    [[ "$output" == *"the log does not tell its GPU"* ]]
    run "$STOKER" import megatron-log "$data/megatron.log" --gpu h100-sxm5-80gb --skip 6
    [ "$status" -eq 3 ]
    [[ "$output" == *"a smaller --skip leaves some"* ]]
    run "$STOKER" import hf "$data/llama3-8b" --skip 3
    [ "$status" -eq 2 ]
}

@test "a log cut anywhere is read or refused, never more" {
    for size in 0 1 100 700 2000 2900 3000 3400 4000; do
        head -c "$size" "$data/torchtitan.log" > "$work/cut.log"
        status=0
        "$STOKER" import torchtitan-log "$work/cut.log" --gpu h100-sxm5-80gb > "$work/out" 2>&1 || status=$?
        [ "$status" -eq 0 ] || [ "$status" -eq 3 ]
        head -c "$size" "$data/megatron.log" > "$work/cut.log"
        status=0
        "$STOKER" import megatron-log "$work/cut.log" --gpu h100-sxm5-80gb > "$work/out" 2>&1 || status=$?
        [ "$status" -eq 0 ] || [ "$status" -eq 3 ]
    done
}

# changed FROM TO: the log with one argument changed, or one more behind hidden_size.
changed() {
    sed "s/$1/$2/" "$data/megatron.log" > "$work/changed.log"
}

@test "two runs in one log are not one row: the last with a step counts, or --run N" {
    # Out of memory before a step; the real one; one that died at once.
    {
        sed 's/\(micro_batch_size \.*\) 1/\1 4/; s/\(tensor_model_parallel_size \.*\) 2/\1 1/; / iteration /d' "$data/megatron.log"
        echo 'torch.OutOfMemoryError: CUDA out of memory.'
        cat "$data/megatron.log"
        sed 's/\(micro_batch_size \.*\) 1/\1 8/; / iteration /d' "$data/megatron.log"
    } > "$work/three.log"
    "$STOKER" import megatron-log "$work/three.log" --gpu h100-sxm5-80gb > "$work/run.csv" 2> "$work/err"
    is tp 2
    is micro_batch 1
    is measured_step_s 16.3
    grep -qF '3 runs in this log: run 2 is taken, the last that has a step; --run N takes another' "$work/err"
    "$STOKER" import megatron-log "$work/three.log" --gpu h100-sxm5-80gb --run 2 2> "$work/err" | diff - "$work/run.csv"
    [ "$(grep -c 'runs in this log' "$work/err")" -eq 0 ]
    run -3 --separate-stderr "$STOKER" import megatron-log "$work/three.log" --gpu h100-sxm5-80gb --run 4
    [[ "$stderr" == *"there are 3 runs in this log, no run 4"* ]]
    sed '/ iteration /d' "$data/megatron.log" > "$work/none.log"
    refuse megatron-log "$work/none.log" 'there is no step in it'
}

# Steps of the second run begin at a number that the first had, and take another time.
@test "a restart from a checkpoint keeps its own steps" {
    {
        cat "$data/megatron.log"
        sed 's/\(elapsed time per iteration (ms): \)\([0-9]\)/\19\2/' "$data/megatron.log"
    } > "$work/two.log"
    for run in 1 2; do
        "$STOKER" import megatron-log "$work/two.log" --gpu h100-sxm5-80gb --run $run --no-header 2> "$work/err" > "$work/$run"
    done
    "$STOKER" import megatron-log "$data/megatron.log" --gpu h100-sxm5-80gb --no-header --name two 2> "$work/err" | diff - "$work/1"
    run ! diff "$work/1" "$work/2"
}

@test "what shapes the model and has no column is refused, at its place" {
    while IFS='|' read -r argument what; do
        changed '^0:   hidden_size .*' "&\n0:   $argument"
        refuse megatron-log "$work/changed.log" "$what"
        grep -q 'changed.log:13:6: error' "$work/err"
        "$STOKER" import megatron-log "$work/changed.log" --gpu h100-sxm5-80gb --model llama3-8b > "$work/run.csv" 2> "$work/err"
        is model_name llama3-8b
    done <<'T'
hybrid_override_pattern ........... M-M-M*-|the model has state-space layers
hybrid_attention_ratio ............ 0.08|the model has state-space layers
moe_latent_size ................... 512|the model has experts of a latent width
attention_output_gate ............. True|the model has a gate behind its attention
retro_add_retriever ............... True|the model has a retriever
T
    # As they usually are they change nothing.
    changed '^0:   hidden_size .*' '&\n0:   hybrid_override_pattern ... None\n0:   moe_layer_freq ... 1\n0:   multi_latent_attention ... False\n0:   kv_channels ... 128'
    "$STOKER" import megatron-log "$work/changed.log" --gpu h100-sxm5-80gb --name megatron > "$work/run.csv" 2> "$work/err"
    "$STOKER" import megatron-log "$data/megatron.log" --gpu h100-sxm5-80gb 2> "$work/err" | diff - "$work/run.csv"
}

# What has no column and a key stands in the column `set`, from which `validate` takes it: latents of
# DeepSeek-V2's kind, a further token, windows of 127 tokens before and the own one in every other layer.
@test "what shapes the model and has a key is told by it" {
    while IFS='|' read -r arguments set; do
        changed '^0:   hidden_size .*' "&\n0:   $arguments"
        "$STOKER" import megatron-log "$work/changed.log" --gpu h100-sxm5-80gb > "$work/run.csv" 2> "$work/err"
        is set "$set"
        "$STOKER" validate "$work/run.csv" -q --json > "$work/json" 2> "$work/err"
        jq -e '.rows[0].status == "ok"' "$work/json"
    done <<'T'
multi_latent_attention ... True\n0:   q_lora_rank ... 1536\n0:   kv_lora_rank ... 512|model.latent.q_rank=1536; model.latent.kv_rank=512; model.latent.nope_dim=128; model.latent.rope_dim=64; model.latent.value_dim=128
mtp_num_layers ... 1|model.mtp_layers=1
window_size ... (127, 0)\n0:   window_attn_skip_freq ... 2|model.window=128; model.full_every=2
T
}

# Attention of 32 heads of 256 is twice as wide as hidden 4096.
@test "heads that are not hidden / heads wide are told" {
    changed '^0:   hidden_size .*' '&\n0:   kv_channels ... 256'
    "$STOKER" import megatron-log "$work/changed.log" --gpu h100-sxm5-80gb > "$work/run.csv" 2> "$work/err"
    is set model.head_dim=256
    "$STOKER" validate "$work/run.csv" -q --json > "$work/json" 2> "$work/err"
    "$STOKER" import megatron-log "$data/megatron.log" --gpu h100-sxm5-80gb > "$work/plain.csv" 2> "$work/err"
    "$STOKER" validate "$work/plain.csv" -q --json > "$work/plain" 2> "$work/err"
    jq -e --slurpfile plain "$work/plain" '.rows[0].predicted_step_s > 1.02 * $plain[0].rows[0].predicted_step_s' "$work/json"
}

@test "what stands around lines is no part of them: times, ranks, collectors, in any order" {
    "$STOKER" import nccl-tests "$data/all_reduce_2node.log" --cluster h100-3200 > "$work/plain"
    while IFS= read -r before; do
        sed "s#^#$before#" "$data/all_reduce_2node.log" > "$work/all_reduce_2node.log"
        "$STOKER" import nccl-tests "$work/all_reduce_2node.log" --cluster h100-3200 | sed "s#$work#$data#" | diff - "$work/plain"
    done <<'T'
2025-02-12T10:11:12.123456Z 
2025-02-12T10:11:12+01:00 stdout F 
[1,0]<stdout>:
12: 
[rank0]:
worker-0  | 
2025-02-12T10:11:12Z 0: [rank0]: 
T
}

@test "a message of NCCL in a row spoils that row alone" {
    sed '/ 2097152 /s/ float / float n1:1009:1042 [1] NCCL INFO Channel 00\/0 : 1[1] -> 2[2] via P2P /' "$data/all_reduce_2node.log" > "$work/spoilt.log"
    "$STOKER" import nccl-tests "$work/spoilt.log" --cluster h100-3200 --operation all-reduce > "$work/out" 2> "$work/err"
    grep -q 'warning: a message of NCCL fell into this row; it is left out' "$work/err"
    "$STOKER" import nccl-tests "$data/all_reduce_2node.log" --cluster h100-3200 > "$work/plain"
    [ "$(grep -c 'bytes:' "$work/out")" -eq $(($(grep -c 'bytes:' "$work/plain") - 1)) ]
}
