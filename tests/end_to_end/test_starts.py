"""What a command imports when there is nothing left to do. A library that it does not need costs it time and memory.

A library is in the set of a command if the command uses it. `bench/pipeline/starts.py` measures what that costs.
"""

import json
import os
import subprocess
import sys

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from tests.end_to_end.conftest import ROOT, TOML

HEAVY = (
    *(
        "sqlalchemy",
        "sqlmodel",
        "alembic",
        "redis",
        "valkey",
        "numpy",
        "pyarrow",
        "pyarrow.compute",
        "pyarrow.dataset",
    ),
    *(
        "tokenizers",
        "gigatoken",
        "rich",
        "tldextract",
        "requests",
        "lxml",
        "h2",
        "pycares",
        "fasttext",
        "py3langid",
    ),
    *(
        "pycld2",
        "pypdfium2",
        "warcio",
        "scrapy",
        "matplotlib",
        "ray",
        "aiohttp",
        "boto3",
        "fastapi",
        "jinja2",
        "uvicorn",
        "kenlm",
    ),
)
RUN = f"""
import atexit, sys
heavy = {HEAVY!r}
atexit.register(lambda: print("imported:", *sorted(set(heavy) & set(sys.modules)), file=sys.stderr))
from thresher.__main__ import main
main()
"""
CATALOG = {"sqlalchemy", "sqlmodel"}
TABLES = {"numpy", "pyarrow"}
COMPUTE = TABLES | {"pyarrow.compute"}
RULES = {"fasttext", "pycld2"}
READERS = {"lxml", "pypdfium2"}
EXPORT = COMPUTE | {"tokenizers", "gigatoken"}
COMMANDS = {
    "--help": set(),
    "export --help": set(),
    "ingest texts texts.jsonl": COMPUTE,
    "process": RULES | READERS | {"numpy"},
    "judge --name mine --set gopher_quality.fewest_words=60": RULES | READERS | COMPUTE,
    "dedup": COMPUTE,
    "export --out out --tokenizer tokenizer.json --eos none": EXPORT,
    "report": CATALOG | {"rich"},
    "report --json": CATALOG,
    "report --rules": CATALOG | {"rich"} | RULES | COMPUTE,
    "show https://example.org/1": COMPUTE,
    "status": CATALOG | {"rich"},
    "status --json": CATALOG,
    "verify": CATALOG | TABLES,
    "verify out": COMPUTE,
    "catalog rebuild": CATALOG,
    "export-wacz texts --out texts.wacz": COMPUTE,  # the texts of its pages
    # From here on the project has a crawl.
    "seed http://127.0.0.1:9/ --crawl web --scope host": {"redis"},
    "frontier hosts web": {"redis"},
    "crawl web --max-requests 1": {"redis"},
    "log web": set(),
    "status --json --project .": CATALOG | {"redis"},
}
MADE_BY = (
    "ingest texts texts.jsonl",
    "process",
    "judge --name mine --set gopher_quality.fewest_words=60",
    "dedup",
)
FIRST = (*MADE_BY, "catalog rebuild", "export --out out --tokenizer tokenizer.json --eos none")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a project with one ingest that is processed, judged, deduplicated and exported."""
    directory = tmp_path_factory.mktemp("project")
    (directory / "thresher.toml").write_text(TOML)
    text = "The house by the river had {} rooms, and in each of them somebody was reading. "
    rows = [{"url": f"https://example.org/{n}", "text": text.format(n) * 9} for n in range(3)]
    (directory / "texts.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({letter: number for number, letter in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.save(str(directory / "tokenizer.json"))
    for words in FIRST:
        run(directory, words)
    return directory


def run(directory, words):
    """Run a command, and return the heavy libraries that its own process has imported."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *words.split()],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("imported:"))
    return set(line.split()[1:])


@pytest.mark.slow
def test_a_command_imports_no_library_that_it_does_not_need(project):
    needless = {words: found for words, used in COMMANDS.items() if (found := run(project, words) - used)}
    assert needless == {}


def test_a_project_without_a_crawl_imports_no_client_and_starts_no_server(tmp_path):
    (tmp_path / "thresher.toml").write_text(TOML)
    (tmp_path / "texts.jsonl").write_text(
        '{"url": "https://example.org/", "text": "The house by the river."}\n'
    )
    for words in ("ingest texts texts.jsonl", "catalog rebuild"):
        run(tmp_path, words)
    found = {words: run(tmp_path, words) for words in ("--help", "report --json", "status --json", "verify")}
    assert found == {"--help": set(), "report --json": CATALOG, "status --json": CATALOG, "verify": CATALOG}
    assert not (tmp_path / ".thresher" / "redis").exists()
