# The documents: every command in README.md, results/*.md and sim/README.md runs and prints what is shown; links,
# pictures, and the files and functions that texts about the source name, are there.

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=${STOKER:-./stoker}
    work=$BATS_TEST_TMPDIR
}

# The commands of the blocks marked sh, one a line.
readme_commands() {
    awk '/^```sh$/ { on = 1; next } /^```/ { on = 0 } on' README.md
}

@test "the README has commands, and the two of a fresh machine exist" {
    [ "$(readme_commands | wc -l)" -ge 7 ]
    grep -q '^sh tests/setup demo ' README.md
    grep -q '^sh tests/setup test ' README.md
    [ -f tests/setup ]
}

# It runs them all in a folder of its own, so that nothing stored before shows; a command of
# several documents runs once.
@test "every command of the README, results/*.md and sim/README.md succeeds and prints what is shown" {
    STOKER=$STOKER tests/readme/run
}

@test "every link, picture, file and function that a document names is there" {
    tests/readme/names README.md results/*.md sim/README.md sim/CONTRIBUTING.md sim/lab/README.md \
        scenarios/README.md models/README.md topologies/README.md tests/published/README.md
    printf '[a](nowhere.md) `des/nothing.c` and `event_nothing()` in `des/event.c`\n' > "$work/page.md"
    run tests/readme/names "$work/page.md"
    [ "$status" -eq 1 ]
    [[ "$output" == *"page.md:1: there is no nowhere.md"*"no sim/des/nothing.c"*"event_nothing"* ]]
}

# The table by source, the count of scored rows and the score of all of them that `validate` prints
# stand in VALIDATION.md (the test above holds them to the command); README's sentence is made of
# these, and of the predictions by fits that did not see a configuration or a source (fit.txt).
@test "the README says of measured runs what results/VALIDATION.md says" {
    page=results/VALIDATION.md
    scored=$(sed -n 's/^[0-9]* rows: \([0-9]*\) scored, .*/\1/p' $page | head -1)
    mean=$(awk '$1 == "stoker" && $3 == '"$scored"' { print $5; exit }' $page)
    sources=$(awk '/^by source / { on = 1; next } on && NF == 0 { exit } on' $page | grep -c .)
    apart() { awk '$0 ~ "^" name "  +[0-9]+ +[0-9.]+ " { sub(name, ""); printf "%.1f", $2; exit }' name="$1" tests/published/fit.txt; }
    words=$(tr '\n' ' ' < README.md)
    later() { awk -v name="$1" 'index($0, name) == 1 { n = NF; print $(n - 5), $(n - 3), $(n - 6); exit }' tests/published/backtest.txt; }
    read -r off inside votes <<< "$(later 'what repeats nothing earlier')"
    read -r dense _ <<< "$(later dense)"
    read -r mixed _ <<< "$(later 'mixture of experts')"
    [[ $words == *"nobody had seen are $off % off in the mean ([how right]"* ]]
    [[ $words == *"nobody had seen are $off % off in the mean, and $inside % of them in the band"* ]]
    [[ $words == *"($votes votes, \`make backtest\`; dense $dense %, mixtures of experts $mixed)"* ]]
    [[ $words == *"Over $scored measured runs of $sources sources the step time is $mean % off in the mean"* ]]
    [[ $words == *"did not see the configuration it is $(apart 'out of fold') %, not the source $(apart 'source left out') %"* ]]
}

# The first part of the page is for who has a minute: its figures are those of the outputs below them.
@test "what results/VALIDATION.md says first is what its outputs say" {
    page=results/VALIDATION.md
    [ "$(grep -n -m1 '^## ' $page | cut -d: -f2)" = "## Where it is worst" ]
    [ "$(grep -n -m1 '^# What a reviewer checks' $page | cut -d: -f1)" -le 60 ]
    # figure PATTERN: what stands in the place of (...) in the first line that matches.
    figure() { sed -n "s/$1/\\1/p" $page | head -1; }
    apart() { awk '$0 ~ "^" name "  +[0-9]+ +[0-9.]+ " { sub(name, ""); printf "%.1f", $2; exit }' name="$1" tests/published/fit.txt; }
    says() { grep -qF -- "$1" <(sed '/^# What a reviewer checks/,$d' $page) || { echo "not said: $1"; false; }; }
    number='\([0-9.]*\)'
    says "| $(awk '/^what repeats nothing earlier/ { print $(NF-5) " % in the mean, bias " $(NF-4) ", " $(NF-3) " % inside"; exit }' $page)"
    says "| $(awk '$1 == "stoker" && $2 == "-" { print $5 " % in the mean, " $7; exit }' $page) % at the 90th percentile |"
    says "| $(apart 'out of fold') %, $(apart 'source left out') % |"
    says "$(figure "^mixture of experts *[0-9]* *[0-9]* *$number .*") % over $(figure "^mixture of experts *[0-9]* *$number .*") votes, $(apart 'out of fold, mixtures of experts') % out of fold"
    says "| $(figure ".*left out: sign $number % by vote.*") % right, $(figure ".*left out: sign .* error $number %,.*") % |"
    says "| $(awk '$1 == "nothing" && NF == 12 { print $5 " % instead of " $4 " % | " $2; exit }' $page) pairs"
    says "| $(figure "^all sizes: .* median of their medians $number %.*") % in the median, $(figure "^from 64 MiB: .* median of their medians $number %.*") % from 64 MiB |"
    says "| a factor of $(figure "^hardware: .* a factor of $number off.*"); of $(figure "^jobs: .* a factor of $number off.*") |"
    says "**Interrupted jobs**: a factor of $(figure "^jobs: .* a factor of $number off.*")."
    says "| $(figure ".*the median error is $number %.*") % in the median"
    says "Of $(figure "^Bands: of $number votes.*") votes $(figure "^Bands: of .* $number % lie in.*") % lie in the band"
}

# Of a sentence: no block shows the columns of the band. Digits as `compare` prints them.
@test "the README says of 512 B200 or 1,024 H100 what compare says" {
    said=$("$STOKER" compare scenarios/study-gpus.yaml --no-db -q --json | jq -r '.points[] |
        select(.label == "512 B200").against_first | .band.speed_up as $b | "\(.speed_up) \($b.p10) \($b.p90)"' |
        awk '{ printf "(%.2f x, %.2f to %.2f)", $1, $2, $3 }')
    [[ $(tr '\n' ' ' < README.md) == *"512 of them or 1,024 H100 is too close to call $said"* ]]
}

# Versions, of which the newest comes first, are read by whoever has an older one: what is longer is
# read by nobody. `git merge` puts lines of both sides there (merge=union), headings too.
@test "sim/CHANGES.md has versions of at most 60 lines, the newest first, each once" {
    awk '/^## / { version = $2 } version { lines[version]++ }
        END { for (version in lines) if (lines[version] > 60) { print version, lines[version]; long = 1 }; exit long }' \
        sim/CHANGES.md
    awk '/^## / { print $2 }' sim/CHANGES.md > "$work/versions"
    [ "$(wc -l < "$work/versions")" -ge 10 ]
    diff <(sort -rVu "$work/versions") "$work/versions"
    # No entry stands twice.
    [ -z "$(grep '^- ' sim/CHANGES.md | sort | uniq -d)" ]
}

@test "the README has at most 150 lines" {
    [ "$(wc -l < README.md)" -le 150 ]
}

# Of a table that no command prints: the figures are those of results/STUDIES.md, which the second test holds.
@test "the README's table of networks is what the studies say" {
    diff <(tests/readme/networks) <(sed -n '/^<!-- networks: /,/^<!-- end of networks/p' README.md | grep '^|')
}

# Of a block the test must see: a changed figure, a lost line, a command that fails.
@test "a figure that no command prints is found, and --update puts the right one there" {
    cd "$work"
    printf '```sh\nprintf "speed 17\\nmemory 4\\n\\nother\\n"\n```\n\n```\nspeed 18\nmemory 4\n```\n' > page.md
    run "$OLDPWD/tests/readme/blocks" page.md
    [ "$status" -eq 1 ]
    [[ "$output" == *"page.md:5"*"-speed 18"*"+speed 17"* ]]
    "$OLDPWD/tests/readme/blocks" --update page.md
    grep -qx 'speed 17' page.md
    "$OLDPWD/tests/readme/blocks" page.md
    sed -i 's/printf .*/false/' page.md
    run "$OLDPWD/tests/readme/blocks" page.md
    [ "$status" -eq 1 ]
}
