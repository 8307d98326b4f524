# stoker show: a file that reads back as itself, the defaults that hold, and what follows.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
    db=$work/results.db
}

# One figure of a result: value_of KEY FILE [OPTION...]
value_of() {
    "$STOKER" run "${@:2}" --no-db --json -q | sed -nE "s/^ *\"$1\": \"?([^\",]*)\"?,?\$/\\1/p" |
        head -n 1
}

# The file that is shown, without its title line and what follows from it.
file_part() {
    sed -e 1d -e '/^# ----/,$d'
}

# Takes the keys in comments out of their comments.
with_defaults() {
    file_part | sed -E 's/^( *)# ( *[a-z_0-9]+:( .*)?)$/\1\2/'
}

# Says nothing that may be left out.
write_bare_scenario() {
    cat > "$work/bare.yaml" <<'YAML'
model: {layers: 24, hidden: 2048, ffn_hidden: 8192, heads: 16, vocab: 50304, max_positions: 1024,
        source: made up}
cluster:
  gpus_per_node: 8
  scale_up: {kind: nvswitch, bandwidth: 300 GB/s, efficiency: 0.8, latency: 2 us, source: made up}
  nics: {count: 8, bandwidth: 200 Gbps, efficiency: 0.9, latency: 5 us, source: made up}
  fabric: {kind: rail, nodes_per_leaf: 4, hop_latency: 0.5 us, source: made up}
  host: {cores: 64, memory: 1 TB, power: 2 kW, source: made up}
  storage: {write: 100 GB/s, read: 100 GB/s, per_node: 5 GB/s, source: made up}
software: {attention: fa3, gradients: {precision: fp32, source: made up}}
gpu:
  architecture: ampere
  peak: {bf16: 300 TFLOP/s}
  memory: 80 GB
  memory_bandwidth: 2 TB/s
  sms: 108
  tdp: 400 W
  host_link: 31 GB/s
  memory_kernels: {efficiency: 0.8, source: made up}
  launch: {time: 3 us, source: made up}
  gemm: {tile_m: 256, tile_n: 128, efficiency: 0.8, k_half: 100, source: made up}
gpus: 16
batch: {global: 64}
YAML
}

# The same with the sections that are off when they are absent.
write_full_scenario() {
    write_bare_scenario
    cp "$work/bare.yaml" "$work/full.yaml"
    cat >> "$work/full.yaml" <<'YAML'
data: {prefetch: 2}
run: {tokens: 1G, checkpoint: {every: 100 steps}}
YAML
}

@test "what is shown of each scenario reads back as the same run" {
    for file in scenarios/*.yaml; do
        "$STOKER" show "$file" -q > "$work/shown.yaml"
        "$STOKER" show "$work/shown.yaml" > "$work/again.yaml"
        diff <(file_part < "$work/shown.yaml") <(file_part < "$work/again.yaml")
        key=$(sed -nE 's/^# +run_key +//p' "$work/shown.yaml")
        [[ $key =~ ^[0-9a-f]{16}$ ]]
        [ "$key" = "$(sed -nE 's/^# +run_key +//p' "$work/again.yaml")" ]
    done
}

@test "the key that is shown is the key of the run" {
    "$STOKER" show scenarios/quickstart.yaml --set gpus=128 --seed 7 > "$work/shown.yaml"
    key=$(sed -nE 's/^# +run_key +//p' "$work/shown.yaml")
    [ "$key" = "$(value_of key "$work/shown.yaml")" ]
    [ "$key" = "$(value_of key scenarios/quickstart.yaml --set gpus=128 --seed 7)" ]
    [ "$key" != "$(value_of key scenarios/quickstart.yaml)" ]
}

# A default that is not shown, or shown with another value, would change a figure or leave a
# comment behind.
@test "the defaults in comments, written out, predict the same" {
    write_bare_scenario
    write_full_scenario
    for file in "$work/bare.yaml" "$work/full.yaml" scenarios/quickstart.yaml \
        scenarios/llama3-405b-16k.yaml scenarios/study-fabric-70b.yaml; do
        "$STOKER" show "$file" -q | with_defaults > "$work/written.yaml"
        for figure in step_time_s mfu seed peak_bytes days cost_usd energy_kwh goodput; do
            [ "$(value_of "$figure" "$file")" = "$(value_of "$figure" "$work/written.yaml")" ]
        done
        [ -n "$(value_of step_time_s "$work/written.yaml")" ]
        # With everything written there is nothing left to default. The list of network prices is put
        # beside what owning costs, which is written now: its section is written out once more.
        "$STOKER" show "$work/written.yaml" -q | with_defaults > "$work/again.yaml"
        "$STOKER" show "$work/again.yaml" -q | file_part > "$work/rest"
        run ! grep -E '^ *# +[a-z_]+:' "$work/rest"
    done
}

# They mean nothing in a dense model, which the one below is.
@test "a model with experts shows the defaults of its experts" {
    "$STOKER" show mixtral-8x7b -q > "$work/text"
    grep -Eq '^# expert_hidden: 14336 ' "$work/text"
    grep -q '^# shared_experts: 0' "$work/text"
    grep -q '^# dense_layers: 0' "$work/text"
    grep -q '^# expert_every: 1' "$work/text"
    grep -q '^# router_biases: false' "$work/text"
    grep -Eq 'active_parameters +12,879,925,248' "$work/text"
}

# The reader of a section names the keys that it knows when it meets an unknown one.
@test "every key that a reader knows is in the file, or a default that is shown" {
    write_full_scenario
    "$STOKER" show "$work/full.yaml" -q > "$work/text"
    "$STOKER" show "$work/full.yaml" -q --json > "$work/json"
    for section in "" parallel batch optimizer offload run run.checkpoint data price model cluster cluster.fabric \
        software software.overlap software.bucket software.fsdp software.zero software.interference \
        software.fusion software.host software.gemm software.gradients software.communication \
        software.memory_kernels software.attention_kernels software.jitter software.experts \
        software.memory gpu gpu.peak gpu.price \
        gpu.power gpu.attention; do
        path=${section:+$section.}
        known=$("$STOKER" show "$work/full.yaml" --set "${path}qqqqqqqqqqqq=1" 2>&1 |
            sed -n 's/.*known keys: //p' | tr -d ,)
        [ -n "$known" ]
        for key in $known; do
            case $key in
            source | note | provenance | assumed | "$section") continue ;; # no defaults
            global_tokens | sweep | variants | search | require) continue ;;
            experts_per_token | expert_hidden | shared_* | dense_layers | expert_every | \
                expert_groups | group_limit | router_biases) continue ;; # below
            esac
            grep -Eq "\\b$key:" "$work/full.yaml" || grep -q "\"$path$key" "$work/json" ||
                grep -Eq "\(no (${section#*.}\.)?$key[.:]" "$work/text" ||
                { echo "$path$key is not shown"; false; }
        done
    done
}

@test "what a scenario says and what holds instead stand on one line" {
    write_bare_scenario
    "$STOKER" show "$work/bare.yaml" > "$work/shown"
    grep -q '^  attention: fa3  # here: unfused$' "$work/shown" # this GPU has no fused kernel
    grep -q '^  # (no nodes: as many as a scenario asks for)$' "$work/shown"
    grep -q '^#   dp: 16  # the GPUs that are left$' "$work/shown"
    grep -q '^# (no run.tokens: only the step is predicted)$' "$work/shown"
    "$STOKER" show scenarios/quickstart.yaml |
        grep -q '^  dp: auto  # here: 32, the GPUs that are left$'
}

# 126 layers on 16 stages of 8 chunks: none in the first and the last chunk. 2,048 sequences
# over dp 128 are 16 micro-batches; 2,048 x 8,192 tokens; 15.6e12 / 16,777,216 = 929,832.5.
@test "a scenario's layers, batch, steps and network follow" {
    "$STOKER" show llama3-405b-16k > "$work/shown"
    grep -Eq '^# +layers_of_stages +7, 14 x 8, 7$' "$work/shown"
    grep -Eq '^# +microbatches +16$' "$work/shown"
    grep -Eq '^# +tokens_per_step +16,777,216$' "$work/shown"
    grep -Eq '^# +steps +929,833$' "$work/shown"
    grep -Eq '^# +gpu_bytes_per_s +400 Gbps = 50 GB/s$' "$work/shown"
    grep -Eq '^# +node_bytes_per_s +3200 Gbps = 400 GB/s$' "$work/shown"
    grep -Eq '^# +15 +7 +3,053,' "$work/shown" # the last stage
    grep -Eq '^# +gpu.launch.time +3 us +\./models/gpus/h100-sxm5-80gb.yaml:[0-9]+$' "$work/shown"
}

# 405,853,388,800 / 405e9 = 1.0021; 126 x 3,187,703,808 = 401,650,679,808.
@test "a model's parameters by part stand beside the advertised ones" {
    "$STOKER" show llama3-405b > "$work/shown"
    grep -Eq '^# +excess_over_advertised +\+0.21 %$' "$work/shown"
    grep -Eq '^# +126 layers +401,650,679,808 +98.96$' "$work/shown"
    grep -Eq '^# +total +405,853,388,800 +100.00$' "$work/shown"
    grep -Eq '^# +4096 ' "$work/shown"
    grep -Eq '^# +131072 ' "$work/shown"
}

# 312e12 / 2.039e12 = 153.0 FLOP a byte.
@test "a GPU's ridge point follows from its peak and bandwidth" {
    "$STOKER" show gpu a100-sxm4-80gb | grep -Eq '^# +bf16 +312 TFLOP/s .* 153.0 '
    "$STOKER" show gpus a100-sxm4-80gb --set 'gpu.memory_bandwidth=1 TB/s' > "$work/shown"
    grep -Eq '^# +bf16 +312 TFLOP/s .* 312.0 ' "$work/shown"
    grep -q '^memory_bandwidth: 1 TB/s$' "$work/shown"
}

# NICs achieve 0.87 x 50 = 43.5 GB/s. A leaf has 2 nodes x 8 of them: 696 GB/s. A pod has
# 192 leaves and a seventh of their sum up: 19.09 TB/s. Half a pod's 384 x 8 NICs: 66.82 TB/s;
# half of eight pods' up-links: 76.36 TB/s.
@test "a cluster's links and bisection follow, for any number of nodes" {
    "$STOKER" show h100-roce-24k > "$work/shown"
    grep -Eq '^# +NIC out +24,576 +43.5 GB/s ' "$work/shown"
    grep -Eq '^# +leaf up-link +1,536 +696 GB/s ' "$work/shown"
    grep -Eq '^# +pod up-link +8 +19.09 TB/s ' "$work/shown"
    grep -Eq '^# +pod_bisection_bytes_per_s .* = 66.82 TB/s$' "$work/shown"
    grep -Eq '^# +bisection_bytes_per_s .* = 76.36 TB/s$' "$work/shown"
    # Four nodes: half of them have 16 NICs.
    "$STOKER" show h100-roce-24k --nodes 4 > "$work/shown"
    grep -Eq '^# +gpus +32$' "$work/shown"
    grep -Eq '^# +bisection_bytes_per_s .* = 696 GB/s$' "$work/shown"
    run "$STOKER" show h100-roce-24k --nodes 3073
    [ "$status" -eq 2 ]
    [[ "$output" == *"has at most 3072"* ]]
}

@test "every file of the catalogue is shown, and reads back as itself" {
    mkdir -p "$work"/models/{llms,gpus,software,libraries,recipes,failures,spot,optimizers} "$work"/topologies/{nics,prices}
    last=
    for file in models/*/*.yaml topologies/*.yaml topologies/{nics,prices}/*.yaml; do
        "$STOKER" show "$file" > "$work/$file"
        diff <(file_part < "$work/$file") <("$STOKER" show "$work/$file" | file_part)
        [ "${file%/*}" = "$last" ] || "$STOKER" show "$file" --json | grep -q '"schema": "stoker.show/1"'
        last=${file%/*}
    done
}

@test "a name that two kinds share asks which" {
    run "$STOKER" show gb200-nvl72
    [ "$status" -eq 2 ]
    [[ "$output" == *"'gb200-nvl72' is a cluster and a gpu"* ]]
    [[ "$output" == *'`stoker show gpu gb200-nvl72`'* ]]
    "$STOKER" show cluster gb200-nvl72 | grep -q '^cluster: gb200-nvl72$'
}

@test "an unknown name is an input error that names the nearest, of whatever kind" {
    run "$STOKER" show h100-32000
    [ "$status" -eq 3 ]
    [[ "$output" == *"did you mean 'h100-3200'?"* ]]
    run "$STOKER" show scenario quikstart
    [ "$status" -eq 3 ]
    [[ "$output" == *"did you mean 'quickstart'?"* ]]
    run "$STOKER" show nothing-like-it.yaml
    [ "$status" -eq 3 ]
    run "$STOKER" show run 0123456789abcdef --db "$db"
    [ "$status" -eq 1 ] # there is no results file
}

@test "--set of another thing, and --nodes of what is no cluster, are wrong usage" {
    run "$STOKER" show gpu a100-sxm4-80gb --set memory="40 GB"
    [ "$status" -eq 2 ]
    [[ "$output" == *"write --set gpu.KEY=VALUE"* ]]
    run "$STOKER" show gpu a100-sxm4-80gb --nodes 4
    [ "$status" -eq 2 ]
    run "$STOKER" show h100-3200 --nodes 0
    [ "$status" -eq 2 ]
    run "$STOKER" show gpu a100-sxm4-80gb --set gpu.memory=40
    [ "$status" -eq 3 ]
}

@test "a stored run is shown by the beginning of its key" {
    "$STOKER" run scenarios/quickstart.yaml --db "$db" > /dev/null
    key=$(value_of key scenarios/quickstart.yaml)
    "$STOKER" show run "${key:0:6}" --db "$db" > "$work/shown.yaml"
    [ "$(value_of key "$work/shown.yaml")" = "$key" ]
    run "$STOKER" show run 0000 --db "$db"
    [ "$status" -eq 3 ]
}

@test "a title with a quote, a line end and an escape comes back as it was" {
    sed 's/^scenario:.*/scenario: "a \\"b\\" # c\\n\\u001b: d"/' scenarios/quickstart.yaml > "$work/odd.yaml"
    "$STOKER" show "$work/odd.yaml" > "$work/shown.yaml"
    run ! grep -q "$(printf '\033')" "$work/shown.yaml"
    [ "$(value_of key "$work/shown.yaml")" = "$(value_of key "$work/odd.yaml")" ]
}

@test "the document has the file, its defaults and the figures in SI" {
    run "$STOKER" show scenarios/quickstart.yaml --json -q
    [ "$status" -eq 0 ]
    [[ "$output" == *'"kind": "scenario"'* ]]
    [[ "$output" == *'"parallel.dp": "32"'* ]]
    [[ "$output" == *'"tokens_per_step": 2097152'* ]]
    [[ "$output" == *'"gpu_bytes_per_s": 50000000000'* ]]
    [[ "$output" == *'"gpu_by_stage": ['* ]]
}

@test "what does not exist is null, and what holds or not is true or false" {
    "$STOKER" show nccl-2026 --json | jq -ne 'input | .derived.start_of_a_collective |
        any(.ll_s == null) and all(.ll_s != 0 and .ll128_s != 0 and .simple_s != 0) and
        all(.automatic | type == "boolean") and any(.automatic) and any(.automatic | not)'
    "$STOKER" list gpus --json | jq -ne 'input | .gpus | map({key: .name, value: .}) | from_entries |
        .["v100-sxm2-16gb"].peak_bf16_flop_per_s == null and .["gh200-96gb"].gpu_hour_usd == null'
    "$STOKER" list keys --json | jq -ne 'input | .keys | all(.assumed | type == "boolean")'
}

@test "a mapping that is set in place of a file's is not what the file assumes" {
    sed "s/^cluster:.*/cluster: mine/; s/^gpu:/provenance: assumed\n&/; /^  provenance: assumed/d" \
        topologies/h100-800.yaml > "$work/mine.yaml"
    told() {
        "$STOKER" run scenarios/quickstart.yaml --no-db -q --json --set cluster="$work/mine.yaml" "$@" |
            jq -c '[.assumptions[].name | select(startswith("cluster.host") or . == "cluster.storage.per_node")] | sort'
    }
    [ "$(told)" = '["cluster.host.cores","cluster.host.memory","cluster.host.power","cluster.storage.per_node"]' ]
    [ "$(told --set 'cluster.host={cores: 100, memory: 1 TB, power: 1 kW}')" = '["cluster.storage.per_node"]' ]
}

# Data, not code: what is on offer and nothing is predicted of says why, by each of its names.
@test "what is refused says why and what would help" {
    count=0
    for name in $(sed -nE 's/^- name: (.*)/\1/p; s/^  also: \[(.*)\]/\1/p' models/refused.yaml | tr -d ,) MI455X-helios; do
        status=0
        "$STOKER" show "$name" 2> "$BATS_TEST_TMPDIR/err" || status=$?
        [ $status -eq 3 ]
        grep -qE "^error: nothing is predicted of '$name': .*, announced [0-9]{4}-[0-9]{2}: ." "$BATS_TEST_TMPDIR/err"
        grep -qE '^   = help: .+; .*models/refused.yaml:[0-9]+ has the source$' "$BATS_TEST_TMPDIR/err"
        count=$((count + 1))
    done
    [ $count -ge 7 ]
    "$STOKER" show mi455 2>&1 | grep -q 'no dense rate in 16 bits'
    run -3 "$STOKER" show mi4551
    [[ $output == *"there is no model"* ]]
}
