# A machine that fails: no memory, a broken disk. tests/faults/inject says what must hold.

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
    "$root/tests/faults/inject" "$faults" "$STOKER" "$@"
}

@test "run" {
    inject run "$root/scenarios/quickstart.yaml" --db results.db
}

@test "sweep" {
    cp "$root/scenarios/quickstart.yaml" study.yaml
    echo 'sweep: {gpus: [32, 64, 1000]}' >> study.yaml # a result, another, and an infeasible one
    inject sweep study.yaml --db results.db
}

@test "collective" {
    inject collective all-reduce --cluster h100-3200 --gpus 64
}

@test "import of a topology and of a switch configuration" {
    inject import nccl-topo "$root/tests/unit/data/import/h100.xml"
    inject import slurm-topology "$root/tests/unit/data/import/topology.yaml" --gpu h100-sxm5-80gb \
        --gpus-per-node 8 --nics 8 --nic-bandwidth '400 Gbps' --oversubscription 2
}

@test "list, of the catalogue and of stored runs" {
    "$STOKER" run "$root/scenarios/quickstart.yaml" --db stored.db -q > run
    inject list models
    inject list runs --db stored.db
}
