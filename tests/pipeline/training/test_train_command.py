"""`thresher train`: models of files and of processed documents, measured on what was held back, and used by `process`."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from thresher.core import ThresherError
from thresher.pipeline.commands.app import app

GOOD = "In the morning of day {0} the bakers of the village brought {0} loaves of bread to the school by the river."
BAD = "Click here now to win {0} dollars of cash, the best casino bonus number {0} waits for you, click now."


def run(*command: object) -> str:
    result = CliRunner().invoke(app, [str(each) for each in command])
    assert result.exit_code == 0, result.output or result.exception
    return result.output


def refusal(*command: object) -> str:
    error = CliRunner().invoke(app, [str(each) for each in command]).exception
    assert isinstance(error, ThresherError), error
    return str(error)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("good", GOOD), ("bad", BAD)):
        rows = (json.dumps({"text": text.format(number), "language": name}) for number in range(120))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows))
    return tmp_path


def test_a_classifier_is_measured_on_held_out_texts_and_stored_with_its_recipe(files: Path):
    command = ["train", "quality", "--good", files / "good.jsonl", "--bad", files / "bad.jsonl"]
    command += ["--buckets", 1000, "--dimensions", 8, "--out"]
    body = json.loads(run(*command, files / "q.bin", "--json"))
    assert body["measures"]["auc"] > 0.99
    assert body["trained"] + body["held_out"] == 240
    assert "AUC 1.000" in run(*command, files / "again.bin")
    assert (files / "again.bin").read_bytes() == (files / "q.bin").read_bytes()
    about = json.loads((files / "q.bin.json").read_text())
    assert about["sha256"] == body["sha256"]
    assert about["recipe"]["dimensions"] == 8
    assert not list(files.glob(".*.partial"))


def test_languages_are_labels_of_files_or_of_rows(files: Path):
    options = ["--out", files / "lid.bin", "--epochs", 10, "--buckets", 1000, "--json"]
    by_file = ["--texts", f"good={files / 'good.jsonl'}", "--texts", f"bad={files / 'bad.jsonl'}"]
    first = json.loads(run("train", "lid", *by_file, *options))
    by_row = ["--texts", files / "good.jsonl", "--texts", files / "bad.jsonl"]
    assert json.loads(run("train", "lid", *by_row, *options)) == first
    assert first["measures"]["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["quality", "--good", "none.jsonl", "--bad", "bad.jsonl"], "none.jsonl: cannot be read"),
        (["quality", "--good", "good.csv", "--bad", "bad.jsonl"], "good.csv: give a .jsonl or .txt file"),
        (["quality", "--good", "few.jsonl", "--bad", "bad.jsonl"], "texts of 'good' to train on"),
        (
            ["quality", "--good", "wrong.jsonl", "--bad", "bad.jsonl"],
            "wrong.jsonl, line 1: it must be an object",
        ),
        (["quality", "--good", "bad.jsonl", "--bad", "bad.jsonl"], "texts of 'good' to train on"),
        (["lid", "--texts", "de=good.jsonl"], "at least two languages are needed; all have the label de"),
        (["lid", "--texts", "de.txt"], "--texts de.txt: its texts have no labels; write CODE=de.txt"),
        (["lid", "--texts", "docs:s"], "--texts docs:s: its texts have no labels; write CODE=docs:s"),
        (["lid", "--texts", "unlabelled.jsonl"], "unlabelled.jsonl, line 1: it has no `language`"),
        (["lid", "--texts", "=de.txt"], "--texts =de.txt: what stands in front of '=' must be a label"),
        (
            ["lid", "--texts", "d e=de.txt"],
            "must be a label of at most 200 characters without spaces, such as de",
        ),
        (["lid", "--texts", "de="], "--texts de=: give a file behind '='"),
        (["lid", "--texts", "de=good.jsonl", "--texts", "nl=empty.txt"], "empty.txt: there are no texts"),
        (
            ["lid", "--texts", "de=good.jsonl", "--texts", "nl=few.jsonl"],
            "1 texts of 'nl' to train on; at least 10",
        ),
        (
            ["lid", "--texts", "de=good.jsonl", "--texts", "nl=good.jsonl"],
            "0 texts of 'de' to train on (120 texts have several labels",
        ),
        (["lid", "--texts", "notjson.jsonl"], "notjson.jsonl, line 1: not JSON"),
        (["quality", "--good", "good.jsonl", "--bad", "empty.txt"], "empty.txt: there are no texts"),
        (["perplexity", "--corpus", "empty.txt"], "empty.txt: there are no texts"),
        (["perplexity", "--corpus", "few.jsonl", "--held-out", "0.9"], "all 1 texts are held out; give more"),
        (["perplexity", "--corpus", "good.jsonl", "--out", "."], "--out .: it is a directory; name a file"),
        (["perplexity", "--corpus", "good.jsonl", "--pieces", "none"], "--pieces none: cannot be read"),
        (
            ["perplexity", "--corpus", "good.jsonl", "--pieces", "de.txt"],
            "--pieces: it is no SentencePiece model",
        ),
        (
            ["pieces", "--corpus", "good.jsonl", "--size", "5"],
            "the corpus cannot be used: Vocabulary size is smaller",
        ),
    ],
)
def test_what_cannot_be_trained_on_is_one_line(
    files: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], problem: str
):
    monkeypatch.chdir(files)
    (files / "few.jsonl").write_text('{"text": "one text"}')
    (files / "wrong.jsonl").write_text('{"words": "one text"}')
    (files / "empty.txt").write_text("\n")
    (files / "de.txt").write_text("ein Text\n")
    (files / "unlabelled.jsonl").write_text('{"text": "one text"}')
    (files / "notjson.jsonl").write_text("one text")
    before = {path.name for path in files.iterdir()}
    assert problem in refusal("train", arguments[0], "--out", "model.bin", *arguments[1:])
    assert {path.name for path in files.iterdir()} == before


def test_figures_are_of_held_out_texts_or_there_are_none(files: Path):
    """A share that holds nothing back must not look like a model that is always wrong."""
    good, bad, out = files / "good.jsonl", files / "bad.jsonl", files / "model"
    small = ["--buckets", 1000, "--dimensions", 8]
    for command in (
        ["quality", "--good", good, "--bad", bad, *small],
        ["lid", "--texts", good, "--texts", bad, *small],
        ["perplexity", "--corpus", good],
    ):
        unmeasured = run("train", *command, "--held-out", 0, "--out", out)
        assert "nothing was held out, so nothing is measured; give more texts" in unmeasured
        assert "0.000" not in unmeasured
        measured = run("train", *command, "--held-out", 0.3, "--out", out)
        assert "\nheld out: " in measured
        assert json.loads((files / "model.json").read_text())["held_out"]["texts"] >= 20
    assert "median perplexity" in measured


def train_quality(files: Path):
    run(
        "train",
        "quality",
        *("--good", files / "good.jsonl", "--bad", files / "bad.jsonl"),
        *("--buckets", 1000, "--dimensions", 8, "--out", files / "q.bin"),
    )


def test_trained_models_judge_documents_in_confined_workers(files: Path):
    """The whole way: models of files, benchmarks and word lists decide what `process` keeps, and `judge` decides anew."""
    train_quality(files)
    run("train", "perplexity", "--corpus", files / "good.jsonl", "--order", 3, "--out", files / "p.arpa")
    (files / "words.txt").write_text("blasted thing\n")
    (files / "bench.jsonl").write_text(
        json.dumps({"question": "How many angels can dance at once upon the head of one very small pin"})
    )
    (files / "texts").mkdir()
    texts = {
        "good": GOOD.format(777),
        "bad": BAD.format(777),
        "listed": f"{GOOD.format(778)} What a blasted thing.",
        "leaked": f"{GOOD.format(779)} How many angels can dance at once upon the head of one very small pin?",
    }
    for name, text in texts.items():
        (files / "texts" / f"{name}.txt").write_text(text)
    (files / "thresher.toml").write_text(
        '[filters]\npreset = "none"\nlanguages = []\nquality_model = "q.bin"\nperplexity_model = "p.arpa"\n'
        'word_lists = "words.txt"\nbenchmarks = ["bench*.jsonl"]\nbenchmark_words = 8\n'
    )
    project = ["--project", files]
    run("ingest", "t", files / "texts", *project)
    run("process", "t", "--workers", 1, *project)
    merged: dict[str, dict] = {}
    for table in ("documents", "measurements", "verdicts"):
        for path in (files / "data" / table / "t").glob("*.parquet"):
            for row in pq.read_table(path).to_pylist():
                merged.setdefault(row["id"], {}).update(row)
    assert len(merged) == 4
    by_name = {
        name: next(row for row in merged.values() if row["text"] == text) for name, text in texts.items()
    }
    reasons = {name: row["reason"] for name, row in by_name.items()}
    assert reasons == {"good": "", "bad": "low_quality", "listed": "listed_words", "leaked": "benchmark"}
    assert by_name["good"]["perplexity"] < by_name["bad"]["perplexity"]
    run(
        "judge",
        "t",
        "--name",
        "lax",
        "--set",
        "quality.least=0",
        "--set",
        "word_list.most=1",
        "--workers",
        1,
        *project,
    )
    judged = [
        row["reason"]
        for path in (files / "data" / "judged_verdicts" / "lax" / "t").glob("*.parquet")
        for row in pq.read_table(path).to_pylist()
    ]
    assert sorted(judged) == ["", "", "", "benchmark"]
    kept = ["--good", "kept:t/lax", "--bad", "dropped:t/lax", "--out", files / "r.bin", *project]
    assert "texts of 'good' to train on" in refusal("train", "quality", *kept)


def test_a_label_that_the_model_lacks_is_refused_before_anything_is_processed(files: Path):
    train_quality(files)
    (files / "thresher.toml").write_text('[filters]\nquality_model = "q.bin"\nquality_label = "hq"\n')
    run("ingest", "t", files / "good.jsonl", "--project", files)
    assert "has no such label, but bad, good" in refusal("process", "t", "--project", files)
    (files / "thresher.toml").write_text('[filters]\nperplexity_model = "good.jsonl"\n')
    assert "it is no language model" in refusal("process", "t", "--project", files)
