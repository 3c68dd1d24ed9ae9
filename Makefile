# ruled: the two commands that do everything, and the parts they are made of. Each sets up what it needs.
.PHONY: run test build deps bench torture clean help

help:
	@echo "make run      build, start the daemon with the shipped rules, feed it the examples, go on serving"
	@echo "make test     run every test"
	@echo "make bench    measure against Redis and Tarantool on this machine"
	@echo "make torture  kills, power cuts, failing calls and full disks, about an hour"
	@echo "make build    build the release programs into .build/release"
	@echo "make clean    remove what was built and the store of make run"

deps:
	@scripts/install-dependencies

build: deps
	@scripts/build release --static-swift-stdlib

run: build
	@scripts/run

test: deps
	@scripts/test

bench: build
	@Benchmarks/run

torture: build
	@Torture/run

clean:
	@rm -rf .build var
