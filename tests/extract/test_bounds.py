"""Pages made to cost a parser hours are not parsed; pages as people write them are."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.bounds import LONGEST, MOST_ATTRIBUTES, beyond

ATTRIBUTES = " ".join(f"a{number}=1" for number in range(MOST_ATTRIBUTES + 1))


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("", None),
        ("x" * LONGEST, None),
        ("x" * (LONGEST + 1), "too_large"),
        (f"<p {ATTRIBUTES.rpartition(' ')[0]}>", None),
        (f"<p {ATTRIBUTES}>", "too_complex"),
        (f"<p ' {ATTRIBUTES} '>", "too_complex"),
        (f'<p a=">" {ATTRIBUTES}>', "too_complex"),
        ("<p " + " ".join(f'a{n}=">"' for n in range(MOST_ATTRIBUTES + 1)) + ">", "too_complex"),
        ("<p " + " ".join(f"a{n} = '>'" for n in range(MOST_ATTRIBUTES + 1)) + ">", "too_complex"),
        ("<div>" * 9_000, None),
        ("<div>" * 11_000, "too_deep"),
        ("<div>" * 11_000 + "</div>" * 11_000, "too_deep"),
        ("<ul><li>" * 100_000, "too_deep"),
        ("<select>" + "<option>" * 9_000, None),
        ("<select>" + "<option>" * 11_000, "too_deep"),
        ("<p>word " * 100_000, None),
        ("<br><img src=x>" * 100_000, None),
    ],
)
def test_what_is_beyond(html, reason):
    assert beyond(html) == reason


@pytest.mark.parametrize(
    "html", ["<x=<x=" * 500_000, "<" * 3_000_000, "<p a='" * 3_000, '<a b="' + " " * 3_000_000, "<a/" * 3_000]
)
def test_looking_takes_time_in_proportion_to_the_page(html):
    begun = time.process_time()
    beyond(html)
    assert time.process_time() - begun < 5


@given(st.text(alphabet="<>/=\"' apdiv\n", max_size=300))
def test_small_pages_are_never_beyond(html):
    assert beyond(html) is None
