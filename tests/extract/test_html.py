"""The main text of a page, the same every time, whatever the page contains."""

import io
import tarfile

import pytest
import zstandard

from tests.expect import expect
from tests.shared import read_tar_file, shared_file
from thresher.core import Document, RecordRef, document_id
from thresher.extract import Skip
from thresher.extract.extraction import Extraction
from thresher.extract.html import EXTRACTOR, LONGEST, extract
from thresher.extract.page.boxes import MAX_ELEMENTS
from thresher.extract.record_document import extract_document
from thresher.storage.warc.records import ArchivedRecord

PARAGRAPHS = "".join(
    f"<p>The lighthouse keeper wrote in his book of day {n} that the wind had turned to the north and that three "
    f"ships had passed before noon, one of them with a broken mast.</p>"
    for n in range(6)
)
PAGE = f"""<html lang="en-GB"><head><title> The  keeper's book </title>
<link rel="license" href="https://creativecommons.org/licenses/by/4.0/"></head>
<body><nav><a href="/">Home</a> <a href="/shop">Shop</a></nav>
<article><h1>The keeper's book</h1>{PARAGRAPHS}</article>
<footer>Copyright, imprint, terms of use</footer></body></html>"""


def record(payload, *, status=200, mime="text/html", headers=()):
    return ArchivedRecord(
        type="response",
        record_id="urn:uuid:1",
        url="http://example.org/",
        date_ms=5,
        status=status,
        headers=headers,
        mime=mime,
        payload=payload,
        truncated=None,
        ref=RecordRef(file="f.warc.gz", offset=1, length=2, digest="sha1:X"),
        problem=None,
    )


def test_the_main_text_without_its_surroundings():
    found = extract(PAGE, "http://example.org/")
    assert isinstance(found, Extraction)
    assert "day 5" in found.text
    assert "Shop" not in found.text
    assert found.title == "The keeper's book"
    assert found.declared_language == "en-GB"
    assert found.license == "https://creativecommons.org/licenses/by/4.0"


def test_nul_and_half_surrogates_are_left_out_of_the_text():
    found = extract(PAGE.replace("wind", "wi\0nd").replace("north", "nor\ud800th"), "http://example.org/")
    assert isinstance(found, Extraction)
    assert "the wind had turned to the nor?th" in found.text


def test_tables_are_kept_and_comments_of_readers_are_not():
    table = "<table><tr><th>Ship</th><th>Mast</th></tr><tr><td>Anna</td><td>broken</td></tr></table>"
    comments = (
        '<div id="comments" class="comments"><p>First! Great story, I was there too, that day.</p></div>'
    )
    page = PAGE.replace("</article>", f"{table}</article>{comments}")
    found = extract(page, "http://example.org/")
    assert isinstance(found, Extraction)
    assert "Anna" in found.text
    assert "First!" not in found.text


def test_the_pages_before_change_nothing():
    first = extract(PAGE, "http://example.org/")
    for _ in range(5):
        assert extract(PAGE, "http://example.org/") == first


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("", "empty_body"),
        (" \n", "empty_body"),
        ("<p></p>", "no_text"),
        ("x" * (LONGEST + 1), "too_large"),
        ("<html><p>" + "<br>" * (MAX_ELEMENTS + 1), "too_large"),
        ("<html><body>" + "<ul><li>" * 100_000, "no_text"),
    ],
)
def test_pages_without_text_are_skipped_with_a_reason(html, reason):
    assert extract(html, "http://example.org/") == Skip(reason=reason)


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000,
        "\0" * 1000 + PAGE,
        "<p>" + "word " * 200_000,
        "<" * 50_000,
        "&#x110000;&#0;" + PAGE,
        PAGE[:500],
    ],
)
def test_hostile_pages_end_as_text_or_as_a_skip(html):
    assert isinstance(extract(html, "http://example.org/"), Extraction | Skip)


def test_a_page_that_would_take_the_parser_minutes_is_skipped_by_count_not_by_time():
    page = PAGE.replace("<nav>", "<span>" * 15_000 + "<div></p>" * 15_000 + "<nav>")
    assert extract(page, "http://example.org/") == Skip(reason="too_complex")


def test_attributes_beyond_number_are_passed_over():
    page = PAGE.replace("<body>", "<body " + " ".join(f"a{n}=1" for n in range(50_000)) + ">")
    assert extract(page, "http://example.org/") == extract(PAGE, "http://example.org/")


def test_words_however_deep_they_lie_are_text():
    found = extract("<html><body>" + "<div>" * 300 + "words at the bottom", "http://example.org/")
    assert isinstance(found, Extraction)
    assert found.text == "words at the bottom"


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (record(PAGE.encode(), status=404), "status"),
        (record(PAGE.encode(), status=None), "status"),
        (record(b"\x89PNG\r\n\x1a\n" + bytes(40)), "unsupported_type"),
        (record(b""), "empty_body"),
        (record(bytes(range(256)) * 20), "undecodable"),
    ],
)
def test_records_that_are_no_pages_are_told_before_anything_is_extracted(made, reason):
    assert extract_document(made, "main") == Skip(reason=reason, is_early=True)


def document(source, *, markdown=False):
    return expect(Document, extract_document(source, "main", markdown=markdown))


def test_plain_text_is_its_own_document():
    found = document(record(b"One line.\r\nAnother <b>one</b>.\r\n", mime="text/plain"))
    assert (found.text, found.route, found.mime) == ("One line.\nAnother <b>one</b>.", "plain", "text/plain")


def test_a_page_of_which_nothing_was_declared_is_what_its_bytes_are():
    assert document(record(PAGE.encode(), mime="")).mime == "text/html"
    assert document(record(b"Only words.", mime="")).mime == "text/plain"


def test_the_language_precheck_runs_before_anything_is_extracted():
    asked = []

    def glance(html):
        asked.append(html)
        return "other_language"

    assert extract_document(record(PAGE.encode()), "main", language_precheck=glance) == Skip(
        reason="other_language", is_early=True
    )
    assert asked == [PAGE]


def test_markdown_is_made_where_it_is_asked_for():
    found = document(record(PAGE.encode()), markdown=True)
    assert found.text.startswith("# The keeper's book\n\nThe lighthouse keeper wrote")


def test_a_document_says_where_it_comes_from():
    made = document(record(PAGE.encode("utf-8"), headers=(("Content-Type", "text/html; charset=utf-8"),)))
    elsewhere = RecordRef(file="f.warc.gz", offset=9, length=2, digest="sha1:X")
    assert made.id == document_id("main", made.record)
    assert len({made.id, document_id("other", made.record), document_id("main", elsewhere)}) == 3
    assert (made.source, made.charset, made.extractor, made.fetched_at_ms) == ("main", "utf-8", EXTRACTOR, 5)
    assert made.record == RecordRef(file="f.warc.gz", offset=1, length=2, digest="sha1:X")


@pytest.mark.shared
def test_real_pages_of_every_kind_never_raise():
    with shared_file("extraction/pages-nogold.tar.zst").open("rb") as file:
        stream = io.BytesIO(zstandard.ZstdDecompressor(max_window_size=2**27).stream_reader(file).read())
    texts = 0
    with tarfile.open(fileobj=stream) as pages:
        for number, member in enumerate(pages):
            if member.isfile() and number % 4 == 0:
                body = read_tar_file(pages, member)
                texts += not isinstance(extract_document(record(body), "main"), Skip)
    assert texts > 50
