"""Servers that fail, commands that are killed and commands that run twice leave the same archive."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.commoncrawl import CRAWL
from tests.commoncrawl_server import BlockedResponse, CutResponse, ErrorResponse, serve_files
from tests.pipeline.inputs.commoncrawl.ingesting import job, urls
from thresher.core import Unavailable
from thresher.pipeline.inputs import commoncrawl_input
from thresher.pipeline.integrity.garbage import unsealed_outputs
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.commoncrawl.index.selection import Selection
from thresher.storage.commoncrawl.transport.http_source import HttpSource
from thresher.storage.commoncrawl.transport.source_client import SourceClient
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.request_retry import RetryPolicy

ROOT = Path(__file__).resolve().parents[4]


SELECT = """
import sys
from pathlib import Path
from thresher.pipeline.inputs.commoncrawl_input import CommonCrawlJob, ingest_selection
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.commoncrawl.transport.source_client import SourceClient
from thresher.storage.commoncrawl.index.selection import Selection
from thresher.storage.commoncrawl.transport.http_source import HttpSource
from thresher.storage.directory_store import DirectoryStore
client = SourceClient(HttpSource(sys.argv[1], "thresher/0 (+mailto:crawl@example.org)"))
wanted = Selection(crawl="CC-MAIN-2024-22", domains=frozenset({"org", "net", "test"}))
store = DirectoryStore(Path(sys.argv[2]))
job = CommonCrawlJob(store=store, source="cc", client=client, progress=LineProgress())
print(ingest_selection(job, wanted, "cdx", rows_a_file=6).files)
client.close()
"""


def test_killed_with_sigkill_the_same_command_goes_on_behind_what_is_sealed(
    store: DirectoryStore, theirs, tree
):
    def command():
        words = [sys.executable, "-c", SELECT, theirs.base, str(store.root)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)

    def sealed():
        return list(store.list("manifests/commoncrawl/"))

    gone = threading.Event()
    theirs.plan = lambda asked: (
        BlockedResponse(gone) if "/warc/" in asked.path and len(sealed()) >= 3 else None
    )
    killed = command()
    while len(sealed()) < 3 or not theirs.out:
        assert killed.poll() is None, "it ended before it was killed"
        time.sleep(0.01)
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    gone.set()
    had = {(row["filename"], row["offset"]) for name in sealed() for row in rows_of(store, name)}
    done = len(sealed())
    theirs.requests.clear()
    theirs.plan = lambda asked: None
    again = command()
    out, _ = again.communicate(timeout=60)
    assert again.returncode == 0
    assert int(out) == len(sealed()) - done == 8 - done
    assert not {(asked.path, asked.first) for asked in theirs.requests_with("/warc/")} & had
    wanted = [each.page.url for each in tree[1] if each.page.status == 200 and "organic" not in each.page.url]
    assert urls(store) == sorted(wanted)
    store.sweep()
    assert not verify_storage(store, LineProgress()).damage
    assert list(unsealed_outputs(store, grace_ms=0)) == []


def rows_of(store, seal):
    name = json.loads(store.read(seal))["outputs"][0]["name"]
    return pq.read_table(store.path(name)).to_pylist()


def test_what_was_sealed_before_common_crawl_went_silent_stays(store: DirectoryStore, theirs):
    client = SourceClient(
        HttpSource(theirs.base, "x"), patience=RetryPolicy(total_ms=300, first_ms=1, longest_ms=5)
    )
    calls = iter(range(1000))
    theirs.plan = lambda asked: ErrorResponse(503) if "/warc/" in asked.path and next(calls) >= 3 else None
    wanted = Selection(crawl=CRAWL, domains=frozenset({"other.net"}))
    with pytest.raises(Unavailable, match="it continues where it stopped"):
        commoncrawl_input.ingest_selection(job(store, client), wanted, "cdx", rows_a_file=3)
    had = len(urls(store))
    assert had >= 1
    theirs.plan = lambda asked: None
    found = commoncrawl_input.ingest_selection(job(store, client), wanted, "cdx", rows_a_file=3)
    client.close()
    assert found.added == 14 - had
    assert len(urls(store)) == 14


def contents(store):
    """Every object, for what was taken does not depend on what happened on the way."""
    return {name: store.read(name) for name in store.list()}


@pytest.fixture(scope="module")
def undisturbed(tree, tmp_path_factory):
    store = DirectoryStore(tmp_path_factory.mktemp("undisturbed"))
    with serve_files(tree[0]) as server:
        selected_by(server, store)
    return contents(store)


def selected_by(server, store):
    client = SourceClient(
        HttpSource(server.base, "x"), patience=RetryPolicy(total_ms=60_000, first_ms=1, longest_ms=5)
    )
    wanted = Selection(crawl=CRAWL, domains=frozenset({"org", "net"}))
    try:
        return commoncrawl_input.ingest_selection(job(store, client), wanted, "cdx", rows_a_file=7)
    finally:
        client.close()


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_server_does_the_archive_is_the_same_to_a_byte(
    store: DirectoryStore, theirs, undisturbed, seed
):
    draw = random.Random(seed)
    faults = [
        ErrorResponse(503),
        ErrorResponse(403, ""),
        ErrorResponse(429, "", 0),
        ErrorResponse(500, "InternalError"),
        CutResponse(0),
        CutResponse(700),
    ]
    theirs.plan = lambda asked: draw.choice(faults) if draw.random() < 0.4 else None
    selected_by(theirs, store)
    assert contents(store) == undisturbed


def test_two_who_bring_in_the_same_at_once_make_one_archive(store: DirectoryStore, theirs, undisturbed):
    with ThreadPoolExecutor(2) as both:
        found = list(both.map(lambda _: selected_by(theirs, store), range(2)))
    assert sum(each.found for each in found) == 2 * found[0].found
    assert contents(store) == undisturbed
