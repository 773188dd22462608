"""The kind of a page is decided by its metadata and its address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from thresher.extract.page.boxes import ParsedPage
from thresher.extract.page.page_kind import kind_by_contents, page_kind
from thresher.extract.page.page_reader import read_page

URL = "https://example.org/2020/a-page"


@pytest.mark.parametrize(
    ("meta", "linked", "url", "found"),
    [
        ({}, [], URL, "page"),
        ({"generator": "Sphinx 4.2"}, [], URL, "reference"),
        ({"generator": "MediaWiki 1.40.0"}, [], URL, "reference"),
        ({"generator": "phpBB"}, [], URL, "discussion"),
        ({"generator": "WordPress 6.1"}, [], URL, "page"),
        ({}, [{"@type": "NewsArticle"}], URL, "article"),
        ({}, [{"@type": ["WebPage", "Recipe"]}], URL, "article"),
        ({}, [{"@type": "WebSite"}, {"@type": "QAPage"}], URL, "discussion"),
        ({}, [{"@type": "Product"}], URL, "product"),
        ({}, [{"@type": "TechArticle"}], URL, "reference"),
        ({}, [{"@type": None}, {}, {"@type": {"a": 1}}, {"@type": [[], 5]}], URL, "page"),
        ({"og:type": "Article"}, [], URL, "article"),
        (
            {"og:type": "article", "article:published_time": "2020", "article:modified_time": "2021"},
            [],
            URL,
            "article",
        ),
        ({"og:type": "article", "article:modified_time": "2021"}, [], URL, "page"),
        ({"og:type": "article", "article:modified_time": "2021"}, [{"@type": "BlogPosting"}], URL, "article"),
        ({"og:type": "article"}, [{"@type": "CollectionPage"}], URL, "page"),
        ({}, [{"@type": "CollectionPage"}, {"@type": "Product"}], URL, "product"),
        ({"og:type": "article"}, [], "https://example.org/docs/intro", "reference"),
        ({"og:type": "article"}, [], "https://example.org/forum/topic-7", "discussion"),
        ({"og:type": "og:product"}, [], URL, "product"),
        ({"og:type": "website"}, [], URL, "page"),
        ({}, [], "https://example.org/forum/topic-7", "discussion"),
        ({}, [], "https://example.org/viewtopic.php?t=7", "discussion"),
        ({}, [], "https://example.org/t/how-to-bake/123", "discussion"),
        ({}, [], "https://docs.example.org/docs/intro.html", "reference"),
        ({}, [], "https://example.org/documents/1", "page"),
    ],
)
def test_who_says_what_a_page_is(meta, linked, url, found):
    assert page_kind(meta, linked, url) == found


@pytest.mark.parametrize(
    ("stated", "kind"),
    [("page", "discussion"), ("article", "discussion"), ("product", "product"), ("reference", "reference")],
)
def test_the_comments_on_a_link_are_a_discussion(stated, kind):
    page = expect(
        ParsedPage, read_page(b"<table class=fatitem><tr><td>A link</table><tr class=comtr><td>A comment")
    )
    assert kind_by_contents(stated, "A link", page) == kind


def test_the_tool_that_made_a_page_counts_before_what_it_calls_itself_and_that_before_its_address():
    node, forum = [{"@type": "Article"}], "https://example.org/forum/1"
    assert page_kind({"generator": "mkdocs", "og:type": "product"}, node, forum) == "reference"
    assert page_kind({"og:type": "product"}, node, forum) == "article"
    assert page_kind({"og:type": "product"}, [], forum) == "product"
    assert page_kind({}, [], forum) == "discussion"


@given(st.dictionaries(st.sampled_from(["generator", "og:type"]), st.text()), st.text())
def test_any_page_is_of_some_kind(meta, url):
    assert page_kind(meta, [], url) in {"article", "discussion", "reference", "product", "page"}
