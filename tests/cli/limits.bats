# What can be told of predictions: how finely two steps are told apart, and how much of an anchor's
# weight is taken (sim/bands/limits.h).

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    file=$work/s.yaml
    cat > "$file" << 'END'
scenario: hashed flows behind thin leaves
model: llama3-8b
cluster: h100-400
gpus: 64
software: megatron-2024
parallel: {tp: 4, pp: 2, zero: 1, schedule: 1f1b, sequence_parallel: true}
batch: {global: 64, micro: 1, sequence_length: 4096}
recompute: none
run: {tokens: 300B, checkpoint: {every: 5 min, mode: blocking}}
price: {gpu_hour: 2.00 USD}
END
    hashed=(--set cluster.fabric.routing=ecmp --set cluster.fabric.oversubscription=3)
}

# A catalogue before the usual one in which steps are told apart to $1, and $2 of weights is taken.
make_catalogue() {
    mkdir -p "$work/catalogue/models"
    cat > "$work/catalogue/models/limits.yaml" << END
resolution: {hashed: $1, provenance: measured, source: a test}
anchor: {trust: $2, provenance: fitted, source: a test}
failures: {factor: 1.7, provenance: measured, source: a test}
END
}

whatif() {
    "$STOKER" whatif "$file" --db "$work/db" -q --catalogue "$work/catalogue" "$@"
}

@test "the resolution is what was measured" {
    worst=$(sed -n 's/^the worst: \(.*\) %$/\1/p' results/VALIDATION.md)
    [ -n "$worst" ]
    grep -qx "  hashed: $worst %" models/limits.yaml
}

# With 5 %: no margin of what steps hang on is told, and no rung gains less, but for those that change
# no step. With 20 % what bands of measured runs would call clear or likely is too close.
@test "whatif: no difference below the resolution is a slope, a rung or a verdict" {
    make_catalogue "5 %" "80 %"
    whatif --json "${hashed[@]}" > "$work/json"
    jq -e '.rows | map(select(.band.resolution == null | not)) | length >= 20 and
        all(.band.resolution - (1.05 | log) | fabs < 1e-6)' "$work/json"
    jq -e '[{value: .base[0].run.days, step_time_s: .base[0].step_time_s}] + .ladder | . as $v
        | length >= 3 and any(range(1; length); $v[.].step_time_s == $v[. - 1].step_time_s) and
        all(range(1; length); $v[.].step_time_s == $v[. - 1].step_time_s or
            $v[.].value * 1.05 < $v[. - 1].value)' "$work/json"
    # 5 % of a link moves days by less than 5 %; storage changes no step, so that it is exact.
    jq -e '.margins | map({(.resource): .value_per_unit}) | add
        | (.storage | type == "number" and . < 0) and
        (has("latency") and .latency == null) and (has("NVLink") and .NVLink == null) and
        (has("network") and .network == null)' "$work/json"
    whatif "${hashed[@]}" > "$work/text"
    grep -qE '^latency +1 us of latency +below resolution( +below resolution)?$' "$work/text"
    grep -q '^Where each GPU has routes of its own, what differs by 5 % or less is too close to call (models/limits.yaml).$' "$work/text"
    make_catalogue "0.001 %" "80 %"
    whatif --json "${hashed[@]}" > "$work/fine"
    jq -e '.margins | length >= 4 and all(.value_per_unit != null)' "$work/fine"
    make_catalogue "20 %" "80 %"
    whatif --json "${hashed[@]}" > "$work/coarse"
    for name in fp8 "pp twice" "tp twice"; do
        verdict() { jq -r --arg name "$name" '.rows[] | select(.label == $name) | .band.verdict' "$1"; }
        [[ $(verdict "$work/fine") == clear || $(verdict "$work/fine") == likely ]]
        [[ $(verdict "$work/coarse") == "too close" ]]
    done
    jq -e '.ladder | length >= 1 and .[0].saves > 1 - 1 / 1.2' "$work/coarse"
    # Without it the second rung would be one.
    [ "$(jq '.ladder | length' "$work/coarse")" -lt "$(jq '.ladder | length' "$work/fine")" ]
}

@test "where replicas are alike every difference is told, however small" {
    make_catalogue "20 %" "80 %"
    whatif --json > "$work/json"
    jq -e '.rows | all(.band.resolution == null or .band.resolution == 0)' "$work/json"
    jq -e '.margins | length >= 3 and all(.value_per_unit != null)' "$work/json"
    whatif > "$work/text"
    ! grep -q 'below resolution\|routes of its own' "$work/text" || false
}

# Three speeds of NICs a few per cent of days apart: at 20 % nothing is told apart, so that all are
# first and none beats another; without hashing the fastest beats the others.
@test "compare: what is not told apart shares its rank" {
    make_catalogue "20 %" "80 %"
    { cat "$file"; echo 'sweep: {cluster.nics.bandwidth: [50 Gbps, 51 Gbps, 52 Gbps]}'; } > "$work/study.yaml"
    compare() {
        "$STOKER" compare "$work/study.yaml" --db "$work/db" -q --json --catalogue "$work/catalogue" "$@"
    }
    compare "${hashed[@]}" > "$work/json"
    jq -e '.ranking | length == 3 and all(.days_rank == 1 and .cost_rank == 1 and .beaten_by == null)' "$work/json"
    jq -e '.points[1:] | length == 2 and all(.against_first.band.verdict == "too close"
        and .against_first.band.verdict_per_gpu == "too close")' "$work/json"
    compare --set cluster.fabric.routing=adaptive > "$work/json"
    jq -e '.ranking | [.[].days_rank] == [1, 2, 3] and [.[].beaten_by] == [null, "52 Gbps", "51 Gbps"] or
        [.[].days_rank] == [1, 2, 3] and (.[1:] | all(.beaten_by != null))' "$work/json"
}

# Days by pairs of histories, the same failures in both: 10 % fewer are clear, or below 18 %. Where
# only checkpoints differ, steps are alike, and days are told apart however little.
@test "compare: nor are days told apart below the resolution" {
    failures='run.failures={failures: inline, counts: interruptions, classes: [{name: a, of: job, rate: {mttf: 30 h}}]}'
    days() {
        { cat "$file"; echo "sweep: {$1}"; } > "$work/study.yaml"
        "$STOKER" compare "$work/study.yaml" --db "$work/db.$2" -q --json --catalogue "$work/catalogue" \
            "${hashed[@]}" --set "$failures" | jq -r '.points[1].against_first.days.verdict'
    }
    make_catalogue "0.001 %" "80 %"
    [ "$(days 'cluster.nics.bandwidth: [50 Gbps, 65 Gbps]' 1)" = clear ]
    make_catalogue "18 %" "80 %"
    [ "$(days 'cluster.nics.bandwidth: [50 Gbps, 65 Gbps]' 1)" = "too close" ]
    [ "$(days 'run.checkpoint.every: [10 min, 60 min]' 2)" = clear ]
}

# The layouts of two speeds at each other.
@test "best per value: a regret below the resolution is none" {
    { cat "$file"; echo 'sweep: {cluster.nics.bandwidth: [50 Gbps, 400 Gbps]}'; } > "$work/study.yaml"
    best() {
        "$STOKER" sweep "$work/study.yaml" --best usual --db "$work/db" -q --catalogue "$work/catalogue" \
            --set gpus=32 --set batch.global=32 "${hashed[@]}" "$@"
    }
    make_catalogue "0.001 %" "80 %"
    best --json > "$work/json"
    jq -e '[.best[].regrets | map(fabs) | add] | add > 0.002' "$work/json"
    best > "$work/text"
    sed -n '/^worse with the layout of/,/^$/p' "$work/text" | grep -v ' memory' | grep -q '%'
    make_catalogue "90 %" "80 %"
    best > "$work/text"
    sed -n '/^worse with the layout of/,/^$/p' "$work/text" | grep -v ' memory' > "$work/regrets"
    grep -q 'too close' "$work/regrets"
    ! grep -q '%' "$work/regrets" || false
}

@test "a catalogue without limits says so, where they matter" {
    mkdir -p "$work/empty"
    cp -r models topologies "$work/empty"
    rm "$work/empty/models/limits.yaml"
    cp "$STOKER" "$work/stoker" # alone: beside its folder's catalogue it would find that one
    cd "$work/empty"
    { cat "$file"; echo 'sweep: {cluster.nics.bandwidth: [50 Gbps, 51 Gbps]}'; } > "$work/study.yaml"
    run --separate-stderr env STOKER_PATH= "$work/stoker" compare "$work/study.yaml" --db "$work/db" -q
    [ "$status" -eq 0 ]
    [[ $output != *"no resolution"* ]]
    run --separate-stderr env STOKER_PATH= "$work/stoker" compare "$work/study.yaml" --db "$work/db" -q "${hashed[@]}"
    [ "$status" -eq 0 ]
    [[ $output == *"no resolution: the catalogue has no models/limits.yaml"* ]]
    # Without bands of ratios it holds all the same.
    make_catalogue "20 %" "80 %"
    mv models/ratios.csv "$work/"
    verdicts() {
        env STOKER_PATH= "$work/stoker" compare "$work/study.yaml" --db "$work/db" -q --json "$@" |
            jq -c '.points[1].against_first | [.band | .verdict, .verdict_per_gpu, .is_known]'
    }
    [ "$(verdicts "${hashed[@]}" --catalogue "$work/catalogue")" = '["too close","too close",false]' ]
    [ "$(verdicts "${hashed[@]}")" = '[null,null,false]' ]
    mv "$work/ratios.csv" models/
    echo 'resolution: 3' > models/limits.yaml
    run --separate-stderr env STOKER_PATH= "$work/stoker" compare "$work/study.yaml" --db "$work/db" -q "${hashed[@]}"
    [[ $output == *"no resolution: ./models/limits.yaml:1:"* ]]
}
