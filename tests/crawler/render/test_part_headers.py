"""What a page may request, which headers pass between its browser and the wire, and what is recorded of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.crawler.reading.rendered_page import RenderedPage, RenderReport, decode_report, encode_report
from thresher.crawler.subresources.request_rules import MAX_URL_LENGTH, refusal, request_headers
from thresher.crawler.subresources.request_rules import response_headers as told

HTTP = "https://example.org/a"


@pytest.mark.parametrize("kind", ["script", "stylesheet", "xhr"])
def test_requests_that_text_may_depend_on_are_allowed(kind):
    assert refusal(method="GET", kind=kind, url=HTTP) is None


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"method": "POST"}, "method"),
        ({"method": "OPTIONS"}, "method"),
        ({"url": "file:///etc/passwd"}, "scheme"),
        ({"url": "chrome://gpu"}, "scheme"),
        ({"url": "ftp://example.org/"}, "scheme"),
        ({"url": HTTP + "x" * MAX_URL_LENGTH}, "long_url"),
        ({"kind": "image"}, "image"),
        ({"kind": "eventsource"}, "event_stream"),
        ({"kind": "document"}, "frame"),
        ({"kind": "whatever comes next"}, "other"),
    ],
)
def test_every_other_request_is_refused_with_a_reason(asked, why):
    assert refusal(**{"method": "GET", "kind": "xhr", "url": HTTP, **asked}) == why


def test_the_browser_does_not_describe_itself():
    headers = {
        "User-Agent": "Mozilla/5.0",
        "sec-ch-ua": "x",
        "Sec-Fetch-Mode": "cors",
        "Accept-Encoding": "br",
        "If-None-Match": "x",
        "Range": "bytes=0-",
        "Accept": "application/json",
        "Referer": HTTP,
        "X-Api-Key": "7",
        "X-Odd": "a\r\nb: c",
    }
    assert request_headers(headers, with_cookies=True) == [
        ("Accept", "application/json"),
        ("Referer", HTTP),
        ("X-Api-Key", "7"),
    ]


def test_the_browser_receives_no_header_that_takes_effect_beyond_the_page():
    headers = [
        ("Content-Type", "text/html"),
        ("Content-Encoding", "gzip"),
        ("Content-Length", "7"),
        ("Strict-Transport-Security", "max-age=1"),
        ("WWW-Authenticate", "Basic"),
        ("Content-Disposition", "attachment"),
        ("Set-Cookie", "a=b"),
        ("set-cookie", "c=d"),
        ("X-Frame-Options", "deny"),
        ("Cache-Control", "no-store"),
        ("Cache-Control", "private"),
    ]
    assert told(headers, without=("x-frame-options",)) == [
        ("Content-Type", "text/html"),
        ("Set-Cookie", "a=b"),
        ("set-cookie", "c=d"),
        ("Cache-Control", "no-store"),
        ("Cache-Control", "private"),
    ]


PROBLEMS = st.sampled_from(["", "render_crash", "render_memory", "render_timeout"])
URLS = st.text(st.characters(codec="ascii", min_codepoint=0x21), min_size=1).map(
    "https://example.org/".__add__
)


@given(PROBLEMS, st.lists(URLS, unique=True))
def test_a_report_is_decoded_as_it_was_encoded(problem, went):
    note = RenderReport(problem=problem, navigations=tuple(went))
    rendered = RenderedPage(
        url=HTTP,
        html=b"",
        title="",
        subresources=(),
        refusals={"image": 2},
        report=note,
        started_ms=0,
        elapsed_ms=5,
        browser="chromium/1",
    )
    assert decode_report(encode_report(rendered)) == note


@given(st.binary())
def test_no_other_block_is_decoded_as_a_report(block):
    assert decode_report(block) is None
    assert decode_report(b"rendering: odd\r\n" + block) is None
