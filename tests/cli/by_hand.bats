# Quantities that were worked out by hand, from how frameworks do it, and what is predicted.

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
}

# A value that is told otherwise is a finding that was not mended: fewer are better, more need an argument.
@test "bytes, FLOPs and memory of three frameworks are those worked out by hand" {
    run tests/support/by-hand "$STOKER" tests/published/by_hand.csv
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" =~ ([0-9]+)\ rows\ hold,\ 0\ do\ not,\ ([0-9]+)\ are\ told\ otherwise ]]
    [ "${BASH_REMATCH[1]}" -ge 156 ]
    [ "${BASH_REMATCH[2]}" -le 9 ]
}

@test "each row has a framework, a formula and an address" {
    run python3 - << 'END'
import csv
rows = list(csv.DictReader(open('tests/published/by_hand.csv', newline='')))
for row in rows:
    assert row['framework'] in ('Megatron-Core', 'FSDP2', 'DeepSpeed'), row
    assert row['formula'] and row['source'].startswith('https://'), row
assert len({(row['scenario'], row['sets'], row['where']) for row in rows}) == len(rows)
for name in ('Megatron-Core', 'FSDP2', 'DeepSpeed'):
    assert sum(row['framework'] == name for row in rows) >= 20, name
END
    echo "$output"
    [ "$status" -eq 0 ]
}

# The helper must be able to fail.
@test "a value that is off by a byte is told with its row" {
    cp -r tests/published/by_hand tests/published/by_hand.csv "$BATS_TEST_TMPDIR"
    sed -i '2s|,\([0-9]\{9,\}\),|,\11,|' "$BATS_TEST_TMPDIR/by_hand.csv"
    run tests/support/by-hand "$STOKER" "$BATS_TEST_TMPDIR/by_hand.csv"
    echo "$output"
    [ "$status" -eq 1 ]
    [[ "$output" =~ by_hand.csv:2:.*"1 do not" ]]
}
