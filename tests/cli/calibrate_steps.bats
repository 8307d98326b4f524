# stoker calibrate steps: constants of software profiles from measured steps.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
    # Ten small runs of one framework, and two of its constants.
    { head -n 1 tests/published/runs.csv; grep '^llmfoundry-' tests/published/runs.csv | tail -n 10; } \
        > "$work/runs.csv"
    cat > "$work/constants.yaml" <<'YAML'
constants:
- {name: rate, files: [llm-foundry-fsdp-2024], key: software.gemm.derate, prior: 0.95, spread: 10 %,
   min: 0.6, max: 0.99, neutral: 1, effect: gemm rate, source: a test}
- {name: step, files: [llm-foundry-fsdp-2024], key: software.host.per_step, prior: 15 ms, spread: 50 %,
   min: 1 ms, max: 200 ms, effect: host, source: a test}
YAML
}

fit() {
    "$STOKER" calibrate steps "$work/runs.csv" --constants "$work/constants.yaml" --rounds 1 -q "$@"
}

@test "the fit, its guards and its residuals are told" {
    fit > "$work/fit"
    grep -q '^10 rows, ' "$work/fit"
    grep -q '^two-fold cross-validation by configuration, 20 fits' "$work/fit"
    grep -q '^each source left out' "$work/fit"
    grep -q '^gemm rate ' "$work/fit"
    grep -q '^Standard errors take rows for independent' "$work/fit"
    grep -q '^dense  *[0-9]' "$work/fit"
}

@test "the same result from any number of processes, and a fitted score no worse than the priors'" {
    fit --json -j 1 > "$work/one.json"
    fit --json -j 3 > "$work/three.json"
    cmp "$work/one.json" "$work/three.json"
    python3 - "$work/one.json" <<'PY'
import json, sys
fit = json.load(open(sys.argv[1]))
assert fit["schema"] == "stoker.calibrate-steps/1"
assert fit["fitted"]["mean"] <= fit["priors"]["mean"] + 1e-3
assert [c["unit"] for c in fit["constants"]] == ["", "ms"]
assert all(c["standard_error"] > 0 for c in fit["constants"])
assert len(fit["ablation"]) == 2 and len(fit["rows"]) == 10
assert all(abs(r["loso_error"]) < 0.5 and "cv_error" in r for r in fit["rows"])
PY
}

@test "--write changes the catalogue's files and says what" {
    mkdir "$work/catalogue"
    cp -r models topologies "$work/catalogue"
    fit --write --catalogue "$work/catalogue" > "$work/fit"
    file=$work/catalogue/models/software/llm-foundry-fsdp-2024.yaml
    grep -q "llm-foundry-fsdp-2024.yaml: gemm.derate: .* -> 0\." "$work/fit"
    value=$(sed -n 's/.*gemm.derate: .* -> //p' "$work/fit")
    grep -q "^  derate: $value\$" "$file"
    run -1 cmp models/software/llm-foundry-fsdp-2024.yaml "$file"
    git diff --no-index --stat models "$work/catalogue/models" | grep -q '1 file changed'
}

@test "a wrong constant ends with status 3, its place and what would be right" {
    sed -i 's/llm-foundry-fsdp-2024\], key: software.gemm/llm-foundry-fdsp-2024], key: software.gemm/' \
        "$work/constants.yaml"
    run -3 --separate-stderr fit
    [[ $stderr == *"constants.yaml:2:3: error: there is no file 'llm-foundry-fdsp-2024' in models/software"* ]]
    [[ $stderr == *"did you mean 'llm-foundry-fsdp-2024'?"* ]]
    sed -i 's/fdsp/fsdp/; s/min: 1 ms/min: 1 us/' "$work/constants.yaml"
    run -3 --separate-stderr fit
    [[ $stderr == *"'min' must be in the unit of 'prior'"* ]]
}

@test "a key that no profile has ends with status 3" {
    sed -i 's/software.host.per_step/software.host.per_stop/' "$work/constants.yaml"
    run -3 --separate-stderr fit
    [[ $stderr == *"unknown key 'per_stop'"* ]]
}

@test "a part of the model is removed in rows that have it; what rows refuse is left out" {
    cat >> "$work/constants.yaml" <<'YAML'
ablations:
- {name: memory, set: [gpu.memory_bandwidth=1000 TB/s, gpu.attention.fa1.length_half=0], source: a test}
- {name: no kind, set: [gpu.attention.fa1.length_half=0, recompute=none], source: a test}
- {name: elsewhere, set: [gpu.launch.time=0 us], files: [megatron-2025], source: a test}
YAML
    fit --json > "$work/fit.json"
    python3 - "$work/fit.json" <<'PY2'
import json, sys
memory, kind, elsewhere = json.load(open(sys.argv[1]))["parts_removed"]
assert memory["rows_moved"] == 10 and memory["not_refitted"]["bias"] < -0.05
assert elsewhere["rows_moved"] == 0
PY2
}

@test "an assignment that every row refuses ends with status 3" {
    cat >> "$work/constants.yaml" <<'YAML'
ablations:
- {name: memory, set: [gpu.memory_bandwith=1 TB/s], source: a test}
YAML
    run -3 --separate-stderr fit
    [[ $stderr == *"no row takes 'gpu.memory_bandwith=1 TB/s' of ablation 'memory'"* ]]
}

@test "--errors writes each vote by the fit without its source, as stoker validate does" {
    fit --errors "$work/errors.csv" > /dev/null
    "$STOKER" validate "$work/runs.csv" --errors "$work/fitted.csv" > /dev/null
    cmp <(cut -d, -f1-8 "$work/errors.csv") <(cut -d, -f1-8 "$work/fitted.csv")
    run -1 cmp "$work/errors.csv" "$work/fitted.csv"
}
