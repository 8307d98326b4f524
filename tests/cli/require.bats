# require: and --require of sweep and compare: which points meet all, the best of them, and else the
# nearest miss with limits that would do.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    file=$work/s.yaml
    cat > "$file" << 'END'
scenario: a small cluster
model: llama3-8b
cluster: h100-3200
gpus: 32
batch: {global: 64, micro: 1, sequence_length: 4096}
parallel: {tp: 1}
run: {tokens: 100B}
price: {gpu_hour: 2 USD, carbon: 0.4 kg/kWh}
END
    axes='sweep: {gpus: [16, 32, 64], batch.micro: [1, 2, 4], parallel.tp: [1, 4]}'
}

sweep() {
    "$STOKER" sweep "$file" --db "$work/db" -q "$@"
}

# Of each point that has a result the worst miss of days <= $days and mfu >= $mfu.
misses='[.points[] | select(.status == "ok" and .memory.fits) | {label: .label, gpus, meets, days: .run.days, mfu,
    cost: .run.cost_usd, miss: ([(.run.days - $days) / $days, ($mfu - .mfu) / $mfu] | max)}]'

@test "a point meets all where its figures do, and those that do come first" {
    echo "$axes" >> "$file"
    sweep --require 'days<=5' --require 'mfu >= 38 %' --json > "$work/json"
    jq -e --argjson days 5 --argjson mfu 0.38 "$misses"' | length > 8
        and (map(select(.meets)) | length) > 2 and (map(select(.meets | not)) | length) > 2
        and all(.[]; .meets == (.miss <= 0))' "$work/json"
    # Without a result it is not known.
    jq -e '[.points[] | select(.memory.fits | not)] | length > 0 and all(.[]; .meets == null)' "$work/json"
    jq -e '[.requirements[] | [.text, .metric, .relation, .limit]] == [["days <= 5", "days", "<=", 5],
        ["mfu >= 38 %", "mfu", ">=", 0.38]]' "$work/json"
    jq -e '.requirements[0].points_that_meet == ([.points[] | select(.meets != null and .run.days <= 5)] | length)' "$work/json"
    run --separate-stderr sweep --require 'days<=5' --require 'mfu >= 38 %'
    [ "$status" -eq 0 ]
    column=$(grep -oE ' yes |(days|mfu) [+-][0-9.]+ %|OOM' <<< "$output" | sed 's/ *\(yes\|OOM\|[+-]\).*/\1/; s/.*[+-]/miss/' | uniq)
    [ "$column" = "$(printf 'yes\nmiss\nOOM')" ]
}

@test "the best that meets all is that of its figures, and so are the fewest GPUs" {
    echo "$axes" >> "$file"
    sweep --require 'days<=5' --require 'mfu>=0.4' --json > "$work/json"
    jq -e --argjson days 5 --argjson mfu 0.4 "(${misses}"' | map(select(.meets))) as $good
        | .best_that_meets_all.metric == "cost_usd"
        and .best_that_meets_all.label == ($good | min_by(.cost).label)
        and .best_that_meets_all.value == ($good | min_by(.cost).cost)
        and .fewest_gpus_that_meet_all.gpus == ($good | min_by(.gpus).gpus)
        and (.fewest_gpus_that_meet_all.label
            == ($good | map(select(.gpus == ($good | min_by(.gpus).gpus))) | min_by(.cost).label))' "$work/json"
    # The requirement bites: the fewest of all would be fewer.
    jq -e '.fewest_gpus_that_meet_all.gpus > ([.points[].gpus] | min)' "$work/json"
    run --separate-stderr sweep --require 'days<=5' --require 'mfu>=0.4' --metric mfu
    best=$(jq -r --argjson days 5 --argjson mfu 0.4 "${misses}"' | map(select(.meets)) | max_by(.mfu).label' "$work/json")
    [[ $output == *"best MFU % that meets all: "*" at $best"* ]]
    # Where nothing costs anything by days; without a run by tokens/s of a GPU.
    sed -i 's/^price.*/price: {gpu_hour: 0 USD}/' "$file"
    sweep --require 'gpus<=32' --json | jq -ne 'input | .best_that_meets_all as $best | $best.metric == "days"
        and $best.value == ([.points[] | select(.meets) | .run.days] | min)'
    sed -i 's/^run.*//' "$file"
    sweep --require 'gpus<=32' --json | jq -ne 'input | .best_that_meets_all as $best | $best.metric == "tokens_per_s_per_gpu"
        and $best.value == ([.points[] | select(.meets) | .tokens_per_s_per_gpu] | max)'
}

@test "the nearest miss has the least worst miss, and its limits do" {
    echo "$axes" >> "$file"
    run --separate-stderr sweep --require 'days<=1.5' --require 'mfu>=47 %' --json
    [ "$status" -eq 4 ]
    jq -e --argjson days 1.5 --argjson mfu 0.47 "(${misses}"' | min_by(.miss)) as $nearest
        | .nearest_miss as $said | $said.label == $nearest.label and ($said.misses | length) == 2
        and $said.misses[0].value == $nearest.days and $said.misses[1].value == $nearest.mfu
        and (($said.misses | map(.miss) | max) - $nearest.miss | fabs) < 1e-12' <<< "$output"
    nearest=$(jq -r .nearest_miss.label <<< "$output")
    [[ $stderr == *"error: no point meets days <= 1.5 and mfu >= 47 %"*"nearest is $nearest: days "* ]]
    mapfile -t limits < <(grep -oE "'[a-z_]+[<>]=[^']*'" <<< "${stderr#*with }" | tr -d "'")
    [ "${#limits[@]}" -eq 2 ]
    sweep --require "${limits[0]}" --require "${limits[1]}" --json |
        jq -ne --arg nearest "$nearest" 'input | [.points[] | select(.meets) | .label] == [$nearest]'
    # The same in the other order, though the first now is missed by more.
    run --separate-stderr sweep --require 'mfu>=47 %' --require 'days<=1.5' --json
    [ "$(jq -r .nearest_miss.label <<< "$output")" = "$nearest" ]
    # Tighter by 0.2 %, it misses: the limits are no looser than four digits.
    days=${limits[0]#days<=}
    run sweep --require "days<=$(jq -n "$days * 0.998")" --require "${limits[1]}" --json
    [ "$status" -eq 4 ]
}

@test "a limit is in the metric's unit, of every metric" {
    sed -i 's/^run:.*/run: {tokens: 100B, checkpoint: {every: 1 h}, failures: true}/' "$file"
    sed -i 's/^price:.*/price: {terms: rent, gpu_hour: 2 USD, carbon: 0.4 kg\/kWh, own: {gpu: 30000 USD, life: 4 years, hosting: 100 USD\/month, electricity: 0.08 USD\/kWh}}/' "$file"
    echo 'sweep: {batch.micro: [1, 2]}' >> "$file"
    known=0
    for metric in gpus $("$STOKER" list metrics --json | jq -r '.metrics[].name'); do
        # A mistake of unit first, then what is impossible, then its remedy.
        run --separate-stderr sweep --require "$metric<=3 Hz"
        [ "$status" -eq 2 ]
        [[ $stderr == *"$metric: '3 Hz' is a frequency where"*"write it like $metric <= "* ]]
        example=$(sed -n 's/.*write it like //p' <<< "$stderr")
        run --separate-stderr sweep --require "$example"
        [[ $status -eq 0 || $status -eq 4 || $stderr == *"no point has $metric"* ]]
        run --separate-stderr sweep --require "${example/<= */<= -1${example##*[0-9]}}"
        if [[ $stderr == *"no point has $metric"* ]]; then
            continue
        fi
        known=$((known + 1))
        [ "$status" -eq 4 ]
        limit=$(grep -oE "'[a-z0-9_]+<=[^']*'" <<< "${stderr#*with }" | tr -d "'")
        run --separate-stderr sweep --require "$limit" --json
        [ "$status" -eq 0 ]
        jq -e 'any(.points[]; .meets)' <<< "$output"
    done
    [ "$known" -ge 30 ]
}

@test "a limit is held in the unit in which the document has the metric" {
    echo 'sweep: {batch.micro: [1]}' >> "$file"
    run --separate-stderr sweep --json --require 'energy_kwh<=300 MWh' --require 'carbon_kg<=20 t' \
        --require 'tflops_per_gpu>=400 TFLOP/s' --require 'memory_peak_bytes<=80 GB' --require 'days<=2 months' \
        --require 'cost_usd<=2M USD' --require 'gpu_hours<=1M' --require 'compute<=5 min' --require 'hfu>=0.3'
    jq -c '[.requirements[].limit | . * 1e6 | round | . / 1e6]' <<< "$output" > "$work/limits"
    # A month is 730 h.
    jq -e '. == [300000, 20000, 400, 8e10, 60.833333, 2e6, 1e6, 300, 0.3]' "$work/limits"
}

@test "keep, buy or rent within so many days is one compare" {
    cat >> "$file" << 'END'
require:
  - days <= 4
  - usd <= 6k USD
variants:
  - {name: keep 16, set: {gpus: 16, price.gpu_hour: 0.5 USD}}
  - {name: rent 32, set: {gpus: 32}}
  - {name: rent 64, set: {gpus: 64}}
END
    run --separate-stderr "$STOKER" compare "$file" --db "$work/db" -q --json
    [ "$status" -eq 0 ]
    jq -e '[.points[] | .meets == (.run.days <= 4 and .run.cost_usd <= 6000)] | all' <<< "$output"
    jq -e '[.points[].meets] == [false, true, false] and .best_that_meets_all.label == "rent 32"
        and .fewest_gpus_that_meet_all == {label: "rent 32", gpus: 32}' <<< "$output"
    # What the file says and the option hold together, and the place is that of the worst miss.
    run --separate-stderr "$STOKER" compare "$file" --db "$work/db" -q --require 'gpus<=31'
    [ "$status" -eq 4 ]
    [[ $stderr == *"--require 'gpus<=31': error: no point meets days <= 4 and usd <= 6k USD and gpus <= 31"* ]]
    [[ $output == *"rent 32 "*"gpus +3.23 %"*"nearest miss: rent 32: gpus 32, 3.23 % above"* ]]
    run --separate-stderr "$STOKER" compare "$file" --db "$work/db" -q --require 'gpus<=1k'
    [ "$status" -eq 0 ]
    [[ $output == *$'\n'"rent 32 "*" yes "*$'\n'"keep 16 "*" days +"*" %"*$'\n'"rent 64 "*"cost_usd +"* ]]
}

@test "with --best layout it is required of each value's best" {
    run --separate-stderr sweep --axis gpus=16,32 --best layout --require 'days<=5' --json \
        --set 'search={parallel: {tp: [1, 2], cp: [1], pp: [1], zero: [1]}, batch.micro: [1], recompute: [none]}'
    [ "$status" -eq 0 ]
    jq -e '[.best[].meets] == [false, true] and .fewest_gpus_that_meet_all.gpus == 32' <<< "$output"
    # Of the winners, though the points are their layouts at the other values, too.
    jq -e '.requirements[0].points_that_meet == 1' <<< "$output"
}

@test "where nothing is required nothing is said of it" {
    echo "$axes" >> "$file"
    run --separate-stderr sweep --json
    jq -e 'has("requirements") or any(.points[]; has("meets")) | not' <<< "$output"
    run --separate-stderr sweep
    [[ $output != *meets* ]]
}

# refused STATUS TEXT ARGUMENTS...: a sweep that says so.
refused() {
    run --separate-stderr sweep "${@:3}"
    [ "$status" -eq "$1" ] || { echo "status $status: $stderr"; return 1; }
    [[ $stderr == *"$2"* ]] || { echo "$stderr"; return 1; }
}

@test "a requirement that is none is refused with its place and what would be right" {
    echo "$axes" >> "$file"
    refused 2 "did you mean 'days'?" --require 'dais<=3'
    refused 2 "there is no metric 'dais' that could be required" --require 'dais<=3'
    refused 2 "'days' is no requirement" --require 'days'
    refused 2 "'days<3' is no requirement" --require 'days<3'
    refused 2 "'days=3' is no requirement" --require 'days=3'
    refused 2 "'<=3' is no requirement" --require '<=3'
    refused 2 "write it like 'days <= 60' or 'mfu >= 40 %'" --require ''
    refused 2 "--require 'cost_usd<=3': error: cost_usd: a price needs a unit" --require 'cost_usd<=3'
    refused 2 "is in another currency: money is in USD" --require 'cost_usd<=2M EUR'
    refused 2 "'3 GB' is a size in bytes where a duration is expected" --require 'step_s<=3 GB'
    refused 2 "write it like days <= 60" --require 'days<='
    # A share of one is no share of a hundred: 50 would be 5000 %, which no point reaches.
    refused 2 "mfu: 50 is 5000 %, and none is above 100 %" --require 'mfu>=50'
    refused 2 "write it like mfu >= 50 %" --require 'mfu>=50'
    refused 2 "write it like goodput <= 95 %" --require 'goodput<=95'
    refused 2 "the other points" --shard 1/2 --require 'days<=3'
    # Several at once.
    refused 2 "there is no metric 'b'" --require 'a<=3' --require 'b<=3'
    # In the file, with the line and a caret.
    echo "require: [days <= 5, memory_peak_bytes <= 80 Gb]" >> "$file"
    refused 3 "s.yaml:10:22: error: memory_peak_bytes: '80 Gb' is in bits (b) where bytes (B) are expected"
    sed -i 's/^require:.*/require: {days: 60}/' "$file"
    refused 3 "write it like require: [days <= 60, gpus <= 512]"
    sed -i 's/^require:.*/requires: [days <= 60]/' "$file"
    refused 3 "did you mean 'require'?"
    [ ! -e "$work/db" ] || [ -s "$work/db" ]
}

@test "what no point has cannot be required, and the remedy gives it" {
    echo "$axes" >> "$file"
    sed -i 's/^run.*//' "$file"
    run --separate-stderr sweep --require 'days<=30'
    [ "$status" -eq 2 ]
    [[ $stderr == *"--require 'days<=30': error: no point has days"*"run: {tokens: 1T}"* ]]
    [[ $output == *"MFU %"* ]] # nothing is lost: the points are told
    echo 'run: {tokens: 1T}' >> "$file"
    run --separate-stderr sweep --require 'days<=30'
    [ "$status" -eq 0 ]
    # Where nothing fits, that is the reason.
    run --separate-stderr sweep --require 'days<=30' --set batch.sequence_length=131072
    [ "$status" -eq 4 ]
    [[ $stderr != *"no point"* ]]
}

# column N: of the CSV of a sweep, without its head; none of these columns has quotes in front.
column() {
    tail -n +2 | tr -d '\r' | cut -d, -f"$1"
}

@test "--feasible, --sort and --top say which points the table has" {
    echo "$axes" >> "$file"
    sweep --json > "$work/json"
    good=$(jq '[.points[] | select(.status == "ok" and .memory.fits)] | length' "$work/json")
    [ "$good" -lt "$(jq '.points | length' "$work/json")" ]
    [ "$(sweep --feasible --format csv | column 1 | wc -l)" -eq "$good" ]
    # By MFU the most is best, by days the least, and gpus with ties in their order.
    for by in .mfu:-1:mfu .run.days:1:days .gpus:1:gpus; do
        IFS=: read -r member sign metric <<< "$by"
        jq -r "[.points[] | select(.status == \"ok\" and .memory.fits)] | sort_by($member * $sign)
            | .[:5][] | [.axes[].text] | join(\",\")" "$work/json" > "$work/expected"
        sweep --sort "$metric" --top 5 --format csv | column 1-3 | diff - "$work/expected"
    done
    # What is required goes before; the rest is counted.
    sweep --sort gpus --require 'days<=5' --format csv | column 1 > "$work/column"
    jq -r '[.points[] | select(.status == "ok" and .memory.fits)] | (map(select(.run.days <= 5)) | sort_by(.gpus)[]),
        (map(select(.run.days > 5)) | sort_by(.gpus)[]) | .gpus' "$work/json" > "$work/expected"
    head -n "$good" "$work/column" | diff - "$work/expected"
    jq -e '[.points[] | select(.status == "ok" and .memory.fits) | .run.days <= 5] | any and (all | not)' "$work/json"
    # Who does not have the metric comes after those who do.
    sed 's/^sweep:.*/sweep: {run.failures: [false, true]}/' "$file" > "$work/failures.yaml"
    "$STOKER" sweep "$work/failures.yaml" --db "$work/db" -q --sort days_p95 --format csv | column 1 > "$work/column"
    [ "$(tr '\n' ' ' < "$work/column")" = "true false " ]
    run --separate-stderr sweep --top 5
    [[ $output == *"and 13 more of 18 points"* ]]
    run --separate-stderr sweep --top 18
    [[ $output != *" more of "* ]]
}

@test "--format md has the cells of the table alone, and csv its numbers" {
    echo "$axes" >> "$file"
    sweep --wide > "$work/text"
    sweep --format csv > "$work/csv"
    sweep --format md > "$work/md"
    python3 - "$work/csv" "$work/md" "$work/text" << 'END'
import csv, sys
rows = list(csv.reader(open(sys.argv[1], newline="")))
assert len(rows) == 19 and len({len(row) for row in rows}) == 1, rows
assert rows[0][:4] == ["gpus", "batch.micro", "parallel.tp", "step_s"], rows[0]
cells = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in open(sys.argv[2])]
del cells[1]  # the rule below the heads
assert len(cells) == 19 and len({len(row) for row in cells}) == 1, cells
lines = open(sys.argv[3]).read().split("\n")
lines = lines[next(i for i, line in enumerate(lines) if line.startswith("gpus  micro  tp")):]
# What steps hang on, where all hang on the same, people read in a sentence.
shown = [i for i, head in enumerate(cells[0]) if head in lines[0]]
assert len(shown) > 6
for row, line in zip(cells, lines):
    assert " ".join(row[i] for i in shown).split() == line.split(), (row, line)
for row, shown in zip(rows[1:], cells[1:]):
    assert row[3] == "" or abs(float(row[3]) - float(shown[3])) <= 0.005, (row, shown)
END
    [ "$(grep -c $'\r$' "$work/csv")" -eq 19 ]
    sed "s/^sweep:.*/variants: [{name: 'the \"old\", big|one', set: {gpus: 16}}]/" "$file" > "$work/name.yaml"
    [[ $("$STOKER" sweep "$work/name.yaml" --db "$work/db" -q --format csv) == *$'\n"the ""old"", big|one",'* ]]
    [[ $("$STOKER" sweep "$work/name.yaml" --db "$work/db" -q --format md) == *'| the "old", big\|one |'* ]]
    [[ $(sed -n 2p "$work/md") == "|---:|---:|---:|"* ]]
}

@test "what the table alone knows is refused where there is none" {
    echo "$axes" >> "$file"
    refused 2 "there is no metric 'dayz'" --sort dayz
    refused 2 "--top" --top 0
    refused 2 "--format" --format xml
    refused 2 "all points, in their order" --json --sort mfu
    refused 2 "the document has all of the table" --json --format csv
    refused 2 "--feasible" --best layout --feasible
    refused 2 "--top" --slurm --top 3
}

@test "a point's cell has its worst miss, whichever is asked first" {
    # 32 GPUs miss 16 by all of it; their days, about 3.7, miss 3.6 by little.
    echo 'sweep: {batch.micro: [1]}' >> "$file"
    for order in 'gpus<=16 days<=3.6' 'days<=3.6 gpus<=16'; do
        read -r first second <<< "$order"
        run --separate-stderr sweep --require "$first" --require "$second"
        [ "$status" -eq 4 ]
        [[ $output == *" gpus +100 %"*"gpus 32, 100 % above"* ]]
        [[ $output == *"nearest miss: "*"days 3."*" % above"* ]]
    done
}

# Six clusters at six prices: which GPUs, days and USD each has is in the table. Of the limits, days is
# an axis of the picture and USD the other one (of millions: 7M USD is at 7); gpus is told. What
# misses any of the three is marked.
@test "what is required is drawn: lines where it is an axis, words where it is none" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    {
        grep -v '^ *gpu_hour' scenarios/quickstart.yaml
        echo "require: [days <= 22, cost_usd <= 7M USD, gpus <= 96]"
        echo "variants:"
        i=0
        for gpus in 32 48 64 128 96; do
            i=$((i + 1))
            echo "  - {name: $gpus GPUs, set: {gpus: $gpus, batch.global: 384, price.gpu_hour: $((190 + 7 * i)) USD}}"
        done
    } | sed 's/^price:.*/price: {}/' > "$work/a.yaml"
    "$STOKER" sweep "$work/a.yaml" --db "$work/r.db" -q --plot dollars --plot lines:days \
        --plot lines:mfu -o "$work/p" > "$work/table"
    grep -q ">days &lt;= 22<" "$work/p-dollars.svg"
    grep -q "> cost_usd &lt;= 7M USD <" "$work/p-dollars.svg"
    grep -q "required, too: gpus &lt;= 96" "$work/p-dollars.svg"
    grep -q "set arrow from first 7, graph 0" "$work/p-dollars.gp"
    grep -q "set arrow from graph 0, first 22 " "$work/p-dollars.gp"
    # As many crosses as points that the table does not say yes to.
    missing=$(grep -cE '^[0-9]+ GPUs .*(days|cost_usd|gpus) \+' "$work/table")
    [ "$missing" -gt 0 ] && [ "$missing" -lt 5 ]
    [ "$(awk -F, 'NR > 1 && $6 == 1' "$work/p-dollars.csv" | wc -l)" -eq "$missing" ]
    grep -q ">misses what is required<" "$work/p-dollars.svg"
    grep -q ">days &lt;= 22<" "$work/p-lines-days.svg"
    grep -q "required, too: cost_usd &lt;= 7M USD, gpus &lt;= 96" "$work/p-lines-days.svg"
    run ! grep -q "set arrow" "$work/p-lines-mfu.gp"
    # As many crosses; and kinds that draw no limit say all of them.
    [ "$(awk -F, 'NR > 1 && $6 == 1' "$work/p-lines-mfu.csv" | wc -l)" -eq "$missing" ]
    grep -q ">misses what is required<" "$work/p-lines-mfu.svg"
    grep -q "pt 2 ps" "$work/p-lines-mfu.gp"
    grep -q "; required: days &lt;= 22, cost_usd &lt;= 7M USD, gpus &lt;= 96" "$work/p-lines-mfu.svg"
    for kind in causes pareto whatif best; do
        "$STOKER" plot "$work/a.yaml" --db "$work/r.db" --kind $kind -q -o "$work/k-$kind" > /dev/null
        grep -q "; required: days &lt;= 22, cost_usd &lt;= 7M USD, gpus &lt;= 96" "$work/k-$kind.svg"
    done
    "$STOKER" sweep scenarios/quickstart.yaml --db "$work/h.db" -q --axis batch.global=64,128 --axis batch.micro=1,2 \
        --require 'days<=30' --plot heatmap -o "$work/k-heatmap" > /dev/null
    grep -q "; framed: the best; required: days &lt;= 30" "$work/k-heatmap.svg"
    # The stored study is drawn the same, and with what the command line requires.
    "$STOKER" plot "$work/a.yaml" --db "$work/r.db" --kind dollars -q -o "$work/p-dollars-again" > /dev/null
    cmp <(sed 's/-again//' "$work/p-dollars-again.svg") "$work/p-dollars.svg"
    "$STOKER" plot last --db "$work/r.db" --kind dollars --require 'days<=30' --require 'days<=3000' -q \
        -o "$work/q" > /dev/null
    grep -q ">days &lt;= 30<" "$work/q.svg"
    grep -q "required, too: days &lt;= 3000" "$work/q.svg" # far from all
    for size in usual slide square print; do
        "$STOKER" plot "$work/a.yaml" --db "$work/r.db" --kind dollars --size $size -q -o "$work/d-$size" > /dev/null
    done
    tests/support/svg-boxes "$work"/*.svg
    run -2 "$STOKER" plot last --db "$work/r.db" --require 'dais<=30'
    [[ $output == *"did you mean"* ]]
}

# One price: dollars are days times a constant, and both limits lie on one axis.
@test "what is required of points of one price lies on their days" {
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
    "$STOKER" sweep scenarios/quickstart.yaml --db "$work/r.db" -q --axis cluster.network="100 Gbps,800 Gbps,3200 Gbps" \
        --require 'days<=22' --require 'cost_usd<=90k USD' --plot dollars -o "$work/p" > /dev/null
    grep -q "> days &lt;= 22 <" "$work/p.svg"
    grep -q "> cost_usd &lt;= 90k USD <" "$work/p.svg"
    grep -q "hatched: misses what is required" "$work/p.svg"
    # 64 GPUs at 2.50 USD an hour are 3,840 USD a day.
    grep -q "set arrow from first 23.43" "$work/p.gp"
    tests/support/svg-boxes "$work/p.svg"
}
