# stoker-lab backtest: each quarter's runs by what was published before it.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    LAB=$STOKER-lab
    work=$BATS_TEST_TMPDIR
}

# Ten rows of 2024 and four of June 2025, by somebody else, of one framework, and two constants.
write_tables() {
    { head -n 1 tests/published/runs.csv; grep '^llmfoundry-' tests/published/runs.csv | tail -n 10; } > "$work/early.csv"
    { head -n 1 tests/published/runs.csv; grep '^llmfoundry-' tests/published/runs.csv | head -n 4 |
        sed 's/,llm-foundry,,2024-01/,somebody,,2025-06/'; } > "$work/late.csv"
    { cat "$work/early.csv"; tail -n 4 "$work/late.csv"; } > "$work/runs.csv"
    cat > "$work/constants.yaml" <<'YAML'
constants:
- {name: rate, files: [llm-foundry-fsdp-2024], key: software.gemm.derate, prior: 0.95, spread: 10 %,
   min: 0.6, max: 0.97, neutral: 1, effect: gemm rate, source: a test}
- {name: step, files: [llm-foundry-fsdp-2024], key: software.host.per_step, prior: 15 ms, spread: 50 %,
   min: 1 ms, max: 200 ms, effect: host, source: a test}
YAML
}

backtest() {
    "$LAB" backtest "$@" --constants "$work/constants.yaml" -q
}

# The twin: what is fitted to the early rows alone predicts the late ones.
@test "a quarter's errors are those of a fit to what came before it" {
    write_tables
    backtest "$work/runs.csv" --from 2025-01 --json --predictions "$work/day.csv" > "$work/test"
    jq -e '[.quarters[].name] == ["2025 Q2"] and .quarters[0].votes_before == 10 and .quarters[0].votes == 4' "$work/test"
    mkdir "$work/catalogue"
    cp -r models topologies tests "$work/catalogue"
    (cd "$work/catalogue" &&
        "$LAB" calibrate steps "$work/early.csv" --constants "$work/constants.yaml" --priors file --rounds 1 --write -q > /dev/null)
    "$STOKER" validate "$work/late.csv" --catalogue "$work/catalogue" --json -q > "$work/late"
    python3 - "$work/test" "$work/late" "$work/day.csv" <<'PY'
import csv, json, sys
test, late = (json.load(open(path)) for path in sys.argv[1:3])
said, twin = test["quarters"][0], late["summary"]
assert abs(said["mean_ape"] - twin["mean_ape"]) < 0.002, (said, twin["mean_ape"])
assert abs(said["bias"] - twin["bias"]) < 0.002
# Of another source than all before, so the same with and without its own source.
day = {line["id"]: float(line["source_left_out_s"]) for line in csv.DictReader(open(sys.argv[3]))}
for row in late["rows"]:
    assert abs(day[row["id"]] / row["predicted_step_s"] - 1) < 0.003
PY
}

@test "what repeats an earlier run is told apart" {
    write_tables
    # The last early row again, a year later, by somebody else.
    tail -n 1 "$work/early.csv" | sed 's/^llmfoundry-[0-9]*,llm-foundry,,2024-01/again,another,,2025-05/' >> "$work/runs.csv"
    backtest "$work/runs.csv" --from 2025-01 --json > "$work/test"
    jq -e '.last_four_quarters | map({(.name): .votes}) | add
           == {"all": 5, "what repeats nothing earlier": 4, "what repeats an earlier run": 1}' "$work/test"
}

@test "a row without its month, and a month that is none, are told with their place" {
    write_tables
    sed '3s/,2024-01,/,,/' "$work/runs.csv" > "$work/undated.csv"
    run -3 --separate-stderr "$LAB" backtest "$work/undated.csv" --from 2025-01 -q
    [[ $stderr == *"undated.csv:3:"*"does not say when it was published"*"column 'published' has the month, like 2025-06"* ]]
    sed '3s/,2024-01,/,2024-13,/' "$work/runs.csv" > "$work/wrong.csv"
    run -3 --separate-stderr "$LAB" backtest "$work/wrong.csv" -q
    [[ $stderr == *"wrong.csv:3:"*"published '2024-13'"*"published is a month, like 2025-06, or blank"* ]]
    run -2 --separate-stderr "$LAB" backtest "$work/runs.csv" --from 2025 -q
    [[ $stderr == *"--from: '2025' is no month"* ]]
    run -3 --separate-stderr "$LAB" backtest "$work/runs.csv" --from 2027-01 -q
    [[ $stderr == *"no row was published in 2027-01 or later"* ]]
}
