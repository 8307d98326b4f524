# The printed scripts, run: by a Slurm of two nodes on this machine, and by GNU parallel over ssh to
# it. `make check-jobs` installs what that needs; it is no part of `make check`.

bats_require_minimum_version 1.5.0

setup_file() {
    export root=$BATS_TEST_DIRNAME/../..
    STOKER=$(realpath "${STOKER:-$root/stoker}")
    export STOKER STOKER_PATH=$root
    # What a shell, sbatch and parallel might take for their own.
    export odd="$BATS_FILE_TMPDIR/a 'b' \"c\" {} {.} {= exit =} \$HOME \`id\` #"
    mkdir -p "$odd"
    export study="the 'study' {.}.yaml"
    cat > "$odd/$study" << 'END'
scenario: GPT-3 on many
model: gpt3-175b
cluster: h100-3200
gpus: 1024
software: megatron-2024
parallel: {tp: 8, pp: 8, sequence_parallel: true}
batch: {global: 128, micro: 1, sequence_length: 2048}
sweep:
  cluster.network: [400 Gbps, 800 Gbps, 1600 Gbps, 3200 Gbps]
  recompute: [none, full]
  parallel.zero: [0, 1]
END
    export title="it's a \"title\" of {} \$HOME"
    cd "$odd"
    "$STOKER" sweep "$study" --set "scenario=$title" --db whole.db -q > /dev/null
    "$root/tests/support/store-rows" whole.db > whole.rows
    [ "$(grep -c '^point ' whole.rows)" -eq 16 ]
    unset STOKER_PATH SLURM_CONF
}

setup() {
    cd "$odd"
    export STOKER_PATH=$root
}

teardown_file() {
    [ ! -e "$BATS_FILE_TMPDIR/slurm/slurm.conf" ] || "$root/tests/many/slurm" stop "$BATS_FILE_TMPDIR/slurm"
    [ ! -e "$BATS_FILE_TMPDIR/ssh/sshd.pid" ] || kill "$(cat "$BATS_FILE_TMPDIR/ssh/sshd.pid")"
}

# A program in place of stoker: shard 2 fails at first, and what runs shard 3 is killed at first.
write_bad() {
    mkdir -p "$BATS_TEST_TMPDIR/bad"
    cat > "$BATS_TEST_TMPDIR/bad/stoker" << END
#!/bin/bash
marks=$BATS_TEST_TMPDIR/bad
case " \$* " in
*' --shard=2/4 '*) mkdir "\$marks/two" 2> /dev/null && exit 1 ;;
*' --shard=3/4 '*) mkdir "\$marks/three" 2> /dev/null && kill -9 \$PPID && exit 1 ;;
esac
exec $STOKER "\$@"
END
    chmod +x "$BATS_TEST_TMPDIR/bad/stoker"
}

assert_whole() {
    "$root/tests/support/store-rows" "$1" | diff whole.rows -
}

# ---- Slurm ----------------------------------------------------------------------------------

start_slurm() {
    export SLURM_CONF=$BATS_FILE_TMPDIR/slurm/slurm.conf
    [ -e "$SLURM_CONF" ] || "$root/tests/many/slurm" start "$BATS_FILE_TMPDIR/slurm" 3>&-
}

# Until no job is left; a job that ends may have submitted another.
wait_for_jobs() {
    for _ in $(seq 300); do
        [ -n "$(squeue -h 2> /dev/null)" ] || return 0
        sleep 0.2
    done
    squeue
    return 1
}

@test "Slurm: the array and the merge behind it give the rows of one run" {
    start_slurm
    "$STOKER" sweep "$study" --set "scenario=$title" --slurm=4 --db 'out 1.db' > 'a script.sbatch'
    bash -n 'a script.sbatch'
    STOKER='' sbatch 'a script.sbatch'
    wait_for_jobs
    cat stoker-*.out
    assert_whole 'out 1.db'
    rm stoker-*.out
}

@test "Slurm: from a login node, shards that fail or are killed are run again" {
    start_slurm
    write_bad
    "$STOKER" sweep "$study" --set "scenario=$title" --slurm=4 --db out2.db > "$BATS_TEST_TMPDIR/two.sbatch"
    # The script need not be in the folder it works in.
    cd /
    run env STOKER="$BATS_TEST_TMPDIR/bad/stoker" bash "$BATS_TEST_TMPDIR/two.sbatch"
    [ "$status" -eq 0 ]
    [[ $output == "submitted: job "*", and the merge behind it" ]]
    wait_for_jobs
    cd "$odd"
    [ -d "$BATS_TEST_TMPDIR/bad/two" ]
    [ -d "$BATS_TEST_TMPDIR/bad/three" ]
    cat stoker-*.out
    grep -h 'run again, after try 1 of 3: shards 2,3$' stoker-*.out
    rm -f stoker-*.out
    assert_whole out2.db
}

@test "Slurm: shards that fail for good are told, and the others merged" {
    start_slurm
    "$STOKER" sweep "$study" --set "scenario=$title" --slurm=4 --db out3.db > three.sbatch
    cat > "$BATS_TEST_TMPDIR/stoker" << END
#!/bin/bash
case " \$* " in *' --shard=2/4 '*) exit 1 ;; esac
exec $STOKER "\$@"
END
    chmod +x "$BATS_TEST_TMPDIR/stoker"
    STOKER=$BATS_TEST_TMPDIR/stoker sbatch three.sbatch
    wait_for_jobs
    grep -h 'run again, after try 2 of 3: shards 2$' stoker-*.out
    grep -h 'these shards have failed: 2$' stoker-*.out
    grep -h ' 4 are missing and 0 failed: numbers ' stoker-*.out
    rm -f stoker-*.out
    [ "$("$root/tests/support/store-rows" out3.db | grep -c '^point ')" -eq 12 ]
}

# ---- GNU parallel -----------------------------------------------------------------------------

start_sshd() {
    local ssh=$BATS_FILE_TMPDIR/ssh
    [ ! -e "$ssh/config" ] || return 0
    mkdir -p "$ssh" /run/sshd
    ssh-keygen -q -t ed25519 -N '' -f "$ssh/host"
    ssh-keygen -q -t ed25519 -N '' -f "$ssh/user"
    cp "$ssh/user.pub" "$ssh/authorized"
    chmod 600 "$ssh/authorized"
    cat > "$ssh/sshd_config" << END
Port 2222
ListenAddress 127.0.0.1
HostKey $ssh/host
AuthorizedKeysFile $ssh/authorized
PidFile $ssh/sshd.pid
StrictModes no
UsePAM no
END
    cat > "$ssh/config" << END
Host one two
    HostName 127.0.0.1
    Port 2222
    IdentityFile $ssh/user
    IdentitiesOnly yes
    UserKnownHostsFile /dev/null
    StrictHostKeyChecking no
    LogLevel ERROR
END
    /usr/sbin/sshd -f "$ssh/sshd_config" 3>&-
    for _ in $(seq 50); do
        ssh -F "$ssh/config" one true && return 0
        sleep 0.1
    done
    return 1
}

@test "GNU parallel: on this machine, the rows of one run" {
    "$STOKER" sweep "$study" --set "scenario=$title" --parallel=4 --db 'out 4.db' > 'p 4.sh'
    run sh 'p 4.sh'
    echo "$output"
    [ "$status" -eq 0 ]
    assert_whole 'out 4.db'
    [ "$(awk 'NR > 1 { print $7 }' 'out 4.db'.shards-*/joblog | sort | uniq -c | tr -s ' ')" = " 4 0" ]
}

@test "GNU parallel: over ssh to two hosts, shards that fail or are killed are run again" {
    start_sshd
    write_bad
    "$STOKER" sweep "$study" --set "scenario=$title" --parallel=4 --db 'out 5.db' |
        sed "s|$STOKER|$BATS_TEST_TMPDIR/bad/stoker|" > p5.sh
    run sh p5.sh --ssh "ssh -F $BATS_FILE_TMPDIR/ssh/config" -S one,two
    echo "$output"
    [ "$status" -eq 0 ]
    [ -d "$BATS_TEST_TMPDIR/bad/two" ]
    [ -d "$BATS_TEST_TMPDIR/bad/three" ]
    assert_whole 'out 5.db'
    awk 'NR > 1 { print $2 }' 'out 5.db'.shards-*/joblog | sort -u > hosts
    [ "$(tr '\n' ' ' < hosts)" = "one two " ]
}

# ---- validate -----------------------------------------------------------------------------------

@test "validate: both scripts print what one run prints" {
    start_slurm
    { head -1 "$root/tests/published/runs.csv"; awk 'NR % 17 == 2' "$root/tests/published/runs.csv"; } > 'r 1.csv'
    "$STOKER" validate 'r 1.csv' --json -q > one.json
    "$STOKER" validate 'r 1.csv' --json --parallel=3 > v.sh
    sh v.sh > joined.json
    cmp one.json joined.json
    rm -r results
    "$STOKER" validate 'r 1.csv' --json --slurm=3 > v.sbatch
    sbatch v.sbatch
    wait_for_jobs
    cmp one.json stoker-*_0.out
}
