# What users can write, as `stoker help` tells it: keys, options, and the forms made of them. All of
# it follows from the schemas and the table of commands, so each row must be in each form.

bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_DIRNAME/../.."
    STOKER=$(realpath "${STOKER:-./stoker}")
    work=$BATS_TEST_TMPDIR
}

# The paths of all keys, one a line.
keys() {
    "$STOKER" list keys --json | jq -r '.keys[].key'
}

# The long options of all commands.
options() {
    {
        for command in $("$STOKER" list commands | awk 'NR > 1 { print $1 }'); do
            "$STOKER" "$command" --help
        done
    } | grep -oE '^ +(-.,|  ) --[a-z-]+' | grep -oE '[-][-][a-z-]+' | sort -u |
        grep -vxE -e '--(help|usage)'
}

@test "every key has a help with its value; a section lists what is in it" {
    [ "$(keys | wc -l)" -ge 15 ]
    keys > "$work/keys"
    python3 - "$STOKER" "$work/keys" <<'PY'
import re, subprocess, sys
for key in open(sys.argv[2]).read().split():
    # with a dot: `run` is a command, too
    text = subprocess.run([sys.argv[1], "help", key + "."], capture_output=True, text=True, check=True).stdout
    assert re.search(rf"^{re.escape(key)}: ..*\.$", text, re.M), key
    assert re.search(r"^  value      .", text, re.M), key
PY
    run "$STOKER" help data.time_per_sample
    [[ $output == *"value      a duration from 0 s to 1000 s"* ]]
    [[ $output == *"written    1.5 us"*"default    2 ms"*"assumed    the default is listed"* ]]
    run "$STOKER" help library.fitted.hopper.ring.LL.base
    [[ $output == "library.LAYER.ARCHITECTURE.ALGORITHM.PROTOCOL.base: "*"a duration from 0 s to 1 s"* ]]
    run "$STOKER" help library.fitted.hopper.ring.LL.bas
    [[ $output == *"did you mean 'library.algorithms.ALGORITHM.PROTOCOL.base'?"* ]]
    run "$STOKER" help run
    [[ $output == "Usage: stoker run "* ]]
    run "$STOKER" help run.checkpoint
    [[ $output == *"default    off"*"  run.checkpoint.mode "* ]]
    [[ $output != *data.prefetch* ]]
}

@test "what is neither command nor key is a usage error that names the nearest" {
    run --separate-stderr "$STOKER" help data.prefech
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [[ $stderr == *"no command and no key 'data.prefech'"*"did you mean 'data.prefetch'?"* ]]
    run "$STOKER" help swep
    [ "$status" -eq 2 ]
    [[ $output == *"did you mean 'sweep'?"* ]]
    run "$STOKER" help qqqqqq.zzzzzz
    [ "$status" -eq 2 ]
    [[ $output == *"stoker list keys"* ]]
    run "$STOKER" help --format man stoker-banana
    [ "$status" -eq 2 ]
    [[ $output == *"the pages are stoker.1, stoker-scenario.5"* ]]
    run "$STOKER" help --format banana
    [ "$status" -eq 2 ]
}

@test "list keys takes a prefix, and no other kind does" {
    [ "$("$STOKER" list keys run.checkpoint | wc -l)" -eq 8 ]
    [ "$("$STOKER" list keys library.fitted.hopper.sizes | wc -l)" -eq 4 ] # with its head
    "$STOKER" list keys nic | grep -q '^nic\.rate\.bandwidth ' # beside nic.nic, a file's own name
    [ "$("$STOKER" list keys nothing.of.that --json | jq '.keys | length')" -eq 0 ]
    run "$STOKER" list gpus run
    [ "$status" -eq 2 ]
}

# A schema that is not listed in reference.c has no page, no help and no completion.
@test "every schema of the sources has a page" {
    schemas=$(grep -rhE '^const struct schema [a-z_]+_schema' sim --include='*.c' | wc -l)
    [ "$schemas" -ge 1 ]
    [ "$("$STOKER" help --format pages | grep -c '\.5$')" -eq "$schemas" ]
}

@test "each key is in manual, reference, completion and schema" {
    pages=$("$STOKER" help --format pages)
    for page in $pages; do
        "$STOKER" help --format man "$page"
    done | sed 's/\\-/-/g' > "$work/man"
    "$STOKER" help --format markdown > "$work/markdown"
    "$STOKER" help --format bash > "$work/bash"
    for page in $("$STOKER" help --format pages | grep '\.5$'); do
        "$STOKER" help --format json-schema "$page"
    done > "$work/json"
    keys > "$work/keys"
    # A page of a file leaves out what its kind puts in front: gpu.memory is memory; a word in capitals
    # stands for the names of a pattern.
    python3 - "$work" <<'PY'
import json, re, sys

def read(name):
    return open(f"{sys.argv[1]}/{name}", encoding="utf-8").read()

def at(schema, words):
    for word in words:
        schema = schema.get("items", schema)
        if re.fullmatch("[A-Z]+", word):
            schema = next(iter(schema.get("patternProperties", {}).values()), None)
        else:
            schema = schema.get("properties", {}).get(word)
        if schema is None:
            return None
    return schema

manual, markdown = set(read("man").splitlines()), read("markdown")
offered = {word for words in re.findall("keys='([^']*)'", read("bash")) for word in words.split()}
decoder, text, schemas = json.JSONDecoder(), read("json").strip(), []
while text:
    schema, end = decoder.raw_decode(text)
    schemas.append(schema)
    text = text[end:].strip()
keys = read("keys").split()
assert len(keys) >= 15 and len(schemas) >= 5
for key in keys:
    assert f"\\fB{key}" in manual, key
    assert f"- `{key}`: " in markdown, key
    assert key in offered, key
    words = key.split(".")
    found = [at(schema, words) or at(schema, words[1:]) for schema in schemas]
    assert any(len((entry or {}).get("description", "")) > 8 for entry in found), key
PY
}

@test "each option is in manual, reference and completion" {
    [ "$(options | wc -l)" -ge 40 ]
    "$STOKER" help --format man | sed 's/\\-/-/g' > "$work/man"
    "$STOKER" help --format markdown > "$work/markdown"
    "$STOKER" help --format bash > "$work/bash"
    for option in $(options); do
        grep -qE -- "^.fB(-., )?$option(=|\[|\$)" "$work/man"
        grep -qE -- "^- .(-., )?$option(=|\[|\`)" "$work/markdown"
        case $option in --constants|--covariance|--priors|--write|--rounds|--repeats|--without) continue ;; esac
        grep -qE -- "options\[[a-z]+\]='(.* )?$option[ ']" "$work/bash"
    done
}

# No program that checks manual pages is needed for the tests, so this is what one would say first:
# the head, requests that man has, and no line that is taken for a request by mistake.
@test "pages of the manual are well formed" {
    pages=$("$STOKER" help --format pages)
    for page in $pages; do
        "$STOKER" help --format man "$page" > "$work/page"
        [[ $(head -n 1 "$work/page") == ".TH ${page%.*} ${page##*.} "* ]]
        grep -q '^\.SH NAME$' "$work/page"
        run ! grep -vE '^(\.(TH|SH|PP|TP|br|ad)( .*)?|[^.'"'"'].*)$' "$work/page"
        run ! grep -nE ' $|(^|[^\\])\\[^e&f-]' "$work/page"
    done
}

# complete WORD...: what bash offers for the last word.
complete_words() {
    bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _stoker
             printf "%s\n" "${COMPREPLY[@]}"' - "$work/completion" "$@"
}

@test "bash completes a command, an option, a word, a key after --set" {
    "$STOKER" help --format bash > "$work/completion"
    bash -n "$work/completion"
    [ "$(complete_words stoker swe)" = sweep ]
    [ "$(complete_words stoker sweep --metr)" = --metric ]
    [ -z "$(complete_words stoker merge --metr)" ]
    [ "$(complete_words stoker run --set data.pre)" = data.prefetch= ]
    [ "$(complete_words stoker help data.pre)" = data.prefetch ]
    [ "$(complete_words stoker run --mfu-convention meg)" = megatron ]
    [ "$(complete_words stoker run --mfu-convention = pal)" = palm ]
    [ "$(complete_words stoker run --set data.prefetch = 4)" = "" ]
    # What tables of lower rooms name: every kind of plot and every metric.
    for kind in $("$STOKER" list plots --json | jq -r '.plots[].name'); do
        [ "$(complete_words stoker plot --kind "$kind")" = "$kind" ]
        [[ " $(complete_words stoker sweep --plot "$kind" | tr '\n' ' ')" == *" $kind "* ]]
        [[ $("$STOKER" plot --help | tr -s ' \n' '  ') == *" $kind"* ]]
    done
    [ "$(complete_words stoker sweep --metric usd_per)" = usd_per_million_tokens ]
    [ -z "$(complete_words stoker validate --plot pareto)" ] # its argument is a file
}

@test "make install puts manual, completion and schemas where they are looked for" {
    cmp -s "$STOKER" stoker || skip "./stoker is another build"
    make -s -o stoker install PREFIX=/p DESTDIR="$work/root" REFERENCE="$work/reference"
    cd "$work/root/p/share"
    cmp man/man5/stoker-scenario.5 <("$STOKER" help --format man stoker-scenario)
    [ -s man/man1/stoker.1 ]
    jq -e '.properties.data.properties.prefetch.maximum == 64' \
        stoker/schemas/stoker-scenario.schema.json
    grep -q '^complete ' bash-completion/completions/stoker
    grep -q '^# stoker(1)' doc/stoker/reference.md
}
