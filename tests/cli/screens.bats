# Screens fit the terminal, and answer first.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    db=$BATS_FILE_TMPDIR/db # what one test predicted is not predicted again
    cat > "$work/quick.yaml" << 'END'
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
variants: [{name: small, set: {batch.global: 32}}, {name: as it is, set: {}}, {name: too large, set: {batch.micro: 16}}]
END
    sed '/^variants:/d' "$work/quick.yaml" > "$work/plain.yaml"
    sed '/^variants:/d' "$work/quick.yaml" > "$work/two.yaml"
    echo 'variants: [{name: tp 2, set: {}}, {name: tp 4, set: {parallel.tp: 4}}]' >> "$work/two.yaml"
}

# One screen of the list at a width.
screen() {
    local words=${1#[~!]} name
    for name in quick plain two; do
        words=${words//$name.yaml/$work/$name.yaml}
    done
    # What was predicted once is not predicted again at another width.
    case ${words%% *} in
    run | whatif | compare | sweep | search | quote | report) words+=" --db $db -q" ;;
    list) words+=" -q"; [[ $1 != *" runs" && $1 != *" studies" ]] || words+=" --db $db" ;;
    merge) cp "$db" "$work/first.db"; words="merge $work/first.db --db $work/all.db -q" ;;
    trace) words+=" -o $work/trace -q" ;;
    help) ;;
    *) words+=" -q" ;;
    esac
    # shellcheck disable=SC2086 # the list holds words
    COLUMNS=$2 "$STOKER" $words "${@:3}" 2> "$work/err"
}

# What is wrong with the screens in a folder, files of the name NUMBER.WIDTH whose first line is that
# of the list: lines above the width, but for those that one word makes so, a third of it (a path, a
# command to be copied); no answer in the first three; six words that come three times, numbers being alike.
faults() {
    python3 - "$1" << 'END'
import collections, os, re, sys

def wide(lines, width):
    for line in lines:
        if len(line) > width and line.strip() and max(map(len, line.split())) < width // 3:
            yield "%d wide: %s" % (len(line), line)

def repeated(lines):
    words, count = [], collections.Counter()
    for line in lines:
        cells = re.split("  +", line.strip()) + ([""] if line[:6].isspace() else [])
        for cell in cells:
            words += cell.split() + (["|"] if len(cells) > 1 or not cell else [])
    words = ["#" if re.fullmatch(r"[-+]?[\d.,:%()]+", word) else word for word in words]
    for i in range(len(words) - 5):
        phrase = words[i:i + 6]
        if "|" not in phrase and sum(bool(re.search("[a-z]", word)) for word in phrase) > 4:
            count[" ".join(phrase)] += 1
    for phrase, times in count.items():
        if times > 2:
            yield "%d times: %s" % (times, phrase)

ANSWER = ("(Free|Fastest|best|The best|Each at|Of [0-9]* assumed|[0-9]+ of [0-9]+ fabrics lose|"
          ".* costs least:|.* takes the fewest|does not fit: stage)")
for name in sorted(os.listdir(sys.argv[1])):
    width = int(name.split(".")[1])
    command, *lines = open(os.path.join(sys.argv[1], name)).read().split("\n")
    found = list(wide(lines, width))
    if command[0] == "!" and width > 40:
        said = [line for line in lines[:4] if re.match(ANSWER, line) and len(line.split()) > 6]
        found += [] if said else ["no answer"]
    if command[0] != "~" and width > 40:
        found += list(repeated(lines))
    for fault in found[:3]:
        print("%s, at %d: %s" % (command, width, fault))
END
}

@test "no line is wider than the page, what answers does so at once, no phrase comes three times" {
    mkdir "$work/screens"
    local number=0 command width
    while IFS= read -r command; do
        [[ $command != \#* ]] || continue
        number=$((number + 1))
        for width in 40 80 100 140; do
            # argp fills lines of 79, and a sum is not taken to pieces.
            [[ $command != *help" "* && $command != *explain* || $width -ge 80 ]] || continue
            echo "$command" > "$work/screens/$number.$width"
            screen "$command" "$width" >> "$work/screens/$number.$width" || [ $? -ge 3 ] ||
                { echo "$command fails: $(cat "$work/err")"; false; }
        done
        [ "$(wc -l < "$work/screens/$number.80")" -gt 1 ] || { echo "$command says nothing"; false; }
    done < tests/cli/screens.list
    [ "$number" -ge 64 ]
    run -0 faults "$work/screens"
    [ -z "$output" ] || { echo "$output"; false; }
}

# What is wrong with CSV, in a folder of NUMBER.csv and .json whose name is in the file NUMBER: cells of what
# JSON has as a number that are none, or another; columns without such a member of which a cell reads as a
# number and is none. How many columns were found in JSON is said at the end.
csv_faults() {
    python3 - "$1" << 'END'
import collections, csv, glob, json, re, sys

# As metrics and ends of ranges are called.
ALIKE = {"step_s": "step_time_s", "step_s_low": "step_least_s", "step_s_high": "step_most_s",
         "days_more_low": "days_p10", "days_more_high": "days_p90", "wins_share": "wins_days_share"}
SHOWN = re.compile(r"[-+]?[\d.,]+( ?(k|M|G|T|x|%|s|ms|us|days|GB|TB|MWh|kWh|USD|Gbps)|( [kMGT])? to [-+\d].*)?$")

def number(text):
    try:
        return float(text)
    except ValueError:
        return None

def members(node, path, found):
    if isinstance(node, dict):
        for key, value in node.items():
            members(value, path + [key], found)
    elif isinstance(node, list):
        for item in node:
            members(item, path, found)
    elif node is not None:
        found["_".join(path).replace(".", "_")].append(node)

matched = 0
for name in sorted(glob.glob(sys.argv[1] + "/*.csv")):
    command = open(name[:-4]).read().strip()
    heads, *rows = list(csv.reader(open(name, newline="")))
    found = collections.defaultdict(list)
    members(json.load(open(name[:-4] + ".json")), [], found)
    faults = [] if len(set(heads)) == len(heads) else ["heads are not told apart: %s" % heads]
    faults += [] if {len(row) for row in rows} <= {len(heads)} else ["rows of other lengths"]
    for column, head in enumerate(heads):
        cells = [row[column] for row in rows if row[column] != ""]
        keys = {key.replace(".", "_") for key in (head, ALIKE.get(head, head), head + "_text",
                re.sub("_low$", "_p10", head), re.sub("_high$", "_p90", head))}
        known = [value for path, values in found.items() for value in values
                 if any(path == key or path.endswith("_" + key) for key in keys)]
        numbers = {float(v) for v in known if isinstance(v, (int, float)) and not isinstance(v, bool)}
        texts = {v for v in known if isinstance(v, str)}
        if numbers and not texts:
            matched += 1
            faults += ["%s: %s is not JSON's" % (head, cell) for cell in cells if number(cell) not in numbers]
        else:
            faults += ["%s: %s is shown, not told" % (head, cell) for cell in cells
                       if cell not in texts and number(cell) is None and SHOWN.match(cell)]
    for fault in faults[:3]:
        print("%s: %s" % (command, fault))
print("%d columns" % matched)
END
}

@test "each number of a table is in CSV what it is in JSON" {
    mkdir "$work/tables"
    local number=0 command
    while IFS= read -r command; do
        [[ $command != \#* ]] || continue
        number=$((number + 1))
        screen "$command" 100 --format csv > "$work/csv" || [ $? -ge 3 ] || continue # none of its options
        mv "$work/csv" "$work/tables/$number.csv"
        echo "$command" > "$work/tables/$number"
        # The document has every metric.
        screen "${command% --metric *}" 100 --json > "$work/tables/$number.json" ||
            [ $? -ge 3 ] || { echo "$command: $(cat "$work/err")"; false; }
    done < tests/cli/screens.list
    run -0 csv_faults "$work/tables"
    [[ ${#lines[@]} -eq 1 && ${output% columns} -ge 100 ]] || { echo "$output"; false; }
}

@test "faults of CSV are found" {
    mkdir "$work/tables"
    echo '{"rows": [{"a_s": 1.5, "b": {"c": 2}, "name": "x"}, {"a_s": 3, "b": {"c": 4}, "name": "2 M"}]}' > "$work/tables/1.json"
    echo 'list x' > "$work/tables/1"
    printf '%s\r\n' a_s,b.c,name,range 1.5,2,x, 3,4,'2 M',0.1 > "$work/tables/1.csv"
    run -0 csv_faults "$work/tables"
    [ "$output" = "2 columns" ]
    printf '%s\r\n' a_s,c,name,range 1.5,2,x, "3 s",5,'3 M',"1.73 to 2.24" > "$work/tables/1.csv"
    run -0 csv_faults "$work/tables"
    [[ $output == *"a_s: 3 s is not JSON's"*"c: 5 is not"*"name: 3 M is shown"* ]]
}

@test "faults of screens are found" {
    mkdir "$work/screens"
    printf '%s\n' '!compare x' title blank blank 'Fastest: late' > "$work/screens/1.80"
    printf '%s\n' 'run x' 'a b c d e f g h i j k l m n o p q r s t u v w x y z' > "$work/screens/2.40"
    printf '%s\n' 'run y' 'that was measured on an H100, that was measured on an H100,' \
        'that was measured on an H100, so' > "$work/screens/3.80"
    run -0 faults "$work/screens"
    [ "${#lines[@]}" -ge 3 ]
    [[ $output == *"!compare x, at 80: no answer"*"run x, at 40: 51 wide"*"run y, at 80: 3 times"* ]]
}

@test "a file that is shown is read as the same on any page" {
    for file in scenarios/study-months.yaml scenarios/mixtral-8x7b-64.yaml; do
        run -0 --separate-stderr "$STOKER" show "$file" -q
        printf '%s\n' "$output" > "$work/wide.yaml"
        [[ $output == *"source: "????????????????????????????????????????????????????????????* ]]
        run -0 --separate-stderr env COLUMNS=40 "$STOKER" show "$file" -q
        printf '%s\n' "$output" > "$work/narrow.yaml"
        [ "$(wc -l < "$work/narrow.yaml")" -gt "$(wc -l < "$work/wide.yaml")" ]
        for name in wide narrow; do
            run -0 --separate-stderr "$STOKER" show "$work/$name.yaml" -q --json
            jq -S .document <<< "$output" > "$work/$name.json"
        done
        cmp "$work/wide.json" "$work/narrow.json"
    done
}

@test "the answer is a member of the document" {
    for command in whatif compare sweep search; do
        run -0 --separate-stderr "$STOKER" $command "$work/quick.yaml" --db "$work/db" -q --json
        jq -e '.answer | type == "string" and length > 20' <<< "$output"
    done
}

@test "a narrow page names what it leaves out, --wide has it" {
    run -0 --separate-stderr env COLUMNS=60 "$STOKER" compare scenarios/study-gpus.yaml --db "$work/db" -q
    [[ $output == *"not shown at 60 columns (--wide): "*"memory GB"* ]]
    run -0 --separate-stderr env COLUMNS=60 "$STOKER" compare scenarios/study-gpus.yaml --db "$work/db" -q --wide
    [[ $output != *"not shown"* && $output == *"memory GB"* ]]
}

# Each cell is its point's number of the document, 100 x mfu, of which the band allows no decimal; the largest has the star.
@test "two axes and one number a point are a matrix, the best marked" {
    sweep=("$STOKER" sweep "$work/plain.yaml" --axis batch.global=64,128,256 --axis batch.micro=1,2,8,3
        --db "$work/db" -q)
    "${sweep[@]}" --json > "$work/points.json" || [ $? -eq 5 ]
    "${sweep[@]}" --metric mfu > "$work/screen" || [ $? -eq 5 ]
    python3 - "$work/points.json" "$work/screen" << 'END'
import json, sys
cells = {}
for point in json.load(open(sys.argv[1]))["points"]:
    at = tuple(point["axes"][key]["text"] for key in ("batch.micro", "batch.global"))
    cells[at] = point["mfu"] if point["status"] == "ok" else None
best = max(value for value in cells.values() if value is not None)
lines = [line.split() for line in open(sys.argv[2])]
head = lines.index(["micro", "64", "128", "256"])
for line, micro in zip(lines[head + 1:], ["1", "2", "8", "3"]):
    told = {"8": "OOM", "3": "-"}
    values = [cells[micro, size] for size in ("64", "128", "256")]
    shown = [told[micro] if value is None else "%s%.0f" % ("*" if value == best else "", 100 * value)
             for value in values]
    assert line == [micro] + shown, (line, shown)
assert sum("*" in word for line in lines[head + 1:] for word in line) == 1
END
    grep -q '^no result: global 64, micro 8, OOM: .*; and 2 more' "$work/screen"
    # What a cell could not tell is a table: all of each point, the best of them, another number.
    for more in --wide "--format csv" "--top 3" --feasible "--sort mfu" "--metric days" "--require mfu>=0.1"; do
        # shellcheck disable=SC2086 # two words
        "${sweep[@]}" --metric mfu $more > "$work/screen" || [ $? -eq 5 ]
        run -1 grep -F '*' "$work/screen"
    done
    # Nor what has no room for all columns: the best may be in one that has not.
    axes=(--axis batch.global=64,128,192,256,320,384 --axis 'price.gpu_hour=1 USD,2 USD,3 USD,4 USD,5 USD,6 USD')
    run -0 --separate-stderr env COLUMNS=48 "$STOKER" sweep "$work/plain.yaml" "${axes[@]}" --metric mfu --db "$work/db" -q
    [[ $output == *"* the best"* && $output != *"not shown"* ]]
    run -0 --separate-stderr env COLUMNS=47 "$STOKER" sweep "$work/plain.yaml" "${axes[@]}" --metric mfu --db "$work/db" -q
    [[ $output != *"*"* ]]
    run -0 --separate-stderr "$STOKER" sweep "$work/plain.yaml" --axis batch.global=64,128 --metric mfu \
        --db "$work/db" -q
    [[ $output != *"*"* ]]
}
