# Bands of ratios: what compare and sweep say of differences, and from which pairs of measured runs.

setup() {
    bats_require_minimum_version 1.5.0
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
    fabric=scenarios/study-fabric-70b.yaml
}

# A catalogue with pairs that differ in the network, all measured alike and foretold e^0.1 apart: for
# a ratio r the spread is 0.1 x sqrt((0.1 + |ln r|) / (0.1 + 0.1)).
make_catalogue() {
    mkdir -p "$work/catalogue/models"
    python3 - "$work/catalogue/models/ratios.csv" <<'PY'
import math, sys
with open(sys.argv[1], "w") as out:
    print("axis,source,model,first,second,values,held_out,measured,predicted", file=out)
    for i in range(30):
        print(f"network,s{i},m,a{i},b{i},inter_node_gbps_per_node 1>2,unseen,1,{math.exp(0.1)}", file=out)
PY
}

@test "compare: the band of each ratio, and whether it is clear" {
    make_catalogue
    "$STOKER" compare "$fabric" --against '3200 Gbps' --db "$work/db" -q --json \
        --catalogue "$work/catalogue" > "$work/json"
    python3 - "$work/json" <<'PY'
import json, math, sys
document = json.load(open(sys.argv[1]))
assert len(document["points"]) == 7
for point in document["points"]:
    against = point["against_named"]
    band = against["band"]
    if point["label"] == "3200 Gbps":
        assert not band["is_known"] and band["verdict"] is None
        continue
    size = abs(math.log(against["speed_up_per_gpu"]))
    spread = 0.1 * math.sqrt((0.1 + min(size, 1)) / 0.2)
    assert abs(math.log(band["speed_up"]["p90"] / against["speed_up"]) - spread) < 1e-6
    assert abs(math.log(against["speed_up_per_gpu"] / band["speed_up_per_gpu"]["p10"]) - spread) < 1e-6
    # all pairs are off alike, so half of them are as four fifths: nothing is merely likely
    assert band["verdict"] == ("clear" if size > spread else "too close")
    assert band["kinds"] == ["network"] and band["unmeasured"] == [] and band["votes"] == 30
verdicts = {point["against_named"]["band"]["verdict"] for point in document["points"]}
assert verdicts >= {"clear", "too close"}
PY
    "$STOKER" compare "$fabric" --against '3200 Gbps' --db "$work/db" -q \
        --catalogue "$work/catalogue" > "$work/text"
    grep -qE '^50 Gbps +0.1[0-9] x +0.[0-9]+ to 0.1[0-9] +clear +0.1[0-9] x' "$work/text"
    grep -qE '^1600 Gbps +0.9[0-9] x +0.[0-9]+ to 1.[0-9]+ +too close ' "$work/text"
    grep -q '^Bands of ratios are from measured runs that differ in: network.$' "$work/text"
}

# 256 sequences over 32 replicas are no multiple of 3: the first point has no result.
@test "sweep: the member that holds a ratio is named alike where the first point has no result" {
    { cat scenarios/quickstart.yaml; echo 'sweep: {batch.micro: [3, 1, 2]}'; } > "$work/study.yaml"
    status=0
    "$STOKER" sweep "$work/study.yaml" --db "$work/db" -q --json > "$work/json" || status=$?
    [ "$status" -eq 0 ]
    jq -e '(.points | length) == 3 and .against == .points[1].label and
        .points[0].against_first == null and .points[1].against_first.speed_up == 1 and
        .points[2].against_first.speed_up > 0 and
        all(.points[]; has("against_first") and (has("against_named") | not))' "$work/json"
}

@test "sweep: bands against its first point; with --metric there is no room for them" {
    make_catalogue
    "$STOKER" sweep "$fabric" --db "$work/db" -q --catalogue "$work/catalogue" > "$work/text"
    grep -qE '^ *100 Gbps .* 1.9[0-9] x +1.[0-9]+ to 2.[0-9]+ +clear ' "$work/text"
    grep -q '^tokens/s are relative to 50 Gbps.$' "$work/text"
    "$STOKER" sweep "$fabric" --db "$work/db" -q --catalogue "$work/catalogue" --json > "$work/json"
    jq -e '.against == "50 Gbps" and (.points[0].against_first.band.is_known | not) and
        (.points[1:] | all(.against_first.band.verdict == "clear"))' "$work/json"
    "$STOKER" sweep "$fabric" --db "$work/db" -q --catalogue "$work/catalogue" --metric mfu > "$work/text"
    run ! grep -q 'p10 to p90' "$work/text"
}

# Another optimizer: no run was measured with and without. Then the errors of both are independent:
# each has the band of `run`, and squares of logarithms add up.
@test "kinds of difference without a pair say so, and take both errors as independent" {
    cat > "$work/study.yaml" <<'YAML'
scenario: two optimizers
model: llama3-8b
cluster: h100-3200
gpus: 64
software: megatron-2024
parallel: {tp: 2, dp: auto, zero: 1}
batch: {global: 256, micro: 1, sequence_length: 8192}
variants:
  - {name: adam, set: {}}
  - {name: sgd, set: {optimizer.rule: sgd}}
  - {name: dear, set: {price.gpu_hour: 9 USD}}
YAML
    "$STOKER" compare "$work/study.yaml" --db "$work/db" -q --json > "$work/json"
    for name in adam sgd; do
        rule=$name
        "$STOKER" run "$work/study.yaml" --no-db --json -q --set optimizer.rule="$rule" > "$work/$name"
    done
    python3 - "$work/json" "$work/adam" "$work/sgd" <<'PY'
import json, math, sys
document, adam, sgd = (json.load(open(path)) for path in sys.argv[1:])
points = {point["label"]: point["against_first"] for point in document["points"]}
band = points["sgd"]["band"]
assert band["unmeasured"] == ["optimizer.rule"] and band["votes"] == 0 and band["is_known"]
spreads = [math.log(run["band"]["measured_over_predicted"]["p90"]) for run in (adam, sgd)]
spread = math.log(band["speed_up"]["p90"] / points["sgd"]["speed_up"])
assert abs(spread - math.hypot(*spreads)) < 1e-6
assert points["dear"]["band"]["reason"] == "they differ in nothing that moves a step"
PY
    "$STOKER" compare "$work/study.yaml" --db "$work/db" -q > "$work/text"
    grep -q '^No measured runs differ in these alone: optimizer.rule. ' "$work/text"
}

@test "a catalogue without pairs, or with wrong ones: no band, its place, and the rest as ever" {
    mkdir -p "$work/empty"
    cp -r models topologies "$work/empty"
    rm "$work/empty/models/ratios.csv"
    cp "$STOKER" "$work/stoker" # alone: beside its folder's catalogue it would find that one
    here=$PWD
    cd "$work/empty"
    run --separate-stderr env STOKER_PATH= "$work/stoker" compare "$here/$fabric" --db "$work/db" -q
    [ "$status" -eq 0 ]
    [[ "$output" == *"no band: the catalogue has no models/ratios.csv"* ]]
    [[ "$output" != *"p10 to p90"* ]]
    printf '%s\n' 'axis,source,model,first,second,values,held_out,measured,predicted' \
        'netwrk,s,m,a,b,g,unseen,1,1' > models/ratios.csv
    run --separate-stderr env STOKER_PATH= "$work/stoker" compare "$here/$fabric" --db "$work/db" -q
    [ "$status" -eq 0 ]
    [[ "$output" == *"no band: ./models/ratios.csv:2:1: there is no kind of difference 'netwrk'; write it anew: stoker-lab validate"* ]]
    run --separate-stderr env STOKER_PATH= "$work/stoker" sweep "$here/$fabric" --db "$work/db" -q --json
    [ "$status" -eq 0 ]
    [[ "$output" == *"ratios.csv:2:1"* ]]
}
