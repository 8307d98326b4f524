# What misses a GPU's memory, or fits it, by less than the error of memory.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    scenario=$PWD/scenarios/quickstart.yaml
}

# The quickstart's peak, times $1, is what its GPU has.
run_with() {
    local bytes
    bytes=$("$STOKER" run "$scenario" --no-db -q --json | jq ".memory.peak_bytes * $1 | floor")
    run --separate-stderr "$STOKER" run "$scenario" --no-db --set gpu.memory="$bytes B"
}

@test "models/memory.csv is what calibrate memory makes of the published peaks" {
    "$STOKER" calibrate memory tests/published/memory.csv -o "$work/memory.csv" > "$work/text"
    cmp models/memory.csv "$work/memory.csv"
    "$STOKER" calibrate memory tests/published/memory.csv --json > "$work/json"
    python3 - "$work" <<'PY'
import csv, json, statistics, sys
document = json.load(open(sys.argv[1] + "/json"))
rows = [(line["source"], float(line["predicted_gb"]) / float(line["measured_gb"]) - 1)
        for line in csv.DictReader(open("models/memory.csv"))]
median = statistics.median(abs(error) for _, error in rows)
assert document["summary"]["peaks"] == len(rows) == len(document["rows"])
assert abs(document["summary"]["median"] - median) < 1e-5
for source in document["sources"]:
    own = [abs(error) for name, error in rows if name == source["source"]]
    assert source["peaks"] == len(own) and abs(source["median"] - statistics.median(own)) < 1e-5
assert "the error of memory, their median, is %.1f %%" % (100 * median) in open(sys.argv[1] + "/text").read()
PY
}

@test "a plan that is over by less than the error of memory is told so, one that is over by more is not" {
    run_with 0.99
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"does not fit into memory"*"help: it is over by 1 %, less than the error of memory: of 71 measured peaks, off by 3.8 % in the median, 42 % lay so far below their prediction"* ]]
    run_with 0.94
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"does not fit into memory"* ]]
    [[ "$stderr" != *"error of memory"* ]]
}

@test "a plan that fits by less than the error of memory is told so, too" {
    run_with 1.02
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"it fits into memory by 2 %, less than the error of memory: of 71 measured peaks"*" lay so far above their prediction"* ]]
    run_with 1.06
    [ "$status" -eq 0 ]
    [[ "$stderr" != *"error of memory"* ]]
}

@test "a catalogue without errors of memory, or with wrong ones, knows nothing near" {
    cp -r models topologies "$work"
    rm "$work/models/memory.csv"
    cp "$STOKER" "$work/stoker" # alone: beside its folder's catalogue it would find that one
    STOKER=$work/stoker
    cd "$work"
    run_with 0.99
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"note: what nearly fits is not told from what does not: the catalogue has no models/memory.csv"* ]]
    sed 's/,[0-9.]*$/,none/' "$BATS_TEST_DIRNAME/../../models/memory.csv" > models/memory.csv
    sed -i 1d models/memory.csv
    run_with 0.99
    [[ "$stderr" == *"not told from what does not: ./models/memory.csv:1:1: columns are missing"* ]]
    { head -1 "$BATS_TEST_DIRNAME/../../models/memory.csv"; head -20 models/memory.csv; } > some.csv
    mv some.csv models/memory.csv
    run_with 0.99
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"./models/memory.csv:2:"*": predicted_gb 'none' is no size in GB"* ]]
}

@test "peaks of one's own can be looked at, and what is wrong with them is said" {
    { head -1 tests/published/memory.csv; grep '^titan-8b' tests/published/memory.csv; } > "$work/mine.csv"
    [ "$("$STOKER" calibrate memory "$work/mine.csv" --json | jq .summary.peaks)" -eq 6 ]
    { head -1 tests/published/memory.csv
      grep '^titan-8b-8g-FSDP' tests/published/memory.csv | sed '1s/,82.4,,$/,,,/'; } > "$work/blank.csv"
    run --separate-stderr "$STOKER" calibrate memory "$work/blank.csv" --json
    [ "$status" -eq 0 ]
    [ "$(jq .summary.peaks <<< "$output")" -eq 2 ]
    [[ "$stderr" == *"blank.csv:2:1: warning: measured_memory_gb is blank; the row is skipped"* ]]
    sed 1s/measured_memory_gb/measured_gb/ "$work/mine.csv" > "$work/bad.csv"
    run --separate-stderr -3 "$STOKER" calibrate memory "$work/bad.csv"
    [[ "$stderr" == *"there is no column 'measured_gb'"* ]]
    [[ "$stderr" == *"columns are missing: 'measured_memory_gb'"* ]]
    head -1 tests/published/memory.csv > "$work/none.csv"
    run --separate-stderr -3 "$STOKER" calibrate memory "$work/none.csv"
    [[ "$stderr" == *"no peak could be predicted"* ]]
    run --separate-stderr -2 "$STOKER" calibrate memory "$work/mine.csv" --check
    [[ "$stderr" == *"--check has no meaning for calibrate memory"* ]]
    run --separate-stderr -2 "$STOKER" calibrate memory "$work/mine.csv" "$work/mine.csv"
    [[ "$stderr" == *"too many arguments"* ]]
    run --separate-stderr -1 "$STOKER" calibrate memory "$work/mine.csv" -o /proc/none/memory.csv
    [[ "$stderr" == *"/proc/none"* ]]
}
