# tests/run-checks, which counts all other tests, and the table of what they take.

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    work=$BATS_TEST_TMPDIR
}

# checks [NAME=VALUE]... PROGRAM...: without what bats tells bats.
checks() {
    local settings=()
    while [[ $1 == CHECK_* ]]; do settings+=("$1"); shift; done
    run env -i PATH="${PATH#*/libexec/bats-core:}" "${settings[@]}" tests/run-checks "$@"
}

# A test program of this name, as cmocka's are to whoever runs them.
program() {
    printf '#!/bin/bash\n%s\n' "$2" > "$work/$1"
    chmod +x "$work/$1"
}

@test "good, bad, dying and empty programs are counted, and the last line adds them up" {
    program good 'echo "[  PASSED  ] 3 test(s)."'
    program bad 'echo "[  PASSED  ] 2 test(s)."; echo " 1 FAILED TEST(S)"; echo why; exit 1'
    program dying 'echo "[       OK ] a"; kill -SEGV $$'
    program empty 'true'
    printf '@test "a" { true; }\n@test "b" { false; }\n@test "c" { skip; }\n' > "$work/some.bats"
    checks "$work"/{good,bad,dying,empty,some.bats}
    [ "$status" -eq 1 ]
    [[ $output == *"| why"*"no tests in this program"* || $output == *"no tests in this program"*"| why"* ]]
    [[ $output == *"crashed: signal 11"* ]]
    [ "${lines[-1]}" = "7 passed, 4 failed" ]
    checks "$work/good"
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "3 passed, 0 failed" ]
}

# Of wall time an idle machine's second may be a busy one's minute: only CPU time tells who computes
# for ever, and only wall time who waits for ever.
@test "who computes for ever is ended by CPU time, who waits for ever by wall time, and each is told" {
    program computes 'echo "[       OK ] a"; while :; do :; done'
    program waits 'sleep 600'
    checks CHECK_CPU_S=1 CHECK_WALL_S=600 "$work/computes"
    [ "$status" -eq 1 ]
    [[ $output == *"stopped: the limit of CPU time, 1 s (CHECK_CPU_S)"*"1 passed, 1 failed" ]]
    checks CHECK_CPU_S=100 CHECK_WALL_S=0.2 "$work/waits"
    [ "$status" -eq 1 ]
    [[ $output == *"stopped: the limit of wall time, 0.2 s (CHECK_WALL_S)"*"0 passed, 1 failed" ]]
}

# Two commands of 0.6 s: neither is at its limit of a second, both are.
@test "what the commands of a file of tests take is added up" {
    busy='python3 -c "import time
while time.process_time() < 0.6: pass"'
    printf '@test "two" { %s; %s; }\n' "$busy" "$busy" > "$work/two.bats"
    checks CHECK_CPU_S=1 "$work/two.bats"
    [ "$status" -eq 1 ]
    [[ $output == *"stopped: the limit of CPU time, 1 s (CHECK_CPU_S)"*"1 passed, 1 failed" ]]
    checks CHECK_CPU_S=100 "$work/two.bats"
    [ "$status" -eq 0 ]
}

# This machine takes twice as long, as three of five tests say: twice the seconds are the same work.
# `grows` takes 1.25 times as much, the part `tests` 2 and `lint` 1.5 times.
@test "CPU time is held against the table in what this machine takes for most tests" {
    printf '%s\n' '# comment' 'part tests 50 100' 'part lint 50 100' 'test a 10' 'test b 10' \
        'test c 10' 'test shrinks 10' 'test grows 10' > "$work/table"
    printf '%s\n' 'test a 20' 'test grows 25' 'test b 20' 'test c 20' 'test shrinks 2' \
        'part tests 1 400' 'part lint 1 300' > "$work/now"
    run tests/bench/seconds check "$work/now" "$work/table"
    [ "$status" -eq 1 ]
    [[ $output == *"tests take 2.00 times the CPU time"* ]]
    [[ $output == *"part tests "*" 2.00 times what was committed, DOUBLED"* ]]
    [[ $output == *"part lint "*" 1.50 times what was committed, grown"* ]]
    [[ $output == *"test grows "*" 1.25 times what was committed, grown"* ]]
    [[ $output != *"test a "* ]]
    sed -i 's/ 400$/ 398/' "$work/now"
    run tests/bench/seconds check "$work/now" "$work/table"
    [ "$status" -eq 0 ]
    # Tests that are twice what they were are found where no part was committed: 200 s to 50 at 2.
    sed -i '/^part/d' "$work/table"
    sed -i 's/^test grows 25/test grows 138/' "$work/now"
    run tests/bench/seconds check "$work/now" "$work/table"
    [ "$status" -eq 1 ]
    [[ $output == *"part tests "*"not committed"*"5 of 5 tests "*" 2.00 times what was committed, DOUBLED"* ]]
    # What was measured now is in the table afterwards.
    tests/bench/seconds update "$work/now" "$work/table"
    run tests/bench/seconds check "$work/now" "$work/table"
    [ "$status" -eq 0 ]
    [[ $output == *"part lint "*" 1.00 times what was committed"* ]]
}

# What a check found it says again; what it has looked at it leaves, until the file, what that includes,
# or how it is asked is another.
@test "a file that has not changed is not looked at again, and a finding never hides behind a stamp" {
    name=test-$BASHPID
    printf '#!/bin/sh\necho looked >> "%s"\n! grep -h bad "%s"/a.[ch]\n' "$work/log" "$work" > "$work/check"
    chmod +x "$work/check"
    # looks TIMES: so often it was looked at in all
    looks() {
        tests/lint/stamped "$name" "$work/a.c" "$work/check" "${@:2}" > "$work/found" || true
        [ "$(wc -l < "$work/log")" -eq "$1" ]
    }
    echo 'int good;' > "$work/a.h"
    echo '#include "a.h"' > "$work/a.c"
    looks 1 && looks 1
    echo 'int bad;' > "$work/a.h"
    for times in 2 3; do
        looks $times && grep -q bad "$work/found"
    done
    echo 'int good;' > "$work/a.h"
    looks 3 && looks 4 --more
    LINT_FLAGS="-include $work/none.h" looks 5 && LINT_FLAGS="-include $work/none.h" looks 6
    rm -r "build/lint/$name"
}
