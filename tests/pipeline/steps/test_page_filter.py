"""The filters before the archive drop only pages that the process step would drop as well."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.core import RecordRef
from thresher.crawler.archive_filter import CandidatePage
from thresher.extract import Skip
from thresher.extract.record_document import extract_document
from thresher.pipeline.steps.page_filter import PageFilter
from thresher.storage.warc.records import ArchivedRecord

ENGLISH = "The baker opened the oven, looked at the loaves, and closed it again for a quarter of an hour. "
DANISH = "Floden var lav om sommeren, og bådene lå på stenene, indtil regnen kom tilbage over bakkerne. "
GERMAN = "Der Bäcker öffnete den Ofen, betrachtete die Brote und schloss ihn wieder für eine Viertelstunde. "
EN, ALL = PageFilter(languages=("en",)), PageFilter(languages=())


def html(*paragraphs):
    return "<html><body>" + "".join(f"<p>{text}</p>" for text in paragraphs)


def page(text, *, mime="text/html", status=200, truncated=None):
    kind = f"{mime}; charset=utf-8" if mime else ""
    return CandidatePage(
        url="http://example.org/",
        status=status,
        headers=(("Content-Type", kind),) if kind else (),
        mime=mime,
        body=text.encode() if isinstance(text, str) else text,
        truncated=truncated,
    )


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (page(html(ENGLISH * 20)), None),
        (page(html(ENGLISH * 20), status=404), "status"),
        (page(html(ENGLISH * 20), status=206), "status"),
        (page(b"\x89PNG", mime="image/png"), "not_text"),
        (page("{}", mime="application/json"), "not_text"),
        (page(html(ENGLISH * 20), mime="application/xhtml+xml"), None),
        (page(ENGLISH * 20, mime="text/plain"), None),
        (page(html(ENGLISH * 20), mime=""), None),
        (page(" \r\n\t"), "empty_body"),
        (page(html(ENGLISH * 20), truncated="length"), "truncated"),
        (page(html(GERMAN * 20)), "other_language"),
        (page(GERMAN * 20, mime="text/plain"), "other_language"),
    ],
)
def test_a_page_is_dropped_for_the_first_reason_that_there_is(found, reason):
    assert EN(found) == reason


def test_no_language_is_looked_at_where_all_are_kept():
    assert ALL(page(html(GERMAN * 20))) is None


@pytest.mark.parametrize(
    "text",
    [
        html(GERMAN * 2),
        html(GERMAN * 40, ENGLISH * 40),
        html(ENGLISH * 30, GERMAN * 60),
        html(GERMAN * 60, ENGLISH * 30),
        html(GERMAN * 40, ENGLISH * 30, GERMAN * 40),
        f"<script>{GERMAN * 100}</script>" + html(ENGLISH * 20),
        "<script>" + html(GERMAN * 100),
        html("Xyzzy plugh qwrk " * 100),
    ],
    ids=["short", "half", "begin", "end", "middle", "script", "open script", "no language"],
)
def test_a_page_is_kept_unless_all_of_it_is_surely_in_another_language(text):
    assert EN(page(text)) is None


def test_a_page_in_any_of_the_languages_is_kept():
    assert PageFilter(languages=("en", "de"))(page(html(GERMAN * 20))) is None


def test_a_page_in_a_language_that_models_confuse_with_a_wanted_one_is_kept():
    page_in_danish = page(html(DANISH * 20))
    assert PageFilter(languages=("nb",))(page_in_danish) is None
    assert PageFilter(languages=("de",))(page_in_danish) == "other_language"


def test_a_screen_travels_to_another_process():
    assert pickle.loads(pickle.dumps(EN)) == EN


@given(
    text=st.text(max_size=300) | st.sampled_from(["", " ", ENGLISH * 10]).map(html),
    status=st.sampled_from([200, 200, 200, 206, 404]),
    mime=st.sampled_from(["text/html", "application/xhtml+xml", "text/plain", "image/png", ""]),
)
def test_what_is_dropped_for_status_type_or_emptiness_has_no_document(text, status, mime):
    found = page(text.encode(errors="replace"), status=status, mime=mime)
    if ALL(found) is not None:
        record = ArchivedRecord(
            type="response",
            record_id="",
            url=found.url,
            date_ms=0,
            status=found.status,
            headers=found.headers,
            mime=found.mime,
            payload=found.body,
            truncated=None,
            ref=RecordRef(file="f", offset=0, length=0, digest=""),
            problem=None,
        )
        assert isinstance(extract_document(record, "s"), Skip)
