# stoker-lab: what only the maker of the catalogue asks. `make lab` builds it beside stoker, and no
# other command has or needs it.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    LAB=$STOKER-lab
    work=$BATS_TEST_TMPDIR
}

# What the lab's objects define, of the build that $STOKER is of, or else of gcc's.
lab_symbols() {
    library=$(dirname "$STOKER")/liblab.a
    [ -e "$library" ] || library=build/gcc-release/liblab.a
    nm -g --defined-only "$library" | awk 'NF == 3 { print $3 }' | sort -u
}

# "stoker" is what users run: nothing of the lab is linked into it, and all of it into the lab.
@test "stoker has nothing of the lab in it" {
    lab_symbols > "$work/lab"
    [ "$(wc -l < "$work/lab")" -gt 50 ]
    nm -g --defined-only "$STOKER" | awk '{ print $NF }' | sort -u > "$work/stoker"
    nm -g --defined-only "$LAB" | awk '{ print $NF }' | sort -u > "$work/both"
    grep -qx fit_run "$work/lab"
    grep -qx step_simulate "$work/stoker"
    [ -z "$(comm -12 "$work/lab" "$work/stoker")" ]
    grep -qx fit_run "$work/both"
}

@test "what moved to the lab is told where it was, and nothing is read" {
    for more in '' --help 'nothing.csv --priors file --write'; do
        # shellcheck disable=SC2086 # words
        run -2 --separate-stderr "$STOKER" calibrate steps $more
        [ -z "$output" ]
        [[ $stderr == "error: it is \`stoker-lab calibrate steps\`"*"make lab"* ]]
    done
    for option in --errors=x --pairs=x --rules --anchors --predictions=x --held-out=fold; do
        run -2 "$STOKER" validate tests/published/blind.csv $option
    done
    run -2 "$LAB" calibrate gemm tests/published/gemm.csv
    [[ $output == *"stoker calibrate"* ]]
    run -2 "$LAB" run scenarios/quickstart.yaml
    [[ $output == *"unknown command 'run'"*"\`stoker-lab --help\` lists the commands"* ]]
}

@test "its manual, its completion and its list have each of its commands and options" {
    "$LAB" --help > "$work/list"
    grep -q '^Usage: stoker-lab COMMAND' "$work/list"
    [ "$("$LAB" help --format pages)" = stoker-lab.1 ]
    "$LAB" help --format man | sed 's/\\-/-/g' > "$work/man"
    "$LAB" help --format bash > "$work/bash"
    bash -n "$work/bash"
    grep -qx 'complete -o default -F _stoker_lab stoker-lab' "$work/bash"
    for command in validate calibrate help; do
        grep -q "^  $command " "$work/list"
        grep -q "^\.SH stoker-lab $command" "$work/man"
        grep -q "options\[$command\]" "$work/bash"
    done
    { "$LAB" validate --help; "$LAB" calibrate steps --help; } | grep -oE '^ +(-.,|  ) --[a-z-]+' |
        grep -oE '[-][-][a-z-]+' | sort -u | grep -vxE -e '--(help|usage)' > "$work/options"
    [ "$(wc -l < "$work/options")" -ge 20 ]
    while read -r option; do
        grep -q -e "$option" "$work/man" || { echo "$option"; false; }
    done < "$work/options"
    [[ "$("$LAB" --version)" == "stoker-lab "* ]]
    [ "$("$LAB" --version | cut -d ' ' -f 2-)" = "$("$STOKER" --version | cut -d ' ' -f 2-)" ]
}

# What both can print, they print alike; and steps that stoker wrote, the lab takes.
@test "its validate is stoker's where both have an option" {
    { head -1 tests/published/runs.csv; awk 'NR % 37 == 2' tests/published/runs.csv; } > "$work/some.csv"
    "$STOKER" validate "$work/some.csv" --ratios gpus --write-steps "$work/steps" > "$work/stoker" 2> /dev/null
    "$LAB" validate "$work/some.csv" --ratios gpus --errors "$work/one.csv" > "$work/lab" 2> /dev/null
    cmp "$work/stoker" "$work/lab"
    "$LAB" validate "$work/some.csv" --read-steps "$work/steps" --errors "$work/read.csv" > /dev/null 2> "$work/err"
    run -1 grep "simulated here" "$work/err"
    cmp "$work/one.csv" "$work/read.csv"
}

@test "a machine that fails: tables of errors and pairs are there whole, as before, or not at all" {
    root=$PWD
    faults=$(dirname "$STOKER")/tests/faults/faults.so
    [ -e "$faults" ] || faults=$root/build/gcc-release/tests/faults/faults.so
    if [ ! -e "$faults" ] || [[ $STOKER == *-asan/* ]]; then
        skip "nothing to be loaded before this build" # the sanitizer must be first
    fi
    export STOKER_PATH=$root
    head -4 tests/published/runs.csv > "$work/few.csv"
    cd "$work"
    "$root/tests/faults/inject" "$faults" "$LAB" validate few.csv --errors errors.csv --pairs pairs.csv
}

# What --rules says of a rule is what validate says with a catalogue that lacks it.
@test "--rules says what each rule moves" {
    table=tests/published/networks.csv
    "$LAB" validate "$table" --rows IBM --rules --json > "$work/with.json"
    rules=$work/catalogue/tests/published/rules.yaml
    mkdir -p "$(dirname "$rules")"
    python3 - tests/published/rules.yaml "$rules" > "$work/line" <<'PY'
import re, sys
text = open(sys.argv[1]).read()
entry = re.search(r"(?m)^  - when: .*\n    set: \[model\.norm=rmsnorm, model\.positions=rotary.*\n(    .*\n)*", text)
print(text[:entry.start()].count("\n") + 1)
open(sys.argv[2], "w").write(text[:entry.start()] + text[entry.end():])
PY
    "$STOKER" validate "$table" --rows IBM --json --catalogue "$work/catalogue" > "$work/without.json"
    python3 - "$work" "$(cat "$work/line")" <<'PY'
import json, sys
one, other = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("with", "without"))
rule = [rule for rule in one["rules"] if rule["place"] == "rules.yaml:" + sys.argv[2]][0]
changes = [abs(b["predicted_step_s"] / a["predicted_step_s"] - 1)
           for a, b in zip(one["rows"], other["rows"])]
assert rule["rows"] == rule["changed"] == len(changes) == 12 and rule["lost"] == 0
assert min(changes) > 1e-4 and abs(rule["moved"] - sum(changes) / 12) < 1e-9
mean = other["summary"]["mean_ape"] - one["summary"]["mean_ape"]
assert abs(mean) > 1e-4 and abs(rule["mean_without"] - mean) < 1e-9
gpu = [rule for rule in one["rules"] if "gpu=h100-sxm5-80gb" in rule["does"]][0]
assert gpu["lost"] == 12 and gpu["moved"] is None and gpu["mean_without"] is None
assert [rule["rows"] for rule in one["rules"] if "gpu=b300-sxm" in rule["does"]] == [0]
PY
    run "$LAB" validate "$table" --rows IBM --rules --summary
    [[ "$output" == *"mean without %"*"model.norm=rmsnorm"* ]]
    run "$LAB" validate "$table" --rules --predictions none.csv
    [ "$status" -eq 2 ]
    [[ "$output" == *"--rules"*"leave out --predictions"* ]]
    run "$LAB" validate "$table" --as-typed --predictions none.csv
    [ "$status" -eq 2 ]
    [[ "$output" == *"--as-typed has no meaning for predictions of a file, which are of whole rows"* ]]
}

# ZeRO++ has pairs that differ in the network alone, and nothing else of its rows does.
@test "--ratios without a column: a line for each kind of difference, with the pairs in JSON" {
    "$LAB" validate tests/published/networks.csv --rows zeropp --ratios --json > "$work/axes.json"
    "$STOKER" validate tests/published/networks.csv --rows zeropp --json \
        --ratios=inter_node_gbps_per_node > "$work/column.json"
    python3 - "$work/axes.json" "$work/column.json" <<'PY'
import json, math, sys
axes, column = (json.load(open(path))["ratios"] for path in sys.argv[1:])
network = next(axis for axis in axes["axes"] if axis["axis"] == "network")
pairs = [pair for pair in axes["pairs"] if pair["axis"] == "network"]
assert network["pairs"] == len(pairs) == column["pairs"]
# steps there, tokens/s here
of_steps = {frozenset((p["first"], p["second"])): p for p in column["rows"]}
for pair in pairs:
    step = of_steps[frozenset((pair["first"], pair["second"]))]
    same = step["first"] == pair["first"]
    for key in ("measured", "predicted"):
        assert abs(pair[key] * (step[key] if same else 1 / step[key]) - 1) < 1e-6
slope = (sum(math.log(p["predicted"]) * math.log(p["measured"]) for p in pairs)
         / sum(math.log(p["measured"]) ** 2 for p in pairs))
assert abs(network["slope"] - slope) < 1e-6
assert abs(axes["mean"]["mean_ape"] - sum(a["mean_ape"] for a in axes["axes"]
           if a["axis"] not in ("release", "layout + micro-batch"))
           / len([a for a in axes["axes"] if a["axis"] not in ("release", "layout + micro-batch")])) < 1e-9
PY
    "$LAB" validate --ratios tests/published/networks.csv --rows zeropp --summary > "$work/text"
    grep -q '^network  *9 .* few *$' "$work/text"
}

@test "--predictions: scores and ratios of a file's predictions, for the rows of its sources" {
    "$STOKER" validate tests/published/networks.csv --rows "DT-FM ZeRO-3" --json > "$work/simulated.json"
    python3 - "$work/simulated.json" "$work/predictions.csv" <<'PY'
import csv, json, sys
rows = [r for r in json.load(open(sys.argv[1]))["rows"] if r["is_scored"]]
assert len(rows) > 4
out = csv.writer(open(sys.argv[2], "w"))
out.writerow("id source config_key measured_step_s fitted_s out_of_fold_s source_left_out_s".split())
for row in rows:
    step = row["measured_step_s"]
    out.writerow([row["id"], row["source"], row["config_key"], step, step, 1.1 * step, 1.2 * step])
PY
    for held_out in nothing fold source; do
        "$LAB" validate tests/published/networks.csv --predictions "$work/predictions.csv" --json \
            --held-out "$held_out" > "$work/$held_out.json"
    done
    python3 - "$work"/{simulated,nothing,fold,source}.json <<'PY'
import json, sys
simulated, *others = (json.load(open(path)) for path in sys.argv[1:])
known = {row["id"] for row in simulated["rows"] if row["is_scored"]}
for document, error in zip(others, (0, 0.1, 0.2)):
    rows = {row["id"]: row for row in document["rows"]}
    assert all(abs(rows[id]["error"] - error) < 1e-6 for id in known)
    assert any(row["status"] == "ok" and row["source"] != simulated["rows"][0]["source"]
               for row in document["rows"])  # simulated: the file knows nothing of its source
PY
    cp "$work/source.json" "$work/whole.json"
    "$LAB" validate tests/published/networks.csv --predictions "$work/predictions.csv" --json \
        > "$work/source.json"
    cmp "$work/whole.json" "$work/source.json" # the source is left out unless otherwise asked
    run "$LAB" validate tests/published/blind.csv --predictions "$work/predictions.csv"
    [ "$status" -eq 3 ]
    [[ "$output" == *"predictions.csv:2:1: error: these are predictions of other rows"* ]]
    [[ "$output" == *"calibrate steps FILE.csv --predictions"* ]]
    run "$LAB" validate tests/published/blind.csv --predictions "$work/none.csv"
    [ "$status" -eq 3 ]
    run "$LAB" validate tests/published/blind.csv --held-out fold
    [ "$status" -eq 2 ]
    [[ "$output" == *"name a file of --predictions"* ]]
}

@test "validate writes the pairs that it found, with where their predictions are from" {
    "$LAB" validate tests/published/networks.csv --rows zeropp --ratios --json \
        --pairs "$work/ratios.csv" > "$work/json"
    python3 - "$work/json" "$work/ratios.csv" <<'PY'
import csv, json, sys
pairs = json.load(open(sys.argv[1]))["ratios"]["pairs"]
lines = list(csv.DictReader(open(sys.argv[2])))
assert len(pairs) == len(lines) >= 9
for pair, line in zip(pairs, lines):
    assert [pair[k] for k in ("axis", "first", "second", "values")] == \
           [line[k] for k in ("axis", "first", "second", "values")]
    assert line["held_out"] == "unseen" and line["source"] == "ZeRO++ blog"
    for key in ("measured", "predicted"):
        assert abs(float(line[key]) / pair[key] - 1) < 1e-4
PY
}

# What the catalogue ships: each pair is predicted by a fit that did not see its source, and held
# against the pairs of other sources.
@test "of the published pairs that are called clear nine in ten go as predicted" {
    "$LAB" validate tests/published/networks.csv --rows zeropp --ratios --json > "$work/json"
    jq -e '.ratios.bands.catalogue | .clear > 100 and .right_clear >= 0.9 and
        .inside >= 0.75 and .inside <= 0.85' "$work/json"
    "$LAB" validate tests/published/networks.csv --rows zeropp --ratios --summary > "$work/text"
    grep -qE '^all but those apart +[0-9]+ +[0-9]+ +0.[0-9]+ +[0-9]+ +(9[0-9]|100) ' "$work/text"
    cut -d , -f 1 models/ratios.csv | grep -q '^"network"$'
}

# Of other sources' votes four fifths are to lie inside; a class of 30 votes and more may differ from
# that by what chance gives at 1 %. One width for all is what has to be beaten.
@test "bands hold as often as they say, class by class, and score better than one width for all" {
    "$LAB" bands --json -q > "$work/json"
    jq -e '(.classes[0] | .class == "all" and .votes > 1000 and .inside >= 0.75 and .inside <= 0.85) and
        ([.classes[] | select(.votes >= 30)] | length > 15 and all(.[]; .p >= 0.01)) and
        .classes[0].interval_score < .classes[0].constant_interval_score - 0.02 and
        ([.classes[] | select(.constant_p < 0.01)] | length > 5)' "$work/json"
    jq -e '.classes[0].p > 0.05 and (.features | length) <= 6 and all(.features[]; .times > 1)' "$work/json"
    "$LAB" bands -q > "$work/text"
    grep -qE '^all +[0-9]+ +[0-9.]+ ' "$work/text"
    run "$LAB" bands file.csv
    [ "$status" -eq 2 ]
}

# `make bands` is to be run behind a fit: pairs of sources that were fitted depend on the file of
# predictions alone.
@test "models/ratios.csv is what the published predictions say" {
    "$LAB" validate tests/published/runs.csv tests/published/networks.csv --summary \
        --predictions tests/published/predictions.csv --pairs "$work/ratios.csv" > "$work/text"
    grep ',source,[0-9.]*,[0-9.]*$' models/ratios.csv > "$work/shipped"
    grep ',source,[0-9.]*,[0-9.]*$' "$work/ratios.csv" > "$work/now"
    [ "$(wc -l < "$work/now")" -gt 500 ]
    diff "$work/shipped" "$work/now" # else: make bands
}

@test "validate writes the errors of its votes, whatever the number of processes" {
    { head -60 tests/published/runs.csv; grep '^titan' tests/published/runs.csv; } > "$work/some.csv"
    "$LAB" validate "$work/some.csv" --summary -j 1 --errors "$work/one.csv" > "$work/out"
    "$LAB" validate "$work/some.csv" --summary -j 5 --errors "$work/five.csv" > "$work/out"
    cmp "$work/one.csv" "$work/five.csv"
    "$STOKER" validate "$work/some.csv" --json > "$work/json"
    python3 - "$work/one.csv" "$work/json" <<'PY'
import csv, json, sys
votes = list(csv.DictReader(open(sys.argv[1])))
document = json.load(open(sys.argv[2]))
assert len(votes) == document["summary"]["votes"]
ratios = {}
for row in document["rows"]:
    if row["is_scored"]:
        ratios.setdefault((row["source"], row["config_key"]), []).append(1 / (1 + row["error"]))
means = [sum(values) / len(values) for _, values in sorted(ratios.items())]
assert all(abs(float(vote["measured_over_predicted"]) - mean) < 1e-4 for vote, mean in zip(votes, means))
table = list(csv.DictReader(open("tests/published/runs.csv")))
for vote in votes:  # a network counts where the source states it and there are several nodes
    stated = {row["inter_node_gbps_per_node"] for row in table
              if (row["source"], row["gpus"]) == (vote["source"], vote["gpus"])}
    alone = int(vote["gpus"]) <= 8
    assert vote["gbps_per_node"] in ({""} if alone else stated), vote
    assert (vote["fabric"] == "") == alone, vote
assert any(vote["gbps_per_node"] for vote in votes)
PY
}

@test "of published runs anchors are worth most where little differs" {
    "$LAB" validate tests/published/runs.csv tests/published/networks.csv --predictions tests/published/predictions.csv \
        --anchors --json -q > "$work/json"
    jq -e '.anchors.lines | map({(.differ_in): .}) | add
        | .["nothing"].whole < 0.6 * .["nothing"].alone
        and .["1 kind"].weighted < .["1 kind"].alone - 0.005 and .["1 kind"].weighted < .["1 kind"].whole - 0.005
        and .["1 kind"].width < 0.9 * .["1 kind"].width_alone and .["1 kind"].inside > .["1 kind"].inside_alone - 0.05
        and .["2 kinds"].whole > .["2 kinds"].alone + 0.01
        and all(.[]; .weighted < .alone + 0.002)' "$work/json"
}

# Of tenths the one with the least error where runs differ in one kind of setting, as long as anchored
# bands hold as often as bands without an anchor, to 2 in 100: its neighbours are worse in one of both.
@test "the trust in anchors is what the published rows say" {
    trust=$(sed -n 's/^  trust: \(.*\) %$/\1/p' models/limits.yaml)
    for tenth in $((trust - 10)) "$trust" $((trust + 10)); do
        mkdir -p "$work/catalogue/models"
        printf '%s\n' 'resolution: {hashed: 0.05 %, provenance: measured, source: a test}' \
            "anchor: {trust: $tenth %, provenance: fitted, source: a test}" > "$work/catalogue/models/limits.yaml"
        "$LAB" validate tests/published/runs.csv tests/published/networks.csv --anchors --json -q \
            --predictions tests/published/predictions.csv --catalogue "$work/catalogue" |
            jq -c '.anchors | .trust as $trust | .lines[] | select(.differ_in == "1 kind")
                | {trust: $trust, weighted, holds: (.inside >= .inside_alone - 0.02)}' >> "$work/tenths"
    done
    jq -se --argjson trust "$trust" 'length == 3 and
        (map(select(.holds)) | min_by(.weighted).trust * 100 - $trust | fabs < 1e-9)' "$work/tenths"
}
