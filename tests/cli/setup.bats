# tests/setup where it may not install anything. (.ci/run runs it where it may.)

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    bin=$BATS_TEST_TMPDIR/bin
    mkdir "$bin"
    for program in sh dirname getconf tr; do
        ln -s "$(command -v "$program")" "$bin"
    done
    stub id 'echo 1000'
    stub apt-get 'echo "apt-get $*" >> "$BATS_TEST_TMPDIR/calls"'
}

# A program of this name on the only PATH that setup sees.
stub() {
    printf '#!/bin/sh\n%s\n' "$2" > "$bin/$1"
    chmod +x "$bin/$1"
}

@test "neither root nor sudo: the whole command is printed, and nothing else is tried" {
    stub dpkg-query 'exit 1'
    run -1 --separate-stderr env PATH="$bin" sh tests/setup test
    command=$(grep '^    ' <<< "$stderr")
    [[ $command == "    apt-get update && apt-get install -y --no-install-recommends build-essential "* ]]
    for package in libgsl-dev gnuplot-nox libcmocka-dev bats jq git clang-tidy; do
        [[ " $command " == *" $package "* ]]
    done
    [[ $stderr == *"sh tests/setup test"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/calls" ]
}

@test "only what is missing is asked for, through sudo where there is one" {
    stub dpkg-query 'case $4 in jq) exit 1 ;; esac; echo installed'
    stub sudo 'exec "$@"'
    stub env 'shift; exec "$@"'
    run -0 env PATH="$bin" sh tests/setup check
    [[ $output == *"missing for build and tests: jq"* ]]
    grep -q ' update$' "$BATS_TEST_TMPDIR/calls"
    grep -q ' install -y --no-install-recommends jq$' "$BATS_TEST_TMPDIR/calls"
}

@test "where all is installed, nothing is said" {
    stub dpkg-query 'echo installed'
    run -0 env PATH="$bin" sh tests/setup check
    [ -z "$output" ]
}
