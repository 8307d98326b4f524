# What a new user writes for each of five tasks: fifteen lines for three quotes, none for the others, and one command each.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
}

later() {
    date -u -d "$1 days" +%F
}

@test "three quotes, by when, for how much, how sure: fifteen lines" {
    cat > "$work/quotes.yaml" << END
job: $PWD/scenarios/quickstart.yaml
rates: {EUR: {usd: 1.08 USD, date: $(later -1)}}
offers:
- {name: Alpha, cluster: h100-3200, gpus: 128, price: 1.65 USD, delivery: $(later 30)}
- name: Beta
  cluster: b200-3200
  price: 2.75 EUR
  delivery: [{nodes: 4, date: $(later 75)}, {nodes: 4, date: $(later 105)}]
- name: Gamma
  cluster: h200-3200
  nodes: 12
  buy: {node: 280 k EUR, life: 3 years, support: 8 %, residual: 10 %, hosting: 130 USD/month}
  electricity: 0.08 USD/kWh
  delivery: $(later 75)
END
    [ "$(wc -l < "$work/quotes.yaml")" -le 15 ]
    "$STOKER" quote "$work/quotes.yaml" --db "$work/db" -q > "$work/text"
    grep -qE '^(Alpha|Beta|Gamma) costs least: .* USD \(p10 to p90 .*\), done 20' "$work/text"
    grep -qE '^It wins in [0-9]+ % of draws \((clear|likely|too close)\), before ' "$work/text"
    grep -qE '^(Measure before signing|Nothing )' "$work/text"
    "$STOKER" quote "$work/quotes.yaml" --db "$work/db" -q --json > "$work/json"
    key=$("$STOKER" list studies --db "$work/db" --json | jq -r '[.studies[] | select(.kind == "quote")][0].key')
    "$STOKER" report "$key" --db "$work/db" -o "$work/page.md" -q
    grep -q 'These are the runs of a quote' "$work/page.md"
    jq -e --arg today "$(later 0)" --arg first "$(later 30)" '(.today == $today or .today < $first) and (.offers | length) == 3
        and ([.offers[].cost_share] | add - 1 | fabs) < 1e-9
        and ([.offers[] | .is_held and .cost_band.p10 < .cost_usd and .cost_usd < .cost_band.p90
                and .done_band.p10 <= .done and .done <= .done_band.p90 and .done > $first] | all)' "$work/json"
}

# Owned GPUs pay their network part by part: that of 3200 Gbps costs more, and fewer days pay for it.
@test "400 or 3200 Gbps, with what the network costs" {
    networks=(sweep study-fabric-70b --axis 'cluster.network=400 Gbps,3200 Gbps' --set price.terms=own --no-db -q --json)
    "$STOKER" "${networks[@]}" --set 'price.own={gpu: 30 k USD, life: 4 years}' > "$work/with"
    "$STOKER" "${networks[@]}" --set 'price.own={gpu: 30 k USD, life: 4 years, network: 0}' > "$work/without"
    jq -ne --slurpfile with "$work/with" --slurpfile without "$work/without" '
        [[$with[0].points, $without[0].points][] | [.[].run.cost_usd]] as [$a, $b]
        | ($with[0].answer | startswith("best USD: ")) and $a[1] / $b[1] > 1.1 and $a[1] / $b[1] > $a[0] / $b[0]'
    "$STOKER" whatif study-fabric-70b --set 'cluster.network=400 Gbps' --no-db -q --json |
        jq -ne 'input | .rows[] | select(.label == "NICs twice as fast") | .worth_usd_per_piece > .costs_usd_per_piece and .costs_usd_per_piece > 0'
}

# Its post: 16,384 GPUs, 15.6T tokens, 54 days at an MFU of 40 %; the last two do not go together.
@test "is this published figure true" {
    claim=(audit --model llama3-405b --gpus 16384 --tokens 15.6T --time '54 days' --gpu h100-sxm5-80gb)
    "$STOKER" "${claim[@]}" --mfu '40 %' | head -1 | grep -qE '^the figures do not fit together: by the others the time is 6[89]\.[0-9] days, not 54'
    "$STOKER" "${claim[@]}" --mfu '51 %' | head -1 | grep -vq 'do not fit'
}

@test "what can I train for 2 M USD in 90 days" {
    "$STOKER" budget --cost '2M USD' --time '90 days' --gpu h100-sxm5-80gb | head -2 | tr '\n' ' ' |
        grep -qE '^[0-9]+ B parameters on [0-9.]+ T tokens take .* 90.0 days on [0-9]+ GPUs, 2.00 M USD'
}

@test "a budget that names no GPU says what lacks" {
    "$STOKER" budget --cost '2M USD' --time '90 days' | tr '\n' ' ' | grep -q 'What that trains hangs on the GPU: --gpu '
    [[ $("$STOKER" budget --params 8B --tokens 1T) != *"hangs on the GPU"* ]]
}

# Last month's answer is in the store; since then the price moved.
@test "why did the answer change since last month" {
    key=$("$STOKER" run quickstart --db "$work/db" -q --json | jq -r .key)
    "$STOKER" diff "$key" quickstart --set 'price.gpu_hour=3 USD' --db "$work/db" > "$work/text"
    head -12 "$work/text" | tr '\n' ' ' | grep -q 'price.gpu_hour'
    "$STOKER" diff "$key" --db "$work/db" | head -4 | tr '\n' ' ' | grep -q '^B is as A '
}
