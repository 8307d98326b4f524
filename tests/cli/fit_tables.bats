# What `make fit` wrote belongs to the runs, the constants and the models that are here: a change of
# any of them without another fit is found.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    LAB=$STOKER-lab
    work=$BATS_TEST_TMPDIR
    predictions=tests/published/predictions.csv
    tables=(tests/published/runs.csv tests/published/networks.csv)
}

@test "predictions.csv has each row that is scored, as it was measured, and no other" {
    # With the option nothing is simulated but for the sources that took no part in the fit.
    "$LAB" validate "${tables[@]}" --predictions "$predictions" --json -q > "$work/all.json"
    python3 - "$work/all.json" "$predictions" <<'PY'
import csv, json, sys
rows = json.load(open(sys.argv[1]))["rows"]
lines = [line["id"] for line in csv.DictReader(open(sys.argv[2]))]
assert len(set(lines)) == len(lines) > 500
fitted = {line["source"] for line in csv.DictReader(open(sys.argv[2]))}
scored = [row["id"] for row in rows if row["is_scored"] and row["source"] in fitted]
assert scored == lines, set(scored) ^ set(lines)
missing = [row["id"] for row in rows if "has no prediction of it" in (row["reason"] or "")
           and not row["suspect"]]
assert missing == [], missing
PY
}

@test "every twelfth of its rows is predicted now as it was when it was fitted" {
    python3 - "$predictions" "$work" "${tables[@]}" <<'PY'
import csv, sys
lines = list(csv.DictReader(open(sys.argv[1])))
wanted = {line["id"] for line in lines[::12]}
for number, path in enumerate(sys.argv[3:]):
    rows = csv.reader(open(path))
    with open("%s/%d.csv" % (sys.argv[2], number), "w") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(next(rows))
        writer.writerows(row for row in rows if row[0] in wanted)
PY
    "$STOKER" validate "$work/0.csv" "$work/1.csv" --json -q > "$work/now.json"
    python3 - "$predictions" "$work/now.json" <<'PY'
import csv, json, sys
fitted = {line["id"]: float(line["fitted_s"]) for line in csv.DictReader(open(sys.argv[1]))}
now = json.load(open(sys.argv[2]))["rows"]
assert len(now) >= 40
stale = [(row["id"], fitted[row["id"]], row["predicted_step_s"]) for row in now
         if abs(row["predicted_step_s"] / fitted[row["id"]] - 1) > 1e-9]
assert stale == [], ("run `make fit`: models, rows or the simulator changed", len(stale), stale[:5])
PY
}

@test "fit.txt says the scores of predictions.csv, and covariance.csv the constants of fit.txt" {
    python3 - <<'PY'
import csv, re, statistics
lines = list(csv.DictReader(open("tests/published/predictions.csv")))
text = open("tests/published/fit.txt").read()
def mean(column, wanted=lambda line: True):
    votes = {}
    for line in filter(wanted, lines):
        error = float(line[column]) / float(line["measured_step_s"]) - 1
        votes.setdefault((line["source"], line["config_key"]), []).append(abs(error))
    return len(votes), 100 * statistics.fmean(statistics.fmean(vote) for vote in votes.values())
for column, title in (("fitted_s", "fitted"), ("out_of_fold_s", "out of fold"),
                      ("source_left_out_s", "source left out")):
    for suffix, wanted in (("", lambda l: True), (", mixtures of experts", lambda l: l["kind"] == "moe")):
        said = re.search(r"^%s%s +(\d+) +([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+ +[+-]" % (title, suffix), text, re.M)
        votes, error = mean(column, wanted)
        assert int(said.group(1)) == votes and abs(float(said.group(2)) - error) < 0.00501, said.group(0)
constants = list(csv.DictReader(open("tests/published/covariance.csv")))
names = [constant["constant"] for constant in constants]
assert 20 < len(names) <= 70 and list(constants[0])[6:] == names
for number, constant in enumerate(constants):
    assert constant[names[number]] == "1.000"
    for other in constants:
        assert constant[other["constant"]] == other[constant["constant"]]
    name = re.escape(constant["constant"])
    said = re.search(r"^%s +\S+ +[\d.e+-]+(?: \S+)? +[\d.]+ +([\d.e+-]+)(?: \S+)? +[\d.]+ " % name, text, re.M)
    assert said is not None, constant["constant"]
    assert abs(float(said.group(1)) / float(constant["value"]) - 1) < 0.006, said.group(0)
PY
}

@test "models/validated.csv holds the errors of backtest.csv, as of the day" {
    python3 - <<'PY'
import csv, statistics
votes = {}
first = {}
assert [line["id"] for line in csv.DictReader(open("tests/published/backtest.csv"))] == \
       [line["id"] for line in csv.DictReader(open("tests/published/predictions.csv"))]
for line in csv.DictReader(open("tests/published/backtest.csv")):
    vote = (line["source"], line["config_key"])
    votes.setdefault(vote, []).append(float(line["measured_step_s"]) / float(line["source_left_out_s"]))
    first.setdefault(line["id"], vote)
fitted = {source for source, _ in votes}
seen = set()
for line in csv.DictReader(open("models/validated.csv")):
    if line["source"] in fitted:
        vote = first[line["id"]]
        assert abs(float(line["measured_over_predicted"]) - statistics.fmean(votes[vote])) < 1e-4, line
        seen.add(vote)
assert seen == set(votes), set(votes) - seen
PY
}

@test "of the constants none is on a bound, and each is told by five votes" {
    grep -q '^On a bound: none$' tests/published/fit.txt
    grep -q '^Moved by fewer than 5 votes .*: none$' tests/published/fit.txt
}
