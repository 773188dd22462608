"""Pages made to cost a parser hours are not parsed; pages as people write them are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.extract import Skip
from thresher.extract.bounds import LONGEST, exceeded_bound
from thresher.extract.html import extract


@pytest.mark.parametrize(
    ("html", "reason"),
    [
        ("", None),
        ("x" * LONGEST, None),
        ("x" * (LONGEST + 1), "too_large"),
        ("<span>" * 7_000 + "<div></p>" * 7_000, None),
        ("<span>" * 15_000 + "<div></p>" * 15_000, "too_complex"),
        ("<div>" * 100_000 + "</div>" * 100_000, None),
        ("<ul><li>" * 100_000, None),
        ("<p>word " * 100_000, None),
        ("<br><img src=x>" * 100_000, None),
        ("<b><p>word</b>" * 100_000, None),
    ],
)
def test_what_is_beyond(html, reason):
    assert exceeded_bound(html) == reason


def test_a_page_beyond_is_skipped_with_the_reason():
    assert extract("<span>" * 15_000 + "<div></p>" * 15_000, "") == Skip(reason="too_complex")


@given(st.text(alphabet="<>/=\"' apdiv\n", max_size=300))
def test_small_pages_are_never_beyond(html):
    assert exceeded_bound(html) is None
