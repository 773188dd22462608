"""Both indexes are read in ranges, and find the same records as a reading of the whole index."""

import gzip
import io
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.commoncrawl import CRAWL, Page, cdx_line, columns_of_2013, write_crawl
from tests.commoncrawl_server import CutResponse, ErrorResponse, Fault, scripted
from tests.shared import shared_file
from thresher.core import CorruptData, InputError
from thresher.storage.commoncrawl import paths
from thresher.storage.commoncrawl.index import columnar, zipnum
from thresher.storage.commoncrawl.index.row import parse
from thresher.storage.commoncrawl.index.selection import Selection
from thresher.storage.commoncrawl.index.span import Span
from thresher.storage.commoncrawl.transport.source import Head

INDEX = f"cc-index/collections/{CRAWL}/indexes"


def selection(*domains, **more):
    return Selection(crawl=CRAWL, domains=frozenset(domains), **more)


def by_cdx(client, wanted):
    return [row for row in zipnum.rows(client, CRAWL, wanted.spans()) if wanted.admits(row)]


def by_columns(client, wanted):
    found = columnar.rows(client, CRAWL, wanted.spans(), wanted.subsets)
    return [row for row in found if wanted.admits(row)]


def urls(rows):
    return sorted(row.url for row in rows)


SELECTIONS = [
    selection("example.org"),
    selection("docs.example.org"),
    selection("www.example.org"),
    selection("other.net", "xyz.test"),
    selection("org"),
    selection("nowhere.test"),
    selection("zzz.zzz"),
    selection("0.0"),
    selection("example.org", languages=frozenset({"deu"})),
    selection("example.org", statuses=frozenset({301})),
    selection("example.org", mimes=frozenset({"application/pdf"})),
    Selection(crawl=CRAWL, prefixes=("http://example.org/Docs/",)),
    Selection(crawl=CRAWL, prefixes=("https://example.org/00", "https://other.net/")),
]


@pytest.mark.parametrize("wanted", SELECTIONS)
@pytest.mark.parametrize("look", [by_cdx, by_columns])
def test_a_look_up_gives_what_is_stored_of_the_selection(client, stored, wanted, look):
    found = look(client, wanted)
    lines = [parse(cdx_line(each).decode().rstrip("\n")) for each in stored]
    assert sorted(found, key=str) == sorted((row for row in lines if wanted.admits(row)), key=str)


def test_what_is_asked_for_of_each(client, stored, server):
    assert urls(by_cdx(client, selection("docs.example.org"))) == [
        f"https://docs.example.org/00{n}" for n in range(5)
    ]
    assert len(by_cdx(client, selection("example.org"))) == 12 + 2 + 5 + 3
    assert urls(by_cdx(client, selection("www.example.org"))) == [
        "https://www.example.org/000",
        "https://www.example.org/001",
    ]
    assert urls(by_cdx(client, SELECTIONS[-2])) == ["http://example.org/Docs/A%20b/?z=1&a=2"]
    (cut,) = [row for row in by_columns(client, selection("example.org")) if row.truncated]
    assert cut.url == "https://example.org/cut"


def test_only_blocks_that_can_hold_the_domain_are_read(client, stored, server):
    by_cdx(client, selection("xyz.test"))
    read = sum(asked.last - asked.first + 1 for asked in server.requests_with("cdx-"))
    whole = sum((server.root / INDEX / name).stat().st_size for name in ("cdx-00000.gz", "cdx-00001.gz"))
    assert 0 < read < whole / 2


def test_only_row_groups_whose_statistics_allow_it_are_read(client, stored, server):
    by_columns(client, selection("nowhere.test"))
    assert {asked.first for asked in server.requests_with(".parquet")} == {
        0
    }  # tails alone: these files are smaller than one
    every = [pq.read_metadata(path) for path in server.root.rglob("*subset=warc*/*.parquet")]
    chosen = sum(len(list(columnar.groups(one, selection("docs.example.org").spans()))) for one in every)
    assert 0 < chosen < sum(one.num_row_groups for one in every) / 2


def test_a_row_group_without_statistics_is_read(tmp_path: Path, tree):
    (path, *_) = sorted(tree[0].rglob("*subset=warc*/*.parquet"))
    pq.write_table(pq.read_table(path), tmp_path / "x.parquet", write_statistics=False, row_group_size=5)
    metadata = pq.read_metadata(tmp_path / "x.parquet")
    assert list(columnar.groups(metadata, selection("zzz.zzz").spans())) == list(
        range(metadata.num_row_groups)
    )


def test_the_oldest_schema_gives_the_same_records(client_of, server, tmp_path: Path):
    server.root = tmp_path
    write_crawl(tmp_path, schema=columns_of_2013)
    client = client_of(server.base)
    new, old = by_cdx(client, selection("example.org")), by_columns(client, selection("example.org"))
    blank = {"charset": "", "languages": "", "truncated": "", "mime_detected": "", "redirect": ""}
    assert sorted(old, key=str) == sorted((replace(row, **blank) for row in new), key=str)


def test_a_table_that_lacks_a_column_is_named(client_of, server, tmp_path: Path):
    server.root = tmp_path
    write_crawl(tmp_path, schema=lambda found: columns_of_2013(found).drop_columns(["warc_record_offset"]))
    with pytest.raises(CorruptData, match="has no column warc_record_offset"):
        by_columns(client_of(server.base), selection("example.org"))


def test_a_footer_that_is_longer_than_the_first_read_is_read_whole(
    client, stored, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(columnar, "TAIL", 64)
    assert len(by_columns(client, selection("example.org"))) == 22


@pytest.mark.parametrize("look", [by_cdx, by_columns])
def test_a_look_up_survives_a_failing_server(client, stored, server, look):
    faults: list[Fault] = [
        ErrorResponse(503),
        CutResponse(10),
        ErrorResponse(403, ""),
        None,
        CutResponse(0),
        ErrorResponse(500, "InternalError"),
        None,
        None,
    ]
    server.plan = scripted(*faults * 4)
    assert len(look(client, selection("example.org"))) == 22


@pytest.mark.parametrize("look", [by_cdx, by_columns])
def test_a_crawl_without_an_index_is_said_in_one_line(client, tmp_path: Path, server, look):
    server.root = tmp_path
    with pytest.raises(InputError, match="there is no such file; correct the name of the crawl"):
        look(client, selection("example.org"))


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("cluster.idx", b"no index at all\n", "names no block"),
        ("cluster.idx", b"org 2024\t../../x\t0\t10\t1\n", "names no block"),
        ("cluster.idx", b"org 2024\tcdx-00000.gz\t-5\t10\t1\n", "names no block"),
        ("cdx-00000.gz", b"\0" * 100_000, "is no block of an index"),
    ],
)
def test_an_index_that_is_none_is_named(client, tree, tmp_path: Path, server, name, data, line):
    (tmp_path / INDEX).mkdir(parents=True)
    for each in (tree[0] / INDEX).iterdir():
        (tmp_path / INDEX / each.name).write_bytes(each.read_bytes())
    (tmp_path / INDEX / name).write_bytes(data)
    server.root = tmp_path
    with pytest.raises(CorruptData, match=line):
        by_cdx(client, selection("net", "org"))


def test_a_line_that_is_no_row_is_named_with_its_block(client, tmp_path: Path, server):
    (tmp_path / INDEX).mkdir(parents=True)
    block = gzip.compress(b'org,example)/ 20240518015810 {"url": "https://example.org/"}\n')
    (tmp_path / INDEX / "cdx-00000.gz").write_bytes(block)
    (tmp_path / INDEX / "cluster.idx").write_bytes(
        b"org,example)/ 20240518015810\tcdx-00000.gz\t0\t%d\t1\n" % len(block)
    )
    server.root = tmp_path
    with pytest.raises(CorruptData, match=r"cdx-00000.gz at 0, line 1 is no row"):
        by_cdx(client, selection("example.org"))


names = st.text(st.sampled_from("ab,)/-: "), min_size=1, max_size=6)


@settings(max_examples=60)
@given(st.lists(names, min_size=1, max_size=120, unique=True), names, st.integers(1, 90))
def test_halving_finds_the_blocks_that_reading_all_lines_finds(keys, prefix, near):
    keys = sorted((key.encode() for key in keys), key=lambda key: key + b" 2024")  # as their lines are
    lines = [key + b" 2024\tcdx-00000.gz\t%d\t10\t%d\n" % (at * 10, at) for at, key in enumerate(keys)]
    cluster = io.BytesIO(b"".join(lines))
    span = Span(prefix.encode(), prefix.encode() + b"\xff")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zipnum, "NEAR", near)
        found = [block.offset // 10 for block in zipnum.blocks(cluster, len(cluster.getvalue()), span)]
    before = [at for at, line in enumerate(lines) if line < span.first][-1:]
    assert found == before + [at for at, line in enumerate(lines) if span.first <= line < span.end]


def test_many_domains_cost_few_reads_of_the_index_each(client_of, server, tmp_path: Path):
    server.root = tmp_path
    found = [Page(url=f"https://host{number:04d}.test/", body=b"x") for number in range(1500)]
    write_crawl(tmp_path, found, files=1)
    client = client_of(server.base)
    wanted = selection(*(f"host{number:04d}.test" for number in range(0, 1500, 15)))
    assert len(by_cdx(client, wanted)) == 100
    assert len(server.requests_with("cluster.idx")) < 20
    assert len(server.requests_with("cdx-")) <= 110


@pytest.mark.shared
def test_real_lines_of_cluster_idx_name_blocks():
    data = shared_file("archives/cc-index/cluster-sample.idx").read_bytes()
    found = list(zipnum.blocks(io.BytesIO(data), len(data), Span(b"104,", b"105")))
    assert [(block.offset, block.length) for block in found] == [(188224, 178351), (366575, 178055)]
    assert {block.file for block in found} == {"cdx-00000.gz"}


@pytest.mark.shared
def test_blocks_of_another_zipnum_index_are_split_alike():
    """pywb's sample has cdx lines of eleven fields in its blocks; blocks and their keys are the same format."""
    data = shared_file("archives/pywb/zipnum-sample.cdx.gz").read_bytes()
    for line in shared_file("archives/pywb/zipnum-sample.idx").read_bytes().splitlines():
        key, _, offset, length, _ = line.split(b"\t")
        block = gzip.decompress(data[int(offset) :][: int(length)])
        assert block.startswith(key)


def test_an_index_clipped_at_every_byte_is_named_and_never_half_read(client, stored):
    block = gzip.compress(b"".join(sorted(map(cdx_line, stored))[:4]), mtime=0)
    whole = (Span(b"!", b"\xff"),)
    assert len(list(zipnum._rows_within(whole, block, "x"))) == 4
    for end in range(len(block)):
        with pytest.raises(CorruptData, match="x is no block of an index"):
            list(zipnum._rows_within(whole, block[:end], "x"))


def test_a_list_of_paths_clipped_at_every_byte_is_refused(tmp_path: Path):
    data = gzip.compress(b"crawl-data/a/b.warc.gz\n" * 3, mtime=0)
    for end in range(1, len(data)):
        (tmp_path / "x.paths.gz").write_bytes(data[:end])
        with pytest.raises(InputError, match=r"no list of paths|no path of an archive file"):
            paths.read_local(tmp_path / "x.paths.gz")


def test_a_table_clipped_at_every_byte_is_named(client, tree):
    data = next(iter(sorted(tree[0].rglob("*subset=warc*/*.parquet")))).read_bytes()
    for end in range(len(data)):
        clipped = data[:end]
        with pytest.raises(CorruptData, match="is no Parquet file"):
            columnar.footer(client, "x", clipped, Head(end, ""))
    assert columnar.footer(client, "x", data, Head(len(data), "")).num_row_groups > 1
