# Every target installs what it needs: a fresh Debian 12 with Swift suffices. `make help` lists the targets.
PREFIX ?= /usr/local
DESTDIR ?=
SECONDS_EACH ?= 60
CHAOS_MODE ?= link machine

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Most of the time of a short command is spent on loading its executable. LINK=static includes the C libraries, which
# saves a good part of it (`make bench`); LINK=shared uses the system's libraries, with their updates.
LINK ?= static
path/static := PKG_CONFIG_PATH=$(CURDIR)/.build/static:$(PKG_CONFIG_PATH)
search/static := -Xlinker -L$(CURDIR)/.build/static
# Types are accessed directly. Access by name would be smaller, but each type would be searched for among all
# conformances of the executable when it is first used.
direct_types := -Xswiftc -Xfrontend -Xswiftc -disable-concrete-type-metadata-mangled-name-accessors
# Constants and function addresses are read-only at run time, and the stack is not executable. Addresses are packed if
# this machine's C library supports it, which saves reading a third of a megabyte at each start.
packed := $(shell printf '%s\n' 2.36 "$$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)" | sort --version-sort --check=quiet \
  && echo -Xlinker -z -Xlinker pack-relative-relocs)
protection := -Xswiftc -use-ld=lld -Xlinker -T -Xlinker $(CURDIR)/Sources/imctl-agent/read-only.ld -Xlinker -z -Xlinker relro \
  -Xlinker -z -Xlinker now -Xlinker -z -Xlinker noexecstack $(packed)
build_release := env $(path/$(LINK)) swift build --configuration release --static-swift-stdlib --disable-local-rpath \
  $(search/$(LINK)) -Xlinker --no-export-dynamic -Xlinker --as-needed -Xlinker --strip-all $(direct_types) $(protection)
binary := .build/release/imctl
agent := .build/release/imctl-agent
sources := Package.swift $(shell find Sources -type f 2>/dev/null)
to := $(DESTDIR)$(PREFIX)
lists := .build/completions

.PHONY: help
help: ## This list
	@echo "make TARGET, where TARGET is one of"
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | awk -F'\t' '{ printf "  %-10s %s\n", $$1, $$2 }'

.PHONY: setup
setup: ## Install what building and testing need and this machine lacks (apt-get, debootstrap; starts no service)
	@Tests/Servers/setup

.PHONY: build
build: ## The release binaries, .build/release/imctl and imctl-agent
	@Tests/Servers/setup build
	@if [ $(LINK) = static ]; then $(MAKE) static-libraries; fi
	@for product in imctl imctl-agent; do $(build_release) --product $$product; done
	@Tests/binary $(binary) 20
	@Tests/binary $(agent) 80
	@ls -lL $(binary) $(agent) | awk '{ printf "%s: %.1f MB\n", $$NF, $$5 / 1000000 }'

# A directory that the linker searches before the system's. It contains archives, three of them with their dependencies,
# and the small part of ICU's data that the agent reads.
.PHONY: static-libraries
static-libraries:
	@Sources/CICU/subset-data .build/static/icu
	@cd .build/static && ln -sf icu/libicudata.a . \
	&& archive() { gcc -print-file-name=lib$$1.a; } \
	&& for name in ssl crypto sqlite3 stdc++; do ln -sf "$$(archive $$name)" .; done \
	&& echo "GROUP($$(archive xml2) $$(archive lzma) $$(archive z) $$(archive icuuc) $$PWD/libicudata.a)" > libxml2.so \
	&& echo "GROUP($$(archive icuuc) $$PWD/libicudata.a)" > libicuuc.so \
	&& echo "GROUP($$(archive icui18n) $$(archive icuuc) $$PWD/libicudata.a)" > libicui18n.so \
	&& for name in libxml-2.0 libssl libcrypto; do \
	  sed "s|^libdir=.*|libdir=$$PWD|" "$$(pkg-config --variable=pcfiledir $$name)/$$name.pc" > $$name.pc; \
	done

$(binary): $(sources)
	@$(MAKE) build
	@touch -c $(binary)

$(agent): $(binary)

.PHONY: install
install: $(binary) $(agent) ## Binaries, manual page and completions below PREFIX (/usr/local); DESTDIR is put before it
	@install -D -m 755 $(binary) $(to)/bin/imctl
	@install -D -m 755 $(agent) $(to)/libexec/imctl/imctl-agent
	@install -D -m 644 Sources/imctl/imctl.1 $(to)/share/man/man1/imctl.1
	@mkdir -p $(lists)
	@for shell in bash zsh fish; do $(binary) --generate-completion-script $$shell > $(lists)/$$shell; done
	@install -D -m 644 $(lists)/bash $(to)/share/bash-completion/completions/imctl
	@install -D -m 644 $(lists)/zsh $(to)/share/zsh/site-functions/_imctl
	@install -D -m 644 $(lists)/fish $(to)/share/fish/vendor_completions.d/imctl.fish
	@echo "imctl is in $(to)/bin, its manual and completions in $(to)/share"

.PHONY: uninstall
uninstall: ## Take away what install put there
	@rm -f $(to)/bin/imctl $(to)/libexec/imctl/imctl-agent $(to)/share/man/man1/imctl.1 \
	  $(to)/share/bash-completion/completions/imctl $(to)/share/zsh/site-functions/_imctl \
	  $(to)/share/fish/vendor_completions.d/imctl.fish
	@rmdir --ignore-fail-on-non-empty $(to)/libexec/imctl 2>/dev/null || true

.PHONY: demo
demo: build ## Log in, change presence, log out: on a private server, seen by another client
	@Tests/Servers/setup servers
	@Examples/demo.sh

.PHONY: test
test: setup test-asan ## All tests, against private Prosody and ejabberd servers
	@swift build --build-tests
	@Tests/Servers/versions
	@Tests/dependent
	@Tests/run

.PHONY: test-fast
test-fast: setup ## The tests that need no server
	@swift build --build-tests
	@Tests/run fast

.PHONY: test-release
test-release: setup ## Those tests that depend on how the release binaries are linked, with these binaries
	@$(MAKE) build LINK=static
	@swift build --build-tests
	@Tests/release

.PHONY: test-asan
test-asan: setup ## The tests of the XML and TLS rooms, with the address sanitizer
	@Tests/Servers/sanitize address

.PHONY: test-tsan
test-tsan: setup ## The agent's tests, with the thread sanitizer
	@Tests/Servers/sanitize thread

.PHONY: lint
lint: ## Formatting, syntax and imports of everything
	@Tests/imports
	@swift format lint --strict --parallel --recursive Package.swift Sources Tests Examples
	@for file in Sources/CICU/subset-data Tests/release Tests/binary Tests/dependent Tests/Servers/setup Tests/Servers/trixie Tests/Servers/versions Tests/Servers/sanitize .ci/run Examples/*.sh; do bash -n $$file; done
	@python3 -c 'import ast, sys; [ast.parse(open(path).read(), path) for path in sys.argv[1:]]' Tests/run Tests/imports Tests/Servers/*.py Tests/Benchmarks/*.py Tests/Benchmarks/run Tests/Benchmarks/round_trips Tests/Benchmarks/accounts Tests/Benchmarks/contacts Tests/Benchmarks/chaos_link Tests/Benchmarks/chaos_machine Tests/Benchmarks/growth Tests/Benchmarks/history Tests/Benchmarks/receive Tests/Benchmarks/hostile Tests/Benchmarks/send

.PHONY: format
format: ## Format all Swift sources in place
	@swift format --in-place --parallel --recursive Package.swift Sources Tests Examples

.PHONY: bench
bench: setup build ## Measure: start-up, presence, round trips, sending and receiving against other clients; parsing against C, and hostile stanzas; a hostile server; 240 reconnects; 1,000 accounts; 10,000 contacts; a history
	@$(build_release) --product ParseXML
	@.build/release/ParseXML
	@Tests/Benchmarks/run
	@Tests/Benchmarks/round_trips
	@Tests/Benchmarks/accounts
	@Tests/Benchmarks/history
	@Tests/Benchmarks/contacts
	@Tests/Benchmarks/send
	@Tests/Benchmarks/receive
	@Tests/Benchmarks/growth
	@Tests/Benchmarks/hostile

.PHONY: chaos
chaos: setup build ## Messages both ways while the link breaks and the agent is killed, and while the machine fails two agents (CHAOS_MODE=link or machine; CHAOS_MESSAGES, _SEED; _CUTS, _KILLS; _FAULTS)
	@for mode in $(CHAOS_MODE); do Tests/Benchmarks/chaos_$$mode; done

.PHONY: fuzz
fuzz: setup ## Fuzz each parser for SECONDS_EACH (60) seconds
	@for target in Tests/Fuzz/*.swift; do Tests/Fuzz/run $$(basename $$target .swift) $(SECONDS_EACH); done

.PHONY: docs
docs: ## The library's documentation, .build/docs
	@mkdir -p .build/docs
	@swift package --allow-writing-to-directory .build/docs generate-documentation --target XMPP \
	  --output-path .build/docs --transform-for-static-hosting
	@echo "open .build/docs/index.html"

.PHONY: clean
clean: ## Delete everything that was built
	@rm -rf .build .build-*
