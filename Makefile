# `make` alone says what there is.

PYTHON := /usr/bin/python3
VENV := .venv
LISTEN := 127.0.0.1:9847
CONFIG := config/default.yaml

# bcc comes from Debian, for Debian's own Python; nothing else of what runs does.
RUN_PACKAGES := python3-bpfcc python3-seccomp python3-venv
TEST_PACKAGES := bpftool debootstrap gcc libc6-dev git make openssl podman postgresql procps runc strace systemd
IMAGE_PACKAGES := debootstrap podman runc
BENCH_PACKAGES := bpftrace gcc libbpf-tools libc6-dev strace

# Installs those of the Debian packages $(1) that are missing.
define install
	@missing=$$(for p in $(1); do dpkg-query -W -f '$${db:Status-Status}' $$p 2>/dev/null | \
		grep -qx installed || echo $$p; done); \
	if [ -n "$$missing" ]; then apt-get -qq update && \
		DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $$missing; fi
endef

.DEFAULT_GOAL := help
.PHONY: help setup run test lint format image sbom tools bench test-vm schema dashboards reference chart lock clean

help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | \
		awk -F ':.*## ' '{ printf "make %-9s %s\n", $$1, $$2 }'

setup: $(VENV)/.ready ## install what is missing: Debian packages, a virtual environment

$(VENV)/.ready: requirements-dev.txt pyproject.toml
	$(call install,$(RUN_PACKAGES))
	$(PYTHON) -m venv --system-site-packages $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

run: setup ## follow PID 1 and all its descendants, and publish at http://127.0.0.1:9847/metrics
	@echo "Look at http://$(LISTEN)/metrics once it says that it is following; Ctrl-C ends it."
	@exec $(VENV)/bin/proctree-exporter serve --config.file $(CONFIG) --web.listen-address $(LISTEN)

test: setup .tools/bin/prometheus .tools/bin/nginx ## run all tests that need Debian's and PyPI's packages; the kernel's too
	$(call install,$(TEST_PACKAGES))
	PATH="$(CURDIR)/.tools/bin:$$PATH" $(VENV)/bin/python -m pytest $(PYTEST_ARGS)

# Unpacked, not installed: the package would start a server of its own.
.tools/bin/prometheus:
	@mkdir -p .tools/deb .tools/bin
	@apt-get -qq update && cd .tools/deb && apt-get -qq download prometheus && dpkg-deb -x prometheus_*.deb .
	@cp .tools/deb/usr/bin/promtool .tools/deb/usr/bin/prometheus .tools/bin/ && rm -r .tools/deb

# The same for nginx.
.tools/bin/nginx:
	@mkdir -p .tools/nginx .tools/bin
	@apt-get -qq update && cd .tools/nginx && apt-get -qq download nginx && dpkg-deb -x nginx_*.deb .
	@cp .tools/nginx/usr/sbin/nginx .tools/bin/ && rm -r .tools/nginx

lint: setup ## check style, types, imports and generated files
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

format: setup ## put the code into shape
	$(VENV)/bin/ruff format .
	$(VENV)/bin/ruff check --fix .

# Or docker, which has to be there.
ENGINE := podman
IMAGE := localhost/proctree-exporter:dev
export ENGINE IMAGE

image: ## build the container image localhost/proctree-exporter:dev, see docs/image.md
	$(if $(filter podman,$(ENGINE)),$(call install,$(IMAGE_PACKAGES)))
	@scripts/image/build $(IMAGE_ARGS)

sbom: setup image ## list what the image consists of: dist/sbom.cdx.json, docs/licences.md
	@mkdir -p dist
	@$(VENV)/bin/python scripts/image/sbom.py $(IMAGE) > dist/sbom.cdx.json
	@$(VENV)/bin/python scripts/image/licences.py < dist/sbom.cdx.json > docs/licences.md
	@echo dist/sbom.cdx.json

TOOLS := etcd helm helm-docs kube-apiserver kubeconform otelcol prometheus3 promtool3

tools: $(TOOLS:%=.tools/bin/%) ## build what tests need: Kubernetes, Helm, OpenTelemetry Collector, Prometheus 3

# Unpacked, not installed, like Prometheus.
.tools/bin/etcd:
	@mkdir -p .tools/etcd .tools/bin
	@apt-get -qq update && cd .tools/etcd && apt-get -qq download etcd-server && dpkg-deb -x etcd-server_*.deb .
	@cp .tools/etcd/usr/bin/etcd .tools/bin/ && rm -r .tools/etcd

# Some minutes the first time, and 2 GiB of Go's caches; without a version it would call itself 0.0.0.
.tools/bin/kube-apiserver: scripts/kube-apiserver/go.mod
	@mkdir -p .tools/bin
	@cd scripts/kube-apiserver && version=$$(go list -m -f '{{.Version}}' k8s.io/kubernetes) && \
		CGO_ENABLED=0 go build -trimpath \
		-ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$version" \
		-o $(CURDIR)/$@ k8s.io/kubernetes/cmd/kube-apiserver
	@touch $@

.tools/bin/otelcol: scripts/otelcol/go.mod scripts/otelcol/main.go
	@mkdir -p .tools/bin
	@cd scripts/otelcol && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o $(CURDIR)/$@ .
	@touch $@

.tools/bin/helm .tools/bin/helm-docs .tools/bin/kubeconform &: scripts/helm/go.mod
	@mkdir -p .tools/bin
	@cd scripts/helm && version=$$(go list -m -f '{{.Version}}' helm.sh/helm/v4) && \
		CGO_ENABLED=0 go build -trimpath \
		-ldflags "-s -w -X helm.sh/helm/v4/internal/version.version=$$version" \
		-o $(CURDIR)/.tools/bin/ tool
	@touch .tools/bin/helm .tools/bin/helm-docs .tools/bin/kubeconform

# Beside Debian's version 2; without pages and most service discoveries, which are most of its code.
.tools/bin/prometheus3 .tools/bin/promtool3: .tools/bin/%3: scripts/prometheus/go.mod
	@mkdir -p .tools/bin
	@cd scripts/prometheus && \
		module=$$(go list -find -f '{{.Module.Dir}}' github.com/prometheus/prometheus/cmd/$*) && \
		CGO_ENABLED=0 go build -trimpath -tags remove_all_sd \
		-ldflags "-s -w -X github.com/prometheus/common/version.Version=$$(cat $$module/VERSION)" \
		-o $(CURDIR)/$@ github.com/prometheus/prometheus/cmd/$*
	@touch $@

bench: setup ## measure: price of a call, memory, scrapes, against the floor and other tools
	$(call install,$(BENCH_PACKAGES))
	$(VENV)/bin/python -m bench $(BENCH_ARGS)

test-vm: setup ## run the kernel tests on Debian's other kernels, in virtual machines
	scripts/test-vm $(VM_ARGS)

schema: setup ## write config/schema.json anew
	$(VENV)/bin/python -m exporter.config.schema > config/schema.json

dashboards: setup ## write Grafana's dashboards and their list anew
	$(VENV)/bin/python -m dashboards.generate

reference: setup ## write docs/reference/ and the recording rules anew
	$(VENV)/bin/python scripts/reference.py
	$(VENV)/bin/python dashboards/rules/generate.py > dashboards/rules/recording.yaml

chart: setup .tools/bin/helm-docs ## write the chart's README.md and values.schema.json anew
	$(VENV)/bin/python scripts/helm/values_schema.py
	.tools/bin/helm-docs --chart-search-root helm --sort-values-order file --log-level error

# uv's resolver gives one lock for all Pythons that we support.
lock: setup ## resolve the locked dependencies anew
	$(PYTHON) -m venv build/uv && build/uv/bin/pip install --quiet uv
	build/uv/bin/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
		--quiet --upgrade pyproject.toml -o requirements.txt
	build/uv/bin/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
		--quiet --upgrade pyproject.toml --group dev -o requirements-dev.txt
	build/uv/bin/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
		--quiet -c requirements-dev.txt pyproject.toml --extra grpc -o requirements-grpc.txt
	echo hatchling | build/uv/bin/uv pip compile --universal --python-version 3.11 --generate-hashes \
		--no-header --quiet -c requirements-dev.txt - -o requirements-build.txt

clean: ## remove what was made here
	rm -rf $(VENV) .tools build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
