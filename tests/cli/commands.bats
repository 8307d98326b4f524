# Commands, their help, their wrong use, and what they list and show.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    db=$BATS_TEST_TMPDIR/results.db
}

@test "without a command, the commands are listed on stderr and the status is 2" {
    run --separate-stderr "$STOKER"
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [[ "$stderr" == *"Usage: stoker COMMAND"* ]]
}

@test "--version prints one line" {
    run "$STOKER" --version
    [ "$status" -eq 0 ]
    [[ "$output" =~ ^stoker\ ([0-9.]+)\ \((commit\ [0-9a-f]{8}(-dirty)?,\ )?sources\ [0-9a-f]{8}\)$ ]]
    version=${BASH_REMATCH[1]}
    [[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]]
    # What is printed, what is built and what is described are one version; the document has the number
    # alone, as it is the same to the byte from the same sources.
    grep -qx "VERSION = $version" Makefile
    [ "$(grep -m1 '^## ' sim/CHANGES.md)" = "## $version" ]
    "$STOKER" run scenarios/quickstart.yaml --no-db -q --json | jq -ne --arg v "$version" 'input | .version == $v'
}

@test "every command that --help names has a --help of its own" {
    commands=$("$STOKER" list commands | awk 'NR > 1 { print $1 }')
    [ "$(wc -w <<< "$commands")" -ge 7 ]
    for command in $commands; do
        "$STOKER" --help | grep -q "^  $command "
        "$STOKER" "$command" --help | grep -q "^Usage: stoker $command "
        "$STOKER" help "$command" | grep -q "^Usage: stoker $command "
    done
}

@test "an unknown command is a usage error that names the nearest" {
    run "$STOKER" swep
    [ "$status" -eq 2 ]
    [[ "$output" == *"unknown command 'swep'"*"did you mean 'sweep'?"* ]]
}

@test "an unknown option, a missing file and too many files are usage errors" {
    run "$STOKER" run --banana scenarios/quickstart.yaml
    [ "$status" -eq 2 ]
    run "$STOKER" run
    [ "$status" -eq 2 ]
    [[ "$output" == *"a scenario file is needed"* ]]
    run "$STOKER" run scenarios/quickstart.yaml scenarios/quickstart.yaml
    [ "$status" -eq 2 ]
    run "$STOKER" run scenarios/quickstart.yaml --set banana
    [ "$status" -eq 2 ]
    run "$STOKER" run scenarios/quickstart.yaml --fold maybe
    [ "$status" -eq 2 ]
}

@test "list has a table and a document of each kind" {
    "$STOKER" run scenarios/quickstart.yaml --db "$db" > /dev/null
    for kind in $("$STOKER" list kinds | awk 'NR > 1 { print $1 }'); do
        "$STOKER" list "$kind" --db "$db" > "$BATS_TEST_TMPDIR/text"
        [ -s "$BATS_TEST_TMPDIR/text" ]
        "$STOKER" list "$kind" --db "$db" --json > "$BATS_TEST_TMPDIR/json"
        grep -q '"schema": "stoker.list/1"' "$BATS_TEST_TMPDIR/json"
        grep -q "\"$kind\": \[" "$BATS_TEST_TMPDIR/json"
    done
}

@test "list shows the parameters that are computed beside the advertised ones" {
    run "$STOKER" list models
    [ "$status" -eq 0 ]
    [[ "$output" == *llama3-405b*405.9*405.0* ]]
}

@test "list shows clusters with the Gbps of a node, as their names say" {
    for cluster in h100-400 h100-3200 v100-100; do
        "$STOKER" list clusters | grep "^$cluster " | grep -q " ${cluster##*-} Gbps "
    done
}

@test "an unknown kind to list names the nearest" {
    run "$STOKER" list modles
    [ "$status" -eq 2 ]
    [[ "$output" == *"did you mean 'models'?"* ]]
}

@test "show prints each kind of file, and a scenario whose text runs to the same result" {
    "$STOKER" show model llama3-8b | grep -q 8,030,261,248
    "$STOKER" show cluster h100-3200 | grep -q '3200 Gbps'
    "$STOKER" show gpu h100-sxm5-80gb > /dev/null
    "$STOKER" show software megatron-2024 > /dev/null
    "$STOKER" show scenarios/quickstart.yaml > "$BATS_TEST_TMPDIR/resolved.yaml"
    of() { "$STOKER" run "$1" --no-db --json | grep -E '"(step_time_s|mfu|key)"'; }
    [ "$(of "$BATS_TEST_TMPDIR/resolved.yaml")" = "$(of scenarios/quickstart.yaml)" ]
}

@test "show applies --set, and has a document" {
    "$STOKER" show scenarios/quickstart.yaml --set gpus=128 | grep -q '^gpus: 128$'
    run "$STOKER" show scenarios/quickstart.yaml --json
    [ "$status" -eq 0 ]
    [[ "$output" == *'"schema": "stoker.show/1"'* ]]
}

@test "what cannot be shown is an error" {
    run "$STOKER" show model lama3-8b
    [ "$status" -eq 3 ]
    [[ "$output" == *"did you mean 'llama3-8b'?"* ]]
    run "$STOKER" show modell llama3-8b
    [ "$status" -eq 2 ]
}

@test "explain shows the arithmetic, as text and as a document" {
    run "$STOKER" explain scenarios/quickstart.yaml
    [ "$status" -eq 0 ]
    [[ "$output" == *8,030,261,248* ]]
    run "$STOKER" explain scenarios/quickstart.yaml --json
    [ "$status" -eq 0 ]
    [[ "$output" == *'"schema": "stoker.explain/1"'* ]]
}
