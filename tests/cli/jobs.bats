# Several jobs on one fabric: `jobs` and `placement` of a scenario, on the command line.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    db=$work/results.db
    # Two equal jobs of 16 nodes; FSDP moves much. Narrow: leaves of 4 nodes, up-links 4:1.
    printf '%s\n' 'scenario: the other' 'model: llama3-8b' 'cluster: h100-800' 'gpus: 128' \
        'parallel: {tp: 1, pp: 1, zero: 3}' \
        'batch: {global: 128, micro: 1, sequence_length: 4096}' > "$work/other.yaml"
    sed 's/the other/the one/' "$work/other.yaml" > "$work/one.yaml"
    printf '%s\n' 'placement: spread' 'jobs: [{scenario: other.yaml, placement: spread}]' \
        >> "$work/one.yaml"
    narrow=(--set cluster.fabric.kind=tree --set cluster.fabric.nodes_per_leaf=4
            --set cluster.fabric.oversubscription=4)
}

# `stoker run` of the one with the other beside it.
both() {
    "$STOKER" run "$work/one.yaml" --no-db "$@"
}

# Values of a key, one a line, of the document on stdin.
values() {
    sed -nE "s/^ *\"$1\": \"?([^\"]*[^\",])\"?,?$/\1/p"
}

@test "the jobs are listed with how long their steps take alone and together" {
    both --json "${narrow[@]}" | sed -n '/"jobs": \[/,/\]/p' > "$work/jobs"
    [ "$(values scenario < "$work/jobs" | tr '\n' ' ')" = "the one the other " ]
    [ "$(values gpus < "$work/jobs" | tr '\n' ' ')" = "128 128 " ]
    [ "$(values step_alone_s < "$work/jobs" | sort -u | wc -l)" -eq 1 ]
    values step_alone_s < "$work/jobs" | paste - <(values step_s < "$work/jobs") |
        awk '$2 < 1.2 * $1 { exit 1 }'
    both "${narrow[@]}" | grep -Eq '^ *the other +128 +[0-9.]+ +[0-9.]+ +[0-9.]+ %$'
}

@test "a scenario without jobs has no list of them" {
    "$STOKER" run "$work/other.yaml" --no-db --json > "$work/json"
    [ -z "$(sed -n '/"jobs": \[/,/\]/p' "$work/json" | values gpus)" ]
    "$STOKER" run "$work/other.yaml" --no-db > "$work/screen"
    run ! grep -q 'jobs on the fabric' "$work/screen"
}

@test "on a fabric that does not block, the neighbour changes nothing" {
    together=$(both --json | values step_time_s)
    alone=$("$STOKER" run "$work/other.yaml" --set placement=spread --no-db --json |
        values step_time_s)
    [ -n "$alone" ]
    [ "$together" = "$alone" ]
}

# Packed, each job has leaves of its own; they meet nowhere.
@test "placement decides who meets whom" {
    sed 's/placement: spread/placement: packed/g' "$work/one.yaml" > "$work/packed.yaml"
    packed=$("$STOKER" run "$work/packed.yaml" --no-db --json "${narrow[@]}" | values step_time_s)
    alone=$("$STOKER" run "$work/other.yaml" --no-db --json "${narrow[@]}" | values step_time_s)
    [ "$packed" = "$alone" ]
    spread=$(both --json "${narrow[@]}" | values step_time_s)
    awk "BEGIN { exit !($spread > 1.1 * $packed) }"
}

@test "random placement follows the seed" {
    random() {
        both --json "${narrow[@]}" --set cluster.nodes=64 --set placement=random "$@" |
            sed '/"engine": {/,$d'
    }
    [ "$(random --seed 3)" = "$(random --seed 3)" ]
    for seed in 1 2 3 4 5 6; do
        random --seed $seed | values link | cksum # the busiest links
    done | sort -u > "$work/sums"
    [ "$(wc -l < "$work/sums")" -gt 1 ]
}

@test "folded or not, with jobs, placements and hashed routes" {
    same() { both --json "${narrow[@]}" "$@" | sed '/"engine": {/,$d'; }
    [[ "$(same)" == *step_time_s* ]]
    [ "$(same)" = "$(same --fold off)" ]
    ecmp=(--set cluster.fabric.routing=ecmp)
    [ "$(same "${ecmp[@]}")" = "$(same "${ecmp[@]}" --fold off)" ]
    [ "$(same --set placement=random)" = "$(same --set placement=random --fold off)" ]
}

@test "what show prints is the same run, jobs and all" {
    "$STOKER" show "$work/one.yaml" > "$work/shown.yaml"
    key() { "$STOKER" run "$1" --no-db --json | values key; }
    [ "$(key "$work/one.yaml")" = "$(key "$work/shown.yaml")" ]
    rm "$work/other.yaml"
    "$STOKER" run "$work/shown.yaml" --no-db > /dev/null
}

@test "jobs are stored with their run, once" {
    "$STOKER" run "$work/one.yaml" --db "$db" > /dev/null
    before=$(cksum < "$db")
    "$STOKER" run "$work/one.yaml" --db "$db" > /dev/null
    [ "$(cksum < "$db")" = "$before" ]
}

@test "placement can be swept" {
    printf 'sweep: {placement: [packed, spread, random]}\n' >> "$work/one.yaml"
    run --separate-stderr "$STOKER" sweep "$work/one.yaml" --db "$db"
    [ "$status" -eq 0 ]
    [[ "$output" == *packed*spread*random* ]]
}

@test "jobs that find no room are status 4, also where the fabric sets the limit" {
    run both --set cluster.nodes=31
    [ "$status" -eq 4 ]
    [[ "$output" == *"all jobs together need 32 nodes"*"at most 31"* ]]
    for cluster in h100-torus-3200:512 h100-rail-only-3200:128; do
        nodes=${cluster#*:}
        gpus=$((nodes * 8 - 64))
        run both --set "cluster=${cluster%:*}" --set gpus=$gpus --set batch.global=$gpus
        [ "$status" -eq 4 ]
        [[ "$output" == *"at most $nodes"* ]]
    done
}

# The step is as long in the table of jobs as it is above, with its wait for the slowest GPU.
@test "a step has one length" {
    both --json -q > "$work/both.json"
    jq -e '.breakdown.straggler_wait > 0 and (.jobs[0].step_s / .step_time_s - 1 | fabs < 1e-9)' \
        "$work/both.json"
}
