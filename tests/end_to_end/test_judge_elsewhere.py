"""Sets of verdicts in a bucket and on a Ray cluster are, to the byte, those of one machine and its directory."""

import json
import os

import pytest

from tests.end_to_end.conftest import CallingUser
from tests.pipeline import raycluster
from tests.pipeline.steps.judged_sources import FILTERS, ingested, judge_all, process_all, rows
from tests.storage.s3server import BUCKET
from thresher.pipeline.engine.local.worker_pool import local_worker_pool
from thresher.pipeline.steps import dedup
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.location import open_store

CHANGED = ("gopher_quality.fewest_words=30", "gopher_quality.fewest_words=200")


def judged(directory, storage):
    """Type the whole way with two sets, and return everything that the storage and the export then hold."""
    directory.mkdir()
    user = CallingUser(directory)
    (directory / "thresher.toml").write_text(
        f'[project]\nstorage = "{storage}"\n[filters]\nlanguages = ["en", "de"]\n'
    )
    texts = directory / "texts.jsonl"
    texts.write_text("".join(f"{json.dumps(row)}\n" for row in rows()))
    from tokenizers import Tokenizer, models

    words = {"a": 0, "[UNK]": 1}
    Tokenizer(models.WordLevel(words, unk_token="[UNK]")).save(str(directory / "tokenizer.json"))
    user.run("ingest", "s", texts)
    user.run("process")
    for number, change in enumerate(CHANGED):
        user.run("judge", "--name", f"set{number}", "--set", change)
    user.run("dedup", "--verdicts", "set0")
    user.run(
        "export", "--verdicts", "set0", "--out", "out", "--tokenizer", "tokenizer.json", "--workers", "1"
    )
    store = open_store(storage, directory)
    names = [name for name in store.list() if name.partition("/")[0] not in {"runs", "storage.json"}]
    stored = {name: store.read(name) for name in names}
    exported = {str(path.relative_to(directory)): path.read_bytes() for path in directory.glob("out/data/*")}
    assert sum(name.startswith("judged_verdicts/") for name in stored) == 2
    assert user.run("verify", "--json").json["damage"] == []
    return stored, exported


@pytest.mark.slow
def test_a_bucket_holds_what_a_directory_holds(server, monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    stored, exported = judged(tmp_path / "here", "file:data")
    in_bucket, from_bucket = judged(tmp_path / "there", f"s3://{BUCKET}/{os.urandom(6).hex()}/data")
    assert exported
    assert from_bucket == exported
    assert sorted(in_bucket) == sorted(stored)
    assert in_bucket == stored


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_cluster_judges_as_one_machine_does(tmp_path):
    pytest.importorskip("ray")
    from thresher.pipeline.configuration import DedupConfig
    from thresher.pipeline.engine.ray.ray_cluster import ray_connection
    from thresher.pipeline.engine.ray.ray_pool import RayWorkerPool

    def everything(store, pool):
        judge_all(process_all(store, FILTERS, pool), FILTERS, pool, "set")
        dedup.run(store, ["s"], DedupConfig(), pool=pool, progress=LineProgress(), verdict_set="set")
        return {name: store.read(name) for name in store.list() if not name.startswith("storage.json")}

    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        ingested(tmp_path / name)
    with local_worker_pool(1) as pool:
        expected = everything(DirectoryStore(tmp_path / "here" / "data"), pool)
    with raycluster.cluster(2) as nodes, ray_connection(nodes.address) as ray:
        shared = RayWorkerPool(ray, 2)
        try:
            found = everything(DirectoryStore(tmp_path / "there" / "data"), shared)
        finally:
            shared.close()
    assert any(name.startswith("judged_signatures/set/") for name in found)
    assert found == expected
