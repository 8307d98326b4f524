# Rows without who measured them, and rows as whoever types a scenario knows them.
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
}

# One row of each source that has a row that is scored.
sample() {
    python3 - "$work/rows.csv" "$@" << 'PY'
import csv, sys
rows = list(csv.DictReader(open("tests/published/runs.csv", encoding="utf-8")))
dropped = sys.argv[2:]
seen, kept = set(), []
for row in rows:
    if not row["suspect"] and row["source"] not in seen:
        seen.add(row["source"])
        kept.append(row)
columns = [name for name in rows[0] if name not in dropped]
with open(sys.argv[1], "w", newline="", encoding="utf-8") as out:
    writer = csv.DictWriter(out, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows(kept)
PY
}

steps() {
    "$STOKER" validate "$work/rows.csv" --json "$@" 2> "$work/said" | jq -c '[.rows[] | [.id, .predicted_step_s]]'
}

@test "no prediction hangs on who measured it" {
    sample
    whole=$(steps)
    [ "$(jq 'map(select(.[1] != null)) | length' <<< "$whole")" -gt 20 ]
    sample source
    [ "$(steps)" = "$whole" ]
    sample source source_address confidence tier
    [ "$(steps)" = "$whole" ]
}

# What was on is neither typed nor taken from the release: the same as a table that lacks the columns.
@test "as typed, what else was on is not said" {
    sample
    whole=$(steps)
    typed=$(steps --as-typed)
    [ "$typed" != "$whole" ]
    sample release source_title source_address sim_ready confidence tier assumed notes set sequence_parallel async_tp \
        pp_schedule zero_group overlapped_optimizer moe_dispatcher overlap_experts token_drop micro_num fp8_recipe \
        fp8_attention full_recompute_layers recompute_modules flash_attention torch_compile cuda_graph cuda_graph_scope \
        lora_rank lora_targets cpu_offload offload_layers optimizer
    [ "$(steps)" = "$typed" ]
}

# A table may say what a rule has no word for, and a rule may not ask who measured it.
@test "a rule that asks for a source is refused, with its place" {
    mkdir -p "$work/tests/published"
    sed 's/^rules:$/rules:\n  - {when: {source: ours}, set: [seed=1], source: a\/b}/' tests/published/rules.yaml \
        > "$work/tests/published/rules.yaml"
    sample
    run --separate-stderr "$STOKER" validate "$work/rows.csv" --catalogue "$work"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"rules.yaml:"*"'source' is no setting of a run"* ]]
}
