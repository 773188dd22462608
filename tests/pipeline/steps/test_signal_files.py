"""Signals in the process step: files come from the storage, secrets stay out of it, results follow the files."""

import gzip
import json
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from thresher.core import InputError, ThresherError
from thresher.filters.training.classifier_training import TrainingOptions, train_classifier
from thresher.pipeline.commands.app import app
from thresher.pipeline.open_project import OpenProject
from thresher.pipeline.steps.records import signal_files
from thresher.storage.manifest import manifests

TEXT = (
    "The office of the society answers letters on every working day of the week, and the members write to {} when they"
    " have something to ask. The minutes of the last meeting are in the archive, which is open in the morning."
)
SECRET = "a secret of more than sixteen bytes"


def project_with(directory: Path, keys: str, *texts: str) -> Path:
    (directory / "thresher.toml").write_text(f'[filters]\npreset = "none"\nlanguages = []\n{keys}\n')
    (directory / "texts").mkdir()
    for number, text in enumerate(texts):
        (directory / "texts" / f"{number}.txt").write_text(text)
    run(directory, "ingest", "t", str(directory / "texts"))
    return directory


def run(directory: Path, *command: str) -> str:
    result = CliRunner().invoke(app, [*command, "--project", str(directory)])
    assert result.exit_code == 0, result.output or result.exception
    return result.output


def refusal(directory: Path, *command: str) -> str:
    error = CliRunner().invoke(app, [*command, "--project", str(directory)]).exception
    assert isinstance(error, ThresherError), error
    return str(error)


def rows_of(directory: Path, table: str) -> list[dict]:
    tables = sorted((directory / "data" / table / "t").glob("*.parquet"))
    return [row for table in tables for row in pq.read_table(table).to_pylist()]


def test_masked_data_is_in_the_documents_and_not_in_what_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MASK_SECRET", SECRET)
    keys = 'mask = ["email"]\nmask_key = "env:MASK_SECRET"'
    project_with(tmp_path, keys, TEXT.format("jane@firma.de"), TEXT.format("81.2.69.142"))
    run(tmp_path, "process", "t", "--workers", "1")
    rows = rows_of(tmp_path, "measurements")
    assert sorted(row["pii_emails"] for row in rows) == [0.0, 1.0]
    (edit,) = (edit for row in rows for edit in row["edits"])
    assert edit["replacement"].endswith("@example.com")
    stored = b"".join(path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file())
    assert SECRET.encode() not in stored


def test_another_secret_is_another_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MASK_SECRET", SECRET)
    project_with(tmp_path, 'mask = ["email"]\nmask_key = "env:MASK_SECRET"', TEXT.format("jane@firma.de"))
    run(tmp_path, "process", "t", "--workers", "1")
    monkeypatch.setenv("MASK_SECRET", SECRET[::-1])
    assert "--redo" in refusal(tmp_path, "process", "t", "--workers", "1")


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("env:NO_SUCH_SECRET", "the environment variable NO_SUCH_SECRET is not set; set it to the output of"),
        ("env:", "it names no variable; write env:VARIABLE"),
        ("env:EMPTY_SECRET", "the environment variable EMPTY_SECRET has 0 bytes"),
        ("nothing.txt", "cannot be read"),
        ("short.txt", "has 5 bytes"),
    ],
)
def test_a_missing_or_short_secret_is_refused_before_anything_is_processed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, problem: str
):
    monkeypatch.setenv("EMPTY_SECRET", "")
    (tmp_path / "short.txt").write_text("short")
    project_with(tmp_path, f'mask = ["email"]\nmask_key = "{key}"', TEXT)
    assert problem in refusal(tmp_path, "process", "t")
    project = OpenProject.at(tmp_path)
    assert not list(manifests(project.store, "process", "t"))
    with pytest.raises(InputError, match=problem):
        signal_files.stored_filters(project.store, tmp_path, project.config.filters)


def test_a_signal_whose_package_is_missing_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(signal_files, "find_spec", lambda name: None)
    project_with(tmp_path, 'mask = ["email", "phone"]', TEXT)
    assert "install the extra 'signals'" in refusal(tmp_path, "process", "t")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models over pieces of two languages, and a table of percentiles of one."""
    directory = tmp_path_factory.mktemp("models")
    (directory / "corpus.jsonl").write_text(
        "\n".join(json.dumps({"text": f"On day {n} {TEXT}"}) for n in range(200))
    )
    pieces, arpa = directory / "en.sp.model", directory / "en.arpa"
    corpus = ["--corpus", str(directory / "corpus.jsonl")]
    run(directory, "train", "pieces", *corpus, "--size", "150", "--out", str(pieces))
    train = ["train", "perplexity", *corpus, "--order", "3"]
    assert "median perplexity" in run(directory, *train, "--pieces", str(pieces), "--out", str(arpa))
    shutil.copy(pieces, directory / "de.sp.model")
    run(directory, *train, "--pieces", str(pieces), "--order", "2", "--out", str(directory / "de.arpa"))
    (directory / "cutoff.csv").write_text(",en,fr\n0,0,0\n30,50,1\n60,100,2\n")
    return directory


@pytest.fixture
def models(trained: Path, tmp_path: Path) -> Path:
    """A copy of the models that a test may change."""
    return Path(shutil.copytree(trained, tmp_path / "models"))


ENGLISH = TEXT.format("the office")
OTHER = (
    "Quarterly earnings exceeded every expectation because customers bought vastly more software, whereas hardware"
    " revenue shrank; analysts nevertheless upgraded both shares, citing unusually healthy margins and cheap credit."
)
GERMAN = (
    "Das Büro der Gesellschaft beantwortet an jedem Werktag Briefe, und die Mitglieder schreiben, wenn sie etwas fragen"
    " möchten. Die Niederschrift der letzten Sitzung liegt im Archiv, das am Morgen geöffnet ist."
)
FRENCH = (
    "Le bureau de la société répond aux lettres tous les jours ouvrables, et les membres écrivent quand ils ont quelque"
    " chose à demander. Le procès-verbal de la dernière réunion se trouve aux archives."
)


def test_models_and_buckets_go_by_the_language_of_a_document(tmp_path: Path, models: Path):
    keys = (
        'perplexity_model = "models/{language}.arpa"\nperplexity_pieces = "models/{language}.sp.model"\n'
        'perplexity_cutoffs = "models/cutoff.csv"\nmax_perplexity_bucket = "middle"'
    )
    project_with(tmp_path, keys, ENGLISH, OTHER, GERMAN, FRENCH)
    run(tmp_path, "process", "t", "--workers", "1")
    texts = {row["id"]: row["text"] for row in rows_of(tmp_path, "documents")}
    measured = {texts[row["id"]]: row for row in rows_of(tmp_path, "measurements")}
    reasons = {texts[row["id"]]: row["reason"] for row in rows_of(tmp_path, "verdicts")}
    english, other, german, french = (measured[text] for text in (ENGLISH, OTHER, GERMAN, FRENCH))
    assert 1 < english["perplexity"] < 50 < 100 < other["perplexity"]
    assert [english["perplexity_bucket"], other["perplexity_bucket"]] == [1, 3]
    assert [reasons[ENGLISH], reasons[OTHER]] == ["", "perplexity_bucket"]
    assert (german["perplexity"] > 1, german["perplexity_bucket"], reasons[GERMAN]) == (True, None, "")
    assert (french["perplexity"], french["perplexity_bucket"], reasons[FRENCH]) == (None, None, "")
    run(tmp_path, "judge", "t", "--name", "all", "--set", "perplexity.most_bucket=3", "--workers", "1")
    assert [row["reason"] for row in rows_of(tmp_path, "judged_verdicts/all")] == [""] * 4
    (models / "cutoff.csv").write_text(",en\n30,1\n60,2\n")
    assert "--redo" in refusal(tmp_path, "process", "t", "--workers", "1")


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"model": "none-{language}.arpa"}, "there is no such file for any language"),
        ({"model": "corpus.jsonl"}, "corpus.jsonl': it is no language model, or it is cut off"),
        ({"model": "negative.arpa"}, "negative.arpa': it crashes the library that loads it (exit code -11)"),
        ({"model": "damaged.arpa"}, "damaged.arpa': it is no language model, or it is cut off"),
        ({"model": "en.arpa", "pieces": "en.arpa"}, "en.arpa': it is no SentencePiece model"),
        (
            {"model": "en.arpa", "pieces": "damaged.sp.model"},
            "damaged.sp.model': it is no SentencePiece model",
        ),
        ({"model": "{language}.arpa", "pieces": "x/{language}"}, "filters.perplexity_pieces: "),
        ({"model": "en.arpa", "cutoffs": "twice.csv"}, "it has two columns of en"),
        ({"model": "en.arpa", "cutoffs": "none.csv"}, "none.csv: cannot be read"),
        ({"model": "en.arpa", "cutoffs": "en.sp.model"}, "en.sp.model': not UTF-8"),
        ({"model": "en.arpa", "cutoffs": "corpus.jsonl"}, "it needs a first line of languages"),
        ({"pieces": "en.sp.model"}, "filters.perplexity_pieces is set without filters.perplexity_model"),
        ({"cutoffs": "cutoff.csv"}, "filters.perplexity_cutoffs is set without filters.perplexity_model"),
    ],
)
def test_a_model_or_a_table_that_cannot_be_used_is_one_line(
    tmp_path: Path, models: Path, keys: dict[str, str], problem: str
):
    (models / "damaged.arpa").write_bytes((models / "en.arpa").read_bytes()[:-300])
    (models / "twice.csv").write_text(",en,en\n30,1,2\n60,3,4\n")
    counts = (models / "en.arpa").read_bytes().replace(b"ngram 1=", b"ngram 1=-")
    (models / "negative.arpa").write_bytes(counts)
    (models / "damaged.sp.model").write_bytes((models / "en.sp.model").read_bytes()[:-1])
    written = "\n".join(f'perplexity_{key} = "models/{name}"' for key, name in keys.items())
    project_with(tmp_path, written, TEXT)
    refused = refusal(tmp_path, "process", "t")
    assert problem in refused
    assert "\n" not in refused
    assert not list(manifests(OpenProject.at(tmp_path).store, "process", "t"))


def test_a_bucket_needs_a_table(tmp_path: Path):
    project_with(tmp_path, 'max_perplexity_bucket = "head"', TEXT)
    assert "set without filters.perplexity_cutoffs" in refusal(tmp_path, "process", "t")


def test_pieces_without_their_package_name_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(signal_files, "find_spec", lambda name: None if name == "sentencepiece" else name)
    project_with(tmp_path, 'perplexity_model = "m"\nperplexity_pieces = "p"', TEXT)
    assert (
        "filters.perplexity_pieces needs the package sentencepiece; install the extra 'signals'"
        in refusal(tmp_path, "process", "t")
    )


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ('word_lists = "empty.txt"', "empty.txt: it has no words; write a word or a phrase a line"),
        ('benchmarks = ["cut.txt.gz"]', "cut.txt.gz: the compressed data are cut off; get the file again"),
        (
            'benchmarks = ["deep.json"]',
            "deep.json: the file is not JSON that can be read: it is nested too deeply",
        ),
        ('mask = ["phone"]\nmask_regions = ["US", "XX"]', "'XX' is no country with phone numbers"),
        ('quality_model = "cut.bin"', "'cut.bin': it is cut off; name another file, or get it again"),
    ],
)
def test_a_file_that_would_measure_something_else_is_refused(tmp_path: Path, keys: str, problem: str):
    (tmp_path / "empty.txt").write_text("# nothing\n\n!!!\n")
    (tmp_path / "cut.txt.gz").write_bytes(gzip.compress(TEXT.encode())[:-9])
    (tmp_path / "deep.json").write_text("[" * 200_000 + "]" * 200_000)
    examples = [(label, f"{label} text {n}") for n in range(20) for label in ("good", "bad")]
    model = train_classifier(examples, TrainingOptions(dimensions=4, buckets=50, epochs=1))
    (tmp_path / "cut.bin").write_bytes(model[: len(model) // 2])
    project_with(tmp_path, keys, TEXT)
    assert problem in refusal(tmp_path, "process", "t")
    assert not list(manifests(OpenProject.at(tmp_path).store, "process", "t"))
