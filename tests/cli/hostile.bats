# No value of any key, alone or with others, crashes stoker or hangs it: it answers with 0, 2, 3 or 4.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
}

values=(0 -1 1 2 3 7 64 1e30 abc null '[]' '{}' '[1, 2]' true 1000000 0.5 1e-9 '1 B/s' '1 kB/s'
    '1 EB/s' '1 ns' '10 s' '1e9 s' 15.6T 1B '100 %' 99999999999999999999 '1 TFLOP/s' '1e30 FLOP/s'
    '1 GB' '1e12 GB' unfused fa3 full interleaved gpipe
    zb-h1 zb-h2 zb-v dualpipe dualpipev fp8 bf16 int8 none selective ulysses ring lognormal
    false '1 MB/s' ecmp efa together in-turn tensor after-step pp-dp-ep-cp-tp '{layers: 1}' '{modules: [norm, mlp]}' '{rank: 4}' '[qkv, fc1]'
    '{gradients: bf16}' '{distribution: lognormal, spread: 1}' x.yaml "\`id\`" '../x' "'" '"')

keys=(gpus precision parallel.tp parallel.pp parallel.dp parallel.zero parallel.schedule
    parallel.virtual_stages parallel.microbatch_group parallel.sequence_parallel parallel.layers_per_stage parallel.cp
    parallel.ep parallel.etp parallel.zero_group parallel.reshard parallel.cp_type parallel.order
    parallel.overlap_experts parallel.first_stage_layers parallel.last_stage_layers
    parallel.embedding_slot parallel.loss_slot optimizer optimizer.gradients optimizer.master
    optimizer.moments optimizer.clip offload.optimizer offload.activation_layers routing
    routing.distribution routing.capacity_factor routing.redundant_experts lora lora.rank
    lora.targets batch.global batch.micro batch.sequence_length recompute run.tokens
    run.checkpoint.every run.checkpoint.mode data.workers_per_gpu data.prefetch data.time_per_sample data.bytes_per_token data.memory_per_worker price.gpu_hour
    price.pue seed slow model cluster software model.layers model.hidden model.ffn_hidden model.heads
    model.kv_heads model.head_dim model.vocab model.mlp cluster.gpus_per_node
    cluster.scale_up.bandwidth cluster.scale_up.latency cluster.nics.count cluster.nics.bandwidth
    cluster.nics.latency cluster.fabric.kind cluster.fabric.nodes_per_leaf
    cluster.fabric.oversubscription cluster.fabric.leaves_per_pod
    cluster.fabric.pod_oversubscription cluster.host.cores cluster.storage.write
    cluster.storage.read gpu.sms gpu.memory gpu.memory_bandwidth gpu.host_link gpu.gemm.tile_m
    gpu.gemm.efficiency gpu.peak.bf16 gpu.attention.fa2.forward gpu.launch.time software.attention
    software.bucket.size software.fsdp.prefetch software.interference.nvlink
    software.host.per_kernel software.host.per_step software.memory.overhead
    model.lm_head model.tied_embeddings cluster.scale_up.peer_bandwidth cluster.scale_up.multicast
    cluster.nics.kind cluster.nics.bonded_ports cluster.nics.round_latency cluster.fabric.routing
    software.p2p.calls software.communication.staging software.fsdp.gathers
    software.fsdp.live_parameters software.fsdp.reuse_distance software.fsdp.one_queue
    software.fsdp.queue_sums software.fsdp.sum_bucket
    software.fsdp.reduce_buckets software.fsdp.host_per_rank software.fsdp.quantized_block
    parallel.zero_quantized_weights parallel.zero_local_weights parallel.zero_quantized_gradients
    parallel.zero_local_group parallel.deferred_heads)

# Runs stoker with `count` random settings at once, and those that follow. A minute of CPU is too much.
try_settings() {
    local count=$1 scenario=${2:-quickstart} arguments=("${@:3}") i
    for ((i = 0; i < count; i++)); do
        arguments+=(--set "${keys[RANDOM % ${#keys[@]}]}=${values[RANDOM % ${#values[@]}]}")
    done
    local status=0
    bash -c 'ulimit -t 60; exec "$@"' - "$STOKER" run "scenarios/$scenario.yaml" --no-db "${arguments[@]}" \
        > "$BATS_TEST_TMPDIR/out" 2> "$BATS_TEST_TMPDIR/err" < /dev/null || status=$?
    case $status in
    0 | 2 | 3 | 4) ;;
    *)
        printf 'status %s: %q ' "$status" "${arguments[@]}"
        tail -2 "$BATS_TEST_TMPDIR/err"
        return 1
        ;;
    esac
}

@test "one odd value at a time is answered" {
    RANDOM=1
    for ((n = 0; n < 300; n++)); do try_settings 1; done
}

@test "several odd values at once are answered" {
    RANDOM=2
    for ((n = 0; n < 300; n++)); do try_settings 3; done
}

@test "odd values of a mixture of experts are answered" {
    RANDOM=3
    for ((n = 0; n < 150; n++)); do try_settings 2 mixtral-8x7b-64; done
}

@test "odd values of zero 3 are answered" {
    RANDOM=4
    for ((n = 0; n < 200; n++)); do
        try_settings 2 quickstart --set parallel.tp=1 --set parallel.sequence_parallel=false \
            --set parallel.zero=3 --set recompute=full --set software=deepspeed-zero3-2023 \
            --set parallel.zero_quantized_gradients=true
    done
}

@test "a bucket of a byte is answered" {
    run -4 "$STOKER" run scenarios/quickstart.yaml --no-db --set parallel.tp=1 \
        --set parallel.sequence_parallel=false --set parallel.zero=3 --set recompute=full \
        --set software=deepspeed-zero3-2023 --set software.bucket.size="1 B"
    [[ "$output" == *"for latencies; up to 1e+08 s are simulated"* ]]
}

# Its optimizer alone takes 2,700 s, a layer's kernels more than the 9,223 s that a task can last.
@test "a task of hours is answered" {
    run -0 "$STOKER" run scenarios/quickstart.yaml --no-db -q \
        --set gpu.memory_bandwidth="0.003 GB/s"
    [[ "$output" == *"optimizer  "* ]]
}
