# A title, a label or a file's name is somebody else's text: it never moves a terminal's cursor, never
# turns the direction of a line, and is no formula to a spreadsheet.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    export STOKER_PATH=$PWD
    cd "$BATS_TEST_TMPDIR"
    mkdir bin && printf '#!/bin/sh\nexit 1\n' > bin/gnuplot && chmod +x bin/gnuplot
    export PATH=$PWD/bin:$PATH # the data and scripts of plots are what is looked at
    # Red, a window's title, the C1 form of ESC [, and U+202E, behind which a line runs backwards.
    evil='=cmd\e[31mRED\e]0;t\a\x9b2J\u202egnp'
    for name in study:sweep plain: search:search; do
        cat > "${name%:*}.yaml" <<YAML
scenario: "$evil"
model: {model: "$evil", title: "$evil", layers: 8, hidden: 1024, ffn_hidden: 4096, heads: 16,
  vocab: 32000, max_positions: 4096, source: test}
cluster: h100-3200
gpus: 16
software: megatron-2025
parallel: {tp: 2, pp: 2, dp: auto, zero: 1}
batch: {global: 16, micro: 1, sequence_length: 2048}
run: {tokens: 1G, checkpoint: {every: 100 steps, mode: async}}
YAML
    done
    echo 'sweep: {cluster.network: [400 Gbps, 800 Gbps]}' >> study.yaml
    echo 'search: {parallel: {tp: [1, 2], pp: [1], zero: [1]}, batch: {micro: [1]}}' >> search.yaml
    { cat plain.yaml && printf 'variants:\n- {name: "%s"}\n- {name: "@%s", set: {parallel.tp: 1}}\n' \
        "$evil" "$evil"; } > compare.yaml
    mv plain.yaml "$(printf 'pl\e[31m\u202e.yaml')" # a name of a file, too
    plain=$(echo pl*.yaml)
}

# Nothing of what a command says holds ESC, BEL, CSI or U+202E.
clean() {
    local status=0
    "$STOKER" "$@" > out 2> err < /dev/null || status=$?
    [ -s out ] || [ -s err ]
    if LC_ALL=C grep -n $'\e\|\a\|\xc2\x9b\|\xe2\x80\xae' out err; then
        printf 'said by %q: status %s\n' "$*" "$status"
        return 1
    fi
    ((status <= 5 && status != 2)) || { echo "status $status"; cat err; return 1; }
}

@test "what commands say of titles and names holds no mark that moves a terminal's text" {
    clean run "$plain" --db r.db
    clean explain "$plain"
    clean whatif "$plain"
    clean show "$plain"
    clean plot pipeline "$plain" -o drawn
    clean plot power "$plain" -o power
    clean search search.yaml
    clean sweep study.yaml --db r.db
    clean sweep study.yaml --db r.db --format=csv
    clean sweep study.yaml --db r.db --format=md
    clean sweep study.yaml --db r.db --best=layout
    clean compare compare.yaml --db r.db
    clean plot last --db r.db -o last
    clean list runs --db r.db
    clean list studies --db r.db
    clean merge r.db --db merged.db
    clean run "$plain" --set "$(printf 'scenario=\e[31m')" --set "$(printf 'a\e[31m.b=1')" --no-db
    ! LC_ALL=C grep -n $'\e\|\a\|\xc2\x9b\|\xe2\x80\xae' ./*.csv ./*.gp || false
}

@test "a JSON document escapes them, and gives the title as it is" {
    for command in run explain whatif show; do
        clean $command "$plain" --json
        jq . out > /dev/null
    done
    clean sweep study.yaml --db r.db --json
    [ "$(jq -r .study.title out)" = "$(printf "=cmd\e[31mRED\e]0;t\a\u009b2J\u202egnp")" ]
}

@test "cells of CSV that a spreadsheet would compute begin with an apostrophe; numbers are numbers" {
    clean sweep compare.yaml --db r.db --format=csv
        grep -q "^'=cmd" out
    grep -q "^'@=cmd" out
    ! grep -Eq '(^|,)"?[=@]' out || false
    clean plot last --db r.db -o last
    ! grep -Eq '(^|,)"?[=@]' last.csv || false
    # Of the second variant, which is slower or faster, the difference is a number below or above 0.
    ! grep -Eq "(^|,)\"?'[-+]?[0-9.]+( %)?(,|$)" out || false
}
