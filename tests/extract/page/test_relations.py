"""The text of a page stays the same if the page changes in ways that a reader does not see, or only as a dialog."""

import re
from pathlib import Path

import pytest

from tests.expect import expect
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "html"
PAGES = sorted(GOLDEN.glob("*.html"))
_BODY = re.compile(r"(<body\b[^>]*>)(.*)(</body>)", re.DOTALL)
_NOTICE = (
    "<div><h2>We value your privacy</h2><p>We and our partners store and access personal data, such as browsing data,"
    " on your device, and process it to provide what is named under purposes.</p><p>We use cookies to enhance your"
    " experience, serve ads and analyse our traffic. By clicking Accept you consent to our use of cookies.</p>"
    "<p>You can change your preferences at any time at the bottom of this site.</p><button>Accept</button></div>"
)


def text_of(html):
    return expect(Extraction, extract(html, "https://example.org/")).text


def body(change):
    return lambda html: _BODY.sub(lambda found: found[1] + change(found[2]) + found[3], html)


def tags(pattern, replacement):
    """Change the tags of a page, but not what is in its scripts and its code."""
    scripts = re.compile(r"(<(?:script|style|pre)\b.*?</(?:script|style|pre)>)", re.DOTALL)
    return lambda html: "".join(
        part if number % 2 else re.sub(pattern, replacement, part)
        for number, part in enumerate(scripts.split(html))
    )


CHANGES = {
    "within custom elements": body(lambda inner: f"<my-app><app-page>{inner}</app-page></my-app>"),
    "in a shadow root": body(
        lambda inner: (
            f'<my-app><template shadowrootmode="open"><style>p {{}}</style>{inner}</template></my-app>'
        )
    ),
    "boxes are custom elements": tags(r"<(/?)div\b", r"<\1x-box"),
    "in further boxes": body(lambda inner: f"<div><div><div>{inner}</div></div></div>"),
    "in a form": body(
        lambda inner: f'<form method="post" action="/"><input type="hidden" value="x">{inner}</form>'
    ),
    "in boxes that name their state": body(
        lambda inner: (
            f'<div class="site-header-fixed comments-open"><div class="menu-closed">{inner}</div></div>'
        )
    ),
    "drawings in headings and links": tags(
        r"(<(?:a|h1|h2|h3)\b[^<>]*>)", r"\1<svg><title>Icon</title><text>label</text></svg>"
    ),
    "pictures that load late": tags(
        r"(</p>)", r'<img data-src="a.jpg" loading="lazy"><noscript><img src="a.jpg"></noscript>\1'
    ),
    "comments of a framework": tags(r"(<p\b[^<>]*>)", r"<!--[-->\1<!--]-->"),
    "a notice before it": body(lambda inner: _NOTICE + inner),
    "a notice after it": body(lambda inner: inner + _NOTICE),
    "a closed dialog": body(lambda inner: f"<dialog>{_NOTICE}</dialog>{inner}"),
    "an open dialog": body(lambda inner: f"<dialog open>{_NOTICE}</dialog>{inner}"),
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_the_text_stays_the_same(page, change):
    html = page.read_text("utf-8")
    changed = change(html)
    if changed == html:
        pytest.skip("the change does not apply to this page")
    assert text_of(changed) == text_of(html)


@pytest.mark.parametrize(
    "hiding", ['style="visibility: hidden"', 'aria-hidden="true"', 'style="display:none"', "hidden"]
)
def test_a_page_under_a_notice_gives_its_text(hiding):
    html = (GOLDEN / "news.html").read_text("utf-8")
    changed = body(lambda inner: f"{_NOTICE}<div {hiding}>{inner}</div>")(html)
    assert text_of(changed) == text_of(html)
