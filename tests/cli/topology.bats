# stoker show and plot of fabrics: distances, routes, bisection, pictures.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
}

# Racks of 2 nodes, pods of 384, 3,072 in all. Of the 3,071 others of a node 1 is in its rack
# (0.03 %), 382 in its pod (12.44 %), 2,688 elsewhere (87.53 %).
@test "hops count the switches between nodes" {
    "$STOKER" show h100-roce-24k > "$work/shown"
    grep -Eq '^# +1 +0.03 %$' "$work/shown"
    grep -Eq '^# +3 +12.44 %$' "$work/shown"
    grep -Eq '^# +5 +87.53 %$' "$work/shown"
    grep -q 'leaf 0 -> spine 0 -> core 0 -> spine 1 -> leaf 192 -> node 384 port 0$' "$work/shown"
}

# A ring of 8 routers is cut twice; 8 x 8 such rings of 90 GB/s links: 128 x 90 GB/s = 11.52 TB/s.
# The farthest node is 4 + 4 + 4 hops away, 13 routers: one of 511, 0.20 %.
@test "a torus has distances along its dimensions, and its cut as bisection" {
    "$STOKER" show h100-torus-3200 > "$work/shown"
    grep -Eq '^# +nodes +512$' "$work/shown"
    grep -Eq '^# +bisection_bytes_per_s .* = 11.52 TB/s$' "$work/shown"
    grep -Eq '^# +13 +0.20 %$' "$work/shown"
    grep -Eq '^# +torus link +3,072 +90 GB/s ' "$work/shown"
}

# 16 cables of 45 GB/s between a leaf and the spine.
@test "a listed fabric shows its switches by their names" {
    "$STOKER" show explicit-two-leaves > "$work/shown"
    grep -Eq '^# +bisection_bytes_per_s .* = 720 GB/s$' "$work/shown"
    grep -q 'leaf0 -> spine0 -> leaf1 -> node 4 port 0$' "$work/shown"
    "$STOKER" show explicit-two-leaves --set cluster.fabric.routing=ecmp |
        grep -Eq '^# +trunk +64 +45 GB/s '
}

@test "rails that never meet are joined by NVLink, as are the trays of a rack" {
    "$STOKER" show h100-rail-only-3200 |
        grep -q 'NVLink to GPU 7, node 0 port 7 -> leaf 7 -> node 1 port 7$'
    "$STOKER" show cluster gb200-nvl72 --nodes 36 > "$work/shown"
    grep -Eq '^# +nvlink_domains +2$' "$work/shown"
    grep -Eq '^# +NVLink only +48.57 %$' "$work/shown" # 17 of 35
}

# 64 leaf up-links of a rail's two groups carry 23.04 TB/s in all if every connection finds its own.
@test "hashing leaves less than adaptive routing" {
    "$STOKER" show h100-3200 --set cluster.fabric.routing=ecmp --json > "$work/json"
    even=$(sed -nE 's/^ *"bisection_bytes_per_s": ([0-9.e+]+),?$/\1/p' "$work/json")
    hashed=$(sed -nE 's/^ *"bisection_with_collisions_bytes_per_s": ([0-9.e+]+),?$/\1/p' "$work/json")
    awk -v even="$even" -v hashed="$hashed" \
        'BEGIN { exit !(even == 23040000000000 && hashed < 0.6 * even && hashed > 0.1 * even) }'
}

@test "plot topology draws each kind of fabric" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    for cluster in h100-roce-24k h100-rail-only-3200 h100-dragonfly-3200 h100-torus-3200 \
        explicit-two-leaves; do
        run "$STOKER" plot topology "$cluster" --nodes 8 -o "$work/$cluster"
        [ "$status" -eq 0 ]
        for suffix in svg png csv gp; do
            [ -s "$work/$cluster.$suffix" ]
            [[ "$output" == *"/$cluster.$suffix"* ]]
        done
        grep -Eq '"(node 7|nodes [0-9]+-7|7)"' "$work/$cluster.csv"
    done
    run "$STOKER" plot topology h100-3200 --set cluster.fabric.routing=ecmp --nodes 64 -o "$work/e"
    [ "$status" -eq 0 ]
    grep -q '"spine 31"' "$work/e.csv"
}

# Racks of 2 nodes of 8 NICs of 400 Gbps: 16 NICs to a leaf, and as much from there to the spine
# (1:1); a pod is 7:1 to the core. 1,536 racks, of which the first five and the last are drawn.
@test "a picture of a fabric has its links' bandwidths, each tier's oversubscription, and counts" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    "$STOKER" plot topology h100-roce-24k -q -o "$work/p" > /dev/null
    [ "$(grep -c ">16 x 400 Gbps<" "$work/p.svg")" -eq 2 ]
    grep -Eq ">[0-9.]+ Tbps, 1:1<" "$work/p.svg"
    grep -Eq ">[0-9.]+ Tbps, oversubscribed 7:1<" "$work/p.svg"
    [ "$(grep -c ">… 1530 more<" "$work/p.svg")" -eq 2 ]
    grep -q ">nodes 0-1<" "$work/p.svg"
    # 24,576 NICs of 400 Gbps. A leaf has one bundle of up-links, a pod, too. Of a pod's 3,072 NICs
    # one in seven: 438.86 x 400 Gbps, no whole number of them.
    grep -q ">NICs: 24576<" "$work/p.svg"
    grep -q ">9830 Tbps<" "$work/p.svg"
    grep -q ">leaf up-links: 1536 bundles<" "$work/p.svg"
    grep -q ">pod up-links: 8 bundles<" "$work/p.svg"
    grep -q ">175.5 Tbps<" "$work/p.svg"
    "$STOKER" plot topology h100-3200 -q -o "$work/q" > /dev/null
    grep -q ">nodes 96-127<" "$work/q.svg"
    [ "$(grep -c ">32 x 400 Gbps<" "$work/q.svg")" -eq 2 ]
}

# 8 x 8 x 8 routers have three links each, counted once: 1,536 of 800 Gbps, nominal, 1,229 Tbps.
# Of two dragonfly groups of 16 leaves of 4 nodes each sends 512 x 400 Gbps to the other.
@test "links that go both ways are counted once, and one of a torus has its bandwidth" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    "$STOKER" plot topology h100-torus-3200 -q -o "$work/t" > /dev/null
    grep -q ">torus links: 1536<" "$work/t.svg"
    grep -q ">1229 Tbps<" "$work/t.svg"
    [ "$(grep -c ">2 x 400 Gbps<" "$work/t.svg")" -eq 1 ]
    "$STOKER" plot topology h100-dragonfly-3200 -q -o "$work/d" > /dev/null
    grep -q ">global links: 1 bundle<" "$work/d.svg"
    grep -q ">512 x 400 Gbps<" "$work/d.svg"
    grep -q ">204.8 Tbps, 1:1<" "$work/d.svg"
    "$STOKER" plot topology h100-dragonfly-3200 -q -o "$work/g" \
        --set cluster.fabric.global_oversubscription=2 > /dev/null
    grep -q ">102.4 Tbps, oversubscribed 2:1<" "$work/g.svg"
    "$STOKER" plot topology explicit-two-leaves -q -o "$work/e" > /dev/null
    grep -q ">trunks: 2 bundles<" "$work/e.svg"
    grep -q ">12.8 Tbps<" "$work/e.svg" # 2 x 16 x 400 Gbps
    # Hashing needs a leaf's 32 up-links one by one, 8 x 4 leaves of them.
    "$STOKER" plot topology h100-3200 --set cluster.fabric.routing=ecmp -q -o "$work/h" > /dev/null
    grep -q ">leaf up-links: 1024<" "$work/h.svg"
}

# Leaves for 32 nodes, of which 8 are there; of 2,048 nodes five pods of 384 and a third of one.
@test "a fabric that is not full is as much oversubscribed as a full one" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    "$STOKER" plot topology h100-3200 --nodes 8 -q -o "$work/p" > /dev/null
    grep -q ">102.4 Tbps, 1:1 if full<" "$work/p.svg"
    "$STOKER" plot topology h100-roce-24k --nodes 2048 -q -o "$work/q" > /dev/null
    grep -q ">1053 Tbps, oversubscribed 7:1 if full<" "$work/q.svg"
    grep -q ">6554 Tbps, 1:1<" "$work/q.svg"
}

# Spread over all racks the jobs' 32 + 32 nodes are among 3,072; packed, 64 are all there are.
@test "a picture of jobs side by side has the fabric that they were simulated on" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    "$STOKER" plot topology scenarios/two-jobs.yaml -q -o "$work/p" > /dev/null
    grep -q ">NICs: 24576<" "$work/p.svg"
    grep -q "neighbours use of it" "$work/p.csv"
    "$STOKER" plot topology scenarios/two-jobs.yaml --set placement=packed \
        --set jobs.0.placement=packed -q -o "$work/q" > /dev/null
    grep -q ">NICs: 512<" "$work/q.svg"
}

@test "titles begin with what does not fit into memory" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    run -4 "$STOKER" plot topology scenarios/quickstart.yaml --set parallel.tp=1 -q -o "$work/p"
    grep -q ">DOES NOT FIT INTO MEMORY: Llama 3 8B" "$work/p.svg"
    run -4 --separate-stderr "$STOKER" plot power scenarios/quickstart.yaml --set parallel.tp=1 -q -o "$work/q"
    [[ ${lines[0]} == "DOES NOT FIT INTO MEMORY: Llama 3 8B"* ]]
    [[ ${lines[0]} != *MW* ]]
}

@test "a picture of a scenario's fabric says what a step uses of each tier, as run does" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    "$STOKER" plot topology scenarios/llama3-405b-16k.yaml -q -o "$work/p" > /dev/null
    "$STOKER" run scenarios/llama3-405b-16k.yaml --json --db "$work/r.db" > "$work/json"
    jq -r '.links[] | select(.kind == "NIC out" or .kind == "leaf up-link" or .kind == "pod up-link")
        | [.utilisation_mean, .utilisation_max] | @tsv' "$work/json" > "$work/uses"
    [ "$(wc -l < "$work/uses")" -eq 3 ]
    awk '$2 > 1.002 * $1 { n++ } END { exit !(n > 0) }' "$work/uses" # the busiest is not the mean
    awk '{ printf ">used %.1f %%, the busiest %.1f %%<\n", 100 * $1, 100 * $2 }' "$work/uses" > "$work/used"
    while read -r used; do grep -qF "$used" "$work/p.svg"; done < "$work/used"
    # NICs are used, and their lines are wider than those of a fabric without a run.
    grep -Eq "tier'\) == 3 .* lw (1\.[3-9]|[2-9])" "$work/p.gp"
    run -2 "$STOKER" plot topology scenarios/quickstart.yaml --nodes 4
    [[ $output == *"--set gpus=N"* ]]
    run -2 "$STOKER" plot topology h100-3200 --seed 3
}

@test "plot topology of what is no cluster, or has not so many nodes" {
    run "$STOKER" plot topology h100-3201 -o "$work/p"
    [ "$status" -eq 3 ]
    [[ "$output" == *"did you mean 'h100-3200'?"* ]]
    run "$STOKER" plot topology explicit-two-leaves --nodes 9 -o "$work/p"
    [ "$status" -eq 2 ]
    [[ "$output" == *"has at most 8"* ]]
    run "$STOKER" plot topology explicit-two-leaves --set cluster.fabric.link=1 -o "$work/p"
    [ "$status" -eq 3 ]
    [[ "$output" == *"'link' is for fabric kind torus, not explicit"* ]]
    run -3 "$STOKER" plot topology scenarios/portfolios/one-fabric.yaml -o "$work/p"
    [[ "$output" == *"this is a portfolio, not a scenario"* ]]
}
