"""The index is sorted, plain, and the same for the same lines."""

import gzip
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import shared_file
from tests.storage import reading
from thresher.core import CorruptData, RecordRef
from thresher.storage.warc import cdxj
from thresher.storage.warc.index_lines import IndexLines

compressed = partial(gzip.compress, mtime=0)  # the names of tests are made of it: no clock in them

REF = RecordRef(file="warc/main/a.warc.gz", offset=450, length=900, digest="sha1:ABC")


def row(url="https://www.Example.org:8080/Path?Q=1", date_ms=1_767_323_045_678, **more):
    return cdxj.make_row(ref=REF, url=url, date_ms=date_ms, **{"mime": "text/html", "status": 200, **more})


def test_a_line_is_this():
    assert cdxj.format_line(row()) == (
        "org,example:8080)/path?q=1 20260102030405 "
        '{"url": "https://www.Example.org:8080/Path?Q=1", "mime": "text/html", "status": "200", '
        '"digest": "sha1:ABC", "length": "900", "offset": "450", "filename": "warc/main/a.warc.gz", "ms": "678"}'
    )


def test_lines_are_sorted_whatever_their_order(tmp_path: Path):
    lines = [
        cdxj.format_line(row(f"http://{host}.example/", date)) for host in "bac" for date in (2000, 1000)
    ]
    cdxj.write(tmp_path / "one", IndexLines(lines))
    cdxj.write(tmp_path / "two", IndexLines(reversed(lines)))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert gzip.decompress((tmp_path / "one").read_bytes()).decode() == "".join(
        f"{each}\n" for each in sorted(lines)
    )


@given(
    st.lists(
        st.tuples(st.text(max_size=40), st.integers(0, 4_102_444_800_000), st.integers(0, 999)), max_size=5
    )
)
def test_any_url_round_trips(tmp_path_factory: pytest.TempPathFactory, found):
    path = tmp_path_factory.mktemp("cdxj") / "x.cdxj.gz"
    rows = [row(f"http://example.org/{url}", date, status=status) for url, date, status in found]
    cdxj.write(path, IndexLines(map(cdxj.format_line, rows)))
    assert sorted(map(cdxj.format_line, reading.rows(path))) == sorted(map(cdxj.format_line, rows))
    assert sorted(map(repr, reading.rows(path))) == sorted(map(repr, rows))


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.org/a b\né", "org,example)/a%20b%0a%c3%a9"),
        ("http://192.0.2.1:80x/A", "http://192.0.2.1:80x/A"),
        ("http://example.org/\ud800", "org,example)/%ed%a0%80"),
        ("urn:dom:https://example.org/A", "urn:dom:https://example.org/a"),
        ("", "-"),
    ],
)
def test_anything_has_a_key_without_spaces(url, key):
    assert cdxj.surt_key(url) == key


@pytest.mark.parametrize(
    "data",
    [
        b"no gzip",
        compressed(b"only two\n"),
        compressed(b"a b {}\n"),
        compressed(b"a b {nojson\n"),
        compressed(b"a b [1]\n"),
        compressed(b'a b {"url": "x", "length": "y", "offset": "1", "filename": "f"}\n'),
        compressed(b"\xff\n"),
        compressed(b"a b {}\n")[:-9],
    ],
)
def test_what_is_no_index_is_corrupt_in_one_line(tmp_path: Path, data):
    (tmp_path / "x.cdxj.gz").write_bytes(data)
    with pytest.raises(CorruptData, match=r"\A[^\n]*is no CDXJ after its line 0[^\n]*\Z"):
        list(reading.rows(tmp_path / "x.cdxj.gz"))


@pytest.mark.shared
def test_lines_of_the_common_crawl_are_read(tmp_path: Path):
    (tmp_path / "x.gz").write_bytes(compressed(shared_file("archives/cc-index/cdx-sample.cdxj").read_bytes()))
    rows = list(reading.rows(tmp_path / "x.gz"))
    assert len(rows) == 5
    assert all(each.filename.startswith("crawl-data/") and each.length > 0 for each in rows)
