# stoker calibrate attention: a GPU's section `attention` from measured rates.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
    head -1 tests/published/attention.csv > "$work/rows.csv"
}

@test "the section that a fit prints is one that a GPU file can have" {
    grep '^h100-sxm5-80gb,fa2' tests/published/attention.csv >> "$work/rows.csv"
    "$STOKER" calibrate attention "$work/rows.csv" > "$work/section.yaml"
    grep -q 'provenance: fitted' "$work/section.yaml"
    sed '/^attention:/,$d' models/gpus/h100-sxm5-80gb.yaml > "$work/mine.yaml"
    sed -i 's/^gpu: .*/gpu: mine/' "$work/mine.yaml"
    cat "$work/section.yaml" >> "$work/mine.yaml"
    "$STOKER" show gpu "$work/mine.yaml" > /dev/null
}

@test "--check fits nothing and --json says how well it is" {
    # Every row but the one that names the columns, once.
    rows=$(($(wc -l < tests/published/attention.csv) - 1))
    "$STOKER" calibrate attention tests/published/attention.csv --check --json > "$work/json"
    [ "$(jq '[.fits[].errors.rows] | add' "$work/json")" -eq "$rows" ]
}

# fa2 of the A100 stands on both sides of another GPU's rows.
@test "rows that are not adjacent are of one section" {
    grep '^a100-sxm4-80gb,fa2' tests/published/attention.csv > "$work/mine"
    { head -9 "$work/mine"; grep '^h100-sxm5-80gb,fa3' tests/published/attention.csv
      tail -n +10 "$work/mine"; } >> "$work/rows.csv"
    "$STOKER" calibrate attention "$work/rows.csv" --check --json > "$work/json"
    jq -e --argjson rows "$(wc -l < "$work/mine")" '(.fits | length) == 2 and
        .fits[0].gpu == "a100-sxm4-80gb" and .fits[0].errors.rows == $rows' "$work/json"
}

@test "what is wrong with a field is said with its place, and the status is 3" {
    echo >> "$work/rows.csv" # a blank line counts as one
    echo 'h100-sxm5-80gb,fa9,forward,no,1,16,16,0.5,128,,x' >> "$work/rows.csv"
    run --separate-stderr -3 "$STOKER" calibrate attention "$work/rows.csv"
    [[ $stderr == *"rows.csv:3:16: error: attention is 'fa9'"* ]]
    [[ $stderr == *"rows.csv:3:39: error: length is '0.5'"* ]]
}

@test "two rows say too little" {
    grep '^h100-sxm5-80gb,fa3' tests/published/attention.csv | head -2 >> "$work/rows.csv"
    run --separate-stderr -3 "$STOKER" calibrate attention "$work/rows.csv"
    [[ $stderr == *"2 rows, and three at least"* ]]
}

@test "rows that contradict each other are refused: status 1 and the figures" {
    # The same rows at r and at 3 r: whatever is predicted, half of them are off by 50 % or more.
    head -n 10 tests/published/attention.csv > "$work/rows.csv"
    tail -n +2 "$work/rows.csv" | awk -F, -v OFS=, '{$11 = $11 / 3; print}' >> "$work/rows.csv"
    run -1 --separate-stderr "$STOKER" calibrate attention "$work/rows.csv"
    [[ $stderr == *"nothing is fitted: the "*" rows of a100-sxm4-80gb, fa2, are off by "*" %"*"the limit is 10 %"* ]]
    [[ $output != *"forward:"* && $output == *"# not fitted: "* ]]
}
