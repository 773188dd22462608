"""Common Crawl is ingested from a bucket as from its server; and a real capture of it."""

import gzip
import io
import os

import pytest

from tests.commoncrawl import CRAWL, Page, StoredPage
from tests.commoncrawl import index as write_index
from tests.commoncrawl_server import CutResponse, ErrorResponse, scripted, serve_files
from tests.pipeline.inputs.commoncrawl.ingesting import ADDRESS, ingested, processed
from tests.shared import shared_file
from tests.storage.s3server import BUCKET
from thresher.core import InputError
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.terminal.progress import LineProgress
from thresher.storage.warc import records


def put_tree(server, tree, prefix):
    client = server.client()
    for path in tree[0].rglob("*"):
        if path.is_file():
            client.put_object(
                Bucket=BUCKET, Key=f"{prefix}/{path.relative_to(tree[0])}", Body=path.read_bytes()
            )


def test_from_a_bucket_it_is_the_same(store, tree, s3_server, monkeypatch):
    put_tree(s3_server, tree, "commoncrawl")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3_server.endpoint)
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
