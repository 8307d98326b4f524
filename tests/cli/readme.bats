# Every command in the README runs.

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
}

# The commands of the blocks marked sh, one a line.
readme_commands() {
    awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' README.md
}

@test "the README has commands, and the two of a fresh machine exist" {
    [ "$(readme_commands | wc -l)" -ge 7 ]
    grep -q '^sh tests/setup demo ' README.md
    grep -q '^sh tests/setup test ' README.md
    [ -f tests/setup ]
}

@test "every command of the README succeeds" {
    mkdir -p "$work/results"
    for entry in README.md models topologies scenarios tests sim Makefile; do
        ln -s "$PWD/$entry" "$work/$entry"
    done
    ln -s "$(realpath "$STOKER")" "$work/stoker"
    cd "$work"
    readme_commands > commands
    while read -r command; do
        echo "$command"
        if [[ $command == *plot* ]] && ! command -v gnuplot > /dev/null; then
            continue
        fi
        bash -c "$command" > output 2>&1 < /dev/null || { cat output; false; }
    done < commands
}
