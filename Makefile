# make prints this help; make check is exactly what CI runs.
.DEFAULT_GOAL := help
.PHONY: help build release test check quick lint generate kubernetes bench shots pictures firefox chaos corpus mutants

help: ## show this
	@awk -F':.*## ' '/^[a-z]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/muster, as it is released
	@scripts/build bin/muster

release: ## everything that is released, in out/release; scripts/release --check builds it twice
	@scripts/release

test: ## everything: lint, generated files, all tests; installs what it needs
	@scripts/test

check: test ## the same

quick: ## the inner loop: packages that compute, control, simulators; under a minute
	@scripts/quick

lint: ## format, vet, staticcheck
	@scripts/lint

generate: ## write the generated files again
	@scripts/generate

kubernetes: ## build the Kubernetes that tests run against; minutes for the first time
	@scripts/kubernetes
	@scripts/helm

shots: build ## a picture of every screen of the pages, in bin/shots
	@MUSTER_BIN=$(CURDIR)/bin/muster MUSTER_UI_SHOTS=$(CURDIR)/bin/shots go test ./internal/testing/browser -run Screens -count=1 -timeout 20m
	@ls bin/shots

firefox: build ## all tests of the pages in Firefox, but for what only Chromium can be asked
	@MUSTER_BROWSER=firefox MUSTER_BIN=$(CURDIR)/bin/muster go test ./internal/testing/browser -count=1 -timeout 25m -v | grep -E '^( *--- |ok|FAIL|panic)'

pictures: ## the three pictures of README, out of bin/shots, which make shots fills
	@go run ./scripts/pictures

chaos: ## kills, frozen programs, full disks and power cuts, checked against a ledger; FOR=10m SEED=1
	@scripts/chaos

corpus: ## files of other systems below DIR: what becomes of each; RUN=1 runs them too, BESIDE=slurm beside it, ARGS=-files names them
	@test -n "$(DIR)" || { echo "say which files: make corpus DIR=FOLDER" >&2; exit 2; }
	@$(if $(RUN)$(BESIDE),scripts/build bin/muster &&) go run ./internal/testing/corpus $(if $(BESIDE),-beside bin/muster,$(if $(RUN),-run bin/muster)) $(ARGS) $(DIR)

mutants: ## how many mistakes in core, engine and converters the tests would notice; ARGS='-sample 150 engine'
	@MUSTER_SIM_SEEDS=$${MUSTER_SIM_SEEDS:-3} nice go run ./scripts/mutate $(ARGS)

bench: ## the figures of docs/benchmarks.md
	@scripts/bench
