# stoker import: kinds told by the file, steps of many trainers, InfiniBand's fabric, Slurm's accounts.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    data=tests/unit/data/import
    out=$BATS_TEST_TMPDIR
}

has() {
    grep -qF -- "$1" "$out/ours.yaml" || { cat "$out/ours.yaml" "$out/told"; false; }
}

# refuse STATUS TEXT ARGUMENT...
refuse() {
    run "-$1" --separate-stderr "$STOKER" import "${@:3}"
    [[ "$stderr" == *"$2"* ]] || { echo "$stderr"; false; }
    [ -z "$output" ]
}

@test "a file without a kind is read as what it is, and that is said" {
    options=(--gpu h100-sxm5-80gb --gpus-per-node 8 --nics 8 --nic-bandwidth "400 Gbps" --oversubscription 2)
    while read -r file kind given; do
        words=()
        [ "$given" = - ] || words=("${options[@]:0:$given}")
        "$STOKER" import "$data/$file" "${words[@]}" > "$out/found" 2> "$out/told"
        grep -qF "$file is read as $kind" "$out/told"
        "$STOKER" import "$kind" "$data/$file" "${words[@]}" 2> "$out/told" | diff - "$out/found"
    done <<'T'
h100.xml nccl-topo -
regular.conf slurm-topology 10
all_reduce_2node.log nccl-tests -
alltoall.json nccl-tests -
megatron.log megatron-log 2
torchtitan.log torchtitan-log -
llama3-8b/config.json hf -
T
    echo 'nothing of the kind' > "$out/what.txt"
    refuse 3 'what kind of file this is cannot be told' "$out/what.txt"
    refuse 2 '--gpu says nothing to hf' "$data/llama3-8b/config.json" --gpu h100-sxm5-80gb
}

# steps LINE: twelve steps, the first 60 times as long, of a printf format for number, seconds, ms and steps a second.
steps() {
    for ((i = 1; i <= 12; i++)); do
        seconds=$([ "$i" -eq 1 ] && echo 306.6 || echo 5.11)
        python3 -c 'import sys; i, s = int(sys.argv[2]), float(sys.argv[3]); print(sys.argv[1].format(i=i, s=s, ms=1e3 * s, per=1 / s))' "$1" "$i" "$seconds"
    done
}

@test "the step of each trainer whose lines are known, whatever stands around them" {
    while IFS='|' read -r trainer line; do
        for before in '' '2025-02-12T10:11:12.123456Z ' '[rank0]:'; do
            steps "${line//;/|}" | sed "s/^/$before/" > "$out/log"
            "$STOKER" import step-log "$out/log" > "$out/ours.yaml" 2> "$out/told"
            has "a log of $trainer: median of 9 lines"
            has '  step_time: 5.11 s'
        done
    done <<'T'
MaxText|completed step: {i}, seconds: {s:.3f}, TFLOP/s/device: 412.300, Tokens/s/device: 6412.524, total_weights: 1048576, loss: 9.100
NeMo|Training epoch 0, iteration {i}/99 ; lr: 4.5e-06 ; global_batch_size: 512 ; global_step: {i} ; train_step_timing in s: {s:.3f} ; consumed_samples: 512
NeMo 1|Epoch 0: : 1%; ; {i}/1000 [00:51<1:25, v_num=, reduced_train_loss=10.8, global_step={i}.000, train_step_timing in s={s:.3f}]
nanoGPT|iter {i}: loss 4.5123, time {ms:.2f}ms, mfu 30.12%
llm.c|step {i:4d}/19560 ; loss 7.05 (+nanz); norm 1.2 (+nanz); lr 1.2e-06 ; {ms:.2f} ms ; 55.6% bf16 MFU ; 102600 tok/s
nanotron|iteration: {i} / 100 ; consumed_tokens: 1.05M ; elapsed_time_per_iteration_ms: {s:.3f}K ; tokens_per_sec: 205K
DeepSpeed|steps: {i} loss: 7.1234 iter time (s): {s:.3f} samples/sec: 100.196
Composer|[batch={i}/1000]: Train throughput/batches_per_sec: {per:.8f}
OLMo-core|[step={i}/1000,epoch=1] train/CE loss=2.1 throughput/device/BPS={per:.8f} throughput/device/TPS=5,123
fms-fsdp|current step time: {s:.3f}
MLPerf|:::MLLOG {{"time_ms": 1700000000000, "event_type": "POINT_IN_TIME", "key": "tracked_stats", "value": {{"train_step_time": {s:.3f}, "loss": 2.1}}, "metadata": {{"step": {i}}}}}
a progress bar|{{'loss': 2.1}}  1%;1         ; {i}/500 [00:51<41:45,  {s:.2f}s/it]
T
}

@test "a progress bar that overwrites itself has a step at each return; NeMo's batch is kept" {
    steps ' 1%| | {i}/500 [00:51<41:45,  {s:.2f}s/it, loss=2.1]' | tr '\n' '\r' > "$out/log"
    "$STOKER" import step-log "$out/log" > "$out/ours.yaml" 2> "$out/told"
    has 'step_time: 5.11 s'
    steps 'global_batch_size: 512 | global_step: {i} | train_step_timing in s: {s:.3f} | x' > "$out/log"
    "$STOKER" import step-log "$out/log" > "$out/ours.yaml" 2> "$out/told"
    has 'set: {batch.global: 512}'
    cat scenarios/quickstart.yaml "$out/ours.yaml" > "$out/scenario.yaml"
    sed -i 's/  set: .*/  set: {}/' "$out/scenario.yaml"
    "$STOKER" run "$out/scenario.yaml" --no-db -q --json | jq -ne 'input | .anchor.measured_step_s == 5.11'
    refuse 3 'there is no step in it that is known' step-log "$data/h100.xml"
}

@test "--anchor takes such a log, where its steps are of the scenario's batch" {
    steps 'completed step: {i}, seconds: {s:.3f}, TFLOP/s/device: 412.3, loss: 9.1' > "$out/maxtext.log"
    "$STOKER" run scenarios/quickstart.yaml --no-db -q --json --anchor "$out/maxtext.log" > "$out/json"
    jq -e '.anchor.measured_step_s == 5.11 and (.step_time_s - 5.11 | . < 1e-6 and . > -1e-6)' "$out/json"
    steps 'global_batch_size: 512 | global_step: {i} | train_step_timing in s: {s:.3f} | x' > "$out/nemo.log"
    run -3 --separate-stderr "$STOKER" run scenarios/quickstart.yaml --no-db -q --anchor "$out/nemo.log"
    [[ "$stderr" == *"the log's steps are of 512 sequences, the scenario's of 256"*"set: {batch.global: 512}"* ]]
    { cat scenarios/quickstart.yaml; echo "anchor: {run: $out/nemo.log, set: {batch.global: 512}}"; } > "$out/s.yaml"
    "$STOKER" run "$out/s.yaml" --no-db -q --json > "$out/json"
    jq -e '.anchor.measured_step_s == 5.11 and .step_time_s < 4' "$out/json"
}

# ib LEAVES NODES_OF_LEAF NICS SPINES CABLES RATE RAILS: NICs of a node on one leaf, or (RAILS 1) one on each of as many.
ib() {
    python3 - "$@" <<'PY'
import sys
leaves, nodes, nics, spines, cables, rate, rails = sys.argv[1:8]
leaves, nodes, nics, spines, cables, rails = map(int, (leaves, nodes, nics, spines, cables, rails))
for leaf in range(leaves):
    print(f'vendid=0x2c9\nswitchguid=0xb{leaf}(b{leaf})\nSwitch\t65 "S-b{leaf}"\t\t# "MF0;leaf{leaf}:MQM9700/U1" enhanced port 0 lid 1 lmc 0')
    port = 1
    for node in range(nodes):
        for nic in range(1 if rails else nics):
            name = f'n{node + (leaf // nics if rails else leaf) * nodes} mlx5_{leaf % nics if rails else nic}'
            print(f'[{port}]\t"H-{leaf:02x}{port:02x}"[1]({port}) \t\t# "{name}" lid 1 {rate}')
            port += 1
    for spine in range(spines):
        for cable in range(cables):
            print(f'[{port}]\t"S-a{spine}"[{cable}]\t\t# "MF0;spine{spine}:MQM9700/U1" lid 9 {rate}')
            port += 1
    print()
for spine in range(spines):
    print(f'switchguid=0xa{spine}(a{spine})\nSwitch\t65 "S-a{spine}"\t\t# "MF0;spine{spine}:MQM9700/U1" enhanced port 0 lid 1 lmc 0')
    for leaf in range(leaves):
        for cable in range(cables):
            print(f'[{leaf * cables + cable + 1}]\t"S-b{leaf}"[1]\t\t# "MF0;leaf{leaf}:MQM9700/U1" lid 3 {rate}')
    print()
PY
}

fabric() {
    "$STOKER" import ibnetdiscover "$out/net.txt" --gpu h100-sxm5-80gb --gpus-per-node 8 --name ours > "$out/ours.yaml" 2> "$out/told"
}

# Ports down a leaf over ports up: 4 x 1 over 2 x 1 = 2; 16 x 8 over 8 x 8 = 2; rails: 16 over 4 x 4 = 1.
@test "InfiniBand's own discovery is a cluster: NICs, rate, leaves, oversubscription" {
    while read -r leaves nodes nics spines cables rate rails kind all per_leaf gbps over; do
        ib "$leaves" "$nodes" "$nics" "$spines" "$cables" "$rate" "$rails" > "$out/net.txt"
        fabric
        has "  kind: $kind"
        has "nodes: $all"
        has "  count: $nics"
        has "  bandwidth: $gbps Gbps"
        has "  nodes_per_leaf: $per_leaf"
        has "  oversubscription: $over"
        "$STOKER" show "$out/ours.yaml" > /dev/null
    done <<'T'
2 4 1 2 1 4xNDR 0 tree 8 4 400 2
4 16 8 8 8 4xHDR 0 tree 64 16 200 2
8 16 8 4 4 4xNDR 1 rail 16 16 400 1
16 16 8 4 2 4xXDR 1 rail 32 16 800 2
2 4 1 2 1 2xHDR 0 tree 8 4 100 2
T
}

@test "hosts of another kind, slow ports and files of something else are told" {
    ib 2 4 2 2 1 4xNDR 0 | sed '0,/^\[1\]/s/^\[1\].*/&\n[60]\t"H-ff"[1](9) \t\t# "login1 mlx5_0" lid 1 4xNDR/' > "$out/net.txt"
    fabric
    has '# 1 hosts with another number of ports are left out.'
    has 'nodes: 8'
    ib 2 4 1 2 1 4xNDR 0 | sed '0,/n3 mlx5_0" lid 1 4xNDR/s/n3 mlx5_0" lid 1 4xNDR/n3 mlx5_0" lid 1 4xHDR/' > "$out/net.txt"
    fabric
    grep -qF 'ports of NICs run at 400 and 200 Gbps' "$out/told"
    ib 2 4 1 2 1 4xNDR 0 | sed 's/lid 1 4xNDR/lid 1/' > "$out/net.txt"
    run -3 fabric
    grep -qF 'net.txt:4:1: error: this port does not end with its rate' "$out/told"
    refuse 3 'no switch in this file has a host' ibnetdiscover "$data/h100.xml" --gpu h100-sxm5-80gb --gpus-per-node 8
    ib 2 4 1 2 1 4xNDR 0 > "$out/net.txt"
    refuse 2 '--gpus-per-node N is needed' ibnetdiscover "$out/net.txt" --gpu h100-sxm5-80gb
}

# 64 nodes for 2 + 1 + 4 + 1 days and 8 for half a day: 516 node-days; one NODE_FAIL, one FAILED.
@test "Slurm's accounts are rates: ends from outside over the node-days of all jobs" {
    cat > "$out/sacct.txt" <<'S'
JobID|State|ExitCode|NNodes|Start|End|Elapsed
101|NODE_FAIL|0:0|64|2025-01-01T00:00:00|2025-01-03T00:00:00|2-00:00:00
101.batch|NODE_FAIL|0:0|64|2025-01-01T00:00:00|2025-01-03T00:00:00|2-00:00:00
102|FAILED|1:0|64|2025-01-03T01:00:00|2025-01-04T01:00:00|1-00:00:00
103|TIMEOUT|0:0|64|2025-01-04T02:00:00|2025-01-08T02:00:00|4-00:00:00
104|CANCELLED by 1|0:0|8|2025-01-08T03:00:00|2025-01-08T15:00:00|12:00:00
105|COMPLETED|0:0|64|2025-01-09T00:00:00|2025-01-10T00:00:00|1-00:00:00
S
    "$STOKER" import sacct "$out/sacct.txt" --name ours > "$out/ours.yaml" 2> "$out/told"
    has 'rate: {count: 1, components: 1, days: 516}'
    has '# a node of the job was lost: 1.938 per 1,000 node-days'
    # 2 in 516 node-days: a job of 64 nodes for 100 days meets 2 / 516 * 6400 = 24.8 in the mean.
    "$STOKER" run scenarios/gpt3-175b-1024.yaml --no-db -q --json --set run.failures="$out/ours.yaml" --set gpus=512 > "$out/json" 2> "$out/told" ||
        { cat "$out/told"; false; }
    jq -e '.run | (.failures | length) == 2' "$out/json"
    sed 's/|NNodes|/|Nodes|/' "$out/sacct.txt" > "$out/other.txt"
    refuse 3 'there is no column NNodes' sacct "$out/other.txt"
    sed 's/|64|/|many|/' "$out/sacct.txt" > "$out/other.txt"
    refuse 3 'other.txt:2:19: error: this is no number of nodes' sacct "$out/other.txt"
    sed 's/2-00:00:00$/soon/' "$out/sacct.txt" > "$out/other.txt"
    refuse 3 'this is no time' sacct "$out/other.txt"
    sed '4s/|.*//' "$out/sacct.txt" > "$out/other.txt"
    refuse 3 'other.txt:4:1: error: this line has fewer fields than the header' sacct "$out/other.txt"
    grep -v FAIL "$out/sacct.txt" > "$out/other.txt"
    refuse 3 'nothing ended a job in 3 jobs and 324 node-days' sacct "$out/other.txt"
}

# 12 samples at work: 610, 620, 630 and 640 W in turn, median 625; 12 idle: 70 to 73, median 71.5; of 700 W.
@test "what nvidia-smi says GPUs draw is a box: shares of their design power" {
    "$STOKER" import "$data/power.csv" --name ours > "$out/ours.yaml" 2> "$out/told"
    grep -qF 'power.csv is read as power-log' "$out/told"
    has 'gpu: h100-sxm5-80gb'
    has 'gpu.power.busy_fraction: 0.8929'
    has 'gpu.power.idle_fraction: 0.1021'
    "$STOKER" import "$data/power.dmon" --gpu h100-sxm5-80gb --name ours 2> /dev/null | diff "$out/ours.yaml" -
    cut -d, -f1-4 "$data/power.csv" > "$out/plain.csv" # no use is told: the middle is 355 W
    "$STOKER" import "$out/plain.csv" --name ours 2> /dev/null | diff "$out/ours.yaml" -
    # Energy follows: what is drawn at work was 0.93 of the design power, and is 0.96 times that; what
    # is drawn idle falls by more, the host's share not at all.
    energy() { "$STOKER" run scenarios/quickstart.yaml --no-db -q --json "$@" | jq .run.energy_kwh; }
    python3 -c 'import sys; a, b = map(float, sys.argv[1:]); assert 0.85 < b / a < 0.96, (a, b)' \
        "$(energy)" "$(energy --set box="$out/ours.yaml")"
    refuse 3 'it drew 625 W, and the design power of a100-sxm4-80gb is 400 W' "$data/power.csv" --gpu a100-sxm4-80gb
    sed 's/, 99 %/, 3 %/' "$data/power.csv" > "$out/idle.csv"
    refuse 3 '0 of 24 samples are of a GPU at work; at least 10 are needed' "$out/idle.csv"
    refuse 2 '--gpu NAME is needed' "$data/power.dmon"
}

# Four devices of class 0x0302 and four of 0x0207, no more: what clouds give to NCCL_TOPO_FILE.
@test "a topology that lists PCI devices alone has their counts, and says what it lacks" {
    "$STOKER" import "$data/azure_like.xml" --gpu a100-sxm4-80gb --nic-bandwidth "200 Gbps" --name ours > "$out/ours.yaml" 2> "$out/told"
    has 'gpus_per_node: 4'
    has 'count: 4'
    has 'bandwidth: 200 Gbps'
    has 'bandwidth: 300 GB/s'
    has '# The file lists PCI devices and no NVLinks: these are not from it.'
    "$STOKER" show "$out/ours.yaml" > /dev/null
    refuse 2 '--nic-bandwidth RATE is needed: the file does not say how fast its NICs are' "$data/azure_like.xml" --gpu a100-sxm4-80gb
    refuse 2 '--gpu NAME is needed' "$data/azure_like.xml"
    grep -v 0x0302 "$data/azure_like.xml" > "$out/nics.xml"
    refuse 3 'there is no GPU in this file' "$out/nics.xml"
}

@test "what scontrol shows of a tree is the tree, though each switch has the nodes below it" {
    "$STOKER" import "$data/scontrol.txt" --gpu h100-sxm5-80gb --gpus-per-node 8 --nics 8 --nic-bandwidth "400 Gbps" --oversubscription 1 --name ours > "$out/ours.yaml" 2> "$out/told"
    has 'nodes: 16'
    has 'kind: tree'
    has 'nodes_per_leaf: 8'
}

# Two leaves of two instances below two nodes that nothing joins: a root above joins them.
@test "the way to each instance that EC2 tells is a tree of switches" {
    "$STOKER" import "$data/instances.json" --gpu h100-sxm5-80gb --gpus-per-node 8 --nics 32 --nic-bandwidth "100 Gbps" --oversubscription 1 --name ours > "$out/ours.yaml" 2> "$out/told"
    grep -qF 'instances.json is read as slurm-topology' "$out/told"
    has 'nodes: 4'
    has "{name: 'nn-31', nodes: 0-1}"
    has "{from: 'nn-31', to: 'nn-21', bandwidth: 100 Gbps, count: 64}" # two nodes of 32 NICs
    has "to: 'above all'"
    has 'are i-0a1,i-0a2 (nn-31).'
    "$STOKER" show "$out/ours.yaml" > /dev/null
    sed 's/"NetworkNodes": .*nn-31.*/"Other": 1/' "$data/instances.json" > "$out/bad.json"
    refuse 3 'bad.json:2:20: error: this instance has no InstanceId, or no NetworkNodes' slurm-topology "$out/bad.json"
}

# Eight machines, two below each sub-block, two of these below each block, the blocks below one cluster.
# Sub-block 0001 of two blocks is two leaves.
@test "the way to each instance that Google and Oracle tell is a tree of switches" {
    options=(--gpu h100-sxm5-80gb --gpus-per-node 8 --nics 8 --nic-bandwidth "400 Gbps" --oversubscription 1 --name ours)
    for file in gcloud.json oracle.json; do
        "$STOKER" import "$data/$file" "${options[@]}" > "$out/ours.yaml" 2> "$out/told"
        grep -qF "$file is read as slurm-topology" "$out/told"
        has 'nodes: 8'
        has 'kind: tree'
        has 'nodes_per_leaf: 2'
        "$STOKER" show "$out/ours.yaml" > /dev/null
    done
    sed '0,/"name"/s//"nom"/' "$data/gcloud.json" > "$out/bad.json"
    refuse 3 'bad.json:2:3: error: this instance has no name, or no resourceStatus.physicalHostTopology' slurm-topology "$out/bad.json"
    sed '0,/"id": .*/s//"id": null,/; s/"items"/"things"/' "$data/oracle.json" > "$out/bad.json"
    refuse 3 'there are no instances in this file' slurm-topology "$out/bad.json"
}

# Two GPU nodes a leaf, and a node without labels: JSON or YAML, with the labels of topograph's releases,
# of EKS and of GKE.
@test "labels of Kubernetes' nodes are a tree of switches; nodes without are left out aloud" {
    nodes() {
        echo '{"apiVersion": "v1", "kind": "List", "items": ['
        for i in 0 1 2 3; do
            printf '{"kind": "Node", "metadata": {"name": "gpu-%d.internal", "labels": {"%s": "top", "%s": "leaf-%d", "nvidia.com/gpu.count": "8"}}},\n' "$i" "$1" "$2" $((i / 2))
        done
        echo '{"kind": "Node", "metadata": {"name": "cpu-0", "labels": {"a": "b"}}}]}'
    }
    while read -r top leaf; do
        nodes "$top" "$leaf" > "$out/nodes.json"
        python3 -c 'import json, sys
for item in json.load(open(sys.argv[1]))["items"]:
    print("- kind: Node\n  metadata:\n    name: " + item["metadata"]["name"] + "\n    labels:")
    for key, value in item["metadata"]["labels"].items(): print(f"      {key}: \"{value}\"")' "$out/nodes.json" > "$out/items"
        { echo 'apiVersion: v1'; echo 'items:'; cat "$out/items"; } > "$out/nodes.yaml"
        for file in nodes.json nodes.yaml; do
            "$STOKER" import "$out/$file" --gpu h100-sxm5-80gb --gpus-per-node 8 --nics 8 --nic-bandwidth "400 Gbps" --oversubscription 2 --name ours > "$out/ours.yaml" 2> "$out/told"
            grep -qF "$file is read as slurm-topology" "$out/told"
            grep -qF 'left out: nodes that tell no way to them, 1' "$out/told"
            has 'nodes: 4'
            has 'nodes_per_leaf: 2'
        done
    done << 'L'
fabric.topograph.run/tier-1 fabric.topograph.run/tier-0
network.topology.nvidia.com/spine network.topology.nvidia.com/leaf
network.topology.nvidia.com/spine network.topology.nvidia.com/block
topology.k8s.aws/network-node-layer-1 topology.k8s.aws/network-node-layer-2
cloud.google.com/gce-topology-block cloud.google.com/gce-topology-subblock
L
}
