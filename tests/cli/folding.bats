# Every shipped scenario of up to 1,024 GPUs, simulated GPU by GPU, says what it says folded.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
}

# The document of scenario `$1` without `engine`, which counts what was simulated.
document() {
    local scenario=$1
    shift
    "$STOKER" run "$scenario" --no-db --json "$@" | sed '/^ *"engine": {/,/^ *}/d'
}

simulated() {
    "$STOKER" run "$1" --no-db --json | sed -n 's/^ *"ranks_simulated": \([0-9]*\).*/\1/p' | head -n 1
}

@test "each shipped scenario is the same to the byte, folded or GPU by GPU" {
    compared=0
    folded=0
    for scenario in scenarios/*.yaml; do
        gpus=$(sed -n 's/^gpus: *\([0-9]*\).*/\1/p' "$scenario")
        [ "$gpus" -le 1024 ] || continue
        document "$scenario" > "$work/folded"
        document "$scenario" --fold off > "$work/plain"
        grep -q '"step_time_s": [0-9]' "$work/folded"
        cmp "$work/folded" "$work/plain" || { echo "$scenario"; false; }
        compared=$((compared + 1))
        [ "$(simulated "$scenario")" -ge "$gpus" ] || folded=$((folded + 1))
    done
    # So many there are at least, and folding found something to fold in nearly all.
    [ "$compared" -ge 25 ]
    [ "$folded" -ge 20 ]
}

# Every GPU of 16,384 is 31 MB of actors, channels and routes, and as much of what runs them: 68 MB with
# the program itself, where a second system of all GPUs, folded for the critical path, made it 87 MB.
@test "the path of a run of every GPU needs no second system of every GPU" {
    cat > "$work/every.yaml" <<'YAML'
scenario: Llama-3 405B on 16,384 H100
model: llama3-405b
cluster: h100-3200
gpus: 16384
software: megatron-2024
parallel: {tp: 8, pp: 16, zero: 1, sequence_parallel: true, schedule: 1f1b}
batch: {global: 2048, micro: 1, sequence_length: 8192}
recompute: selective
YAML
    document "$work/every.yaml" > "$work/folded"
    "$STOKER" run "$work/every.yaml" --no-db --json --fold off > "$work/every.json"
    sed '/^ *"engine": {/,/^ *}/d' "$work/every.json" | cmp "$work/folded" -
    grep -q '"ranks_simulated": 16384' "$work/every.json"
    peak=$(sed -n 's/^ *"host_peak_bytes": \([0-9]*\).*/\1/p' "$work/every.json")
    [ "$peak" -le 76000000 ] || { echo "$peak"; false; }
}

# All layers of a model in 16 bits beside fp8 are a step in bf16: the same kernels and messages, to the
# nanosecond, and the same memory. One at each end is a step between, nearer to fp8: of 32 layers 30 are.
@test "fp8 with all layers in 16 bits is bf16" {
    for more in "--set software=megatron-2025" \
        "--set software=megatron-2025 --set parallel.pp=2 --set parallel.cp=2 --set parallel.sequence_parallel=true" \
        "--set software=torchtitan-2025 --set parallel.zero=3" \
        "--set software=megatron-2025 --set model=mixtral-8x7b --set parallel.ep=8"; do
        document scenarios/quickstart.yaml $more --set precision=bf16 > "$work/bf16"
        document scenarios/quickstart.yaml $more --set precision=fp8 --set software.fp8.first_layers=16 \
            --set software.fp8.last_layers=16 > "$work/high"
        for figure in step_time_s peak_bytes weights activations; do
            grep "^ *\"$figure\": [0-9]" "$work/bf16" > "$work/a"
            grep "^ *\"$figure\": [0-9]" "$work/high" > "$work/b"
            [ -s "$work/a" ]
            cmp "$work/a" "$work/b" || { echo "$more: $figure"; false; }
        done
    done
    step() {
        document scenarios/quickstart.yaml --set software=megatron-2025 "$@" |
            sed -n 's/^ *"step_time_s": \([0-9.]*\).*/\1/p' | head -n 1
    }
    low=$(step --set precision=fp8)
    ends=$(step --set precision=fp8 --set recipe=megatron-bridge-fp8)
    high=$(step --set precision=bf16)
    awk -v low="$low" -v ends="$ends" -v high="$high" \
        'BEGIN { share = (ends - low) / (high - low); exit !(share > 1 / 20 && share < 1 / 14) }'
}
