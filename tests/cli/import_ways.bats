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

# What is told of a file is told of standard input and of what gzip made of it, too; only its name
# differs.
@test "standard input, a pipe and gzip's files are read as the file itself" {
    while read -r file; do
        options=()
        [[ "$file" != megatron.log ]] || options=(--gpu h100-sxm5-80gb)
        "$STOKER" import "$data/$file" --name ours "${options[@]}" 2> /dev/null | grep -v imported > "$out/whole"
        gzip -c "$data/$file" > "$out/$file.gz"
        "$STOKER" import - --name ours "${options[@]}" < "$data/$file" 2> "$out/told" | grep -v imported | diff "$out/whole" -
        grep -qF '<stdin> is read as' "$out/told"
        "$STOKER" import "$out/$file.gz" --name ours "${options[@]}" 2> /dev/null | grep -v imported | diff "$out/whole" -
        "$STOKER" import - --name ours "${options[@]}" < "$out/$file.gz" 2> /dev/null | grep -v imported | diff "$out/whole" -
    done <<'T'
h100.xml
megatron.log
torchtitan.log
T
    "$STOKER" import <(cat "$data/torchtitan.log") --name ours 2> /dev/null |
        diff - <("$STOKER" import "$data/torchtitan.log" --name ours 2> /dev/null)
    "$STOKER" import "$out/torchtitan.log.gz" 2> /dev/null | grep -q '^torchtitan,'
    "$STOKER" import - < "$data/torchtitan.log" 2> /dev/null | grep -q '^stdin,'
    refuse 3 '<stdin>:2:3: error: this key is not known' slurm-topology - < <(printf '\n  SwitchNme=a Nodes=n1\n')
    refuse 3 '<stdin>: error: this file is empty' hf - < /dev/null
}

@test "a gzip file that is cut off or damaged, and what others compressed, are told with the remedy" {
    gzip -nc "$data/megatron.log" > "$out/whole.gz"
    head -c 400 "$out/whole.gz" > "$out/cut.log.gz"
    refuse 3 'cut.log.gz: error: this gzip file was cut off, after ' "$out/cut.log.gz"
    [[ "$stderr" == *"= help: copy it whole; what is there of it: zcat FILE | stoker ... -"* ]]
    head -c 1 "$out/whole.gz" > "$out/one.gz"
    refuse 3 'what kind of file this is cannot be told' "$out/one.gz"
    { head -c 300 "$out/whole.gz"; printf 'xxxxxxxxxxxxxxxx'; tail -c +317 "$out/whole.gz"; } > "$out/bad.gz"
    refuse 3 'bad.gz: error: this gzip file is damaged, after ' "$out/bad.gz"
    printf '\x28\xb5\x2f\xfd123' > "$out/a.zst"
    refuse 3 'this file is compressed by zstd' "$out/a.zst"
    [[ "$stderr" == *"= help: zstd -dc FILE | stoker ... -"* ]]
    cat "$out/whole.gz" "$out/whole.gz" > "$out/twice.gz"
    cat "$data/megatron.log" "$data/megatron.log" > "$out/twice"
    diff <("$STOKER" import "$out/twice.gz" --gpu h100-sxm5-80gb 2> /dev/null) \
        <("$STOKER" import "$out/twice" --gpu h100-sxm5-80gb 2> /dev/null)
}

# Rank 0 prints the arguments and no step, the last rank the steps, as Megatron does; rank 2 says what
# rank 10 says, and 10 comes after 2.
@test "of a folder of ranks' logs the run is read, and it is said from which files" {
    mkdir -p "$out/logs/attempt_0/0" "$out/logs/attempt_0/2" "$out/logs/attempt_0/10" "$out/logs/attempt_0/1"
    grep -v 'elapsed time' "$data/megatron.log" > "$out/logs/attempt_0/0/stdout.log"
    grep 'elapsed time' "$data/megatron.log" > "$out/logs/attempt_0/2/stdout.log"
    cp "$out/logs/attempt_0/2/stdout.log" "$out/logs/attempt_0/10/stdout.log"
    echo 'nothing' > "$out/logs/attempt_0/1/stdout.log"
    printf 'a\0b' > "$out/logs/core"
    "$STOKER" import "$out/logs" --gpu h100-sxm5-80gb --name megatron > "$out/found" 2> "$out/told"
    diff "$out/found" <("$STOKER" import "$data/megatron.log" --gpu h100-sxm5-80gb 2> /dev/null)
    grep -qF "logs is read as megatron-log" "$out/told"
    grep -qF "2 files are read: attempt_0/0/stdout.log, attempt_0/10/stdout.log" "$out/told"
    grep -qF "left out: attempt_0/1/stdout.log, attempt_0/2/stdout.log, core" "$out/told"
    mkdir "$out/none"
    refuse 3 'none: error: there is no file in this folder' "$out/none"
    cp "$out/logs/core" "$out/none"
    refuse 3 'of 1 files in this folder none is of a kind that is asked for' "$out/none"
    refuse 3 'files of several kinds are in this folder' "$data"
    mkdir "$out/two" && cp "$data/h100.xml" "$data/pcie.xml" "$out/two"
    refuse 3 '2 files of nccl-topo are in this folder' "$out/two"
    [[ "$stderr" == *"h100.xml, pcie.xml"* ]]
}

# tests/unit/data/import/megatron.log is of 16 GPUs and TP 2; its steps take 16 s. ranks LINE of a
# second rank's log: what a sed makes of the first.
@test "logs of ranks of one run that contradict each other are told, with both places" {
    ranks() {
        rm -rf "$out/run" && mkdir -p "$out/run/0" "$out/run/1"
        cp "$data/megatron.log" "$out/run/0/out.log"
        sed "$1" "$data/megatron.log" > "$out/run/1/out.log"
    }
    line=$(grep -n tensor_model_parallel_size "$data/megatron.log" | cut -d: -f1)
    ranks 's/\(tensor_model_parallel_size .* \)2/\18/'
    refuse 3 "run/1/out.log:$line:" "$out/run" --gpu h100-sxm5-80gb
    [[ "$stderr" == *"tensor_model_parallel_size is '8' here, and '2' in $out/run/0/out.log:$line: logs of one run contradict each other"* ]]
    [[ "$stderr" == *"= help: name the file that is meant"* ]]
    refuse 3 "contradict each other" megatron-log "$out/run" --gpu h100-sxm5-80gb
    ranks 's/\(world_size .* \)16/\132/'
    refuse 3 "world_size is '32' here, and '16' in $out/run/0/out.log" "$out/run" --gpu h100-sxm5-80gb
    # Each step is 1.6 times as long: 1.5 is far. With 1.4 times they agree, and give one row.
    faster() {
        awk -v by="$1" '{ while (match($0, /\(ms\): [0-9.]+/)) {
            value = substr($0, RSTART + 6, RLENGTH - 6) / by
            printf "%s(ms): %.1f", substr($0, 1, RSTART - 1), value; $0 = substr($0, RSTART + RLENGTH) } print }' "$data/megatron.log"
    }
    faster 1.6 > "$out/run/0/out.log"
    cp "$data/megatron.log" "$out/run/1/out.log"
    refuse 3 "steps take 1.6 times as long here as the same ones in $out/run/0/out.log" "$out/run" --gpu h100-sxm5-80gb
    faster 1.4 > "$out/run/0/out.log"
    [ "$("$STOKER" import "$out/run" --gpu h100-sxm5-80gb 2> /dev/null | wc -l)" -eq 2 ]
    # Paths, numbers of ranks and names of hosts are each rank's own; an attempt is another run.
    ranks 's/  *bf16 .*/&\n0:   local_rank ...... 1\n0:   save ............ \/tmp\/1\n/'
    [ "$("$STOKER" import "$out/run" --gpu h100-sxm5-80gb 2> /dev/null | wc -l)" -eq 2 ]
    ranks 's/\(tensor_model_parallel_size .* \)2/\14/'
    mkdir "$out/attempts" && mv "$out/run/0" "$out/attempts/attempt_0" && mv "$out/run/1" "$out/attempts/attempt_1"
    [ "$("$STOKER" import "$out/attempts" --gpu h100-sxm5-80gb 2> /dev/null | wc -l)" -eq 2 ]
    # torchtitan, and a log that tells little but its steps.
    rm -rf "$out/run" && mkdir "$out/run"
    cp "$data/torchtitan.log" "$out/run/rank0.log"
    sed "s/'seq_len': 8192/'seq_len': 4096/" "$data/torchtitan.log" > "$out/run/rank1.log"
    refuse 3 "training.seq_len is '4096' here, and '8192' in $out/run/rank0.log:" "$out/run"
    rm "$out/run"/*
    seq -f 'iter %g: loss 4.5, time 5110.21ms, mfu 30.12%%' 20 > "$out/run/rank0.log"
    seq -f 'iter %g: loss 4.5, time 511.21ms, mfu 30.12%%' 20 > "$out/run/rank1.log"
    refuse 3 "steps take 0.1 times as long here" "$out/run"
    run -3 "$STOKER" why "$out/run" scenarios/quickstart.yaml
    [[ "$output" == *"steps take 0.1 times as long here"* ]]
}

@test "a folder, standard input and gzip's files are anchors, tables and measurements" {
    line=$("$STOKER" import "$data/torchtitan.log" 2> /dev/null)
    mkdir "$out/runs" "$out/nccl" && echo "$line" > "$out/runs/a.csv" && echo x > "$out/runs/b.txt"
    gzip -c "$out/runs/a.csv" > "$out/a.csv.gz"
    "$STOKER" validate "$out/runs/a.csv" > "$out/whole"
    tail -n +3 "$out/whole" | grep -q torchtitan
    "$STOKER" validate "$out/runs" 2> "$out/told" | grep -v "$out" | diff - <(grep -v "$out" "$out/whole")
    grep -qF '1 file is read: a.csv' "$out/told"
    grep -qF 'left out: b.txt' "$out/told"
    "$STOKER" validate - < "$out/a.csv.gz" | grep -v '<stdin>' | diff - <(grep -v "$out" "$out/whole")
    "$STOKER" validate "$out/a.csv.gz" | grep -v "$out" | diff - <(grep -v "$out" "$out/whole")
    gzip -c "$data/all_reduce_2node.log" > "$out/nccl/a.log.gz"
    echo nothing > "$out/nccl/b"
    "$STOKER" calibrate collectives "$out/nccl" --cluster h100-3200 --check 2> "$out/told" > "$out/found"
    grep -qF '1 file is read: a.log.gz' "$out/told"
    diff "$out/found" <("$STOKER" calibrate collectives "$data/all_reduce_2node.log" --cluster h100-3200 --check)
    seq -f '%g/500 [00:51<41:45,  5.11s/it, loss=2.1]' 20 > "$out/bar.log"
    "$STOKER" run scenarios/quickstart.yaml --anchor "$out/bar.log" > "$out/whole"
    "$STOKER" run scenarios/quickstart.yaml --anchor - < "$out/bar.log" | diff <(grep -v simulated "$out/whole") <(grep -v simulated -)
    "$STOKER" why "$out/bar.log" scenarios/quickstart.yaml | grep -v 'llama3-8b on' > "$out/whole"
    "$STOKER" why - scenarios/quickstart.yaml < "$out/bar.log" | grep -v 'llama3-8b on' | diff "$out/whole" -
}

# 300 MB of noise around a log, in 300 MB of address space: the first 64 MiB, twice while they grow,
# and what lines are wanted. Read whole it would be twice the 300 MB.
@test "a log may be longer than memory: lines that nobody looks at are not kept" {
    noise() { yes 'some words of a loader of data that goes on and on, and a number: 1234567890 of many' | head -c 150000000; }
    { noise; echo; cat "$data/megatron.log"; noise; echo; } > "$out/long.log"
    (ulimit -v 480000 && "$STOKER" import "$out/long.log" --gpu h100-sxm5-80gb --name megatron) > "$out/found"
    diff "$out/found" <("$STOKER" import "$data/megatron.log" --gpu h100-sxm5-80gb 2> /dev/null)
    rm "$out/long.log"
}
