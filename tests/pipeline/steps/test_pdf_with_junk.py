"""A PDF with other bytes in front of its header is read alike from a file, from a tar and from a crawl."""

import io
import tarfile
from uuid import UUID

import pytest

from tests.extract.pdf.paper import at, make_pdf
from tests.storage.captures import capture
from thresher.extract import Skip
from thresher.extract.record_document import extract_document
from thresher.pipeline.inputs.ingest import ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.manifest import manifests
from thresher.storage.warc.records import read_records

JUNK = {"lines": b"\r\n\r\n", "a head": b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", "far": b"\0junk" * 200}
LINES = [f"Line {number} of the paper says something about rivers and bridges." for number in range(9)]


def texts(files):
    for manifest in manifests(files, "archive"):
        name = manifest.outputs[0].name
        with files.open(name) as file:
            for record in read_records(file, name=name):
                if record.type in {"response", "resource"}:
                    found = extract_document(record, "s")
                    yield found.reason if isinstance(found, Skip) else found.text


@pytest.mark.parametrize("junk", JUNK)
def test_it_is_read_alike_wherever_it_comes_from(tmp_path, junk):
    data = JUNK[junk] + make_pdf(at(72, 700, *LINES))
    crawl = DirectoryStore(tmp_path / "crawl")
    made = ArchiveWriter(crawl, "main", writer="w", user_agent="t")
    made.append(capture(data, headers=(("Content-Type", "application/pdf"),)), UUID(int=1))
    made.seal()
    (tmp_path / "x.pdf").write_bytes(data)
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        member = tarfile.TarInfo("y.pdf")
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    files = DirectoryStore(tmp_path / "data")
    assert ingest(files, "s", locate_inputs([tmp_path / "x.pdf", tmp_path / "x.tar"])).refused == []
    (expected,) = texts(crawl)
    assert expected.startswith("Line 0 of the paper")
    assert list(texts(files)) == [expected, expected]


def test_too_far_behind_it_is_no_pdf(tmp_path):
    (tmp_path / "x.pdf").write_bytes(b"\0junk" * 300 + make_pdf(at(72, 700, *LINES)))
    (refused,) = ingest(DirectoryStore(tmp_path / "data"), "s", locate_inputs([tmp_path / "x.pdf"])).refused
    assert "x.pdf says pdf and is none" in refused["reason"]
