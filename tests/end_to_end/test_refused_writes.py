"""An S3 server that refuses writes in the middle of an export, as one does when its quota is used up or a right was
taken away: one line, nothing lost, and the same export again gives the same bytes.
"""

import os
from itertools import count

import pytest

from tests.pipeline.steps.judged_sources import SENTENCES
from tests.storage.faulty_proxy import Answer, start_proxy
from tests.storage.s3server import BUCKET
from thresher.storage.s3.s3_store import S3Store

REFUSED = Answer(403, "AccessDenied")


@pytest.fixture
def project(calling_user):
    """A project in a directory, deduplicated, with four documents and a tokenizer of bytes."""
    from tokenizers import Tokenizer, models

    (calling_user.directory / "thresher.toml").write_text('[filters]\npreset = "none"\nlanguages = []\n')
    (calling_user.directory / "texts").mkdir()
    for number, sentence in enumerate(SENTENCES[:4]):
        (calling_user.directory / "texts" / f"{number}.txt").write_text(sentence)
    Tokenizer(models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]")).save(
        str(calling_user.directory / "tokenizer.json")
    )
    calling_user.run("ingest", "docs", "texts")
    calling_user.run("process")
    calling_user.run("dedup")
    return calling_user


def export(user, out, code=0):
    return user.run(
        "export", "--out", out, "--tokenizer", "tokenizer.json", "--format", "tokens", "--format", "jsonl",
        "--workers", "1", code=code,
    )  # fmt: skip


def contents(store, prefix):
    found = {}
    for name in store.list(prefix):
        with store.open(name) as file:
            found[name.removeprefix(prefix)] = file.read()
    return found


@pytest.mark.slow
def test_writes_that_are_refused_under_way_are_one_line_and_lose_nothing(
    project, server, monkeypatch, tmp_path
):
    prefix = os.urandom(6).hex()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = S3Store(BUCKET, prefix, endpoint=server.endpoint)
    with start_proxy(server.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        export(project, f"s3://{BUCKET}/{prefix}/whole")
        writes = sum(each.method in {"PUT", "POST"} for each in proxy.seen)
        whole = contents(store, "whole/")
        assert writes >= 6
        for first in (1, writes // 2):
            turn = count()

            def plan(request, turn=turn, first=first):
                is_refused = request.method in {"PUT", "POST"} and next(turn) >= first
                return REFUSED if is_refused else None

            proxy.plan = plan
            out = f"s3://{BUCKET}/{prefix}/cut{first}"
            line = export(project, out, code=2).line
            assert "AccessDenied" in line
            assert BUCKET in line
            assert "manifest.json" not in contents(store, f"cut{first}/")
            assert project.run("verify", "--json").json["damage"] == []
            proxy.plan = lambda _: None
            export(project, out)
            again = contents(store, f"cut{first}/")
            assert again == whole
    store.close()
