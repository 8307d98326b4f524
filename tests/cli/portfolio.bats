# sweep --portfolio: several scenarios on each fabric, what of their work it loses, the leanest that
# loses no more than it may, and what it costs. Sums by hand are in tests/unit/test_portfolio.c.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    cat > "$work/dense.yaml" << 'END'
scenario: a dense job
model: llama3-8b
cluster: h100-3200
gpus: 32
batch: {global: 64, micro: 1, sequence_length: 4096}
parallel: {tp: 1, zero: 3}
recompute: full
sweep: {batch.micro: [1, 2]}
require: [days <= 1]
END
    sed 's/a dense job/a long job/; s/4096/8192/; s/zero: 3/zero: 1/' "$work/dense.yaml" > "$work/long.yaml"
    file=$work/two.yaml
    cat > "$file" << 'END'
title: two jobs
portfolio:
- {scenario: dense.yaml, weight: 30 %}
- {name: the long one, scenario: long.yaml, weight: 10 %}
sweep: {cluster.network: [100 Gbps, 800 Gbps, 3200 Gbps]}
lose: 20 %
price: {gpu_hour: 2 USD, port: 1000 USD, port_bandwidth: 400 Gbps, life: 5 years}
END
}

sweep() {
    "$STOKER" sweep --portfolio "$@" --db "$work/db" -q
}

tokens() {
    "$STOKER" run "$work/$1.yaml" --no-db --json -q "${@:3}" --set cluster.network="$2" | jq .tokens_per_s_per_gpu
}

# r is what `run` gives on that network over what it gives on the fastest; of the GPU-hours
# 0.75 / r_dense + 0.25 / r_long are needed.
@test "what is lost follows from the runs of each job" {
    sweep "$file" --json > "$work/json"
    for i in 0 1; do
        network=$(jq -r ".fabrics[$i].label" "$work/json")
        dense=$(jq -n "$(tokens dense "$network") / $(tokens dense '3200 Gbps')")
        long=$(jq -n "$(tokens long "$network") / $(tokens long '3200 Gbps')")
        jq -e --argjson i $i --argjson dense "$dense" --argjson long "$long" '.fabrics[$i]
            | (.loss - (1 - 1 / (0.75 / $dense + 0.25 / $long)) | fabs) < 1e-12
            and (.work_at_fixed_hours - (0.75 * $dense + 0.25 * $long) | fabs) < 1e-12
            and $dense != $long and .loss > 0' "$work/json"
    done
    jq -e '([.fabrics[].wins_share] | add - 1 | fabs) < 1e-9 and .fabrics[2].wins_behind < 0.02
        and .fabrics[0].wins_behind > .fabrics[2].wins_behind' "$work/json"
    sweep "$file" | grep -qE '^Least USD for the same work, of 1000 draws'
    jq -e '.fabrics[2] | .loss == 0 and .is_within and .verdict == "clear"' "$work/json"
    jq -e '[.portfolio.jobs[] | [.name, (.share * 1e6 | round), .best]]
        == [["dense", 750000, "3200 Gbps"], ["the long one", 250000, "3200 Gbps"]]' "$work/json"
    jq -e '.study.kind == "portfolio" and .study.title == "two jobs" and (.points | length) == 6
        and [.fabrics[1].jobs[].point] == [1, 4] and .points[4].label == "800 Gbps, the long one"' "$work/json"
}

@test "the band of the work is that of the jobs, by their GPU-hours there" {
    sweep "$file" --json > "$work/json"
    jq -e '.fabrics[0] | .work as $work | [.jobs[] | {r: .ratio, f: (.band.speed_up_per_gpu.p90 / .ratio | log)}] as $j
        | ($work * (0.75 / $j[0].r * $j[0].f + 0.25 / $j[1].r * $j[1].f)) as $spread
        | $spread > 0.01 and (.loss_band.p10 - (1 - $work * ($spread | exp)) | fabs) < 1e-9
        and (.loss_band.p90 - (1 - $work / ($spread | exp)) | fabs) < 1e-9' "$work/json"
}

@test "only the ratio of weights counts, and whose weight grows its loss" {
    loss=$(sweep "$file" --json | jq .fabrics[0].loss)
    sed 's/30 %/3/; s/10 %/1/' "$file" > "$work/other.yaml"
    sweep "$work/other.yaml" --json | jq -ne --argjson loss "$loss" 'input | (.fabrics[0].loss / $loss - 1 | fabs) < 1e-12'
    sed 's/30 %/1e6/; s/10 %/1/' "$file" > "$work/dense-only.yaml"
    sweep "$work/dense-only.yaml" --json > "$work/json"
    jq -e '.fabrics[0] | (.work / .jobs[0].ratio - 1 | fabs) < 1e-4' "$work/json"
}

@test "the limit divides the fabrics, and the leanest lose no more than it" {
    loss=$(sweep "$file" --json | jq '.fabrics[1].loss')
    for side in 0.999 1.001; do
        sed "s/lose: .*/lose: $(jq -n "$loss * $side")/" "$file" > "$work/limit.yaml"
        sweep "$work/limit.yaml" --json > "$work/json"
        if [ $side = 0.999 ]; then
            jq -e '.leanest == ["3200 Gbps"] and .cheapest_within == "3200 Gbps"
                and [.fabrics[].is_within] == [false, false, true]' "$work/json"
        else
            jq -e '.leanest == ["800 Gbps"] and .cheapest_within == "800 Gbps"
                and [.fabrics[].is_within] == [false, true, true]' "$work/json"
        fi
    done
}

# A limit beyond the band is clear; within that of half the votes, which is about half as wide, too
# close to call.
@test "which side of the limit is as sure as the band says" {
    sweep "$file" --json > "$work/json"
    loss=$(jq '.fabrics[1].loss' "$work/json")
    for end in p10 p90; do
        edge=$(jq ".fabrics[1].loss_band.$end" "$work/json")
        for beyond in 1.02 0.98 0.1; do
            limit=$(jq -n "$loss + ($edge - $loss) * $beyond")
            sed "s/lose: .*/lose: $limit/" "$file" > "$work/limit.yaml"
            verdict=$(sweep "$work/limit.yaml" --json | jq -r '.fabrics[1].verdict')
            case $beyond in
                1.02) [ "$verdict" = clear ] ;;
                0.98) [ "$verdict" = likely ] ;;
                *) [ "$verdict" = "too close" ] ;;
            esac
        done
    done
}

@test "the portfolio's cluster is that of all, with its GPU" {
    loss=$(sweep "$file" --json | jq '.fabrics[0].jobs[0].ratio')
    sed -i 's/h100-3200/h200-3200/; $a gpu: b200-sxm' "$work/dense.yaml"
    echo 'cluster: h100-3200' >> "$file"
    sweep "$file" --json > "$work/json"
    jq -e --argjson loss "$loss" '.fabrics[0].jobs[0].ratio == $loss and ([.points[].gpu] | unique | length) == 1' "$work/json"
}

# Ports of h100-3200: rails with one pod, so 2 B at NIC and leaf and 2 B above, B of 800 Gbps a node
# 100 Gbps a GPU: four ports of a quarter of 1,000 USD over 43,800 h.
@test "a GPU-hour comes to its price and its ports" {
    sweep "$file" --json > "$work/json"
    jq -e '.fabrics[1] | (.network_usd_per_gpu_hour - 1000 / 43800 | fabs) < 1e-6
        and (.usd_per_gpu_hour - 2 - .network_usd_per_gpu_hour | fabs) < 1e-12' "$work/json"
    jq -e '.fabrics as $f | $f[1].work_per_usd as $own
        | ($own - ($f[1].work / $f[1].usd_per_gpu_hour) / (1 / $f[2].usd_per_gpu_hour) | fabs) < 1e-12
        and $f[2].work_per_usd == 1' "$work/json"
    # The front: more work costs more on it, and it has the cheapest and the best.
    jq -e '[.fabrics[] | select(.is_on_front)] | sort_by(.usd_per_gpu_hour) | length > 1
        and [.[].loss] == ([.[].loss] | sort | reverse)' "$work/json"
    run sweep "$file"
    [[ $output == *"network USD/GPU-h"*"work/USD"* ]]
    sed -i '/^price/d' "$file"
    run sweep "$file"
    [[ $output != *USD* ]]
    sweep "$file" --json > "$work/json"
    jq -e '.fabrics[1] | .usd_per_gpu_hour == null and .work_per_usd == null and .is_on_front == false' "$work/json"
}

@test "each job may have its own best layout on each fabric" {
    search='search: {parallel: {tp: [1, 4], cp: [1], pp: [1], zero: [1, 3], sequence_parallel: [true]}, batch.micro: [1, 2], recompute: [none, full]}'
    echo "$search" >> "$work/dense.yaml"
    echo "$search" >> "$work/long.yaml"
    sweep "$file" --best layout --json > "$work/json"
    for job in 0 1; do
        name=$(jq -r ".portfolio.jobs[$job].name" "$work/json")
        [ "$name" = dense ] && scenario=dense || scenario=long
        sed -i '/^sweep/d; /^require/d' "$work/$scenario.yaml"
        "$STOKER" sweep "$work/$scenario.yaml" --axis cluster.network="100 Gbps,800 Gbps,3200 Gbps" \
            --best layout --db "$work/db" --json -q > "$work/own"
        jq -e --slurpfile own "$work/own" --argjson job $job '[.fabrics[].jobs[$job].layout] == [$own[0].best[].layout]
            and [.points[$job * 3, $job * 3 + 1, $job * 3 + 2].step_time_s] == [$own[0].best[].step_time_s]' "$work/json"
    done
    jq -e '[.fabrics[].jobs[].layout] | unique | length > 1' "$work/json"
    run sweep "$file" --best layout
    [[ $output == *"each at its best"*"tp "* ]]
}

@test "a table for a spreadsheet or a page" {
    [ "$(sweep "$file" --format csv | head -1 | tr -d '\r')" = "cluster.network,dense_ratio,the long one_ratio,loss,loss_low,loss_high,wins_share,within,network_usd_per_gpu_hour,usd_per_gpu_hour,work_per_usd,call" ]
    [ "$(sweep "$file" --format csv | wc -l)" -eq 4 ]
    sweep "$file" --format md | grep -q '^| 3200 Gbps | 100.0 | 100.0 | 0.0 |'
}

@test "axes of the command line are fabrics, too" {
    sweep "$file" --axis cluster.fabric.oversubscription=1,4 --json > "$work/json"
    jq -e '(.fabrics | length) == 6 and (.points | length) == 12' "$work/json"
    run --separate-stderr "$STOKER" sweep "$file" --db "$work/db"
    [ "$status" -eq 3 ]
    [[ $stderr == *"two.yaml:2:1: error: this is a portfolio"*"sweep --portfolio $file"* ]]
    run --separate-stderr sweep "$work/dense.yaml"
    [ "$status" -eq 3 ]
    [[ $stderr == *"there is no portfolio: in it"*"weight: 60 %"* ]]
    for option in --feasible --sort=mfu --top=1 --metric=mfu --shard=1/2 --require='mfu>=1 %'; do
        run --separate-stderr sweep "$file" "$option"
        [ "$status" -eq 2 ]
        [[ $stderr == *"a portfolio, whose table has a line for each fabric"* ]]
    done
}

# One job wants the network, the other NVLink: each loses on one of them.
@test "where no fabric loses so little the nearest is told, and admitted by its figure" {
    sed -i 's/lose: .*/lose: 0 %/; s/^sweep: .*/variants:\n- {name: network, set: {cluster.network: 3200 Gbps, cluster.scale_up.bandwidth: 50 GB\/s}}\n- {name: NVLink, set: {cluster.network: 400 Gbps}}/' "$file"
    sed -i 's/tp: 1, zero: 1/tp: 8/' "$work/long.yaml"
    run --separate-stderr sweep "$file"
    [ "$status" -eq 4 ]
    [[ $stderr == *"two.yaml:8:7: error: no fabric loses at most 0 %"*"nearest is "*"admits"* ]]
    [[ $output == *"0 of 2 fabrics lose at most 0 %"* ]]
    sed -i "s/^lose: .*/$(grep -oE 'lose: [0-9.]+ %' <<< "$stderr" | tail -1)/" "$file"
    run --separate-stderr sweep "$file"
    [ "$status" -eq 0 ]
    [[ $output == *"1 of 2 fabrics lose at most"* ]]
}

@test "each wrong portfolio gets its message" {
    count=0
    for wrong in tests/bad_input/portfolios/*.yaml; do
        status=0
        "$STOKER" sweep --portfolio "$wrong" --db "$work/wrong.db" -q > /dev/null 2> "$work/err" || status=$?
        { echo "exit $status"; grep -v '^note: results are stored' "$work/err" || true; } > "$work/actual"
        [ -z "${STOKER_UPDATE:-}" ] || cp "$work/actual" "${wrong%.yaml}.expected"
        diff "${wrong%.yaml}.expected" "$work/actual"
        count=$((count + 1))
    done
    [ $count -ge 18 ]
}

# 1.2 times what the first job's step is on the first fabric, where the anchor is measured: its level
# moves by as much on every fabric, the other's does not, and so no ratio does.
@test "a job's anchor moves its steps and no ratio" {
    sweep "$file" --json > "$work/plain"
    first=$(jq '.points[0].step_time_s' "$work/plain")
    echo "anchor: {step_time: $(jq -n "1.2 * $first") s, set: {cluster.network: 100 Gbps}, weight: 1}" >> "$work/dense.yaml"
    sweep "$file" --json > "$work/anchored"
    jq -ne --slurpfile a "$work/plain" --slurpfile b "$work/anchored" '
        [$a[0].points, $b[0].points] | transpose | length == 6 and
        ([.[:3][] | .[1].step_time_s / .[0].step_time_s - 1.2 | fabs < 1e-6] | all) and
        ([.[3:][] | .[1].step_time_s == .[0].step_time_s] | all) and
        ([$a[0].fabrics, $b[0].fabrics] | transpose | all(.[0].loss - .[1].loss | fabs < 1e-6))'
}

# The bill of `show`, over five years; nobody sells a NIC of 12.5 Gbps.
@test "without a port's price the network comes to its parts" {
    sed -i 's/port: 1000 USD, port_bandwidth: 400 Gbps, //' "$file"
    sweep "$file" --json > "$work/json"
    jq -e '.fabrics[0] | .network_usd_per_gpu_hour == null and .usd_per_gpu_hour == null' "$work/json"
    nodes=$(jq '.points[0].gpus / 8' "$work/json")
    for i in 1 2; do
        network=$(jq -r ".fabrics[$i].label" "$work/json")
        usd=$("$STOKER" show h100-3200 --nodes "$nodes" --set cluster.network="$network" --json | jq .derived.network_usd_per_gpu)
        jq -e --argjson i $i --argjson usd "$usd" '.fabrics[$i].network_usd_per_gpu_hour * 43800 / $usd - 1 | fabs < 1e-9' "$work/json"
    done
}
