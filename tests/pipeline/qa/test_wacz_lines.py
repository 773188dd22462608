"""Lines of an index and of a list of pages, as strangers may write them."""

import gzip
import json
import sqlite3
import zipfile
from dataclasses import astuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import InputError
from thresher.pipeline.qa import wacz_lines
from thresher.pipeline.qa.wacz_lines import index_row, lines_of, listed_page
from thresher.storage.inputs import decompression

RIGHT = {
    "url": "http://a.test/",
    "filename": "archive/x.warc.gz",
    "offset": "7",
    "status": "200",
    "mime": "text/html",
}
PAGE = {"url": "http://a.test/", "ts": "2026-01-02T03:04:05Z"}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)


def line(**fields):
    return f"test,a)/ 20260102030405 {json.dumps(RIGHT | fields)}\n".encode()


def test_a_line_of_an_index_says_where_a_record_lies():
    row = index_row(line())
    assert row is not None
    assert (row.key, row.url, row.date_ms) == ("test,a)/", "http://a.test/", 1_767_323_045_000)
    assert (row.file, row.offset, row.status, row.mime) == ("x.warc.gz", 7, 200, "text/html")


@pytest.mark.parametrize(
    "fields",
    [
        {"offset": float("inf")},
        {"offset": 10**30},
        {"offset": -1},
        {"offset": None},
        {"ms": 1e300},
        {"url": "http://a.test/\ud800"},
        {"url": 7},
        {"filename": "\ud800"},
        {"mime": ["text/html"]},
    ],
)
def test_a_line_that_cannot_be_right_is_none(fields):
    assert index_row(line(**fields)) is None


@given(st.dictionaries(st.sampled_from([*RIGHT, "ms", "ts", "title", "text"]), VALUES))
def test_whatever_a_line_holds_it_is_none_or_can_be_stored(fields):
    database = sqlite3.connect(":memory:")
    for found in (index_row(line(**fields)), listed_page(json.dumps(PAGE | fields).encode())):
        for value in astuple(found) if found else ():
            database.execute("SELECT ?", (value,))
    database.close()


@given(st.binary())
def test_no_bytes_raise(data):
    assert index_row(data) is None
    assert listed_page(data) is None


def test_the_first_line_of_a_list_and_pages_without_an_address_are_no_pages():
    assert listed_page(b'{"format": "json-pages-1.0", "id": "pages"}') is None
    assert listed_page(json.dumps(PAGE | {"url": "urn:x"}).encode()) is None
    found = listed_page(json.dumps(PAGE | {"title": None, "text": "words"}).encode())
    assert found is not None
    assert (found.title, found.text) == ("", "words")


def packed(tmp_path, name, data):
    with zipfile.ZipFile(tmp_path / "x.wacz", "w") as package:
        package.writestr(name, data)
    return zipfile.ZipFile(tmp_path / "x.wacz")


def test_a_line_that_is_too_long_is_an_empty_one(tmp_path, monkeypatch):
    monkeypatch.setattr(wacz_lines, "MAX_LINE", 10)
    for data in (b"one\n" + b"x" * 35 + b"\ntwo\n", b"one\n" + b"x" * 19 + b"\ntwo\n"):
        with packed(tmp_path, "indexes/index.cdx.gz", gzip.compress(data)) as package:
            assert list(lines_of(package, "indexes/index.cdx.gz")) == [b"one\n", b"", b"two\n"]


def test_an_index_that_swells_or_breaks_off_is_the_users_mistake(tmp_path, monkeypatch):
    monkeypatch.setattr(decompression, "ALWAYS_ALLOWED_BYTES", 1000)
    whole = gzip.compress(b"0\n" * 500_000)
    for data, said in ((whole, "unpacks to more than"), (gzip.compress(b"0\n")[:-5], "cannot be read")):
        with packed(tmp_path, "x.cdx.gz", data) as package, pytest.raises(InputError, match=said):
            list(lines_of(package, "x.cdx.gz"))
