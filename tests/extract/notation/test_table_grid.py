"""Spanned cells are repeated in every column and row that they cover, empty cells stay, and text grows linearly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from thresher.extract.extraction import Extraction
from thresher.extract.notation.table_grid import MAX_GROWTH, SEPARATOR, Cell, expand_spans, read_span
from thresher.extract.page.boxes import ParsedPage
from thresher.extract.page.page_reader import read_page
from thresher.extract.wikitext import extract as extract_wikitext
from thresher.extract.writing.layout import markdown, plain

SPANS = """<table><tr><th rowspan=2>Year<th colspan=2>Sales</tr><tr><th>North<th>South</tr>
<tr><td rowspan=2>2019<td>1<td>2</tr><tr><td>3<td></tr><tr><td colspan=3>Figures of the harbour</tr>
<tr><td><p>2020<p>(part)<td>5<td>6</tr></table>"""
GRID = [
    "Year | Sales | Sales",
    "Year | North | South",
    "2019 | 1 | 2",
    "2019 | 3 |",
    "Figures of the harbour",
    "2020 (part) | 5 | 6",
]
WIKI_SPANS = """{| class="wikitable"
! rowspan=2 | Year !! colspan="2" | Sales
|-
! North !! South
|-
| rowspan="2" | 2019 || 1 || 2
|-
| 3 ||
|-
| colspan=3 | Figures of the harbour
|-
|
2020

(part)
| 5 || 6
|}"""


def blocks(html):
    return expect(ParsedPage, read_page(html.encode())).blocks


def test_a_table_is_expanded_in_html():
    assert plain(blocks(SPANS)).split("\n") == GRID


def test_a_table_is_expanded_in_wikitext_alike():
    assert expect(Extraction, extract_wikitext(WIKI_SPANS.encode())).text.split("\n") == GRID


def test_a_table_of_html_in_wikitext_is_expanded_too():
    page = "Words.\n<table><tr><td rowspan=2>a</td><td>b</td></tr><tr><td>c</td></tr></table>"
    assert expect(Extraction, extract_wikitext(page.encode())).text == "Words.\n\na | b\na | c"


def test_markdown_has_a_rule_as_wide_as_the_widest_row():
    html = "<table><tr><td>title<tr><th>a<th>b<th>c<tr><td>1<td><td>3</table>"
    expected = "| title |  |  |\n| --- | --- | --- |\n| a | b | c |\n| 1 |  | 3 |"
    assert markdown(blocks(html)) == expected


@pytest.mark.parametrize(
    ("html", "text"),
    [
        # Columns without any text keep columns apart where a table has no heads, and are dropped.
        ("<table><tr><td>a<td><td>b<tr><td>c<td><td>d</table>", "a | b\nc | d"),
        # The paragraphs of a layout are not joined, those of a table with heads are.
        ("<table><tr><td><p>a<p>b<td>c<tr><td><p>d<p>e<td>f</table>", "a\nb\nc\nd\ne\nf"),
        ("<table><tr><th>x<th>y<tr><td><p>a<p>b<td>c</table>", "x | y\na b | c"),
        ("<table><tr><td>a<td>b<tr><td>c<td><ul><li>d<li>e</ul></table>", "a | b\nc | d e"),
        # A nested table, a heading or code is no part of a row.
        ("<table><tr><td>a<td><table><tr><td>b<td>c</table></table>", "a\nb | c"),
        ("<table><tr><td><h2>a</h2><td>b</table>", "a\nb"),
        ("<table><tr><th>x<th>y<tr><td><td>b</table>", "x | y\n| b"),
    ],
)
def test_rows_are_rows_of_data(html, text):
    assert plain(blocks(html)) == text


@pytest.mark.parametrize(
    ("colspan", "rowspan", "span"),
    [
        ("2", "3", (2, 3)),
        ("0", "0", (1, 65_534)),
        ("x", "-1", (1, 1)),
        ("99999", "999999999", (1_000, 65_534)),
        (" 2%", "", (2, 1)),
    ],
)
def test_spans_are_read_as_a_browser_reads_them(colspan, rowspan, span):
    assert read_span(colspan, rowspan) == span


CELLS = st.builds(
    Cell, st.sampled_from(["", "a", "long text"]), st.integers(1, 1_000), st.integers(1, 65_534)
)


@given(st.lists(st.lists(CELLS, max_size=5), max_size=8))
def test_the_text_of_a_grid_grows_linearly(rows):
    stated = sum(len(cell.text) + len(SEPARATOR) for row in rows for cell in row)
    grid = expand_spans(rows)
    assert len(grid) == len(rows)
    assert sum(len(text) + len(SEPARATOR) for row in grid for text in row) <= (MAX_GROWTH + 2) * stated + 16


@given(st.lists(st.lists(CELLS, min_size=1, max_size=3), min_size=1, max_size=4))
def test_no_cell_is_lost(rows):
    grid = expand_spans(rows)
    for row, texts in zip(rows, grid, strict=True):
        assert [cell.text for cell in row if cell.text] == [] or all(cell.text in texts for cell in row)
