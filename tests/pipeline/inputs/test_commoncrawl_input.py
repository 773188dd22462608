"""Common Crawl is ingested as whole files or single records, sealed as they come, and nothing twice."""

import gzip
import io
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

from core import InputError, Unavailable
from pipeline.configuration import FiltersConfig, parse
from pipeline.engine.run_step import run_step
from pipeline.inputs import commoncrawl_input
from pipeline.inputs.commoncrawl_selection import CommonCrawlSelection
from pipeline.integrity.garbage import unsealed_outputs
from pipeline.integrity.verify import verify_storage
from pipeline.steps import process
from pipeline.terminal.progress import LineProgress
from storage.commoncrawl import index_facts
from storage.commoncrawl.index.selection import Selection
from storage.commoncrawl.index_facts import IndexFacts
from storage.commoncrawl.transport.http_source import HttpSource
from storage.commoncrawl.transport.source_client import SourceClient
from storage.directory_store import DirectoryStore
from storage.manifest import manifests
from storage.request_retry import RetryPolicy
from storage.warc import cdxj, records
from tests.commoncrawl import (
    CRAWL,
    BlockedResponse,
    CutResponse,
    ErrorResponse,
    Page,
    StoredPage,
    base32,
    scripted,
    serve_files,
    write_crawl,
)
from tests.commoncrawl import index as write_index
from tests.expect import expect
from tests.shared import shared_file
from tests.storage.conftest import keys, server  # noqa: F401 - fixtures of these tests too
from tests.storage.s3server import BUCKET

ADDRESS = f"commoncrawl:{CRAWL}"
ROOT = Path(__file__).resolve().parents[3]
FILTERS = FiltersConfig(preset="none", languages=())


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    root = tmp_path_factory.mktemp("commoncrawl")
    return root, write_crawl(root)


@pytest.fixture
def theirs(tree):
    with serve_files(tree[0]) as serving_it:
        yield serving_it


@pytest.fixture
def store(tmp_path):
    return DirectoryStore(tmp_path / "data")


def config(base, directory=Path("/nowhere")):
    return parse(
        f'[project]\ncontact = "mailto:crawl@example.org"\n[ingest]\ncommoncrawl = "{base}"\n', directory
    )


def job(store, client, source="cc"):
    return commoncrawl_input.CommonCrawlJob(
        store=store, source=source, client=client, progress=LineProgress()
    )


def ingested(store, base, what=ADDRESS, source="cc", **wanted):
    """Whole files, or single records where any are selected."""
    asked = CommonCrawlSelection(**wanted)
    with commoncrawl_input.open_client(config(base)) as client:
        bring = commoncrawl_input.ingest_selections if asked.is_selective else commoncrawl_input.ingest_files
        return bring(job(store, client, source), [what], asked)


def archived(store, source="cc"):
    """Every record of a source's archive."""
    for manifest in manifests(store, "archive", source):
        with store.open(manifest.outputs[0].name) as file:
            yield from records.read_records(file, name=manifest.outputs[0].name)


def urls(store, source="cc"):
    return sorted(record.url for record in archived(store, source) if record.type == "response")


def processed(store, pool, source="cc"):
    """Documents by URL."""
    parts = process.parts(store, source, FILTERS)
    run_step(store, process.step(FILTERS), parts, process.work, pool=pool, progress=LineProgress())
    names = store.list(f"documents/{source}/")
    return {row["url"]: row for name in names for row in pq.read_table(store.path(name)).to_pylist()}


def test_whole_files_come_in_byte_for_byte_and_are_known_then(store, theirs, tree):
    first = ingested(store, theirs.base, files=2)
    assert (first.added, first.known) == (2, 0)
    for manifest in manifests(store, "archive", "cc"):
        assert (
            store.read(manifest.outputs[0].name) == (theirs.root / manifest.recipe["ingested"]).read_bytes()
        )
    second = ingested(store, theirs.base)
    assert (second.added, second.known) == (1, 2)
    theirs.requests.clear()
    third = ingested(store, theirs.base)
    assert (third.added, third.known) == (0, 3)
    assert {asked.path for asked in theirs.requests} == {f"crawl-data/{CRAWL}/warc.paths.gz"}
    assert not verify_storage(store, LineProgress()).damage


@pytest.mark.parametrize(("kind", "record_type"), [("wat", "metadata"), ("wet", "conversion")])
def test_wat_and_wet_files_come_in_beside_the_pages(store, theirs, kind, record_type):
    ingested(store, theirs.base, files=1)
    found = ingested(store, theirs.base, f"{ADDRESS}/{kind}")
    assert found.added == 3
    assert record_type in {record.type for record in archived(store)}
    assert not verify_storage(store, LineProgress()).damage


def test_texts_of_wet_files_become_documents(store, theirs, tree, pool):
    ingested(store, theirs.base, f"{ADDRESS}/wet", files=1)
    documents = processed(store, pool)
    assert "The ferry to the island" in documents["https://example.org/000"]["text"]


def test_a_local_list_of_paths_names_the_files(store, theirs, tmp_path):
    listed = gzip.decompress((theirs.root / f"crawl-data/{CRAWL}/warc.paths.gz").read_bytes()).split(b"\n")
    (tmp_path / "some.paths.gz").write_bytes(gzip.compress(listed[1] + b"\n"))
    (tmp_path / "plain.paths").write_bytes(listed[1] + b"\n\n" + listed[2])
    assert ingested(store, theirs.base, str(tmp_path / "some.paths.gz")).added == 1
    again = ingested(store, theirs.base, str(tmp_path / "plain.paths"))
    assert (again.added, again.known) == (1, 1)


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"crawl-data/a.warc.gz\nhttps://x/a.warc.gz\n", "line 2: .* is no path of an archive file"),
        (b"\xff\xfe", "no list of paths"),
        (b"\x1f\x8bno gzip", "no list of paths"),
        (b"a" * 5000, "no list of paths"),
    ],
)
def test_what_is_no_list_of_paths_is_refused(store, theirs, tmp_path, data, line):
    (tmp_path / "x.paths").write_bytes(data)
    with pytest.raises(InputError, match=line):
        ingested(store, theirs.base, str(tmp_path / "x.paths"))


def test_a_file_survives_a_failing_server(store, theirs, tree):
    theirs.plan = scripted(
        ErrorResponse(503),
        CutResponse(3000),
        CutResponse(1),
        ErrorResponse(403, ""),
        CutResponse(9000),
        path="/warc/",
    )
    assert ingested(store, theirs.base, files=1).added == 1
    (manifest,) = manifests(store, "archive", "cc")
    assert store.read(manifest.outputs[0].name) == (theirs.root / manifest.recipe["ingested"]).read_bytes()


@pytest.mark.parametrize("index", ["cdx", "columnar"])
def test_single_records_come_in_as_they_are_and_are_known_then(store, theirs, tree, pool, index):
    found = ingested(store, theirs.base, domains=("example.org",), index=index)
    wanted = sorted(
        each.page.url for each in tree[1] if "example.org/" in each.page.url and each.page.status == 200
    )
    assert (found.files, found.added, found.unusable) == (1, len(wanted), {})
    assert urls(store) == wanted
    theirs.requests.clear()
    again = ingested(store, theirs.base, domains=("EXAMPLE.org.",), index=index)
    assert (again.found, again.added, again.known) == (len(wanted), 0, len(wanted))
    assert theirs.requests == []
    assert not verify_storage(store, LineProgress()).damage
    documents = processed(store, pool)
    assert "The ferry to the island" in documents["https://docs.example.org/003"]["text"]
    (cut,) = [record for record in archived(store) if record.truncated]
    assert (cut.url, cut.truncated) == ("https://example.org/cut", "length")


def test_both_indexes_make_the_same_files(store, theirs):
    for source in ("cdx", "columnar"):
        ingested(store, theirs.base, domains=("example.org",), index=source, source=source)
    made = [
        [output.sha256 for output in manifest.outputs]
        for source in ("cdx", "columnar")
        for manifest in manifests(store, "archive", source)
    ]
    assert made[0][0] == made[1][0]


def test_a_wider_selection_ingests_only_what_is_new(store, theirs):
    first = ingested(store, theirs.base, domains=("docs.example.org",))
    more = ingested(store, theirs.base, domains=("example.org", "other.net"), index="columnar")
    assert more.known == first.added == 5
    assert len(urls(store)) == len(set(urls(store))) == 22 + 14


def test_a_limit_counts_what_is_known(store, theirs):
    assert ingested(store, theirs.base, domains=("other.net",), limit=3).added == 3
    second = ingested(store, theirs.base, domains=("other.net",), limit=5)
    assert (second.added, second.known) == (2, 3)
    assert urls(store) == [f"https://other.net/00{number}" for number in range(5)]


def test_what_the_index_says_lies_in_front_of_each_record_and_in_a_table(store, theirs):
    ingested(store, theirs.base, domains=("docs.example.org",), languages=("deu",))
    found = [record for record in archived(store) if record.type in {"metadata", "response"}]
    assert [record.type for record in found] == ["metadata", "response"] * 5
    told = expect(IndexFacts, index_facts.decode(found[0].payload))
    assert (told.languages, told.charset, told.mime_detected) == ("deu,eng", "UTF-8", "text/html")
    (name,) = store.list("commoncrawl/cc/")
    rows = pq.read_table(store.path(name)).to_pylist()
    at = {(record.ref.file, record.offset): record.url for record in found}
    assert {at[row["record_file"], row["record_offset"]] for row in rows} == {row["url"] for row in rows}
    (manifest,) = manifests(store, "archive", "cc")
    with store.open(manifest.outputs[1].name) as file:
        assert {row.offset for row in cdxj.read(file, name="x")} == {row["record_offset"] for row in rows}


def test_what_is_not_what_the_index_says_is_counted_and_not_asked_for_again(
    store: DirectoryStore, theirs, tmp_path
):
    theirs.root = tmp_path / "cc"
    stored = write_crawl(theirs.root)
    wrong = [
        StoredPage(**{**vars_of(each), "digest": base32(b"x")}) if each.page.url.endswith("/003") else each
        for each in stored
    ]
    write_index(theirs.root, wrong)
    found = ingested(store, theirs.base, domains=("other.net",))
    assert (found.added, found.unusable) == (13, {"wrong_digest": 1})
    theirs.requests.clear()
    wider = ingested(store, theirs.base, domains=("other.net", "nowhere.test"))
    assert (wider.added, wider.known, wider.unusable) == (0, 14, {})
    assert theirs.requests_with("/warc/") == []


def vars_of(stored):
    return (
        {name: getattr(stored, name) for name in stored.__slots__}
        if hasattr(stored, "__slots__")
        else vars(stored)
    )


def test_a_batch_of_which_nothing_is_taken_leaves_no_archive_file(store, theirs, tmp_path):
    theirs.root = tmp_path / "cc"
    stored = write_crawl(theirs.root)
    write_index(theirs.root, [StoredPage(**{**vars_of(each), "digest": base32(b"x")}) for each in stored])
    found = ingested(store, theirs.base, domains=("other.net",))
    assert (found.files, found.added, found.unusable) == (0, 0, {"wrong_digest": 14})
    assert list(store.list("warc/")) == []
    assert ingested(store, theirs.base, domains=("other.net",)).known == 14


@pytest.mark.parametrize(
    ("what", "wanted", "line"),
    [
        ("commoncrawl:2024", {}, "no name of a crawl"),
        (f"{ADDRESS}/wet", {"domains": ("example.org",)}, "the indexes list only pages"),
        (ADDRESS, {"domains": ("example.org",), "files": 1}, "--files and --segment select whole files"),
        (ADDRESS, {"languages": ("eng",)}, "give --domain or --url-prefix"),
        (ADDRESS, {"domains": ("no domain",)}, "--domain no domain"),
        (ADDRESS, {"domains": ("http://example.org/x",)}, "write it as example.org"),
        (ADDRESS, {"domains": ("org",)}, "--domain org"),
        (ADDRESS, {"prefixes": ("example.org",)}, "no beginning of a URL"),
        ("a.warc.gz", {}, "is not from Common Crawl as the others are"),
        (ADDRESS, {"segments": frozenset({"1"})}, "no file is in the segments 1"),
        ("commoncrawl:CC-MAIN-2013-20", {}, "there is no such file; correct the name of the crawl"),
        ("commoncrawl:CC-MAIN-2013-20", {"domains": ("example.org",)}, "there is no such file"),
    ],
)
def test_what_cannot_be_meant_is_one_line(store, theirs, what, wanted, line):
    with pytest.raises(InputError, match=line):
        ingested(store, theirs.base, what, **wanted)
    assert list(store.list()) == []


def test_a_segment_names_its_files(store, theirs):
    assert ingested(store, theirs.base, segments=frozenset({"1715971057216.39"}), files=1).added == 1


def test_without_a_contact_nothing_is_asked(store, theirs):
    plain = parse(f'[ingest]\ncommoncrawl = "{theirs.base}"\n', Path("/nowhere"))
    with pytest.raises(InputError, match="contact is not set"), commoncrawl_input.open_client(plain):
        pass
    assert theirs.requests == []


@pytest.mark.parametrize(
    "base", ["ftp://x/", "https://user:secret@x/", "data.commoncrawl.org", "https://x/?a=b", ""]
)
def test_a_base_that_is_none_is_refused_without_repeating_it(base):
    with pytest.raises(InputError, match=r"ingest.commoncrawl must be") as raised:
        config(base)
    assert "secret" not in str(raised.value)


SELECT = """
import sys
from pathlib import Path
from pipeline.inputs.commoncrawl_input import CommonCrawlJob, ingest_selection
from pipeline.terminal.progress import LineProgress
from storage.commoncrawl.transport.source_client import SourceClient
from storage.commoncrawl.index.selection import Selection
from storage.commoncrawl.transport.http_source import HttpSource
from storage.directory_store import DirectoryStore
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


def put_tree(server, tree, prefix):
    client = server.client()
    for path in tree[0].rglob("*"):
        if path.is_file():
            client.put_object(
                Bucket=BUCKET, Key=f"{prefix}/{path.relative_to(tree[0])}", Body=path.read_bytes()
            )


def test_from_a_bucket_it_is_the_same(store, tree, server, monkeypatch):
    put_tree(server, tree, "commoncrawl")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", server.endpoint)
    base = f"s3://{BUCKET}/commoncrawl/"
    assert ingested(store, base, files=1).added == 1
    for index in ("cdx", "columnar"):
        assert ingested(store, base, source=index, domains=("example.org",), index=index).added == 22
    with pytest.raises(InputError, match="there is no such file"):
        ingested(store, base, "commoncrawl:CC-MAIN-2013-20")


def test_without_credentials_requests_to_a_bucket_are_unsigned(store, theirs, tmp_path, monkeypatch):
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in {
        "AWS_ENDPOINT_URL_S3": theirs.base.rstrip("/"),
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "s3").mkdir()
    (tmp_path / "s3" / "mirror").symlink_to(theirs.root)
    theirs.root = tmp_path / "s3"
    theirs.plan = scripted(
        ErrorResponse(503),
        ErrorResponse(429, "TooManyRequests", retry_after_s=0),
        CutResponse(50),
        ErrorResponse(500, "InternalError"),
    )
    assert ingested(store, "s3://mirror/", domains=("example.org",)).added == 22
    assert all("authorization" not in asked.headers for asked in theirs.requests)
    assert all("mailto:crawl@example.org" in asked.headers["user-agent"] for asked in theirs.requests)


def real_crawl(root):
    """The real capture as a crawl of its own, with the row that its index must have."""
    name = "CC-MAIN-20240517233122-20240518023122-00000"
    path = f"crawl-data/{CRAWL}/segments/1715971057216.39/warc/{name}.warc.gz"
    data = shared_file("archives/whirlwind-python/whirlwind.warc.gz").read_bytes()
    for kind in ("", ".wat", ".wet"):
        source = shared_file(f"archives/whirlwind-python/whirlwind.warc{kind}.gz")
        target = path.replace("/warc/", f"/{kind[1:] or 'warc'}/").replace(".warc.gz", f".warc{kind}.gz")
        (root / target).parent.mkdir(parents=True, exist_ok=True)
        (root / target).write_bytes(source.read_bytes())
        listed = f"crawl-data/{CRAWL}/{kind[1:] or 'warc'}.paths.gz"
        (root / listed).write_bytes(gzip.compress(f"{target}\n".encode()))
    (page,) = (
        record for record in records.read_records(io.BytesIO(data), name="x") if record.type == "response"
    )
    digest = page.ref.digest.removeprefix("sha1:")
    stored = StoredPage(
        page=Page(url=page.url, body=b"", languages="spa"),
        timestamp="20240518015810",
        filename=path,
        offset=page.offset,
        length=page.length,
        digest=digest,
    )
    write_index(root, [stored], parts=1)
    return data[page.offset :][: page.length]


@pytest.mark.shared
@pytest.mark.parametrize("index", ["cdx", "columnar"])
def test_the_real_capture_comes_in_alone_and_as_a_whole(store, tmp_path, pool, index):
    member = real_crawl(tmp_path / "cc")
    with serve_files(tmp_path / "cc") as theirs:
        found = ingested(
            store, theirs.base, prefixes=("https://an.wikipedia.org/wiki/Escopete",), index=index
        )
        assert (found.added, found.unusable) == (1, {})
        assert member in store.read(
            next(iter(store.list("warc/cc/CC-MAIN-2024-22-"))).replace(".cdxj.gz", ".warc.gz")
        )
        (document,) = processed(store, pool).values()
        assert "Escopete" in document["text"]
        whole = [
            ingested(store, theirs.base, f"{ADDRESS}/{kind}", source="whole")
            for kind in ("warc", "wat", "wet")
        ]
        assert [(each.added, each.refused) for each in whole] == [(1, [])] * 3
    assert not verify_storage(store, LineProgress()).damage
