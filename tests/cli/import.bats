# stoker import: the field's own files as our YAML.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    data=tests/unit/data/import
    out=$BATS_TEST_TMPDIR
    slurm=(--gpu h100-sxm5-80gb --gpus-per-node 8 --nics 8 --nic-bandwidth "400 Gbps")
}

# import NAME KIND FILE OPTION...: writes $out/NAME.yaml, and `show` must read it.
import() {
    "$STOKER" import "${@:2}" --name "$1" > "$out/$1.yaml"
    "$STOKER" show "$out/$1.yaml" > "$out/$1.show"
}

has() {
    grep -qF -- "$2" "$out/$1.yaml" || { cat "$out/$1.yaml"; false; }
}

# refuse STATUS FILE TEXT: the file, imported as a Slurm topology, is refused.
refuse() {
    run "$STOKER" import slurm-topology "$2" "${slurm[@]}" --oversubscription 2
    [ "$status" -eq "$1" ]
    [[ "$output" == *"$3"* ]] || { echo "$output"; false; }
}

@test "a topology of NCCL is a cluster: 18 links of 25 GB/s, the two fast NICs of three" {
    import ours nccl-topo "$data/h100.xml"
    has ours 'gpu: h100-sxm5-80gb'
    has ours 'gpus_per_node: 2'
    has ours '  bandwidth: 450 GB/s'
    has ours '  count: 2'
    has ours '  bandwidth: 400 Gbps'
    has ours '# 1 slower NICs of the file are left out.'
}

# The same compute capability beside x86 is an HGX board, beside Grace (arm64) a tray of an NVL72.
@test "the GPU of a topology is the catalogue's of that capability and CPU" {
    while read -r sm arch gpu like; do
        sed "s/sm=\"90\"/sm=\"$sm\"/; s/x86_64/$arch/; s/ device=\"0x2330\"//" "$data/h100.xml" > "$out/topo.xml"
        import ours nccl-topo "$out/topo.xml" 2> "$out/told"
        grep -q "warning: $gpu is guessed from compute capability $sm alone" "$out/told"
        has ours "gpu: $gpu"
        has ours "topologies/$like"
    done <<'GPUS'
103 x86_64 b300-sxm b200-3200
103 arm64 gb300-nvl72 gb300-nvl72
100 x86_64 b200-sxm b200-3200
100 arm64 gb200-nvl72 gb200-nvl72
90 arm64 gh200-96gb gh200-slingshot-800
80 x86_64 a100-sxm4-80gb a100-80gb-1600
GPUS
}

@test "no GPU of a capability, none beside this CPU, and two that claim to be typical are told apart" {
    sed 's/ device="0x2330"//' "$data/h100.xml" > "$out/unnamed.xml"
    sed 's/sm="90"/sm="42"/' "$out/unnamed.xml" > "$out/topo.xml"
    run -2 --separate-stderr "$STOKER" import nccl-topo "$out/topo.xml"
    [[ "$stderr" == *"--gpu NAME is needed: the catalogue has no GPU of compute capability 42"* ]]
    sed 's/sm="90"/sm="70"/; s/x86_64/arm64/' "$out/unnamed.xml" > "$out/topo.xml"
    run -2 --separate-stderr "$STOKER" import nccl-topo "$out/topo.xml"
    [[ "$stderr" == *"GPUs of compute capability 70 (v100-sxm2-16gb, v100-sxm2-32gb), but none of them is typical beside an Arm CPU"* ]]
    mkdir -p "$out/catalogue/models/gpus"
    sed 's/^gpu: .*/gpu: ours/' models/gpus/h100-sxm5-80gb.yaml > "$out/catalogue/models/gpus/ours.yaml"
    run -2 --separate-stderr "$STOKER" import nccl-topo "$out/unnamed.xml" --catalogue "$out/catalogue"
    [[ "$stderr" == *"of compute capability 90, h100-sxm5-80gb, ours each say that they are the typical one beside an x86 CPU"* ]]
    "$STOKER" import nccl-topo "$data/h100.xml" --catalogue "$out/catalogue" --gpu ours | grep '^gpu: ours'
}

@test "every GPU of the catalogue has a cluster that it is like" {
    for file in models/gpus/*.yaml; do
        gpu=$(basename "$file" .yaml)
        import ours slurm-topology "$data/irregular.conf" "${slurm[@]}" --oversubscription 2 --gpu "$gpu"
        has ours "gpu: $gpu"
    done
}

# 16 GT/s x 16 lanes x 128/130 / 8 bits = 31.508 GB/s; 100000 Mbit/s = 100 Gbps.
@test "GPUs without NVLink talk over PCIe" {
    import ours nccl-topo "$data/pcie.xml"
    has ours '  kind: pcie'
    has ours '  bandwidth: 31.50769231 GB/s'
    has ours '  bandwidth: 100 Gbps'
}

# Behind a switch NV12 is all that a GPU has: 12 x 25 GB/s. Without, 1 + 2 + 3 links of 25 GB/s.
@test "the matrix of nvidia-smi is a cluster, with a switch and without" {
    import switched topo-m "$data/a100.topo" --gpu a100-sxm4-80gb --nic-bandwidth "200 Gbps"
    has switched '  bandwidth: 300 GB/s'
    has switched '  count: 4'
    import meshed topo-m "$data/v100_mesh.topo" --gpu v100-sxm2-32gb --nic-bandwidth "100 Gbps"
    has meshed '  bandwidth: 150 GB/s'
    has meshed '  count: 1'
}

# Leaves of 4 nodes x 8 NICs over 16 uplinks are 2:1; the last leaf has 3 nodes.
@test "a regular tree of Slurm is a tree" {
    import ours slurm-topology "$data/regular.conf" "${slurm[@]}" --uplinks 16
    has ours 'nodes: 15'
    has ours '  kind: tree'
    has ours '  nodes_per_leaf: 4'
    has ours '  oversubscription: 2'
    has ours '  leaves_per_pod: 2'
}

@test "blocks and a topology.yaml are trees, too" {
    import blocks slurm-topology "$data/blocks.conf" "${slurm[@]}" --oversubscription 4
    has blocks '  nodes_per_leaf: 18'
    has blocks '  oversubscription: 4'
    import yaml slurm-topology "$data/topology.yaml" "${slurm[@]}" --oversubscription 2
    has yaml '  nodes_per_leaf: 2'
    import racks slurm-topology "$data/topology.yaml" "${slurm[@]}" --topology racks
    has racks '  nodes_per_leaf: 18'
}

# 9 nodes (m1 m2 m3 m7, each x1 and x2, and login) x 8 NICs over 2 are 36 links, and so above.
@test "an irregular tree of Slurm is a list of links" {
    import ours slurm-topology "$data/irregular.conf" "${slurm[@]}" --oversubscription 2
    has ours '  kind: explicit'
    has ours "- {name: 'small', nodes: 4-12}"
    has ours "- {from: 'small', to: 'edge', bandwidth: 400 Gbps, count: 36}"
    has ours "- {from: 'edge', to: 'spine', bandwidth: 400 Gbps, count: 36}"
}

# 1,300 nodes x 8 NICs are 10,400 links up, and a link may have 4,096 cables: 3,467 of
# 10,400 x 400 / 3,467 = 1,199.88 Gbps. 600 x 8 = 4,800 are 2,400 of 800 Gbps.
@test "more links than one may have are fewer, faster ones" {
    printf 'SwitchName=a Nodes=n[1-600]\nSwitchName=b Nodes=n[601-1300]\nSwitchName=c Nodes=m1
SwitchName=p Switches=a,b\nSwitchName=r Switches=p,c\n' > "$out/big.conf"
    import ours slurm-topology "$out/big.conf" "${slurm[@]}" --oversubscription 1
    has ours "{from: 'a', to: 'p', bandwidth: 800 Gbps, count: 2400}"
    has ours "{from: 'p', to: 'r', bandwidth: 1199.884626 Gbps, count: 3467}"
}

@test "switches whose names become the same are told apart" {
    printf 'BlockName=a\xc3\xa4 Nodes=n[1-6]\nBlockName=a\xc3\xb6 Nodes=n[7-10]\nBlockName=above-the-blocks Nodes=n[11-13]\n' \
        > "$out/names.conf"
    import ours slurm-topology "$out/names.conf" "${slurm[@]}" --oversubscription 1
    has ours "- {name: 'a?? 2', nodes: 6-9}"
    has ours "- {name: 'above-the-blocks 2'}"
}

@test "what a cluster file cannot say is refused, and nothing is written" {
    for leaf in $(seq 1 1100); do echo "SwitchName=l$leaf Nodes=n[$((2 * leaf))-$((2 * leaf + (leaf != 3)))]"; done > "$out/t.conf"
    echo 'SwitchName=root Switches=l[1-1100]' >> "$out/t.conf"
    run --separate-stderr "$STOKER" import slurm-topology "$out/t.conf" "${slurm[@]}" --oversubscription 2
    [ "$status" -eq 3 ]
    [ -z "$output" ]
    [[ "$stderr" == *"may have 1024 switches and 16384 nodes, this one has 1101 and 2199"* ]]
    run --separate-stderr "$STOKER" import slurm-topology "$data/regular.conf" --gpu h100-sxm5-80gb \
        --gpus-per-node 100000 --nics 1 --nic-bandwidth "400 Gbps" --uplinks 16
    [ "$status" -eq 3 ]
    [ -z "$output" ]
    [[ "$stderr" == *"'gpus_per_node' must be a whole number from 1 to 1024, not '100000'"* ]]
}

@test "a cluster may be called null" {
    "$STOKER" import slurm-topology "$data/regular.conf" "${slurm[@]}" --uplinks 16 --name null > "$out/null.yaml"
    "$STOKER" show "$out/null.yaml" > "$out/show"
}

@test "nccl-tests' output is measurements, quoted safely" {
    cp "$data/all_reduce_2node.log" "$out/it's.log"
    "$STOKER" import nccl-tests "$out/it's.log" --cluster h100-3200 > "$out/m.yaml"
    has m 'operation: all-reduce'
    has m "cluster: 'h100-3200'"
    has m "it''s.log'"
    has m '- {bytes: 268435456, time: 4321 us}'
    "$STOKER" import nccl-tests "$data/alltoall.json" > "$out/j.yaml"
    has j 'operation: all-to-all'
}

@test "what a file does not say must be said, or it is a usage error" {
    run "$STOKER" import topo-m "$data/a100.topo" --gpu a100-sxm4-80gb
    [ "$status" -eq 2 ]
    [[ "$output" == *"--nic-bandwidth RATE is needed"* ]]
    run "$STOKER" import topo-m "$data/a100.topo" --nic-bandwidth "200 Gbps"
    [ "$status" -eq 2 ]
    [[ "$output" == *"--gpu NAME is needed"* ]]
    run "$STOKER" import slurm-topology "$data/regular.conf"
    [ "$status" -eq 2 ]
    [[ "$output" == *"--gpus-per-node N"*"--nics N"*"--nic-bandwidth RATE"*"--uplinks N or"* ]]
}

@test "wrong use names the remedy" {
    run "$STOKER" import nccl-test "$data/h100.xml"
    [ "$status" -eq 2 ]
    [[ "$output" == *"did you mean 'nccl-tests'?"* ]]
    run "$STOKER" import nccl-tests "$data/all_reduce_2node.log" --nics 8
    [ "$status" -eq 2 ]
    [[ "$output" == *"--nics says nothing to nccl-tests"* ]]
    run "$STOKER" import nccl-topo "$data/h100.xml" --nic-bandwidth 400
    [ "$status" -eq 2 ]
    run "$STOKER" import nccl-topo "$data/h100.xml" --gpu h100-sxm5-80bg
    [ "$status" -eq 2 ] || [ "$status" -eq 3 ]
    run "$STOKER" import nccl-topo no-such-file
    [ "$status" -eq 3 ]
}

@test "NICs that GPUs cannot share evenly are refused until --nics says how many count" {
    run "$STOKER" import nccl-topo "$data/h100.xml" --nics 3
    [ "$status" -eq 3 ]
    [[ "$output" == *"3 NICs cannot be shared evenly by 2 GPUs"*"--nics N"* ]]
}

@test "a tree that is none is refused at its place" {
    f=$out/t.conf
    printf 'SwitchName=a Switches=b\nSwitchName=b Switches=a\n' > "$f"
    refuse 3 "$f" "$f:1:12: error: these switches are above each other"
    printf 'SwitchName=r Nodes=n1\nSwitchName=a Switches=b\nSwitchName=b Switches=a\n' > "$f"
    refuse 3 "$f" "$f:2:12: error: the way up from 'a' goes in a circle"
    printf 'SwitchName=a Switches=a\n' > "$f"
    refuse 3 "$f" "$f:1:23: error: this switch is below itself"
    printf 'SwitchName=l Nodes=n1\nSwitchName=a Switches=l\nSwitchName=b Switches=l\n' > "$f"
    refuse 3 "$f" "$f:3:23: error: 'l' is below 'a' already"
    printf 'SwitchName=l Nodes=n1\nSwitchName=l Nodes=n2\n' > "$f"
    refuse 3 "$f" "$f:2:12: error: 'l' stands already in line 1"
    printf 'SwitchName=k Nodes=n[1-3]\nSwitchName=l Nodes=n[3-4]\n' > "$f"
    refuse 3 "$f" "$f:2:20: error: node 'n3' is on 'k' already"
    printf 'SwitchName=k Nodes=n1\nSwitchName=l Nodes=n2\n' > "$f"
    refuse 3 "$f" "$f:2:12: error: nothing joins 'l' with 'k'"
    printf 'SwitchName=k Nodes=n1\nSwitchName=l Switches=K1\n' > "$f"
    refuse 3 "$f" "there is no switch 'K1'"
    printf 'SwitchName=k\n' > "$f"
    refuse 3 "$f" "$f:1:12: error: nothing hangs on this switch"
    printf 'SwitchName=k Nodez=n1\n' > "$f"
    refuse 3 "$f" "did you mean 'Nodes'?"
    printf 'SwitchName=k Nodes=n[1-\n' > "$f"
    refuse 3 "$f" "$f:1:24: error: a number is missing here"
}

@test "XML that is cut off, or something else, is refused at its place" {
    head -c 700 "$data/h100.xml" > "$out/cut.xml"
    run "$STOKER" import nccl-topo "$out/cut.xml"
    [ "$status" -eq 3 ]
    [[ "$output" =~ cut.xml:[0-9]+:[0-9]+:\ error ]]
    echo '<graphs version="1"/>' > "$out/graph.xml"
    run "$STOKER" import nccl-topo "$out/graph.xml"
    [ "$status" -eq 3 ]
    [[ "$output" == *"NCCL_TOPO_DUMP_FILE"* ]]
    echo '<!DOCTYPE x [<!ENTITY a "b">]><system/>' > "$out/entity.xml"
    run "$STOKER" import nccl-topo "$out/entity.xml"
    [ "$status" -eq 3 ]
    [[ "$output" == *"a document type is not read"* ]]
}

# The one file is compiled without expat, and linked instead of the archive's: no -lexpat.
@test "built without expat, stoker refuses NCCL's XML with a remedy, and nothing else" {
    build=$(dirname "$STOKER")
    [ -e "$build/libstoker.a" ] || build=build/gcc-release
    if [ ! -e "$build/libstoker.a" ] || [[ $build == *-asan ]]; then
        skip "no build of a release to link with"
    fi
    read -ra flags <<< "$(make -s --no-print-directory EXPAT= flags)"
    [[ "${flags[*]}" != *HAVE_EXPAT* ]]
    gcc "${flags[@]}" -Werror -c -o "$out/topo.o" sim/foreign/import_nccl_topo.c
    read -ra libraries <<< "$(pkg-config --libs gsl sqlite3 yaml-0.1 zlib)"
    gcc -o "$out/stoker" "$build/sim/cli/main.o" "$out/topo.o" "$build/libstoker.a" "${libraries[@]}"
    run env STOKER_PATH="$PWD" "$out/stoker" import nccl-topo "$data/h100.xml" --name x
    [ "$status" -eq 1 ]
    [[ "$output" == *"built without expat"*"libexpat1-dev"* ]]
    STOKER_PATH=$PWD "$out/stoker" import hf "$data/llama3-8b/config.json" | grep -q '^model:'
}
