# A house's defaults: by the scenario, by the environment and by a portfolio, shown with their
# places, and in what is stored.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    export STOKER_PATH=$PWD
    cp scenarios/quickstart.yaml "$BATS_TEST_TMPDIR/job.yaml"
    cd "$BATS_TEST_TMPDIR"
    cat > house.yaml <<'END'
defaults: our-house
price: {gpu_hour: 2.10 USD, pue: 1.1}
memory.margin: 8 %
cluster.storage.write: 20 GB/s
for:
  h100-sxm5-80gb: {price.gpu_hour: 3.40 USD}
END
}

json() {
    "$STOKER" run "$1" --no-db -q --json "${@:2}"
}

# What it predicts: all but where it comes from, and how long that took.
predicted() {
    jq -S 'del(.house, .key, .engine, .scenario, .assumptions)'
}

@test "a scenario with a house is the scenario that says the same keys itself" {
    json job.yaml --set defaults=house.yaml | predicted > house.json
    json job.yaml --set "price.gpu_hour=3.40 USD" --set price.pue=1.1 --set memory.margin="8 %" \
        --set cluster.storage.write="20 GB/s" | predicted > said.json
    cmp house.json said.json
    json job.yaml | predicted > plain.json
    run ! cmp -s house.json plain.json
}

@test "the environment names a house for scenarios that name none" {
    STOKER_DEFAULTS=house.yaml json job.yaml > by-environment.json
    [ "$(jq -c '[.house.values[] | [.key, .value, .line]]' by-environment.json)" = \
        '[["price.gpu_hour","3.40 USD",6],["price.pue","1.1",2],["memory.margin","8 %",3],["cluster.storage.write","20 GB/s",4]]' ]
    [ "$(jq -r '.house.values[0].file' by-environment.json)" = house.yaml ]
    STOKER_DEFAULTS=house.yaml json job.yaml --set defaults=none > none.json
    [ "$(jq .house none.json)" = null ]
    echo "price.gpu_hour: 9 USD" > other.yaml
    STOKER_DEFAULTS=other.yaml json job.yaml --set defaults=house.yaml > named.json
    [ "$(jq -r '.house.name, .run.cost_usd' named.json)" = \
        "$(jq -r '.house.name, .run.cost_usd' by-environment.json)" ]
    STOKER_DEFAULTS=gone.yaml run -3 json job.yaml
    [[ $output == *"STOKER_DEFAULTS: error: there is no file 'gone.yaml'"* ]]
}

@test "show, explain and the screen tell which values are the house's, and where they stand" {
    run "$STOKER" show job.yaml --set defaults=house.yaml --set memory.margin="3 %"
    [[ $output == *"  gpu_hour: 3.40 USD  # house.yaml:6"* ]]
    [[ $output == *"    write: 20 GB/s  # house.yaml:4"* ]]
    [[ $output == *"  margin: 3 %"$'\n'* ]]
    run "$STOKER" explain job.yaml --set defaults=house.yaml
    [[ $output == *"From the defaults of our-house, where the scenario says nothing:"*"price.pue = 1.1 (house.yaml:2)"* ]]
    run "$STOKER" run job.yaml --no-db --set defaults=house.yaml
    [[ $output == *"defaults of our-house: price.gpu_hour, price.pue, memory.margin and 1 more"* ]]
}

@test "what is stored has the house in it, whatever the environment says later" {
    "$STOKER" run job.yaml -q --db h.db --set defaults=house.yaml --json > run.json
    key=$(jq -r .key run.json)
    rm house.yaml
    echo "price.gpu_hour: 9 USD" > other.yaml
    STOKER_DEFAULTS=other.yaml "$STOKER" show run "$key" --db h.db > whole.yaml
    grep -q "  gpu_hour: 3.40 USD  # our-house" whole.yaml
    STOKER_DEFAULTS=other.yaml json whole.yaml > again.json
    [ "$(jq -r '.key, .run.cost_usd' again.json)" = "$(jq -r '.key, .run.cost_usd' run.json)" ]
}

@test "studies, portfolios and new scenarios have it, measured runs of others do not" {
    export STOKER_DEFAULTS=house.yaml
    run "$STOKER" sweep job.yaml --axis batch.micro=1,2 --db s.db -q
    [[ $output == *"defaults of our-house: price.gpu_hour"* ]]
    run --separate-stderr "$STOKER" new llama3-8b --cluster h100-3200 --gpus 8
    [[ $stderr == *"note: defaults of our-house: price.gpu_hour"* ]]
    run json "$STOKER_PATH/tests/published/runs.csv" --row titan-8b-8g-FSDP
    [ "$(jq .house <<< "$output")" = null ]
    unset STOKER_DEFAULTS
    printf '%s\n' 'portfolio: [{scenario: job.yaml, weight: 1}]' 'defaults: house.yaml' 'lose: 5 %' \
        'sweep: {cluster.network: [800 Gbps, 3200 Gbps]}' > site.yaml
    run "$STOKER" sweep --portfolio site.yaml -q --db s.db
    [[ $output == *"defaults of our-house: price.gpu_hour"* ]]
}

@test "a house is taken whole, and is no scenario" {
    run -2 "$STOKER" run job.yaml --no-db --set defaults=house.yaml --set defaults.price.pue=2
    [[ $output == *"a house's defaults are taken whole"* ]]
    run -3 "$STOKER" run house.yaml --no-db
    [[ $output == *"house.yaml:1:1: error: these are a house's defaults, not a scenario"* ]]
}
