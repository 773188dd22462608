"""The late parts of a page stand where a browser shows them, in whatever order they were sent."""

import re
from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.expect import expect
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract
from thresher.extract.late_parts import move_late_parts

TEXTS = st.sampled_from(
    ("one", "<p>two</p>", "<div>three</div>", "<script>'</div>'</script>", "<!--</div>-->", "")
)
CHILDREN = st.recursive(
    st.lists(TEXTS, max_size=3),
    lambda inner: st.lists(TEXTS | st.tuples(st.sampled_from("BP"), TEXTS, inner), max_size=4),
    max_leaves=12,
)
"""The contents of a page: texts, and parts that are late. Each of these is a boundary, with a text that is shown
meanwhile, or a place (`P`), and has contents too.
"""


@dataclass
class Server:
    """Sends contents as React does: those that are late after all others, each with the script that moves it."""

    numbers: count = field(default_factory=count)
    late: list[str] = field(default_factory=list)

    def send(self, children):
        return "".join(each if isinstance(each, str) else self._late(*each) for each in children)

    def _late(self, sort, meanwhile, children):
        # As in React 18, a boundary and its part have different numbers.
        place, part = f"{sort}:{next(self.numbers):x}", f"S:{next(self.numbers):x}"
        move = f'$RS("{part}","{place}")' if sort == "P" else f'$RC("{place}","{part}")'
        self.late.append(f'<div hidden id="{part}">{self.send(children)}</div><script>{move}</script>')
        template = f'<template id="{place}"></template>'
        return template if sort == "P" else f"<!--$?-->{template}{meanwhile}<!--/$-->"


def shown(children):
    """The contents when all of them have come."""
    return "".join(each if isinstance(each, str) else _shown_late(*each) for each in children)


def _shown_late(sort, _meanwhile, children):
    return shown(children) if sort == "P" else f"<!--$?-->{shown(children)}<!--/$-->"


@given(CHILDREN, st.randoms(use_true_random=False), st.sampled_from(("$?", "$~", "$!", "$")))
def test_all_that_is_late_stands_in_its_place(children, random, comment):
    server = Server()
    page = f"<body>{server.send(children)}"
    random.shuffle(server.late)
    sent = f"{page}{''.join(server.late)}</body>".replace("<!--$?-->", f"<!--{comment}-->")
    received = f"<body>{shown(children)}</body>".replace("<!--$?-->", f"<!--{comment}-->")
    assert _without_moves(move_late_parts(sent.encode()).decode()) == _without_moves(received)


def _without_moves(page):
    return re.sub(r"<script>\$R.*?</script>", "", page)


@pytest.mark.parametrize("hidden", ["hidden", 'hidden=""'])
def test_without_its_script_a_part_has_the_number_of_its_place(hidden):
    page = f'<!--$?--><template id="B:a"></template>Wait<!--/$--><div {hidden} id="S:a">It</div>'
    assert move_late_parts(page.encode()) == b"<!--$?-->It<!--/$-->"


@pytest.mark.parametrize("next_one", ['<div hidden id="S:1">two</div>', '<script>$RC("B:0","S:0")</script>'])
def test_a_part_that_leaves_a_box_open_ends_before_what_follows_it(next_one):
    place = '<template id="B:0"></template><template id="B:1"></template>'
    moved = move_late_parts(
        f'{place}<div hidden id="S:0">one<div></div><div>more</div>{next_one}'.encode()
    ).decode()
    assert moved.startswith("one<div></div><div>more" + ("two" if "two" in next_one else "<template"))


@pytest.mark.parametrize(
    "page",
    [
        "",
        "<p>No part is late.</p>",
        '<template id="B:0"></template><p>It has not come.</p>',
        '<!--$?--><template id="B:0"></template>Wait<!--/$--><div hidden id="S:1">elsewhere</div>',
        '<template id="B:0"></template><div hidden id="S:0"><div>It has no end.</div>',
        '<template id="B:0"></template><div hidden id="S:0"><!-- </div>',
        '<div hidden id="S:0"><template id="B:0"></template></div>',
    ],
)
def test_a_page_without_both_a_part_and_its_place_stays_as_it_is(page):
    assert move_late_parts(page.encode()) == page.encode()


def test_of_parts_with_the_same_number_the_first_is_moved():
    parts = b'<div hidden id="S:0">one</div><div hidden id="S:0">two</div>'
    moved = b'<p>one</p><div hidden id="S:0">two</div>'
    assert move_late_parts(b'<p><template id="B:0"></template></p>' + parts) == moved


def test_what_is_late_in_what_is_shown_meanwhile_is_not_shown():
    inner = '<!--$?--><template id="B:1"></template>inner<!--/$-->'
    page = f'<!--$?--><template id="B:0"></template>{inner}<!--/$--><div hidden id="S:1">late</div><div hidden id="S:0">It</div>'
    assert move_late_parts(page.encode()) == b'<!--$?-->It<!--/$--><div hidden id="S:1">late</div>'


def test_what_is_shown_meanwhile_stays_where_nothing_says_how_far_it_reaches():
    page = b'<p><template id="B:0"></template>Wait</p><div hidden id="S:0">It</div>'
    assert move_late_parts(page) == b"<p>ItWait</p>"


@given(st.lists(st.sampled_from((
    b'<div hidden id="S:0">', b'<div hidden id="S:1">', b"</div>", b"<div>", b"<!--", b"-->", b"<script>", b"</script>",
    b'<template id="B:0"></template>', b'<template id="P:1"></template>', b"<!--$?-->", b"<!--$-->", b"<!--/$-->", b"x",
)), max_size=40).map(b"".join))  # fmt: skip
def test_nothing_is_added_and_without_a_boundary_no_text_is_lost(page):
    moved = move_late_parts(page)
    assert len(moved) <= len(page)
    if b"<!--$?-->" not in page and b"<!--$-->" not in page:
        assert moved.count(b"x") == page.count(b"x")


def test_an_article_of_late_parts_is_read_in_order():
    late = "".join(
        f'<div hidden id="S:{n}"><p>Part {n} of the article has a sentence, and this is it, with all its commas.</p></div>'
        for n in (2, 0, 1)
    )
    places = "".join(f'<!--$?--><template id="B:{n}"></template><p>Loading</p><!--/$-->' for n in range(3))
    page = f"<title>The article</title><main><h1>The article</h1>{places}</main>{late}"
    text = expect(Extraction, extract(page, "https://example.org/")).text
    assert [line[:6] for line in text.splitlines()] == ["The ar", "Part 0", "Part 1", "Part 2"]
