"""Wikitext to the text that a reader of the page sees, the same every time, whatever is on the page."""

from pathlib import Path

import mwparserfromhell
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.extract import Skip
from thresher.extract.extraction import Extraction
from thresher.extract.wikitext import LONGEST, extract
from thresher.extract.wikitext.templates import TEMPLATE_RULES

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "wikitext"
PAGES = sorted(path.stem for path in GOLDEN.glob("*.wiki"))
MARKS = """{{ }} {{{ }}} [[ ]] | = == * # : ; {| |} |- |+ ! !! || ''' '' <ref> </ref> <ref/> <nowiki> </nowiki> <math>
    </math> <pre> </pre> <!-- --> <br> <div> </div> <span_style="display:none"> </span> <table> <td> </table> <poem> </poem>
    -{ }- __TOC__ [http://x ] &amp; &#0; &lt; lang nowrap convert File:a.jpg Category: w: ( ) , a 1 灯 \ud800"""
MARKUP = st.lists(
    st.sampled_from(MARKS.split())
    | st.sampled_from([" ", "\n", "\n\n", "\0", "\x01", "\x02", "\r"])
    | st.text(max_size=3),
    max_size=60,
).map(lambda pieces: "".join(pieces).replace("_style", " style"))


def plain(text, **options):
    """The text; empty where there is none."""
    found = extract(text.encode(errors="surrogatepass"), **options)
    return found.text if isinstance(found, Extraction) else ""


def uncommented(text):
    """A comment ends at the first `-->`: none holds another."""
    return text.replace("<!--", "").replace("-->", "")


WORD = st.sampled_from(["lamp", "tower", "gulls", "sea", "灯台", "маяк"])
PHRASE = st.recursive(
    WORD,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(" ".join),
        inner.map("[[Target|{}]]".format),
        WORD.map("''{}''".format),
        inner.map("<small>{}</small>".format),
        inner.map("{{{{unknown|{}}}}}".format),
        st.tuples(WORD, inner.map(uncommented)).map("{0[0]}<!-- {0[1]} -->".format),
    ),
    max_leaves=8,
)


@given(st.lists(PHRASE, min_size=1, max_size=5))
def test_words_are_those_that_mwparserfromhell_finds(paragraphs):
    text = "\n\n".join(paragraphs)
    found = plain(text)
    words = mwparserfromhell.parse(text).strip_code().split()
    assert found.split() == words


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("markdown", [False, True])
def test_a_page_reads_as_it_should(page, markdown):
    found = extract((GOLDEN / f"{page}.wiki").read_bytes(), markdown=markdown)
    expected = (GOLDEN / f"{page}.{'md' if markdown else 'txt'}").read_text(encoding="utf-8")
    assert (found.text if isinstance(found, Extraction) else f"Skip: {found.reason}") + "\n" == expected


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "empty_body"),
        (b" \n\0\n", "empty_body"),
        (b"#REDIRECT [[Tower]]", "no_text"),
        ("#перенаправление [[Маяк]]".encode(), "no_text"),
        (b"{{Infobox|a=b}}\n[[Category:Towers]]", "no_text"),
        (b"== Heading ==\n<!-- nothing -->", "no_text"),
        (b"a" * (LONGEST + 1), "too_large"),
    ],
)
def test_what_has_no_text_is_skipped_with_a_reason(payload, reason):
    assert extract(payload) == Skip(reason=reason)


def test_a_list_is_no_redirect():
    assert plain("#REDIRECTION of the river [[Ister]]") == "1. REDIRECTION of the river Ister"


@given(MARKUP, st.booleans())
def test_nothing_raises_and_the_same_bytes_give_the_same_text(text, markdown):
    found = plain(text, markdown=markdown)
    assert found == plain(text, markdown=markdown)
    assert found == found.strip()
    assert not set("\0\x01\x02\r") & set(found)


@given(
    st.sampled_from(sorted(TEMPLATE_RULES)),
    st.lists(st.text(max_size=6) | st.sampled_from(["to", "12", "9" * 5000]), max_size=6),
)
def test_a_template_takes_any_arguments(name, arguments):
    shown = plain(f"{{{{{name}|{'|'.join(arguments)}}}}}")
    assert len(shown) <= sum(map(len, arguments)) + 40 * (len(arguments) + 1)


@given(st.binary(max_size=200))
def test_any_bytes_are_text_or_skipped(payload):
    assert isinstance(extract(payload), Extraction | Skip)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_may_end_anywhere(page):
    payload = (GOLDEN / f"{page}.wiki").read_bytes()
    assert all(isinstance(extract(payload[:end]), Extraction | Skip) for end in range(len(payload)))


@pytest.mark.parametrize(
    "opened",
    [
        "{{",
        "[[",
        "{{lc:",
        "{{nowrap|",
        "[[a|",
        "{|\n|",
        "<ref>",
        "<!--",
        "<nowiki>",
        "{{{1|",
        "-{",
        "'''a ''",
    ],
)
def test_what_is_opened_again_and_again_is_read_in_a_few_passes(opened):
    text = opened * (300_000 // len(opened))
    assert len(plain(text)) <= len(text)
    assert len(plain(text + "}}" * 200 + "]]" * 200)) <= len(text) + 800


def test_text_grows_by_what_a_template_says_alone():
    pages = [
        "{{nowrap|" * 90 + "a" * 1000 + "}}" * 90,
        "{{lang|fr|[[a|b]]}}" * 100,
        "{| \n| a || b\n|}\n" * 50,
    ]
    for page in pages:
        assert len(plain(page)) <= len(page)


def test_a_word_behind_a_template_that_is_not_closed_is_not_lost():
    assert "after" in plain("{{nowrap|before\n\nafter")
    assert "after" in plain("[[before\n\nafter")
    assert "after" in plain("{| class=x\n| before\n== Heading ==\nafter")


def test_controls_in_a_page_are_no_marks():
    assert plain("a\x000\x00b\x01()\x02c<nowiki>x</nowiki>") == "a0b()cx"


@pytest.mark.parametrize("month", ["00015", "0001" + "9" * 5000, "13", "0", "²", "٣", "May"])
def test_a_month_is_a_name_or_what_was_written(month):
    assert plain(f"{{{{as of|1901|{month}}}}}").startswith("As of ")
