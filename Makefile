# Everything one does with this repository; `make help` lists it.
# A fresh machine needs Python >= 3.11, git, make and a package index, and no root.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh
# Some hundred processes start in a test run, and each would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

SERVICES := identity repos issues hooks mail web gateway
MEMBERS := $(patsubst %/pyproject.toml,%,$(wildcard libs/*/pyproject.toml services/*/pyproject.toml apps/*/pyproject.toml))
# What runs by itself; the app that puts all services together has nothing to be isolated from.
ALONE := $(filter-out apps/%,$(MEMBERS))
# What tests them together: the longest first, then what waits for processes that start, beside what computes; short tests come last.
LONGEST := tests/e2e/test_schema.py
E2E := $(filter-out $(LONGEST),$(sort $(wildcard tests/e2e/test_*.py tests/e2e/*/test_*.py)))
TOGETHER := $(LONGEST) $(filter apps/%,$(MEMBERS)) $(filter-out tests/e2e tests/__pycache__,$(patsubst %/,%,$(wildcard tests/*/))) $(E2E)
# They wait for other processes a third of their time; tests of one distribution wait for servers half of theirs.
CORES := $(shell getconf _NPROCESSORS_ONLN)
WORKERS := $(shell echo $$(($(CORES) * 3 / 2)))
WORKERS_ALONE := $(shell echo $$(($(CORES) * 2)))
# Hostile requests, and every caller at every internal route.
HOSTILE := $(sort $(wildcard services/*/tests/test_hostile_input.py services/*/tests/test_roles.py services/*/tests/*/test_roles.py))
SOURCES := $(addsuffix /src,$(MEMBERS))
PYPROJECTS := pyproject.toml $(addsuffix /pyproject.toml,$(MEMBERS))
BIN := .venv/bin
PYTEST := $(BIN)/python -m pytest
# Tests that are not about SQL take turns on SQLite and PostgreSQL in `make test`; DATABASES=both runs each on both.
DATABASES ?= turns
# The same for end-to-end tests, one process and a cluster; `make e2e` runs each on both.
DEPLOYMENTS ?= turns
# Free words for the program behind a target: make run ARGS="--port 8080", make test ARGS="-k login"
ARGS ?=

##@ Running

.PHONY: help
help: ## List every target
	@awk 'BEGIN { FS = ":.*## " } \
	     /^##@ / { printf "\n%s\n", substr($$0, 5) } \
	     /^[a-z0-9-]+:.*## / { printf "  %-18s %s\n", $$1, $$2 }' Makefile

.PHONY: run
run: .venv/.runtime ## Start all of Ingot on this machine (ARGS="…" goes to `ingot up`)
	@INGOT_WEB_STYLEGUIDE=$${INGOT_WEB_STYLEGUIDE:-true} $(BIN)/ingot up $(ARGS)

.PHONY: dev
dev: .venv/.dev ## Run one instance with users, repositories and issues, and restart it when a source changes (ARGS="--port 8000")
	@$(BIN)/python tools/dev.py $(ARGS)

.PHONY: seed
seed: .venv/.dev ## Fill a running instance with users, repositories, issues and pull requests (ARGS="--url http://…")
	@$(BIN)/python tools/seed.py $(ARGS)

.PHONY: shell
shell: .venv/.dev ## Open a Python shell with a signed-in client of the running instance (ARGS="--user ann")
	@$(BIN)/python tools/shell.py $(ARGS)

.PHONY: dbshell
dbshell: .venv/.dev ## Open an SQL shell on the database of SERVICE=repos, SQLite or PostgreSQL (ARGS=--write lets it change)
	@$(BIN)/python tools/dbshell.py $(or $(SERVICE),$(error name the database: make dbshell SERVICE=repos)) $(ARGS)

.PHONY: setup
setup: .venv/.dev ## Install everything for development into .venv

##@ Testing

.PHONY: test
test: .venv/.dev ## Run all tests, those of each service and library alone (ARGS="-k login" and the like go to pytest)
	@INGOT_TEST_DATABASES=$(DATABASES) WORKERS=$(WORKERS_ALONE) tools/isolated $(ALONE) -- $(ARGS); alone=$$?; \
	echo "testing them together …"; \
	INGOT_TEST_DEPLOYMENTS=$(DEPLOYMENTS) $(PYTEST) -q -rsfE -n $(WORKERS) $(TOGETHER) $(ARGS) $(if $(ARGS),|| [ $$? -eq 5 ]) && exit $$alone

.PHONY: test-wire test-git test-remotes test-ssh test-chassis test-contracts test-testing test-standalone $(SERVICES:%=test-%)
test-identity: ## Run the tests of services/identity
test-repos: ## Run the tests of services/repos
test-issues: ## Run the tests of services/issues
test-hooks: ## Run the tests of services/hooks
test-mail: ## Run the tests of services/mail
test-web: ## Run the tests of services/web
test-gateway: ## Run the tests of services/gateway
test-wire: ## Run the tests of libs/wire
test-git: ## Run the tests of libs/git
test-remotes: ## Run the tests of libs/remotes
test-ssh: ## Run the tests of libs/ssh
test-chassis: ## Run the tests of libs/chassis
test-contracts: ## Run the tests of libs/contracts
test-testing: ## Run the tests of libs/testing
test-standalone: ## Run the tests of apps/standalone
test-wire test-git test-remotes test-ssh test-chassis test-contracts test-testing test-standalone $(SERVICES:%=test-%): test-%: .venv/.dev
	@echo "running the tests of $* …"
	@$(PYTEST) -n auto $(filter %/$*,$(MEMBERS)) $(ARGS)

.PHONY: affected
affected: .venv/.dev ## Check format, style, types, layers and the nearest tests of what changed (ARGS="--base REF --most 12")
	@$(BIN)/python tools/affected.py $(ARGS)

.PHONY: e2e
e2e: .venv/.dev ## Run the end-to-end tests, in both modes
	@echo "running the end-to-end tests …"
	@$(PYTEST) -n auto tests/e2e $(ARGS)

.PHONY: clients
clients: .venv/.dev ## Install client programs from their registries and run them against Ingot (minutes; ARGS="--write git-lfs JGit")
	@echo "installing and running client programs …"
	@$(BIN)/python -m tests.clients.run $(ARGS)

.PHONY: oidc-provider
oidc-provider: ## Install the provider of OpenID Connect that tests sign in with, from npm; needs Node.js
	@mkdir -p .tools/oidc-provider && cp libs/testing/src/ingot_testing/openid_provider/package.json .tools/oidc-provider/
	@npm install --prefix .tools/oidc-provider --no-audit --no-fund --no-package-lock --loglevel=error

.PHONY: oracle
oracle: .venv/.dev ## Compare answers about git with those of git itself (INGOT_GIT_ORACLE=number, INGOT_GIT_ORACLE_SEED=word)
	@echo "asking git and Ingot …"
	@$(PYTEST) -q -s tests/oracle $(ARGS)

.PHONY: cluster-test
cluster-test: .venv/.dev ## Try the cluster that KUBECONFIG names, with the overlay dev: restarts, deleted pods, policies (minutes)
	@echo "trying $$INGOT_CLUSTER_URL …"
	@$(PYTEST) -s -rs tests/cluster $(ARGS)

.PHONY: restarts
restarts: .venv/.dev ## Replace the processes of each service under load, and by those of the next release (minutes)
	@echo "replacing processes …"
	@INGOT_RESTARTS=yes $(PYTEST) -q -s -rs -n 1 tests/e2e/test_restarts.py $(ARGS)

.PHONY: soak
soak: .venv/.dev ## Kill and stop processes and servers under load, many times, send hostile requests, ask git (hours; docs/explanation/reliability.md)
	@echo "killing and stopping processes and servers …"
	@INGOT_FAULTS=$${INGOT_FAULTS:-100} $(PYTEST) -q -s tests/faults $(ARGS)
	@INGOT_TEST_KILLS=all $(PYTEST) -q libs/chassis/tests/test_kill.py services/repos/tests/test_kill.py $(ARGS)
	@echo "sending hostile requests …"
	@INGOT_SAFETY=whole $(PYTEST) -q -s tests/safety $(ARGS)
	@INGOT_SAFETY=whole $(PYTEST) -q $(HOSTILE) $(ARGS)
	@echo "sending mails by a server that fails …"
	@INGOT_MAIL_EVENTS=$${INGOT_MAIL_EVENTS:-10000} $(PYTEST) -q services/mail/tests/mails/test_sending.py $(ARGS)
	@echo "sending requests past a second parser …"
	@INGOT_ORACLE=$${INGOT_ORACLE:-1000000} $(PYTEST) -q -s services/gateway/tests/test_oracle.py services/gateway/tests/test_broken_answers.py $(ARGS)
	@echo "comparing walks through histories with sets of ancestors …"
	@INGOT_ORACLE_HISTORIES=$${INGOT_ORACLE_HISTORIES:-50000} $(PYTEST) -q libs/git/tests/test_reachability.py $(ARGS)
	@echo "comparing all small merges with git …"
	@INGOT_MERGES=$${INGOT_MERGES:-all} $(PYTEST) -q -s libs/git/tests/test_tree_merges.py $(ARGS)
	@INGOT_FUZZ=$${INGOT_FUZZ:-50} $(PYTEST) -q -s tests/e2e/test_schema.py $(ARGS)
	@INGOT_BOMBS=whole $(PYTEST) -q services/repos/tests/test_bombs.py $(ARGS)
	@INGOT_MARKDOWN=whole $(PYTEST) -q services/issues/tests/markdown/test_markdown_work.py $(ARGS)
	@echo "pushing and cloning at once …"
	@INGOT_TEST_GIT_EXCHANGES=$${INGOT_TEST_GIT_EXCHANGES:-500} $(PYTEST) -q tests/e2e/transports/test_mixed_traffic.py $(ARGS)
	@echo "comparing answers about git with git's …"
	@INGOT_GIT_ORACLE=$${INGOT_GIT_ORACLE:-100000} INGOT_TEST_DEPLOYMENTS=turns $(PYTEST) -q -s tests/oracle $(ARGS)
	@echo "moving an organization in while its workers are killed …"
	@INGOT_MOVING_IN=whole INGOT_TEST_DEPLOYMENTS=turns $(PYTEST) -q -s tests/e2e/test_organization_moves_in.py $(ARGS)
	@$(MAKE) restarts
	@INGOT_LARGE_MIB=$${INGOT_LARGE_MIB:-2048} $(PYTEST) -q -s tests/e2e/transports/test_large_repository.py $(ARGS)
	@$(MAKE) fuzz SECONDS_EACH=600

.PHONY: fuzz
fuzz: .venv/.dev ## Install atheris and let coverage guide the inputs of parsers, SECONDS_EACH=60; Linux alone
	@tools/locked requirements-tools.lock atheris | tools/uv pip install --quiet --target .tools/fuzz \
	    --python $(BIN)/python --require-hashes --requirement -
	@for parser in push token upload; do \
	    echo "trying to break the parser of $$parser …"; \
	    PYTHONPATH=.tools/fuzz $(BIN)/python tests/safety/guided_inputs.py $$parser -artifact_prefix=.tools/fuzz/ \
	        -max_total_time=$${SECONDS_EACH:-60} -verbosity=0 -print_final_stats=1 || exit 1; \
	done

.PHONY: deployable
deployable: .venv/.dev ## Test the images' folders and check everything in deploy/
	@echo "checking what is deployed …"
	@INGOT_TEST_IMAGES=all $(PYTEST) -n auto tests/deploy $(ARGS)

.PHONY: bench
bench: .venv/.dev ## Measure: requests, git operations, starts, resident memory, webhooks
	@echo "measuring …"
	@$(BIN)/python benchmarks/run.py $(ARGS)
	@$(BIN)/python benchmarks/daily.py $(filter --check,$(ARGS))
	@$(BIN)/python benchmarks/hops.py
	@$(BIN)/python benchmarks/repositories.py $(ARGS)
	@$(BIN)/python benchmarks/repository_code.py $(ARGS)
	@$(BIN)/python benchmarks/issues.py $(ARGS)
	@$(BIN)/python benchmarks/merges.py $(filter --check,$(ARGS))
	@$(BIN)/python benchmarks/events.py $(filter --check,$(ARGS))
	@$(BIN)/python benchmarks/deliveries.py --rate $(filter --check,$(ARGS))
	@$(BIN)/python benchmarks/sign_ins.py
	@$(BIN)/python benchmarks/imports.py
	@$(BIN)/python benchmarks/start.py $(filter --check,$(ARGS))
	@$(BIN)/python benchmarks/forks.py
	@$(BIN)/python benchmarks/coordination.py $(filter --check,$(ARGS))
	@$(BIN)/python benchmarks/git.py $(filter --check,$(ARGS))

.PHONY: bench-pages
bench-pages: .venv/.dev ## Measure every page in a large repository (a quarter of an hour)
	@echo "measuring pages …"
	@$(BIN)/python benchmarks/pages.py --all --requests 20 $(ARGS)

.PHONY: bench-memory
bench-memory: .venv/.dev ## Load both modes for an hour each, and look whether memory grows
	@echo "measuring memory under load …"
	@$(BIN)/python benchmarks/memory.py $(ARGS)

.PHONY: bench-large
bench-large: .venv/.dev ## Measure requests among 100,000 repositories and 1,000,000 issues, a repository of 100,000 commits, and shards (half an hour; docs/reference/sizing.md)
	@echo "measuring among many …"
	@$(BIN)/python benchmarks/large.py $(ARGS)
	@$(BIN)/python benchmarks/large_repository.py $(filter --check,$(ARGS))
	@$(BIN)/python benchmarks/shards.py

##@ Checks

.PHONY: format
format: .venv/.dev ## Write all code in the one format
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --quiet --fix --exit-zero .

.PHONY: lint
lint: .venv/.dev ## Check format and style
	@echo "checking format and style …"
	@$(BIN)/ruff format --quiet --check . || { echo "make format fixes formatting" >&2; exit 1; }
	@$(BIN)/ruff check --quiet .

.PHONY: types
types: .venv/.dev ## Check types
	@echo "checking types …"
	@$(BIN)/mypy $(SOURCES)

.PHONY: arch
arch: .venv/.dev ## Check the layers, the boundaries between services, names and rows
	@echo "checking the architecture …"
	@$(BIN)/lint-imports
	@$(PYTEST) -q tests/arch

.PHONY: check
check: .venv/.dev ## All of the above checks and tests: what CI runs
	@$(MAKE) -j2 types lint arch vulnerabilities
	@$(MAKE) test TOGETHER="$(filter-out tests/arch,$(TOGETHER))"

##@ Maintenance

.PHONY: docs
docs: .venv/.dev ## Write the generated pages, pictures and dashboards
	@$(BIN)/python tools/generate_docs.py

.PHONY: docs-site
docs-site: .tools/docs/.installed ## Build the site of the docs into .tools/site; a dead link fails (installs Sphinx)
	@.tools/docs/bin/sphinx-build -W --keep-going -q -b html -d .tools/docs/cache -c docs . .tools/site
	@cp docs/site-start.html .tools/site/index.html
	@echo "open .tools/site/index.html"

.tools/docs/.installed: requirements-docs.lock
	@echo "installing Sphinx into .tools/docs …"
	@tools/uv venv --quiet --clear --python "$$(tools/python)" .tools/docs
	@tools/uv pip install --quiet --python .tools/docs/bin/python --require-hashes -r requirements-docs.lock
	@touch $@

.PHONY: screenshots
screenshots: .venv/.dev ## Take the pictures of docs/explanation/pages.md anew; needs Chromium
	@$(BIN)/python tools/screenshots.py $(ARGS)

.PHONY: lock
lock: ## Write the requirements locks (ARGS="--upgrade-package NAME" moves one dependency, --upgrade all)
	@tools/lock $(ARGS)

.PHONY: sbom
sbom: ## Print what Ingot is made of, as CycloneDX
	@$(BIN)/python tools/sbom.py

.PHONY: vulnerabilities
vulnerabilities: .venv/.dev ## Look for known vulnerabilities of the locked packages, where advisories can be reached
	@echo "looking for known vulnerabilities …"
	@$(BIN)/python tools/vulnerabilities.py

.PHONY: kustomize
kustomize: ## Build kustomize with Go into .tools, where neither it nor kubectl is there (minutes)
	@GOBIN="$(CURDIR)/.tools" go install sigs.k8s.io/kustomize/kustomize/v5@v5.7.1

.PHONY: helm
helm: ## Build helm with Go into .tools, for the tests of the chart (minutes)
	@GOBIN="$(CURDIR)/.tools" go install helm.sh/helm/v3/cmd/helm@v3.22.0

.PHONY: clean
clean: ## Remove environments, tools and caches, but no data
	@rm -rf .venv .tools .mypy_cache .ruff_cache .import_linter_cache .pytest_cache .hypothesis dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are written by tools/install; `dev` writes both.
.venv/.runtime: requirements.lock $(PYPROJECTS) tools/install
	@tools/install runtime

.venv/.dev: requirements-dev.lock $(PYPROJECTS) tools/install
	@tools/install dev
