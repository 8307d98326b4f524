# What one build predicted is never taken for another's: keys, list, merge, compare.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
    db=$work/results.db
    { cat scenarios/quickstart.yaml; echo 'sweep: {batch.micro: [1, 2]}'; } > "$work/study.yaml"
}

# A stoker that was built from other sources: the 16 digits that name them are others.
other_build() {
    id=$("$STOKER" run "$work/study.yaml" --no-db -q --json | sed -n 's/^ *"build": "\(.*\)",$/\1/p')
    [[ $id =~ ^[0-9a-f]{16}$ ]]
    other=$(tr '0-9a-f' '1-9a-f0' <<< "$id")
    LC_ALL=C sed "s/$id/$other/g" "$STOKER" > "$work/other"
    chmod +x "$work/other"
    [[ "$("$work/other" --version)" == "stoker "*"sources ${other:0:8})" ]]
}

# A copy of what names a build, in another folder.
copy_sources() {
    mkdir -p "$work/copy"
    cp -r Makefile sim "$work/copy"
}

# In a folder; nothing of a `make check` around this test is passed on.
build_id() {
    env -u MAKEFLAGS -u MAKELEVEL make -s --no-print-directory -C "$@" build-id
}

@test "a build is named by its sources: not by folder, compiler or number of processes" {
    id=$(build_id .)
    [[ $id =~ ^[0-9a-f]{16}$ ]]
    copy_sources
    [ "$(build_id "$work/copy" -j 3 CC=clang MODE=asan)" = "$id" ]
    touch "$work/copy"/sim/*/*.c # of another time
    [ "$(build_id "$work/copy")" = "$id" ]
    # One digit of one formula; a file more; two names exchanged.
    sed -i '0,/1000\.0/s//1000.1/' "$work/copy/sim/run/money.c"
    ! cmp -s sim/run/money.c "$work/copy/sim/run/money.c" || false
    [ "$(build_id "$work/copy")" != "$id" ]
    copy_sources
    echo > "$work/copy/sim/base/new.h"
    [ "$(build_id "$work/copy")" != "$id" ]
    rm "$work/copy/sim/base/new.h"
    [ "$(build_id "$work/copy")" = "$id" ]
    cp sim/base/rng.h "$work/copy/sim/base/host.h"
    cp sim/base/host.h "$work/copy/sim/base/rng.h"
    [ "$(build_id "$work/copy")" != "$id" ]
}

# The commit, in a folder: what `stoker --version` says of it.
commit_id() {
    env -u MAKEFLAGS -u MAKELEVEL make -s --no-print-directory -C "$1" commit-id
}

# The same sources have the same results, whatever a commit changed beside them: 8 digits of the
# commit, and whether files differ from it, are told by --version, and name no build.
@test "the commit is told where there is git, and none of whoever's repository lies around it" {
    copy_sources
    git() { command git -C "$work/copy" -c user.name=a -c user.email=a@b.c "$@"; }
    build=$(build_id "$work/copy")
    command git init -q "$work" # around the copy
    [ -z "$(commit_id "$work/copy")" ]
    git init -q
    git add Makefile sim
    git commit -q -m one
    [ "$(commit_id "$work/copy")" = "$(git rev-parse --short=8 HEAD)" ]
    echo >> "$work/copy/sim/README.md"
    [ "$(commit_id "$work/copy")" = "$(git rev-parse --short=8 HEAD)-dirty" ]
    first=$(git rev-parse HEAD)
    git commit -q -a -m two
    [ "$first" != "$(git rev-parse HEAD)" ]
    [ "$(commit_id "$work/copy")" = "$(git rev-parse --short=8 HEAD)" ]
    [ "$(build_id "$work/copy")" = "$build" ]
}

@test "a sweep of another build is computed again and stored beside the first" {
    "$STOKER" sweep "$work/study.yaml" --db "$db" > "$work/first" 2> "$work/err"
    grep -q '(0 reused)' "$work/err"
    other_build
    "$work/other" sweep "$work/study.yaml" --db "$db" > "$work/second" 2> "$work/err"
    grep -q '2 points: 2 ok, 0 infeasible, 0 failed (0 reused)' "$work/err"
    cmp "$work/first" "$work/second" # no key is printed
    # Each finds its own again.
    "$STOKER" sweep "$work/study.yaml" --db "$db" 2>&1 > /dev/null | grep -q '(2 reused)'
    "$work/other" sweep "$work/study.yaml" --db "$db" 2>&1 > /dev/null | grep -q '(2 reused)'
    [ "$("$STOKER" list runs --db "$db" --json | grep -c "\"build\": \"$id\"")" -eq 2 ]
    [ "$("$STOKER" list runs --db "$db" --json | grep -c "\"build\": \"$other\"")" -eq 2 ]
    [ "$("$STOKER" list studies --db "$db" | grep -Ec " (${id:0:8}|${other:0:8}) ")" -eq 2 ]
}

# The other build's step times are made 8 / 7 of what they are: ours lie 12.5 % below.
@test "compare and sweep tell what another build predicted of the same scenarios" {
    other_build
    run --separate-stderr "$STOKER" compare "$work/study.yaml" --db "$db"
    [[ $stderr != *"another build"* ]]
    "$work/other" compare "$work/study.yaml" --db "$db" -q > /dev/null
    python3 - "$db" "$other" <<'PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
assert db.execute("UPDATE run SET step_s = step_s * 8 / 7 WHERE build = ?", sys.argv[2:]).rowcount == 2
db.commit()
PY
    run --separate-stderr "$STOKER" compare "$work/study.yaml" --db "$db"
    [ "$status" -eq 0 ]
    [[ $stderr == *"another build, ${other:0:8}, predicted 2 of these, too: the step times of this one are -12.5 to -12.5 % off"* ]]
    "$STOKER" compare "$work/study.yaml" --db "$db" --json -q > "$work/json"
    python3 - "$work/json" "$id" "$other" <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
assert document["build"] == sys.argv[2]
(other,) = document["other_builds"]
assert other["build"] == sys.argv[3] and other["runs"] == 2
assert abs(other["step_change_min"] + 0.125) < 1e-9 and abs(other["step_change_max"] + 0.125) < 1e-9
PY
    # Other scenarios than those: nothing to tell.
    run --separate-stderr "$STOKER" compare "$work/study.yaml" --db "$db" --set seed=9
    [[ $stderr != *"another build"* ]]
}

@test "plot warns of two builds in one picture" {
    other_build
    "$STOKER" sweep "$work/study.yaml" --db "$db" -q > /dev/null
    "$work/other" sweep "$work/study.yaml" --db "$db" -q > /dev/null
    mapfile -t keys < <("$STOKER" list studies --db "$db" | awk 'NR > 1 { print $1 }')
    run "$STOKER" plot "${keys[@]}" --db "$db" -o "$work/p"
    [[ $output == *"study ${keys[0]} was predicted by build ${id:0:8}, study ${keys[1]} by build ${other:0:8}"* ]]
    run "$STOKER" plot "${keys[0]}" "${keys[0]}" --db "$db" -o "$work/p"
    [[ $output != *"was predicted by build"* ]]
}

# ---- merge --------------------------------------------------------------------------------

@test "merge puts files together, says of which builds, and may be repeated" {
    other_build
    "$STOKER" sweep "$work/study.yaml" --db "$work/a.db" -q > /dev/null
    "$STOKER" run scenarios/quickstart.yaml --seed 3 --db "$work/b.db" -q > /dev/null
    "$work/other" sweep "$work/study.yaml" --db "$work/c.db" -q > /dev/null
    run "$STOKER" merge "$work/a.db" "$work/b.db" --db "$db"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "$db: 3 runs (3 new), 1 studies (1 new)" ]
    [ "${lines[1]}" = "runs of 1 build: ${id:0:8} (3)" ]
    run "$STOKER" merge "$work/a.db" "$work/c.db" --db "$db"
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "$db: 5 runs (2 new), 2 studies (1 new)" ]
    [[ ${lines[1]} == "runs of 2 builds: "* ]]
    [[ ${lines[1]} == *" ${id:0:8} (3)"* ]]
    [[ ${lines[1]} == *" ${other:0:8} (2)"* ]]
    before=$(sqlite_dump "$db")
    run "$STOKER" merge "$work/c.db" "$db" "$work/a.db" --db "$db" --json # also into itself
    [ "$status" -eq 0 ]
    [[ $output == *'"schema": "stoker.merge/1"'*'"runs": 5,'*'"runs_new": 0,'* ]]
    [ "$(sqlite_dump "$db")" = "$before" ]
    # What was merged is reused.
    "$STOKER" sweep "$work/study.yaml" --db "$db" 2>&1 > /dev/null | grep -q '(2 reused)'
}

# Every row of every table.
sqlite_dump() {
    python3 -c 'import sqlite3, sys; print("\n".join(sorted(sqlite3.connect(sys.argv[1]).iterdump())))' "$1"
}

@test "merge refuses values that contradict, and names that are wrong, and changes nothing" {
    "$STOKER" sweep "$work/study.yaml" --db "$work/a.db" -q > /dev/null
    cp "$work/a.db" "$work/b.db"
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1]); db.execute("UPDATE run SET mfu = mfu / 2"); db.commit()' "$work/b.db"
    "$STOKER" merge "$work/a.db" --db "$db" > /dev/null
    before=$(sqlite_dump "$db")
    run "$STOKER" merge "$work/b.db" --db "$db"
    [ "$status" -eq 1 ]
    [[ $output == *"is stored already, with other values of mfu"*"it was met in $work/b.db"* ]]
    [ "$(sqlite_dump "$db")" = "$before" ]
    run "$STOKER" merge "$work/none.db" "$work/a.db" --db "$work/new.db"
    [ "$status" -eq 1 ]
    [[ $output == *"there is no results file $work/none.db"* ]]
    [ ! -e "$work/new.db" ]
    run "$STOKER" merge --db "$db"
    [ "$status" -eq 2 ]
}

# An overflow of the stack or of a buffer ends the program, and no table of addresses can be written to.
@test "the program is built and linked as Debian's are" {
    [[ $STOKER != *-asan/* ]] || skip "the sanitizers check more"
    nm -D --undefined-only "$STOKER" > "$work/asked"
    grep -q ' __stack_chk_fail' "$work/asked"
    grep -q ' __[a-z]*_chk' "$work/asked"
    readelf -dW "$STOKER" | grep -Eq 'BIND_NOW|FLAGS_1.*NOW'
    readelf -lW "$STOKER" | grep -q GNU_RELRO
}
