# stoker report: a stored study as one file, for who decides and did not run it.

bats_require_minimum_version 1.5.0

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    export STOKER db study
    STOKER=$(realpath "${STOKER:-./stoker}")
    db=$BATS_FILE_TMPDIR/results.db
    study=$BATS_FILE_TMPDIR/networks.yaml
    cat > "$study" << 'END'
scenario: Llama 3 8B on 32 H100, two networks
model: llama3-8b
cluster: h100-3200
gpus: 32
software: megatron-2024
parallel: {tp: 4, pp: 2, zero: 1, sequence_parallel: true}
batch: {global: 64, micro: 1, sequence_length: 8192}
run: {tokens: 1T}
price: {gpu_hour: 2.50 USD}
sweep: {cluster.network: [100 Gbps, 400 Gbps, 3200 Gbps]}
END
    "$STOKER" sweep "$study" --db "$db" -q > /dev/null
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    work=$BATS_TEST_TMPDIR
}

report() {
    "$STOKER" report "$@" --db "$db" -q
}

# A study in the folder of this test, swept: the lines from stdin below those of quickstart.
store() {
    cat scenarios/quickstart.yaml - > "$work/$1.yaml"
    "$STOKER" sweep "$work/$1.yaml" --db "$db" -q > /dev/null || true
}

@test "the answer comes first, in every format, and is the study's" {
    for format in html md txt json; do
        [ "$(report "$study" --against "400 Gbps" -o "$work/a.$format")" = "$work/a.$format" ]
    done
    tests/support/html-check "$work/a.html"
    first=$(jq -r '.studies[0].answer' "$work/a.json")
    [[ "$first" == "3200 Gbps takes the fewest days: "*"It trains "*" x as fast as 400 Gbps (80 % band "*"Its critical path: compute "* ]]
    [ "$(sed -n 1p "$work/a.txt")" = "Llama 3 8B on 32 H100, two networks" ]
    [[ "$(sed -n 2,4p "$work/a.txt")" == "3200 Gbps takes the fewest days: "* ]]
    [[ "$(sed -n 3p "$work/a.md")" == "> 3200 Gbps takes the fewest days: "* ]]
    [[ "$(grep -A3 '<h1>' "$work/a.html")" == *'<div class="answer">'*"<p>3200 Gbps takes the fewest days: "* ]]
    for part in "Where the step goes" "How far to believe it" "Assumptions" "Not modelled" "To redo it"; do
        grep -q "<h2>$part" "$work/a.html"
        grep -q "^## $part" "$work/a.md"
        grep -q "^$part" "$work/a.txt"
    done
    # Three charts with a row a point and one of the axis; a table that is ranked, as text or numbers.
    [ "$(grep -c '<figure>' "$work/a.html")" -eq 3 ]
    [ "$(grep -c '<div class="fr' "$work/a.html")" -eq 12 ]
    [ "$(grep -o '<tr><td class="l">[^<]*' "$work/a.html" | head -n 3 | sed 's/.*>//' | paste -sd,)" = "3200 Gbps,400 Gbps,100 Gbps" ]
}

# A report computes nothing: each figure is that of the commands that do. Ends of bands of days differ
# by the first batch, which is no longer where steps are, and which the store has among the steps.
@test "its figures are those of run and compare" {
    report "$study" --against "400 Gbps" --json > "$work/report.json"
    "$STOKER" compare "$study" --against "400 Gbps" --db "$db" -q --json > "$work/compare.json"
    "$STOKER" run "$study" --set cluster.network="3200 Gbps" --no-db -q --json > "$work/run.json"
    jq -ne --slurpfile r "$work/report.json" --slurpfile c "$work/compare.json" --slurpfile one "$work/run.json" '
        def close($a; $b): (($a - $b) | fabs) <= 1e-5 * ($b | fabs);
        ($r[0].studies[0].points | map({(.label): .}) | add) as $mine |
        ($c[0].points | map({(.label): .}) | add) as $its |
        ($mine | keys) == ($its | keys) and
        all($its[]; $mine[.label].run.days == .run.days and $mine[.label].step_time_s == .step_time_s and
            $mine[.label].against.speed_up == .against_named.speed_up and
            $mine[.label].against.band == .against_named.band and
            $mine[.label].against.worth_usd_per_gpu_hour == .against_named.worth_usd_per_gpu_hour) and
        ($one[0].band as $band | $mine["3200 Gbps"].bands |
            close(.days.p10; $band.days.p10) and close(.days.p90; $band.days.p90) and
            close(.cost_usd.p90; $band.cost_usd.p90) and close(.mfu.p10; $band.mfu.p10) and
            close(.step_s.p90; $band.step_s.p90))' > /dev/null
    # The same assumptions, whatever their order.
    jq -ne --slurpfile r "$work/report.json" --slurpfile one "$work/run.json" \
        '([$r[0].studies[0].assumptions[].name] | sort) == ([$one[0].assumptions[].name] | sort)'
}

@test "the same study twice gives the same bytes, and who names it does not matter" {
    key=$(report "$study" --json | jq -r '.studies[0].study.key')
    for format in html md json; do
        report "$key" -o "$work/one.$format" > /dev/null
        report "${key:0:6}" -o "$work/two.$format" > /dev/null
        cmp "$work/one.$format" "$work/two.$format"
        report "Llama 3 8B on 32 H100, two networks" --format "$format" | cmp - "$work/one.$format"
    done
}

@test "what does it again is told: its file and commands, or a point's whole scenario" {
    report "$study" --against "400 Gbps" -o "$work/out.html" > /dev/null
    report "$study" --against "400 Gbps" --json > "$work/file.json"
    [ "$(jq -r '.studies[0].commands | join(";")' "$work/file.json")" = \
        "stoker sweep $study;stoker report $study --against '400 Gbps'" ]
    [ "$(jq -r '.studies[0].scenario_text' "$work/file.json")" = "$(cat "$study")" ]
    grep -qF "sweep: {cluster.network: [100 Gbps, 400 Gbps, 3200 Gbps]}" "$work/out.html"
    key=$(jq -r '.studies[0].study.key' "$work/file.json")
    report "$key" --json | jq -r '.studies[0].scenario_text' > "$work/best.yaml"
    [ "$("$STOKER" run "$work/best.yaml" --no-db -q --json | jq .run.days)" = \
        "$(jq '.studies[0].points[0].run.days' "$work/file.json")" ]
}

@test "a user's letters stay letters" {
    store letters << 'END'
variants:
  - {name: "<script>alert(1)</script>", set: {batch.micro: 1}}
  - {name: "a|b `c` & 'd'", set: {batch.micro: 2}}
END
    sed -i "s/^scenario:.*/scenario: '<b>\&\" title'/" "$work/letters.yaml"
    "$STOKER" sweep "$work/letters.yaml" --db "$db" -q > /dev/null
    report "$work/letters.yaml" -o "$work/letters.html" > /dev/null
    tests/support/html-check "$work/letters.html"
    grep -qF '<title>&lt;b&gt;&amp;&quot; title</title>' "$work/letters.html"
    grep -qF '<h1>&lt;b&gt;&amp;&quot; title</h1>' "$work/letters.html"
    grep -qF '&lt;script&gt;alert(1)&lt;/script&gt;' "$work/letters.html"
    [ "$(grep -c '<script>' "$work/letters.html")" -eq 1 ]
    report "$work/letters.yaml" -o "$work/letters.md" > /dev/null
    [ "$(head -n 1 "$work/letters.md")" = '# \<b\>\&" title' ]
    grep -qF '| a\|b \`c\` \& '"'d' |" "$work/letters.md"
}

@test "of many points the best are told, and how many are not" {
    store many <<< 'sweep: {batch.global: [64, 128, 192, 256, 320, 384, 448, 512, 576, 640, 704, 768, 832, 896, 960], parallel.tp: [2, 4, 8]}'
    report "$work/many.yaml" --json > "$work/many.json"
    jq -e '.studies[0] | .study.points == 45 and (.points | length) >= 20 and (.points | length) <= 21 and
        (.points | length) + .left_out + (.without_result | length) == 45' "$work/many.json"
    # The base stands behind the best, where it is not among them.
    jq -e '.studies[0] | [.points[].label] | index($of) != null' --arg of \
        "$(jq -r '.studies[0].against' "$work/many.json")" "$work/many.json"
    jq -e '[.studies[0].points[:20][].run.days] | . == sort' "$work/many.json"
    [[ "$(report "$work/many.yaml")" == *" more of "*" points, which are no better"* ]]
    [ "$(report "$work/many.yaml" --top 3 --json | jq '.studies[0].points | length')" -le 4 ]
}

@test "points without a result are told with the reason, and a study of nothing else, too" {
    store fits <<< 'sweep: {model: [llama3-8b, llama3-405b]}'
    report "$work/fits.yaml" -o "$work/fits.html" > /dev/null
    grep -q "Without a result: 1 of 2 points" "$work/fits.html"
    grep -q "<li>llama3-405b: OOM: needs " "$work/fits.html"
    store none <<< 'sweep: {batch.micro: [1, 2]}'
    sed -i 's/^model:.*/model: llama3-405b/' "$work/none.yaml"
    "$STOKER" sweep "$work/none.yaml" --db "$db" -q > /dev/null 2>&1 || true
    report "$work/none.yaml" -o "$work/none.html" > /dev/null
    tests/support/html-check "$work/none.html"
    grep -q "<p>None of 2 points has a result. micro 1: OOM: needs " "$work/none.html"
}

# 400 or 3200 Gbps, each at its best layout, as a page to be mailed: two commands and no line of one's
# own.
@test "two networks, each at its best layout, are two commands" {
    cat > "$work/one.yaml" << 'END'
scenario: Llama 3 8B on 16 H100
model: llama3-8b
cluster: h100-3200
gpus: 16
software: megatron-2025
parallel: {tp: 2, pp: 1, zero: 1, sequence_parallel: true}
batch: {global: 64, micro: 1, sequence_length: 8192}
run: {tokens: 100B}
price: {gpu_hour: 2.50 USD}
search: {parallel: {tp: [1, 2], pp: [1, 2]}, batch: {micro: [1, 2]}, recompute: [none]}
END
    "$STOKER" sweep "$work/one.yaml" --axis cluster.network="400 Gbps,3200 Gbps" --best layout --db "$work/db" -q > /dev/null
    "$STOKER" report last -o "$work/fabric.html" --db "$work/db" -q > /dev/null
    tests/support/html-check "$work/fabric.html"
    grep -q "<p>3200 Gbps takes the fewest days: .* It trains 1\.[0-9]* x as fast as 400 Gbps (80 % band " "$work/fabric.html"
    grep -q '>3200 Gbps, layout of 400 Gbps</td>' "$work/fabric.html"
}

@test "several studies are one page" {
    store more <<< 'sweep: {batch.micro: [1, 2]}'
    report "$study" "$work/more.yaml" -o "$work/both.html" > /dev/null
    tests/support/html-check "$work/both.html"
    [ "$(grep -c '<h1>' "$work/both.html")" -eq 2 ]
}

@test "what cannot be told is said with a remedy, and no file is lost" {
    echo kept > "$work/old.html"
    run -2 "$STOKER" report beef -o "$work/old.html" --db "$db"
    [[ "$output" == *"holds no study 'beef'"*"stoker list studies"* ]]
    run -2 "$STOKER" report "Llama 3 8B on 32 H100, two netwroks" -o "$work/old.html" --db "$db"
    [[ "$output" == *"did you mean 'Llama 3 8B on 32 H100, two networks'?"* ]]
    run -2 "$STOKER" report scenarios/study-spot.yaml -o "$work/old.html" --db "$db"
    [[ "$output" == *"run \`stoker sweep scenarios/study-spot.yaml\` first"* ]]
    run -2 "$STOKER" report last -o "$work/old.pdf" --db "$db"
    [[ "$output" == *"which format that is"*".html, .md, .txt or .json"* ]]
    run -2 "$STOKER" report "$study" --against "300 Gbps" -o "$work/old.html" --db "$db"
    [[ "$output" == *"has no point '300 Gbps'"*"did you mean '3200 Gbps'?"* || "$output" == *"has no point '300 Gbps'"*"did you mean '100 Gbps'?"* ]]
    run -2 "$STOKER" report last --set batch.micro=2 --db "$db"
    [[ "$output" == *"--set has no meaning"* || "$output" == *"set"*"a stored study"* ]]
    run -1 "$STOKER" report last --db "$work/nowhere.db"
    run -1 "$STOKER" report last -o "$work/old.html/in.html" --db "$db"
    [ "$(cat "$work/old.html")" = kept ]
    run -1 "$STOKER" report last -o /dev/full --format html --db "$db"
    [[ "$output" == *"/dev/full"* ]]
    # A study whose points are yet to come.
    cp "$db" "$work/empty.db"
    python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as file:
    file.executescript("DELETE FROM point_axis; DELETE FROM point")' "$work/empty.db"
    run -1 "$STOKER" report last --db "$work/empty.db"
    [[ "$output" == *"has no point yet"*"goes on where it stopped"* ]]
}

# Alpha has twice Beta's GPUs and trains the most tokens a second; what an offer is judged by is what it costs.
@test "the offers of a quote are ranked by price, the one with the fewest days is named" {
    "$STOKER" quote scenarios/quotes/three-offers.yaml --best none --db "$work/quote.db" -q > "$work/quote"
    offers=$("$STOKER" list studies --db "$work/quote.db" --json | jq -r '.studies[] | select(.kind == "quote").key')
    "$STOKER" report "$offers" --db "$work/quote.db" -o "$work/quote.json" > /dev/null
    jq -e '.studies[0].points | map(.run.cost_usd) | . == sort and length == 4' "$work/quote.json"
    jq -e '.studies[0] | (.points | map(.run.days) | . != sort) and (.points | min_by(.run.days).label) as $soon |
        .points[0].label as $least | .answer | startswith($least + " costs least: ") and
        contains($soon + " takes the fewest days: ")' "$work/quote.json"
}
