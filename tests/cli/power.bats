# stoker plot power: what a site draws over a step.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
}

# A bin each millisecond of the step, between all 64 GPUs waiting and all at work.
@test "plot power writes a line for each millisecond" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    run -0 "$STOKER" plot power scenarios/quickstart.yaml --set parallel.pp=4 -o "$work/p"
    [[ "$output" == *"mean "*" kW; at most +"* ]]
    for suffix in svg png csv gp; do
        [ -s "$work/p.$suffix" ]
        [[ "$output" == *"/p.$suffix"* ]]
    done
    python3 - "$work/p.csv" << 'PYTHON'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
power = [float(row["power_w"]) for row in rows]
assert 1000 < len(rows) < 16000, len(rows)
assert abs(float(rows[1000]["start_s"]) - 1) < 1e-9
assert 0.3 * max(power) < min(power) < 0.9 * max(power), (min(power), max(power))
PYTHON
}

@test "plot power of what is no scenario, or with another plot's options" {
    run -3 "$STOKER" plot power "$work/none.yaml" -o "$work/p"
    run -2 "$STOKER" plot power scenarios/quickstart.yaml --metric mfu -o "$work/p"
    [[ "$output" == *"--metric"*"plot power"* ]]
}

@test "plot power draws the cap and stays below it" {
    run -0 "$STOKER" plot power scenarios/quickstart.yaml --set power_cap.site="60 kW" -o "$work/c"
    [[ "$output" == *"; cap 60 kW"* ]]
    grep -q "SCALE \* 60000 with lines" "$work/c.gp" && grep -q "set label 'cap'" "$work/c.gp"
    run -0 "$STOKER" plot power scenarios/quickstart.yaml -o "$work/n"
    [[ "$output" != *cap* ]]
    run ! grep -q "'cap'" "$work/n.gp"
    python3 - "$work/c.csv" <<'END'
import csv, sys
power = [float(row["power_w"]) for row in csv.DictReader(open(sys.argv[1]))]
assert 59000 < max(power) <= 60000 * (1 + 1e-9), max(power)
END
}
