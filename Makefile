# stoker: how fast a large model trains on a cluster, and why not faster.
#
# On a bare Debian 12, which has no make yet:
#     sh tests/setup demo     installs what is missing, then runs `make demo`
#     sh tests/setup test     installs what is missing, then runs `make check`
#
# Honoured: CC, CFLAGS, CPPFLAGS, LDFLAGS, LDLIBS, PREFIX, DESTDIR; WERROR=1, V=1.

VERSION = 0.4.0
PREFIX = /usr/local
REFERENCE = build/reference

.DEFAULT_GOAL = all
.PHONY: all lab demo check check-jobs check-browser check-identity lint assumptions asan bench bench-check validate bands fit backtest \
        validate-collectives golden-update readme-update results claims reference install static deb uninstall setup \
        clean help programs benches flags build-id commit-id build-folder FORCE

# ---- targets -----------------------------------------------------------------------------------

all: stoker ## build ./stoker (the default)

lab: stoker-lab ## build ./stoker-lab, for who makes the catalogue: fits, ablations, bands

demo: ## install what is missing, build, and show what stoker can do
	@sh tests/setup build
	@$(MAKE) --no-print-directory all
	@scenarios/demo

check: ## install what is missing, build, run every test; the last line counts them
	@sh tests/setup check
	@$(MAKE) --no-print-directory programs $(if $(filter release,$(MODE)),stoker build/stoker-static) || \
	    { echo '0 passed, 1 failed'; exit 1; } # it did not build
	@STOKER='$(CURDIR)/$(BUILD)/stoker' tests/run-checks $(TESTS) $(BATS)

check-identity: ## 1,000 random steps in every way
	@$(MAKE) --no-print-directory $(BUILD)/tests/fuzz/test_identity
	@$(BUILD)/tests/fuzz/test_identity $(or $(SEED),1) 0 1000

check-jobs: all ## run what --slurm and --parallel print, by a Slurm and an sshd of its own (root)
	@sh tests/setup jobs
	@STOKER='$(CURDIR)/stoker' bats tests/many/jobs.bats

check-browser: all ## what a browser makes of the pages of `stoker report`
	@sh tests/setup browser
	@STOKER='$(CURDIR)/stoker' tests/browser/run

lint: ## check layout, layers, lengths, banned calls, warnings, clang-tidy, cppcheck, sources
	@LINT_FLAGS='$(PROJECT_FLAGS) $(LIBRARY_FLAGS)' tests/lint/run

assumptions: ## list the simplifications of the model (comments marked ASSUMES)
	@tests/lint/assumptions

# clang's, which know more kinds of undefined behaviour than gcc's (an offset of no pointer).
asan: ## run tests with clang's address and undefined-behaviour sanitizers
	@$(MAKE) --no-print-directory CC=clang MODE=asan check BATS='$(SANITIZED:%=tests/cli/%.bats)'
# Those that read what others wrote, lose what they need, and write pictures.
SANITIZED = failures hostile import import_hf import_launch import_log near options pictures pipeline policy \
    portfolio require rows search shards topology

bench: benches all ## run the speed measurements of tests/bench; build/bench-commands.json
	@for program in $(BENCHES); do echo "== $$program"; $$program || exit 1; done
	@echo '== whole commands'; tests/bench/commands

bench-check: all benches ## hold the instructions of whole commands against those committed (valgrind)
	@tests/bench/commands --check

validate: all ## measured runs beside predictions; results/validation.svg
	@./stoker validate tests/published/runs.csv --plot results/validation

bands: all lab ## bands of predictions and ratios, the error of memory: models/*.csv
	@./stoker-lab validate tests/published/runs.csv tests/published/networks.csv --summary --ratios \
	    --predictions $(PREDICTIONS) --pairs models/ratios.csv
	@./stoker-lab validate tests/published/runs.csv tests/published/networks.csv --summary \
	    --predictions tests/published/backtest.csv --errors models/validated.csv
	@./stoker-lab validate tests/published/runs.csv tests/published/networks.csv --summary --as-typed \
	    --errors models/typed.csv
	@./stoker calibrate memory tests/published/memory.csv -o models/memory.csv
PREDICTIONS = tests/published/predictions.csv

validate-collectives: all ## measured collectives beside predictions; results/collectives.svg
	@./stoker calibrate collectives tests/published/collectives.yaml --check \
	    --plot results/collectives

# From the priors, so that the same is written whatever was there. A table is replaced when whole.
fit: lab ## fit the constants to measured runs: models/, their tables, tests/published (minutes)
	@./stoker-lab calibrate steps tests/published/runs.csv tests/published/networks.csv \
	    --without DT-FM --without ZeRO++ --priors file --rounds 1 --write \
	    --predictions build/predictions.csv --covariance build/covariance.csv > build/fit.txt
	@mv build/predictions.csv build/covariance.csv build/fit.txt tests/published
	@$(MAKE) --no-print-directory bands > build/bands.txt

# Each quarter's runs by what was published before it; what bands are made of.
backtest: lab ## predict each quarter's runs by what came before it: tests/published, models/ (minutes)
	@./stoker-lab backtest tests/published/runs.csv tests/published/networks.csv \
	    --without DT-FM --without ZeRO++ --predictions build/backtest.csv > build/backtest.txt
	@mv build/backtest.csv build/backtest.txt tests/published
	@$(MAKE) --no-print-directory bands > build/bands.txt

golden-update: all ## rewrite the expected texts of tests/golden; the commit argues the difference
	@tests/golden/update

readme-update: all ## rewrite the outputs that README.md shows beneath its commands
	@tests/readme/run --update README.md

results: all lab claims ## the same for README.md, results/*.md and sim/README.md; pictures (two minutes)
	@tests/readme/run --update
	@tests/readme/networks --update

claims: all ## what stoker says of figures that others publish: results/CLAIMS.md
	@tests/claims/claims --update

# What users can write, as the program's own tables have it.
reference: all ## write manual, reference, completion, schemas for editors to build/reference
	@mkdir -p $(REFERENCE) && rm -f $(REFERENCE)/*.[15] $(REFERENCE)/*.json
	@./stoker help --format markdown > $(REFERENCE)/reference.md
	@./stoker help --format bash > $(REFERENCE)/stoker.bash
	@./stoker help --format pages | while read -r page; do \
	    ./stoker help --format man "$$page" > $(REFERENCE)/"$$page" || exit 1; \
	    [ "$$page" = stoker.1 ] || ./stoker help --format json-schema "$$page" \
	        > $(REFERENCE)/"$${page%.5}.schema.json" || exit 1; \
	done

install: all reference ## install stoker, its catalogue and its manual under PREFIX
	install -D -m 755 stoker '$(DESTDIR)$(PREFIX)/bin/stoker'
	@for page in $(REFERENCE)/*.[15]; do \
	    install -D -m 644 "$$page" \
	        '$(DESTDIR)$(PREFIX)/share/man/man'"$${page##*.}/$${page##*/}" || exit 1; \
	done
	@install -D -m 644 $(REFERENCE)/stoker.bash \
	    '$(DESTDIR)$(PREFIX)/share/bash-completion/completions/stoker'
	@install -D -m 644 $(REFERENCE)/reference.md \
	    '$(DESTDIR)$(PREFIX)/share/doc/stoker/reference.md'
	@for schema in $(REFERENCE)/*.json; do \
	    install -D -m 644 "$$schema" \
	        '$(DESTDIR)$(PREFIX)/share/stoker/schemas/'"$${schema##*/}" || exit 1; \
	done
	@printf '%s\n' $(CATALOGUE) | while read -r file; do \
	    install -D -m 644 "$$file" '$(DESTDIR)$(PREFIX)/share/stoker/'"$$file" || exit 1; \
	done

# One file for any Linux of this kind of machine: no shared libraries, and the catalogue inside. SQLite
# and glibc warn of what they would load at run time, which stoker does not ask for.
static: build/stoker-static ## build build/stoker-static: one file, with the catalogue inside

deb: static ## build build/stoker_VERSION_ARCH.deb, which needs no other package
	@rm -rf build/deb build/installed
	@$(MAKE) --no-print-directory install DESTDIR=build/installed >/dev/null
	@mkdir build/deb && mv 'build/installed$(PREFIX)' build/deb/usr
	@install -m 755 build/stoker-static build/deb/usr/bin/stoker
	@install -D -m 644 LICENSE build/deb/usr/share/doc/stoker/copyright
	@mkdir build/deb/DEBIAN
	@printf '%s\n' 'Package: stoker' 'Version: $(VERSION)' \
	    "Architecture: $$(dpkg --print-architecture)" 'Maintainer: $(or $(DEBEMAIL),stoker)' \
	    'Section: science' 'Priority: optional' 'Recommends: gnuplot-nox' \
	    'Description: says how fast a model will train on a cluster, and why not faster' \
	    >build/deb/DEBIAN/control
	@dpkg-deb --root-owner-group --build build/deb \
	    "build/stoker_$(VERSION)_$$(dpkg --print-architecture).deb"

uninstall: ## remove what `make install` put there
	rm -f '$(DESTDIR)$(PREFIX)/bin/stoker' '$(DESTDIR)$(PREFIX)'/share/man/man1/stoker.1 \
	    '$(DESTDIR)$(PREFIX)'/share/man/man5/stoker-*.5 \
	    '$(DESTDIR)$(PREFIX)'/share/bash-completion/completions/stoker
	rm -rf '$(DESTDIR)$(PREFIX)/share/stoker' '$(DESTDIR)$(PREFIX)/share/doc/stoker'

setup: ## install the Debian packages that building and testing need
	@sh tests/setup check

clean: ## remove everything that was built
	rm -rf build stoker stoker-lab

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-20s %s\n", $$1, $$2 }' Makefile

# ---- flags -------------------------------------------------------------------------------------

# Objects of each pair of compiler and mode live apart. MODE is release or asan.
MODE = release
ifeq ($(origin CC),default)
CC = gcc
endif
BUILD := build/$(notdir $(firstword $(CC)))-$(MODE)

CFLAGS_release = -O2 -g
CFLAGS_asan = -O1 -g
CFLAGS = $(CFLAGS_$(MODE))

# CI sets the variable CI; there a warning is an error.
WERROR_FLAG = $(if $(filter-out false 0,$(CI))$(filter 1,$(WERROR)),-Werror)

PROJECT_FLAGS = -std=c17 -D_POSIX_C_SOURCE=200809L -Isim -Wall -Wextra -Wpedantic -Wshadow \
    -Wconversion -Wdouble-promotion -Wmissing-prototypes -Wstrict-prototypes -Wundef -Wvla \
    -ffp-contract=off
# What Debian builds its packages with. Checks of buffers need an optimizing compiler.
MODE_FLAGS_release = -fstack-protector-strong \
    $(if $(filter -O1 -O2 -O3 -Os,$(CFLAGS)),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
MODE_LDFLAGS_release = -Wl,-z,relro,-z,now
MODE_FLAGS_asan = -DSTOKER_DEBUG -fsanitize=address,undefined -fno-sanitize-recover=all \
    -fno-omit-frame-pointer
MODE_FLAGS = $(MODE_FLAGS_$(MODE))

# expat is for `stoker import nccl-topo` alone, which without it says so; `make EXPAT=` tries that.
EXPAT := $(shell pkg-config --exists expat 2>/dev/null && echo expat)
LIBRARIES = gsl sqlite3 yaml-0.1 zlib $(EXPAT)
LIBRARY_FLAGS := $(shell pkg-config --cflags $(LIBRARIES) 2>/dev/null) $(EXPAT:expat=-DHAVE_EXPAT)
LIBRARY_LIBS := $(shell pkg-config --libs $(LIBRARIES) 2>/dev/null)
CMOCKA_LIBS := $(shell pkg-config --libs cmocka 2>/dev/null)

COMPILE = $(CC) $(PROJECT_FLAGS) $(MODE_FLAGS) $(WERROR_FLAG) $(LIBRARY_FLAGS) $(CPPFLAGS) $(CFLAGS)
LINK = $(CC) $(MODE_FLAGS) $(CFLAGS) $(MODE_LDFLAGS_$(MODE)) $(LDFLAGS)

# ---- files -------------------------------------------------------------------------------------

# What stoker reads beside what it is given.
CATALOGUE := $(sort $(shell find models topologies scenarios -name '*.yaml' -o -name '*.csv') \
    tests/published/rules.yaml)

objects = $(patsubst %.c,$(BUILD)/%.o,$(1))

# What sim/lab holds is a program of its own: stoker is built without it.
LAB_SOURCES := $(wildcard sim/lab/*.c sim/lab/*/*.c)
MAIN_SOURCES := sim/cli/main.c sim/lab/cli/main.c
LIBRARY_OBJECTS := $(call objects,$(filter-out $(LAB_SOURCES) $(MAIN_SOURCES),\
                                              $(wildcard sim/*/*.c sim/*/*/*.c)))
LAB_OBJECTS := $(call objects,$(filter-out $(MAIN_SOURCES),$(LAB_SOURCES)))
SUPPORT_OBJECTS := $(call objects,$(wildcard tests/support/*.c))
TEST_OBJECTS := $(call objects,$(sort $(wildcard tests/unit/*.c tests/closed_form/*.c \
                                               tests/published/*.c tests/fuzz/*.c)))
BENCH_OBJECTS := $(call objects,$(wildcard tests/bench/*.c))
MAIN_OBJECTS := $(call objects,$(MAIN_SOURCES))
ALL_OBJECTS := $(LIBRARY_OBJECTS) $(LAB_OBJECTS) $(SUPPORT_OBJECTS) $(TEST_OBJECTS) $(BENCH_OBJECTS) \
    $(MAIN_OBJECTS)

TESTS := $(TEST_OBJECTS:.o=)
BATS = $(sort $(wildcard tests/cli/*.bats))
BENCHES := $(BENCH_OBJECTS:.o=)

# Loaded before stoker by tests/cli/faults.bats; nothing may be loaded before the sanitizers.
FAULTS := $(if $(filter release,$(MODE)),$(BUILD)/tests/faults/faults.so)

programs: $(BUILD)/stoker $(BUILD)/stoker-lab $(TESTS) $(BENCHES) $(FAULTS)
benches: $(BENCHES)

# ---- rules -------------------------------------------------------------------------------------

# V=1 shows the commands.
quiet = $(if $(V),,@echo '  $(1)' $@;)

# What is looked at in each build. `make -q` asks whether the last one left nothing undone, of which
# what is always done says nothing.
FORCED := $(if $(findstring q,$(firstword -$(MAKEFLAGS))),,FORCE)

# ./stoker is the last one that was asked for, of whichever compiler and mode.
stoker: $(BUILD)/stoker $(FORCED)
	@cmp -s $< $@ && touch $@ || install -m 755 $< $@

stoker-lab: $(BUILD)/stoker-lab $(FORCED)
	@cmp -s $< $@ && touch $@ || install -m 755 $< $@

$(BUILD)/stoker: $(BUILD)/sim/cli/main.o $(BUILD)/libstoker.a
	$(call quiet,LINK)$(LINK) -o $@ $^ $(LIBRARY_LIBS) $(LDLIBS)

$(BUILD)/built_in.o: sim/base/built_in.sh $(CATALOGUE) | $(BUILD)
	@printf '%s\n' $(CATALOGUE) | sh $< >$(@:.o=.S)
	$(call quiet,AS)$(CC) -c -o $@ $(@:.o=.S)

$(BUILD)/stoker-static: $(BUILD)/sim/cli/main.o $(BUILD)/built_in.o $(BUILD)/libstoker.a
	$(call quiet,LINK)$(LINK) -static -o $@ $^ $(shell pkg-config --static --libs $(LIBRARIES)) \
	    $(LDLIBS) 2>$@.warnings || { cat $@.warnings; exit 1; }

build/stoker-static: $(BUILD)/stoker-static
	@install -m 755 -s $< $@

$(BUILD)/stoker-lab: $(BUILD)/sim/lab/cli/main.o $(BUILD)/liblab.a $(BUILD)/libstoker.a
	$(call quiet,LINK)$(LINK) -o $@ $^ $(LIBRARY_LIBS) $(LDLIBS)

$(TESTS): %: %.o $(BUILD)/libsupport.a $(BUILD)/liblab.a $(BUILD)/libstoker.a
	$(call quiet,LINK)$(LINK) -o $@ $^ $(CMOCKA_LIBS) $(LIBRARY_LIBS) $(LDLIBS)

$(BENCHES): %: %.o $(BUILD)/libsupport.a $(BUILD)/libstoker.a
	$(call quiet,LINK)$(LINK) -o $@ $^ $(LIBRARY_LIBS) $(LDLIBS)

# What takes the place of libc's functions defines them: the headers' checking ones would stand in
# its way.
$(BUILD)/%.so: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC)$(COMPILE) -U_FORTIFY_SOURCE -fPIC -shared -o $@ $<

$(BUILD)/libstoker.a: $(LIBRARY_OBJECTS) $(BUILD)/libstoker.list
$(BUILD)/liblab.a: $(LAB_OBJECTS) $(BUILD)/liblab.list
$(BUILD)/libsupport.a: $(SUPPORT_OBJECTS) $(BUILD)/libsupport.list
$(BUILD)/%.a:
	@rm -f $@
	$(call quiet,AR)$(AR) rcs $@ $(filter %.o,$^)

$(ALL_OBJECTS): $(BUILD)/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC)$(COMPILE) $(OWN_FLAGS) -MMD -MP -c -o $@ $<

$(SUPPORT_OBJECTS) $(TEST_OBJECTS) $(BENCH_OBJECTS): OWN_FLAGS = -Itests
$(BUILD)/sim/base/version.o: OWN_FLAGS = $(VERSION_FLAGS)
$(BUILD)/sim/base/version.o: $(BUILD)/version
VERSION_FLAGS = -DSTOKER_VERSION='"$(VERSION)"' -DSTOKER_DATA_DIR='"$(PREFIX)/share/stoker"' \
    -DSTOKER_BUILD='"$(SOURCES_HASH)"'

$(MAIN_OBJECTS): OWN_FLAGS = -DSTOKER_COMMIT='"$(COMMIT:%=commit %, )"'
$(MAIN_OBJECTS): $(BUILD)/commit

# Names what results were predicted by. Names and contents below sim (but for the lab, which predicts
# nothing), in the order of bytes: the same in every folder, for every compiler, with or without git.
SOURCES_HASH := $(shell find sim -path sim/lab -prune -o -name '*.[ch]' -type f -print | LC_ALL=C sort | xargs sha256sum | \
    sha256sum | cut -c 1-16)

# The commit, for `stoker --version` alone: results are named by their sources, so that a commit which
# changes none of these neither computes anew nor links the tests anew. Empty: no git, or a copy of
# the sources that lies within somebody else's.
COMMIT := $(if $(wildcard .git),$(shell git --no-optional-locks describe --always --dirty --abbrev=8 \
    --exclude='*' 2>/dev/null))

# A stamp is rewritten when its text changes: new flags, or another list of objects, build anew.
write_stamp = $(file >$@.new,$(1))cmp -s $@.new $@ && rm $@.new || mv $@.new $@

$(BUILD)/flags: $(FORCED) | $(BUILD)
	$(if $(LIBRARY_LIBS),,$(error pkg-config does not find $(LIBRARIES): try `make setup`))
	@$(call write_stamp,$(COMPILE) $(LINK) $(LDLIBS))
$(BUILD)/version: $(FORCED) | $(BUILD)
	$(if $(SOURCES_HASH),,$(error sha256sum is missing))
	@$(call write_stamp,$(VERSION_FLAGS))
$(BUILD)/commit: $(FORCED) | $(BUILD)
	@$(call write_stamp,$(COMMIT))
$(BUILD)/libstoker.list: $(FORCED) | $(BUILD)
	@$(call write_stamp,$(LIBRARY_OBJECTS))
$(BUILD)/liblab.list: $(FORCED) | $(BUILD)
	@$(call write_stamp,$(LAB_OBJECTS))
$(BUILD)/libsupport.list: $(FORCED) | $(BUILD)
	@$(call write_stamp,$(SUPPORT_OBJECTS))
$(BUILD):
	@mkdir -p $@

# For tests/lint when it is run by hand.
flags:
	@echo '$(PROJECT_FLAGS) $(LIBRARY_FLAGS)'

# For tests/lint/cycles.
build-folder:
	@echo '$(BUILD)'

# For tests of what names a build.
build-id:
	@echo '$(SOURCES_HASH)'
commit-id:
	@echo '$(COMMIT)'

-include $(ALL_OBJECTS:.o=.d)
