"""The files of a training: odd examples, and models that two commands write or that find no room."""

import json
import multiprocessing
import resource
import subprocess
import sys
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import pytest
import zstandard
from typer.testing import CliRunner

from thresher.core import InputError, ThresherError
from thresher.pipeline.commands.app import app
from thresher.pipeline.training.model_files import write_model

DEEP = "[" * 200_000 + "]" * 200_000


@pytest.fixture
def texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("good", "bad"):
        rows = (json.dumps({"text": f"{name} example number {n} of the set"}) for n in range(60))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def train(*words: str) -> str:
    result = CliRunner().invoke(app, ["train", *words])
    assert result.exit_code == 0, result.output or result.exception
    return result.output


def refusal(*words: str) -> str:
    error = CliRunner().invoke(app, ["train", *words]).exception
    assert isinstance(error, ThresherError), error
    assert "\n" not in str(error)
    return str(error)


QUALITY = ["quality", "--good", "good.jsonl", "--buckets", "100", "--dimensions", "4", "--out", "q.bin"]


def test_a_byte_order_mark_belongs_to_no_text(texts: Path):
    plain = train(*QUALITY, "--bad", "bad.jsonl")
    (texts / "bad.jsonl").write_bytes(b"\xef\xbb\xbf" + (texts / "bad.jsonl").read_bytes())
    assert train(*QUALITY, "--bad", "bad.jsonl") == plain


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        (
            "deep.jsonl",
            DEEP.encode(),
            "deep.jsonl, line 1: not JSON that can be read: it is nested too deeply",
        ),
        ("latin.txt", b"caf\xe9\n", "latin.txt: not UTF-8"),
        (
            "cut.txt.zst",
            zstandard.ZstdCompressor().compress(b"text\n" * 99)[:-3],
            "the compressed data are cut off",
        ),
    ],
)
def test_a_file_that_cannot_be_read_whole_trains_nothing(texts: Path, name: str, data: bytes, problem: str):
    (texts / name).write_bytes(data)
    assert problem in refusal(*QUALITY, "--bad", name)
    assert not (texts / "q.bin").exists()


@pytest.mark.parametrize("label", ["\ud800", "a\0b", "two words", "", "x" * 201, None])
def test_a_label_that_a_model_cannot_hold_is_refused(texts: Path, label: str | None):
    rows = [json.dumps({"text": f"text {n}", "language": label}) for n in range(9)]
    (texts / "labels.jsonl").write_text("\n".join(rows))
    problem = "labels.jsonl, line 1: `language` must be a label of at most 200 characters without spaces"
    assert problem in refusal("lid", "--texts", "labels.jsonl", "--out", "l.bin")


@pytest.mark.parametrize(
    "options",
    [
        ["--learning-rate", "inf"],
        ["--learning-rate", "nan"],
        ["--epochs", "1000000000000"],
        ["--dimensions", "3000000000"],
        ["--buckets", "100000000000"],
        ["--held-out", "nan"],
    ],
)
def test_a_number_beyond_all_reason_is_refused(texts: Path, options: list[str]):
    result = CliRunner().invoke(app, ["train", *QUALITY, "--bad", "bad.jsonl", *options])
    assert result.exit_code == 2
    assert f"Invalid value for '{options[0]}'" in result.output


def test_a_source_needs_a_name(texts: Path):
    (texts / "thresher.toml").write_text("")
    assert refusal(*QUALITY, "--bad", "kept:") == "kept:: name a crawl or an ingest, such as kept:main"


def test_an_empty_file_is_no_model_of_pieces(texts: Path):
    (texts / "none.model").touch()
    words = ["perplexity", "--corpus", "good.jsonl", "--pieces", "none.model", "--out", "g.arpa"]
    assert "--pieces: it is no SentencePiece model" in refusal(*words)


def test_a_device_is_not_replaced_by_a_model(texts: Path):
    assert "it is no regular file" in refusal(*QUALITY, "--bad", "bad.jsonl", "--out", "/dev/null")
    assert Path("/dev/null").is_char_device()


def _limit_files() -> None:
    """Let this process write no file of more than 20,000 bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


def test_a_classifier_that_its_library_writes_in_part_is_no_model(texts: Path):
    words = [*QUALITY, "--bad", "bad.jsonl"]
    words[words.index("--dimensions") + 1] = "40"
    made = subprocess.run(
        [sys.executable, "-m", "thresher", "train", *words],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_limit_files,
    )
    assert made.returncode == 2, made.stderr
    assert "could not be written whole (it is cut off); see `ulimit -f`" in made.stderr
    assert not (texts / "q.bin").exists()


def _write_without_room(path: Path, answers: SimpleQueue[str]) -> None:
    _limit_files()
    try:
        write_model(path, bytes(30_000), b"{}")
    except InputError as error:
        answers.put(str(error))


def test_a_model_for_which_there_is_no_room_leaves_nothing_and_the_earlier_one_stays(tmp_path: Path):
    (tmp_path / "m.arpa").write_bytes(b"before")
    (tmp_path / "m.arpa.json").write_bytes(b"the one before")
    spawn = multiprocessing.get_context("spawn")
    answers = spawn.SimpleQueue()
    writer = spawn.Process(target=_write_without_room, args=(tmp_path / "m.arpa", answers))
    writer.start()
    writer.join()
    assert answers.get().endswith(
        "m.arpa: cannot be written (File too large); make room, or name another file"
    )
    assert (tmp_path / "m.arpa").read_bytes() == b"before"
    assert (tmp_path / "m.arpa.json").read_bytes() == b"the one before"
    assert not list(tmp_path.glob(".*"))


def _write(path: Path, letter: bytes) -> None:
    for _ in range(30):
        write_model(path, letter * 3_000_000, letter)


def test_of_two_commands_that_write_one_model_the_last_one_wins_whole(tmp_path: Path):
    path = tmp_path / "q.bin"
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_write, args=(path, letter)) for letter in (b"a", b"b", b"c")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    letter = (tmp_path / "q.bin.json").read_bytes()
    assert letter in {b"a", b"b", b"c"}
    assert path.read_bytes() == letter * 3_000_000
    assert not list(tmp_path.glob(".*"))


def test_partial_files_of_a_killed_command_are_overwritten(tmp_path: Path):
    (tmp_path / ".q.bin.partial").write_bytes(b"left" * 99)
    (tmp_path / ".q.bin.json.partial").write_bytes(b"left" * 99)
    write_model(tmp_path / "q.bin", b"model", b"{}")
    assert (tmp_path / "q.bin").read_bytes() == b"model"
    assert (tmp_path / "q.bin.json").read_bytes() == b"{}"
    assert not list(tmp_path.glob(".*"))


def test_a_directory_that_is_gone_is_named(tmp_path: Path):
    with pytest.raises(InputError, match="No such file or directory"):
        write_model(tmp_path / "gone" / "q.bin", b"model", b"{}")
