"""The facts that a page states about itself are read, and no others."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from thresher.extract.facts import page_author, page_facts, page_title
from thresher.extract.page.boxes import Box, MetadataElement, ParsedPage
from thresher.extract.page.page_reader import read_page

URL = "https://example.org/dir/page"


def facts(html, *, url=URL, wanted=()):
    page = expect(ParsedPage, read_page(html.encode()))
    return page_facts.read_page_facts(page, url, wanted)


def head(markup):
    return facts(f"<html><head>{markup}</head><body><p>text</p></body></html>")


def linked(**node):
    return head(f'<script type="application/ld+json">{json.dumps(node)}</script>')


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<title> A &amp; B\n C </title>", "A & B C"),
        ('<meta property="og:title" content="Open">', "Open"),
        ('<title></title><meta property="og:title" content="Open">', "Open"),
        ("", ""),
    ],
)
def test_titles(markup, title):
    assert head(markup).title.value == title


def test_the_title_of_a_drawing_is_not_the_page_s():
    page = "<html><body><svg><title>icon</title></svg><h1>The page</h1></body></html>"
    assert facts(page).title == ("The page", "h1")


@pytest.mark.parametrize(
    ("markup", "date"),
    [
        ('<meta property="article:published_time" content="2020-01-02T03:04:05Z">', "2020-01-02"),
        ('<meta name="DC.date.issued" content="1999/12/31">', "1999-12-31"),
        ('<meta name="date" content="2001-05-06"><meta name="date" content="2002-05-06">', "2001-05-06"),
        ('<script type="application/ld+json">{"datePublished": "2021-02-03T00:00"}</script>', "2021-02-03"),
        ('<meta name="date" content="2020-13-40">', ""),
        ('<meta name="date" content="yesterday">', ""),
        ('<meta property="article:modified_time" content="2020-01-02">', "2020-01-02"),
    ],
)
def test_dates(markup, date):
    assert head(markup).date.value == date


def test_a_date_on_a_time_element_marked_as_publication():
    page = '<p><time>2001-01-01</time><time pubdate datetime="2002-02-02T10:00">x</time></p>'
    assert facts(page).date.value == "2002-02-02"


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ('<html lang="en-GB">', "en-GB"),
        ('<html xml:lang="de">', "de"),
        ('<html><meta http-equiv="Content-Language" content="fr">', "fr"),
        ('<html lang="<%= lang %>">', ""),
        ("<html>", ""),
    ],
)
def test_languages(html, language):
    assert facts(f"{html}<p>text").language == language


@pytest.mark.parametrize(
    ("html", "license_"),
    [
        ('<a rel="license" href="https://creativecommons.org/licenses/by-sa/4.0/">x</a>', "by-sa/4.0"),
        ('<link rel="License" href="//creativecommons.org/licenses/by/3.0/de/">', "by/3.0"),
        ('<meta name="DC.rights" content="See http://creativecommons.org/licenses/by-nc/2.0/">', "by-nc/2.0"),
        ('<a href="https://creativecommons.org/licenses/by/4.0/">about licences</a>', ""),
        ('<a rel="license" href="https://example.org/terms">x</a>', ""),
    ],
)
def test_licenses(html, license_):
    whole = f"https://creativecommons.org/licenses/{license_}" if license_ else ""
    assert facts(f"<html><body>{html}</body></html>").license == whole


@pytest.mark.parametrize(
    ("markup", "author"),
    [
        ('<meta name="author" content=" Ada  Byron ">', "Ada Byron"),
        (
            '<meta name="citation_author" content="A"><meta name="citation_author" content="B">',
            "A; B",
        ),
        ('<meta name="author" content="A"><meta name="dc.creator" content="A">', "A"),
        ('<meta property="article:author" content="https://example.org/people/a">', ""),
        ('<meta name="author" content="">', ""),
        (f'<meta name="author" content="{"x" * (page_author.MAX_NAME_LENGTH + 1)}">', ""),
        ("<p>By Ada Byron</p>", "Ada Byron"),
        ("<p>By the way, Ada Byron wrote this.</p>", ""),
    ],
)
def test_authors(markup, author):
    assert head(markup).author.value == author


@pytest.mark.parametrize(
    "stated",
    ["Ada", {"name": "Ada"}, [{"@type": "Person", "name": "Ada"}], ["Ada", {"name": "Ada"}, 7, None, {}]],
)
def test_authors_in_json_ld(stated):
    assert linked(author=stated).author.value == "Ada"


def test_the_author_of_a_question():
    nodes = {"@type": "QAPage", "mainEntity": {"@type": "Question", "author": {"name": "ada_1815"}}}
    assert (
        facts(f'<script type="application/ld+json">{json.dumps(nodes)}</script>').author.value == "ada_1815"
    )


def test_an_author_whom_json_ld_names_elsewhere():
    graph = [
        {"@type": "WebPage", "author": {"@id": "#ada"}},
        {"@type": "Person", "@id": "#ada", "name": "Ada O&#039;Byron"},
    ]
    found = head(f'<script type="application/ld+json">{json.dumps({"@graph": graph})}</script>')
    assert found.author == ("Ada O'Byron", "json-ld author")


@pytest.mark.parametrize(
    ("markup", "address"),
    [
        ('<link rel="canonical" href="/there">', "https://example.org/there"),
        ('<link rel="Canonical" href="//example.net/x">', "https://example.net/x"),
        ('<link rel="canonical" href=""><meta property="og:url" content="../o">', "https://example.org/o"),
        (
            '<link rel="canonical" href="http://[broken"><link rel="canonical" href="b">',
            "https://example.org/dir/b",
        ),
        ('<link rel="canonical" href="javascript:x()">', ""),
        ('<link rel="alternate" href="/de">', ""),
        ("", ""),
    ],
)
def test_its_own_address(markup, address):
    assert head(markup).canonical_url == address


def test_what_is_asked_for_is_given_back_as_it_is():
    found = facts(
        '<meta name="Robots" content="NoAI, x"><meta name=robots content="y"><meta name=other content=z><p>x',
        wanted={"robots"},
    )
    assert found.metas == (("robots", "NoAI, x"), ("robots", "y"))


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        "[" * 100_000,
        "null",
        "7",
        '{"author": {"name": {"name": "x"}}}',
        '{"datePublished": 5}',
        '{"@type": {"a": 1}}',
        "1" * 10_000,
        '{"a": ' * 20 + '{"author": "too deep"}' + "}" * 20,
    ],
)
def test_json_ld_that_says_nothing_is_passed_over(broken):
    found = facts(
        f'<script type="application/ld+json">{broken}</script>'
        '<script type="application/ld+json">{"@graph": [{"author": "Ada"}]}</script><p>x'
    )
    assert (found.author.value, found.date.value) == ("Ada", "")


def test_the_title_is_no_longer_than_a_title_may_be():
    assert len(head(f"<title>{'word ' * 1_000}</title>").title.value) <= page_title.MAX_TITLE_LENGTH


@given(
    st.lists(
        st.builds(
            MetadataElement,
            tag=st.sampled_from(["html", "meta", "link", "a", "title", "time", "script"]),
            attributes=st.dictionaries(
                st.sampled_from(["name", "property", "content", "rel", "href", "lang", "datetime"]),
                st.text(max_size=30)
                | st.sampled_from(["author", "date", "license", "canonical", "2020-01-02", "//["]),
            ),
            text=st.text(max_size=30),
        )
    ),
    st.sampled_from([URL, "", "http://[", "file:///x", "x"]),
)
def test_whatever_elements_say_there_are_facts(said, url):
    parsed = ParsedPage(boxes=[Box(0, "", None, 0)], blocks=[], metadata=said, elements=0)
    found = page_facts.read_page_facts(parsed, url, {"author"})
    assert found == page_facts.read_page_facts(parsed, url, {"author"})
    assert found.date.value == "" or len(found.date.value) == 10
    assert found.canonical_url == "" or found.canonical_url.lower().startswith("http")


SITE = "<meta property=og:site_name content='Coast Weekly'>"


@pytest.mark.parametrize(
    ("markup", "title", "source"),
    [
        ("<title>Ice in the bay | The Coast Weekly</title>", "Ice in the bay", "title"),
        ("<title>The Coast Weekly - Ice in the bay</title><meta property=og:site_name content='The Coast Weekly'>",
         "Ice in the bay", "title"),
        ("<title>Ice in the bay - Coast</title><h1>Ice in the Bay</h1>", "Ice in the Bay", "h1"),
        ("<title>Coast \u00bb Ice in the bay, again</title><h1>Coast</h1><h2>Ice in the bay, again</h2>",
         "Ice in the bay, again", "heading"),
        (SITE + "<title>Coast Weekly</title><meta property=og:title content='Ice &amp;amp; fog - Coast Weekly'>",
         "Ice & fog", "meta og:title"),
        ('<title>x</title><script type="application/ld+json">{"@type": "NewsArticle", "headline": "Ice"}</script>',
         "Ice", "json-ld headline"),
        ("<title>Wi-Fi in the harbour</title>", "Wi-Fi in the harbour", "title"),
        ("<title>港口今天早上结冰了_海岸周报</title>", "港口今天早上结冰了", "title"),
        ("<title>港口今天早上结冰了-海岸网</title>", "港口今天早上结冰了", "title"),
        ("<title>港口-渔船</title>", "港口-渔船", "title"),
        (("<title>Ice in the bay</title><h1><span>Weather</span> Ice in the bay</h1><meta property=og:title "
         "content='Ice in the bay'>"), "Ice in the bay", "meta og:title"),
        (('<title>Ice</title><h1>Ice</h1><h2>The price of diesel</h2><script type="application/ld+json">{"@type": '
         '"NewsArticle", "headline": "The price of diesel"}</script>'), "Ice", "h1"),
    ],
)  # fmt: skip
def test_a_title_has_no_name_of_a_site(markup, title, source):
    assert facts(f"<html><head></head><body>{markup}<p>text</p></body></html>").title == (title, source)


PUBLISHED = "<meta property=article:published_time content=2020-03-04>"
MODIFIED = "<meta property=article:modified_time content=2021-05-06>"
HEADLINE = "<title>Ice in the bay</title></head><body><h1>Ice in the bay</h1>"


@pytest.mark.parametrize(
    ("markup", "date", "source"),
    [
        (MODIFIED + PUBLISHED, "2020-03-04", "meta article:published_time"),
        (MODIFIED + HEADLINE, "2021-05-06", "meta article:modified_time"),
        (HEADLINE + "<p>4 March 2020</p>", "2020-03-04", "beside headline"),
        (HEADLINE + MODIFIED + "<p>Published: 4 March 2020</p>", "2020-03-04", "beside headline"),
        (HEADLINE + "<p>Von Ada, 4. M\u00e4rz 2020</p>", "2020-03-04", "beside headline"),
        (HEADLINE + "<p>04.03.2020, 12:15</p>", "2020-03-04", "beside headline"),
        (HEADLINE + "<p>2020\u5e743\u67084\u65e5</p>", "2020-03-04", "beside headline"),
        ("<html lang=en-US>" + HEADLINE + "<p>3/4/2020</p>", "2020-03-04", "beside headline"),
        ("<html lang=en-GB>" + HEADLINE + "<p>4/3/2020</p>", "2020-03-04", "beside headline"),
        ("<p>x</p><div class=entry-date>March 4th, 2020</div>", "2020-03-04", "class entry-date"),
        ("<time datetime=2020-03-04>on Wednesday</time>", "2020-03-04", "time"),
        ("<p><span itemprop=datePublished>4 mars 2020</span>", "2020-03-04", "time pubdate"),
        ("<p>The price was 20.30 or 4.50.</p>", "", ""),
        ("<p>31.02.2020</p>", "", ""),
    ],
)
def test_the_day_of_publication_counts_before_that_of_a_change(markup, date, source):
    assert facts(markup).date == (date, source)


def test_a_day_in_the_address_is_that_of_publication():
    assert facts("<p>x", url="https://example.org/2020/03/04/ice").date == ("2020-03-04", "url")
    assert facts("<p>x", url="https://example.org/2020/33/04/ice").date == ("", "")


@pytest.mark.parametrize(
    ("markup", "author", "source"),
    [
        ("<meta name=author content='Coast GmbH'><p class=byline>By Ada Byron</p>", "Ada Byron", "class byline"),
        ("<meta name=author content='Coast GmbH'><p>x</p>", "Coast GmbH", "meta"),
        ("<meta name=author content=Coast><meta property=og:site_name content=Coast><a rel=author href=/a>Ada</a>",
         "Ada", "marked author"),
        ("<p>x <a rel='external Author' href=/ada>Ada Byron</a></p>", "Ada Byron", "marked author"),
        ("<p>x <span class='author-name'>Ada Byron</span></p>", "Ada Byron", "marked author"),
        ("<div class=author>Ada Byron</div>", "Ada Byron", "class author"),
        (HEADLINE + "<p>By Ada Byron and Bo Li | 4 March 2020</p>", "Ada Byron; Bo Li", "beside headline"),
        (HEADLINE + "<p>Von Ada Byron</p>", "Ada Byron", "beside headline"),
        (HEADLINE + "<p>Geschrieben von Ada Byron am 4. März 2020</p>", "Ada Byron", "beside headline"),
        (HEADLINE + "<p>Von:</p><p>Ada Byron</p>", "Ada Byron", "beside headline"),
        (HEADLINE + "<p>作者：张三丰 2020-03-04</p>", "张三丰", "beside headline"),
        (HEADLINE + "<p>作者：未知 2020-03-04</p>", "", ""),
        ("<meta name=author content=104363><p class=byline>By Ada Byron</p>", "Ada Byron", "class byline"),
        ("<div class=date-author>Ada Byron, 4.3.2020</div>", "Ada Byron", "class date-author"),
        ("<p>Par <span class=author>Ada Le Clerc</span>", "Ada Le Clerc", "marked author"),
        ("<p><a href=/author/ada>Ada Byron</a>, <a href=/author/bo>Bo Li</a></p>", "Ada Byron; Bo Li", "author link"),
        ("<p><a href=/autor/ada>Mehr von Ada Byron</a></p>", "Ada Byron", "author link"),
        ("<meta name=author content=Redaktion><p><a href=/author/ada>Ada Byron</a></p>", "Redaktion", "meta"),
        ("<meta name=twitter:label1 content='Written by'><meta name=twitter:data1 content='Ada Byron'>",
         "Ada Byron", "meta twitter:data1"),
        ("<meta name=author content='The Sea'><meta name=application-name content=TheSea><p class=byline>By Ada Byron",
         "Ada Byron", "class byline"),
        ("<div id=comments class=comments><p><span class=author>Troll</span></p></div>", "", ""),
        ("<meta name=author content='Ada Byron, Bo Li and Cy Ode'>", "Ada Byron; Bo Li; Cy Ode", "meta"),
        ("<meta name=author content='Ada Byron und Bo von Li'>", "Ada Byron; Bo von Li", "meta"),
        ("<meta name=author content='Smith, Ada'>", "Smith, Ada", "meta"),
        ("<meta name=author content='Institute of Sea and Ice Studies'>", "Institute of Sea and Ice Studies", "meta"),
        ("<meta name=author content=ada@example.org><p class=byline>By Ada Byron", "Ada Byron", "class byline"),
        ("<p><span class=author>Powered by</span> <span class=author>Ada Byron</span>", "Ada Byron", "marked author"),
        ("<div itemprop=author><a href=/ada>Ada Byron</a><div>12 badges</div></div>", "Ada Byron", "itemprop author"),
        ("<div itemprop=author><a href=/ada>Ada Byron</a><span itemprop=name>Ada Byron</span></div>", "Ada Byron", "itemprop author"),
        ("<div itemprop=author><span>A</span><a itemprop=name href=/ada>Ada Byron</a></div>", "Ada Byron", "itemprop author"),
        ("<div itemprop=author><meta itemprop=name content='Ada Byron'><p>Verified expert</div>", "Ada Byron", "itemprop author"),
        ("<div itemprop=author><h4>About the Author</h4></div><p>By Ada Byron", "Ada Byron", "line"),
        ("<p><span class=byline>12.05.2020</span><span class=byline>Updated</span><p>By Ada Byron", "Ada Byron", "line"),
        ("<div itemprop=author hidden>Bo Li</div><p>By Ada Byron", "Ada Byron", "line"),
        ("<div class=comments><div itemprop=author>Troll</div></div>", "", ""),
        ("<p><span itemprop=author>ada_1815</span>", "ada_1815", "itemprop author"),
        ("<p><span class=username>ada_1815</span>", "", ""),
        ("<meta name=generator content=phpBB><p><a class=username>ada_1815</a><p><a class=username>bo</a>",
         "ada_1815", "first user"),
        ("<meta name=generator content=phpBB><p><a class=username>Guest</a><p><a class=username>bo</a>", "", ""),
        ("<meta name=author content='García Márquez, Gabriel José'>", "García Márquez, Gabriel José", "meta"),
        ("<meta name=author content='Ada Byron, Staff Writer, The Coast'>", "Ada Byron, Staff Writer, The Coast", "meta"),
        ("<meta name=author content='Ada Byron, Bo Li, Cy Ode'>", "Ada Byron; Bo Li; Cy Ode", "meta"),
        ("<meta name=author content=ada-byron><meta name=author content='Ada Byron'>", "Ada Byron", "meta"),
        ("<meta name=author content=Administrator><meta name=author content='Ada Byron'>", "Ada Byron", "meta"),
        ("<meta name=author content='Ada Byron'><meta name=author content=ada-byron>", "Ada Byron", "meta"),
        ("<meta name=author content='Ada Byron,Bo Li'>", "Ada Byron; Bo Li", "meta"),
        (HEADLINE + "<p>By Ada Byron May 4, 2020</p>", "Ada Byron", "beside headline"),
        (HEADLINE + "<p>By April Byron » Tue Aug 27, 2019 1:47 am</p>", "April Byron", "beside headline"),
    ],
)  # fmt: skip
def test_people_count_before_organisations(markup, author, source):
    assert facts(markup).author == (author, source)
