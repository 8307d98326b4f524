# stoker calibrate: constants of a collective library from measured curves.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
}

@test "a calibrated library loads and reproduces the fit" {
    "$STOKER" calibrate collectives tests/published/collectives.yaml -o "$work/ours.yaml" > "$work/fit"
    after=$(sed -n 's/^Error over all 559 points: median \([0-9.]*\) %.*/\1/p' "$work/fit")
    [ -n "$after" ]
    "$STOKER" calibrate collectives tests/published/collectives.yaml --check \
        --library "$work/ours.yaml" | grep -q "559 points, median $after %"
}

@test "without -o the library goes to stdout, and a cluster can name it" {
    "$STOKER" calibrate collectives tests/published/collectives.yaml --name ours > "$work/ours.yaml"
    grep -q '^extends: nccl-2026' "$work/ours.yaml"
    grep -q 'provenance: fitted' "$work/ours.yaml"
    "$STOKER" show library "$work/ours.yaml" | grep -q 'hopper'
}

@test "--json is one document with a standard error for each constant" {
    "$STOKER" calibrate collectives tests/published/collectives.yaml --json > "$work/fit.json"
    python3 - "$work/fit.json" <<'PY'
import json, sys
fit = json.load(open(sys.argv[1]))
assert fit["schema"] == "stoker.calibrate/1"
assert fit["after"]["points"] == 559
assert all(g["base_s"]["standard_error"] >= 0 for g in fit["groups"])
PY
}

@test "a file that says too little ends with status 3 and the reason" {
    cat > "$work/few.yaml" <<'YAML'
measurements:
- id: few
  operation: all-reduce
  cluster: h100-3200
  gpus: 8
  nodes: 1
  algorithm: ring
  protocol: Simple
  source: made up
  points:
  - {bytes: 1048576, time: 60 us}
  - {bytes: 16777216, time: 130 us}
YAML
    run "$STOKER" calibrate collectives "$work/few.yaml"
    [ "$status" -eq 3 ]
    [[ "$output" == *"nothing can be fitted: ring Simple has 2 points, too few points"* ]]
}

@test "measurements that name no cluster take --cluster" {
    cat > "$work/none.yaml" <<'YAML'
measurements:
- {id: one, operation: all-reduce, gpus: 8, nodes: 1, source: made up, points: [{bytes: 1048576, time: 35 us}]}
YAML
    run "$STOKER" calibrate collectives "$work/none.yaml" --check
    [ "$status" -eq 0 ]
    [[ "$output" == *"skipped: no cluster"* ]]
    run "$STOKER" calibrate collectives "$work/none.yaml" --check --cluster h200-3200
    [ "$status" -eq 0 ]
    [[ "$output" != *"skipped"* ]]
}

@test "an unknown algorithm is an error with the nearest name" {
    sed 's/algorithm: ring$/algorithm: rign/' tests/published/collectives-held-out.yaml > "$work/bad.yaml"
    run "$STOKER" calibrate collectives "$work/bad.yaml" --check
    [ "$status" -eq 3 ]
    [[ "$output" == *"there is no 'rign'"* ]]
    [[ "$output" == *"did you mean 'ring'?"* ]]
}

@test "what cannot be calibrated is a usage error" {
    run "$STOKER" calibrate kernels tests/published/collectives.yaml
    [ "$status" -eq 2 ]
}

@test "products are fitted to a section of the GPU's file" {
    "$STOKER" calibrate gemm tests/published/gemm.csv > "$work/gemm.yaml"
    grep -q '^# a100-pcie-80gb: 184 products, median error 1\.[0-9] %' "$work/gemm.yaml"
    grep -q '  efficiency: 0\.78[0-9]*  # standard error' "$work/gemm.yaml"
    "$STOKER" calibrate gemm tests/published/gemm.csv --check | grep -q 'section gemm as it is'
    "$STOKER" calibrate gemm tests/published/gemm.csv --json | python3 -c '
import json, sys
fits = json.load(sys.stdin)["fits"]
assert sum(fit["errors"]["products"] for fit in fits) == 795
'
}

@test "a measured product that cannot be is named with its line" {
    printf 'gpu,dtype,layout,m,n,k,us\na100-sxm4-80gb,fp8,TN,1024,1024,1024,20\n' > "$work/bad.csv"
    printf 'a100-sxm4-80gb,bf16,XY,1024,1024,-1,20\nno-gpu,bf16,TN,1,1,1,1\n' >> "$work/bad.csv"
    run "$STOKER" calibrate gemm "$work/bad.csv"
    [ "$status" -eq 3 ]
    [[ "$output" == *"bad.csv:2"*"dtype is 'fp8'"* ]]
    [[ "$output" == *"bad.csv:3"*"layout is 'XY'"* ]]
    [[ "$output" == *"bad.csv:3"*"k is '-1'"* ]]
    [[ "$output" == *"bad.csv:4"* ]]
}
