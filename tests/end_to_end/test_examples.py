"""What lies in examples/ does what the guides say of it."""

import importlib.util
import re
import shutil
import subprocess
import sys

import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer

from tests.end_to_end.conftest import ROOT
from tests.served_webs import demo_web  # noqa: F401 - a fixture

EXAMPLES = ROOT / "examples"


@pytest.fixture
def user(calling_user):
    return calling_user


WORDS = ("river", "mountain", "harbour", "lantern", "meadow", "orchard", "winter", "bridge")


@pytest.mark.slow
def test_a_tokenizer_is_trained_from_the_documents_of_a_project(calling_user):
    toml = (calling_user.directory / "thresher.toml").read_text().replace('"gopher"', '"none"')
    (calling_user.directory / "thresher.toml").write_text(toml)
    texts = calling_user.directory / "texts"
    texts.mkdir()
    for number in range(40):
        here = " ".join(WORDS[(number + n) % len(WORDS)] for n in range(60))
        (texts / f"{number}.txt").write_text(f"Text {number} tells of the {here}, and nothing else. Käse ꙮ!")
    script = [sys.executable, str(EXAMPLES / "train_tokenizer.py"), "data", "tokenizer.json"]

    def trains():
        return subprocess.run(script, cwd=calling_user.directory, capture_output=True, text=True, check=False)

    too_soon = trains()
    assert (too_soon.returncode, "run `thresher process` first" in too_soon.stderr) == (2, True)
    calling_user.run("ingest", "books", texts)
    calling_user.run("process")
    done = trains()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("wrote tokenizer.json: ")
    calling_user.run("dedup")
    calling_user.run("export", "--out", "out", "--tokenizer", "tokenizer.json")
    tokenizer = Tokenizer.from_file(str(calling_user.directory / "tokenizer.json"))
    rows = pq.read_table(calling_user.directory / "out" / "data" / "shard-00000.parquet").to_pylist()
    assert rows
    for row in rows:
        assert tokenizer.decode(row["input_ids"]) == row["text"]
        assert len(row["input_ids"]) < len(row["text"]) / 3


def runs(user, script, *words):
    """What a script of the examples prints, started in the project's directory as a user starts it."""
    done = subprocess.run(
        [sys.executable, script, *map(str, words)],
        cwd=user.directory,
        env={**user.environment, "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_a_first_crawl_from_python_and_its_shards_in_every_tool(user, calling_user, demo_web):
    said = runs(user, EXAMPLES / "first_crawl.py", user.directory, demo_web.hosts["lantern"] + "/")
    fetched = int(re.findall(r"(\d+) pages fetched", said)[0])
    kept = int(re.findall(r"^  kept +(\d+)$", said, re.MULTILINE)[0])
    stages = [int(count) for count in re.findall(r"^  \S.*? +(\d+)$", said, re.MULTILINE)]
    listed = re.findall(r"^en  (.+?)  +(http\S+)$", said, re.MULTILINE)
    documents, tokens = map(int, re.findall(r"(\d+) documents, (\d+) tokens\n$", said)[0])
    assert 20 <= fetched <= 100
    assert 0 < kept == documents <= len(listed)
    assert all(url.startswith(demo_web.hosts["lantern"]) for _, url in listed)
    rows = pq.read_table(user.directory / "out" / "data").to_pylist()
    assert (len(rows), sum(len(row["input_ids"]) for row in rows)) == (documents, tokens)
    report = calling_user.run("report", "--json").json
    assert sum(stages) == report["records"]

    read = runs(user, EXAMPLES / "read_shards.py", "out")
    host = demo_web.hosts["lantern"].removeprefix("http://")
    assert f"pyarrow: {documents:,} documents, {tokens:,} tokens\n" in read
    for tool, line in (
        ("duckdb", f"duckdb: {host}: {tokens:,} tokens\n"),
        ("datasets", f"datasets: first row of http://{host}"),
    ):
        if importlib.util.find_spec(tool) is None:
            pytest.skip(f"{tool} is not installed")
        assert line in read


def test_a_tool_that_is_not_installed_is_left_out_and_named(user):
    hidden = (
        "import sys, runpy; sys.modules['duckdb'] = None; sys.argv = ['read_shards.py', 'out', 'duckdb']; "
    )
    code = hidden + f"runpy.run_path({str(EXAMPLES / 'read_shards.py')!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "duckdb: left out, for duckdb is not installed\n"


def test_training_without_pytorch_is_refused_in_one_line():
    code = (
        "import sys, runpy; sys.modules['torch'] = None; sys.argv = ['train.py', 'out', '--checkpoint', 'run.pt']; "
        f"runpy.run_path({str(EXAMPLES / 'train.py')!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("train.py needs PyTorch (")
    assert done.stderr.endswith("): pip install torch\n")
    assert done.stderr.count("\n") == 1


SHOP = "The lamp is in stock. Add to cart or buy now, for it is a special offer with free shipping. "
STORY = (
    "The keeper of the lamp went down to the harbour in the evening and waited for the boats to come home. "
)


@pytest.mark.slow
def test_an_own_rule_drops_what_it_names_and_counts_in_the_report(user):
    shutil.copy(EXAMPLES / "own_rule.py", user.directory)
    toml = (user.directory / "thresher.toml").read_text()
    own = toml.replace('preset = "gopher"', 'preset = "none"\nrules = ["own_rule:Selling"]')
    texts = user.directory / "texts"
    texts.mkdir()
    (texts / "shop.txt").write_text(SHOP * 5)
    (texts / "story.txt").write_text(STORY * 5)

    tried = runs(user, user.directory / "own_rule.py", "texts/shop.txt", "texts/story.txt").splitlines()
    assert [line.split()[1] for line in tried] == ["too_many_phrases", "kept"]

    user.run("ingest", "books", texts)
    (user.directory / "thresher.toml").write_text(toml.replace('"gopher"', '"none"'))
    user.run("process")
    (user.directory / "thresher.toml").write_text(own)
    refused = user.run("process", code=2)
    assert "process of" in refused.line
    assert "--redo" in refused.line
    user.run("process", "--redo")
    stages = {stage["stage"]: stage["documents"] for stage in user.run("report", "--json").json["stages"]}
    assert stages == {"selling/too_many_phrases": 1, "kept": 1}
    (measurements,) = (user.directory / "data" / "measurements" / "books").glob("*.parquet")
    measured = pq.read_table(measurements)["shop_phrases_per_1000_words"].to_pylist()
    assert sorted(value == 0 for value in measured) == [False, True]


@pytest.mark.slow
def test_an_own_spider_takes_its_items_and_the_archive_has_the_pages(user, calling_user, demo_web):
    script = shutil.copy(EXAMPLES / "own_spider.py", user.directory)
    start = demo_web.hosts["lantern"] + "/"
    said = runs(user, script, start)
    fetched = int(re.findall(r"fetched: (\d+)", said)[0])
    found = re.findall(rf"^(.+)  ({re.escape(start)}\S*)$", said, re.MULTILINE)
    assert 20 <= fetched <= 60
    assert 10 <= len({url for _, url in found}) <= fetched
    assert calling_user.run("show", start).out


TESTS = (
    "end_to_end/test_examples.py",
    "end_to_end/test_training.py",
    "pipeline/steps/annotations/test_annotator_examples.py",
)
MAX_LINES = {"train.py": 140, "annotate_education.py": 100}  # they train a model as well


def test_every_example_has_a_test_and_says_how_it_is_run():
    here = "".join((ROOT / "tests" / name).read_text() for name in TESTS)
    for path in EXAMPLES.glob("*.py"):
        text = path.read_text()
        assert path.stem in here
        ways = (f"python examples/{path.name}", f"python {path.name}", f"--with {path.stem}:")
        assert any(way in text for way in ways)
        assert len(text.splitlines()) <= MAX_LINES.get(path.name, 70)
