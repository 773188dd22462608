"""`ingest FILE.wacz` and `export-wacz` are inverse: what is exported again has the same records, lines and pages."""

import json
import re
import zipfile
import zlib
from uuid import UUID

import pytest

from tests.pipeline.wacz.test_page_list import SITE
from tests.pipeline.wacz.test_wacz_export import lines_of
from tests.storage.captures import STARTED_MS, capture
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz.wacz_export import export_wacz
from thresher.storage.archive.archive_writer import ArchiveWriter, CaptureMetadata, Revisit
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.warc.exchange_records import Attachment

LONG = "<title>{0}</title><link rel=icon href=/i.png><p>" + "words " * 300
PLACE = re.compile(r'"(?:offset|filename)": "[^"]*"')


def crawled(root):
    """Pages with metadata, a picture of one, an icon, both kinds of revisits, a redirect, a 404; in several files."""
    store = DirectoryStore(root)
    made = ArchiveWriter(store, "s", writer="w", user_agent="t", max_bytes=3_000)
    answers = (
        ("/", LONG.format("First"), "text/html", 200),
        ("/same", LONG.format("First"), "text/html", 200),
        ("/i.png", "\x89PNG", "image/png", 200),
        ("/moved", "", "text/html", 301),
        ("/none", LONG.format("None"), "text/html", 404),
        ("/last", LONG.format("Last"), "text/html", 200),
    )
    for number, (path, body, kind, status) in enumerate(answers):
        started_ms = STARTED_MS + number * 1_500
        if path == "/last":
            picture = Attachment(
                kind="resource",
                uri=f"urn:view:{SITE}{path}",
                mime="image/png",
                block=b"\x89PNG view",
                date_ms=started_ms,
            )
            made.attach(picture, record_id=UUID(int=100), response_id=UUID(int=number))
        one = capture(
            body.encode(), wire=f"{SITE}{path}", status=status, started_ms=started_ms,
            headers=(("Content-Type", kind), ("ETag", '"1"'), ("Location", "/last")),
        )  # fmt: skip
        made.append(one, UUID(int=number), metadata=CaptureMetadata(via=f"{SITE}/"))
        made.commit()
    unchanged = Revisit(
        profile="server-not-modified", refers_to=UUID(int=0).urn, uri=f"{SITE}/", date_ms=STARTED_MS
    )
    made.append(
        capture(b"", wire=f"{SITE}/", status=304, started_ms=STARTED_MS + 60_000),
        UUID(int=50),
        revisit=unchanged,
    )
    made.seal()
    return store


def exported(store, out):
    export_wacz(store, "s", out, "", LineProgress())
    return out


def ingested(wacz, root):
    store = DirectoryStore(root)
    ingest(store, "s", locate_inputs([wacz]))
    return store


def members_of(package):
    """The gzip members of all records, in the order of the files."""
    found = []
    for name in sorted(package.namelist()):
        if name.startswith("archive/"):
            data = package.read(name)
            starts = [at.start() for at in re.finditer(rb"\x1f\x8b\x08", data)]
            starts = [at for at in starts if _is_member(data, at)]
            found += [data[at:end] for at, end in zip(starts, [*starts[1:], len(data)], strict=True)]
    return found


def _is_member(data, at):
    try:
        return zlib.decompressobj(31).decompress(data[at:], 5) == b"WARC/"
    except zlib.error:
        return False


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A WACZ, that of its ingest, and that of the ingest of that."""
    directory = tmp_path_factory.mktemp("again")
    first = exported(crawled(directory / "crawl"), directory / "1.wacz")
    second = exported(ingested(first, directory / "second"), directory / "2.wacz")
    third = exported(ingested(second, directory / "third"), directory / "3.wacz")
    with zipfile.ZipFile(first) as one, zipfile.ZipFile(second) as two, zipfile.ZipFile(third) as three:
        yield one, two, three


def test_the_records_are_the_same_bytes_in_the_same_order(chain):
    one, two, three = map(members_of, chain)
    assert len(one) > 20
    assert [member for member in two if member in one] == one
    assert [member for member in three if member in two] == two
    # Each ingest says in a record of its own, in front of each file, what that was made of.
    assert (
        len(three) - len(two)
        == len(two) - len(one)
        == sum("archive/" in name for name in chain[1].namelist())
    )


def test_the_lines_of_the_index_differ_only_in_the_places_of_the_records(chain):
    lines = [[PLACE.sub("", line) for line in lines_of(package)] for package in chain]
    assert len(lines[0]) == 7
    assert lines[0] == lines[1] == lines[2]


def test_the_lists_of_pages_are_the_same_bytes(chain):
    lists = [package.read("pages/pages.jsonl") for package in chain]
    assert lists[0].count(b"favIconUrl") == 2
    assert lists[0] == lists[1] == lists[2]


def test_the_descriptions_agree_in_what_they_say_of_the_crawl(chain):
    said = [json.loads(package.read("datapackage.json")) for package in chain]
    for name in ("title", "created", "mainPageUrl", "software", "wacz_version"):
        assert said[0][name] == said[1][name] == said[2][name]
