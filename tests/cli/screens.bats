# Screens fit the terminal, and answer first.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    cat > "$work/quick.yaml" << 'END'
scenario: Llama 3 8B on 16 H100
model: llama3-8b
cluster: h100-3200
gpus: 16
software: megatron-2025
parallel: {tp: 2, pp: 1, zero: 1, sequence_parallel: true}
batch: {global: 64, micro: 1, sequence_length: 8192}
run: {tokens: 100B}
price: {gpu_hour: 2.50 USD}
search: {parallel: {tp: [1, 2], pp: [1, 2]}, batch: {micro: [1, 2]}, recompute: [none]}
variants: [{name: small, set: {batch.global: 32}}, {name: as it is, set: {}}, {name: too large, set: {batch.micro: 16}}]
END
    sed '/^variants:/d' "$work/quick.yaml" > "$work/plain.yaml"
    sed '/^variants:/d' "$work/quick.yaml" > "$work/two.yaml"
    echo 'variants: [{name: tp 2, set: {}}, {name: tp 4, set: {parallel.tp: 4}}]' >> "$work/two.yaml"
}

# Lines above WIDTH characters, but for those that one word makes so: a path, a command to be copied.
too_wide() {
    python3 -c '
import sys
width = int(sys.argv[1])
for line in sys.stdin.read().split("\n"):
    words = line.split()
    if len(line) > width and not (len(words) > 0 and len(words[-1]) > width // 2):
        print(len(line), line)
' "$1"
}

@test "no line is wider than the page, and what answers does so in the first three lines" {
    while IFS= read -r command; do
        [[ $command != \#* ]] || continue
        words=${command#!}
        words=${words//quick.yaml/$work/quick.yaml}
        words=${words//plain.yaml/$work/plain.yaml}
        words=${words//two.yaml/$work/two.yaml}
        # What was predicted once is not predicted again at another width.
        case ${words%% *} in
        run | whatif | compare | sweep | search | quote) words+=" --db $work/db -q" ;;
        help) ;;
        *) words+=" -q" ;;
        esac
        for width in 80 100 140; do
            # shellcheck disable=SC2086 # the list holds words
            COLUMNS=$width "$STOKER" $words > "$work/out" || [ $? -eq 5 ]
            wide=$(too_wide "$width" < "$work/out")
            [ -z "$wide" ] || { echo "$command at $width: $wide"; false; }
        done
        [[ $command != !* ]] || head -n 3 "$work/out" | grep -Eq '^(Free|Fastest|best|The best|Each at|Of [0-9]* assumed|.* costs least:) ?.*' ||
            { echo "no answer: $command"; head -n 4 "$work/out"; false; }
        [[ $command != !* ]] || [ "$(head -n 3 "$work/out" | wc -w)" -gt 6 ]
    done < tests/cli/screens.list
}

@test "the answer is a member of the document" {
    for command in whatif compare sweep search; do
        run -0 --separate-stderr "$STOKER" $command "$work/quick.yaml" --db "$work/db" -q --json
        jq -e '.answer | type == "string" and length > 20' <<< "$output"
    done
}

@test "a narrow page names what it leaves out, --wide has it" {
    run -0 --separate-stderr env COLUMNS=60 "$STOKER" compare scenarios/study-gpus.yaml --db "$work/db" -q
    [[ $output == *"not shown at 60 columns (--wide): "*"memory GB"* ]]
    run -0 --separate-stderr env COLUMNS=60 "$STOKER" compare scenarios/study-gpus.yaml --db "$work/db" -q --wide
    [[ $output != *"not shown"* && $output == *"memory GB"* ]]
}
