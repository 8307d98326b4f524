# stoker import: the ways in (standard input, gzip, folders), and what a file turns out to be.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    data=$PWD/tests/unit/data/import
    out=$BATS_TEST_TMPDIR
}

# refuse STATUS TEXT ARGUMENT...
refuse() {
    run "-$1" --separate-stderr "$STOKER" import "${@:3}"
    [[ "$stderr" == *"$2"* ]] || { echo "$stderr"; false; }
    [ -z "$output" ]
}

# Slurm appends: a test of NCCL, then the training. The header of the first stands in line 32 of its
# log of N lines; the first step of the second in line N + 43 (grep counts them here).
@test "two kinds in one file are told, with the place of the second; a kind that is named is read" {
    cat "$data/all_reduce_2node.log" "$data/megatron.log" > "$out/both.log"
    first=$(grep -n 'algbw.*busbw' "$out/both.log" | head -1 | cut -d: -f1)
    second=$(grep -n 'elapsed time per iteration' "$out/both.log" | head -1 | cut -d: -f1)
    refuse 3 "both.log:$second:" "$out/both.log"
    [[ "$stderr" == *"two kinds are in one file: megatron-log here, nccl-tests in line $first"* ]]
    [[ "$stderr" == *"say which is meant: stoker import "* ]]
    "$STOKER" import nccl-tests "$out/both.log" | grep -v ' source:' > "$out/named"
    "$STOKER" import nccl-tests "$data/all_reduce_2node.log" | grep -v ' source:' | diff - "$out/named"
}

# A log of Hugging Face's Trainer prints the model's configuration; an URL has "tps:" in it.
@test "what a line happens to hold makes no other kind of a file" {
    printf 'Model config LlamaConfig {\n  "model_type": "llama",\n}\nloss: see https://a.b/\n' > "$out/hf.log"
    for i in 1 2 3 4 5 6 7 8; do
        printf ' %d/500 [00:51<41:45,  5.11s/it, loss=2.1]\n' "$i"
    done >> "$out/hf.log"
    "$STOKER" import "$out/hf.log" > "$out/found" 2> "$out/told"
    grep -qF 'hf.log is read as step-log' "$out/told"
    grep -qF 'step_time: 5.11 s' "$out/found"
}
