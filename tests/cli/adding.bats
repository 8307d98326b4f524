# One of each kind is added to a copy of the sources by tests/adding/additions, which touches what the
# recipes of CONTRIBUTING.md name and nothing else. Then every command, document, completion and page
# is asked about it: what does not know of it has a second table.

bats_require_minimum_version 1.5.0

# The copy is built beside the objects that are there, without optimization: some 13 CPU seconds.
setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    build=$(make -s build-folder)
    copy=$BATS_FILE_TMPDIR/copy
    mkdir -p "$copy/$build"
    cp -a Makefile sim "$copy"
    for file in sim flags libstoker.list; do
        [ ! -e "$build/$file" ] || cp -a "$build/$file" "$copy/$build"
    done
    tests/adding/additions "$copy"
    touch -a "$copy/$build/flags"
    make -s -j2 -C "$copy" -o "$build/flags" CFLAGS=-O0 CPPFLAGS=-w "$build/stoker" > "$copy/made" 2>&1 ||
        { cat "$copy/made" >&2; return 1; }
    export DUMMY=$copy/$build/stoker
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    work=$BATS_TEST_TMPDIR
    cat > "$work/s.yaml" << 'END'
scenario: a small cluster
model: llama3-8b
cluster: h100-3200
gpus: 8
batch: {global: 64, micro: 1, sequence_length: 4096}
run: {tokens: 10B}
price: {gpu_hour: 2 USD}
END
}

# in_pages WORD: the manual, the reference and completion have it.
in_pages() {
    "$DUMMY" help --format markdown | grep -qF -- "$1"
    "$DUMMY" help --format bash | grep -qF -- "$1"
    for page in $("$DUMMY" help --format pages); do
        "$DUMMY" help --format man "$page" | sed 's/\\-/-/g'
    done | grep -qF -- "$1"
}

@test "a key" {
    in_pages run.dummy_wait
    [[ $("$DUMMY" help run.dummy_wait) == *"What dummies wait."* ]]
    "$DUMMY" list keys run.dummy --json | jq -ne 'input | .keys | length == 1'
    "$DUMMY" help --format json-schema stoker-scenario.5 |
        jq -ne 'input | [.. | .dummy_wait? // empty] | length > 0'
    [[ $("$DUMMY" show "$work/s.yaml") == *"dummy_wait: 0 s"* ]]
    run "$DUMMY" run "$work/s.yaml" --no-db -q --set run.dummy_wait=10
    [ "$status" -ne 0 ]
    [[ $output == *"needs a unit"* ]]
    run "$DUMMY" run "$work/s.yaml" --no-db -q --set run.dumy_wait=10
    [[ $output == *"did you mean 'dummy_wait'?"* ]]
    # It is among the assumptions, as one of months; and an axis with its unit.
    "$DUMMY" run "$work/s.yaml" --no-db -q --json |
        jq -ne 'input | .assumptions[] | select(.name == "run.dummy_wait") | .moves == null'
    "$DUMMY" sweep "$work/s.yaml" --axis 'run.dummy_wait=10 s,20 s' --no-db -q --plot lines:days \
        -o "$work/p" > /dev/null
    grep -q 'run.dummy_wait, s' "$work/p.csv"
    # Two runs that differ in it differ in no step: the band of their ratio does not widen.
    cp "$work/s.yaml" "$work/t.yaml"
    echo "variants: [{name: a}, {name: b, set: {run.dummy_wait: 10 s}}]" >> "$work/t.yaml"
    "$DUMMY" compare "$work/t.yaml" --no-db -q | grep -q '^b '
}

@test "a feature of a GPU" {
    in_pages has_dummies
    [[ $("$DUMMY" help gpu.has_dummies) == *"Whether the GPU has dummies."* ]]
    [[ $("$DUMMY" list keys gpu.has_dummies) == *gpu.has_dummies* ]]
    "$DUMMY" help --format json-schema stoker-gpu.5 | jq -ne 'input | [.. | .has_dummies? // empty] | length > 0'
    "$DUMMY" run "$work/s.yaml" --no-db -q --set gpu.has_dummies=true > /dev/null
    run "$DUMMY" run "$work/s.yaml" --no-db -q --set gpu.has_dummys=true
    [[ $output == *"did you mean"*has_dummies* ]]
    [[ $("$DUMMY" show gpu h100-sxm5-80gb) == *has_dummies* ]]
}

@test "a figure" {
    [[ $("$DUMMY" help --format bash) == *dummies_per_kwh* ]]
    "$DUMMY" list metrics | grep -q '^dummies_per_kwh  *dummies per kWh'
    "$DUMMY" run "$work/s.yaml" --no-db -q | grep -q 'dummies  *per kWh'
    "$DUMMY" run "$work/s.yaml" --db "$work/db" -q --json | jq -ne 'input | .run.dummies_per_kwh > 1e5'
    local sweep=("$DUMMY" sweep "$work/s.yaml" --axis batch.micro=1,2 --db "$work/db" -q)
    "${sweep[@]}" --metric dummies_per_kwh | grep -q 'dummies/kWh'
    "${sweep[@]}" --sort dummies_per_kwh --format csv --metric dummies_per_kwh | head -n 1 | grep -q dummies_per_kwh
    "${sweep[@]}" --json | jq -ne 'input | any(.points[]; .run.dummies_per_kwh > 1e5)'
    # A limit is a plain number, as its measure says; what it lacks is what its row needs.
    "${sweep[@]}" --require 'dummies_per_kwh>=1e5' | grep -q 'meets'
    run -2 "${sweep[@]}" --require 'dummies_per_kwh>=3 s'
    [[ $output == *"write it like dummies_per_kwh >= "* ]]
    sed '/^run:/d' "$work/s.yaml" > "$work/t.yaml"
    run -2 "$DUMMY" sweep "$work/t.yaml" --axis batch.micro=1,2 --no-db -q --require 'dummies_per_kwh>=1'
    [[ $output == *"run: {tokens: 1T} gives it one"* ]]
    "${sweep[@]}" --plot lines:dummies_per_kwh -o "$work/p" > /dev/null
    head -n 1 "$work/p.csv" | grep -q dummies_per_kwh_shown
    grep -q 'dummies per kWh' "$work/p.csv"
    echo "variants: [{name: a}, {name: b, set: {batch.global: 32}}]" >> "$work/s.yaml"
    "$DUMMY" compare "$work/s.yaml" --metric dummies_per_kwh --no-db -q | grep -q dummies/kWh
}

@test "a kind of plot" {
    "$DUMMY" list plots | grep -q '^dummy  *dummies of a metric'
    [[ $("$DUMMY" help --format bash) == *"choices['plot --kind']='"*" dummy "* ]]
    [[ $("$DUMMY" help --format bash) == *"choices['sweep --plot']='"*" dummy "* ]]
    for command in plot sweep compare search whatif; do
        [[ $("$DUMMY" $command --help | tr -s ' \n' '  ') == *" dummy,"* ]]
    done
    local sweep=("$DUMMY" sweep "$work/s.yaml" --axis batch.micro=1,2 --db "$work/db" -q)
    "${sweep[@]}" --plot dummy:days -o "$work/p" > /dev/null
    [ -s "$work/p.csv" ]
    "$DUMMY" plot last --db "$work/db" --kind dummy --metric mfu -q -o "$work/q" > /dev/null
    [ -s "$work/q.svg" ]
    run -2 "$DUMMY" plot last --db "$work/db" --kind dummy -x batch.micro
    [[ $output == *"-x has no meaning for dummy"* ]]
    run -2 "$DUMMY" plot last --db "$work/db" --kind dollars --metric mfu
    [[ $output == *"it is for "*dummy* ]]
    run "$DUMMY" plot last --db "$work/db" --kind dumy
    [[ $output == *"did you mean 'dummy'?"* ]]
}

@test "a command" {
    in_pages dummy
    "$DUMMY" help | grep -q '^ *dummy  *what dummies there are'
    [[ $("$DUMMY" help --format man stoker.1) == *"Says what dummies there are."* ]]
    [[ $("$DUMMY" help --format bash) == *"options[dummy]='--dummies "* ]]
    [[ $("$DUMMY" dummy --help) == *"--dummies"*"--json"* ]]
    [ "$("$DUMMY" dummy)" = "$(printf 'dummy\none')" ]
    [ "$("$DUMMY" dummy --format csv | tr -d '\r' | tail -n 1)" = one ]
    "$DUMMY" dummy --json | jq -ne 'input | .dummies[0].name == "one"'
    # One that fails and forgets to say why is told to have failed.
    run -1 "$DUMMY" dummy none
    [[ $output == *"this failed, and nothing said why"* ]]
    run -2 "$DUMMY" dummyy
    [[ $output == *"dummy"* ]]
}

@test "a cause" {
    "$DUMMY" list causes | grep -q '^dummy_idle  *idle dummies'
    "$DUMMY" list metrics | grep -q '^dummy_idle  *idle dummies, s'
    "$DUMMY" run "$work/s.yaml" --no-db -q --json | jq -ne 'input | .breakdown.dummy_idle == 0'
    local sweep=("$DUMMY" sweep "$work/s.yaml" --axis batch.micro=1,2 --db "$work/db" -q)
    "${sweep[@]}" --metric dummy_idle | grep -q 'idle dummies, s'
    "${sweep[@]}" --json | jq -ne 'input | any(.points[]; .breakdown.dummy_idle == 0)'
    "${sweep[@]}" --require 'dummy_idle<=3 s' | grep -q meets
    "${sweep[@]}" --plot causes -o "$work/p" > /dev/null
    head -n 1 "$work/p.csv" | grep -q dummy_idle
    "$DUMMY" explain "$work/s.yaml" --json | jq -ne 'input | [.. | .dummy_idle? // empty] | length > 0'
}
