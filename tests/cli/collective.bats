# stoker collective: what is printed, what is chosen, and what is refused.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    all=(all-reduce all-gather reduce-scatter all-to-all broadcast reduce send barrier)
}

# The command on nodes of eight H100: on NODES OPERATION ARGUMENT...
on() {
    "$STOKER" collective "$2" --cluster h100-3200 --gpus $(($1 * 8)) "${@:3}"
}

# The values of a key, one a row, of the document on stdin.
values() {
    sed -nE "s/^ *\"$1\": \"?([^\"]*[^\",])\"?,?$/\1/p"
}

# Whether two numbers differ by less than a billionth.
close() {
    awk "BEGIN { d = $1 - $2; exit !(d * d <= 1e-18 * $2 * $2) }"
}

@test "the document has what design.md promises, a row for each size" {
    on 8 all-reduce --sizes 1MiB,1GiB --json > "$BATS_TEST_TMPDIR/json"
    for key in bytes time_s algbw_bytes_per_s busbw_bytes_per_s algorithm protocol bottleneck; do
        [ "$(values "$key" < "$BATS_TEST_TMPDIR/json" | wc -l)" -eq 2 ]
    done
    [ "$(values schema < "$BATS_TEST_TMPDIR/json")" = stoker.collective/1 ]
    [ "$(values operation < "$BATS_TEST_TMPDIR/json")" = all-reduce ]
    [ "$(values gpus < "$BATS_TEST_TMPDIR/json")" = 64 ]
    [ "$(values bytes < "$BATS_TEST_TMPDIR/json" | tr '\n' ' ')" = "1048576 1073741824 " ]
    python3 -m json.tool "$BATS_TEST_TMPDIR/json" > /dev/null || ! command -v python3
}

@test "the table has a line for each size under the names of nccl-tests" {
    run on 8 all-reduce --sizes 1MiB,1GiB
    [ "$status" -eq 0 ]
    [[ "${lines[0]}" == "# all-reduce over 64 GPUs on 8 NVLink domain"*"h100-3200"* ]]
    [[ "${lines[1]}" == *bytes*"time us"*"algbw GB/s"*"busbw GB/s"*algorithm*protocol*bottleneck* ]]
    [[ "${lines[2]}" == *1048576* ]]
    [[ "${lines[3]}" == *1073741824*"NIC"* ]]
    [ "${#lines[@]}" -eq 4 ]
}

# nccl-tests, doc/PERFORMANCE.md: of 64 ranks 2 x 63 / 64, 63 / 64 or 1; algbw is bytes / time.
@test "bus bandwidth is algorithm bandwidth times the operation's factor" {
    local factor
    for operation in "${all[@]}"; do
        case $operation in
        all-reduce) factor=1.96875 ;;
        all-gather | reduce-scatter | all-to-all) factor=0.984375 ;;
        *) factor=1 ;;
        esac
        on 8 "$operation" --sizes 1GiB --json > "$BATS_TEST_TMPDIR/json"
        algbw=$(values algbw_bytes_per_s < "$BATS_TEST_TMPDIR/json")
        time_s=$(values time_s < "$BATS_TEST_TMPDIR/json")
        close "$(values busbw_bytes_per_s < "$BATS_TEST_TMPDIR/json")" "$algbw * $factor"
        close "$algbw" "1073741824 / $time_s"
    done
}

@test "a range doubles, ranges and sizes can be listed, and the end is included" {
    sizes() { on 1 all-reduce --json --sizes "$1" | values bytes | tr '\n' ' '; }
    [ "$(sizes 1KiB..8KiB)" = "1024 2048 4096 8192 " ]
    [ "$(sizes 1kB..5kB)" = "1000 2000 4000 " ]
    [ "$(sizes 1MB)" = "1000000 " ]
    [ "$(sizes 1GB,1KiB..2KiB,7B)" = "1000000000 1024 2048 7 " ]
    [ "$(on 1 all-reduce --json | values bytes | head -1)" = 1024 ]
    [ "$(on 1 all-reduce --json | values bytes | tail -1)" = 17179869184 ]
}

@test "more bytes never take less time, and more bandwidth never more" {
    for operation in "${all[@]}"; do
        on 8 "$operation" --sizes 1KiB..4GiB --json | values time_s > "$BATS_TEST_TMPDIR/times"
        [ "$(wc -l < "$BATS_TEST_TMPDIR/times")" -eq 23 ]
        sort -gc "$BATS_TEST_TMPDIR/times"
        on 8 "$operation" --sizes 1KiB..4GiB --json --set 'cluster.nics.bandwidth=200 Gbps' |
            values time_s | paste - "$BATS_TEST_TMPDIR/times" | awk '$1 < $2 { exit 1 }'
    done
}

# On eight nodes NCCL's way is a tree or NVLS tree; a single ring through all 64 ranks enters and
# leaves each node by one NIC and is slower than one over all rails.
@test "an algorithm or protocol can be forced" {
    row() { on 8 all-reduce --sizes 1GiB --json "$@"; }
    for algorithm in single-ring multi-rail-ring tree halving-doubling hierarchical nvls-tree; do
        [ "$(row --algorithm $algorithm | values algorithm)" = $algorithm ]
    done
    for protocol in LL LL128 Simple; do
        [ "$(row --algorithm multi-rail-ring --protocol $protocol | values protocol)" = $protocol ]
    done
    one=$(row --algorithm single-ring | values time_s)
    rails=$(row --algorithm multi-rail-ring | values time_s)
    awk "BEGIN { exit !($one > 2 * $rails) }"
    [ "$(row --algorithm halving-doubling | values phases)" -gt 1 ]
    [ "$(row --algorithm multi-rail-ring | values phases)" -eq 1 ]
}

# Two nodes of eight 400 Gbps NICs, 16 GiB: 8 x 50 GB/s less what the library loses of them is what
# nccl-tests prints of NCCL_ALGO=Ring on such nodes, above 300 GB/s of bus bandwidth; one NIC carries
# 50 at most. On one node, or with one NIC a node, both are one ring.
@test "ring is NCCL's ring, over all rails; the single ring says so in its name" {
    row() { "$STOKER" collective all-reduce --cluster h100-3200 --sizes 16GiB --json "$@"; }
    [ "$(row --gpus 16 --algorithm ring)" = "$(row --gpus 16 --algorithm multi-rail-ring)" ]
    row --gpus 16 --algorithm ring |
        jq -ne 'input | .rows[0] | .algorithm == "multi-rail-ring" and .busbw_bytes_per_s > 300e9 and .busbw_bytes_per_s < 400e9'
    row --gpus 16 --algorithm single-ring |
        jq -ne 'input | .rows[0] | .algorithm == "single-ring" and .busbw_bytes_per_s > 40e9 and .busbw_bytes_per_s < 50e9'
    row --gpus 8 --algorithm ring | jq -ne 'input | .rows[0].algorithm == "ring"'
    same() { row --gpus "$1" "${@:3}" --algorithm "$2" | jq -c '[.rows[] | [.time_s, .busbw_bytes_per_s]]'; }
    [ "$(same 8 ring)" = "$(same 8 single-ring)" ]
    [ "$(same 16 ring --set cluster.nics.count=1)" = "$(same 16 single-ring --set cluster.nics.count=1)" ]
    "$STOKER" collective --help | tr -s ' \n' ' ' | grep -q "ring is NCCL's, over all rails"
}

# A scenario and a log mean by ring what the command does: NCCL_ALGO=Ring on two nodes.
@test "a scenario's ring and a log's ring are NCCL's, too" {
    work=$BATS_TEST_TMPDIR
    step() { "$STOKER" run scenarios/quickstart.yaml --no-db --json --set collectives.data.algorithm="$1" | jq .step_time_s; }
    [ "$(step ring)" = "$(step multi-rail-ring)" ]
    awk "BEGIN { exit !($(step single-ring) > $(step ring)) }"
    [ "$("$STOKER" explain scenarios/quickstart.yaml --json --set collectives.data.algorithm=single-ring | grep -c '"single-ring"')" -gt 0 ]
    for name in ring multi-rail-ring; do
        printf 'measurements:\n- {id: one, operation: all-reduce, cluster: h100-3200, gpus: 16, nodes: 2, algorithm: %s, source: made up, %s}\n' \
            $name 'points: [{bytes: 1073741824, time: 6 ms}]' > "$work/$name.yaml"
        "$STOKER" calibrate collectives "$work/$name.yaml" --check > "$work/$name.txt"
    done
    cmp "$work/ring.txt" "$work/multi-rail-ring.txt"
    grep -q "multi-rail-ring" "$work/ring.txt"
}

@test "the library's own choice is never slower than a forced one that it knows" {
    chosen=$(on 8 all-reduce --sizes 64MiB --json | values time_s)
    for algorithm in ring multi-rail-ring tree nvls-tree; do
        forced=$(on 8 all-reduce --sizes 64MiB --json --algorithm $algorithm | values time_s)
        awk "BEGIN { exit !($chosen <= $forced * 1.000001) }"
    done
}

@test "what is forced and not offered warns, and the library's choice runs" {
    run --separate-stderr on 8 all-to-all --sizes 1MiB --algorithm tree
    [ "$status" -eq 0 ]
    [[ "$output" == *direct* ]]
    [[ "$stderr" == *"warning: tree is not offered for all-to-all"*"direct ran"* ]]
    run --separate-stderr on 8 all-to-all --sizes 1MiB --protocol LL128
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"warning: LL128 is not offered for all-to-all"* ]]
    run --separate-stderr on 8 all-reduce --sizes 1MiB --algorithm tree --protocol LL
    [ -z "$stderr" ]
}

@test "the same line gives the same bytes" {
    for operation in "${all[@]}"; do
        once=$(on 16 "$operation" --json)
        [ "$once" = "$(on 16 "$operation" --json)" ]
    done
}

# 64 nodes under 16 leaves of 4, every rail a flow to the next leaf. Adaptive routing spreads
# over all spines; hashed flows meet on some, which then bind, and which ones is the seed's.
@test "ECMP's collisions slow a ring down and follow the seed" {
    ring() {
        on 64 all-reduce --sizes 1GiB --json --algorithm multi-rail-ring --protocol Simple \
            --set cluster.fabric.kind=tree --set cluster.fabric.nodes_per_leaf=4 "$@"
    }
    adaptive=$(ring --set cluster.fabric.routing=adaptive | values time_s)
    ecmp=$(ring --set cluster.fabric.routing=ecmp | values time_s)
    awk "BEGIN { exit !($ecmp > $adaptive) }"
    [[ "$(ring --set cluster.fabric.routing=ecmp | values bottleneck)" == *spine* ]]
    [[ "$(ring | values bottleneck)" == *NIC* ]]
    [ "$(ring | values time_s)" = "$(ring --seed 2 | values time_s)" ]
    [ "$(ring --set cluster.fabric.routing=ecmp)" = "$(ring --set cluster.fabric.routing=ecmp)" ]
    for seed in 1 2 3 4 5 6; do
        ring --set cluster.fabric.routing=ecmp --seed $seed | values bottleneck
    done | sort -u > "$BATS_TEST_TMPDIR/bottlenecks"
    [ "$(wc -l < "$BATS_TEST_TMPDIR/bottlenecks")" -gt 1 ]
}

@test "a group larger than the cluster is status 4, with the most there can be" {
    run "$STOKER" collective all-reduce --cluster h100-roce-24k --gpus 24584
    [ "$status" -eq 4 ]
    [[ "$output" == *"24584 GPUs are more than cluster h100-roce-24k has: 3072 nodes"* ]]
    [[ "$output" == *"at most 24576"* ]]
    run "$STOKER" collective all-reduce --cluster h100-rail-only-3200 --gpus 4096
    [ "$status" -eq 4 ]
    [[ "$output" == *"cannot all reach each other"* ]]
    run on 2 all-reduce --set cluster.nodes=1
    [ "$status" -eq 4 ]
}

@test "a size that takes for ever is status 4" {
    run on 8 all-reduce --sizes 1PB --set 'cluster.nics.bandwidth=8 kbps'
    [ "$status" -eq 4 ]
    [[ "$output" == *"would take"* ]]
}

@test "an unknown operation, algorithm or protocol is status 2, with the nearest" {
    run on 8 all-reduse
    [ "$status" -eq 2 ]
    [[ "$output" == *"there is no operation 'all-reduse'"*"did you mean 'all-reduce'?"* ]]
    run on 8 all-reduce --algorithm rung
    [ "$status" -eq 2 ]
    [[ "$output" == *"did you mean 'ring'?"* ]]
    run on 8 all-reduce --protocol simple
    [ "$status" -eq 2 ]
    [[ "$output" == *"did you mean 'Simple'?"* ]]
}

@test "what is missing is status 2" {
    run "$STOKER" collective --cluster h100-3200 --gpus 8
    [ "$status" -eq 2 ]
    run "$STOKER" collective all-reduce --gpus 8
    [ "$status" -eq 2 ]
    [[ "$output" == *"--cluster is needed"* ]]
    run "$STOKER" collective all-reduce --cluster h100-3200
    [ "$status" -eq 2 ]
    [[ "$output" == *"--gpus is needed"* ]]
    run on 1 all-reduce all-gather
    [ "$status" -eq 2 ]
}

@test "sizes that are none are status 2" {
    for sizes in 4 "" , 1MiB,,2MiB 4MiB..1MiB 0B..1MiB .. 1MiB.. ..1MiB -1MiB 1e20B nan 1MiB..x; do
        run on 1 all-reduce --sizes="$sizes"
        [ "$status" -eq 2 ]
        [[ "$output" == *"--sizes"* ]]
    done
    many=$(printf '1B..1PB,%.0s' {1..10})1B..1PB # 11 x 50
    run on 1 all-reduce --sizes "$many"
    [ "$status" -eq 2 ]
    [[ "$output" == *"more than 512 sizes"* ]]
}

@test "counts of GPUs that are none are status 2" {
    for gpus in 0 1 -8 2.5 1e12 many ""; do
        run "$STOKER" collective all-reduce --cluster h100-3200 --gpus="$gpus"
        [ "$status" -eq 2 ]
        [[ "$output" == *"--gpus"* ]]
    done
}

@test "an unknown cluster or library, and a bad value of one, are status 3" {
    run "$STOKER" collective all-reduce --cluster h100-320 --gpus 8
    [ "$status" -eq 3 ]
    [[ "$output" == *"there is no cluster 'h100-320'"*"did you mean 'h100-3200'"* ]]
    run on 1 all-reduce --library nccl-1999
    [ "$status" -eq 3 ]
    run on 1 all-reduce --set cluster.nics.bandwidth=400
    [ "$status" -eq 3 ]
    run on 1 all-reduce --set cluster.fabric.routing=psychic
    [ "$status" -eq 3 ]
    for seed in 0 banana -1 5x; do
        run on 1 all-reduce --set "seed=$seed"
        [ "$status" -eq 3 ]
    done
    run on 1 all-reduce --set seed=4294967296
    [ "$status" -eq 3 ]
    for seed in 1 4294967295; do
        on 1 all-reduce --set "seed=$seed" > "$BATS_TEST_TMPDIR/seed"
    done
}

@test "--set of what a collective does not have is status 2, not silence" {
    run on 1 all-reduce --set model=llama3-8b
    [ "$status" -eq 2 ]
    [[ "$output" == *"nothing of that name here"* ]]
}

@test "GPUs that do not fill the last node, and one NVLink domain of many nodes, do" {
    domains() { "$STOKER" collective all-reduce --cluster "$@" --json | values nvlink_domains; }
    [ "$(domains h100-3200 --gpus 12)" = 2 ]
    [ "$(domains gb200-nvl72 --gpus 72)" = 1 ]
}

@test "each cluster of the catalogue answers for each operation" {
    for file in topologies/*.yaml; do
        cluster=$(basename "$file" .yaml)
        for operation in "${all[@]}"; do
            run "$STOKER" collective "$operation" --cluster "$cluster" --gpus 16 --sizes 1KiB,64MiB
            [ "$status" -eq 0 ]
        done
    done
}

@test "an all-to-all of unequal parts waits for the hottest rank" {
    # 16 ranks on 2 nodes: rank 0 gets h/16 of 8 x 64 MiB from the other node over a NIC of
    # 50 Gbps x 0.9 = 5.625 GB/s, h times the 5.97 ms of equal parts; latency is the same.
    time_of() {
        "$STOKER" collective all-to-all --cluster h100-400 --gpus 16 --sizes 64MiB --json "$@" |
            awk -F': ' '/"time_s"/ { print $2 + 0 }'
    }
    alike=$(time_of)
    [ "$(time_of --hottest 1)" = "$alike" ]
    awk -v a="$alike" -v b="$(time_of --hottest 4)" -v c="$(time_of --hottest 16)" 'BEGIN {
        unit = 67108864 / 2 / 5.625e9
        if ((b - a) / (3 * unit) < 0.999 || (b - a) / (3 * unit) > 1.001) exit 1
        if ((c - a) / (15 * unit) < 0.999 || (c - a) / (15 * unit) > 1.001) exit 1
    }'
    run "$STOKER" collective all-to-all --cluster h100-400 --gpus 16 --hottest 17
    [ "$status" -eq 2 ]
    run "$STOKER" collective all-reduce --cluster h100-400 --gpus 16 --hottest 2
    [ "$status" -eq 2 ]
}

# h100-3200, ring, Simple: rounds of 1.4 x 3.4 us inside nodes and 1.4 x (14 + 3 x 2 x 0.5) us between;
# the coupled flow counts 2 (K - 1) rounds between nodes, a part's way has 2 K: 2 x 1.4 x 13.6 =
# 38 us later, at most, whatever the size, and each of the messages ends at a whole nanosecond.
@test "single sends take as long as the coupled ring, with each protocol, over 64 to 1,024 GPUs" {
    for gpus in 64 512 1024; do
        for algorithm in single-ring ring; do
            [ "$gpus $algorithm" = "1024 ring" ] && continue # 17 M messages a size
            for protocol in LL LL128 Simple; do
                "$STOKER" collective all-reduce --cluster h100-3200 --gpus $gpus --json -q \
                    --sizes 1MiB,1GiB --algorithm $algorithm --protocol $protocol --single-sends |
                    jq -ne 'input | [.rows[] | .single_sends_s - .time_s | . > -1e-6 and . < 50e-6] | all'
            done
        done
    done
}

@test "single sends follow the protocol" {
    of() { "$STOKER" collective all-reduce --cluster h100-3200 --gpus 64 --sizes 64MiB --json -q \
        --algorithm ring --single-sends --protocol "$1" | jq .rows[0].single_sends_s; }
    [ "$(of LL128)" != "$(of Simple)" ]
    [ "$(of LL128)" != "$(of LL)" ]
}
