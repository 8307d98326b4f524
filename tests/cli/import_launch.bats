# stoker import launch: what starts a training run, made a scenario. Each that is written is run.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    data=tests/unit/data/import
    work=$BATS_TEST_TMPDIR
    script=$data/launch.sh
}

# launch FILE OPTION...: writes $work/ours.yaml, which runs; what it says in JSON is $work/json.
launch() {
    "$STOKER" import launch "$@" > "$work/ours.yaml" 2> "$work/err" || { cat "$work/err"; false; }
    status=0
    "$STOKER" run "$work/ours.yaml" --db "$work/s.db" --json > "$work/json" 2> "$work/run.err" || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 4 ] || { cat "$work/run.err"; false; }
}

# says LINE...: the scenario has each of them.
says() {
    for line in "$@"; do
        grep -qxF -- "$line" "$work/ours.yaml" || { echo "not there: $line"; cat "$work/ours.yaml"; false; }
    done
}

# refuse STATUS FILE TEXT OPTION...: nothing on stdout, TEXT among the messages.
refuse() {
    run --separate-stderr "$STOKER" import launch "$2" --cluster h100-3200 "${@:4}"
    [ "$status" -eq "$1" ] || { echo "status $status"; echo "$stderr"; false; }
    [ -z "$output" ]
    [[ "$stderr" == *"$3"* ]] || { echo "$stderr"; false; }
}

# 4 nodes of 8 GPUs; hidden 4 x 1,024; 1,000 steps of 128 sequences of 8,192 tokens are 1,048,576,000.
@test "a script of Megatron-LM is a scenario: arrays, texts, defaults, sums, comments, #SBATCH" {
    launch "$script" --cluster h100-3200
    says 'gpus: 32' '  layers: 32' '  hidden: 4096' '  ffn_hidden: 14336' '  heads: 32' '  kv_heads: 8' \
        '  vocab: 128256' '  mlp: swiglu' '  norm: rmsnorm' '  positions: rotary' '  biases: false' \
        '  dropout: false' '  tied_embeddings: false' 'cluster: h100-3200' 'precision: bf16' \
        '  tp: 4' '  pp: 2' '  zero: 1' '  sequence_parallel: true' '  schedule: 1f1b' \
        '  global: 128' '  micro: 1' '  sequence_length: 8192' 'recompute: none' '  tokens: 1048576000'
    grep -qF 'overlap: {dp_gradients: true, dp_parameters: false}' "$work/ours.yaml"
    grep -qF 'rotary: eager' "$work/ours.yaml"
    # What nobody said is told, in the file and to who reads it.
    for what in 'software.overlap.dp_parameters false: overlap_param_gather is not said' 'software megatron-2026'; do
        grep -qF "#   $what" "$work/ours.yaml"
        grep -qF "not said, and assumed: $what" "$work/err"
    done
    # 8.03 B parameters, as Llama 3 8B has them.
    "$STOKER" show "$work/ours.yaml" | grep -q '8,030,261,248'
}

@test "a script is recognised, and that is said" {
    "$STOKER" import "$script" --cluster h100-3200 > "$work/out" 2> "$work/err"
    grep -qF "$script is read as launch" "$work/err"
}

@test "the machine is asked for: a cluster, or a GPU, whose usual cluster is taken and told" {
    run -2 --separate-stderr "$STOKER" import launch "$script"
    [[ "$stderr" == *"--cluster NAME or --gpu NAME is needed: the script does not tell its machine"* ]]
    launch "$script" --gpu b200-sxm
    says 'cluster: b200-3200'
    grep -qF 'cluster b200-3200: of those of the catalogue one with b200-sxm' "$work/err"
    sed 's/#SBATCH --nodes=4/&\n#SBATCH --gres=gpu:h100:8/' "$script" > "$work/gres.sh"
    launch "$work/gres.sh"
    says 'cluster: h100-3200'
}

# A bare command line, in which nothing is a variable: the same scenario but for comments and names.
@test "a command line alone is enough, and =VALUE and -- or _ in names are alike" {
    cat > "$work/line.sh" <<'S'
python -m torch.distributed.launch --nproc_per_node=8 --nnodes=4 pretrain_gpt.py --num-layers=32 --hidden_size 4096 --num-attention-heads 32 --group-query-attention --num-query-groups 8 --ffn-hidden-size 14336 --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear --untie-embeddings-and-output-weights --vocab-size 128256 --attention-dropout 0 --hidden-dropout 0 --bf16 --micro-batch-size 1 --global-batch-size 128 --seq-length 8192 --train-iters 1000 --tensor-model-parallel-size 4 --pipeline_model_parallel_size 2 --sequence-parallel --use-distributed-optimizer --overlap-grad-reduce --no-rope-fusion
S
    launch "$work/line.sh" --cluster h100-3200 --name same
    mv "$work/ours.yaml" "$work/line.yaml"
    launch "$script" --cluster h100-3200 --name same
    diff <(grep -v '^#' "$work/line.yaml") <(grep -v '^#' "$work/ours.yaml")
}

@test "branches are taken as --arguments and --variable say, and what they hang on is told" {
    cat > "$work/branch.sh" <<'S'
SIZE=$1
if [ "$SIZE" = 8B ]; then LAYERS=32; HIDDEN=4096
elif [[ $SIZE == 70B && -z "$SMALL" ]]; then
    LAYERS=80
    HIDDEN=8192
else LAYERS=2; HIDDEN=256; fi
case $PRECISION in
    fp8|mxfp8) FP8="--fp8-format hybrid --fp8-recipe tensorwise" ;;
    *) FP8="" ;;
esac
[ -z "$PP" ] && PP=1
[ -n "$CP" ] || CP=1
GPT_ARGS="--num-layers $LAYERS --hidden-size $HIDDEN --num-attention-heads 32 --vocab-size 32000 --bf16"
GPT_ARGS+=" --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 $FP8"
eval "torchrun --nproc_per_node 8 --nnodes ${NNODES:-2} pretrain_gpt.py ${GPT_ARGS} --pipeline-model-parallel-size $PP --context-parallel-size $CP"
S
    launch "$work/branch.sh" --cluster h100-3200
    says '  layers: 2' '  pp: 1' 'gpus: 16' 'precision: bf16'
    grep -qF 'branches are read as where these are not set: $1, $SMALL, $PRECISION, $PP, $CP' "$work/err" || { cat "$work/err"; false; }
    launch "$work/branch.sh" --cluster h100-3200 --arguments "70B" --variable PRECISION=fp8 --variable PP=4 --variable NNODES=8
    says '  layers: 80' '  hidden: 8192' '  pp: 4' 'gpus: 64' 'precision: fp8'
    grep -qF 'recipe: current' "$work/ours.yaml"
}

@test "what cannot be known is asked for at its place, and only what matters" {
    sed 's/^TP=4.*/TP=$(nvidia-smi -L | wc -l)/' "$script" > "$work/output.sh"
    refuse 3 "$work/output.sh" 'output.sh:5:8: error: --hidden-size is $((TP * 1024)), which cannot'
    sed 's/^TP=4.*//; s/\$((TP \* 1024))/4096/' "$script" > "$work/unset.sh"
    refuse 3 "$work/unset.sh" 'error: --tensor-model-parallel-size is $TP, which cannot be known from the script alone'
    [[ "$stderr" == *"say it: --variable TP=VALUE"* ]]
    [[ "$stderr" != *"OUT"* ]]
    launch "$work/unset.sh" --cluster h100-3200 --variable TP=4
    says '  tp: 4'
    sed 's/#SBATCH.*//; s/--nproc_per_node "\$GPUS"//' "$script" > "$work/gpus.sh"
    refuse 3 "$work/gpus.sh" 'the script does not tell how many GPUs'
    launch "$work/gpus.sh" --cluster h100-3200 --gpus 64
    says 'gpus: 64'
}

@test "experts, latents, windows and layers of both kinds are the model's" {
    sed 's/--ffn-hidden-size 14336/& --num-experts 64 --moe-router-topk 6 --moe-ffn-hidden-size 1408 --moe-shared-expert-intermediate-size 2816 --moe-layer-freq "[0]*1+[1]*31" --moe-router-enable-expert-bias --moe-token-dispatcher-type flex --multi-latent-attention --kv-lora-rank 512 --mtp-num-layers 1/; s/--pipeline-model-parallel-size 2/& --expert-model-parallel-size 4 --expert-tensor-parallel-size 1/' "$script" > "$work/moe.sh"
    launch "$work/moe.sh" --cluster h100-3200
    says '  experts: 64' '  experts_per_token: 6' '  expert_hidden: 1408' '  shared_experts: 2' '  dense_layers: 1' \
        '  router_biases: true' '  latent: {q_rank: 0, kv_rank: 512, nope_dim: 128, rope_dim: 64, value_dim: 128}' \
        '  mtp_layers: 1' '  ep: 4' '  etp: 1'
    grep -qF 'exchange: tokens' "$work/ours.yaml"
    sed 's/--ffn-hidden-size 14336/& --window-size 127,0 --window-attn-skip-freq 2/' "$script" > "$work/window.sh"
    launch "$work/window.sh" --cluster h100-3200
    says '  window: 128' '  full_every: 2'
}

# with ARGUMENTS: the script with more of them.
with() {
    sed "s#--no-rope-fusion#& $1#" "$script" > "$work/more.sh"
}

@test "precision, recomputation, optimizer, pipeline: each argument is its key" {
    while IFS='~' read -r arguments line; do
        with "$arguments"
        launch "$work/more.sh" --cluster h100-3200 --gpus 64
        grep -qF -- "$line" "$work/ours.yaml" || { echo "$arguments: no $line"; cat "$work/ours.yaml"; false; }
    done <<'T'
--fp8-format hybrid --fp8-recipe blockwise~recipe: blockwise
--recompute-granularity full --recompute-method block --recompute-num-layers 3~recompute: {layers: 3}
--recompute-granularity full --recompute-method uniform --recompute-num-layers 1~recompute: full
--recompute-activations~recompute: selective
--recompute-granularity selective --recompute-modules core_attn mlp~recompute: {modules: [core-attention, mlp]}
--num-layers-per-virtual-pipeline-stage 4~  virtual_stages: 4
--num-virtual-stages-per-pipeline-rank 2~  schedule: interleaved
--decoder-first-pipeline-num-layers 12~  first_stage_layers: 12
--pipeline-model-parallel-layout 'Et*14|t*18L'~  layers_per_stage: [14, 18]
--pipeline-model-parallel-layout 'Et*16\|t*16L'~  layers_per_stage: [16, 16]
--pipeline-model-parallel-layout 'Et*5|(t*9,|)*2t*9L'~  layers_per_stage: [5, 9, 9, 9]
--context-parallel-size 2 --cp-comm-type a2a~  cp_type: ulysses
--num-distributed-optimizer-instances 2~  zero_group: 4
--grad-reduce-in-bf16~  gradients: bf16
--use-precision-aware-optimizer --exp-avg-dtype bf16~  moments: bf16
--optimizer-cpu-offload --optimizer-offload-fraction 0.5~  optimizer: 50 %
--tp-comm-overlap~tp_pieces: 4
--attention-backend unfused~attention: unfused
--cuda-graph-impl local --cuda-graph-scope full_iteration~graphs: [iteration]
--save-interval 100 --async-save~  checkpoint: {every: 100 steps, mode: async}
T
}

@test "what is wrong with a run is told where it was written, with what would be right" {
    while IFS='~' read -r arguments status text; do
        with "$arguments"
        refuse "$status" "$work/more.sh" "$text"
    done <<'T'
--context-parallel-size 3~3~32 GPUs are no multiple of tp 4 x pp 2 x cp 3 = 24
--expert-model-parallel-size 3~4~ep 3, but model as-told has no experts
--seq-length 8k~3~--seq-length is '8k', and no whole number
--global-batch-size 1048576~3~a step of 1048576 sequences of 8192 tokens has 8.59e+09 tokens
--global-batch-size 130~4~130
--num-layers 31~3~31
--fp16~3~fp16 and bf16 are both said
--optimizer lamb~3~the optimizer lamb is not simulated
--recompute-granularity half~3~recompute_granularity is 'half'
--recompute-granularity selective --recompute-modules attn~3~there is no module 'attn' that is computed again
--hybrid-override-pattern M-M*~3~the model has state-space layers
--spec ours.layers get_spec~3~the model has layers of a module of its own
--position-embedding-type relative~3~positions of the kind 'relative' are not read
--pipeline-model-parallel-layout 'tt|x'~3~this is no layout of a pipeline
--pipeline-model-parallel-layout 't*30|t|t'~3~3 chunks are no multiple of pp 2
--pipeline-model-parallel-layout 't*30|t'~4~31
T
    with '--seq-length 8k'
    refuse 3 "$work/more.sh" 'more.sh:20:35: error'
    [[ "$stderr" == *'^'* ]] && [[ "$stderr" == *'help: write it without a unit, like 8192'* ]]
    with '--seq-lenght 4096 --manual-gc'
    launch "$work/more.sh" --cluster h100-3200
    grep -qF 'warning: --seq-lenght is no argument that stoker knows, and is left out' "$work/err"
    grep -qF 'did you mean --seq-length?' "$work/err"
    grep -qF 'warning: --manual-gc is not read: garbage that is collected by the step' "$work/err"
    printf 'echo hello\n' > "$work/none.sh"
    refuse 3 "$work/none.sh" 'no command of it starts a training run that is known'
}

# 16 replicas of 4 x 2 sequences are 128; 1,000 x 128 x 4,096 = 524,288,000 tokens.
@test "a command of Hugging Face's Trainer with DeepSpeed is a scenario: a here-document is its file" {
    launch "$data/trainer.sh" --cluster h100-3200
    says 'model: llama3-8b' 'gpus: 16' '  zero: 3' '  global: 128' '  micro: 2' '  sequence_length: 4096' \
        'precision: bf16' 'recompute: full' '  optimizer: 100 %' '  tokens: 524288000' 'software: deepspeed-zero3-2024'
    grep -qF 'overlap: {dp_gradients: true}' "$work/ours.yaml"
    grep -qF 'live_parameters: 1000000000' "$work/ours.yaml"
    grep -qF "not said, and assumed: model llama3-8b of the catalogue is 'meta-llama/Meta-Llama-3-8B'" "$work/err"
    "$STOKER" import "$data/trainer.sh" --cluster h100-3200 2> "$work/err" | diff - "$work/ours.yaml"
    launch "$data/trainer.sh" --cluster h100-3200 --variable STAGE=2
    says '  zero: 2'
}

# The same, in files beside each other.
@test "DeepSpeed's file lies beside the script, or is said; alone it asks for what it lacks" {
    sed -n '/^{/,/^}/p' "$data/trainer.sh" | sed 's/\${STAGE:-3}/3/' > "$work/zero3.json"
    sed '/^cat/,/^JSON/d' "$data/trainer.sh" > "$work/trainer.sh"
    launch "$work/trainer.sh" --cluster h100-3200
    grep -v '^#' "$work/ours.yaml" > "$work/beside"
    launch "$data/trainer.sh" --cluster h100-3200
    grep -v '^#' "$work/ours.yaml" | diff - "$work/beside"
    mkdir "$work/elsewhere"; mv "$work/zero3.json" "$work/elsewhere"
    refuse 3 "$work/trainer.sh" 'trainer.sh:2:8: error: this configuration of DeepSpeed is not beside the script'
    launch "$work/trainer.sh" --cluster h100-3200 --with "$work/elsewhere/zero3.json"
    grep -v '^#' "$work/ours.yaml" | diff - "$work/beside"
    refuse 3 "$work/elsewhere/zero3.json" 'the configuration does not tell how many GPUs'
    [[ "$stderr" == *'--sequence-length N'* && "$stderr" == *'--model NAME'* ]]
    launch "$work/elsewhere/zero3.json" --cluster h100-3200 --gpus 16 --sequence-length 4096 --model llama3-8b
    says '  zero: 3' '  global: 128'
}

@test "TrainingArguments in YAML and JSON, FSDP, LoRA, optimizers of 8 bits" {
    printf '%s\n' 'model_name_or_path: llama-7b' 'cutoff_len: 2048' 'finetuning_type: lora' 'lora_rank: 16' \
        'per_device_train_batch_size: 4' 'bf16: true' 'optim: paged_adamw_8bit' > "$work/sft.yaml"
    launch "$work/sft.yaml" --cluster a100-80gb-800 --gpus 8
    says 'model: llama1-7b' '  zero: 0' '  rank: 16' '  moments: int8' 'recompute: full' 'software: huggingface-2025'
    sed 's/^cutoff_len/stage: dpo\n&/' "$work/sft.yaml" > "$work/dpo.yaml"
    refuse 3 "$work/dpo.yaml" 'dpo.yaml:2:8: error: stage is dpo: the model has others beside it: preferences, rewards' --gpus 8
    echo '{"model_name": "mistralai/Mixtral-8x7B-v0.1", "max_seq_length": 2048, "per_device_train_batch_size": 1,
        "fsdp": "full_shard auto_wrap", "bf16": true, "gradient_checkpointing": true, "attn_implementation": "eager"}' > "$work/args.json"
    launch "$work/args.json" --cluster h100-3200 --gpus 64
    says 'model: mixtral-8x7b' '  zero: 3' '  global: 64'
    grep -qF 'attention: unfused' "$work/ours.yaml"
}

@test "what contradicts in a trainer's arguments is told at its place" {
    more() { sed "s#--max_steps 1000#& $1#; s#\"gradient_clipping\": 1.0#$2#" "$data/trainer.sh" > "$work/more.sh"; }
    more '' '"train_batch_size": 256'
    refuse 3 "$work/more.sh" 'train_batch_size 256 is not 2 x 4 x 16 replicas = 128'
    more '--optim adafactor' '"gradient_clipping": 1.0'
    refuse 3 "$work/more.sh" 'more.sh:19:72: error: the optimizer adafactor is not simulated'
    more '--model_name_or_path ours/13B' '"gradient_clipping": 1.0'
    refuse 3 "$work/more.sh" "the catalogue has no model like 'ours/13B'"
    more '--per_device_train_batch_size two' '"gradient_clipping": "much"'
    refuse 3 "$work/more.sh" "per_device_train_batch_size is 'two', and no whole number"
    [[ "$stderr" == *"gradient_clipping is 'much', and no number"* ]]
    more '' '"zero_optimisation": {}, "sparse_attention": {"mode": "fixed"}'
    launch "$work/more.sh" --cluster h100-3200
    grep -qF 'warning: sparse_attention.mode is not read: sparse attention' "$work/err"
    sed 's/"stage": [^,]*,/"stage": 3,,/' "$data/trainer.sh" > "$work/cut.sh"
    refuse 3 "$work/cut.sh" 'error'
}

# 4 x 8 GPUs; 1,000 x 128 x 8,192 tokens; a format of fp8 without the switch is none.
@test "a YAML of NeMo is a scenario, by Megatron's names" {
    launch "$data/nemo.yaml" --cluster h100-3200
    says 'gpus: 32' '  layers: 32' '  hidden: 4096' '  kv_heads: 8' '  vocab: 128256' '  mlp: swiglu' '  norm: rmsnorm' \
        '  positions: rotary' '  biases: false' '  tied_embeddings: false' '  tp: 4' '  pp: 2' '  virtual_stages: 4' \
        '  zero: 1' '  sequence_parallel: true' '  global: 128' '  sequence_length: 8192' 'precision: bf16' \
        'recompute: selective' '  gradients: bf16' '  tokens: 1048576000'
    grep -qF 'overlap: {dp_gradients: true, dp_parameters: false, tp_pieces: 4}' "$work/ours.yaml"
    "$STOKER" import "$data/nemo.yaml" --cluster h100-3200 2> "$work/err" | diff - "$work/ours.yaml"
    sed 's/fp8: False/fp8: True/' "$data/nemo.yaml" > "$work/fp8.yaml"
    launch "$work/fp8.yaml" --cluster h100-3200
    says 'precision: fp8'
    sed 's/global_batch_size: 128/global_batch_size: 130/' "$data/nemo.yaml" > "$work/wrong.yaml"
    refuse 4 "$work/wrong.yaml" 'wrong.yaml:11:22: error'
    sed 's/tensor_model_parallel_size: 4/tensor_model_parallel_size: 5/' "$data/nemo.yaml" > "$work/wrong.yaml"
    refuse 3 "$work/wrong.yaml" 'wrong.yaml:6:12: error: 32 GPUs are no multiple of tp 5 x pp 2 x cp 1 = 10'
    sed 's/sequence_parallel: true/&\n  ours_hybrid: 3\n  decoder: {num_layers: 3}/' "$data/nemo.yaml" > "$work/wrong.yaml"
    refuse 3 "$work/wrong.yaml" 'model.decoder.num_layers: a model of an encoder and a decoder is not read'
    sed 's/sequence_parallel: true/&\n  ours_hybrid: 3/' "$data/nemo.yaml" > "$work/more.yaml"
    launch "$work/more.yaml" --cluster h100-3200
    grep -qF 'warning: model.ours_hybrid is no argument that stoker knows' "$work/err"
}

# A recipe sets what its overrides do not say; of one that models/launches.yaml does not have what moves
# a step most is asked for.
@test "overrides of a recipe: a command, or lines alone; what an unknown recipe sets is asked for" {
    cat > "$work/bridge.sh" <<'S'
torchrun --nproc_per_node=8 --nnodes=2 run_recipe.py --recipe llama3_8b_performance_config \
    model.tensor_model_parallel_size=2 model.pipeline_model_parallel_size=1 model.sequence_parallel=true \
    train.micro_batch_size=1 train.global_batch_size=64 train.train_iters=100 dataset.sequence_length=8192 \
    mixed_precision=bf16_with_fp8_current_scaling_mixed ddp.overlap_grad_reduce=true ddp.use_distributed_optimizer=true
S
    launch "$work/bridge.sh" --cluster h100-3200
    says 'model: llama3-8b' 'gpus: 16' '  tp: 2' '  zero: 1' '  global: 64' 'precision: fp8' '  tokens: 52428800'
    grep -qF 'what the recipe sets beside the overrides is not read' "$work/err"
    sed 's/mixed_precision=[^ ]*//' "$work/bridge.sh" > "$work/less.sh"
    launch "$work/less.sh" --cluster h100-3200
    says 'precision: bf16'
    sed 's/train.global_batch_size=64//' "$work/bridge.sh" > "$work/less.sh"
    refuse 3 "$work/less.sh" 'less.sh:1:63: error: what the recipe llama3_8b_performance_config sets by itself is not read: global_batch_size'
    printf '%s\n' 'trainer.num_nodes=2' 'trainer.devices=8' 'model.tensor_model_parallel_size=2' '+model.micro_batch_size=1' \
        'model.global_batch_size=64' 'model.encoder_seq_length=8192' 'trainer.precision=bf16-mixed' > "$work/lines.txt"
    launch "$work/lines.txt" --cluster h100-3200 --model llama3-8b
    says 'gpus: 16' '  tp: 2' '  global: 64' 'precision: bf16'
}

# Megatron-Bridge's llama3_70b_pretrain_config: TP 4, PP 4, VP 5, CP 2, 512 sequences of 8,192; an
# override counts before it. What comes from it is told with the file that it is from.
@test "a recipe alone is a scenario: what it sets is taken from the table, and told" {
    recipe='torchrun --nproc_per_node=8 --nnodes=4 run_recipe.py --recipe'
    echo "$recipe llama3_70b_pretrain_config" > "$work/bridge.sh"
    launch "$work/bridge.sh" --cluster h100-3200
    says 'model: llama3-70b' 'gpus: 32' '  tp: 4' '  pp: 4' '  cp: 2' '  virtual_stages: 5' '  zero: 1' \
        '  sequence_parallel: true' '  global: 512' '  micro: 1' '  sequence_length: 8192' 'precision: bf16' 'recompute: none'
    grep -qF 'of the recipe llama3_70b_pretrain_config (https://github.com/NVIDIA-NeMo/Megatron-Bridge, v0.6.0, src/megatron/bridge/recipes/llama/h100/llama3.py): tensor_model_parallel_size 4,' "$work/err"
    "$STOKER" import "$work/bridge.sh" --cluster h100-3200 2> "$work/err" | diff - "$work/ours.yaml"
    echo "$recipe llama3_70b_pretrain_32gpu_h100_bf16_config model.tensor_model_parallel_size=8 model.context_parallel_size=1 train.global_batch_size=64 mixed_precision=bf16_with_fp8_current_scaling_mixed" > "$work/bridge.sh"
    launch "$work/bridge.sh" --cluster h100-3200
    says '  tp: 8' '  cp: 1' '  pp: 4' '  global: 64' 'precision: fp8'
    ! grep -qF 'tensor_model_parallel_size 4' "$work/err" || false
    # None takes back what it sets: 1F1B instead of VP 5, and no recomputation instead of all.
    echo "$recipe llama3_70b_pretrain_config model.virtual_pipeline_model_parallel_size=null" > "$work/bridge.sh"
    launch "$work/bridge.sh" --cluster h100-3200
    says '  pp: 4' '  schedule: 1f1b'
    ! grep -q 'virtual_' "$work/ours.yaml" "$work/err" || false
    echo "run_recipe.py --recipe deepseek_v3_pretrain_config_32nodes model.recompute_granularity=None" > "$work/bridge.sh"
    launch "$work/bridge.sh" --cluster h100-3200 --gpus 256
    says 'recompute: none'
    # What is wrong together is told where it was written, in the table too: 32 GPUs, pp 4 x cp 2.
    echo "$recipe llama3_70b_pretrain_config model.tensor_model_parallel_size=5" > "$work/bridge.sh"
    refuse 3 "$work/bridge.sh" '32 GPUs are no multiple of tp 5 x pp 4 x cp 2 = 40'
    # NeMo 2, with arguments of its factory: EP 8, PP 4, VP 8.
    echo 'nemo llm pretrain --factory "mixtral_8x7b(num_nodes=16, performance_mode=True)" trainer.devices=8' > "$work/nemo.sh"
    launch "$work/nemo.sh" --cluster h100-3200
    says 'model: mixtral-8x7b' 'gpus: 128' '  tp: 1' '  pp: 4' '  ep: 8' '  virtual_stages: 8' '  sequence_length: 4096'
    grep -qF 'what performance_mode sets is not read' "$work/err"
}

# Each of the table, on as many nodes as its smallest replica and its experts need.
@test "every recipe of the table becomes a scenario without a question" {
    count=0
    while read -r name model size; do
        echo "run_recipe.py --recipe $name" > "$work/one.sh"
        launch "$work/one.sh" --cluster h100-3200 --gpus "$size"
        says "model: $model" "gpus: $size"
        ! grep -q 'error\|warning' "$work/err" || false
        "$STOKER" show "$work/ours.yaml" > /dev/null
        count=$((count + 1))
    done < <(python3 - models/launches.yaml << 'P'
import re, sys
for part in open(sys.argv[1]).read().split("  - recipe: ")[1:]:
    size = dict.fromkeys(("tensor", "pipeline", "context", "expert"), 1)
    for axis in size:
        found = re.search(axis + r"_model_parallel_size: (\d+)|" + axis + r"_parallel_size: (\d+)", part)
        size[axis] = int(found.group(1) or found.group(2)) if found else 1
    stage = size["tensor"] * size["context"]
    dp = max(1, -(-size["expert"] // stage))
    print(part.split()[0], re.search(r"model: (\S+)", part).group(1), stage * size["pipeline"] * max(dp, -(-8 // (stage * size["pipeline"]))))
P
    )
    [ "$count" -ge 20 ]
}

# 8 x 2 GPUs, 8 replicas of 2 sequences: 10,000 x 16 x 8,192 = 1,310,720,000 tokens.
@test "a TOML of torchtitan is a scenario, by the reader of its logs" {
    launch "$data/torchtitan.toml" --cluster h100-3200
    says 'model: llama3-8b' 'gpus: 16' '  tp: 2' '  zero: 3' '  sequence_parallel: true' '  global: 16' '  micro: 2' \
        '  sequence_length: 8192' 'precision: bf16' 'recompute: full' 'software: torchtitan-2025' '  tokens: 1310720000' \
        '  checkpoint: {every: 500 steps, mode: async}'
    grep -qF 'overlap: {tp_backward: false}' "$work/ours.yaml"
    "$STOKER" import "$data/torchtitan.toml" --cluster h100-3200 2> "$work/err" | diff - "$work/ours.yaml"
    sed 's/shard_degree = 8/shard_degree = -1/; s/"async"/"disabled"/; s/^enable = true/enable = false/' "$data/torchtitan.toml" > "$work/open.toml"
    refuse 3 "$work/open.toml" 'the log does not tell how many GPUs there were'
    launch "$work/open.toml" --cluster h100-3200 --gpus 64
    says 'gpus: 64' '  global: 64'
    grep -qF 'not said, and assumed: kernels that are not fused: compile.enable is not true' "$work/err"
    sed 's/"8B"/"9B"/' "$data/torchtitan.toml" > "$work/model.toml"
    refuse 3 "$work/model.toml" "model.toml:4:1: error: model 'llama3 9B' is not known"
    sed 's/tensor_parallel_degree = 2/tensor_parallel_degree = 3/' "$data/torchtitan.toml" > "$work/heads.toml"
    refuse 4 "$work/heads.toml" 'heads.toml:14:1: error'
    sed 's/seq_len = 8192/seq_len = "8k"\nsequence = 3/' "$data/torchtitan.toml" > "$work/unit.toml"
    refuse 3 "$work/unit.toml" "training.seq_len is '8k', and no whole number"
    # A log with its configuration before it is a log.
    cat "$data/torchtitan.toml" "$data/torchtitan.log" > "$work/both.log"
    "$STOKER" import "$work/both.log" > "$work/out" 2> "$work/err"
    grep -qF 'both.log is read as torchtitan-log' "$work/err"
}

# As on Slurm: one task a node starts the launcher, in single quotes, with what Slurm says of its nodes.
@test "a command in single quotes is expanded by its shell, at the places of what it takes" {
    cat > "$work/slurm.sh" <<'S'
#SBATCH --nodes=16
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:4
LAUNCHER="python -m torch.distributed.launch --nproc_per_node 4 --nnodes $SLURM_NNODES"
CMD="pretrain_gpt.py --num-layers 40 --hidden-size 5120 --num-attention-heads 32 --vocab-size 50257 --bf16
    --seq-length 2048 --micro-batch-size 1 --global-batch-size 1024 --train-samples 300_000_000 --tensor-model-parallel-size 2
    --pipeline-model-parallel-size 4"
srun --jobid $SLURM_JOBID bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' 2>&1 | tee log
S
    launch "$work/slurm.sh" --cluster a100-80gb-800
    says 'gpus: 64' '  layers: 40' '  tp: 2' '  tokens: 614400000000'
    sed 's/--pipeline-model-parallel-size 4/--pipeline-model-parallel-size 5/' "$work/slurm.sh" > "$work/wrong.sh"
    refuse 3 "$work/wrong.sh" 'wrong.sh:4:63: error: 64 GPUs are no multiple of tp 2 x pp 5 x cp 1 = 10'
    sed 's/.LAUNCHER --node_rank .SLURM_PROCID/python -u/; s/ntasks-per-node=1/ntasks-per-node=4/' "$work/slurm.sh" > "$work/tasks.sh"
    launch "$work/tasks.sh" --cluster a100-80gb-800
    says 'gpus: 64'
}

@test "what Megatron-DeepSpeed names otherwise, and a command's output with options in it" {
    sed 's/--group-query-attention --num-query-groups 8/--num-key-value-heads 16/; s/--use-distributed-optimizer/--deepspeed --zero-stage 1 --ds-sequence-parallel-size 2/' \
        "$script" | sed '$s/.*/    --no-rope-fusion --local-rank $(nvidia-smi --query-gpu=index --format=csv)/' > "$work/ds.sh"
    launch "$work/ds.sh" --cluster h100-3200 --software megatron-2026
    says '  kv_heads: 16' '  cp: 2' '  cp_type: ulysses' '  zero: 1'
    run ! grep -F 'query-gpu' "$work/err"
}

# line HEAD TAIL: the words of HEAD, then a command of 16 GPUs with TAIL.
line() {
    printf '%s\n' "$1" "torchrun --nproc_per_node 8 --nnodes \${NODES:-2} pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --vocab-size 32000 --bf16 --seq-length 4096 --micro-batch-size 1 --global-batch-size 64 ${2:---tensor-model-parallel-size \$TP}" > "$work/line.sh"
}

# What bash makes of each, by `bash -c 'HEAD; echo $TP'`.
@test "tests of patterns and of sums, lists, items and what is unset are as bash has them" {
    while IFS='@' read -r head tp; do
        line "$head"
        launch "$work/line.sh" --cluster h100-3200
        says "  tp: $tp" || { echo "$head"; false; }
        run ! grep -q 'is not known' "$work/err"
    done <<'T'
M=llama3-8b; if [[ $M =~ 70b ]]; then TP=8; else TP=2; fi@2
M=llama3-8b; if [[ $M =~ ^llama.*-(7b|8b)$ ]]; then TP=4; else TP=2; fi@4
M=llama3-8b; if [[ $M =~ ^8b && -n $M ]]; then TP=4; else TP=2; fi@2
M=llama3-70b; if [[ $M == *70b* ]]; then TP=8; else TP=2; fi@8
M=llama3-70b; if [[ $M != *70b* ]]; then TP=8; else TP=2; fi@2
N=4; if (( N > 1 )); then TP=4; else TP=1; fi@4
N=4; if (( N > 8 || N == 2 )); then TP=4; elif (( N*2 >= 8 && N < 5 )); then TP=8; fi@8
N=1; TP=1; (( N > 1 )) && TP=4@1
TP=2; ((TP*=2))@4
TP=2; ((TP++)); let TP=TP+1@4
M=b; [ $M = a ] && TP=2 || TP=8@8
M=a; [ $M = a ] && TP=2 || TP=8@2
TP=1; [ x = y ] && echo no || echo yes && TP=4@4
A=(1 2 4 8); TP=${A[2]}@4
A=(1 2 4 8); I=1; TP=${A[I+2]:-1}@8
A=(1 2 4 8); TP=${A[-1]}@8
A=(1 2 4 8); TP=$A@1
M=2; if [[ $M < 1 ]]; then TP=8; else TP=2; fi@2
T=8; TP=2; unset T; [ -n "$T" ] && TP=8@2
T
    line 'M=llama3-8b; TP=2; if [[ $M =~ [0-9]+b ]]; then TP=8; fi'
    launch "$work/line.sh" --cluster h100-3200
    grep -qF 'line.sh:1:29: warning: whether this holds is not known, and it is read as where it does not' "$work/err" || { cat "$work/err"; false; }
    line 'TP=2; ((TP*=$(nproc)))'
    refuse 3 "$work/line.sh" '--tensor-model-parallel-size is $TP, which cannot be known'
    line 'declare -A A=([8b]=2 [70b]=8); M=8b; TP=${A[$M]}'
    refuse 3 "$work/line.sh" '--tensor-model-parallel-size is $A, which cannot be known'
}

# 4 nodes of 8.
@test "the nodes of a job's head, with and without a blank" {
    for head in '#SBATCH -N4' '#SBATCH -N 4' '#SBATCH --nodes 4' '#SBATCH --nodes=4' '#SBATCH -p x -N4'; do
        line "$head" '--tensor-model-parallel-size 2'
        sed 's/torchrun.*{NODES:-2}/srun python/; 1a #SBATCH --ntasks-per-node=8' "$work/line.sh" > "$work/job.sh"
        launch "$work/job.sh" --cluster h100-3200
        says 'gpus: 32'
        sed 's/\${NODES:-2}/$SLURM_NNODES/' "$work/line.sh" > "$work/job.sh"
        launch "$work/job.sh" --cluster h100-3200
        says 'gpus: 32'
    done
    while read -r head gpus; do
        line "#SBATCH $head" '--tensor-model-parallel-size 2'
        sed 's/torchrun.*{NODES:-2}/srun python/; 1a #SBATCH --nodes=2' "$work/line.sh" > "$work/job.sh"
        launch "$work/job.sh" --cluster h100-3200
        says "gpus: $gpus"
    done << 'END'
--gres=gpu:4 8
--gres=gpu:h100:4 8
--gres=gpu:h100 2
--gres=gpu 2
--gres=craynetwork:1,gpu:4 8
--gpus-per-node=4 8
--gpus-per-node=h100:4 8
END
}

# 2 nodes of 8; 16 replicas of 2 sequences, four times where it is said.
@test "accelerate's options and its file are FSDP, DeepSpeed and a precision" {
    accelerated() {
        echo "accelerate launch $1 train.py --model_name_or_path meta-llama/Meta-Llama-3-8B --max_seq_length 4096 --per_device_train_batch_size 2" >> "$work/train.sh"
        launch "$work/train.sh" --cluster h100-3200
        rm "$work/train.sh"
    }
    accelerated '--use_fsdp --fsdp_sharding_strategy FULL_SHARD --mixed_precision bf16 --num_machines 2 --num_processes 16'
    says 'gpus: 16' 'precision: bf16' '  zero: 3' '  global: 32'
    accelerated '--use_deepspeed --zero_stage 2 --gradient_accumulation_steps 4 --mixed_precision fp16 --num_processes 16'
    says 'precision: fp16' '  zero: 2' '  global: 128' 'software: deepspeed-zero3-2024'
    printf '%s\n' 'distributed_type: FSDP' 'fsdp_config:' '  fsdp_version: 2' '  fsdp_reshard_after_forward: false' \
        '  fsdp_activation_checkpointing: true' 'mixed_precision: bf16' 'num_processes: 16' > "$work/fsdp.yaml"
    accelerated '--config_file conf/fsdp.yaml --num_processes 32'
    says 'gpus: 32' 'precision: bf16' '  zero: 2' 'recompute: full'
    { echo 'cat > here.yaml <<E'; sed 's/_forward: false/_forward: true/' "$work/fsdp.yaml"; echo E; } > "$work/train.sh"
    accelerated '--config_file here.yaml'
    says 'gpus: 16' 'precision: bf16' '  zero: 3' 'recompute: full'
    echo 'accelerate launch --config_file no.yaml train.py --model_name_or_path llama3-8b --max_length 4096 --bf16' > "$work/no.sh"
    refuse 3 "$work/no.sh" 'no.sh:1:33: error: this configuration of accelerate is not beside the script'
    accelerated '--num_processes 16'
    grep -qF "accelerate's own default_config.yaml is not read" "$work/err"
}

@test "a list of hosts is no single node" {
    sed 's/^deepspeed /&--hostfile hosts /; s/--num_nodes[= ][^ ]*//' "$data/trainer.sh" > "$work/hosts.sh"
    refuse 3 "$work/hosts.sh" 'this list of hosts is not read, and tells how many there are'
    launch "$work/hosts.sh" --cluster h100-3200 --gpus 16
    says 'gpus: 16'
}

@test "several runs, a loop's values, a command's answer, arguments of no command are told" {
    told() {
        launch "$work/line.sh" --cluster h100-3200
        says "  tp: $1"
        grep -qF "$2" "$work/err" || { cat "$work/err"; false; }
    }
    line 'for TP in 1 2 4; do'
    echo done >> "$work/line.sh"
    told 1 'line.sh:1:5: note: of this loop the first is read: TP=1'
    line 'TP=2; if nvidia-smi | grep -q H100; then TP=8; fi'
    told 2 'line.sh:1:10: warning: whether this holds is not known'
    line 'TP=2; if true; then TP=8; fi'
    told 8 ''
    line 'TP=2'
    tail -n 1 "$work/line.sh" | sed 's/size .TP/size 4 --swiglu/' >> "$work/line.sh"
    told 4 'line.sh:3:1: note: 2 commands of it start a training run; read is this one'
    line 'TP=2' '--tensor-model-parallel-size $TP \
  # --swiglu \
  --pipeline-model-parallel-size 2'
    told 2 'line.sh:4:3: warning: these arguments are no command'
    says '  pp: 1'
}

@test "a function that nothing calls says nothing of the run" {
    for head in 'small() { TP=1; }; large() { TP=8; }; small' \
        'function small { TP=1; }; function large() { { TP=8; }; if true; then TP=2; fi; }; small'; do
        line "$head"
        launch "$work/line.sh" --cluster h100-3200
        says '  tp: 1'
    done
    line $'small() {\n  TP=1\n}\n# or large ones\nlarge()\n{\n  TP=8\n}\n"$@"'
    launch "$work/line.sh" --cluster h100-3200 --arguments large
    says '  tp: 8'
    launch "$work/line.sh" --cluster h100-3200 --arguments small
    says '  tp: 1'
}

# By scans back from each place of its name it would outlast the runner's limit.
@test "a function's name 800,000 times in one line" {
    line "small() { TP=\${TP:-1}; }
TP=2
# $(printf '%.0s small' {1..800000})
: $(printf '%.0s smaller' {1..100000})"
    launch "$work/line.sh" --cluster h100-3200
    says '  tp: 2'
    line "small() { TP=4; }
: $(printf '%.0s smaller' {1..100000})
true;small"
    launch "$work/line.sh" --cluster h100-3200
    says '  tp: 4'
}

@test "a reference in a YAML of NeMo is a value, or is told; a configuration by name is not read" {
    sed 's/tensor_model_parallel_size: 4/tensor_model_parallel_size: ${oc.env:TP,2}/' "$data/nemo.yaml" > "$work/env.yaml"
    launch "$work/env.yaml" --cluster h100-3200
    says '  tp: 2'
    launch "$work/env.yaml" --cluster h100-3200 --variable TP=4
    says '  tp: 4'
    launch "$work/env.yaml" --cluster h100-3200 --variable 'TP=${oc.env:TP}' # not for ever
    grep -qF "tensor_model_parallel_size is not read: it is another key's" "$work/err"
    sed -i 's/,2}/}/' "$work/env.yaml"
    refuse 3 "$work/env.yaml" 'tensor_model_parallel_size is $TP, which cannot be known'
    sed 's/tensor_model_parallel_size: 4/tensor_model_parallel_size: ${ours.tp}/' "$data/nemo.yaml" > "$work/other.yaml"
    launch "$work/other.yaml" --cluster h100-3200
    grep -qF "warning: model.tensor_model_parallel_size is not read: it is another key's" "$work/err" ||
        grep -qF "tensor_model_parallel_size is not read: it is another key's" "$work/err"
    echo 'python pretraining.py --config-name=ours trainer.num_nodes=4 trainer.devices=8 model.micro_batch_size=1 model.num_layers=2' > "$work/named.sh"
    refuse 3 "$work/named.sh" 'what the recipe ours sets by itself is not read: tensor_model_parallel_size'
}

@test "a file of FSDP's own is told to be not read" {
    echo 'torchrun --nproc_per_node 8 train.py --model_name_or_path meta-llama/Meta-Llama-3-8B --max_seq_length 4096 --bf16 --fsdp full_shard --fsdp_config f.json' > "$work/fsdp.sh"
    launch "$work/fsdp.sh" --cluster h100-3200
    grep -qF 'warning: fsdp_config is not read' "$work/err" || grep -qF -- '--fsdp_config is not read' "$work/err"
}
