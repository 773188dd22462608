"""A bit flips in each kind of stored file: what every command says, and what the user types to be well again."""

import gzip
import json
import os
import shutil
from dataclasses import dataclass

import pytest

from tests.end_to_end.conftest import TOML, User
from tests.pipeline.inputs.test_numbers import response
from thresher.shards import tokenizer

pytestmark = pytest.mark.slow
WORDS = "words that say enough to be a text of their own, "


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A project from archives in gzip and plain, and of rows, to a dataset."""
    directory = tmp_path_factory.mktemp("whole")
    (directory / "thresher.toml").write_text(
        TOML.replace('"gopher"', '"none"').replace('languages = ["en", "de", "fr", "es"]', "languages = []")
    )
    rows = [{"text": f"{WORDS * 20} {n}", "url": f"http://e.org/{n}"} for n in range(30)]
    (directory / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (directory / "plain.warc").write_bytes(b"".join(unpacked(n) for n in range(5)))
    (directory / "pages.warc.gz").write_bytes(b"".join(response(f"https://e.org/a/{n}") for n in range(5)))
    (directory / "tokenizer.json").write_text(tokenizer.load_tokenizer_file(None).json)
    user = User(directory)
    user.run("ingest", "s", "rows.jsonl", "plain.warc", "pages.warc.gz")
    for words in (["process"], ["dedup"], EXPORT, ["status"]):
        user.run(*words)
    for path in (directory / "data").rglob("*"):  # older than what is being sealed
        if path.is_file():
            os.utime(path, (path.stat().st_atime - 3600, path.stat().st_mtime - 3600))
    return directory


def unpacked(number):
    return gzip.decompress(response(f"https://e.org/b/{number}"))


EXPORT = ["export", "--out", "out", "--tokenizer", "tokenizer.json"]
ELSEWHERE = ["export", "--out", "elsewhere", "--tokenizer", "tokenizer.json"]
VERIFY, REPAIR, PROCESS, DEDUP = ["verify"], ["verify", "--repair"], ["process"], ["dedup"]
BACK = "the file is copied back"
CHANGED = "is not as it was sealed"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One file, and what is typed: words, exit code, and what is said."""

    file: str
    typed: list


ARCHIVE = [
    (VERIFY, 1, "copy them back from a backup"),
    (["export-wacz", "s", "--out", "s.wacz"], 1, CHANGED),
    (["process", "--redo"], 1, CHANGED),
    (PROCESS, 1, CHANGED),
    (DEDUP, 2, "is in quarantine"),
    (EXPORT, 2, "is in quarantine"),
    (REPAIR, 1, "--accept-loss"),
    (PROCESS, 1, CHANGED),
    BACK,
    (PROCESS, 0, "1 part made"),
]
CASES = {
    "archive, gzip": Case(file="data/warc/s/pages.warc.gz", typed=ARCHIVE),
    "archive, plain": Case(file="data/warc/s/plain.warc", typed=ARCHIVE),
    "archive that was not backed up": Case(
        file="data/warc/s/pages.warc.gz",
        typed=[
            (["process", "--redo"], 1, CHANGED),
            (["verify", "--accept-loss"], 1, "is sealed again without its damaged records"),
            (PROCESS, 0, "1 part made"),
            (["report"], 0, "early/damaged"),
            (DEDUP, 0, "duplicates:"),
            (ELSEWHERE, 0, "documents"),
        ],
    ),
    "index": Case(
        file="data/warc/s/pages.cdxj.gz",
        typed=[(VERIFY, 1, "pages.cdxj.gz"), (PROCESS, 1, "is no CDXJ"), (REPAIR, 1, "1 damaged")],
    ),
    "archive manifest": Case(
        file="data/manifests/archive/s/pages.json",
        typed=[(VERIFY, 1, "pages.json"), (PROCESS, 1, "verify --repair"), (REPAIR, 1, "1 damaged")],
    ),
    "process manifest": Case(
        file="data/manifests/process/s/part-pages-000000000000.json",
        typed=[
            (VERIFY, 1, "part-pages"),
            (PROCESS, 1, "verify --repair"),
            (DEDUP, 1, "verify --repair"),
            (REPAIR, 1, "1 damaged"),
            (PROCESS, 0, "1 part made"),
        ],
    ),
    "documents": Case(
        file="data/documents/s/part-pages-000000000000.parquet",
        typed=[
            (VERIFY, 1, "its bytes are not those that were sealed"),
            (ELSEWHERE, 1, CHANGED),
            (PROCESS, 0, "0 parts made"),
            (ELSEWHERE, 1, CHANGED),
            (REPAIR, 1, "1 damaged"),
            (PROCESS, 0, "1 part made"),
            (ELSEWHERE, 0, "documents"),
        ],
    ),
    "verdicts": Case(
        file="data/verdicts/s/part-pages-000000000000.parquet",
        typed=[
            (VERIFY, 1, "its bytes are not those that were sealed"),
            (["refetch", "s", "--crawl", "again"], 1, CHANGED),
            (REPAIR, 1, "1 damaged"),
            (PROCESS, 0, "1 part made"),
        ],
    ),
    "signatures": Case(
        file="data/signatures/s/part-pages-000000000000.parquet",
        typed=[
            (VERIFY, 1, "its bytes are not those that were sealed"),
            (ELSEWHERE, 1, "signatures/s/part-pages-000000000000.parquet"),
            (REPAIR, 1, "1 damaged"),
            (PROCESS, 0, "1 part made"),
        ],
    ),
    "removed duplicates": Case(
        file="data/dedup/*/removed-00000.parquet",
        typed=[
            (VERIFY, 1, "its bytes are not those that were sealed"),
            (EXPORT, 1, CHANGED),
            (REPAIR, 1, "1 damaged"),
            (EXPORT, 2, "run `thresher dedup"),
            (DEDUP, 0, "duplicates:"),
        ],
    ),
    "dedup manifest": Case(
        file="data/manifests/dedup/*/removed-00000.json",
        typed=[
            (VERIFY, 1, "removed-00000.json"),
            (EXPORT, 1, "verify --repair"),
            (REPAIR, 1, "1 damaged"),
            (DEDUP, 0, "duplicates:"),
        ],
    ),
    "export manifest": Case(
        file="data/manifests/export/*/dataset.json",
        typed=[(VERIFY, 1, "dataset.json"), (REPAIR, 1, "1 damaged")],
    ),
    "shard": Case(
        file="out/data/shard-00000.parquet",
        typed=[(["verify", "out"], 1, "its bytes are not those that were sealed"), (EXPORT, 0, "documents")],
    ),
    "manifest of the dataset": Case(
        file="out/manifest.json",
        typed=[
            (["verify", "out"], 1, "manifest.json"),
            (EXPORT, 1, "verify OUT --repair"),
            (["verify", "out", "--repair"], 1, "removed manifest.json"),
        ],
    ),
    "report of the dataset": Case(
        file="out/report.json", typed=[(["verify", "out"], 1, "report.json"), (EXPORT, 0, "documents")]
    ),
    "claim of the dataset": Case(
        file="out/recipe.json",
        typed=[(["verify", "out"], 1, "recipe.json"), (["verify", "out", "--repair"], 1, "1 damaged")],
    ),
}


def flip(path, share):
    data = bytearray(path.read_bytes())
    data[int(len(data) * share)] ^= 0x10
    path.write_bytes(data)


def contents(directory):
    return {path.name: path.read_bytes() for path in (directory / "out").rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", CASES)
def test_every_command_says_what_is_wrong_and_what_makes_it_well(whole, tmp_path, kind):
    shutil.copytree(whole, tmp_path / "project")
    case, user = CASES[kind], User(tmp_path / "project")
    (path,) = user.directory.glob(case.file)
    data = path.read_bytes()
    flip(path, 0.6)
    for step in case.typed:
        if step is BACK:
            path.unlink()
            path.write_bytes(data)
            continue
        words, code, said = step
        answer = user.run(*words, code=code)
        assert said in answer.out + answer.err, words
        assert "Traceback" not in answer.err
    assert not (user.directory / "s.wacz").exists()
    assert user.run("verify").out.endswith("all as they were sealed\n")
    if kind != "archive that was not backed up":
        user.run(*EXPORT)
        assert contents(user.directory) == contents(whole)
    assert user.run("verify", "out").out.endswith("all as they were sealed\n")


def test_a_catalog_is_right_or_made_again(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "project")
    user = User(tmp_path / "project")
    path, right = user.directory / "catalog.db", user.run("status", "--json").json["sources"]
    data = path.read_bytes()
    for share in (0.001, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95):
        path.write_bytes(data)
        flip(path, share)
        if user.run("status", "--json").json["sources"] != right:
            assert "thresher catalog rebuild" in user.run("verify", code=1).err
            user.run("verify", "--repair", code=1)
        assert user.run("status", "--json").json["sources"] == right
