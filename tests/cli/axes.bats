# The axes of a search, as each command has them that looks for a layout.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    file=$BATS_TEST_TMPDIR/space.yaml
    auto=$BATS_TEST_TMPDIR/auto.yaml
}

# Of each axis a value that is not as usual, and the axes by which it says something; all others
# have one value. So what a command finds has it, if that command looks through the axis.
# (Balanced stages are said in layers.)
axes() {
    cat << 'END'
parallel.etp|[2]|tp: [2]|parallel.etp=2
parallel.cp_type|[ulysses]|cp: [2]|parallel.cp_type=ulysses
parallel.layers_per_stage|[balanced]|pp: [4]|parallel.layers_per_stage=[
parallel.zero_group|[4]|zero: [1]|parallel.zero_group=4
parallel.microbatch_group|[4]|pp: [2], schedule: [interleaved], virtual_stages: [2]|parallel.microbatch_group=4
parallel.reshard|[after-step]|zero: [3]|parallel.reshard=after-step
parallel.overlap_experts|[true]|pp: [2]|parallel.overlap_experts=true
parallel.order|[tp-cp-ep-pp-dp]|pp: [2]|parallel.order=tp-cp-ep-pp-dp
END
}

# Of what is not among those axes: one each.
rest() {
    for one in 'tp: [1]' 'cp: [1]' 'ep: [4]' 'pp: [1]' 'zero: [1]' 'schedule: [1f1b]'; do
        [[ ", $1" == *", ${one%%:*}: "* ]] || echo "  $one,"
    done
}

@test "each command that looks for a layout looks through each axis" {
    while IFS='|' read -r axis values layout said; do
        cat > "$file" << END
model: gpt-oss-20b
cluster: h200-3200
gpus: 16
software: megatron-2026
batch: {global: 32, micro: 1, sequence_length: 4096}
search:
  recompute: [full]
  batch.micro: [1]
  parallel: {
$(rest "$layout")
  $layout,
  sequence_parallel: [true], ${axis#parallel.}: $values}
END
        sed 's/micro: 1,/micro: auto,/' "$file" > "$auto"
        printf 'parallel: auto\nrecompute: auto\n' >> "$auto"
        run "$STOKER" search "$file" --no-db --any-software --json -q
        [[ $(jq -c '.points[0].set' <<< "$output") == *"$said"* ]] || { echo "search: $axis: $output"; false; }
        for best in layout usual; do
            run -0 "$STOKER" sweep "$file" --axis gpus=16 --best $best --no-db --any-software --json -q
            [[ $(jq -c '.best[0].set' <<< "$output") == *"$said"* ]] || { echo "--best $best: $axis"; false; }
        done
        run -0 "$STOKER" run "$auto" --no-db --any-software
        [[ $output == *"layout found by search"*"$said"* ]] || { echo "auto: $axis"; false; }
        run "$STOKER" whatif "$file" --no-db --any-software --json -q
        row=$(jq -c '.rows[] | select(.label == "the best layout") | .set' <<< "$output")
        [[ $row == *"$said"* ]] || { echo "whatif: $axis"; false; }
    done < <(axes)
}

@test "new looks through what auto does" {
    # The same space, of every axis that has a choice there: of ZeRO's groups and pipelines' too.
    "$STOKER" new gpt-oss-20b --gpus 16 --cluster h200-3200 --software megatron-2026 --batch 64 \
        --sequence-length 4096 > "$file"
    sed -nE '1s/.*fastest of ([0-9,]+) layouts.*/\1/p' "$file" | tr -d , > "$BATS_TEST_TMPDIR/new"
    cat > "$auto" << 'END'
model: gpt-oss-20b
cluster: h200-3200
gpus: 16
software: megatron-2026
batch: {global: 64, micro: auto, sequence_length: 4096}
run: {tokens: 1T}
search: {parallel: {cp: [1], tp: all}}
parallel: auto
recompute: auto
END
    run -0 "$STOKER" run "$auto" --no-db
    sed -nE 's/.*found by search among ([0-9,]+),.*/\1/p' <<< "$output" | tr -d , > "$BATS_TEST_TMPDIR/auto"
    diff "$BATS_TEST_TMPDIR/new" "$BATS_TEST_TMPDIR/auto"
    [ "$(< "$BATS_TEST_TMPDIR/new")" -gt 1000 ]
}
