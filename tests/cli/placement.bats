# Groups stay inside NVLink domains that can hold them; what that costs in idle GPUs is said.

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    # Plain all-to-alls, alone: what leaves a rack shows whole.
    racks=(scenarios/qwen3-235b-256.yaml --no-db --set cluster=gb300-nvl72 --set batch.global=512
        --set software.experts.exchange=copies --set parallel.overlap_experts=false)
}

step_s() {
    "$STOKER" run "${racks[@]}" --json "$@" 2> /dev/null |
        sed -nE 's/.*"step_time_s": ([0-9.e+-]+),?/\1/p'
}

# Expert groups of 32: two segments of 32 in each rack of 72, as with racks of 64. Across racks
# their exchange would take twice the step.
@test "expert groups of 32 lie in racks of 72 as they would in racks of 64" {
    run step_s
    [ -n "$output" ]
    [ "$output" = "$(step_s --set cluster.scale_up.domain_nodes=16)" ]
}

@test "a job that leaves GPUs of each rack idle takes as long folded as not" {
    [ -n "$(step_s)" ]
    [ "$(step_s)" = "$(step_s --fold=off)" ]
    [ "$(step_s --set placement=spread)" = "$(step_s --set placement=spread --fold=off)" ]
}

# 256 GPUs are eight segments on four racks, and 8 of each rack are left.
@test "idle GPUs of racks are stated" {
    run "$STOKER" run "${racks[@]}"
    [ "$status" -eq 0 ]
    [[ "$output" == *"segments of 32 GPUs use 64 of each NVLink domain of 72: 32 GPUs stay idle"* ]]
    [[ "$output" != *warning* ]]
    run "$STOKER" run "${racks[@]}" --json
    [[ "$output" == *'"idle_gpus": 32,'*'"groups_across_domains": 0'* ]]
}

# 288 GPUs are rented for 256 that work: 9/8 of the GPU-hours; where others have the rest, as many as
# work. Eight trays of four stand ready, so that no spare is rented beside them.
@test "idle GPUs are paid, and stand ready, unless others have them" {
    run "$STOKER" run "${racks[@]}" --set run.tokens=1T --set run.failures=true
    [ "$status" -eq 0 ]
    [[ "$output" == *"32 GPUs stay idle, and are paid"* ]]
    [[ "$output" == *"GPU-hours, "*" of them of GPUs that work"* ]]
    [[ "$output" == *"0 USD  of these for spare nodes: 8 stand ready, 8 of them idle nodes of the job"* ]]
    output=$("$STOKER" run "${racks[@]}" --set run.tokens=1T --json 2>"$BATS_TEST_TMPDIR/notes")
    python3 -c "
import json, sys
document = json.loads(sys.argv[1])
run = document['run']
assert document['paid_gpus'] == 288 and document['gpus'] == 256
assert abs(run['idle_gpu_hours'] / run['gpu_hours'] - 1 / 9) < 1e-12" "$output"
    run "$STOKER" run "${racks[@]}" --set run.tokens=1T --set price.idle=not
    [[ "$output" == *"32 GPUs stay idle, and are not paid"* ]]
    [[ "$output" != *"of them of GPUs that work"* ]]
    run "$STOKER" run scenarios/quickstart.yaml --set gpus=4 --no-db
    [[ "$output" == *"4 of the node's 8 GPUs stay idle, and are paid"* ]]
}

# 64 trays hold the 256 GPUs, but not with two left idle in each of three racks: the expert groups of
# ranks 64 to 95, 128 to 159 and 192 to 223 lie across the ends of racks at 72, 144 and 216.
@test "a cluster too small to leave any idle parts groups, with a warning" {
    run "$STOKER" run "${racks[@]}" --set cluster.nodes=64
    [ "$status" -eq 0 ]
    [[ "$output" == *"warning: 3 expert groups of 32 GPUs leave their NVLink domain of 72"* ]]
    [[ "$output" != *"GPUs stay idle"* ]]
    awk -v parted="$(step_s --set cluster.nodes=64)" -v whole="$(step_s)" \
        'BEGIN { exit !(parted > 1.2 * whole) }'
}

@test "groups that divide a rack leave nothing idle" {
    run "$STOKER" run "${racks[@]}" --set parallel.ep=8
    [ "$status" -eq 0 ]
    [[ "$output" != *"stay idle"* ]]
    [[ "$output" != *warning* ]]
}

# ---- nodes that were replaced: quickstart's 8 nodes on leaves of 4 ----

moved_step_s() {
    "$STOKER" run scenarios/quickstart.yaml --no-db --json --set cluster.fabric.nodes_per_leaf=4 "$@" \
        2> /dev/null | sed -nE 's/.*"step_time_s": ([0-9.e+-]+),?/\1/p'
}

# Node 1's ranks on node 8, which is alone on the third leaf. Without oversubscription a path over
# spines has all the bandwidth it had, and more hops: a hundredth of a step at most. Where eight
# ports of a leaf share one up-link, the rings that now cross from two leaves to a third wait.
@test "a replaced node on another leaf costs hops, and more where leaves are oversubscribed" {
    moved='replaced=[{node: 1, by: 8}]'
    awk -v usual="$(moved_step_s)" -v moved="$(moved_step_s --set "$moved")" \
        'BEGIN { exit !(moved >= usual && moved < 1.01 * usual) }'
    narrow=(--set cluster.fabric.oversubscription=8)
    awk -v usual="$(moved_step_s "${narrow[@]}")" -v moved="$(moved_step_s "${narrow[@]}" --set "$moved")" \
        'BEGIN { exit !(moved > 1.0001 * usual) }'
}

# Four nodes of a leaf's on the four of another one, which nobody else has: the same fabric by other
# names.
@test "a leaf of nodes that is replaced by another leaf changes nothing" {
    run moved_step_s --set 'replaced=[{node: 4, by: 12}, {node: 5, by: 13}, {node: 6, by: 14}, {node: 7, by: 15}]'
    [ -n "$output" ]
    [ "$output" = "$(moved_step_s)" ]
}

@test "a job with replaced nodes takes as long folded as not" {
    for fabric in 'cluster.fabric.oversubscription=8' 'cluster.fabric.kind=tree' placement=spread; do
        args=(--set "$fabric" --set 'replaced=[{node: 1, by: 8}, {node: 6, by: 9}]')
        [ -n "$(moved_step_s "${args[@]}")" ]
        [ "$(moved_step_s "${args[@]}")" = "$(moved_step_s "${args[@]}" --fold=off)" ]
    done
}

# A week, in which each of 8 nodes breaks about 30 times and is away for 2 hours of 6 that it runs.
# Beside what they replace spares change no step; at the job's end they do, by no more than 1 % of a
# step and, where eight ports share an up-link, by more than 0.1 %: four regimes more, of 1, 2, 4 and
# 8 displaced nodes. The failures are the same.
@test "a run whose spares lie at its end takes longer where leaves are oversubscribed" {
    local nodes='{name: node, of: node, rate: {mttf: 6 h}, takes: node, repair: 2 h}'
    # days, regimes, seconds degraded
    apart() {
        "$STOKER" run scenarios/quickstart.yaml --no-db --json --set cluster.fabric.nodes_per_leaf=4 \
            --set run.tokens=300B --set run.recovery.spares=8 --set run.checkpoint.every="5 min" \
            --set run.failures="{counts: hardware, classes: [$nodes]}" "$@" 2> /dev/null |
            sed -nE 's/.*"(days|degraded|regimes_simulated)": ([0-9.e+-]+),?/\2/p' | paste -s
    }
    narrow=(--set cluster.fabric.oversubscription=8)
    read -r days regimes degraded <<< "$(apart)"
    [ "$regimes $degraded" = "1 0" ]
    read -r days_end regimes degraded <<< "$(apart --set run.recovery.spares_at=end)"
    [ "$regimes" = 5 ]
    awk "BEGIN { exit !($days_end >= $days && $degraded < 0.01 * 86400 * $days) }"
    read -r days regimes degraded <<< "$(apart "${narrow[@]}")"
    [ "$regimes $degraded" = "1 0" ]
    read -r days_end regimes degraded <<< "$(apart "${narrow[@]}" --set run.recovery.spares_at=end)"
    [ "$regimes" = 5 ]
    awk "BEGIN { exit !($degraded > 0.001 * 86400 * $days && $degraded < 0.02 * 86400 * $days) }"
    awk "BEGIN { gained = 86400 * ($days_end - $days) / $degraded; exit !(0.8 < gained && gained < 1.8) }"
}

# Once in the run a power domain of K nodes breaks for good, at the same instant whatever K is: as
# many steps follow with K nodes displaced. On 3, between the powers of two, they take what lies in
# the middle of 2 and 4; of 3 spares 3 are simulated, and of 6 none more than 6.
@test "steps with nodes displaced are simulated of powers of two and lie between" {
    power() {
        "$STOKER" run scenarios/quickstart.yaml --no-db --json --set cluster.fabric.nodes_per_leaf=2 \
            --set cluster.fabric.oversubscription=8 --set cluster.power_domain.nodes="$1" \
            --set run.tokens=300B --set run.checkpoint.every="5 min" --set run.repetitions=2 \
            --set run.recovery.spares_at=end --set run.recovery.spares="$2" --set run.failures="
                {counts: hardware, classes: [{name: power, of: job, ageing: renewed, shape: 10,
                    rate: {mttf: 5 days}, takes: power_domain, repair: 900 days}]}" 2> /dev/null |
            sed -nE 's/.*"(interruptions|degraded|regimes_simulated)": ([0-9.e+-]+),?/\2/p' | paste -s
    }
    read -r count regimes two interruptions <<< "$(power 2 4)"
    [ "$count $regimes $interruptions" = "1 2 1" ]
    read -r _ regimes three _ <<< "$(power 3 4)"
    [ "$regimes" = 3 ]
    read -r _ regimes four _ <<< "$(power 4 4)"
    [ "$regimes" = 2 ]
    awk "BEGIN { middle = ($two + $four) / 2; d = ($three - middle) / middle; exit !(d * d < 1e-12) }"
    read -r _ regimes three _ <<< "$(power 3 3)"
    [ "$regimes" = 3 ]
    awk "BEGIN { exit !($three != ($two + $four) / 2) }"
    read -r _ regimes _ _ <<< "$(power 5 6)"
    [ "$regimes" = 3 ]
    read -r _ _ six _ <<< "$(power 6 8)"
    read -r _ _ eight _ <<< "$(power 8 8)"
    awk "BEGIN { middle = ($four + $eight) / 2; d = ($six - middle) / middle; exit !(d * d < 1e-12) }"
}
