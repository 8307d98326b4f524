# Pictures: whether they can be read. tests/support/svg-boxes knows where each text is.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
    command -v gnuplot > /dev/null || skip "gnuplot is missing"
}

# study FILE COUNT LETTERS: so many variants of quickstart, each with a name of so many letters, of
# which the second does not fit and the third does not divide.
study() {
    cp scenarios/quickstart.yaml "$1"
    echo "variants:" >> "$1"
    local i name
    for ((i = 0; i < $2; i++)); do
        name=$(printf '%s number %d of the variants with names that end after the last of all letters' \
            one $((i + 1)) | cut -c1-"$3")
        name="${name%??}$(printf %02d $((i % 100)))"
        case $i in
            1) echo "  - {name: $name, set: {batch.micro: 64, batch.global: 4096}}" ;;
            2) echo "  - {name: $name, set: {parallel.tp: 3}}" ;;
            *) echo "  - {name: $name, set: {cluster.network: $((400 + 100 * i)) Gbps," \
                "price.gpu_hour: $((200 + i * i % 17)) USD}}" ;;
        esac
    done >> "$1"
}

# Width and height of a PNG, big-endian behind its first chunk's name.
png_size() {
    local b
    read -ra b < <(od -An -tu1 -j16 -N8 "$1")
    echo $((b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3])) $((b[4] << 24 | b[5] << 16 | b[6] << 8 | b[7]))
}

# at_all_sizes NAME ARGUMENTS...: that picture at each size, read. A page of a size is as large as
# that says.
at_all_sizes() {
    local name=$1 size
    shift
    for size in usual slide square print; do
        "$STOKER" "$@" --size "$size" -q -o "$work/$name-$size" > /dev/null
        tests/support/svg-boxes "$work/$name-$size.svg"
        [ "$(stat -c %s "$work/$name-$size.svg")" -lt 300000 ]
    done
    grep -q 'viewBox="0 0 864 486"' "$work/$name-slide.svg"
    grep -q 'viewBox="0 0 720 720"' "$work/$name-square.svg"
    grep -q 'viewBox="0 0 700 500"' "$work/$name-print.svg"
    [ "$(png_size "$work/$name-slide.png")" = '1280 720' ]
    [ "$(png_size "$work/$name-print.png")" = '2100 1500' ]
}

# all_kinds FILE: each kind that it can be, read.
all_kinds() {
    local kind
    for kind in lines causes dollars pareto; do
        at_all_sizes "$kind" plot "$1" --db "$work/r.db" --kind "$kind"
    done
}

@test "text covers no text, lies in the picture, on the level, and is large enough: one point" {
    study "$work/a.yaml" 1 60
    "$STOKER" sweep "$work/a.yaml" --db "$work/r.db" -q > /dev/null
    all_kinds "$work/a.yaml"
}

@test "the same of eight points with names of 60 letters, of which two have no result" {
    study "$work/a.yaml" 8 60
    "$STOKER" sweep "$work/a.yaml" --db "$work/r.db" -q > /dev/null
    all_kinds "$work/a.yaml"
    grep -q ">out of memory" "$work/lines-usual.svg"
    grep -q ">does not divide" "$work/lines-usual.svg"
    grep -q "the first 7 of 8 points" "$work/causes-slide.svg"
    run ! grep -q "the first" "$work/causes-square.svg"
}

# Names of 60 letters have two lines of 18 pixels and 3 between rows: 39 of a row. A slide is 486
# high, of which 14 + 22 + 17 + 2 x 21 + 10 stand above the plot and 26 + 24 + 22 below it: 309.
# 309 / 39 = 7.9 rows, of which 0.2 are beside the first and the last: 7.
@test "where bars have no room the first or the best are drawn, and it is said" {
    study "$work/a.yaml" 30 60
    "$STOKER" sweep "$work/a.yaml" --db "$work/r.db" -q > /dev/null
    for kind in lines causes whatif; do
        at_all_sizes "$kind" plot "$work/a.yaml" --db "$work/r.db" --kind "$kind"
    done
    grep -q "the first 7 of 30 points" "$work/causes-slide.svg"
    grep -Eq "the best 1[0-9] of 27" "$work/whatif-slide.svg"
    run ! grep -q "the best" "$work/whatif-usual.svg"
    [ "$(grep -c '^[0-9]' "$work/causes-slide.csv")" -eq 30 ] # the data are whole
}

@test "a size that there is not is told of those that there are" {
    run -2 "$STOKER" plot last --size poster --db "$work/r.db"
    [[ $output == *"--size is usual, slide, square or print, not 'poster'"* ]]
    run -2 "$STOKER" sweep scenarios/study-batch.yaml --size slide --db "$work/r.db"
    [[ $output == *"--size"*"add --plot KIND"* ]]
}

@test "the same of 480 points: lines, a heatmap, the front, days against dollars" {
    "$STOKER" sweep scenarios/quickstart.yaml --db "$work/r.db" -q \
        --axis data=off --axis batch.global=64,128,256,512 --axis batch.micro=1,2,4 \
        --axis parallel.tp=1,2,4,8 --axis parallel.zero=1,3 \
        --axis cluster.network="100 Gbps,200 Gbps,400 Gbps,800 Gbps,3200 Gbps" > /dev/null
    for kind in lines heatmap pareto dollars; do
        axes=()
        [ $kind != lines ] || axes=(-x batch.global)
        [ $kind != heatmap ] || axes=(-x batch.global -y parallel.tp)
        at_all_sizes "$kind" plot last --db "$work/r.db" --kind "$kind" "${axes[@]}"
    done
    grep -q "framed: the best" "$work/heatmap-usual.svg"
    # What is not shown is told.
    grep -q "each point the best of .* lines: over data, micro, tp, zero, network" "$work/lines-usual.svg"
    grep -q "each cell the best over data, micro, zero, network" "$work/heatmap-usual.svg"
}

# Of six points, by cost, the first two and the fifth: 64, 128 and 256 GPUs with micro 2.
@test "the front of days against dollars is one line through all its points" {
    "$STOKER" sweep scenarios/quickstart.yaml --db "$work/r.db" -q --axis gpus=64,128,256 \
        --axis batch.micro=1,2 --set parallel.tp=2 --plot dollars -o "$work/p" > /dev/null
    [ "$(awk -F, '$1 == "0" {printf "%s", $5}' "$work/p.csv")" = 110010 ]
    tr '\n' ' ' < "$work/p.svg" | grep -Eo "stroke-dasharray='[^>]*d='[^']*'" > "$work/front"
    [ "$(grep -o 'M' "$work/front" | wc -l)" -eq 1 ]
    [ "$(grep -o 'L' "$work/front" | wc -l)" -eq 2 ]
}

# 400 and 100 Gbps lose 16 and 98 %, and nothing gains: both are shown whole. Where one gains 14 %
# of days, more than 5, what loses more than 1.2 times as much ends at the edge.
@test "bars of what loses are as long as that, or it is said that they go on" {
    sweep() {
        "$STOKER" sweep scenarios/quickstart.yaml --db "$work/r.db" -q --plot whatif -o "$work/$1" \
            --axis cluster.network="$2" > /dev/null
    }
    least() { sed -nE 's/^set xrange \[(-?[0-9.]+):.*/\1/p' "$work/$1.gp"; }
    sweep worse "3200 Gbps,400 Gbps,100 Gbps"
    [ "$(least worse)" = "$(awk -F, 'NR == 3 {print $4}' "$work/worse.csv")" ]
    run ! grep -q "go on" "$work/worse.svg"
    sweep both "400 Gbps,3200 Gbps,100 Gbps"
    awk -F, -v least="$(least both)" 'NR == 2 { d = least / (-1.2 * $4) - 1; exit !(d < 1e-8 && -d < 1e-8) }' "$work/both.csv"
    grep -q "bars at the edge go on" "$work/both.svg"
    sweep alike "3200 Gbps,3201 Gbps,3199 Gbps"
    grep -q ">  0.0 %" "$work/alike.svg"
    run ! grep -q -- "-0.0 %" "$work/alike.svg"
}

# Four winners of up to 45 letters: of none the end is cut.
@test "names of winners are whole where there is room" {
    "$STOKER" sweep scenarios/quickstart.yaml --db "$work/r.db" -q --best usual --gap 1% --plot best -o "$work/p" \
        --axis cluster.network="400 Gbps,800 Gbps,1600 Gbps,3200 Gbps" --set memory.margin=0 > /dev/null
    [ "$(grep -c 'micro [0-9]*<' "$work/p.svg")" -ge 4 ]
    run ! grep -q "…" "$work/p.svg"
    tests/support/svg-boxes "$work/p.svg"
}

@test "the same of what would help, of the best for each value, and of studies beside each other" {
    "$STOKER" whatif scenarios/quickstart.yaml --db "$work/r.db" -q --plot whatif -o "$work/whatif" > /dev/null
    grep -q ">ideal: an upper bound<" "$work/whatif.svg"
    grep -q ">1. " "$work/whatif.svg" # the ladder
    "$STOKER" plot last --db "$work/r.db" --kind whatif -q -o "$work/again" > /dev/null
    study "$work/a.yaml" 8 60
    study "$work/b.yaml" 8 58
    sed -i 's/^scenario:.*/scenario: another study of the same, with a title that goes on and on and on until it ends/' "$work/b.yaml"
    for name in a b; do
        "$STOKER" sweep "$work/$name.yaml" --db "$work/r.db" -q > /dev/null
    done
    for kind in lines causes dollars; do
        "$STOKER" plot "$work/a.yaml" "$work/b.yaml" --db "$work/r.db" --kind $kind -q -o "$work/$kind" > /dev/null
    done
    tests/support/svg-boxes "$work"/*.svg
}

@test "the same of a step's pipeline and power, and of fabrics" {
    at_all_sizes pipeline plot pipeline scenarios/study-schedules.yaml
    at_all_sizes power plot power scenarios/quickstart.yaml
    for fabric in h100-roce-24k gb200-nvl72 h100-3200 h100-torus-3200 h100-dragonfly-3200; do
        at_all_sizes "$fabric" plot topology "$fabric"
    done
    at_all_sizes used plot topology scenarios/quickstart.yaml
}

@test "the same of errors by source" {
    { head -1 tests/published/runs.csv; grep -E "^(narayanan|korthikanti)" tests/published/runs.csv; } > "$work/runs.csv"
    for size in usual slide square print; do
        "$STOKER" validate "$work/runs.csv" -q --plot "$work/$size" --size $size > /dev/null
    done
    tests/support/svg-boxes "$work"/*.svg
}

# pipeline NAME FILE [--set ...]: drawn, its words read, its times added up.
pipeline() {
    local name=$1 step
    shift
    "$STOKER" plot pipeline "$@" -q -o "$work/$name" > /dev/null
    step=$("$STOKER" run "$@" --no-db --json -q |
        python3 -c 'import json, sys; print(json.load(sys.stdin)["step_time_s"])')
    tests/support/svg-boxes "$work/$name.svg"
    tests/support/pipeline-sums "$step" "$work/$name"
    [ "$(stat -c %s "$work/$name.svg")" -lt 300000 ]
    run ! grep -qi warning "$work/$name.log"
}

@test "a pipeline: every moment of each row has a colour, and the path is as long as the step" {
    small=(scenarios/quickstart.yaml --set parallel.pp=4 --set batch.global=64)
    pipeline small "${small[@]}"
    grep -q ">TP communication<" "$work/small.svg"
    grep -q "transfers under way, as high as the share of time that they take (TP, PP, DP)" "$work/small.svg"
    grep -q ">pipeline bubble<" "$work/small.svg"
    run ! grep -q "magnified" "$work/small.svg"
    run ! grep -q ">data stall<" "$work/small.svg" # only what occurs
    pipeline one scenarios/quickstart.yaml
    run ! grep -q ">pipeline bubble<" "$work/one.svg"
    schedules=(scenarios/study-schedules.yaml --set batch.global=64)
    pipeline zb "${schedules[@]}" --set parallel.schedule=zb-v
    pipeline dual "${schedules[@]}" --set parallel.schedule=dualpipe
    pipeline moe scenarios/mixtral-8x22b-128.yaml
    grep -q ">EP communication<" "$work/moe.svg"
}

# labelled NAME WHAT: how many different microbatches of stage 0 have a number.
labelled() {
    python3 - "$work/$1.csv" "$2" <<'PY'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
print(len({row["label"] for row in rows if row["what"] == sys.argv[2] and row["row"] == row["panel"] == "0"} - {"-"}))
PY
}

# Forwards of 16 microbatches have room for 9, but not for 15: none has a number. Of eight all have.
@test "bars of a pipeline have all their numbers or none" {
    pipeline many scenarios/quickstart.yaml --set parallel.pp=4 --set batch.global=128
    [ "$(labelled many backward)" -eq 16 ]
    [ "$(labelled many forward)" -eq 0 ]
    pipeline few scenarios/quickstart.yaml --set parallel.pp=4 --set batch.global=64
    [ "$(labelled few backward)" -eq 8 ]
}

@test "slow GPUs have rows with names, and a long title its place" {
    slow=(scenarios/quickstart.yaml --set parallel.pp=4 --set batch.global=64
        --set "scenario=$(printf 'A scenario with a long name %.0s' 1 2 3 4 5)")
    pipeline two "${slow[@]}" --set 'slow=[{rank: 21, speed: 0.7}, {rank: 50, nic: 0.5}]'
    grep -q ">rank 21: 70 %<" "$work/two.svg"
    grep -q ">rank 50: NIC 50 %<" "$work/two.svg"
    grep -qE ">rank (4|5), on the path<" "$work/two.svg" # of rank 21's replica
    many=$(printf '{rank: %d, speed: 0.9}, ' {0..15})
    pipeline many "${slow[@]}" --set "slow=[$many {rank: 16, speed: 0.8}, {rank: 34, speed: 0.55}]"
    grep -q ">stage 0, rank 0: 90 %<" "$work/many.svg" # nobody there is faster
    grep -q ">rank 4: 90 %, 5 alike<" "$work/many.svg"
    differ=$(printf '{rank: %d, speed: 0.8%d}, ' 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9 0)
    pipeline differ "${slow[@]}" --set "slow=[$differ {rank: 40, speed: 0.9}]"
    grep -q "3 more slow GPUs have no row" "$work/differ.svg"
}

# More than a thousand bars: the whole, and below it a part with fewer.
@test "a step of many bars is drawn whole and magnified, in few bytes" {
    pipeline p405 scenarios/llama3-405b-16k.yaml --set 'slow=[{rank: 4711, speed: 0.7}]'
    grep -q ">the whole step<" "$work/p405.svg"
    grep -qE ">magnified: [0-9.]+ to [0-9.]+ ms" "$work/p405.svg"
    # Fewer bars, but more boxes than a picture may have.
    pipeline deep scenarios/korthikanti-530b-full.yaml --set parallel.pp=35 --set batch.global=12 \
        --set parallel.schedule=1f1b --set parallel.virtual_stages=1
    grep -q ">the whole step<" "$work/deep.svg"
    pipeline k1t scenarios/korthikanti-1t-full.yaml
    grep -q "16 of 64 rows" "$work/k1t.svg"
    # Of 64 stages 512 microbatches each: 1024 bars a row, of which no column is narrower than 6 px
    # of some 850, so fewer than 150 columns.
    [ "$(awk -F, '$1 == 0 && $2 == 20 && $3 == 0 {n[$6]} END {print length(n)}' "$work/k1t.csv")" -lt 150 ]
}

@test "a picture has a title and a description, and nothing that runs" {
    study "$work/a.yaml" 3 20
    "$STOKER" sweep "$work/a.yaml" --db "$work/r.db" -q --plot lines -o "$work/p" > /dev/null
    [ "$(grep -c '<title>' "$work/p.svg")" -eq 1 ]
    grep -q '<title>Llama 3 8B on 64 H100</title>' "$work/p.svg"
    grep -q '<desc>llama3-8b, 64 h100-sxm5-80gb, megatron-2024, bf16; ringed: the best</desc>' "$work/p.svg"
    run ! grep -qE "<script|onload|xlink:href='[^#]|data:image" "$work/p.svg"
}

@test "where drawing fails the pictures that were there stay" {
    study "$work/a.yaml" 3 20
    "$STOKER" sweep "$work/a.yaml" --db "$work/r.db" -q --plot lines -o "$work/p" > /dev/null
    cp "$work/p.svg" "$work/before.svg"
    cp "$work/p.png" "$work/before.png"
    mkdir "$work/bin"
    printf '#!/bin/sh\necho half > p.svg.part\nexit 1\n' > "$work/bin/gnuplot"
    chmod +x "$work/bin/gnuplot"
    PATH=$work/bin:$PATH run -1 "$STOKER" plot "$work/a.yaml" --db "$work/r.db" -o "$work/p"
    cmp "$work/p.svg" "$work/before.svg"
    cmp "$work/p.png" "$work/before.png"
    run ! ls "$work"/*.part
}

# Of what would be a fault each is one: another test of the tests.
@test "svg-boxes sees what cannot be read" {
    study "$work/a.yaml" 8 20
    "$STOKER" sweep "$work/a.yaml" --db "$work/r.db" -q --plot causes -o "$work/p" > /dev/null
    sed -E '0,/font-size="13.00"/s//font-size="7.00"/' "$work/p.svg" > "$work/small.svg"
    run -1 tests/support/svg-boxes "$work/small.svg"
    [[ $output == *"is 7 pixels high"* ]]
    sed -E 's/font-size="13.00"/font-size="40.00"/' "$work/p.svg" > "$work/large.svg"
    run -1 tests/support/svg-boxes "$work/large.svg"
    [[ $output == *" covers "* && $output == *"leaves the picture"* ]]
    sed -E '0,/(translate\([^)]*\))/s//\1 rotate(90)/' "$work/p.svg" > "$work/turned.svg"
    run -1 tests/support/svg-boxes "$work/turned.svg"
    [[ $output == *"is turned"* ]]
}
