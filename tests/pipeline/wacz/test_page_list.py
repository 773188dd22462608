"""The list of pages of a WACZ has the texts of `process`, and the icons that are archived."""

import json
import zipfile
from uuid import UUID

import pytest

from tests.pipeline.steps.judged_sources import process_all
from tests.storage.captures import STARTED_MS, capture
from thresher.pipeline.configuration import FiltersConfig
from thresher.pipeline.terminal.progress import LineProgress
from thresher.pipeline.wacz import page_texts
from thresher.pipeline.wacz.wacz_export import export_wacz
from thresher.storage.archive.archive_writer import ArchiveWriter
from thresher.storage.directory_store import DirectoryStore

SITE = "https://example.org"


def crawl(root, answers, **more):
    """Archive (path, body, type) in their order, a file for each as far as `max_bytes` wants it."""
    store = DirectoryStore(root)
    made = ArchiveWriter(store, "s", writer="w", user_agent="t", **more)
    for number, (path, body, kind) in enumerate(answers):
        wire = path if "://" in path else f"{SITE}{path}"
        one = capture(
            body.encode(), wire=wire, started_ms=STARTED_MS + number, headers=(("Content-Type", kind),)
        )
        made.append(one, UUID(int=number))
        made.commit()
    made.seal()
    return store


def listed(store, out):
    summary = export_wacz(store, "s", out, "", LineProgress())
    with zipfile.ZipFile(out) as package:
        head, *pages = map(json.loads, package.read("pages/pages.jsonl").decode().splitlines())
    return summary, head, pages


def test_pages_have_the_texts_that_process_extracted_each_its_own(tmp_path, pool, monkeypatch):
    words = ["rivers", "stones", "clouds", "forests"]
    text = "The {0} of this land are old, and everybody who lives here knows the {0} by their names. "
    html = [f"<title>{word}</title><nav>Home</nav><p>{text.format(word) * 5}</p>" for word in words]
    answers = [(f"/{word}", body, "text/html") for word, body in zip(words, html, strict=True)]
    answers.insert(2, ("/p.png", "\x89PNG", "image/png"))
    store = crawl(tmp_path / "data", answers, max_bytes=1_500)
    summary, head, pages = listed(store, tmp_path / "before.wacz")
    assert (summary.texts, "hasText" in head, any("text" in page for page in pages)) == (0, False, False)

    process_all(store, FiltersConfig(languages=()), pool)
    monkeypatch.setattr(page_texts, "MAX_CHARACTERS", 200)
    summary, head, pages = listed(store, tmp_path / "after.wacz")

    assert summary.archives > 1
    assert (summary.texts, head["hasText"]) == (4, True)
    for word, page in zip(words, pages, strict=True):
        assert page["text"] == (text.format(word) * 5)[:200]


ICONS = {
    "named": ("<link rel='shortcut icon' href='/a&amp;b.png'>", "/a&b.png"),
    "beside the page": ('<LINK HREF=fav.svg REL="icon" type="image/svg+xml">', "/d/fav.svg"),
    "elsewhere": ('<link rel="icon" href="//cdn.example.net/i.ico">', "https://cdn.example.net/i.ico"),
    "the first of several": ('<link rel=icon href=/1.png><link rel=icon href="/2.png">', "/1.png"),
    "none named": ("<link rel=stylesheet href=/icon.css>", "/favicon.ico"),
    "for phones": ('<link rel="apple-touch-icon" href="/touch.png">', "/favicon.ico"),
}


@pytest.mark.parametrize("kind", ICONS)
def test_a_page_has_its_icon_if_that_is_archived_wherever_it_lies(tmp_path, kind):
    html, icon = ICONS[kind]
    page = ("/d/page", f"<title>Some</title>{html}<p>text", "text/html")
    _, _, (without,) = listed(crawl(tmp_path / "no", [page]), tmp_path / "no.wacz")
    assert "favIconUrl" not in without

    for name, answers in (
        ("before", [(icon, "i", "image/png"), page]),
        ("after", [page, (icon, "i", "image/png")]),
    ):
        store = crawl(tmp_path / name, answers, max_bytes=100)
        summary, _, (found,) = listed(store, tmp_path / f"{name}.wacz")
        assert summary.archives == 2
        assert found["favIconUrl"] == (icon if "://" in icon else f"{SITE}{icon}")


@pytest.mark.parametrize(
    "href", ["data:image/png;base64,AAAA", "http://[broken/", "javascript:x()", "/" + "x" * 3000]
)
def test_what_is_no_address_of_an_icon_is_left_out(tmp_path, href):
    page = ("/page", f"<title>Some</title><link rel=icon href='{href}'><p>text", "text/html")
    _, _, (found,) = listed(crawl(tmp_path / "data", [page]), tmp_path / "x.wacz")
    assert found["title"] == "Some"
    assert "favIconUrl" not in found
