"""Every form of input gives the same records; damage costs only itself; a file that is not what it claims is refused."""

import io
import json
from datetime import UTC, date, datetime

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.made_inputs import CODECS, FORMS, ROWS, gzipped, jsonl, packed, parquet, read, tarred
from thresher.core import InputError
from thresher.storage.inputs.bounded_lines import lines
from thresher.storage.inputs.entry import MAX_PAYLOAD_BYTES, InputRecord, UnusableRecord
from thresher.storage.inputs.table_files.columns import Columns


def told(entries):
    return [(entry.place, entry.uri, entry.payload.decode(), entry.facts["id"]) for entry in entries]


EXPECTED = [(place, row["url"], row["text"], row["id"]) for place, row in enumerate(ROWS)]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", FORMS)
def test_the_same_rows_are_the_same_records_in_every_form_and_compression(name, codec):
    found = read(CODECS[codec](FORMS[name](ROWS)), name)
    assert told(found) == EXPECTED
    assert {entry.mime for entry in found} == {"text/plain; charset=utf-8"}
    assert {entry.facts["from"] for entry in found} == {name}


@pytest.mark.parametrize("codec", ["plain", "gzip members"])
@pytest.mark.parametrize("name", FORMS)
def test_beginning_at_any_record_gives_the_tail_of_the_whole(name, codec):
    data = CODECS[codec](FORMS[name](ROWS))
    whole = read(data, name)
    for first in range(len(whole) + 2):
        assert read(data, name, first) == whole[first:]


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("codec", ["plain", "gzip", "bzip2", "zstd"])
@pytest.mark.parametrize("name", FORMS)
def test_clipped_at_any_byte_only_what_was_cut_is_lost(name, codec, step):
    data = CODECS[codec](FORMS[name](ROWS[:3]))
    whole = read(data, name)
    for cut in range(0, len(data), step):
        try:
            found = read(data[:cut], name)
        except InputError:
            continue
        good = [item for item in found if isinstance(item, InputRecord)]
        assert good[:-1] == whole[: len(good[:-1])]
        if good and good[-1] not in whole:  # a text that was cut is a text
            assert whole[len(good) - 1].payload.startswith(good[-1].payload)
        if codec != "plain" and good != whole:
            assert len(found) > len(good), "that something is lost was said"


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet", "x.arrow", "x.tar"])
@given(data=st.data())
def test_no_byte_that_is_flipped_can_raise_anything_but_a_refusal(name, data):
    made = bytearray(FORMS[name](ROWS))
    made[data.draw(st.integers(0, len(made) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        read(bytes(made), name)
    except InputError as error:
        assert name in str(error)  # noqa: PT017 - most flips are no error


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1).filter(str.strip)
URL_PATHS = st.text("abc/é-?=", max_size=20).map(lambda path: f"https://example.org/{path}")


@pytest.mark.parametrize("name", ["x.jsonl", "x.csv", "x.parquet", "stream.arrow"])
@given(
    rows=st.lists(st.tuples(TEXTS, URL_PATHS), min_size=1, max_size=9), codec=st.sampled_from(list(CODECS))
)
def test_whatever_the_rows_hold_comes_back(name, rows, codec):
    made = FORMS[name]([{"text": text, "url": url} for text, url in rows])
    found = read(CODECS[codec](made), name)
    assert [(entry.payload.decode(), entry.uri) for entry in found] == rows


@pytest.mark.parametrize(
    ("row", "uri", "facts", "date_ms"),
    [
        ({"text": "x", "id": 7, "metadata": {"url": "http://a.org/"}}, "http://a.org/", {"id": "7"}, 0),
        (
            {"text": "x", "id": "http://a.org/d", "source": "common-crawl", "created": "2020-03-29T09:04:10Z"},
            "http://a.org/d",
            {"id": "http://a.org/d", "date": "2020-03-29T09:04:10Z"},
            0,
        ),
        (
            {"text": "x", "id": "<urn:uuid:1>", "dump": "CC-MAIN-2013-20", "url": "http://a.org/", "date": "2013-05-18T05:48:59Z"},
            "http://a.org/",
            {"id": "<urn:uuid:1>"},
            1368856139000,
        ),
        ({"text": "x", "timestamp": "2019-04-25T12:57:54Z", "url": "http://a.org/"}, "http://a.org/", {}, 1556197074000),
        ({"Text": "x", "URL": "ftp://a.org/", "Lang": "de"}, "ftp://a.org/", {"language": "de"}, 0),
        ({"text": "x", "url": "no address"}, "file:x.jsonl#line=1", {}, 0),
        ({"text": "x", "authors": ["A", "B"], "license": "CC BY"}, "file:x.jsonl#line=1", {"author": "A; B", "license": "CC BY"}, 0),
        ({"raw_content": "x", "title": " A  title\n", "date": "yesterday"}, "file:x.jsonl#line=1", {"title": "A title"}, 0),
        ({"text": "x", "timestamp": 1556197074}, "file:x.jsonl#line=1", {}, 1556197074000),
    ],
)  # fmt: skip
def test_the_columns_of_published_collections_are_recognised(row, uri, facts, date_ms):
    (found,) = read(jsonl([row]), "x.jsonl")
    assert (found.payload, found.uri, found.date_ms) == (b"x", uri, date_ms)
    assert found.facts == {**facts, "from": "x.jsonl"}


def test_a_date_of_a_table_is_a_date():
    row = {"text": "x", "timestamp": datetime(2020, 1, 2, tzinfo=UTC), "date": date(2019, 1, 2)}
    (found,) = read(parquet([row]), "x.parquet")
    assert (found.date_ms, found.facts["date"]) == (1577923200000, "2019-01-02")


def test_html_is_a_page_where_there_is_no_text_and_bytes_of_it_say_no_encoding():
    rows = [{"text": None, "html": "<p>ü"}, {"text": "t", "html": "<p>"}]
    assert [(e.mime, e.payload) for e in read(jsonl(rows), "x.jsonl")] == [
        ("text/html; charset=utf-8", "<p>ü".encode()),
        ("text/plain; charset=utf-8", b"t"),
    ]
    (found,) = read(parquet([{"html": "<p>ü".encode("latin-1")}]), "x.parquet")
    assert (found.mime, found.payload) == ("text/html", b"<p>\xfc")


def test_columns_that_are_named_go_before_all_others():
    row = {"text": "no", "Body": "yes", "link": "http://a.org/", "key": "k", "page": {"html": "<p>"}}
    (found,) = read(jsonl([row]), "x.jsonl", columns=Columns(text="body", url="link", id="key"))
    assert (found.payload, found.uri, found.facts["id"]) == (b"yes", "http://a.org/", "k")
    (found,) = read(jsonl([row]), "x.jsonl", columns=Columns(html="page.html"))
    assert (found.payload, found.mime) == (b"<p>", "text/html; charset=utf-8")


@pytest.mark.parametrize(
    ("name", "data", "reasons"),
    [
        ("x.jsonl", b'{"text": "a"}\n{"text": \n\n{"text": "b"}\n', [None, "broken_json", None]),
        ("x.jsonl", b'{"text": "a"}\n{"text": "\xff"}\n[1]\n{"id": 1}\n', [None, "not_utf8", "no_object", "no_text"]),
        ("x.jsonl", b'{"text": "a"}\n{"text": " "}\n', [None, "no_text"]),
        ("x.csv", b"text,id\na,1\nb\nc,2\n", [None, "broken_row", None]),
        ("x.csv", b"text\na\n\xff\n", [None, "not_utf8"]),
        ("x.csv", b'text,id\n"open,1\nb,2\nc,3\n', ["broken_row"]),
        ("x.csv", b'text,id\n"two\nlines",1\n5" disk,2\n', [None, None]),
        ("x.tar", tarred([("a.txt", b"a"), ("b.jpg", b"\xff"), ("c.json", b"{"), ("d.json", b'{"text": "d"}')]),
         [None, "no_text", "broken_json", None]),
    ],
)  # fmt: skip
def test_a_row_that_is_bad_is_passed_over_with_its_reason(name, data, reasons):
    found = read(data, name)
    assert [getattr(item, "reason", None) for item in found] == reasons
    assert [item.place for item in found] == list(range(len(found)))


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("x.jsonl", b"", "x.jsonl is empty; remove it"),
        ("x.jsonl", b"text\n", "x.jsonl, line 1 is no JSON object (Expecting value: line 1 column 1 (char 0)); give an object a line"),
        ("x.jsonl", b'\n{"te\n', "x.jsonl, line 2 is no JSON object"),
        ("x.json", b'[{"text": "x"}]', "give an object a line, as `jq -c '.[]'`"),
        ("x.jsonl", b'{"id": 1}\n', "x.jsonl, line 1 has no column text, html or messages; it has: id; name one with --text-column"),
        ("x.csv", b"a;b\n1;2\n", "x.csv, line 1 has no column text, html or messages; it has: a, b"),
        ("x.csv", b"text,text\n1,2\n", "x.csv, line 1 names a column twice"),
        ("x.parquet", parquet([{"a": 1}]), "x.parquet has no column text, html or messages; it has: a"),
        ("x.parquet", b"no such thing", "x.parquet says parquet and is none: it begins with b'no such thing'"),
        ("x.parquet", b"PAR1 and no more", "x.parquet: no Parquet that can be read"),
        ("x.jsonl", parquet(ROWS), "x.jsonl says jsonl and is parquet; rename it"),
        ("x.pdf", b"<html>", "x.pdf says pdf and is none"),
        ("x.tar", b"text", "x.tar says tar and is none"),
        ("x.txt", b"\0\1\2", "x.txt is nothing that is read here: it begins with b'\\x00\\x01\\x02'"),
        ("x.cdxj.gz", gzipped(b"org,example)/ 2020 {}"), "x.cdxj.gz is an index, which holds no text"),
        ("x", b"some text", "x does not say what it is; name a text .txt"),
        ("x.jsonl.gz", gzipped(b""), "x.jsonl.gz holds nothing"),
        ("x.jsonl.gz", gzipped(b"x" * 99)[:10], "x.jsonl.gz cannot be unpacked (cut_off); get the file again"),
    ],
)  # fmt: skip
def test_what_is_not_what_it_says_is_refused_by_name_and_line(name, data, said):
    with pytest.raises(InputError) as caught:
        read(data, name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_columns_that_are_named_must_be_there():
    with pytest.raises(
        InputError, match=r"x\.jsonl, line 1 has no column body, which is to be its text; it has: text"
    ):
        read(b'{"text": "x"}', "x.jsonl", columns=Columns(text="body"))


@pytest.mark.parametrize("codec", CODECS)
def test_a_text_is_one_document_or_one_a_line(codec):
    data = CODECS[codec]("﻿Erste Zeile\r\n\nzweite\n".encode())
    (whole,) = read(data, "a b.txt")
    assert (whole.uri, whole.payload) == ("file:a%20b.txt", b"Erste Zeile\r\n\nzweite\n")
    found = read(data, "a b.txt", by_line=True)
    assert [(each.uri, each.payload) for each in found] == [
        ("file:a%20b.txt#line=1", b"Erste Zeile"),
        ("file:a%20b.txt#line=3", b"zweite"),
    ]
    assert read(data, "a b.txt", 1, by_line=True) == found[1:]


def test_a_text_of_another_encoding_does_not_say_that_it_is_utf8():
    (found,) = read("Fluß".encode("latin-1"), "x.txt")
    assert (found.mime, found.payload) == ("text/plain", b"Flu\xdf")


@pytest.mark.parametrize(
    ("name", "data", "mime"),
    [
        ("x.html", b"<p>no mark of it", "text/html"),
        ("page", b"\n<!DOCTYPE html><p>x", "text/html"),
        ("x.pdf", b"%PDF-1.4 and so on", "application/pdf"),
        ("x", b"%PDF-1.4 and so on", "application/pdf"),
        ("x.pdf", b"\r\n\0junk" * 100 + b"%PDF-1.4 and so on", "application/pdf"),
        ("x", b'{"text": "x"}', "text/plain; charset=utf-8"),
    ],
)
def test_a_single_document_is_known_by_its_bytes_or_its_name(name, data, mime):
    (found,) = read(data, name)
    assert found.mime == mime


def test_members_of_a_tar_are_documents_of_their_types_with_what_a_json_says_of_them():
    made = tarred(
        [
            ("d/1.html", b"<p>one"),
            ("d/1.json", b'{"url": "http://a.org/1", "title": "One"}'),
            ("d/1.jpg", b"\xff"),
            ("d/2.pdf", b"%PDF-1.4"),
            ("d/.hidden.txt", b"x"),
        ]
    )
    one, picture, two, hidden = read(made, "x.tar")
    assert (one.uri, one.mime, one.facts) == (
        "http://a.org/1",
        "text/html",
        {"id": "d/1", "title": "One", "from": "x.tar"},
    )
    assert (two.uri, two.mime) == ("file:x.tar#d/2.pdf", "application/pdf")
    assert (picture.reason, hidden.reason) == ("no_text", "no_text")


def test_a_line_without_end_costs_no_memory_and_nothing_else():
    class Endless(io.RawIOBase):
        left = 40

        def readable(self):
            return True

        def readinto(self, buffer):
            if not self.left:
                return 0
            self.left -= 1
            buffer[:] = b"x" * len(buffer)
            return len(buffer)

    made = io.BufferedReader(Endless(), 1000)
    assert [(number, line) for number, line in lines(made, 500)] == [(1, None)]
    assert list(lines(io.BytesIO(b"a\n" + b"x" * 9 + b"\nb"), 4)) == [(1, b"a\n"), (2, None), (3, b"b")]


def test_a_text_that_is_too_long_is_passed_over():
    row = json.dumps({"text": "x" * (MAX_PAYLOAD_BYTES + 1)})
    one, two = read(f'{{"text": "a"}}\n{row}\n'.encode(), "x.jsonl")
    assert isinstance(one, InputRecord)
    assert isinstance(two, UnusableRecord)
    assert two.reason == "too_long"


def test_half_a_surrogate_pair_is_replaced_and_not_lost():
    (found,) = read(b'{"text": "a \\ud83d b"}', "x.jsonl")
    assert found.payload.decode() == "a � b"


def test_frames_without_data_are_passed_over():
    skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    assert len(read(skippable + packed(jsonl(ROWS)), "x.jsonl.zst")) == len(ROWS)


def test_a_window_beyond_measure_is_refused_as_broken():
    parameters = zstandard.ZstdCompressionParameters(window_log=28, enable_ldm=True)
    made = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    data = made.compress(jsonl(ROWS)) + made.flush()
    with pytest.raises(InputError, match="broken_compression"):
        read(data, "x.jsonl.zst")
