# Each target installs what it needs first.
.PHONY: help run cluster test test-release test-dashboard test-cluster test-package build install deb deps bench torture house clean

PREFIX ?= /usr/local

help:
	@echo "make run           build, start the daemon with the shipped rules, send it the examples, keep serving"
	@echo "make cluster       build, start three nodes over PostgreSQL with two standbys, kill primary and owner, count, keep serving"
	@echo "make test          run every test"
	@echo "make test-release  run the end-to-end tests with optimised programs, and count their allocations"
	@echo "make test-dashboard open the dashboard in headless Chromium"
	@echo "make test-cluster  nodes over PostgreSQL, and PostgreSQL under Patroni: kills, stops and cuts"
	@echo "make test-package  install, start, upgrade and purge the Debian package in a chroot; needs root"
	@echo "make bench         compare with Redis and Tarantool on this host, about an hour"
	@echo "make torture       kills, power cuts, failing calls and full disks, about an hour"
	@echo "make build         build the release programs into .build/release"
	@echo "make deb           build .build/deb/ruled_VERSION_ARCHITECTURE.deb, and ruled-postgres beside it"
	@echo "make install       install what make build built; takes DESTDIR and PREFIX ($(PREFIX))"
	@echo "make house         print figures of the source code"
	@echo "make clean         remove what was built, and the store of make run"

deps:
	@scripts/install-dependencies

build: deps
	@scripts/build release --static-swift-stdlib -debug-info-format none

# Does not build, so that it can run as root.
install:
	@scripts/install "$(DESTDIR)" --prefix "$(PREFIX)"

deb:
	@scripts/install-dependencies package
	@scripts/make-deb

run: build
	@scripts/run

cluster: build
	@scripts/install-dependencies openssl iproute2 libpq5
	@scripts/install-dependencies --cluster
	@scripts/cluster-demo

test:
	@scripts/install-dependencies test
	@scripts/test

test-release:
	@scripts/install-dependencies test
	@scripts/test-release

test-dashboard: deps
	@scripts/test-dashboard

test-cluster:
	@scripts/install-dependencies test
	@scripts/build debug --build-tests
	@scripts/test-outside debug cluster
	@RULED_NODES=3 scripts/run-tests .build/debug .build/end-to-end.log --filter EndToEndTests

test-package:
	@scripts/install-dependencies package
	@scripts/test-package

bench: build
	@Benchmarks/run

torture: build
	@Torture/run

house:
	@scripts/house

clean:
	@rm -rf .build var
