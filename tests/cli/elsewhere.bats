# stoker works from any folder: the catalogue is found beside the program, or where it is installed,
# or the message lists every place where it was sought; a new results file says where it lies.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    root=$PWD
    scenario=$root/scenarios/quickstart.yaml
    work=$(realpath "$BATS_TEST_TMPDIR")
    unset STOKER_PATH
    expected=$(step_of "$STOKER")
    mkdir "$work/here"
    cd "$work/here"
}

step_of() {
    "$1" run "$scenario" --no-db --json | grep '"step_time_s"'
}

# A checkout with a built program.
make_checkout() {
    mkdir "$work/checkout"
    cp -r "$root/models" "$root/topologies" "$root/scenarios" "$work/checkout"
    cp "$STOKER" "$work/checkout/stoker"
}

@test "from another folder, the catalogue beside the program is taken" {
    make_checkout
    [ "$(step_of ../checkout/stoker)" = "$expected" ]
    ../checkout/stoker show model llama3-8b | grep -q 8,030,261,248
    [ "$(../checkout/stoker list scenarios | grep -c quickstart.yaml)" -eq 1 ]
}

@test "a program of one file has its catalogue inside" {
    [ -x "$root/build/stoker-static" ] || skip "make static was not run"
    cp "$root/build/stoker-static" "$work/here/one"
    run -1 ldd "$work/here/one"
    # Without a folder of ours in sight, and no right but to run.
    alone() { env -i "$work/here/one" "$@"; }
    [ "$(alone run quickstart --no-db -q --json | grep '"step_time_s"')" = "$expected" ]
    make_checkout
    many() { "$@" -q --json | jq '[.[] | arrays | length] | max'; }
    for list in models scenarios nics recipes; do
        [ "$(many alone list "$list")" -gt 10 ]
        [ "$(many alone list "$list")" -eq "$(many ../checkout/stoker list "$list")" ]
    done
    alone help moe | grep -q mixtral
    # Files beside it go before, and it says where it read.
    mkdir -p models/gpus
    sed 's/^gpu: .*/gpu: mine/' "$root/models/gpus/h100-sxm5-80gb.yaml" > models/gpus/mine.yaml
    alone list gpus | grep -q '^mine '
    run -4 alone run quickstart --no-db --set gpus=7
    [[ $output == *"<built-in>/"* ]]
}

@test "through a symbolic link on the PATH, too" {
    make_checkout
    mkdir "$work/bin"
    ln -s ../checkout/stoker "$work/bin/stoker"
    PATH=$work/bin:$PATH
    [ "$(step_of stoker)" = "$expected" ]
}

# DESTDIR moves the copy away from the PREFIX that was compiled in.
@test "an installed copy finds its own catalogue" {
    [ -x "$root/stoker" ] || skip "./stoker is not built"
    make -s -C "$root" -o stoker install DESTDIR="$work/away" PREFIX=/opt/stoker
    cp "$STOKER" "$work/away/opt/stoker/bin/stoker" # the one under test
    [ "$(step_of "$work/away/opt/stoker/bin/stoker")" = "$expected" ]
}

@test "without a catalogue, every place where it was sought is listed, and nothing is made" {
    [ ! -e /usr/local/share/stoker ] || skip "a catalogue is installed"
    mkdir -p "$work/alone/bin"
    cp "$STOKER" "$work/alone/bin/stoker"
    for what in "run $scenario" "sweep $root/scenarios/study-fabric-70b.yaml"; do
        # shellcheck disable=SC2086 # a command and its file
        run -3 --separate-stderr env STOKER_PATH=/nowhere "$work/alone/bin/stoker" $what \
            --catalogue /none
        [ -z "$output" ]
        help=$(grep 'catalogue has no software' <<< "$stderr")
        for place in /none /nowhere . "$work/alone/bin" "$work/alone/bin/../share/stoker" /usr/local/share/stoker; do
            [[ "$help" == *" $place/models/software"[\;,]* ]]
        done
        [[ "$help" == *STOKER_PATH* ]]
    done
    [ -z "$(ls)" ]
    run -0 --separate-stderr "$work/alone/bin/stoker" list gpus
    [[ "$stderr" == *"the catalogue has no models/gpus; looked for in ./models/gpus, "* ]]
}

@test "a table of runs is read with the rules of an installed catalogue, and not without any" {
    [ -x "$root/stoker" ] || skip "./stoker is not built"
    head -3 "$root/tests/published/runs.csv" > "$work/some.csv"
    make -s -C "$root" -o stoker install DESTDIR="$work/away" PREFIX=/opt/stoker
    cp "$STOKER" "$work/away/opt/stoker/bin/stoker" # the one under test
    run -0 --separate-stderr "$work/away/opt/stoker/bin/stoker" validate "$work/some.csv" --summary
    [[ "$output" == *"2 rows"* ]]
    [ ! -e /usr/local/share/stoker ] || skip "a catalogue is installed"
    rm "$work/away/opt/stoker/share/stoker/tests/published/rules.yaml"
    run -3 --separate-stderr "$work/away/opt/stoker/bin/stoker" validate "$work/some.csv" --summary
    [[ "$stderr" == *"error: the catalogue has no tests/published/rules.yaml, which says what a table of runs means"* ]]
    [[ "$stderr" == *"/../share/stoker/tests/published/rules.yaml"* ]]
}

# Where they are named, those are taken; --catalogue before STOKER_PATH, both before "here".
@test "--catalogue and STOKER_PATH name the catalogue" {
    mkdir -p "$work/alone" models/gpus
    cp "$STOKER" "$work/alone/stoker"
    for name in named path; do
        mkdir -p "$work/$name/models/gpus"
    done
    sed 's/^memory_bandwidth: .*/memory_bandwidth: 1 TB\/s/' "$root/models/gpus/h100-sxm5-80gb.yaml" \
        > "$work/named/models/gpus/h100-sxm5-80gb.yaml"
    cp "$root/models/gpus/h100-sxm5-80gb.yaml" "$work/path/models/gpus"
    echo 'gpu: [' > models/gpus/h100-sxm5-80gb.yaml
    STOKER_PATH=$work/path "$work/alone/stoker" show gpu h100-sxm5-80gb > from-path
    STOKER_PATH=$work/path "$work/alone/stoker" show gpu h100-sxm5-80gb --catalogue "$work/named" > from-named
    run -1 cmp -s from-path from-named
    run -3 "$work/alone/stoker" show gpu h100-sxm5-80gb
}

@test "a results file says where it lies when it is made, and only then" {
    make_checkout
    run -0 --separate-stderr ../checkout/stoker run "$scenario"
    [[ "$stderr" == *"results are stored in a new file, $work/here/results/stoker.db"* ]]
    run -0 --separate-stderr ../checkout/stoker run "$scenario"
    [[ "$stderr" != *"new file"* ]]
    run -0 --separate-stderr ../checkout/stoker sweep "$root/scenarios/study-fabric-70b.yaml" --db "$work/own.db"
    [[ "$stderr" == *"results are stored in a new file, $work/own.db"* ]]
    run -0 --separate-stderr ../checkout/stoker run "$scenario" -q --db quiet.db
    [ -z "$stderr" ]
}
