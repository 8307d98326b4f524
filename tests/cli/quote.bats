# stoker quote: offers as points of a study, what each comes to, in what share of draws it wins. Sums by hand are in
# tests/unit/test_quote.c, interpolated steps in tests/closed_form/test_quote_rates.c.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    cat > "$work/job.yaml" << 'END'
scenario: a job
model: llama3-8b
cluster: a100-80gb-1600
gpus: 64
software: megatron-2025
parallel: {tp: 1, zero: 1}
batch: {global: 64, micro: 1, sequence_length: 4096}
run: {tokens: 200B, queue: 3 days, checkpoint: {every: 1 h}}
price: {pue: 1.1}
sweep: {batch.micro: [1, 2]}
END
    cat > "$work/two.yaml" << 'END'
title: two offers
today: 2026-09-01
job: job.yaml
rates: {EUR: {usd: 1.10 USD, date: 2026-08-28}}
offers:
- {name: H100, cluster: h100-3200, gpus: 16, price: 1.80 USD, delivery: 2026-09-10, network: 1600 Gbps}
- name: H200
  cluster: h200-3200
  nodes: 2
  buy: {node: 250 k EUR, life: 3 years, support: 6 %, residual: 10 %, hosting: 130 USD/month}
  electricity: 0.10 USD/kWh
  storage: 0.02 USD
  delivery: 2026-09-20
END
}

quote() {
    "$STOKER" quote "$@" --db "$work/db" -q
}

# A day's number from 1970 on.
day() {
    echo $(($(date -u -d "$1" +%s) / 86400))
}

# An hour of a bought GPU is its capital, hosting and support; what is rented costs and takes energy as long as it is held.
@test "an offer of one part is what run says of its job there" {
    quote "$work/two.yaml" --best none --json > "$work/json"
    "$STOKER" run "$work/job.yaml" --no-db --json -q --set cluster=h100-3200 --set gpus=16 --set 'cluster.network=1600 Gbps' \
        --set 'price.gpu_hour=1.80 USD' --set 'run.queue=0 s' > "$work/rented"
    "$STOKER" run "$work/job.yaml" --no-db --json -q --set cluster=h200-3200 --set gpus=16 --set 'run.queue=0 s' \
        --set price.terms=own --set 'price.electricity=0.1 USD/kWh' --set 'price.storage_gb_month=0.02 USD' \
        --set "price.own={gpu: $(jq -n '250000*1.1/8') USD, life: 3 years, residual: 10 %, utilisation: 1, network: 0,
               hosting: $(jq -n '130 + 0.06*250000*1.1/8/12') USD/month}" > "$work/bought"
    jq -e --argjson from "[$(day 2026-09-10), $(day 2026-09-20)]" --slurpfile a "$work/rented" --slurpfile b "$work/bought" '
        def near($x): ((. / $x) - 1 | fabs) < 1e-9;
        [.offers[], $a[0].run, $b[0].run] as [$o, $p, $r, $s]
        | ($o.done_day | near($from[0] + $r.days)) and ($p.done_day | near($from[1] + $s.days))
        and ($o.cost_usd | near($r.cost_usd)) and ($p.cost_usd | near($s.cost_usd))
        and ($o.energy_kwh | near($r.energy_kwh)) and ($p.energy_kwh | near($s.energy_kwh))
        and ($o.usd_per_million_tokens | near($r.usd_per_million_tokens))
        and $p.beside_usd > 0 and ($o.beside_usd | fabs) < 1e-6 * $o.cost_usd
        and ($p.gpu_hours_usd | near($p.gpu_hours * (0.9*250000*1.1/8/(3*8760) + (130 + 0.06*250000*1.1/8/12)/730)))
        and ($o.energy_band.p10 / $o.energy_kwh | near($o.cost_band.p10 / $o.cost_usd))
        and ($o.energy_band.p90 / $o.energy_kwh | near($o.cost_band.p90 / $o.cost_usd))' "$work/json"
}

@test "cash adds up to the cost and what is left" {
    quote "$work/two.yaml" --best none --json | jq -ne 'input | .offers[] |
        (([.cash[].usd] | add) / (.cost_usd + .worth_then_usd) - 1 | fabs) < 1e-9
        and .cash[0].month == "2026-09-01" and (.cash | length) >= 1'
}

@test "the answer comes first, tables are at most 100 columns wide, and all formats have it" {
    COLUMNS=100 quote "$work/two.yaml" > "$work/text"
    [[ $(sed -n 3p "$work/text") == *" costs least: "*" USD (p10 to p90 "*", done 2026-"* ]]
    grep -q '^It wins in [0-9]* % of draws' "$work/text"
    [ "$(awk 'length > 100' "$work/text" | wc -l)" -eq 0 ]
    [ "$(quote "$work/two.yaml" --format csv | head -1 | cut -d, -f1-3)" = name,gpus,done ]
    quote "$work/two.yaml" --format md | head -1 | grep -q '^| offer'
    "$STOKER" list studies --db "$work/db" --json | jq -ne 'input | [.studies[] | select(.kind == "quote")][0] | .title == "two offers"'
}

@test "each offer has the layout that sweep --best usual finds there" {
    quote "$work/two.yaml" --gap 0% --json > "$work/json"
    "$STOKER" sweep <(sed '/^sweep/d' "$work/job.yaml") --axis 'cluster.network=1600 Gbps' --best usual --no-db --json -q \
        --set cluster=h100-3200 --set gpus=16 --set 'run.queue=0 s' > "$work/best"
    jq -ne --slurpfile a "$work/json" --slurpfile b "$work/best" '$a[0].points[0].step_time_s == $b[0].points[0].step_time_s'
}

# What fails decides how often to write: the same policy as `search` finds, which costs less than the job's own.
@test "each offer has the checkpoints and spares that search finds there" {
    sed -i 's/every: 1 h}}/every: 6 h}, failures: rsc1-jobs-2024, repetitions: 8}/; /^sweep/d' "$work/job.yaml"
    echo 'search: {parallel: {tp: [1]}, run.checkpoint.every: [5 min, 30 min, 6 h], run: {recovery: {spares: [0, 1]}}}' >> "$work/job.yaml"
    sed -i '/name: H200/,$d' "$work/two.yaml"
    quote "$work/two.yaml" --best layout --json > "$work/json"
    sets=()
    while read -r set; do sets+=(--set "$set"); done < <(jq -r '.offers[0].segments[0].layout[]' "$work/json")
    sed 's/^search: .*/search: {run.checkpoint.every: [5 min, 30 min, 6 h], run.recovery.spares: [0, 1]}/' "$work/job.yaml" > "$work/policy.yaml"
    "$STOKER" search "$work/policy.yaml" --by cost --no-db --json -q "${sets[@]}" --set 'run.queue=0 s' \
        --set cluster=h100-3200 --set gpus=16 --set 'cluster.network=1600 Gbps' --set 'price.gpu_hour=1.80 USD' > "$work/search"
    jq -ne --slurpfile q "$work/json" --slurpfile s "$work/search" '$q[0].offers[0].segments[0] as $part | $s[0] as $s
        | $part.policy == [$s.points[0].set[] | select(startswith("run.checkpoint") or startswith("run.recovery"))]
        and $part.policy_gains > 0.001 and $q[0].points[0].run.cost_usd == $s.points[0].run.cost_usd'
    quote "$work/two.yaml" --best layout | grep -q 'Checkpoints and spares are each offer.s own best'
    quote "$work/two.yaml" --best none --json | jq -ne 'input | .offers[0].segments[0].policy == []'
}

# With the price at which it breaks even an offer costs what the winner does; as much earlier it is done with the first.
@test "at its break-even price and date an offer is as good as the other" {
    sed -i '/name: H200/,$d' "$work/two.yaml"
    echo '- {name: B200, cluster: b200-3200, gpus: 8, price: 4.4 USD, delivery: 2026-09-20}' >> "$work/two.yaml"
    quote "$work/two.yaml" --best none --json > "$work/json"
    for i in 0 1; do
        price=$(jq ".offers[$i].break_even_price * [1.8, 4.4][$i]" "$work/json")
        sed "s/price: $(jq -nr "[\"1.80\", \"4.4\"][$i]") USD/price: $price USD/" "$work/two.yaml" > "$work/even.yaml"
        quote "$work/even.yaml" --best none --json | jq -ne 'input | .offers | (.[0].cost_usd / .[1].cost_usd - 1 | fabs) < 1e-9'
    done
    jq -e '.offers | (.[1].done_day + .[1].break_even_shift_days - .[0].done_day | fabs) < 1e-6' "$work/json"
}

@test "shares of draws, doubt and measurements fit together, whatever -j" {
    cat >> "$work/two.yaml" << 'END'
- {name: B200, cluster: b200-3200, gpus: 8, price: 4 USD, delivery: 2026-09-10}
END
    price=$(quote "$work/two.yaml" --json | jq '4 * .offers[2].break_even_price')
    sed -i "s/price: 4 USD/price: $price USD/" "$work/two.yaml"
    quote "$work/two.yaml" --json > "$work/json"
    jq -e '([.offers[].cost_share] | add - 1 | fabs) < 1e-9 and ([.offers[].date_share] | add - 1 | fabs) < 1e-9
        and .draws == 1000 and ([.measures[].worth] | . == (sort | reverse))
        and .measures[0].rate == "large products" and .measures[0].offer == "B200"' "$work/json"
    jq -e '.winner as $w | .doubt as $d | $d == ([.offers[] | select(.name == $w)][0].cost_behind_usd)
        and ([.measures[].worth <= 1.02 * $d + 1] | all)' "$work/json"
    jq -e '[.offers[] | .cost_band.p10 < .cost_usd and .cost_usd < .cost_band.p90] | all' "$work/json"
    quote "$work/two.yaml" --json -j 1 | diff <(jq 'del(.counts, .points_reused, .reused)' "$work/json") <(jq 'del(.counts, .points_reused, .reused)')
}

# The same GPUs from two vendors are two boxes, from one they are one: then the lower price wins all draws.
@test "offers of one vendor differ in their price alone" {
    sed -i '/name: H200/,$d' "$work/two.yaml"
    echo '- {name: again, vendor: H100, cluster: h100-3200, gpus: 16, price: 1.81 USD, delivery: 2026-09-10, network: 1600 Gbps}' \
        >> "$work/two.yaml"
    quote "$work/two.yaml" --json | jq -ne 'input | .offers[0].cost_share == 1 and .offers[1].cost_share == 0 and .doubt == 0'
    sed -i 's/vendor: H100/vendor: another/' "$work/two.yaml"
    quote "$work/two.yaml" --json | jq -ne 'input | .offers[0].cost_share | . < 0.7 and . > 0.5'
}

@test "parts: a job goes on with more, laid out anew" {
    sed -i '/name: H200/,$d; s/gpus: 16, //; s/delivery: 2026-09-10/delivery: [{nodes: 1, date: 2026-09-10}, {nodes: 1, date: 2026-09-20}]/' \
        "$work/two.yaml"
    quote "$work/two.yaml" --best none --json > "$work/json"
    jq -e --argjson d1 "$(day 2026-09-10)" --argjson d2 "$(day 2026-09-20)" '[.points[].run.days] as [$h1, $h2]
        | .offers[0] | (.done_day - ($d2 + (1 - ($d2 - $d1) / $h1) * $h2) | fabs) < 0.01
        and [.segments[].gpus] == [8, 16]
        and (.gpu_hours / (24 * (8 * (.done_day - $d1) + 8 * (.done_day - $d2))) - 1 | fabs) < 1e-9' "$work/json"
}

@test "jobs follow each other, and are done in time in a share of draws" {
    sed 's/a job/another/; s/200B/50B/' "$work/job.yaml" > "$work/next.yaml"
    sed -i 's/^job: .*/jobs: [{scenario: job.yaml, until: 2026-12-24}, {scenario: next.yaml, from: 2027-01-10, until: 2027-01-11}]/' "$work/two.yaml"
    quote "$work/two.yaml" --best none --json > "$work/json"
    jq -e --argjson from "$(day 2027-01-10)" '.offers[0] | [.segments[].job] == ["job", "next"]
        and .segments[1].begin_day == $from' "$work/json"
    quote "$work/two.yaml" --best none > "$work/text"
    grep -q '^job is done by 2026-12-24 in so many draws: H100 100 %, H200 100 %$' "$work/text"
    grep -q '^next is done by 2027-01-11 in so many draws: H100 0 %, H200 0 %$' "$work/text"
}

@test "by date the day wins, and a day may have its price" {
    quote "$work/two.yaml" --best none --json > "$work/json"
    sed 's/^job/by: date\njob/' "$work/two.yaml" > "$work/date.yaml"
    quote "$work/date.yaml" --best none | sed -n 3p | grep -q '^H100 is done first: 2026-'
    sed 's/^job/day: 1000 USD\njob/' "$work/two.yaml" > "$work/day.yaml"
    quote "$work/day.yaml" --best none --json | jq -ne --slurpfile a "$work/json" --argjson today "$(day 2026-09-01)" 'input | 
        .offers[0] | (.cost_usd - $a[0].offers[0].cost_usd - 1000 * (.done_day - $today) | fabs) < 1e-3'
}

@test "the quote of the example is as it stands there, in ten CPU-seconds" {
    quote scenarios/quotes/three-offers.yaml --json > "$work/json"
    jq -e '.winner == "Beta" and .offers[1].cost_share > 0.4 and .offers[1].cost_share < 0.75
        and .measures[0].rate == "large products" and .measures[0].offer == "Beta" and .measures[0].turns_to == "Alpha"
        and .measures[0].worth > 0.4 * .doubt' "$work/json"
}

@test "each wrong quote gets its message" {
    count=0
    for wrong in tests/bad_input/quotes/*.yaml; do
        status=0
        "$STOKER" quote "$wrong" --db "$work/wrong.db" -q > /dev/null 2> "$work/err" || status=$?
        { echo "exit $status"; grep -v '^note: results are stored' "$work/err" || true; } > "$work/actual"
        [ -z "${STOKER_UPDATE:-}" ] || cp "$work/actual" "${wrong%.yaml}.expected"
        diff "${wrong%.yaml}.expected" "$work/actual"
        count=$((count + 1))
    done
    [ $count -ge 34 ]
}
