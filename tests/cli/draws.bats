# How far off the days, the money and the energy of a run may be: quantiles of one set of draws.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    # A job of 8 nodes and a spare, one of which is lost every 200 h and comes back after a day: its
    # histories lie far apart, and nobody measured how often.
    cat > "$work/small.yaml" << 'END'
scenario: a small job that waits for its nodes
model: llama3-8b
cluster: h100-3200
gpus: 64
software: megatron-2024
precision: bf16
parallel: {tp: 2, dp: 32, zero: 1}
batch: {global: 256, micro: 1, sequence_length: 8192}
run:
  tokens: 419430400000
  checkpoint: {every: 30 min, mode: async}
  failures:
    failures: told
    counts: interruptions
    classes:
      - {name: node, of: node, takes: node, rate: {mttf: 200 h, components: 1},
         repair: {mean: 24 h, law: exponential}}
  recovery: {restart: 10 min, detection: {crash: 1 min}, spares: 1, without_node: wait}
END
}

predict() {
    "$STOKER" run "$work/small.yaml" --no-db -q "$@"
}

# The p5 of 8 nodes' histories is 9.1 days and the p95 15.4: told were 10.8 to 12.6, the step's. Money is
# that of the days: 9 nodes are held all the time.
@test "the band of days holds the histories, and says what it hangs on" {
    predict --json > "$work/json"
    jq -e '.band.days.p10 <= .run.days_p5 and .band.days.p90 >= .run.days_p95' "$work/json"
    jq -e '.run.days_p95 / .run.days_p5 > 1.4 and .band.draws == 200' "$work/json"
    jq -e '.band.of | .step + .rates + .histories - 1 | fabs < 1e-9' "$work/json"
    jq -e '.band.of | .rates > .histories and .histories > .step' "$work/json"
    jq -e '(.run.cost_usd / .run.days) as $day | .band |
        [.cost_usd.p10 / .days.p10 / $day, .cost_usd.p90 / .days.p90 / $day] | all(. - 1 | fabs < 1e-3)' "$work/json"
    jq -e '.band.energy_kwh.p10 < .run.energy_kwh and .run.energy_kwh < .band.energy_kwh.p90' "$work/json"
    jq -e '.band.goodput.p10 < .run.goodput and .run.goodput < .band.goodput.p90' "$work/json"
    run --separate-stderr predict
    [[ "$output" =~ "200 draws of all that is uncertain: how many days a run takes hangs on how often what fails (" ]]
    [[ "$output" =~ "days: p5 to p95 of 200 histories alone" ]]
}

# Rates that somebody measured himself are no doubt; what is left are step and histories, whose logarithms
# add as squares: from p10 to p90 as far as 1.2816 / 1.6449 of what lies between the histories' p5 and p95,
# and the step's band. What rates add has the share of the squares that is told, where all were normal.
@test "rates that are known make the band narrower" {
    predict --json > "$work/plain"
    sed 's/counts: interruptions/&\n    rates_within: 1/' "$work/small.yaml" > "$work/known.yaml"
    "$STOKER" run "$work/known.yaml" --no-db -q --json > "$work/known"
    jq -e '.band.of.rates == 0 and .band.of.histories > 0.7' "$work/known"
    jq -se '.[0].run.days == .[1].run.days and
        (map(.band.days | .p90 / .p10) | .[1] < .[0] * 0.8)' "$work/plain" "$work/known"
    jq -e 'def width: .p90 / .p10 | log;
        (1.2816 / 1.6449 * (.run.days_p95 / .run.days_p5 | log)) as $histories | .band | (.step_s | width) as $step |
        (.days | width) / ($histories * $histories + $step * $step | sqrt) - 1 | fabs < 0.04' "$work/known"
    jq -se 'def width: .p90 / .p10 | log;
        (.[1].band.days | width) / (1 - .[0].band.of.rates | sqrt) / (.[0].band.days | width) - 1 | fabs < 0.25' \
        "$work/plain" "$work/known"
    sed -i 's/rates_within: 1/rates_within: 0.5/' "$work/known.yaml"
    run -3 --separate-stderr "$STOKER" run "$work/known.yaml" --no-db -q
    [[ $stderr == *"known.yaml:15:"*rates_within* ]]
}

# A stated step is no doubt either, and what fails still is.
@test "a stated step has a band of days where something fails" {
    predict --set 'run.step_time=4 s' --json > "$work/json"
    jq -e '.band.is_known == false and .band.of.step == 0 and .band.days.p90 > 1.5 * .band.days.p10' "$work/json"
    run --separate-stderr predict --set 'run.step_time=4 s'
    [[ "$output" == *"no band of the step: the step is stated (run.step_time)"* ]]
}

# Llama 3's own rates, by which other clusters are foretold within 1.7: at a 1.7th of the failures
# it takes 12.7 days, at 1.7 times as many 27.8. That is the mean error, sqrt(2 / pi) of the deviation, so
# that p10 and p90 are 1.2816 x 1.2533 = 1.606 times as far apart in logarithms, and by the step's band, as
# squares: 1.30, of which they may be off by 10 %, as days are no power of the rates.
@test "at 131,072 GPUs days hang on how often what fails" {
    "$STOKER" run scenarios/study-months.yaml --set gpus=131072 --set batch.global=16384 --no-db -q --json \
        > "$work/json"
    jq -e '.band.days | .p10 <= 12.7 and .p90 >= 27.8' "$work/json"
    jq -e 'def width: .p90 / .p10 | log; .band | (1.606 * (27.8 / 12.7 | log)) as $rates | (.step_s | width) as $step |
        (.days | width) / ($rates * $rates + $step * $step | sqrt) - 1 | fabs < 0.1' "$work/json"
    jq -e '.band.of.rates > 0.7' "$work/json"
}

@test "without the file of limits the error of rates is said to be missing" {
    mkdir -p "$work/catalogue/models"
    echo 'resolution: {hashed: 1 %, source: s}' > "$work/catalogue/models/limits.yaml"
    run --separate-stderr predict --catalogue "$work/catalogue"
    [[ "$output" == *"; no error of rates of failures: "*limits.yaml* ]]
}

# The same steps, failures and days: what costs a third more does so in every draw. Days are a tie.
@test "compare: variants that differ in price alone win in all draws or in none" {
    { cat "$work/small.yaml"; echo 'variants: [{name: dear, set: {price.gpu_hour: 4 USD}}, {name: cheap, set: {price.gpu_hour: 3 USD}}]'; } \
        > "$work/prices.yaml"
    "$STOKER" compare "$work/prices.yaml" --db "$work/db" -q --json > "$work/json"
    jq -e '[.points[].against_first.wins | [.days_share, .days_behind, .usd_share]] == [[0.5, 0, 0], [0.5, 0, 1]]' "$work/json"
    jq -e '.points[1].against_first.wins.usd_behind == 0 and (.points[0].against_first.wins.usd_behind > 0.25 * .points[1].run.cost_usd)' "$work/json"
    "$STOKER" compare "$work/prices.yaml" --db "$work/db" -q > "$work/text"
    grep -qE '^of 200 draws +least days, % +behind, days +least USD, % +behind, USD$' "$work/text"
    grep -qE '^cheap +50 +0\.00 +100 +0(\.0+)?$' "$work/text"
}

# Nothing fails, and all of the days are steps: of a ratio R in a band of deviation s the second wins
# in a share Phi(ln R / s), and the base's own error is in both.
@test "compare: the share of draws that a point wins is the ratio's" {
    sed -e '/^  failures:/,/^  recovery/d' "$work/small.yaml" > "$work/two.yaml"
    echo 'sweep: {cluster.gpu: [h100-sxm5-80gb, h200-sxm-141gb]}' >> "$work/two.yaml"
    "$STOKER" compare "$work/two.yaml" --db "$work/db" -q --json > "$work/json"
    python3 - "$work/json" << 'END'
import json, math, sys
point = json.load(open(sys.argv[1]))["points"][1]["against_first"]
band = point["band"]["speed_up"]
deviation = math.log(band["p90"] / band["p10"]) / 2 / 1.2816
phi = 0.5 * (1 + math.erf(math.log(point["speed_up"]) / deviation / math.sqrt(2)))
assert 0.05 < phi < 0.95, phi
assert abs(point["wins"]["days_share"] - phi) <= 0.011, (point["wins"], phi)
END
}
