# A study on many processes: the rows are those of one.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    study=$work/study.yaml
    # 64 points: of a fourth of them the sizes do not divide, two by two they are one run under two
    # names, and those without recomputation do not fit.
    cat > "$study" << 'END'
scenario: GPT-3 on many
model: gpt3-175b
cluster: h100-3200
gpus: 1024
software: megatron-2024
parallel: {tp: 8, pp: 8, sequence_parallel: true}
batch: {global: 128, micro: 1, sequence_length: 2048}
variants: [{name: one}, {name: the same}, {name: more, set: {batch.global: 256}}, {name: odd, set: {batch.global: 100}}]
sweep:
  cluster.network: [400 Gbps, 800 Gbps, 1600 Gbps, 3200 Gbps]
  recompute: [none, full]
  parallel.zero: [0, 1]
END
}

rows() {
    tests/support/store-rows "$1"
}

whole() {
    "$STOKER" sweep "$study" -j 1 --db "$work/whole.db" > "$work/whole" 2> /dev/null
    rows "$work/whole.db" > "$work/whole.rows"
    [ "$(grep -c '^point ' "$work/whole.rows")" -eq 64 ]
    [ "$(grep -c '^point .*infeasible' "$work/whole.rows")" -ge 16 ]
}

@test "a sweep has the same rows and prints the same for every number of processes" {
    whole
    for jobs in 2 4 64; do
        "$STOKER" sweep "$study" -j $jobs --db "$work/$jobs.db" 2> /dev/null | cmp - "$work/whole"
        diff "$work/whole.rows" <(rows "$work/$jobs.db")
    done
}

@test "a sweep of several processes that was killed goes on to the same rows" {
    whole
    for _ in 1 2 3; do
        "$STOKER" sweep "$study" -j 4 --db "$work/killed.db" > /dev/null 2>&1 &
        sweeper=$!
        for _ in $(seq 400); do
            points=$("$STOKER" list studies --db "$work/killed.db" 2> /dev/null | awk 'NR == 2 { print $3 }')
            [ "${points:-0}" -ge 1 ] && break
            sleep 0.005
        done
        kill -9 "$sweeper" 2> /dev/null || true
        wait "$sweeper" || true
    done
    run --separate-stderr "$STOKER" sweep "$study" -j 3 --db "$work/killed.db"
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat "$work/whole")" ]
    [[ "$stderr" =~ \(([0-9]+)\ reused\) ]]
    [ "${BASH_REMATCH[1]}" -ge 1 ]
    diff "$work/whole.rows" <(rows "$work/killed.db")
}

@test "on a terminal a sweep says how fast it is and how long it will take" {
    script -qec true /dev/null < /dev/null > /dev/null 2>&1 || skip "there is no terminal to be had"
    script -qec "'$STOKER' sweep '$study' -j 2 --db '$work/t.db'" /dev/null < /dev/null > "$work/shown"
    grep -qE '[0-9]+ of 64 points, [0-9]+ infeasible, [0-9.]+/s, [0-9.]+ (s|ms|min|h) left' "$work/shown"
}

@test "a number of processes that cannot be is wrong usage" {
    for wrong in 0 -1 x 257 ''; do
        run -2 "$STOKER" sweep "$study" --db "$work/none.db" -j "$wrong"
        [[ $output == *"--jobs is a count from 1 to 256, not '$wrong'"* ]]
    done
    [ ! -e "$work/none.db" ]
}

# ---- shards ---------------------------------------------------------------------------------

shard() {
    "$STOKER" sweep "$study" --shard "$1" --db "$work/${1/\//-of-}.db" "${@:2}" > /dev/null 2>&1
}

@test "shards that are merged, in any order, twice or one by one, have the rows of one run" {
    whole
    for count in 1 3 4; do
        for number in $(seq $count); do
            shard "$number/$count"
        done
        sum=0
        for file in "$work"/*-of-$count.db; do
            ((sum += $(rows "$file" | grep -c '^point ')))
        done
        [ "$sum" -eq 64 ] # no point is in two
        rm -f "$work/merged.db"
        run "$STOKER" merge $(printf '%s\n' "$work"/*-of-$count.db | tac) --db "$work/merged.db" --complete
        [ "$status" -eq 0 ]
        diff "$work/whole.rows" <(rows "$work/merged.db")
        "$STOKER" merge "$work"/*-of-$count.db --db "$work/merged.db" > /dev/null
        diff "$work/whole.rows" <(rows "$work/merged.db")
    done
    # All there, in order, and nothing is run again.
    run --separate-stderr "$STOKER" sweep "$study" --db "$work/merged.db"
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat "$work/whole")" ]
    [[ "$stderr" == *"64 points: "*"(64 reused)"* ]]
}

# Where the last axis has as many values as there are shards, each shard has its share of all.
@test "no shard has all points of one value" {
    for number in 1 2; do
        shard "$number/2"
        for value in "recompute', 'none'" "recompute', 'full'" "parallel.zero', '0'" "parallel.zero', '1'"; do
            [ "$(rows "$work/$number-of-2.db" | grep -c "^point_axis .*'$value")" -eq 16 ]
        done
    done
}

@test "a shard has its own file, goes on where it was, and may have no point or none that fits" {
    cd "$work"
    STOKER_PATH=$BATS_TEST_DIRNAME/../.. run --separate-stderr "$STOKER" sweep study.yaml --shard 2/4 --json
    [ "$status" -eq 0 ]
    [ -e results/stoker-2-of-4.db ]
    [ ! -e results/stoker.db ]
    jq -e '.shard == "2/4" and .counts.points == 64 and (.points | length) == 16' <<< "$output"
    [[ "$stderr" == *"16 of 64 points: "*"(0 reused)"* ]]
    STOKER_PATH=$BATS_TEST_DIRNAME/../.. run --separate-stderr "$STOKER" sweep study.yaml --shard 2/4
    [[ "$stderr" == *"16 of 64 points: "*"(16 reused)"* ]]
    cd "$BATS_TEST_DIRNAME/../.."
    run --separate-stderr "$STOKER" sweep "$study" --shard 70/70 --db "$work/empty.db"
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"0 of 64 points: 0 ok"* ]]
    run "$STOKER" sweep "$study" --shard 1/2 --db "$work/none.db" --set batch.sequence_length=1000001
    [ "$status" -eq 0 ]
    [[ "$output" == *"32 of 64 points: 0 ok, 32 infeasible"* ]]
}

@test "a shard that cannot be is wrong usage, and so is a picture of one" {
    for wrong in 0/4 5/4 x 4 /4 1/ 1/0 -1/4 1/4x ' 1/4' 1/100001 4294967297/4294967298; do
        run -2 "$STOKER" sweep "$study" --db "$work/none.db" --shard "$wrong"
        [[ $output == *"--shard is K/N, shard K of N, counted from 1"*"not '$wrong'"* ]]
    done
    run -2 "$STOKER" sweep "$study" --db "$work/none.db" --shard 1/4 --plot lines
    [[ $output == *"--plot has no meaning for a shard"*"stoker plot"* ]]
    [ ! -e "$work/none.db" ]
}

@test "a shard that is missing is told with its points, and merged later" {
    whole
    for number in 1 2 3; do shard "$number/3"; done
    run "$STOKER" merge "$work/1-of-3.db" "$work/3-of-3.db" --db "$work/merged.db"
    [ "$status" -eq 0 ]
    [[ $output == *"warning: of the 64 points of study "*" 'GPT-3 on many' 21 are missing and 0 failed: numbers 1, 3, 8, "*" and more"*"run the shards that lack, and merge again"* ]]
    run --separate-stderr "$STOKER" merge "$work/1-of-3.db" "$work/3-of-3.db" --db "$work/merged.db" --complete --json
    [ "$status" -eq 1 ]
    jq -e '.incomplete | length == 1 and .[0].missing == 21 and .[0].points == 64' <<< "$output"
    # The file of the missing one is named, and what there is stays as it is.
    cp "$work/merged.db" "$work/before.db"
    run "$STOKER" merge "$work/lost.db" "$work/2-of-3.db" --db "$work/merged.db"
    [ "$status" -eq 1 ]
    [[ $output == *"there is no results file $work/lost.db"*"nothing was merged"* ]]
    cmp "$work/before.db" "$work/merged.db"
    run "$STOKER" merge "$work/2-of-3.db" --db "$work/merged.db" --complete
    [ "$status" -eq 0 ]
    diff "$work/whole.rows" <(rows "$work/merged.db")
}

@test "points that failed in a shard are told, too" {
    sed -i '/^variants/d; s/recompute: .*/batch.micro: [1, banana]/' "$study"
    run shard 1/1
    [ "$status" -eq 5 ]
    run "$STOKER" merge "$work/1-of-1.db" --db "$work/merged.db" --complete
    [ "$status" -eq 1 ]
    [[ $output == *"error: of the 16 points of study "*" 0 are missing and 8 failed: numbers 2 to 3, 6 to 7, 10 to 11, 14 to 15"* ]]
}

@test "a shard of another study or of another version is told from the others" {
    shard 1/2
    shard 2/2 --set batch.sequence_length=4096
    run "$STOKER" merge "$work/1-of-2.db" "$work/2-of-2.db" --db "$work/merged.db"
    [ "$status" -eq 0 ]
    [[ $output == *" 32 are missing "*"is of that title, too: its scenario, --set or catalogue differs"* ]]
    # Other sources.
    id=$("$STOKER" run scenarios/quickstart.yaml --no-db -q --json | sed -n 's/^ *"build": "\(.*\)",$/\1/p')
    LC_ALL=C sed "s/$id/$(tr '0-9a-f' '1-9a-f0' <<< "$id")/g" "$STOKER" > "$work/other"
    chmod +x "$work/other"
    STOKER_PATH=$PWD "$work/other" sweep "$study" --shard 2/2 --db "$work/other.db" > /dev/null 2>&1
    run "$STOKER" merge "$work/1-of-2.db" "$work/other.db" --db "$work/both.db" --complete
    [ "$status" -eq 1 ]
    [[ $output == *" 32 are missing "*"by another version of stoker (sources "*"run all shards with one"* ]]
    # Another schema.
    python3 -c "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA user_version = 6')" "$work/2-of-2.db"
    run "$STOKER" merge "$work/1-of-2.db" "$work/2-of-2.db" --db "$work/third.db"
    [ "$status" -eq 1 ]
    [[ $output == *"2-of-2.db has schema 6, this stoker writes "[1-9]*"nothing was merged"* ]]
    [ ! -e "$work/third.db" ]
}

@test "what cannot be written is told with its remedy, and the shards stay" {
    [ -w /dev/full ] || skip "no /dev/full"
    shard 1/1
    mkdir "$work/limited"
    # A file may not grow beyond 200 KiB: as on a full disk.
    run bash -c 'ulimit -f 200; trap "" XFSZ; exec "$@"' - "$STOKER" merge "$work/1-of-1.db" \
        --db "$work/limited/out.db"
    [ "$status" -eq 1 ]
    [[ $output == *"limited/out.db: cannot "*"free some space, then run the same command again"* ]]
    run bash -c 'ulimit -f 200; trap "" XFSZ; exec "$@"' - "$STOKER" sweep "$study" --shard 1/2 \
        -j 2 --db "$work/limited/half.db"
    [ "$status" -eq 1 ]
    [[ $output == *"limited/half.db: cannot "*"free some space, then run the same command again"* ]]
    run "$STOKER" sweep "$study" --shard 1/2 --db "$work/limited/half.db"
    [ "$status" -eq 0 ]
    run "$STOKER" merge "$work/1-of-1.db" --db "$work/limited/out.db" --complete
    [ "$status" -eq 0 ]
}

# ---- scripts (tests/many runs them) -----------------------------------------------------------

@test "scripts repeat the command with its own options, quoted, and without those of its output" {
    odd="$work/it's \"a\" \$HOME {} folder"
    mkdir "$odd"
    cp "$study" "$odd/my study.yaml"
    root=$PWD
    cd "$odd"
    export STOKER_PATH=$root
    for kind in slurm parallel; do
        "$STOKER" sweep "my study.yaml" --set 'scenario=a `b` $c' -j 3 --fold off --db "o'ut.db" --$kind=5 -v > script 2> /dev/null
        bash -n script
        grep -qF -- "--fold=off '--set=scenario=a \`b\` \$c'" script ||
            grep -qF -- "'--set=scenario=a \`b\` \$c' --fold=off -- 'my study.yaml'" script
        grep -qF -- "merge \"\$@\" '--db=o'\\''ut.db' --complete" script
        run ! grep -q -- '--verbose' script
        grep -qF "cd '${odd//\'/\'\\\'\'}'" script
        grep -qF "STOKER_PATH=$root" script
    done
    [ "$(grep -c -- '--shard=./5 .* --jobs=3 ' script)" -eq 5 ]
    [ ! -e results ] && [ ! -e "o'ut.db" ]
}

@test "a script has 8 shards, a thousand points in each, or as many as there are points" {
    "$STOKER" sweep "$study" --slurm | grep -qx '#SBATCH --array=1-8'
    "$STOKER" sweep "$study" --slurm --set batch.micro=1 -j 7 | grep -qx '#SBATCH --cpus-per-task=7'
    sed '/^variants/d; /^  recompute/d; /^  parallel.zero/d' "$study" > "$work/four.yaml"
    [ "$("$STOKER" sweep "$work/four.yaml" --parallel | grep -c ' --shard=')" -eq 4 ]
}

@test "what a script cannot be, or be asked for with, is wrong usage; a wrong study is told before it runs" {
    for wrong in 0 1001 x -3; do
        run -2 "$STOKER" sweep "$study" --slurm=$wrong
        [[ $output == *"--slurm=N: N is a count of shards from 1 to 1000, not '$wrong'"* ]]
    done
    run -2 "$STOKER" sweep "$study" --slurm --parallel
    [[ $output == *"--slurm and --parallel are two scripts"* ]]
    run -2 "$STOKER" sweep "$study" --slurm --json
    [[ $output == *"--json has no meaning for a script"* ]]
    run -2 "$STOKER" sweep "$study" --parallel --shard 1/2
    run -2 "$STOKER" sweep "$study" --slurm --set "scenario=two
lines"
    [[ $output == *"line break"* ]]
    echo 'sweep: {batch.mcro: [1]}' | cat scenarios/quickstart.yaml - > "$work/bad.yaml"
    run -3 "$STOKER" sweep "$work/bad.yaml" --slurm
    [[ $output == *"did you mean 'micro'?"* ]]
}

# ---- validate ---------------------------------------------------------------------------------

some_rows() {
    { head -1 tests/published/runs.csv; awk 'NR % 17 == 2' tests/published/runs.csv; } > "$work/some.csv"
    head -5 tests/published/networks.csv > "$work/more.csv"
    files=("$work/some.csv" "$work/more.csv")
    "$STOKER" validate "${files[@]}" --json > "$work/one.json" 2> /dev/null
    "$STOKER" validate "${files[@]}" --ratios gpus > "$work/one" 2> /dev/null
    jq -e '.rows | length > 20' "$work/one.json"
}

@test "rows in shards give, joined, what one run gives" {
    some_rows
    for number in 1 2 3; do
        "$STOKER" validate "${files[@]}" --shard $number/3 --write-steps "$work/$number.steps" --json > "$work/$number.json" 2> /dev/null
    done
    # Each row is in one shard.
    jq -es '(.[1:] | map(.rows[].id) | sort) == (.[0].rows | map(.id) | sort)' "$work/one.json" "$work"/[123].json
    read=(--read-steps "$work/2.steps" --read-steps "$work/1.steps" --read-steps "$work/3.steps")
    run --separate-stderr "$STOKER" validate "${files[@]}" --json "${read[@]}"
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat "$work/one.json")" ]
    [[ $stderr != *"simulated here"* ]]
    "$STOKER" validate "${files[@]}" "${read[@]}" --ratios gpus 2> /dev/null | cmp - "$work/one"
    # The rows of one that is missing are simulated.
    run --separate-stderr "$STOKER" validate "${files[@]}" --json "${read[@]:0:2}"
    [ "$status" -eq 0 ]
    [ "$output" = "$(cat "$work/one.json")" ]
    [[ $stderr == *" steps are in none of the files of --read-steps; they were simulated here"* ]]
    # A shard without rows.
    run "$STOKER" validate "${files[@]}" --shard 1000/1000 --write-steps "$work/none.steps"
    [ "$status" -eq 0 ]
    run "$STOKER" validate "${files[@]}" --read-steps "$work/none.steps" --json -q
    [ "$output" = "$(cat "$work/one.json")" ]
}

@test "a file of steps that is changed, cut, of another version or none at all is told" {
    some_rows
    "$STOKER" validate "${files[@]}" --write-steps "$work/s" > /dev/null 2>&1
    refused() {
        run -3 "$STOKER" validate "${files[@]}" --read-steps "$work/$1"
        [[ $output == *"$work/$1"*$2* ]] # a pattern
    }
    refused missing 'no such file'
    sed '3s/ 1 0x/ 0 0x/' "$work/s" > "$work/changed"
    run -1 cmp -s "$work/s" "$work/changed"
    refused changed 'is not whole, or was changed*run its shard again'
    for bytes in 20 60 300 $(($(wc -c < "$work/s") - 1)); do
        head -c "$bytes" "$work/s" > "$work/cut"
        run -3 "$STOKER" validate "${files[@]}" --read-steps "$work/cut"
    done
    sed '3d' "$work/s" > "$work/short"
    refused short 'is not whole, or was changed'
    sed '1s/1 ......../1 01234567/' "$work/s" > "$work/other"
    refused other 'are of another version of stoker*01234567'
    cp tests/published/runs.csv "$work/table"
    refused table 'is no file of steps'
    [ -w /dev/full ] || return 0
    run bash -c 'ulimit -f 1; trap "" XFSZ; exec "$@"' - "$STOKER" validate "${files[@]}" --summary --write-steps "$work/full"
    [ "$status" -eq 1 ]
    [[ $output == *"$work/full cannot be written: "* ]]
    [ ! -e "$work/full" ]
}

@test "options of validate that a shard or a script cannot have are wrong usage" {
    for wrong in '--plot x' '--ratios gpus'; do
        # shellcheck disable=SC2086 # words
        run -2 "$STOKER" validate tests/published/blind.csv --shard 1/2 $wrong
        [[ $output == *"has no meaning for a shard"*"--read-steps"* ]]
    done
    run -2 "$STOKER" validate tests/published/blind.csv --shard 3/2
    run -2 "$STOKER" validate tests/published/blind.csv --slurm --write-steps x
    run -3 "$STOKER" validate tests/published/runs.csv --rows nobody --slurm
    "$STOKER" validate tests/published/runs.csv --ratios gpus --plot 'a b' --parallel=2 > "$work/script"
    grep -qF ' validate "$@" --ratios=gpus '\''--plot=a b'\'' -- tests/published/runs.csv' "$work/script"
    grep -qF 'validate --shard=2/2 --write-steps=results/validate.shards-' "$work/script"
}
