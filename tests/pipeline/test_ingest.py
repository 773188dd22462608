"""Ingest and what comes after: other people's archives, whatever they are called and however often they come."""

import gzip

import pyarrow.parquet as pq
import pytest

from core import Conflict, InputError
from pipeline import dedup, export, process
from pipeline.config import DedupConfig, FiltersConfig
from pipeline.engine import run
from pipeline.given import given
from pipeline.ingest import ingest
from pipeline.progress import LineProgress
from shards import tokenizer
from storage.files import Files

OTHER = "<html><body><article>" + "".join(
    f"<p>Night {n}: the baker opened the oven, looked at the loaves, and closed it again for a quarter hour.</p>"
    for n in range(4)
)
FILTERS = FiltersConfig(preset="none", languages=())
DEDUP = DedupConfig()
PAGE = "<html><body><article>" + "".join(
    f"<p>Paragraph {n} of a page that says enough about rivers and bridges to be taken for a text.</p>"
    for n in range(5)
)


def warc(path, pages, record_ids=True):
    """A WARC made by hand: one response a page."""
    data = b""
    for number, page in enumerate(pages):
        body = page.encode()
        http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        identity = (
            f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{number:012d}>\r\n" if record_ids else ""
        )
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\n{identity}WARC-Target-URI: http://example.org/{number}\r\n"
            f"WARC-Date: 2026-01-02T03:04:05Z\r\nContent-Type: application/http; msgtype=response\r\n"
            f"Content-Length: {len(http)}\r\n\r\n"
        )
        data += gzip.compress(head.encode() + http + b"\r\n\r\n", mtime=0)
    path.write_bytes(data)
    return path


def whole_job(files, out, crew, source="s"):
    """Everything behind the archive; returns the exported URLs."""
    run(
        files,
        process.step(FILTERS),
        process.parts(files, source, FILTERS),
        process.work,
        crew=crew,
        progress=LineProgress(),
    )
    removed, _ = dedup.run(files, [source], DEDUP, crew=crew, progress=LineProgress())
    plan = export.plan(files, [source], tokenizer.load(None), removed)
    claimed = export.claim(plan, str(out))
    dataset, _ = export.make(plan, claimed, crew=crew, progress=LineProgress())
    rows = [row for shard in dataset.shards for row in pq.read_table(out / shard.name).to_pylist()]
    assert len(rows) == dataset.documents
    return sorted(row["url"] for row in rows)


def test_the_same_bytes_under_two_names_are_brought_in_once(tmp_path, crew):
    files = Files(tmp_path / "data")
    first = warc(tmp_path / "a.warc.gz", [PAGE, OTHER])
    second = tmp_path / "b.warc.gz"
    second.write_bytes(first.read_bytes())
    found = ingest(files, "s", given([first, second]))
    assert (found.added, found.known) == (1, 1)
    assert whole_job(files, tmp_path / "out", crew) == ["http://example.org/0", "http://example.org/1"]


@pytest.mark.parametrize("record_ids", [True, False])
def test_equal_pages_leave_one_and_records_without_ids_are_told_apart(tmp_path, crew, record_ids):
    files = Files(tmp_path / "data")
    pages = [PAGE, PAGE, PAGE.replace("rivers and bridges", "ovens, bread and the men who baked it by night")]
    ingest(files, "s", given([warc(tmp_path / "a.warc.gz", pages, record_ids)]))
    assert whole_job(files, tmp_path / "out", crew) == ["http://example.org/0", "http://example.org/2"]


def test_names_with_several_endings_do_not_collide(tmp_path, crew):
    files = Files(tmp_path / "data")
    paths = [
        warc(tmp_path / "x.warc.1.warc.gz", [PAGE]),
        warc(
            tmp_path / "x.warc.2.warc.gz",
            [PAGE.replace("rivers", "harbours and towers and the men of the sea")] * 2,
        ),
    ]
    ingest(files, "s", given(paths))
    assert len({part.name for part in process.parts(files, "s", FILTERS)}) == 2
    assert len(whole_job(files, tmp_path / "out", crew)) >= 1


def test_what_is_not_processed_is_not_left_out_in_silence(tmp_path):
    files = Files(tmp_path / "data")
    ingest(files, "s", given([warc(tmp_path / "a.warc.gz", [PAGE])]))
    with pytest.raises(InputError, match="1 of 1 parts are not processed"):
        process.require_processed(files, ["s"], FILTERS)


@pytest.mark.parametrize(
    ("name", "data"), [("a.bin", b"x"), ("a.warc.gz", b"no WARC at all"), ("a.warc", b"")]
)
def test_what_is_no_warc_is_refused_and_leaves_nothing(tmp_path, name, data):
    files = Files(tmp_path / "data")
    (tmp_path / name).write_bytes(data)
    found = ingest(files, "s", given([tmp_path / name]))
    assert [each["file"] for each in found.refused] == [name]
    assert list(files.list("")) == []


def test_one_export_at_a_time_writes_to_a_directory(tmp_path, crew):
    files = Files(tmp_path / "data")
    ingest(files, "s", given([warc(tmp_path / "a.warc.gz", [PAGE])]))
    whole_job(files, tmp_path / "out", crew)
    out = Files(tmp_path / "out")
    with (
        export.writing(out),
        pytest.raises(Conflict, match="another command is writing"),
        export.writing(out),
    ):
        pass
