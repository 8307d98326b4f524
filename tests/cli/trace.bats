# stoker trace chakra: a step task by task, for other simulators. tests/support/chakra-check reads the
# files by the schema alone and holds them to its laws; here their sums are held to what run says.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    small=(scenarios/quickstart.yaml --set cluster=h200-3200 --set gpus=8 --set batch.global=8 -q)
}

# Writes all ranks' traces of a scenario to $work/NAME and what they add up to to $work/NAME.told.
trace() {
    name=$1
    shift
    "$STOKER" trace chakra "$@" --ranks=all -o "$work/$name" > /dev/null
    tests/support/chakra-check "$work/$name" > "$work/$name.told"
}

told() {
    jq -r "$2" "$work/$1.told"
}

# The longest path of what all ranks do and wait for is the step, to the nanosecond: a wait that was
# left out makes it shorter, one too many longer. FLOPs are those that the hardware executes, F a
# token, and what fused attention computes again in its backward pass: its scores, half of the core's
# forward, which is a sixth of what attention without a mask has more (forward and backward, three
# times the other half of the core).
@test "the longest path of all ranks' traces is the step, and their FLOPs are the hardware's" {
    layouts=("pp=2 tp=2" "pp=2 tp=1 cp=2" "pp=2 tp=2 schedule=interleaved virtual_stages=2"
        "pp=4 tp=2 schedule=zb-h1" "pp=2 tp=2 schedule=dualpipe" "tp=1 zero=3 zero_group=4")
    for layout in "${layouts[@]}"; do
        sets=()
        for one in $layout; do sets+=(--set "parallel.$one"); done
        trace laws "${small[@]}" "${sets[@]}"
        "$STOKER" run "${small[@]}" "${sets[@]}" --no-db --json > "$work/run.json"
        jq -n --slurpfile told "$work/laws.told" --slurpfile run "$work/run.json" --arg of "$layout" '
            $told[0] as $t | $run[0] as $r |
            (($r.hardware_flop_per_token
                + ($r.flop_per_token_full - $r.flop_per_token_causal) / 6) * $r.tokens_per_step)
            as $flop |
            if $t.longest_ns != ($r.step_time_s * 1e9 | round) then
                error("\($of): \($t.longest_ns), step \($r.step_time_s)")
            elif ($t.flop / $flop - 1 | fabs) > 1e-6 then error("\($of): \($t.flop / $flop)")
            else empty end'
    done
}

# Experts, a slow GPU, ranks that do not do the same, stages that meet, precision of 8 bits.
@test "it is the step where ranks differ, with experts, and where stages meet" {
    trace slow "${small[@]}" --set parallel.pp=2 --set 'slow=[{rank: 3, speed: 0.9}]'
    [ "$(told slow '.longest_ns == .step_ns')" = true ]
    [ "$(told slow '[.alike[]] | unique == [1]')" = true ] # 2 stages of dp 2, tp 2: each has its own lot
    trace moe scenarios/qwen3-30b-16.yaml --set batch.global=16 -q
    [ "$(told moe '.longest_ns == .step_ns')" = true ]
    [ "$(told moe '.collective["all-to-all ep"] > 0')" = true ]
    # Activations of 4 of 32 layers on the host: out and back, of each of 2 microbatches of 8 ranks.
    trace host "${small[@]}" --set parallel.tp=2 --set offload.activation_layers=4
    [ "$(told host '.longest_ns == .step_ns')" = true ]
    [ "$(told host '.kinds.store == 64 and .kinds.load == 64')" = true ]
    trace meet "${small[@]}" --set parallel.pp=2 --set software.p2p.calls=together
    [ "$(told meet '.longest_ns <= .step_ns')" = true ]
    [ "$(told meet '.kinds.send == .kinds.receive and .kinds.send > 0')" = true ]
}

# Two stages, 4 microbatches (global 8 on dp 2) of 1 x 8,192 tokens x 4,096 x 2 bytes,
# halved by sequence parallelism of tp 2: 33,554,432 bytes, 4 ranks forward and 4 back, 4 times each.
# Of the groups' bytes each rank puts in what run's table says: of an all-gather its own part.
@test "bytes of messages and collectives are those of the step" {
    sets=(--set parallel.pp=2 --set parallel.tp=2)
    trace bytes "${small[@]}" "${sets[@]}"
    [ "$(told bytes .sent)" -eq $((33554432 * 4 * 4 * 2)) ]
    sets=(--set parallel.tp=2)
    "$STOKER" trace chakra "${small[@]}" "${sets[@]}" -o "$work/one" > /dev/null
    tests/support/chakra-check "$work/one" 0 > "$work/one.told"
    "$STOKER" run "${small[@]}" "${sets[@]}" --no-db --json > "$work/run.json"
    jq -n --slurpfile told "$work/one.told" --slurpfile run "$work/run.json" '
        {tp: 2, "dp gather": 4, "dp reduce": 4, "gradient norm": 8} as $ranks |
        [$run[0].transfers[] | select($ranks[.stream] != null) |
            {key: "\(.operation) \(.stream)",
             value: (.bytes * .count / (if .operation == "all-gather" then $ranks[.stream] else 1 end))}]
        | group_by(.key) | map({key: .[0].key, value: ([.[].value] | add)}) | from_entries |
        if . == $told[0].collective and length >= 5 then empty
        else error("\(.) of run, \($told[0].collective) of the trace") end'
}

# A rank of stage 0 of 2, tp 2, dp 2 has 16 layers of 218,112,000 - 8,192 parameters and the embedding's
# 525,336,576 cut by tp, and norms of 8,192 a layer whole: 1,003,814,912 after dp. Clipping reads 4
# bytes of each, Adam reads 16 (gradient, master weight, moments) and writes 14 (with bf16): 34.
@test "bytes of memory are those of Adam's states, and what goes to the host comes back" {
    "$STOKER" trace chakra "${small[@]}" --set parallel.pp=2 --set parallel.tp=2 --ranks=0 -o "$work/adam" > /dev/null
    tests/support/chakra-check "$work/adam" 0 > "$work/adam.told"
    [ "$(told adam .moved.optimizer)" -eq $((34 * ((16 * (218112000 - 8192) + 525336576) / 4 + 16 * 8192 / 2))) ]
    away=("${small[@]}" --set parallel.tp=2 --set offload.activation_layers=4)
    "$STOKER" trace chakra "${away[@]}" --ranks=0 -o "$work/away" > /dev/null
    tests/support/chakra-check "$work/away" 0 > "$work/away.told"
    "$STOKER" run "${away[@]}" --no-db --json > "$work/run.json"
    bytes=$(jq '[.transfers[] | select(.stream == "offload") | .bytes * .count] | add' "$work/run.json")
    [ "$bytes" -gt 0 ]
    [ "$(told away '.moved["store-offload"]')" -eq "$bytes" ]
    [ "$(told away '.moved["load-fetch"]')" -eq "$bytes" ]
}

# What is written does not hang on folding, but for nothing: files are the same to the byte.
@test "traces of a folded step are those of the unfolded one" {
    trace folded "${small[@]}" --set parallel.pp=2
    trace whole "${small[@]}" --set parallel.pp=2 --fold=off
    for rank in 0 1 2 3 4 5 6 7; do
        cmp "$work/folded.$rank.et" "$work/whole.$rank.et"
    done
    cmp "$work/folded.json" "$work/whole.json"
}

# 16,384 GPUs of 16 stages that are alike within: 16 classes of 1,024.
@test "of many ranks one of each class is written, and said so; --ranks asks for others" {
    plan=(scenarios/llama3-405b-16k.yaml)
    run -0 --separate-stderr "$STOKER" trace chakra "${plan[@]}" -o "$work/few"
    [[ "$output" == *"of 16 of 16,384 ranks"*"$work/few.json"* ]]
    [[ "$stderr" == *"note: 16 of 16,384 ranks were written"*"--ranks=all writes some 6,"*" MB"* ]]
    [ "$(ls "$work"/few.*.et | wc -l)" -eq 16 ]
    [ "$(tests/support/chakra-check "$work/few" 0 | jq '.alike["0"]')" -eq 1024 ]
    run -0 "$STOKER" trace chakra "${plan[@]}" --ranks=3,16380-16383 -o "$work/asked"
    [ "$(cd "$work" && echo asked.*.et)" = "asked.16380.et asked.16381.et asked.16382.et asked.16383.et asked.3.et" ]
    # Who is of one class has the same nodes; groups are its own.
    tests/support/chakra-check "$work/asked" 3 16380 16381 > "$work/asked.told"
    [ "$(jq '.nodes["16380"] == .nodes["16381"]' "$work/asked.told")" = true ]
}

@test "wrong ranks, a wrong kind and a path that cannot be written are told" {
    for ranks in "" 8 0- 3-1 0,,1 all,1 -1 0x1 99999999999999999999; do
        run -2 "$STOKER" trace chakra "${small[@]}" "--ranks=$ranks" -o "$work/r"
        [[ "$output" == *"'--ranks=$ranks' names no ranks of this scenario"*"from 0 to 7"* ]]
    done
    run -2 "$STOKER" trace chrome scenarios/quickstart.yaml
    [[ "$output" == *"there is no form of trace 'chrome'"*"stoker trace chakra FILE"* ]]
    run -2 "$STOKER" trace chakro scenarios/quickstart.yaml
    [[ "$output" == *"there is no form of trace 'chakro'"*"did you mean 'chakra'?"* ]]
    run -2 "$STOKER" trace chakra "${small[@]}" --json
    [ ! -e "$work/r.0.et" ]
    touch "$work/file"
    run -1 "$STOKER" trace chakra "${small[@]}" -o "$work/file/r"
    [[ "$output" == *"cannot make the directory $work/file"* ]]
    [ -w /dev/full ] || return 0
    ln -s /dev/full "$work/full.0.et"
    run -1 "$STOKER" trace chakra "${small[@]}" --ranks=0 -o "$work/full"
    [[ "$output" == *"full.0.et cannot be written: No space left on device"*"-o PREFIX"* ]]
    # A file may not grow beyond 20 KiB: as on a full disk. What was there stays, and nothing else.
    echo before > "$work/limited.0.et"
    run -1 bash -c 'ulimit -f 20; trap "" XFSZ; exec "$@"' - "$STOKER" trace chakra "${small[@]}" \
        --ranks=0 -o "$work/limited"
    [[ "$output" == *"limited.0.et cannot be written: "* ]]
    [ "$(cd "$work" && echo limited*)" = limited.0.et ]
    [ "$(cat "$work/limited.0.et")" = before ]
}

# A plan that does not fit is written all the same, as run shows it.
@test "a plan that does not fit into memory has a trace and status 4" {
    run -4 "$STOKER" trace chakra "${small[@]}" --set parallel.tp=1 --set batch.micro=4 \
        --set batch.global=32 -o "$work/m"
    [[ "$output" == *"does not fit into memory"* ]]
    [ -s "$work/m.0.et" ]
}
