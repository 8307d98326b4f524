# Why an answer is another than it was: by input, by constant, by build; of files of older schemas.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    export STOKER_PATH=$PWD
    cp scenarios/quickstart.yaml "$BATS_TEST_TMPDIR/job.yaml"
    cd "$BATS_TEST_TMPDIR"
    db=results.db
}

# Stores a run and tells its key.
store() {
    "$STOKER" run job.yaml -q --db "$db" --json "$@" | jq -r .key
}

# Statements for the results file.
sql() {
    python3 - "$db" "$@" <<'PY'
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
for statement in sys.argv[2:]:
    connection.execute(statement)
connection.commit()
PY
}

# A document of which a filter holds; a number, to 1e-9.
holds() {
    [ "$(jq "def near(a; b): (a - b | fabs) <= 1e-9 * (b | fabs) + 1e-12; $1" diff.json)" = true ]
}

# All that is told of what moved adds up to what moved, and Shapley's shares by themselves.
adds_up() {
    for figure in step_s days cost_usd; do
        holds "near([.inputs[].moves.$figure // 0, .together.$figure, .program.$figure] | add; .b.$figure - .a.$figure)"
        holds ".shared_by != \"shapley\" or (.together.$figure | fabs) <= 1e-9 * .b.$figure"
    done
}

@test "a price alone moves USD by the GPU-hours that are paid, and nothing else" {
    a=$(store --set "price.gpu_hour=2 USD")
    hours=$("$STOKER" run job.yaml -q --no-db --json | jq .run.gpu_hours)
    "$STOKER" diff "$a" job.yaml --set "price.gpu_hour=3 USD" --db "$db" --json > diff.json
    adds_up
    holds '[.inputs[].name] == ["price.gpu_hour"] and .shared_by == "shapley" and .constants.changed == 0'
    holds "near(.inputs[0].moves.cost_usd; $hours) and .inputs[0].moves.days == 0 and .inputs[0].moves.step_s == 0"
}

@test "of two inputs that hang together each has the mean of both orders" {
    a=$(store)
    b=$(store --set parallel.tp=4 --set "gpu.tdp=650 W")
    "$STOKER" diff "$a" "$b" --db "$db" --json > diff.json
    adds_up
    step() { "$STOKER" run job.yaml -q --no-db --json "$@" | jq .step_time_s; }
    none=$(step) tp=$(step --set parallel.tp=4) tdp=$(step --set "gpu.tdp=650 W") both=$(jq .b.step_s diff.json)
    holds "near(.inputs[] | select(.name == \"gpu.tdp\").moves.step_s; ($tdp - $none + $both - $tp) / 2)"
    holds "near(.inputs[] | select(.name == \"parallel.tp\").moves.step_s; ($tp - $none + $both - $tdp) / 2)"
    holds "near(.inputs[] | select(.name == \"parallel.tp\").alone_in_a.step_s; $tp - $none)"
    holds '.together.step_s | fabs < 1e-12'
    holds '[.constants.keys[].key] == ["gpu.tdp"] and .constants.keys[0].a == "700 W" and .constants.keys[0].b == "650 W"'
    holds "near([.causes[].b] | add; $both)"
}

@test "what only goes together is one input, and what moves nothing is said so" {
    # 96 GPUs are 48 replicas, which do not share 256 sequences; 288 sequences 32 replicas do.
    a=$(store)
    b=$(store --set gpus=96 --set batch.global=288 --set memory.margin="9 %" --set "gpu.tdp=600 W" \
        --set software.overlap.dp_gradients=false)
    "$STOKER" diff "$a" "$b" --db "$db" --json > diff.json
    adds_up
    holds '.inputs | map(select(.name | test("gpus|batch"))) | all(.moves.days != null)'
    run "$STOKER" diff "$a" "$b" --db "$db"
    [[ $output == *"moves nothing: memory.margin"* ]]
    [[ "$(head -1 <<< "$output")" = "B is not as A" ]]
    [ -z "$(awk 'length > 100' <<< "$output")" ]
}

@test "what another build told of the same scenario is the program's, constants apart" {
    id=$("$STOKER" run job.yaml --no-db -q --json | jq -r .build)
    other=$(tr '0-9a-f' '1-9a-f0' <<< "$id")
    LC_ALL=C sed "s/$id/$other/g" "$STOKER" > other
    chmod +x other
    a=$(STOKER=./other store)
    sql "UPDATE run SET step_s = step_s * 1.1, wall_clock_days = wall_clock_days * 1.1"
    "$STOKER" diff "$a" --db "$db" --json > diff.json
    adds_up
    holds "(.inputs | length) == 0 and .a.build == \"$other\" and near(.a.step_s; 1.1 * .b.step_s)"
    holds 'near(.program.days; .b.days - .a.days) and near(.a.by_this_build.days; .b.days)'
    "$STOKER" diff "$a" job.yaml --set "gpu.tdp=650 W" --db "$db" --json > diff.json
    adds_up
    holds 'near(.program.step_s; .a.by_this_build.step_s - .a.step_s) and .constants.changed == 1'
    b=$(store)
    run "$STOKER" diff "$other" "$id" --db "$db"
    [[ "$(head -1 <<< "$output")" == "1 of 1 steps moved, most of all ${a:0:8} ${b:0:8}"*"(-9.09 %)" ]]
}

@test "a scenario that this build cannot read is compared by what was told, and its keys are listed" {
    a=$(store)
    sql "UPDATE scenario_rows SET text = replace(text, 'gpus: 64', 'chimney: red, gpus: 64')"
    "$STOKER" diff "$a" job.yaml --set parallel.tp=4 --db "$db" --json > diff.json
    holds '.problem == "A: unknown key '"'chimney'"'" and .program.days == null and .a.days != null'
    run "$STOKER" diff "$a" job.yaml --set parallel.tp=4 --db "$db"
    [[ $output == *"what moved it cannot be simulated: A: unknown key 'chimney'"*"where the step goes, s"* ]]
}

@test "a results file of schema 12 is read" {
    a=$(store)
    python3 - "$db" <<'PY'
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
do = connection.execute
do("CREATE TABLE kept AS SELECT *, (SELECT text FROM scenario WHERE run_key = run.key) AS scenario_text FROM run")
do("DROP TABLE run")
do("ALTER TABLE kept RENAME TO run")
for name in "breakdown assumption link_use link_load traffic job account failure stage".split():
    do(f"CREATE TABLE kept AS SELECT * FROM {name}")
    do(f"DROP VIEW {name}")
    do(f"DROP TABLE {name}_rows")
    do(f"ALTER TABLE kept RENAME TO {name}")
do("DROP VIEW scenario")
do("DROP TABLE scenario_rows")
do("DROP TABLE text")
do("ALTER TABLE breakdown DROP COLUMN path_ns")
do("PRAGMA user_version = 12")
connection.commit()
PY
    "$STOKER" diff "$db:$a" job.yaml --set "price.gpu_hour=3 USD" -q --json > diff.json
    adds_up
    holds '[.inputs[].name] == ["price.gpu_hour"] and (.causes | length) > 3'
}

@test "two studies are held against each other point by point, and one of them explained" {
    key() { "$STOKER" sweep job.yaml -q --db "$db" --json "$@" | jq -r .study.key; }
    a=$(key --axis batch.micro=1,2)
    b=$(key --axis batch.micro=1,4 --set "gpu.tdp=650 W")
    run "$STOKER" diff "$a" "$b" --db "$db" --format=csv
    [[ $output == *"micro 1,"*"micro 2,"*",only in A"*"micro 4,"*",only in B"* ]]
    "$STOKER" diff "$a" "$b" --db "$db" --point "micro 1" --json > diff.json
    adds_up
    holds '[.inputs[].name] == ["gpu.tdp"]'
    run -2 "$STOKER" diff "$a" "$b" --db "$db" --point "micro 2"
    [[ $output == *"--point: $b has no result of 'micro 2'"* ]]
    run -2 "$STOKER" diff "$a" job.yaml --db "$db"
    [[ $output == *"'$a' is a study, 'job.yaml' a scenario"* ]]
    run -3 "$STOKER" diff feed job.yaml --db "$db"
    [[ $output == *"results.db holds no run, study or build 'feed'"* ]]
    run -2 "$STOKER" diff "$a" --db "$db"
    [[ $output == *"alone is no run"* ]]
    run -2 "$STOKER" diff "$(store)" --db "$db" --set gpus=4
    [[ $output == *"--set has no meaning for a stored run alone"* ]]
    run -1 "$STOKER" diff gone.db:abcd job.yaml
    [[ $output == *"there is no results file gone.db"* ]]
}

@test "a side that does not fit is told so, and nothing is made of it" {
    a=$(store)
    run -4 "$STOKER" diff "$a" job.yaml --set parallel.tp=1 --db "$db"
    [[ $output == *"B does not fit into memory, A does"*"cannot be simulated: B: it does not fit into memory"* ]]
    [[ $output != *"where the months go"* ]]
}
