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

# Where nothing is written, nobody waits for data and nothing fails, the energy of a run is its power
# times its hours. The most is that of the step's milliseconds, or a little above where launches keep
# GPUs from being at work all together (Llama 3 405B: 2.7 %).
@test "the site's power is a metric: its mean makes the energy, its peak is above each millisecond" {
    "$STOKER" run scenarios/quickstart.yaml --no-db -q --json --set run.checkpoint=off > "$work/json"
    jq -e '.run.energy_kwh / (.run.days * 24) * 1000 / .power_w - 1 | fabs < 1e-9' "$work/json"
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    for scenario in quickstart llama3-405b-16k study-oversubscription-moe; do
        "$STOKER" run "scenarios/$scenario.yaml" --no-db -q --json > "$work/json"
        "$STOKER" plot power "scenarios/$scenario.yaml" -q -o "$work/p" > /dev/null
        most=$(cut -d, -f2 "$work/p.csv" | sort -g | tail -1)
        jq -e --argjson most "$most" '.power_peak_w >= $most * (1 - 1e-9) and .power_peak_w < $most * 1.03
            and .power_w < .power_peak_w' "$work/json"
    done
}

@test "a cap holds the peak, and a run of stages has that of its largest" {
    "$STOKER" run scenarios/quickstart.yaml --no-db -q --json --set power_cap.site="60 kW" > "$work/json"
    jq -e '.power_peak_w <= 60000 * (1 + 1e-9) and .power_peak_w > 59000' "$work/json"
    file=$work/stages.yaml
    cat > "$file" << 'END'
scenario: two sizes
model: llama3-8b
cluster: h100-3200
gpus: 32
parallel: {tp: 2}
batch: {global: 64, micro: 1, sequence_length: 4096}
run: {stages: [{name: small, tokens: 10B}, {name: large, tokens: 10B, set: {gpus: 64}}]}
END
    peak=$("$STOKER" run "$file" --no-db -q --json | jq '[.power_w, .power_peak_w]')
    sed -i 's/^gpus: 32/gpus: 64/; s/stages: .*/tokens: 10B}/' "$file"
    [ "$peak" = "$("$STOKER" run "$file" --no-db -q --json | jq '[.power_w, .power_peak_w]')" ]
}

@test "power can be required, in any of its units" {
    run --separate-stderr "$STOKER" sweep scenarios/quickstart.yaml --axis gpus=32,64,128 --metric power --metric power_peak \
        --require 'power <= 0.1 MW' --require 'power_peak<=82 kW' --db "$work/db" -q
    [ "$status" -eq 0 ]
    [[ $output == *"gpus"*"MW  peak MW  meets"*"2 of 3 points meet power <= 0.1 MW and power_peak <= 82 kW"* ]]
    run --separate-stderr "$STOKER" sweep scenarios/quickstart.yaml --axis gpus=32,64 --require 'power <= 1 kW' --db "$work/db" -q
    [ "$status" -eq 4 ]
    [[ $stderr == *"nearest is gpus 32: power 0.0"*" MW, "*"with 'power<=0.0"*" MW' instead it meets all"* ]]
    run --separate-stderr "$STOKER" sweep scenarios/quickstart.yaml --axis gpus=32,64 --require 'power<=20 MWh' --db "$work/db" -q
    [ "$status" -eq 2 ]
    [[ $stderr == *"power"*"write it like power <= "*W* ]]
}
