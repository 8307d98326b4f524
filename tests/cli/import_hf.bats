# stoker import hf and `model: config.json`: models of Hugging Face as models of ours.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    data=tests/unit/data/import
    out=$BATS_TEST_TMPDIR
    scenario=scenarios/quickstart.yaml
}

# step_time MODEL: of the quickstart with that model.
step_time() {
    "$STOKER" run "$scenario" --no-db --json --set model="$1" 2> /dev/null |
        sed -n 's/^ *"step_time_s": \([^,]*\),*$/\1/p' | head -1
}

# 8,030,261,248 is the checkpoint's count.
@test "a config.json becomes a model file, with its parameters beside it" {
    run --separate-stderr "$STOKER" import hf "$data/llama3-8b/config.json" --name ours
    [ "$status" -eq 0 ]
    [[ "$output" == *"# 8030261248 parameters"* ]]
    [[ "$output" == *"model: ours"* ]]
    [[ "$output" == *"kv_heads: 8"* ]]
    [[ "$stderr" == *"8.03 B parameters (8030261248), of which a token meets 8.03 B"* ]]
}

@test "the imported file, the config.json and its folder run like the catalogue's model" {
    "$STOKER" import hf "$data/llama3-8b/config.json" --name ours > "$out/ours.yaml"
    expected=$(step_time llama3-8b)
    [ -n "$expected" ]
    [ "$(step_time "$out/ours.yaml")" = "$expected" ]
    [ "$(step_time "$data/llama3-8b/config.json")" = "$expected" ]
    [ "$(step_time "$data/llama3-8b/")" = "$expected" ]
}

@test "a scenario finds the config.json beside it" {
    mkdir "$out/llama"
    cp "$data/llama3-8b/config.json" "$out/llama/"
    sed 's|^model: .*|model: llama/config.json|' "$scenario" > "$out/scenario.yaml"
    expected=$(step_time llama3-8b)
    [ -n "$expected" ]
    scenario=$out/scenario.yaml
    [ "$("$STOKER" run "$scenario" --no-db --json |
        sed -n 's/^ *"step_time_s": \([^,]*\),*$/\1/p' | head -1)" = "$expected" ]
}

@test "experts, biases, sinks and windows are read" {
    "$STOKER" import hf "$data/gpt-oss-tiny/config.json" > "$out/gpt-oss-tiny.yaml"
    for line in 'model: gpt-oss-tiny' 'biases: true' 'sinks: true' 'rotary_scaled: true' 'mlp_clamped: true' 'window: 128' 'window_every: 2' \
        'experts: 32' 'experts_per_token: 4' 'router_biases: true'; do
        grep -qx "$line" "$out/gpt-oss-tiny.yaml"
    done
    "$STOKER" show "$out/gpt-oss-tiny.yaml" > /dev/null
    "$STOKER" show "$data/gpt-oss-tiny/config.json" > "$out/shown"
    grep -q 'experts: 32' "$out/shown"
}

@test "what is unknown is refused, and no other type is proposed" {
    echo '{"model_type": "llamma"}' > "$out/config.json"
    run "$STOKER" import hf "$out/config.json"
    [ "$status" -eq 3 ]
    [[ "$output" == *"config.json:1:16: error: model_type 'llamma' is not known, and this is no plain decoder"* ]]
    [[ "$output" != *"did you mean"* ]]
    run "$STOKER" import hf "$data/llama3-8b/config.json" --gpus 8
    [ "$status" -eq 2 ]
    [[ "$output" == *"--gpus says nothing to hf"* ]]
}

# The file that "did you mean 'qwen3'?" led to: 12.05 B of class defaults for Qwen3.5-27B, exit 0.
@test "a file that nests its shapes is not read as a class's defaults" {
    printf '%s\n' '{"model_type": "qwen3",' '"text_config": {"model_type": "qwen3_5_text", "hidden_size": 5120,' \
        '"num_hidden_layers": 64, "linear_num_key_heads": 16}}' > "$out/config.json"
    run "$STOKER" import hf "$out/config.json"
    [ "$status" -eq 3 ]
    [[ "$output" == *"config.json:2:16: error: missing key 'num_attention_heads'"* ]]
    echo '{"model_type": "qwen3"}' > "$out/config.json"
    run "$STOKER" import hf "$out/config.json"
    [ "$status" -eq 3 ]
    for key in num_hidden_layers hidden_size num_attention_heads intermediate_size vocab_size; do
        [[ "$output" == *"error: missing key '$key'"* ]]
    done
}

# check_total TYPE PUBLISHED SUM: of $out/ours.yaml, as `show` counts it: within 0.1 % of the sum by hand and of what is published
# as a count; what is published in billions ("7.8B") is rounded to its digits.
check_total() {
    local total
    total=$("$STOKER" show "$out/ours.yaml" --json | jq -r .derived.parameters)
    [ -n "$total" ] || return 1
    awk -v type="$1" -v published="$2" -v sum="$3" -v total="$total" '
    function far(value) { return value > total * 1.001 || value < total * 0.999 }
    BEGIN {
        digits = published ~ /[.]/ ? length(published) - index(published, ".") - 1 : 0
        wrong = published ~ /B$/ ? sprintf("%.*fB", digits, total / 1e9) != published : published != "-" && far(published)
        if (wrong || far(sum)) {
            printf "%s: %s, by hand %s, published %s\n", type, total, sum, published
            exit 1
        }
    }'
}

# 44 of the 55 types that were met in public, and 21 more.
@test "each type of decoder has the parameters that are published, by its config.json alone" {
    count=0
    while read -r type published _ sum json; do
        echo "$json" > "$out/config.json"
        "$STOKER" import hf "$out/config.json" --name ours > "$out/ours.yaml" 2> "$out/messages" || cat "$out/messages"
        check_total "$type" "$published" "$((sum))"
        count=$((count + 1))
    done < <(grep -v '^#' "$data/hf_types.txt")
    [ "$count" -eq 68 ]
}

@test "types of other layers are refused with these as the reason, at their model_type" {
    count=0
    while IFS=$'\t' read -r type json reason; do
        echo "$json" > "$out/config.json"
        run "$STOKER" import hf "$out/config.json"
        [ "$status" -eq 3 ]
        [[ "$output" == *"config.json:1:16: error: a $type cannot be read: it has $reason"* ]] || {
            echo "$output"
            return 1
        }
        count=$((count + 1))
    done < <(grep -v '^#' "$data/hf_refused.txt")
    [ "$count" -eq 14 ]
}

# Dense with layer norms, tied, with experts behind a dense layer, of a model that reads images.
@test "what is imported runs" {
    for type in stablelm granite deepseek_vl_v2 qwen3_vl; do
        grep "^$type " "$data/hf_types.txt" | cut -d ' ' -f 5- > "$out/config.json"
        "$STOKER" import hf "$out/config.json" --name "$type" > "$out/$type.yaml" 2> "$out/messages"
        run "$STOKER" run "$scenario" --no-db --json --set model="$out/$type.yaml" --set parallel.tp=2 --set recompute=full
        [ "$status" -eq 0 ] || {
            echo "$output"
            return 1
        }
    done
}
