# make run    set up and start the bot          make test   set up and run the tests
# make check  style, types, import contracts    make bench  print the benchmarks of speed
# make replay FILE=…  play a conversation that was saved on the page
# make ocr    also install what reads the text of pictures
# make lock   resolve the dependencies again     make bench-quality / check-quality  quality of retrieval (slow)
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Most tests wait for a bot of their own; two at a time keep two cores busy.
TEST_WORKERS ?= 2

# Where the labelled data lies; see benchmarks/quality/README.md.
QUALITY_DATA ?= data/quality
QUALITY = $(BIN)/python -m benchmarks.quality --labels $(QUALITY_DATA)/huixiangdou/labels_dev.jsonl \
	--corpus $(QUALITY_DATA)/huixiangdou/corpus.tar.gz --reading $(QUALITY_DATA)/cmrc2018/dev_half.jsonl --subjects $(QUALITY_DATA)/drcd/test.jsonl

.PHONY: run ocr replay test check bench bench-quality check-quality lock clean

run: $(VENV)/.installed
	$(BIN)/python bot.py

ocr: $(VENV)/.installed-ocr

replay: $(VENV)/.installed
	@exec $(BIN)/python scripts/replay.py "$(FILE)"

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --numprocesses $(TEST_WORKERS) --dist loadfile

check: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.group_bot

bench-quality: $(VENV)/.installed-dev
	$(QUALITY)

check-quality: $(VENV)/.installed-dev
	$(QUALITY) --check

lock: $(VENV)/.installed-dev
	$(BIN)/uv pip compile pyproject.toml --group dev --extra ocr $(LOCK) -o requirements-dev.lock
	$(BIN)/uv pip compile pyproject.toml -c requirements-dev.lock $(LOCK) -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra ocr -c requirements-dev.lock $(LOCK) -o requirements-ocr.lock
LOCK := --universal --python-version 3.11 --no-emit-index-url --no-header --generate-hashes -q

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' || \
		{ echo '需要 Python 3.11、3.12 或 3.13，现在是：'; $(PYTHON) --version; exit 1; }
	@./scripts/make-venv $(PYTHON) $(VENV)

$(VENV)/.installed: requirements.lock | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --require-hashes --only-binary :all: -r requirements.lock
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --require-hashes --only-binary :all: $(SOURCE) -r requirements-dev.lock
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-ocr: requirements-ocr.lock | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --require-hashes --only-binary :all: -r requirements-ocr.lock
	@touch $@ $(VENV)/.installed

# nonebug needs this package, which exists as source only. It is pure Python.
SOURCE := --no-binary async-asgi-testclient

clean:
	rm -rf $(VENV)
