# stoker import of what joins the GPUs of a node, and which GPU they are: what the file tells is what
# is written, a guess is said, and what a cluster file cannot say is, too.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    out=$BATS_TEST_TMPDIR
}

# xml VENDOR DEVICE SM ELEMENT GPUS TARGETS: a topology of NCCL, 32 GT/s slots; TARGETS is a function
# that prints the numbers of the GPUs that one has a link to, or "switch".
xml() {
    local gpu target
    echo '<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">'
    for ((gpu = 0; gpu < $5; gpu++)); do
        printf '<pci busid="0000:%02x:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">\n' $((16 + gpu))
        printf '<pci busid="0000:%02x:00.0" class="0x030200" vendor="%s" device="%s" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="%d" sm="%d" rank="%d">\n' \
            $((32 + gpu)) "$1" "$2" "$gpu" "$3" "$gpu"
        for target in $("$6" "$gpu" "$5"); do
            if [ "$target" = switch ]; then
                printf '<%s target="0000:05:00.0" count="18" tclass="0x068000"/>\n' "$4"
            else
                printf '<%s target="0000:%02x:00.0" count="3" tclass="0x030200"/>\n' "$4" $((32 + target))
            fi
        done
        printf '</gpu></pci><nic><net name="n%d" speed="200000" dev="%d"/></nic></pci>\n' "$gpu" "$gpu"
    done
    echo '</cpu></system>'
}

switched() { echo switch; }
paired() { echo $(($1 ^ 1)); }
meshed() { for ((other = 0; other < $2; other++)); do [ $other -eq $1 ] || echo $other; done; }
ringed() { echo $((($1 + 1) % $2)) $((($1 + $2 - 1) % $2)); }
unlinked() { :; }

topo() {
    "$STOKER" import nccl-topo "$out/topo.xml" --name ours "$@" > "$out/ours.yaml" 2> "$out/told"
}

has() {
    grep -qF -- "$1" "$out/ours.yaml" || { cat "$out/ours.yaml" "$out/told"; false; }
}

@test "the GPU is the one with that PCI id, whatever others have its capability" {
    while read -r device sm gpu; do
        xml 0x10de 0x$device "$sm" nvlink 2 switched > "$out/topo.xml"
        topo
        has "gpu: $gpu"
        [ ! -s "$out/told" ]
    done <<'T'
2335 90 h200-sxm-141gb
2330 90 h100-sxm5-80gb
2324 90 h800-sxm5-80gb
20b2 80 a100-sxm4-80gb
20b0 80 a100-sxm4-40gb
20b5 80 a100-pcie-80gb
31c3 103 gb300-nvl72
T
}

@test "an id that nobody knows is a guess, which is said; another maker's GPU is none of ours" {
    xml 0x10de 0x2321 90 nvlink 2 switched > "$out/topo.xml"
    topo
    has 'gpu: h100-sxm5-80gb'
    grep -qF 'h100-sxm5-80gb is guessed from compute capability 90 alone (PCI id 10de:2321): --gpu NAME decides' "$out/told"
    xml 0x1002 0x74a1 304 xgmi 8 meshed > "$out/topo.xml"
    run -2 --separate-stderr topo
    grep -qF 'these GPUs are of AMD (PCI id 1002:74a1), and the catalogue has none with that id' "$out/told"
    [ ! -s "$out/ours.yaml" ]
}

@test "--gpu decides, and where the file knows better that is told" {
    xml 0x10de 0x2335 90 nvlink 2 switched > "$out/topo.xml"
    topo --gpu h200-sxm-141gb
    [ ! -s "$out/told" ]
    topo --gpu h100-sxm5-80gb
    has 'gpu: h100-sxm5-80gb'
    grep -qF -- "--gpu h100-sxm5-80gb is taken, but the file's GPUs are h200-sxm-141gb (PCI id 10de:2335)" "$out/told"
    xml 0x1002 0x74a1 304 xgmi 8 meshed > "$out/topo.xml"
    topo --gpu h100-sxm5-80gb
    grep -qF "the file's GPUs are AMD (PCI id 1002:74a1)" "$out/told"
}

# 3 links of 25 GB/s to each peer; 18 to a switch.
@test "what links join is what is written: a switch, a mesh, rings, nothing" {
    while read -r shape gpus kind bandwidth peer told; do
        xml 0x10de 0x2330 90 nvlink "$gpus" "$shape" > "$out/topo.xml"
        topo
        has "  kind: $kind"
        has "  bandwidth: $bandwidth GB/s"
        [ "$peer" = - ] || has "  peer_bandwidth: $peer GB/s"
        if [ "$told" = - ]; then
            [ ! -s "$out/told" ]
        else
            grep -qF "${told//_/ }" "$out/told"
            grep -qF "# links join only GPUs" "$out/ours.yaml"
        fi
        "$STOKER" show "$out/ours.yaml" > /dev/null
    done <<'T'
switched 8 nvswitch 450 - -
meshed 8 nvlink-mesh 525 75 -
meshed 4 nvlink-mesh 225 75 -
ringed 8 nvswitch 150 - links_join_only_GPUs_0-1,_0-7,_1-2,
paired 8 pcie 63.01538462 - links_join_only_GPUs_0-1,_2-3,_4-5,_6-7,_which_a_cluster_file_cannot_say
paired 2 nvlink-mesh 75 75 -
unlinked 8 pcie 63.01538462 - -
T
}

# An A100's own link is PCIe 4, whatever its slot.
@test "cards that bridges join by twos meet over PCIe, and no faster than the card's own" {
    xml 0x10de 0x20b5 80 nvlink 8 paired > "$out/topo.xml"
    topo
    has 'gpu: a100-pcie-80gb'
    has '  kind: pcie'
    has '  bandwidth: 31 GB/s'
    "$STOKER" collective all-reduce --cluster "$out/ours.yaml" --gpus 8 --sizes 1GiB --json |
        jq -ne 'input | [.rows[].busbw_bytes_per_s] | all(. > 5e9 and . < 31e9)'
}

matrix() { # GPUS NICS_OF_EACH CELL...: of GPU 0 to the others, in turn
    printf '\t'
    for ((i = 0; i < $1; i++)); do printf 'GPU%d\t' $i; done
    for ((i = 0; i < $1 * $2; i++)); do printf 'NIC%d\t' $i; done
    printf 'CPU Affinity\n'
    for ((a = 0; a < $1; a++)); do
        printf 'GPU%d\t' $a
        for ((b = 0; b < $1; b++)); do
            if ((a == b)); then printf ' X \t'; else printf '%s\t' "$("$3" $a $b)"; fi
        done
        for ((i = 0; i < $1 * $2; i++)); do
            if ((i / $2 == a)); then printf 'PIX\t'; else printf 'SYS\t'; fi
        done
        printf '0-47\n'
    done
}

nv18() { echo NV18; }
nv12_of_pairs() { if (($1 / 2 == $2 / 2)); then echo NV12; else echo SYS; fi; }

@test "a matrix of pairs is no switch, and functions of one card are no NICs" {
    matrix 8 1 nv12_of_pairs > "$out/topo.txt"
    "$STOKER" import topo-m "$out/topo.txt" --gpu a100-pcie-80gb --nic-bandwidth "200 Gbps" > "$out/ours.yaml" 2> "$out/told"
    has '  kind: pcie'
    grep -qF 'links join only GPUs 0-1, 2-3, 4-5, 6-7' "$out/told"
    while read -r each count told; do
        matrix 8 "$each" nv18 > "$out/topo.txt"
        "$STOKER" import topo-m "$out/topo.txt" --gpu h100-sxm5-80gb --nic-bandwidth "400 Gbps" > "$out/ours.yaml" 2> "$out/told"
        has '  kind: nvswitch'
        has "  count: $count"
        [ "$(grep -c 'virtual functions or ports of one card' "$out/told")" -eq "$told" ]
    done <<'T'
1 8 0
2 16 0
5 8 1
T
    "$STOKER" import topo-m "$out/topo.txt" --gpu h100-sxm5-80gb --nic-bandwidth "400 Gbps" --nics 40 > "$out/ours.yaml" 2> "$out/told"
    has '  count: 40'
    [ ! -s "$out/told" ]
}

slurm() {
    "$STOKER" import slurm-topology "$out/topo.conf" --gpu "$1" --gpus-per-node "$2" --nics "$2" \
        --nic-bandwidth "400 Gbps" --oversubscription 1 --name ours > "$out/ours.yaml" 2> "$out/told"
}

@test "what scontrol shows is a tree: a spine repeats the nodes below it" {
    printf 'SwitchName=leaf%d Level=0 LinkSpeed=1 Nodes=n[%s]\n' 0 0-7 1 8-15 > "$out/topo.conf"
    echo 'SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[0-15] Switches=leaf[0-1]' >> "$out/topo.conf"
    slurm h100-sxm5-80gb 8
    has 'nodes: 16'
    has '  kind: tree'
    has '  nodes_per_leaf: 8'
    sed -i 's/n\[0-15\]/n[0-16]/' "$out/topo.conf"
    run -3 slurm h100-sxm5-80gb 8
    grep -qF "topo.conf:3:44: error: this switch has both nodes and switches, and 'n16' is on no leaf" "$out/told"
}

@test "leaves that nothing joins are left out aloud; two trees are two clusters" {
    printf 'SwitchName=%s\n' 'core Switches=leaf[1-2]' 'leaf1 Nodes=g[1-8]' 'leaf2 Nodes=g[9-16]' 'no-topology Nodes=c[1-2]' > "$out/topo.conf"
    slurm h100-sxm5-80gb 8
    has 'nodes: 16'
    has '  kind: tree'
    grep -qF "topo.conf:4:12: warning: nothing joins 'no-topology' with 'core': its 2 nodes are left out" "$out/told"
    printf 'SwitchName=%s\n' 'other Switches=leaf3' 'leaf3 Nodes=h[1-8]' >> "$out/topo.conf"
    run -3 slurm h100-sxm5-80gb 8
    grep -qF "nothing joins 'other' with 'core'" "$out/told"
}

@test "a block is an NVLink domain where the GPU's racks are one" {
    printf 'BlockName=b%d Nodes=t[%s]\n' 1 001-009 2 010-018 > "$out/topo.conf"
    slurm gb200-nvl72 4
    has '  domain_nodes: 9'
    slurm h100-sxm5-80gb 8
    [ "$(grep -c domain_nodes "$out/ours.yaml")" -eq 0 ]
    sed -i 's/010-018/010-017/' "$out/topo.conf"
    slurm gb200-nvl72 4
    has '  domain_nodes: 8'
    grep -qF 'blocks have 8 to 9 nodes' "$out/told"
}
