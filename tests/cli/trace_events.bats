# stoker trace: a step as trace events, for Perfetto. tests/support/trace-check reads the file by the
# format alone: slices nest, arrows end, lanes follow one another. Here its sums are held to run's.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    small=(scenarios/quickstart.yaml --set cluster=h200-3200 --set gpus=8 --set batch.global=8 -q)
}

# Traces a scenario and holds what its lanes add up to, of each class as often as it has ranks, to
# run's breakdown, to the nanosecond; the path and its legs to the step; the fullest rank's memory to
# run's peak; what a kind of links carries to its mean use, which is of the step without the wait for
# the slowest GPU. What is left: a document of what the trace says.
trace() {
    name=$1
    shift
    "$STOKER" trace "$@" -o "$work/$name.json.gz" > /dev/null
    tests/support/trace-check "$work/$name.json.gz" > "$work/$name.told"
    "$STOKER" run "$@" --no-db --json > "$work/$name.run"
    jq -n --slurpfile told "$work/$name.told" --slurpfile run "$work/$name.run" --arg of "$*" '
        $told[0] as $t | $run[0] as $r | ($t.step_ns / 1e9) as $s |
        ([$t.ranks[] | .alike as $n | .causes | to_entries[] | {key, value: (.value * $n)}] |
            group_by(.key) | map({key: .[0].key, value: (map(.value) | add / $r.gpus)}) |
            from_entries) as $causes |
        ($t.counters.site["power, kW"].integral / $s) as $kw |
        ([$t.counters | to_entries[] | select(.key | startswith("rank")) | .value["memory, GB"].most] |
            max) as $gb |
        if $t.step_ns != ($r.step_time_s * 1e9 | round) then error("\($of): step \($t.step_ns)")
        elif $t.path.ns != $t.step_ns then error("\($of): path \($t.path.ns)")
        elif ([$t.ranks[].alike] | add) != $r.gpus then error("\($of): \([$t.ranks[].alike])")
        elif [$r.breakdown | to_entries[] |
                select((.value * 1e9 - ($causes[.key] // 0) | fabs) > 1)] != [] then
            error("\($of): \($causes), run \($r.breakdown)")
        elif ($gb * 1e9 / $r.memory.peak_bytes - 1 | fabs) > 1e-5 then error("\($of): \($gb) GB")
        elif ($kw * 1e3 / $r.power_w - 1 | fabs) > 1e-2 then error("\($of): \($kw) kW")
        else
            [$r.links[] | .kind as $kind |
                ([$t.counters.links | to_entries[] | select(.key | startswith($kind + " (")) |
                    .value.integral] | add) * 1e9 / 8 /
                (.utilisation_mean * .capacity_bytes_per_s * $s)] |
            if max - min > 1e-4 or max > 1.0001 or min < 0.9 then error("\($of): links \(.)")
            else empty end
        end'
}

told() {
    jq -r "$2" "$work/$1.told"
}

@test "lanes add up to the breakdown, the path to the step, counters to memory, power and links" {
    layouts=("pp=1 tp=2" "pp=2 tp=2" "pp=2 tp=1 cp=2" "pp=2 tp=2 schedule=interleaved virtual_stages=2"
        "pp=4 tp=2 schedule=zb-h1" "pp=2 tp=2 schedule=dualpipe" "tp=1 zero=3 zero_group=4")
    for layout in "${layouts[@]}"; do
        sets=()
        for one in $layout; do sets+=(--set "parallel.$one"); done
        trace laws "${small[@]}" "${sets[@]}"
    done
    trace moe scenarios/qwen3-30b-16.yaml --set batch.global=16 -q
    [ "$(told moe '.ranks["0"].lanes.ep.bytes > 0')" = true ]
    trace host "${small[@]}" --set parallel.tp=2 --set offload.activation_layers=4
    trace meet "${small[@]}" --set parallel.pp=2 --set software.p2p.calls=together
    trace many scenarios/llama3-405b-16k.yaml -q
    [ "$(told many '.ranks | length')" = 16 ]
}

# Two stages, 4 microbatches (global 8 on dp 2): 4 messages there and 4 back, each of which arrives;
# 1 x 8,192 tokens x 4,096 x 2 bytes, halved by sequence parallelism. FLOPs are run's: hardware_flop_per_token,
# and what fused attention computes again (tests/cli/trace.bats).
@test "messages are arrows with their bytes, kernels have the FLOPs that are executed" {
    trace sent "${small[@]}" --set parallel.pp=2 --set parallel.tp=2
    [ "$(told sent .arrows)" = 8 ]
    # With calls that do both at once (Megatron-LM's) a slice has both ranks.
    gzip -dc "$work/sent.json.gz" | jq -ne 'input | [.traceEvents[] | select(.ph == "X" and .pid == 1000) | .args] |
        (map(select(.to_rank == 4).bytes), map(select(.from_rank == 4).bytes)) == [33554432, 33554432, 33554432, 33554432]'
    jq -en --slurpfile t "$work/sent.told" --slurpfile r "$work/sent.run" '$r[0] as $r |
        (($r.hardware_flop_per_token + ($r.flop_per_token_full - $r.flop_per_token_causal) / 6)
            * $r.tokens_per_step / ([$t[0].ranks[] | .flop * .alike] | add) - 1 | fabs) < 1e-5'
    # A collective of tensor parallelism has its algorithm, what binds it, and ranks.
    gzip -dc "$work/sent.json.gz" | jq -ne 'input | [.traceEvents[] | select(.name == "tp all-gather") | .args |
        select(.algorithm == "ring" and .ranks == 2 and .bound_by == "scale-up port out")] | length > 100'
    # With ring attention keys and values go round: each rank sends to the next one, and hears of
    # the one before.
    trace ring "${small[@]}" --set parallel.pp=2 --set parallel.cp=2 --set parallel.tp=1
    [ "$(told ring '.arrows > 500')" = true ]
}

@test "a slow GPU has a process of its own, its peers wait for it, and the path runs over it" {
    trace slow "${small[@]}" --set parallel.pp=2 --set 'slow=[{rank: 3, speed: 0.9}]'
    [ "$(told slow '.ranks["3"].name')" = "rank 3 (stage 0, slow: 90 % of the speed)" ]
    [ "$(told slow '.ranks["2"].lanes.tp.waited_ns > 1e8')" = true ]
    [ "$(told slow '.ranks["3"].lanes.tp.waited_ns < 1e7')" = true ]
    gzip -dc "$work/slow.json.gz" | jq -ne 'input | [.traceEvents[] | select(.cat == "rank")] |
        (map(select(.name | startswith("rank 3 ")) | .dur) | add) >
        100 * (map(select(.name | startswith("rank 2 ")) | .dur) | add)'
}

@test "files are the same to the byte, packed or not, folded or not" {
    for way in a b; do "$STOKER" trace "${small[@]}" --set parallel.pp=2 -o "$work/$way.json.gz" > /dev/null; done
    cmp "$work/a.json.gz" "$work/b.json.gz"
    "$STOKER" trace perfetto "${small[@]}" --set parallel.pp=2 -o "$work/a.json" > /dev/null
    gzip -dc "$work/a.json.gz" | cmp - "$work/a.json"
    "$STOKER" trace "${small[@]}" --set parallel.pp=2 --fold=off -o "$work/whole.json" > /dev/null
    cmp "$work/a.json" "$work/whole.json"
}

# 16,384 ranks of some 5,000 events each. One GPU's 256 microbatches of 80 layers are too many alone.
@test "at most 500,000 events are written, and what is left out is said" {
    run -0 --separate-stderr "$STOKER" trace scenarios/llama3-405b-16k.yaml --ranks=all -o "$work/all.json.gz"
    [[ "$stderr" == *"of 16,384 ranks are shown of those asked for: more than 500,000 events"* ]]
    [[ "$stderr" == *"--ranks=LIST"* ]]
    events=$(gzip -dc "$work/all.json.gz" | grep -c '^{"ph"')
    ((events <= 500000 && events > 400000))
    # Each of the 16 stages is among them.
    [ "$(gzip -dc "$work/all.json.gz" | grep '"process_name"' | grep -o '(stage [0-9]*' | sort -u | wc -l)" -eq 16 ]
    run -0 --separate-stderr "$STOKER" trace "${small[@]:0:7}" --set parallel.tp=8 --set batch.global=512 -o "$work/one.json.gz"
    [[ "$stderr" == *"kernels and messages are shown up to "*" s, actions to its end: more than 500,000 events"* ]]
    tests/support/trace-check "$work/one.json.gz" --part > "$work/one.told"
    [ "$(told one '.events <= 500000 and .events > 400000')" = true ]
}

@test "what cannot be written leaves nothing behind; jobs beside the first are told" {
    plan=(scenarios/quickstart.yaml -q)
    mkdir "$work/dir"
    run -1 "$STOKER" trace "${plan[@]}" -o "$work/dir"
    [[ "$output" == *"$work/dir cannot be written: Is a directory"*"-o FILE.json.gz"* ]]
    touch "$work/file"
    run -1 "$STOKER" trace "${plan[@]}" -o "$work/file/x.json"
    [[ "$output" == *"cannot make the directory $work/file"* ]]
    for end in json json.gz; do
        echo before > "$work/limited.$end"
        run -1 bash -c 'ulimit -f 20; trap "" XFSZ; exec "$@"' - "$STOKER" trace "${plan[@]}" -o "$work/limited.$end"
        [[ "$output" == *"limited.$end cannot be written: File too large"* ]]
        [ "$(cat "$work/limited.$end")" = before ]
    done
    [ "$(cd "$work" && echo *)" = "dir file limited.json limited.json.gz" ]
    [ -z "$(ls "$work/dir")" ]
    run -2 "$STOKER" trace "${plan[@]}" --ranks=64 -o "$work/x.json"
    [[ "$output" == *"'--ranks=64' names no ranks of this scenario"*"from 0 to 63"* ]]
    run -2 "$STOKER" trace "${plan[@]}" --json
    run -3 "$STOKER" trace chakra
    run -0 --separate-stderr "$STOKER" trace scenarios/two-jobs.yaml -o "$work/jobs.json.gz"
    [[ "$stderr" == *"the first job is traced, as it is with the fabric for itself; jobs: of the scenario has 1 more"* ]]
    run -4 "$STOKER" trace "${small[@]}" --set parallel.tp=1 --set batch.micro=4 --set batch.global=32 -o "$work/m.json"
    [[ "$output" == *"does not fit into memory"* ]]
    jq -e '.traceEvents | length > 100' "$work/m.json"
}

# Two histories of a run: their lanes, each from 0 to its end without a gap, add up to twice what run says of
# the accounts; what is lost is steps that are done again, a multiple of the step but for parts. Regimes are slow
# GPUs and missing replicas; nodes are as many as before where none is away.
@test "months are lanes by account that add up to run's, with lost work, regimes and nodes" {
    run=(scenarios/quickstart.yaml --set run.repetitions=2 --set run.checkpoint.every="20 min" -q
        --set 'run.recovery={spares: 1, without_node: elastic}'
        --set 'run.failures={failures: x, counts: hardware, classes: [{name: a, of: node, rate: {mttf: 200 h}, takes: node, repair: 30 h}, {name: s, of: gpu, rate: {mttf: 4000 h}, takes: gpu, effect: slows, speed: 70 %, repair: 1 h}]}')
    for i in 1 2; do "$STOKER" trace months "${run[@]}" --history $i -o "$work/$i.json.gz" > "$work/$i.said"; done
    "$STOKER" run "${run[@]}" --no-db --json > "$work/run"
    python3 - "$work" << 'END'
import collections, gzip, json, sys
LANES = {"training": ("useful", "data_stall", "degraded"), "lost work": ("lost",), "checkpoints": ("checkpoint",),
         "detection": ("detection",), "waiting": ("waiting",), "restarts": ("recovery",), "planned": ("planned",)}
ns = lambda text: int(text.replace(".", ""))
sums, names, seen = collections.Counter(), set(), collections.Counter()
for history in "12":
    document = json.loads(gzip.open(sys.argv[1] + "/" + history + ".json.gz").read(), parse_float=str)
    events = document["traceEvents"]
    lane = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    slices = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"]), lane[e["tid"]], e) for e in events if e["ph"] == "X"]
    at, steps = 0, 0
    for start, end, name, event in sorted((s for s in slices if s[2] != "regimes"), key=lambda s: s[:2]):
        assert start == at and end > start, (start, at)
        sums[name] += end - start
        at = end
        if name in ("training", "lost work"):
            args = event["args"]
            # No step is left out: the one after a part of one is at most its next.
            assert args["first_step"] <= steps + 2, (args, steps)
            steps = args["first_step"] - 1 + args["steps"]
            if args["steps"] > 0:
                assert (end - start) == args["steps"] * ns(args["step_us"])
    assert at == ns(document["otherData"]["end_us"]) == ns(document["otherData"]["shown_us"])
    end = 0
    for start, stop, name, event in sorted((s for s in slices if s[2] == "regimes"), key=lambda s: s[:2]):
        assert start >= end, event
        end = stop
        names.add(event["name"])
    nodes = [(ns(e["ts"]), e["args"]["value"]) for e in events if e["ph"] == "C" and e["name"] == "nodes up"]
    assert nodes == sorted(nodes) and nodes[0] == (0, 9) and min(n for _, n in nodes) < 8
    assert max(n for _, n in nodes) == 9
    seen["failures"] += sum(e["name"].startswith("restarts: ") for e in events)
run = json.load(open(sys.argv[1] + "/run"))["run"]
accounts = run["accounts"]
for name, parts in LANES.items():
    assert abs(sums[name] / 2e9 - sum(accounts[part] for part in parts)) < 1e-6, (name, sums, accounts)
assert accounts["lost"] > 0 and seen["failures"] >= 2 * run["interruptions"] > 20, (seen, run["interruptions"])
# 32 replicas of two GPUs on eight nodes: without one there are four less.
assert {"usual", "slow: s", "without 4 replicas"} < names, names
END
    # The one of median length is the second of two by length.
    "$STOKER" trace months "${run[@]}" -o "$work/median.json.gz" > "$work/said"
    [[ $(cat "$work/said") =~ history\ ([12])\ of\ 2, ]]
    cmp "$work/median.json.gz" "$work/${BASH_REMATCH[1]}.json.gz"
    [ "$(cat "$work"/[12].said | grep -o '[0-9.]* days' | sort -n | tail -n 1)" = "$(grep -o '[0-9.]* days' "$work/said")" ]
}

# A checkpoint each step is more than can be shown.
@test "of months that are too many the first are shown, and what has none is refused" {
    run -0 --separate-stderr "$STOKER" trace months scenarios/llama3-405b-16k.yaml --set run.failures=true \
        --set run.checkpoint.every="20 s" -o "$work/many.json.gz"
    [[ "$stderr" == *"shown are its first "*" days: more than 500,000 events"* ]]
    events=$(gzip -dc "$work/many.json.gz" | grep -c '^{"ph"')
    ((events <= 500000 && events > 450000))
    run -3 "$STOKER" trace months scenarios/quickstart.yaml -o "$work/none"
    [[ $output == *"nothing fails in this run"*"failures: true"* ]]
    run -3 "$STOKER" trace months "${small[@]}" --set run=null -o "$work/none"
    run -2 "$STOKER" trace months scenarios/quickstart.yaml --ranks=all
    run -2 "$STOKER" trace scenarios/quickstart.yaml --history 2
    run -2 "$STOKER" trace months scenarios/study-months.yaml --set run.repetitions=2 --history 3 -o "$work/none"
    [[ $output == *"--history 3: the run has 2"* && ! -e $work/none ]]
}
