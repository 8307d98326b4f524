# Every printed sum of `stoker explain` is worked out anew, and its values are those that are predicted.

# The text of every scenario is asked for once; `explained` answers with it.
setup_file() {
    cd "$BATS_TEST_DIRNAME/../.."
    local stoker file
    stoker=$(realpath "${STOKER:-./stoker}")
    mkdir "$BATS_FILE_TMPDIR/texts"
    for file in scenarios/*.yaml; do
        "$stoker" explain -q "$file" > "$BATS_FILE_TMPDIR/texts/${file##*/}"
    done
    cat > "$BATS_FILE_TMPDIR/explained" << END
#!/bin/sh
case \$1 in explain) exec cat "$BATS_FILE_TMPDIR/texts/\${3##*/}" ;; esac
exec "$stoker" "\$@"
END
    chmod +x "$BATS_FILE_TMPDIR/explained"
}

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    export STOKER
}

sums() {
    tests/support/explain-sums "$@"
}

# At the time of writing 5277 sums and 906 values of 35 scenarios. Fewer by much would mean that the
# text changed its shape and that little is checked.
@test "all sums of all scenarios hold, and their values are those of run" {
    run sums "$BATS_FILE_TMPDIR/explained" scenarios/*.yaml
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" =~ ([0-9]+)\ sums\ hold,\ 0\ do\ not\;\ ([0-9]+)\ values\ agree,\ 0\ do\ not$ ]]
    [ "${BASH_REMATCH[1]}" -ge 4500 ]
    [ "${BASH_REMATCH[2]}" -ge 800 ]
}

@test "what kernels add up to is what was simulated, for every scenario" {
    for text in "$BATS_FILE_TMPDIR"/texts/*; do
        lines=$(grep -Ec '= [0-9.]+  ms; simulated [0-9.]+$' "$text")
        [ "$lines" -ge 3 ]
        awk -v file="$text" '/ms; simulated/ && $(NF - 3) != $NF {
            print file ": " $0
            bad = 1
        }
        END { exit bad }' "$text"
    done
}

# A printed sum: the number after "= " in the line that begins with a label.
value_of() {
    awk -v label="  $1 " 'index($0, label) == 1 && / = / && !seen++ {
        sub(/.* = /, "")
        gsub(/,/, "")
        print $1
    }' "$text"
}

@test "no step is shorter than its lower bounds" {
    for text in "$BATS_FILE_TMPDIR"/texts/*; do
        step=$(value_of 'the step')
        for bound in 'at the peak' 'compute only' 'scale-up port out' 'NIC out' 'leaf up-link'; do
            awk -v bound="$(value_of "$bound")" -v step="$step" 'BEGIN { exit !(bound <= step) }'
        done
    done
}

# Of what no scenario has: wrong diagnoses, hands, a degraded link, nodes that are repaired. Wrong
# figures are noticed.
@test "sums of failures and repairs hold" {
    local yaml=$BATS_TEST_TMPDIR/repairs.yaml
    sed '/^run:/r /dev/stdin' scenarios/quickstart.yaml > "$yaml" << 'END'
  drift: {per_day: 1 %}
  recovery: {spares: 4, hot_spares: 1, hands: 2, wrong_diagnosis: 10 %, slow: endure}
  failures:
    counts: hardware
    classes:
    - {name: port, of: nic, rate: {mttf: 4000 h}, effect: degrades, nic: 0.5, detected: slow, repair: 6 h}
    - {name: node, of: node, rate: {mttf: 16 days}, takes: node, repair: 1 days}
END
    run sums "$STOKER" "$yaml"
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" =~ ([0-9]+)\ sums\ hold,\ 0\ do\ not ]]
    for wrong in 's/^(  attempts to restart .*)0\.1\)/\10.2)/' 's/^(  repairs of node .*)0\.5/\10.6/' \
        's/^(  hands at work .*)2 hands/\13 hands/' 's/^(  port at a time .*)0\.384/\10.484/'; do
        printf '#!/bin/sh\nif [ "$1" = explain ]; then "%s" "$@" | sed -E '"'%s'"'; else exec "%s" "$@"; fi\n' \
            "$STOKER" "$wrong" "$STOKER" > "$BATS_TEST_TMPDIR/stoker"
        chmod +x "$BATS_TEST_TMPDIR/stoker"
        run sums "$BATS_TEST_TMPDIR/stoker" "$yaml"
        echo "$wrong"
        [ "$status" -eq 1 ]
    done
}

# The record is what the prediction was computed by: each sum is its value, whatever it is.
@test "recorded sums are the values that were predicted" {
    run sums --record "$STOKER" scenarios/{quickstart,gpt3-175b-1024,mixtral-8x7b-64}.yaml \
        scenarios/{deepseek-v3-2048,gpt-oss-120b-64}.yaml
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" =~ ([0-9]+)\ sums\ hold,\ 0\ do\ not ]]
    [ "${BASH_REMATCH[1]}" -ge 800 ]
}

# What a formula would print that was retyped wrongly: sed on the text stands for it. Of each, the
# first figure is of quickstart.
@test "one wrong figure in a formula is noticed" {
    local count=0
    while read -r wrong; do
        cat > "$BATS_TEST_TMPDIR/stoker" << END
#!/bin/sh
if [ "\$1" = explain ]; then "$STOKER" "\$@" | sed -E '$wrong'; else exec "$STOKER" "\$@"; fi
END
        chmod +x "$BATS_TEST_TMPDIR/stoker"
        run sums "$BATS_TEST_TMPDIR/stoker" scenarios/quickstart.yaml
        if [ "$status" -ne 1 ]; then
            echo "not noticed: $wrong"
            echo "$output"
            return 1
        fi
        count=$((count + 1))
    done << 'END'
s/^(  MLP  .*)3 x /\14 x /
s/^(  layers  .*)32 x /\131 x /
s/^(  forward . backward .*)3 x /\12 x /
s/^(  attention, full mask .*)\(2 x /\1(3 x /
s/^(  D, tokens per step .*) x 8,192/\1 x 8,191/
s/^(  GPU-hours .*)3,600 s/\13,610 s/
s/^(  weights  .*)x 2 B \+/\1x 4 B +/
s/^(  its optimizer states  .*)32 ranks/\131 ranks/
s/^(  total  .*)\+ 3/\1+ 4/
s/^(  rate of an SM  .*)132 SMs/\1131 SMs/
s/^(  energy  .*)3,600 s/\13,500 s/
s/^(  MFU  .*= )([0-9])/\11\2/
s/^(  wall-clock .*= )2/\13/
s/^(  scale-up, .*) x 0.82 /\1 x 0.92 /
s/^(  a rank sends  .*)32 ranks x /\131 ranks x /
s/^(  rounds in nodes  .*)31 steps/\132 steps/
s/^(  base  .*) 8.400 us/\1 8.500 us/
s/^(  a round between nodes .*)14 us/\115 us/
s/^(  latency  .*)24 rounds/\123 rounds/
s/^(  alone on the fabric .*)206.500 us \+/\1226.500 us +/
s/^(  alone on the fabric .*= )117\./\1118./
s/^(  queries  .*)2 B/\13 B/
s/^(  kept of the head  .*)1 norms/\12 norms/
s/^(  at work while .*)21,504/\122,504/
END
    [ "$count" -eq 24 ]
}
