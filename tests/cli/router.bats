# Where every screen says that tokens are assumed to spread evenly over experts, and how a measured router is told.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    moe=scenarios/mixtral-8x7b-64.yaml
    even='tokens spread evenly over experts'
}

shown() {
    "$STOKER" "$@" -q 2> /dev/null | tr '\n' ' ' | tr -s ' '
}

@test "run, explain, compare, sweep, search and whatif say that tokens spread evenly" {
    [[ $(shown run --no-db $moe) == *"$even"* ]]
    [[ $(shown explain $moe) == *"$even"* ]]
    [[ $(shown compare --no-db $moe $moe) == *"$even"* ]]
    [[ $(shown sweep --no-db $moe --axis batch.micro=1,2) == *"$even"* ]]
    [[ $(shown whatif --no-db $moe) == *"$even"* ]]
    cat $moe > "$BATS_TEST_TMPDIR/search.yaml"
    sed -i 's|^\(model\): .*|\1: mixtral-8x7b|' "$BATS_TEST_TMPDIR/search.yaml"
    printf 'search: {parallel.pp: [4], parallel.tp: [1], parallel.ep: [8], batch.micro: [1]}\n' >> "$BATS_TEST_TMPDIR/search.yaml"
    [[ $(shown search --no-db "$BATS_TEST_TMPDIR/search.yaml") == *"$even"* ]]
}

@test "none does where the scenario says how uneven a router is, or no model has experts" {
    [[ $(shown run --no-db $moe --set recipe=router-loss-free) != *"$even"* ]]
    [[ $(shown explain $moe --set recipe=router-checkpoint) != *"$even"* ]]
    [[ $(shown run --no-db scenarios/quickstart.yaml) != *"$even"* ]]
    [[ $(shown compare --no-db scenarios/quickstart.yaml $moe) == *"of 1 of 2 points: $even"* ]]
}

@test "routers as they were measured slow a step, the less even the more" {
    step() {
        "$STOKER" run --no-db -q --json $moe "$@" | jq .step_time_s
    }
    jq -ne "$(step) < $(step --set recipe=router-loss-free) and
            $(step --set recipe=router-loss-free) < $(step --set recipe=router-checkpoint) and
            $(step --set recipe=router-checkpoint) < $(step --set recipe=router-auxiliary-loss)"
}
