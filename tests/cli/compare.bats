# What a comparison says of a difference: per token, with the whole run, and what has no result last.

setup() {
    bats_require_minimum_version 1.5.0
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
    quick=scenarios/quickstart.yaml
}

# study TEXT: quickstart with variants or a sweep.
study() {
    { cat "$quick"; echo "$1"; } > "$work/study.yaml"
}

@test "what changed most may be outside the step: asynchronous checkpoints save days" {
    study 'variants: [{name: blocking, set: {run.checkpoint.mode: blocking}}, {name: async, set: {run.checkpoint.mode: async}}]'
    "$STOKER" compare "$work/study.yaml" --db "$work/db" -q --set run.checkpoint.every="50 steps" \
        --set cluster.storage.write="10 GB/s" --json > "$work/json"
    jq -e '.points[1].against_first.largest_change == "checkpoint"' "$work/json"
    # All that they differ in: the part is the difference of the runs.
    jq -e '.points as [$a, $b] | (($b.run.days - $a.run.days) * 86400 / $a.run.tokens) as $s
        | $s < 0 and ($b.against_first.largest_change_s_per_token / $s - 1 | fabs) < 0.02' "$work/json"
    run --separate-stderr "$STOKER" compare "$work/study.yaml" --db "$work/db" -q \
        --set run.checkpoint.every="50 steps" --set cluster.storage.write="10 GB/s"
    [[ $output == *"of the run, what changed most"*"checkpoint -"*" days"* ]]
}

# By hand, from the paths that `explain` prints: of 400 Gbps PP takes 1.468 + 0.951 + 0.106 + 0.003 =
# 2.528 s of 44.34, of 3200 Gbps 0.235 + 0.118 + 0.003 = 0.356 of 41.53: 2.17 of the 2.81 s gained, in
# 929,833 steps 23.4 of 30.2 days. By the account of all GPUs it was "pipeline bubble -18.5 days".
@test "what changed most is on the critical path: a network is no bubble" {
    "$STOKER" compare scenarios/study-fabric-405b.yaml --against "400 Gbps" --db "$work/db" -q --json > "$work/json"
    jq -e '(.points[] | select(.label == "3200 Gbps")) as $fast | (.points[] | select(.label == "400 Gbps")) as $slow
        | $fast.against_named.largest_change == "exposed_pp"
        and ($fast.against_named.largest_change_s_per_token * 15.6e12 / 86400 + 23.36 | fabs) < 0.05
        and ($slow.critical_by_cause.exposed_pp - 2.527 | fabs) < 0.01
        and ($fast.critical_by_cause.exposed_pp - 0.357 | fabs) < 0.01
        and (($slow.critical_by_cause | add) - $slow.step_time_s | fabs) < 1e-6
        and (.points[0].bound_by | startswith("PP communication (67 %, of it bytes over NIC out 30 %)"))' "$work/json"
    run --separate-stderr "$STOKER" compare scenarios/study-fabric-405b.yaml --against "400 Gbps" --db "$work/db" -q
    [[ $output == *"3200 Gbps "*"PP communication -23."*" days"* ]]
}

@test "a doubled batch is compared by the token, not by the step" {
    study 'variants: [{name: once, set: {batch.global: 256}}, {name: twice, set: {batch.global: 512}}]'
    "$STOKER" compare "$work/study.yaml" --db "$work/db" -q --json > "$work/json"
    # By the step, compute would have grown by all of itself.
    jq -e '.points as [$a, $b] | ($b.breakdown.compute / $a.breakdown.compute - 2 | fabs) < 0.01
        and $b.against_first.largest_change != "compute"
        and $b.against_first.largest_change_s_per_token < 0' "$work/json"
    sed '/^run:/,/^$/d' "$work/study.yaml" > "$work/step.yaml"
    run --separate-stderr "$STOKER" compare "$work/step.yaml" --db "$work/db" -q
    [ "$status" -eq 0 ]
    [[ $output == *"of 1M tokens, what changed most"* ]]
}

@test "points without a result come last" {
    study 'sweep: {parallel.tp: [1, 2, 4]}'
    run --separate-stderr "$STOKER" sweep "$work/study.yaml" --db "$work/db" -q
    [ "$status" -eq 0 ]
    [[ $output == *$'\n'" "*"2 "*$'\n'" "*"4 "*$'\n'" "*"1 "*"OOM: needs"* ]]
    run --separate-stderr "$STOKER" compare "$work/study.yaml" --db "$work/db" -q
    [[ $output == *"tp 2 "*"tp 4 "*"tp 1 "*"OOM: needs"*"has no result to compare with"* ]]
}

# Whole optimizer states on each of 64 GPUs: more with a larger microbatch. 256 is no multiple of 32 x 3.
@test "where no point has a result the nearest is told, and what would find one" {
    study 'sweep: {batch.micro: [4, 2, 3]}'
    for command in compare sweep; do
        run --separate-stderr "$STOKER" $command "$work/study.yaml" --db "$work/db" -q \
            --set parallel.zero=0 --set model=llama3-70b
        [ "$status" -eq 4 ]
        [[ $stderr == *"error: none of 3 points has a result"$'\n'*"help: nearest is micro 2: OOM: needs "*" GB of 86; parallel: auto looks for a layout that fits, "* ]]
    done
    run --separate-stderr "$STOKER" compare "$work/study.yaml" --db "$work/db" -q
    [ "$status" -eq 0 ]
    [[ $stderr != *"has a result"* ]]
    # Of sizes alone, the first.
    run --separate-stderr "$STOKER" sweep "$quick" --axis batch.micro=3,5 --db "$work/db" -q
    [ "$status" -eq 4 ]
    [[ $stderr == *"help: the first, micro 3: sizes: global 256 is not a multiple of dp 32 x micro 3 = 96"* ]]
}

@test "a comparison of GPUs says when their profiles are of different years" {
    # Nobody names a software: Hopper is predicted with that of 2024, Blackwell with the next.
    sed '/^software:/d; /^variants:/,$d; /^sweep:/,$d' "$quick" > "$work/gpus.yaml"
    sweep() {
        run -0 --separate-stderr "$STOKER" sweep "$work/gpus.yaml" --no-db -q \
            --axis cluster=h100-3200,b200-3200 "$@"
    }
    sweep
    [[ $output == *"Profiles of different years: h100-sxm5-80gb is predicted with megatron-2024, b200-sxm with megatron-2025"*"--set software=megatron-2025"* ]]
    sweep --set software=megatron-2026
    [[ $output != *"different years"* ]]
}

# Half of a band is the value times sinh of half the logarithm of its ends' ratio; a column has the power of
# ten nearest to a fifth of the narrowest half, whichever point the others are held against.
@test "columns of compare, sweep and its matrix have the digits that the narrowest band allows" {
    study 'variants: [{name: slow, set: {cluster.network: 50 Gbps}}, {name: usual, set: {}}, {name: fast, set: {cluster.network: 6400 Gbps}}]'
    axes=(--axis "cluster.network=50 Gbps,3200 Gbps,6400 Gbps" --axis "batch.global=128,256")
    for ask in "compare --against usual" sweep "sweep --wide"; do
        read -ra command <<< "$ask"
        more=("$work/study.yaml")
        [ "${command[0]}" = compare ] || more=("$quick" "${axes[@]}")
        "$STOKER" "${command[@]/#--wide/-q}" "${more[@]}" --no-db -q --json > "$work/json"
        "$STOKER" "${command[@]}" "${more[@]}" --metric tokens_per_s_per_gpu --no-db -q > "$work/text"
        python3 - "$work/json" "$work/text" << 'END'
import json, math, re, sys
points = json.load(open(sys.argv[1]))["points"]
halves = []
for point in points:
    band = ((point.get("against_first") or point.get("against_named") or {}).get("band") or {}).get("speed_up")
    if band and band["p10"] is not None:
        halves.append(point["tokens_per_s_per_gpu"] * math.sinh(math.log(band["p90"] / band["p10"]) / 2))
unit = 10 ** round(math.log10(min(halves) / 5))
assert unit >= 10, halves
text = open(sys.argv[2]).read().partition("\n\n")[2] # below the answer
shown = {float(word) for word in re.findall(r"(?<![\d.,])\d+(?![\d.,%])", text)}
for point in points:
    value = unit * round(point["tokens_per_s_per_gpu"] / unit)
    assert value in shown, (unit, value, text)
    assert round(point["tokens_per_s_per_gpu"]) in (value,) or round(point["tokens_per_s_per_gpu"]) not in shown, text
END
    done
}
