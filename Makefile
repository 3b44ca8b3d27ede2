.PHONY: help setup demo test test-all check lint bench docs wheel
help: ; @sed -n 's/^make /make /p' CONTRIBUTING.md
setup: ; @tools/setup
demo: setup ; @tools/demo
test: setup ; @tools/test
test-all: setup ; @tools/test all
check: setup ; @tools/check
lint: setup ; @tools/lint
docs: setup ; @.venv/bin/python tools/reference.py
bench: setup ; @bench/run all --quick
wheel: setup ; @tools/wheel
