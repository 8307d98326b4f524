# What others published of their months: interruptions, the share of time that counted, GPU-hours. The
# tables are printed by tests/published, as results/VALIDATION.md shows them, where readme.bats holds them
# to what is printed; what they must not fall short of stands here.

bats_require_minimum_version 1.5.0

# shown NAME: what tests/published/NAME prints, to the word.
shown() {
    awk -v command="tests/published/$1" '$0 == command { is_next = 1; next }
        is_next && /^```$/ { fences++; next }
        is_next && fences == 3 { exit }
        is_next && fences == 2 { print; lines++ }
        END { exit !lines }' results/VALIDATION.md > "$BATS_TEST_TMPDIR/$1"
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    local table
    for table in interruptions goodput gpu_hours energy; do
        shown $table
    done
    interruptions=$BATS_TEST_TMPDIR/interruptions
    goodput=$BATS_TEST_TMPDIR/goodput
}

# The columns of interruptions.csv, each row with its prediction: id;counts;gpus;days;counted;classes;
# scored;predicted.
with_predictions() {
    awk -F';' 'FNR == NR { split($0, field, / +/); predicted[field[1]] = $0; next }
        FNR > 1 { line = predicted[$1]; sub(/ *not scored$/, "", line); n = split(line, f, / +/)
            print $1 ";" $2 ";" $4 ";" $5 ";" $6 ";" $7 ";" $8 ";" f[n - 1] }' \
        "$interruptions" tests/published/interruptions.csv
}

# Rates grow with GPUs, nodes or NICs, all of them in proportion to GPUs on nodes alike, and clocks run
# on while the job is down: 419 (interruptions) or 356 (hardware: without 54, 7 and 2 of software) times
# GPUs x days over 16,384 x 54. The mean of 200 histories is a Poisson count of 200 times as much over
# 200: four deviations.
@test "Llama 3's rates are carried to other sizes in proportion to GPUs and days" {
    with_predictions | awk -F';' '
        $6 == "." || $6 == "hardware" {
            expected = ($6 == "." ? 419 : 356) * $3 * $4 / (16384 * 54)
            off = ($8 - expected) / sqrt(expected / 200)
            printf "%s: %s, expected %.1f, %.1f deviations\n", $1, $8, expected, off
            if (off < -4 || off > 4) { bad = 1 }
            rows++ }
        END { exit bad || rows < 9 }'
}

# Clusters differ: RSC-1 and RSC-2 are of one owner, of the same time and GPUs, and a factor of 2.8
# apart; so no rate taken from a third can be nearer to both than 1.7, the root of it. Counts of other
# parts than GPUs are small and of one cluster, InfiniteHBD's: bounded in its total.
@test "counts of failed hardware are met within what clusters differ by" {
    with_predictions | awk -F';' '
        $2 == "hardware" && $7 == "yes" {
            l = log($8 / $5); sum += l < 0 ? -l : l; rows++
            if (l < -log(6) || l > log(2)) { print; bad = 1 } }
        END { mean = exp(sum / rows); print rows " rows, a factor of " mean; exit bad || mean > 1.8 }'
}

# Jobs end for more than broken nodes (RSC-1: 304 nodes where jobs of as many GPUs ended 1,109 times;
# some of OPT's restarts were for its loss). Nothing bounds that; held is what is reached today, so
# that a change of rates is seen.
@test "interruptions of jobs are no further off than they were" {
    with_predictions | awk -F';' '
        $2 == "jobs" && $7 == "yes" {
            l = log($8 / $5); sum += l < 0 ? -l : l; rows++
            if (l < -log(6.6) || l > log(2)) { print; bad = 1 } }
        END { mean = exp(sum / rows); print rows " rows, a factor of " mean; exit bad || mean > 3.6 }'
}

# The issue asks for five points. With a mean time between interruptions of 5.3 h (9,600 GPUs) a point
# is 3 minutes of each; so this holds detection and restart to a quarter of an hour, and no better.
@test "runs whose sources say how they come back spend the share of time that was published" {
    awk 'NR > 1 && !/not scored/ { if ($6 == "-") off = $5 - $4; else off = $6 - $4
             if (off < -5 || off > 5) { print; bad = 1 }; rows++ }
         END { exit bad || rows < 2 }' "$goodput"
}

# Interruptions as many as the run itself counted, each half an hour and half an interval: who was
# slower to notice, or had other reasons to stop, lost more than that, never less.
@test "where people had to notice, more was lost than failures explain" {
    awk '/not scored/ && $6 != "-" { if ($6 <= $4) { print; bad = 1 }; rows++ }
         END { exit bad || rows < 3 }' "$goodput"
}

# The errors of the step and of the run multiply to that of all, as hours are steps times their time
# and what is lost: what a longer step changes in checkpoints and failures is below a point. Llama's
# stages that were not measured are as far off as that which was.
@test "GPU-hours are off by what the step and the run are" {
    awk 'NR > 1 && !/^  -/ {
             run = $NF; step = $(NF - 1); all = $(NF - 4)
             off = (1 + step / 100) * (1 + run / 100) / (1 + all / 100) - 1
             if (off < -0.02 || off > 0.02) { print; bad = 1 }; rows++ }
         END { exit bad || rows != 6 }' "$BATS_TEST_TMPDIR/gpu_hours"
}

# Steps: anchors of the catalogue within 17 % (LLaMA 65B, whose layout is not published), and those of
# two scenarios that nothing was fitted to within 15. Runs: what failures and checkpoints explain, so
# never far above what was published: 7 % for Llama 3, which counts restarts of a schema that it does
# not publish; below it without bound, as people are (OPT: 59 % of 56 days).
@test "GPU-hours of whole trainings are no further off than they were" {
    awk 'NR > 1 && !/^  -/ {
             run = $NF; step = $(NF - 1)
             if (step < -15 || step > 17 || run > 7) { print; bad = 1 }
             if (!/^(OPT|GLM)/ && run < -9) { print; bad = 1 } }
         END { exit bad }' "$BATS_TEST_TMPDIR/gpu_hours"
}

# One run of four stages is what four runs are together: failures are as many in as many hours. Each of
# these has 200 histories, whose standard error is below 0.1 %.
@test "Llama 3's stages take as long in one run as they do one by one" {
    sum=$(awk '/^Llama 3 405B/ { print $5 }' "$BATS_TEST_TMPDIR/gpu_hours")
    stages='[{name: 4M, tokens: 252M,
              set: {gpus: 8192, batch.global: 1024, batch.sequence_length: 4096}},
             {name: 8M, tokens: 2869748M, set: {gpus: 8192, batch.global: 1024}},
             {name: 16M, tokens: 11.93T},
             {name: long, tokens: 800G, set: {batch.global: 128, batch.sequence_length: 131072,
              parallel.cp: 16, parallel.dp: 8}}]'
    "$STOKER" run scenarios/llama3-405b-16k.yaml --no-db -q --json --set run.failures=llama3-2024 \
        --set run.stages="$stages" |
        jq -ne --argjson sum "$sum" 'input | .run.gpu_hours / $sum - 1 | fabs < 0.003'
}

# Alibaba HPN (SIGCOMM 2024): 0.057 % of links between NICs and leaves fail in a month, 0.051 % of
# leaves; a job meets "1-2 crashes" of the network in a month, one of 3K GPUs costs 20,000 USD an hour.
# 3,072 NICs x 0.057 % are 1.75, and 24 leaves 0.01 more; 200 histories of two months and a half leave
# 0.08 of two deviations.
@test "with one leaf a NIC, links end a job of 3,072 GPUs as often as was published" {
    single='{failures: single, counts: hardware, classes: [
        {name: nic_link, of: nic, rate: {count: 0.057, components: 100, days: 30}, takes: node},
        {name: leaf_switch, of: leaf, rate: {count: 0.051, components: 100, days: 30}, takes: leaf}]}'
    "$STOKER" run scenarios/study-leaves.yaml --no-db -q --json --set run.failures="$single" |
        jq -ne 'input | .run | .interruptions * 30 / .days | (1 < . and . < 2) and (. - 1.76 | fabs < 0.16)'
}

# 1,082,990 h x 400 W = 433.2 MWh; 39.3M h x 700 W x 0.414 kg/kWh = 11,389 t.
@test "published energy is hours times rated power, and ours is more: hosts, network, storage and PUE" {
    awk 'NR > 1 && !/with idle/ {
             for (i = 1; i <= NF; i++) { if ($i == "MWh" || $i == "t") { published = $(i - 1) } }
             if ((off = $(NF - 5) / published - 1) < -0.002 || off > 0.002) { print; bad = 1 }
             if ($(NF - 2) < 1.1 * published || $(NF - 2) > 1.8 * published) { print; bad = 1 }; rows++ }
         END { exit bad || rows != 2 }' "$BATS_TEST_TMPDIR/energy"
}

# 433,196 + 256,646 kWh. Networks of published clusters draw 5 to 10 % of what the machines do.
@test "BLOOM with what was drawn idle is met within 5 %, and the network has its share" {
    awk '/with idle/ { off = $(NF - 2) / 690 - 1; rows++; if (off < -0.05 || off > 0.05) { print; bad = 1 } }
         END { exit bad || rows != 1 }' "$BATS_TEST_TMPDIR/energy"
    "$STOKER" run scenarios/quickstart.yaml --no-db -q --json |
        jq -ne 'input | .run | (.energy_nic_kwh + .energy_switch_kwh) / (.energy_kwh - .energy_facility_kwh) |
            0.05 < . and . < 0.1'
}

@test "each row of the tables of months has its source" {
    for table in interruptions goodput gpu_hours energy; do
        awk -F';' 'NR == 1 { columns = NF; next } NF < columns || $columns !~ /https:\/\// { print; bad = 1 }
            END { exit bad }' "tests/published/$table.csv"
    done
}
