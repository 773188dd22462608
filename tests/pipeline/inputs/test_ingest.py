"""Archives of others are ingested and processed, whatever their names are and however often they are ingested."""

import gzip

import pyarrow.parquet as pq
import pytest
import zstandard

from thresher.core import Conflict, InputError
from thresher.pipeline.configuration import DedupConfig, FiltersConfig
from thresher.pipeline.engine.run_step import run_step
from thresher.pipeline.inputs.ingest import IngestOptions, ingest
from thresher.pipeline.inputs.locate import locate_inputs
from thresher.pipeline.integrity.verify import verify_storage
from thresher.pipeline.steps import dedup, export, export_directory, export_plan, process
from thresher.pipeline.steps.options.export_options import ExportOptions
from thresher.pipeline.terminal.progress import LineProgress
from thresher.shards import tokenizer
from thresher.storage.directory_store import DirectoryStore
from thresher.storage.inputs.made_records import VolumeSize
from thresher.storage.inputs.shared_archive import inputs_of
from thresher.storage.inputs.table_files.columns import Columns
from thresher.storage.manifest import manifests
from thresher.storage.warc import cdxj

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


def whole_job(files, out, pool, source="s"):
    """Everything behind the archive; returns the exported URLs."""
    run_step(
        files,
        process.step(FILTERS),
        process.parts(files, source, FILTERS),
        process.work,
        pool=pool,
        progress=LineProgress(),
    )
    removed, _ = dedup.run(files, [source], DEDUP, pool=pool, progress=LineProgress())
    plan = export_plan.make_plan(
        files, [source], tokenizer.load_tokenizer_file(None), removed, ExportOptions()
    )
    claimed = export.open_directory(plan, str(out))
    shards = export.make_shards(plan, claimed, pool=pool, progress=LineProgress()).files
    rows = [row for shard in shards for row in pq.read_table(out / shard.name).to_pylist()]
    assert len(rows) == plan.documents == sum(shard.documents for shard in shards)
    return sorted(row["url"] for row in rows)


def test_the_same_bytes_under_two_names_are_ingested_once(tmp_path, pool):
    files = DirectoryStore(tmp_path / "data")
    first = warc(tmp_path / "a.warc.gz", [PAGE, OTHER])
    second = tmp_path / "b.warc.gz"
    second.write_bytes(first.read_bytes())
    found = ingest(files, "s", locate_inputs([first, second]))
    assert (found.added, found.known) == (1, 1)
    assert whole_job(files, tmp_path / "out", pool) == ["http://example.org/0", "http://example.org/1"]


@pytest.mark.parametrize("record_ids", [True, False])
def test_equal_pages_leave_one_and_records_without_ids_are_told_apart(tmp_path, pool, record_ids):
    files = DirectoryStore(tmp_path / "data")
    pages = [PAGE, PAGE, PAGE.replace("rivers and bridges", "ovens, bread and the men who baked it by night")]
    ingest(files, "s", locate_inputs([warc(tmp_path / "a.warc.gz", pages, record_ids)]))
    assert whole_job(files, tmp_path / "out", pool) == ["http://example.org/0", "http://example.org/2"]


def test_names_with_several_endings_do_not_collide(tmp_path, pool):
    files = DirectoryStore(tmp_path / "data")
    paths = [
        warc(tmp_path / "x.warc.1.warc.gz", [PAGE]),
        warc(
            tmp_path / "x.warc.2.warc.gz",
            [PAGE.replace("rivers", "harbours and towers and the men of the sea")] * 2,
        ),
    ]
    ingest(files, "s", locate_inputs(paths))
    assert len({part.name for part in process.parts(files, "s", FILTERS)}) == 2
    assert len(whole_job(files, tmp_path / "out", pool)) >= 1


def test_what_is_not_processed_is_not_left_out_in_silence(tmp_path):
    files = DirectoryStore(tmp_path / "data")
    ingest(files, "s", locate_inputs([warc(tmp_path / "a.warc.gz", [PAGE])]))
    with pytest.raises(InputError, match="1 of 1 parts are not processed"):
        process.require_processed(files, ["s"], FILTERS)


@pytest.mark.parametrize(
    ("name", "data"), [("a.bin", b"x"), ("a.warc.gz", b"no WARC at all"), ("a.warc", b"")]
)
def test_what_is_no_warc_is_refused_and_leaves_nothing(tmp_path, name, data):
    files = DirectoryStore(tmp_path / "data")
    (tmp_path / name).write_bytes(data)
    found = ingest(files, "s", locate_inputs([tmp_path / name]))
    assert [each["file"] for each in found.refused] == [name]
    assert list(files.list("")) == []


def test_one_export_at_a_time_writes_to_a_directory(tmp_path, pool):
    files = DirectoryStore(tmp_path / "data")
    ingest(files, "s", locate_inputs([warc(tmp_path / "a.warc.gz", [PAGE])]))
    whole_job(files, tmp_path / "out", pool)
    out = DirectoryStore(tmp_path / "out")
    with (
        export_directory.write_lock(out),
        pytest.raises(Conflict, match="another command is writing"),
        export_directory.write_lock(out),
    ):
        pass


def told(files, *arguments, **ways):
    found = []
    ingest(files, "s", locate_inputs(arguments), IngestOptions(**ways), found.append)
    return [(each.name, each.kind, each.status, each.entries) for each in found]


def table(path, texts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f'{{"text": "{text}"}}\n' for text in texts))
    return path


def test_a_directory_that_links_to_itself_is_gone_through_once(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("Some words.")
    (tmp_path / "in" / "loop").symlink_to(".")
    assert [one.name for one in locate_inputs([tmp_path / "in"])] == ["a.txt"]


def test_files_of_a_directory_are_ingested_by_the_order_of_their_names_under_their_paths(tmp_path):
    files, given_ = DirectoryStore(tmp_path / "data"), tmp_path / "in"
    table(given_ / "b" / "x.jsonl", "12")
    table(given_ / "a.jsonl", "3")
    table(given_ / "b-c.jsonl", "4")
    table(given_ / ".hidden" / "x.jsonl", "5")
    (given_ / ".git").write_text("no")
    assert told(files, given_) == [
        ("a.jsonl", "jsonl", "added", 1),
        ("b-c.jsonl", "jsonl", "added", 1),
        ("b/x.jsonl", "jsonl", "added", 2),
    ]
    (manifest,) = manifests(files, "archive")
    names = [one.name for one in inputs_of(files, manifest.outputs[0].name)]
    assert names == ["a.jsonl", "b-c.jsonl", "b/x.jsonl"]
    assert [fate for _, _, fate, _ in told(files, given_)] == ["known"] * 3


def test_a_pattern_stands_for_the_files_that_it_matches(tmp_path):
    for name in ("b.jsonl", "a.jsonl", "a.csv"):
        table(tmp_path / "in" / name, "1")
    assert [each.name for each in locate_inputs([tmp_path / "in" / "*.jsonl"])] == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda path: path / "none", "no such file"),
        (lambda path: path / "*.warc", "no such file"),
        (lambda path: path, "there is no file in this directory"),
    ],
)
def test_what_is_not_there_is_said(tmp_path, make, said):
    with pytest.raises(InputError, match=said):
        list(locate_inputs([make(tmp_path)]))


def test_one_that_is_refused_does_not_keep_the_others_out(tmp_path):
    files = DirectoryStore(tmp_path / "data")
    paths = [table(tmp_path / "a.jsonl", "1"), tmp_path / "b.jsonl", table(tmp_path / "c.jsonl", "2")]
    paths[1].write_text("[]\n")
    found = told(files, *paths)
    assert [(name, fate) for name, _, fate, _ in sorted(found)] == [
        ("a.jsonl", "added"),
        ("b.jsonl", "refused"),
        ("c.jsonl", "added"),
    ]


def test_a_file_is_known_by_its_bytes_whatever_it_is_called(tmp_path):
    files = DirectoryStore(tmp_path / "data")
    one, two = table(tmp_path / "a.jsonl", "123"), table(tmp_path / "b.jsonl", "123")
    found = [("a.jsonl", "jsonl", "added", 3), ("b.jsonl", "jsonl", "known", 3)]
    assert sorted(told(files, one, two)) == found
    assert [fate for _, _, fate, _ in told(files, one, two)] == ["known", "known"]


def test_what_was_begun_under_another_name_is_gone_on_with_as_what_it_was(tmp_path):
    files, whole = DirectoryStore(tmp_path / "data"), DirectoryStore(tmp_path / "whole")
    one, two = table(tmp_path / "a.jsonl", "12345"), table(tmp_path / "b.jsonl", "12345")
    for store in (files, whole):
        told(store, one, size=VolumeSize(records=2))
    last = "manifests/archive/s/a.jsonl-00002.json"
    files.delete(last)
    assert told(files, two, size=VolumeSize(records=2)) == [("b.jsonl", "jsonl", "added", 5)]
    assert list(files.list()) == list(whole.list())
    assert files.read(last) == whole.read(last)


def test_another_file_under_the_same_name_is_refused(tmp_path):
    files = DirectoryStore(tmp_path / "data")
    told(files, table(tmp_path / "a" / "x.jsonl", "1"), warc(tmp_path / "x.warc.gz", [PAGE]))
    (tmp_path / "b").mkdir()
    others = [table(tmp_path / "b" / "x.jsonl", "2"), warc(tmp_path / "b" / "x.warc.gz", [OTHER])]
    before = list(files.list())
    found = ingest(files, "s", locate_inputs(others))
    assert [
        each["reason"].endswith("s holds another file of that name; rename one of them")
        for each in found.refused
    ] == [True, True]
    assert list(files.list()) == before


def test_archives_whose_names_differ_in_compression_alone_stand_beside_each_other(tmp_path):
    files = DirectoryStore(tmp_path / "data")
    packed = warc(tmp_path / "x.warc.gz", [PAGE])
    plain = tmp_path / "x.warc"
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    assert [fate for _, _, fate, _ in told(files, packed, plain)] == ["added", "added"]
    assert [manifest.outputs[0].name for manifest in manifests(files, "archive")] == [
        "warc/s/x.warc.gz",
        "warc/s/x.warc.warc",
    ]
    assert [fate for _, _, fate, _ in told(files, packed, plain)] == ["known", "known"]


def test_a_known_input_is_refused_with_other_options(tmp_path):
    files = DirectoryStore(tmp_path / "data")
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "a", "body": "b"}\n')
    told(files, path)
    (refused,) = ingest(
        files, "s", locate_inputs([path]), IngestOptions(columns=Columns(text="body"))
    ).refused
    assert 'options.text was absent, is "body" now' in refused["reason"]


@pytest.mark.parametrize("lie", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_an_archive_that_is_one_member_gives_the_same_pages_as_one_of_a_member_a_record(tmp_path, pool, lie):
    one, whole = DirectoryStore(tmp_path / "one"), DirectoryStore(tmp_path / "whole")
    path = warc(tmp_path / "x.warc.gz", [PAGE, OTHER])
    other = tmp_path / "y.warc.gz"
    other.write_bytes(lie(gzip.decompress(path.read_bytes())))
    assert told(whole, path) == [("x.warc.gz", "warc", "added", 2)]
    assert told(one, other) == [("y.warc.gz", "warc", "added", 2)]
    assert whole_job(one, tmp_path / "out-one", pool) == whole_job(whole, tmp_path / "out-whole", pool)
    assert not verify_storage(one, LineProgress()).damage


def test_a_wet_file_is_cut_into_parts_by_its_texts_and_a_dom_of_ours_is_none_of_them(tmp_path):
    files = DirectoryStore(tmp_path / "data")
    head = "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://example.org/{0}\r\nContent-Type: {1}\r\nContent-Length: 1\r\n\r\nx\r\n\r\n"
    mimes = ["text/plain", "text/html; charset=utf-8", "text/plain"]
    data = [gzip.compress(head.format(*pair).encode(), mtime=0) for pair in enumerate(mimes)]
    (tmp_path / "x.warc.wet.gz").write_bytes(b"".join(data))
    told(files, tmp_path / "x.warc.wet.gz")
    (manifest,) = manifests(files, "archive")
    assert manifest.outputs[0].name == "warc/s/x.warc.wet.warc.gz"
    with files.open(manifest.outputs[1].name) as file:
        assert [row.url for row in cdxj.read(file, name="x")] == [
            "http://example.org/0",
            "http://example.org/2",
        ]
