# A machine that fails: no memory, a broken disk, damaged files. tests/faults/inject and damage say
# what must hold.

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    root=$PWD
    faults=$(dirname "$STOKER")/tests/faults/faults.so
    [ -e "$faults" ] || faults=$root/build/gcc-release/tests/faults/faults.so
    if [ ! -e "$faults" ] || [[ $STOKER == *-asan/* ]]; then
        skip "nothing to be loaded before this build" # the sanitizer must be first
    fi
    export STOKER_PATH=$root
    cd "$BATS_TEST_TMPDIR"
}

inject() {
    local fresh=()
    [ "$1" != --fresh ] || { fresh=(--fresh) && shift; }
    "$root/tests/faults/inject" "${fresh[@]}" "$faults" "$STOKER" "$@"
}

@test "run" {
    inject run "$root/scenarios/quickstart.yaml" --db results.db
}

@test "sweep" {
    cp "$root/scenarios/quickstart.yaml" study.yaml
    echo 'sweep: {gpus: [32, 64, 1000]}' >> study.yaml # a result, another, and an infeasible one
    inject sweep study.yaml -j 2 --db results.db
}

@test "collective" {
    inject collective all-reduce --cluster h100-3200 --gpus 64
}

@test "import of a topology and of a switch configuration" {
    inject import nccl-topo "$root/tests/unit/data/import/h100.xml"
    inject import slurm-topology "$root/tests/unit/data/import/topology.yaml" --gpu h100-sxm5-80gb \
        --gpus-per-node 8 --nics 8 --nic-bandwidth '400 Gbps' --oversubscription 2
}

# What is written beside the results file is there whole, as before, or not at all.
@test "files: a scenario, plots, a library" {
    inject --fresh new llama3-8b --gpus 16 --cluster h100-3200 -o new.yaml
    "$STOKER" sweep "$root/scenarios/quickstart.yaml" --axis batch.micro=1,2 --db stored.db -q > sweep
    mkdir bin
    printf '#!/bin/sh\nfor kind in svg png; do echo drawn > plot.$kind.part; done\n' > bin/gnuplot
    chmod +x bin/gnuplot
    INJECT_PATH=$PWD/bin inject plot last --db stored.db -o plot
    inject calibrate collectives "$root/tests/published/collectives.yaml" -o library.yaml
    few
    inject validate few.csv
}

# Three rows of a table of measured runs.
few() {
    head -4 "$root/tests/published/runs.csv" > few.csv
}

@test "list, of the catalogue and of stored runs" {
    "$STOKER" run "$root/scenarios/quickstart.yaml" --db stored.db -q > run
    inject list models
    inject list runs --db stored.db
}

@test "results files that hold what no stoker wrote" {
    "$root/tests/faults/damage" "$STOKER"
}

# Fewer of each: they are slower, and their workers, files and locks are those of the others.
@test "whatif, a search, a search for policies, a portfolio, a merge of shards" {
    export INJECT_SAMPLE=2
    model='{model: tiny, layers: 4, hidden: 1024, ffn_hidden: 4096, heads: 16, vocab: 32000, max_positions: 4096}'
    printf '%s\n' 'scenario: tiny' "model: $model" 'cluster: h100-3200' 'gpus: 16' \
        'software: megatron-2025' 'parallel: {tp: 2, pp: 2, dp: auto, zero: 1}' \
        'batch: {global: 16, micro: 1, sequence_length: 2048}' \
        'run: {tokens: 100G, checkpoint: {every: 100 steps}, failures: llama3-2024}' > tiny.yaml
    { cat tiny.yaml && echo 'search: {parallel: {tp: [1, 2], pp: [1], zero: [1]}, batch: {micro: [1]}}'; } > search.yaml
    { cat tiny.yaml && echo 'search: {run.checkpoint.every: [50 steps, 100 steps]}'; } > policy.yaml
    { cat tiny.yaml && echo 'sweep: {parallel.tp: [1, 2]}'; } > sweep.yaml
    printf '%s\n' 'title: alone' 'portfolio:' '- {name: a, scenario: tiny.yaml, weight: 100 %}' \
        'cluster: h100-roce-24k' 'sweep: {cluster.network: [400 Gbps, 800 Gbps]}' 'lose: 5 %' > portfolio.yaml
    for shard in 1 2; do
        "$STOKER" sweep sweep.yaml --shard=$shard/2 --db $shard.db -q > /dev/null
    done
    inject whatif tiny.yaml -j 2 -q --db results.db
    inject search search.yaml -j 2 -q --db results.db
    inject search policy.yaml -j 2 -q --db results.db
    inject sweep --portfolio portfolio.yaml -j 2 -q --db results.db
    inject merge 1.db 2.db --db results.db -q
}
