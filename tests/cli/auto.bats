# auto: keys of the layout that a search finds, for run, sweep, compare and whatif.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    db=$BATS_TEST_TMPDIR/results.db
    file=$BATS_TEST_TMPDIR/s.yaml
    scenario 'auto' '{global: 64, micro: auto, sequence_length: 4096}' 'auto' > "$file"
}

# parallel, batch, recompute
scenario() {
    cat << END
scenario: some keys are found
model: llama3-8b
cluster: h100-400
gpus: 16
parallel: $1
batch: $2
recompute: $3
run: {tokens: 1T}
END
}

predict() {
    "$STOKER" "$1" "${@:2}" --db "$db" --json -q
}

# The --set of the note, one a line.
found_sets() {
    sed -nE 's/.*the same as (--set .*)$/\1/p' <<< "$1" | xargs -n 2 printf '%s %s\n' | cut -d' ' -f2-
}

@test "what is found is the scenario that says it: the same result under the same key" {
    run --separate-stderr "$STOKER" run "$file" --db "$db" --json
    [ "$status" -eq 0 ]
    json=$output
    [[ $stderr == *"note: layout found by search among "*"none is better by more than "* ]]
    written=$BATS_TEST_TMPDIR/written.yaml
    sets=$(found_sets "$stderr")
    # In the order of what is auto, in which a schedule is before its chunks.
    parallel=$(sed -nE 's/^parallel\.([a-z_]+)=(.*)/\1: \2/p' <<< "$sets" |
        sed -E '/^virtual_stages/{h;d};/^schedule/{G}' | paste -sd, | sed 's/,/, /g')
    micro=$(sed -n 's/^batch\.micro=//p' <<< "$sets")
    scenario "{$parallel}" "{global: 64, micro: $micro, sequence_length: 4096}" \
        "$(sed -n 's/^recompute=//p' <<< "$sets")" > "$written"
    run --separate-stderr "$STOKER" run "$written" --db "$db" --json
    [ "$status" -eq 0 ] || { cat "$written"; echo "$stderr"; false; }
    [[ $stderr != *"found by search"* ]]
    diff <(jq 'del(.engine)' <<< "$json") <(jq 'del(.engine)' <<< "$output")
    # Stored once: the resolved scenarios are the same to the byte.
    [ "$("$STOKER" list runs --db "$db" --json | jq '.runs | length')" -eq 1 ]
}

@test "what is found does not depend on -j, and its --set says the same" {
    run --separate-stderr "$STOKER" run "$file" --no-db --json -j 1
    one=$output
    note=$stderr
    run --separate-stderr "$STOKER" run "$file" --no-db --json -j 4
    [ "$stderr" = "$note" ]
    diff <(jq 'del(.engine)' <<< "$one") <(jq 'del(.engine)' <<< "$output")
    sets=()
    while read -r set; do
        sets+=(--set "$set")
    done < <(found_sets "$note")
    [ "${#sets[@]}" -ge 20 ]
    run --separate-stderr "$STOKER" run "$file" --no-db --json "${sets[@]}"
    [[ $stderr != *"found by search"* ]]
    diff <(jq 'del(.engine)' <<< "$one") <(jq 'del(.engine)' <<< "$output")
}

@test "only what is auto is found, and it is the best of all that could be written there" {
    scenario '{tp: auto, pp: auto, zero: 1, sequence_parallel: true}' \
        '{global: 64, micro: auto, sequence_length: 4096}' 'full' > "$file"
    auto=$(predict run "$file" | jq .step_time_s)
    # All values of the three keys by hand: none is better by more than the gap of 1 %.
    swept=$(predict sweep "$file" --axis parallel.tp=1,2,4,8 --axis parallel.pp=1,2,4,8,16 \
        --axis batch.micro=1,2,4 | jq '[.points[] | select(.status == "ok") | .step_time_s] | min')
    jq -ne --argjson auto "$auto" --argjson best "$swept" '$auto >= $best and $auto * 0.99 <= $best'
    # zero, sequence_parallel and recompute stay, whatever search: says of them.
    echo 'search: {parallel: {zero: [3], tp: [4]}, recompute: [none]}' >> "$file"
    run --separate-stderr "$STOKER" run "$file" --no-db
    [[ $output == *"tp 4, cp 1, "*"zero 1, "*"recompute full"* ]]
    run --separate-stderr "$STOKER" run "$file" --no-db --set 'search.parallel.tp=[8]'
    [[ $output == *"tp 8, cp 1, "*"zero 1, "*"recompute full"* ]]
}

@test "what is not auto stays in the search, too: its values of search:, a schedule that is written" {
    scenario '{tp: auto, pp: 4, schedule: interleaved, virtual_stages: auto, sequence_parallel: true}' \
        '{global: 64, micro: 1, sequence_length: 4096}' 'none' > "$file"
    run --separate-stderr "$STOKER" run "$file" --no-db --json
    note=$stderr
    [[ $note =~ virtual_stages\ ([0-9]+) ]]
    [ "${BASH_REMATCH[1]}" -ge 2 ]
    # Three more values of zero are not looked through.
    run --separate-stderr "$STOKER" run "$file" --no-db --json --set 'search.parallel.zero=[0, 1, 2, 3]'
    [ "$stderr" = "$note" ]
}

@test "each point of a sweep has its own, as run finds it" {
    json=$(predict sweep "$file" --axis cluster.network="50 Gbps,3200 Gbps" --axis gpus=8,16)
    [ "$(jq '[.points[] | select(.status == "ok")] | length' <<< "$json")" -eq 4 ]
    for network in "50 Gbps" "3200 Gbps"; do
        for gpus in 8 16; do
            alone=$(predict run "$file" --set "cluster.network=$network" --set gpus=$gpus | jq .step_time_s)
            label=$(jq -r --argjson s "$alone" '.points[] | select(.step_time_s == $s) | .label' <<< "$json")
            [[ $label == *"$network"* && $label == *"$gpus"* ]]
        done
    done
    # Some of them differ, and the same from -j 1.
    run --separate-stderr "$STOKER" sweep "$file" --axis cluster.network="50 Gbps,3200 Gbps" \
        --axis gpus=8,16 --db "$BATS_TEST_TMPDIR/other.db" --json -j 1
    diff <(jq .points <<< "$json") <(jq .points <<< "$output")
    [ "$(grep -c 'layout found by search' <<< "$stderr")" -eq 4 ]
    [ "$(sed -n 's/.*the same as//p' <<< "$stderr" | sort -u | wc -l)" -gt 1 ]
}

@test "auto may be a value of an axis, and compare holds it against what is written" {
    json=$(predict sweep "$file" --set parallel.pp=1 --axis parallel.tp=auto,8)
    jq -e '.points[0].step_time_s <= .points[1].step_time_s * 1.01' <<< "$json"
    scenario '{tp: 8, pp: 2}' '{global: 64, micro: 1, sequence_length: 4096}' 'none' \
        > "$BATS_TEST_TMPDIR/other.yaml"
    json=$(predict compare "$file" "$BATS_TEST_TMPDIR/other.yaml")
    jq -e '.points[0].step_time_s < .points[1].step_time_s' <<< "$json"
}

@test "whatif asks of what is found" {
    scenario '{tp: auto, pp: 2}' '{global: 64, micro: 1, sequence_length: 4096}' 'none' > "$file"
    json=$(predict whatif "$file")
    [ "$(jq '.base[0].step_time_s' <<< "$json")" = "$(predict run "$file" | jq .step_time_s)" ]
    row=$(jq '.rows[] | select(.label == "NICs twice as fast")' <<< "$json")
    [ "$(jq .step_time_s <<< "$row")" = \
        "$(predict run "$file" --set "$(jq -r '.set[0]' <<< "$row")" | jq .step_time_s)" ]
}

@test "where nothing fits the nearest is named; points that fit go on" {
    run "$STOKER" run "$file" --no-db --set model=llama3-405b
    [ "$status" -eq 4 ]
    [[ $output == *"layouts fits"*"the nearest is tp "*"more GPUs, or let more keys be auto"* ]]
    json=$(predict sweep "$file" --axis model=llama3-8b,llama3-405b)
    jq -e '[.points[].status] == ["ok", "infeasible"]' <<< "$json"
    jq -e '.points[1].message | contains("layouts fits")' <<< "$json"
    # No layout of one replica a GPU shares 7 sequences; none has three GPUs to a matrix.
    run "$STOKER" run "$file" --no-db --set batch.global=7 --set gpus=8 --set parallel.dp=8
    [ "$status" -eq 4 ]
    [[ $output == *"global 7 is not a multiple of dp 8"* ]]
    run "$STOKER" run "$file" --no-db --set parallel.tp=3
    [ "$status" -eq 4 ]
    [[ $output == *"tp 3"* ]]
    run "$STOKER" run "$file" --no-db --set 'search.parallel.tp=[3]'
    [ "$status" -eq 4 ]
    [[ $output == *"none of 0 layouts fits"*"no sizes go together"* ]]
    # What is wrong besides is told as ever.
    run "$STOKER" run "$file" --no-db --set model=llama3-8c
    [ "$status" -eq 3 ]
    [[ $output == *"llama3-8c"*"llama3-8b"* ]]
    run "$STOKER" run "$file" --no-db --set 'search.parallel.tq=[1]'
    [ "$status" -eq 3 ]
    [[ $output == *"'parallel.tq' is no axis of a search"* ]]
}

@test "search and --best layout find all themselves, auto or not" {
    space='search: {parallel: {cp: [1], schedule: [1f1b], zero: [1]}, batch.micro: [1, 2], recompute: [none, full]}'
    echo "$space" >> "$file"
    { scenario '{}' '{global: 64, sequence_length: 4096}' none; echo "$space"; } > "$BATS_TEST_TMPDIR/plain.yaml"
    for command in "search" "sweep --axis cluster.network=400Gbps,800Gbps --best layout"; do
        [ "$(predict $command "$file" | jq -c '[.points[].step_time_s]')" = \
            "$(predict $command "$BATS_TEST_TMPDIR/plain.yaml" | jq -c '[.points[].step_time_s]')" ]
    done
}

@test "a value beside which no layout can be is a row of a sweep of auto" {
    run --separate-stderr "$STOKER" sweep "$file" --db "$db" --axis gpus=16,17 --set batch.micro=1 --set recompute=none
    [ "$status" -eq 0 ]
    [[ $output == *"  17  "*"sizes: gpus 17 does not fill nodes of 8"* ]]
    [[ $stderr == *"1 ok, 1 infeasible, 0 failed"* ]]
}

# On a terminal of its own: what the command says on stderr, a line for each \r.
on_terminal() {
    python3 - "$@" << 'PY'
import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execv(sys.argv[1], sys.argv[1:])
said = b""
try:
    while more := os.read(terminal, 65536):
        said += more
except OSError:
    pass
print(said.decode().replace("\r", "\n"))
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
PY
}

# The first line comes at once, however short the search is; nothing is left of it.
@test "what is auto, and a search, say on a terminal how far they are, and nowhere else" {
    python3 -c 'import pty; pty.openpty()' || skip "no terminal is to be had here (/dev/pts)"
    local -a narrow=(--set 'search.parallel.tp=[2]' --set 'search.parallel.pp=[1]')
    run on_terminal "$STOKER" run "$file" --no-db "${narrow[@]}"
    [ "$status" -eq 0 ]
    [[ "$output" == *"what is auto: "*" % of the space: "*" layouts so far"* ]]
    run on_terminal "$STOKER" sweep "$file" --no-db --axis gpus=8,16 "${narrow[@]}"
    [[ "$output" == *"what is auto: "* ]]
    run on_terminal "$STOKER" search "$file" --no-db --gap 5% "${narrow[@]}"
    [[ "$output" == *" % of the space: "*" layouts so far"* && "$output" != *"what is auto"* ]]
    run on_terminal "$STOKER" sweep "$file" --no-db --best usual --axis gpus=16 "${narrow[@]}"
    [[ "$output" == *"gpus 16: "*" % of the space: "* ]]
    run on_terminal "$STOKER" run "$file" --no-db -q "${narrow[@]}"
    [[ "$output" != *"of the space"* ]]
    run --separate-stderr "$STOKER" run "$file" --no-db "${narrow[@]}"
    [[ "$stderr" != *"of the space"* ]]
}

# Experts over ep 8 x etp 1 = 8 of the tp 2 x dp 16 = 32 ranks of a stage are whole on each; cut as
# layers are, in two, each rank would exchange the tokens of both. What the hand found (4.26 for
# 4.49 s, here of one recomputation and chunk) is in the space, and the best is at most its step.
@test "experts may be whole on GPUs that share layers, and auto tries it" {
    cat > "$file" << 'END'
scenario: experts over ranks that share layers
model: mixtral-8x22b
cluster: h100-3200
gpus: 128
software: megatron-2025
parallel: {tp: 2, pp: 4, ep: auto, schedule: interleaved, virtual_stages: 7, sequence_parallel: true}
batch: {global: 256, micro: 1, sequence_length: 4096}
recompute: selective
END
    found=$(predict run "$file" | jq .step_time_s)
    cut=$(predict run "$file" --set parallel.etp=2 | jq .step_time_s)
    by_hand=$(predict run "$file" --set parallel.ep=8 --set parallel.etp=1 | jq .step_time_s)
    jq -en "$found <= $by_hand and $found < 0.97 * $cut"
    run --separate-stderr "$STOKER" run "$file" --db "$db"
    [[ $stderr == *"--set parallel.ep=8 --set parallel.etp=1"* ]]
    [[ $output == *"ep 8, etp 1, zero 1"* ]]
    # what is written stays: cut in two, whatever ep is
    run "$STOKER" run "$file" --db "$db" --set parallel.etp=2
    [[ $output != *"etp 1"* ]]
    # of a dense model nothing is said of it, and who asks may
    run --separate-stderr "$STOKER" run "$file" --db "$db" --set model=llama3-8b --set gpus=8 --set batch.global=8
    [ "$status" -eq 0 ]
    [[ $stderr != *etp* ]]
    run "$STOKER" run "$file" --db "$db" -q --set model=llama3-8b --set gpus=8 --set batch.global=8 \
        --set parallel.etp=auto
    [ "$status" -eq 0 ]
}

# By hand [8, 9, 9, 6] takes 3.98 s where [8, 8, 8, 8] takes 4.32: the loss is about 2.1 layers.
@test "the last of four stages has fewer layers, for it has the loss, too" {
    scenario '{tp: 1, pp: auto, schedule: 1f1b}' '{global: 256, micro: 1, sequence_length: 8192}' none > "$file"
    more=(--set gpus=64 --set cluster=h100-3200 --set software=megatron-2025 --set search.parallel.pp=[4]
        --set parallel.order=tp-cp-ep-dp-pp)
    found=$(predict run "$file" "${more[@]}" | jq .step_time_s)
    even=$(predict run "$file" "${more[@]}" --set parallel.pp=4 | jq .step_time_s)
    by_hand=$(predict run "$file" "${more[@]}" --set parallel.pp=4 \
        --set 'parallel.layers_per_stage=[8, 9, 9, 6]' | jq .step_time_s)
    jq -en "$found == $by_hand and $found < 0.95 * $even"
    # what is written stays
    run "$STOKER" run "$file" --db "$db" "${more[@]}" --set parallel.last_stage_layers=5
    [[ $output != *layers_per_stage* ]]
}
