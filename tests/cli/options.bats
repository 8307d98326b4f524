# No command ignores an option: what does not apply is wrong usage that says what would be right.

bats_require_minimum_version 1.5.0

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    export STOKER db=$BATS_FILE_TMPDIR/results.db study=$BATS_FILE_TMPDIR/study.yaml
    cat scenarios/quickstart.yaml - > "$study" <<< 'sweep: {batch.micro: [1, 2], parallel.tp: [2, 4]}'
    "$STOKER" sweep "$study" --db "$db" -q > /dev/null
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
}

# The option that does not apply | the rest of the command line, DB for the results file of a study,
# STUDY for its file. The rest by itself is good.
refused() {
    cat << 'END'
--set nonsense=1|plot last --db DB -o OUT
--set batch.global=512|plot last --db DB -o OUT
--seed 7|plot last --db DB -o OUT
--fold off|plot last --db DB -o OUT
--fold off|plot STUDY --db DB -o OUT
--catalogue models|plot last --db DB -o OUT
--json|plot last --db DB -o OUT
--nodes 4|plot last --db DB -o OUT
-y batch.micro|plot last --db DB -o OUT
--metric days|plot last --kind causes --db DB -o OUT
-y batch.micro|plot last --kind best --db DB -o OUT
-x batch.micro|plot last --kind dollars --db DB -o OUT
--set batch.micro=1|plot topology h100-3200 --nodes 4 -o OUT
--seed 7|plot topology h100-3200 --nodes 4 -o OUT
--kind lines|plot topology h100-3200 --nodes 4 -o OUT
--db DB|plot topology h100-3200 --nodes 4 -o OUT
--json|plot topology h100-3200 --nodes 4 -o OUT
--nodes 4|plot pipeline scenarios/quickstart.yaml -o OUT
--metric mfu|plot pipeline scenarios/quickstart.yaml -o OUT
--db DB|plot pipeline scenarios/quickstart.yaml -o OUT
--set gpus=8|list models
--format csv|list models --json
--format md|compare STUDY --db DB --json
--set batch.micro=1|collective all-reduce --cluster h100-3200 --gpus 8 --sizes 1MB
--fold off|collective all-reduce --cluster h100-3200 --gpus 8 --sizes 1MB
--db DB|collective all-reduce --cluster h100-3200 --gpus 8 --sizes 1MB
--fold off|show gpu h100-sxm5-80gb
--seed 7|show gpu h100-sxm5-80gb
--db DB|show gpu h100-sxm5-80gb
--nodes 4|show gpu h100-sxm5-80gb
--set gpus=8|show gpu h100-sxm5-80gb
--db DB|show scenarios/quickstart.yaml
--json|new llama3-8b --cluster h100-3200 --gpus 8 -o OUT
--no-db|run scenarios/quickstart.yaml --db DB
--no-db|sweep STUDY --db DB
--no-db|compare STUDY --db DB
--no-db|sweep STUDY --shard 1/2 --db DB
-o OUT|sweep STUDY --db DB
-o OUT|compare STUDY --db DB
--metric days|sweep STUDY --db DB --json
--set gpus=8|merge DB --db OUT
--catalogue .|merge DB --db OUT
--db DB|explain scenarios/quickstart.yaml
--set gpus=8|validate tests/published/blind.csv
--db DB|validate tests/published/blind.csv
--fold off|calibrate collectives tests/published/collectives.yaml
--set gpus=8|import hf tests/unit/data/nothing.json
END
}

line() {
    local words=${1//DB/$db}
    words=${words//STUDY/$study}
    echo "${words//OUT/$BATS_TEST_TMPDIR/out}"
}

@test "an option that does not apply is wrong usage, and is named" {
    while IFS='|' read -r option rest; do
        # shellcheck disable=SC2046 # words
        run "$STOKER" $(line "$rest") $(line "$option")
        if [ "$status" -ne 2 ] || [[ "$output" != *"${option%% *}"* ]]; then
            echo "status $status: stoker $rest $option"
            echo "$output"
            return 1
        fi
    done < <(refused)
}

# Else the test above would pass for a wrong reason. The slow ones run elsewhere.
@test "without it the same command is good" {
    while IFS='|' read -r _ rest; do
        [[ "$rest" =~ ^(validate|calibrate|import) ]] && continue
        # shellcheck disable=SC2046 # words
        run "$STOKER" $(line "$rest")
        if [ "$status" -ne 0 ]; then
            echo "status $status: stoker $rest"
            echo "$output"
            return 1
        fi
        rm -f "$BATS_TEST_TMPDIR"/out*
    done < <(refused | sort -u -t '|' -k 2)
}

@test "--set and --seed find the study of a file, and of no other" {
    "$STOKER" sweep "$study" --db "$db" -q --set batch.global=512 > /dev/null
    run "$STOKER" plot "$study" --set batch.global=512 --db "$db" -o "$BATS_TEST_TMPDIR/out"
    [ "$status" -eq 0 ]
    run "$STOKER" plot "$study" --set batch.global=1024 --db "$db" -o "$BATS_TEST_TMPDIR/out"
    [ "$status" -eq 2 ]
    [[ "$output" == *"holds no study"* ]]
}

# A line for each command but help and new, which print text alone, plot, which draws, and the three
# that read tables of runs.
documents() {
    cat << 'ROWS'
run scenarios/quickstart.yaml --no-db
compare STUDY --no-db
sweep STUDY --no-db
search STUDY --no-db --set search.parallel.tp=[2] --set search.parallel.cp=[1] --set search.parallel.schedule=[1f1b] --gap 5%
whatif scenarios/quickstart.yaml --no-db
why 3.82s scenarios/quickstart.yaml
merge DB --db OUT
collective all-reduce --cluster h100-3200 --gpus 8 --sizes 1MB
list models
show gpu h100-sxm5-80gb
explain scenarios/quickstart.yaml
ROWS
}

@test "--json is one document and -q nothing besides, and --no-db leaves no file, of each command" {
    cd "$BATS_TEST_TMPDIR"
    export STOKER_PATH=$BATS_TEST_DIRNAME/../..
    ln -s "$STOKER_PATH/scenarios" .
    while read -r words; do
        # shellcheck disable=SC2046 # words
        run --separate-stderr "$STOKER" $(line "$words") --json -q
        if [ "$status" -ne 0 ] || [ -n "$stderr" ] || [ "$(jq -s length <<< "$output")" != 1 ]; then
            echo "status $status: stoker $words: $stderr"
            return 1
        fi
        [ ! -e results ] || { echo "$words leaves a results file"; return 1; }
    done < <(documents)
}

# A script that reads the first table from stdout goes on to; the others have a file each, in the order of the screen.
@test "--tables writes each table as a file of CSV" {
    work=$BATS_TEST_TMPDIR
    budget=("$STOKER" budget --params 70B --tokens 2T --gpus 1024 --gpu h100-sxm5-80gb)
    "${budget[@]}" --tables "$work/a/b" > "$work/screen"
    "${budget[@]}" | cmp - "$work/screen"
    [ "$(ls "$work/a/b")" = $'1-quantities.csv\n2-states.csv\n3-serving.csv' ]
    "${budget[@]}" --format csv | cmp - "$work/a/b/1-quantities.csv"
    # 70e9 parameters of 16 bytes.
    grep -q '^"16-bit weights and gradients, 32-bit master and Adam",16,1120000000000,14,17' "$work/a/b/2-states.csv"
    [ "$(wc -l < "$work/a/b/3-serving.csv")" -eq 4 ]
    # Without a key a table is called as its first column.
    "$STOKER" whatif scenarios/quickstart.yaml --no-db -q --tables "$work/c" > "$work/screen"
    [ "$(ls "$work/c")" = $'1-row.csv\n2-margins.csv' ]
    : > "$work/file"
    run -1 "${budget[@]}" --tables "$work/file"
    [[ $output == *"$work/file"* ]]
}
