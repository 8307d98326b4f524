# What public reports found further off than measured runs tell (bands/unproven): the band is no
# narrower than those, the screen says "not validated", and no verdict is given.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
}

# As reported in DeepSpeed pull 7474: 3.08 s, with bound cores 2.38.
offloaded() {
    cat <<'Y'
scenario: Qwen2.5 3B on 2 A100 40 GB, ZeRO-Offload
model: {title: qwen2.5-3b, layers: 36, hidden: 2048, ffn_hidden: 11008, heads: 16, kv_heads: 2, vocab: 151936, max_positions: 32768, mlp: swiglu, norm: rmsnorm, positions: rotary, qkv_biases: true, tied_embeddings: true}
cluster: a100-40gb-1600
gpus: 2
software: deepspeed-zero3-2023
parallel: {zero: 2}
offload: {optimizer: 100 %}
batch: {global: 2, micro: 1, sequence_length: 1024}
recompute: full
Y
}

json() {
    "$STOKER" run "$work/s.yaml" --no-db -q --json "$@"
}

factor_of() {
    sed -n "/^$1:/,/source:/s/^  factor: //p" models/limits.yaml
}

@test "the optimizer on the host: reported steps lie in the band, which is not one of measured runs" {
    offloaded > "$work/s.yaml"
    json > "$work/now"
    jq -e '.band.not_validated == ["the optimizer on the host"]' "$work/now"
    for reported in 3.08 2.38; do
        jq -e --argjson s $reported '.band.step_s | .p10 <= $s and $s <= .p90' "$work/now"
    done
    jq -e --argjson f "$(factor_of reported_host_optimizer)" '.band.measured_over_predicted.p90 >= $f * (1 - 1e-9)' "$work/now"
    "$STOKER" run "$work/s.yaml" --no-db | grep -q '^not validated: the optimizer on the host; public reports of that were up to'
    "$STOKER" explain "$work/s.yaml" | grep -q 'Not validated: the optimizer on the host'
}

@test "PCIe and sockets likewise, where they are used" {
    # Set, what is not validated then ("-": nothing), its section.
    while read -r cluster gpus names section; do
        sed "s/^cluster:.*/cluster: $cluster/; s/^gpus:.*/gpus: $gpus/; /^offload/d; s/global: 2/global: $gpus/" <(offloaded) > "$work/s.yaml"
        json > "$work/now" || true
        if [ "$names" = - ]; then
            jq -e '.band.not_validated == []' "$work/now"
        else
            jq -e --arg n "${names//_/ }" '.band.not_validated | length == 1 and (.[0] | startswith($n))' "$work/now"
            jq -e --argjson f "$(factor_of "$section")" '.band.measured_over_predicted.p90 >= $f * (1 - 1e-9)' "$work/now"
        fi
    done <<'T'
a100-pcie-200 2 GPUs_that_meet_over_PCIe reported_pcie
a100-pcie-200 1 -
v100-ena-25 16 sockets_between_nodes reported_sockets
v100-ena-25 8 -
a100-80gb-1600 16 -
T
}

@test "no verdict where one of two has it, whichever, and one where both have left it" {
    {
        offloaded
        echo 'variants:'
        echo '  - {name: as it is, set: {}}'
        echo '  - {name: none, set: {offload.optimizer: 0 %}}'
        echo '  - {name: longer, set: {offload.optimizer: 0 %, batch.sequence_length: 2048}}'
    } > "$work/s.yaml"
    "$STOKER" compare "$work/s.yaml" --no-db -q --json > "$work/now"
    jq -e '[.points[].against_first.band.verdict] == [null, "not validated", "not validated"]' "$work/now"
    "$STOKER" compare "$work/s.yaml" --no-db -q --against none --json > "$work/now"
    jq -e '[.points[].against_named.band.verdict] |
        .[0] == "not validated" and .[1] == null and (.[2] == "clear" or .[2] == "likely")' "$work/now"
    "$STOKER" compare "$work/s.yaml" --no-db | grep -q '^Not validated: the optimizer on the host. No verdict'
}

@test "one measured step of one's own validates it" {
    offloaded > "$work/s.yaml"
    json --anchor "3.08 s" | jq -ne 'input | .band.not_validated == [] and .anchor.measured_step_s == 3.08'
}

@test "what is announced is told so, with the band of a kind that nobody has measured" {
    sed 's/^cluster:.*/cluster: gb300-nvl72/; s/^gpus:.*/gpus: 144/; /^offload/d; s/global: 2/global: 144/; /^software/d' <(offloaded) > "$work/s.yaml"
    json | jq -ne 'input | .band.not_validated == []'
    # Set of a part, what is not validated then.
    while read -r set count; do
        json --set "$set" > "$work/now"
        jq -e --argjson n "$count" '.band.not_validated | length == $n' "$work/now"
        if [ "$count" = 1 ]; then
            jq -e --argjson f "$(factor_of reported_announced)" '.band.not_validated[0] == "parts that are announced, not measured" and .band.measured_over_predicted.p90 >= $f * (1 - 1e-9)' "$work/now"
        fi
    done <<'T'
cluster=vr200-nvl144 1
cluster.nics.kind=cx9 1
cluster.nics.kind=xdr 0
gpu=vr200-nvl144 1
T
    "$STOKER" run "$work/s.yaml" --no-db --set cluster=vr200-nvl144 | grep -q '^not validated: parts that are announced, not measured'
    "$STOKER" show gpu vr200-nvl144 | grep -q '^announced: 2026-01'
}

@test "layers with scans: kernels alone were compared, attention written as operators is validated" {
    "$STOKER" run scenarios/quickstart.yaml --no-db -q --json --set model=tests/unit/data/mixer_ssm.yaml > "$work/now"
    jq -e '.band.not_validated | length == 1 and (.[0] | startswith("layers with scans"))' "$work/now"
    jq -e --argjson f "$(factor_of reported_scans)" '.band.measured_over_predicted.p90 >= $f * (1 - 1e-9)' "$work/now"
    "$STOKER" run scenarios/quickstart.yaml --no-db -q --json --set model=tests/unit/data/mixer_index.yaml > "$work/now"
    jq -e '.band.not_validated | length == 1 and (.[0] | startswith("attention to keys"))' "$work/now"
    jq -e --argjson f "$(factor_of reported_sparse)" '.band.measured_over_predicted.p90 >= $f * (1 - 1e-9)' "$work/now"
    "$STOKER" run scenarios/quickstart.yaml --no-db -q --json --set model=tests/unit/data/mixer_gqa.yaml > "$work/now"
    jq -e '.band.not_validated == []' "$work/now"
}
