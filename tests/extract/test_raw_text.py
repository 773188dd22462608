"""The text of a page before extraction is enough to know its languages, at a cost that its length bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.extract.raw_text import (
    ENOUGH,
    LOOKED_AT,
    SLICE,
    WINDOW,
    WINDOWS,
    page_windows,
    text_of,
    windows,
)

WORDS = "The baker opened the oven and looked at the loaves. "


@given(st.text(alphabet="<>/abscriptyle! -&;", max_size=200))
def test_text_is_made_of_any_page(html):
    assert "<" not in text_of(html.replace("&lt", "&gt"))
    assert page_windows(html) == []


def test_tags_and_silent_elements_are_left_out():
    page = (
        "a<b class='x'>c</b><script>var d</script>e<STYLE>f</style >g &amp; &lt;h<!-- i -->j" + " k" * ENOUGH
    )
    (first, *_) = page_windows(page)
    assert first.split()[:8] == ["a", "c", "e", "g", "&", "<h", "j", "k"]


@pytest.mark.parametrize("piece", ["<script", "<script>", "<!--", "<!-- -- ", "<", "<style></", "<title><"])
def test_a_page_made_of_what_never_ends_takes_one_pass_and_says_nothing(piece):
    # A search for each end tag from each start tag would take hours.
    for end in ("", "</script", "</title"):
        assert not "".join(page_windows(piece * (LOOKED_AT // len(piece) - 1) + end)).strip("< ")


def test_a_page_with_little_text_says_nothing():
    assert page_windows(f"<p>{'x' * (ENOUGH - 1)}</p>") == []
    assert page_windows(f"<p>{'x' * ENOUGH}</p>")[0] == "x" * min(ENOUGH, WINDOW)


def test_of_a_long_page_a_window_lies_at_its_begin_its_end_and_between():
    marks = [f"mark{number} " for number in range(WINDOWS)]
    filler = f"<p>{WORDS * 10}</p>" * 10
    page = filler.join(f"<div>{mark * 1_200}</div>" for mark in marks)
    found = page_windows(page)
    assert len(found) == WINDOWS
    assert max(map(len, found)) <= WINDOW
    assert "mark0" in found[0]
    assert f"mark{WINDOWS - 1}" in found[-1]


def test_a_script_is_unseen_wherever_a_window_begins():
    page = f"<p>{WORDS}</p>" * 20 + f"<script>{'dies und das; ' * 10_000}</script>" + f"<p>{WORDS}</p>" * 20
    assert "dies" not in " ".join(page_windows(page))


def test_what_lies_behind_the_bound_is_not_seen():
    page = f"<p>{WORDS * (LOOKED_AT // len(WORDS))}</p><p>the very end</p>"
    assert "the very end" not in " ".join(page_windows(page))
    assert len("".join(page_windows(page))) <= WINDOWS * WINDOW
    assert SLICE > WINDOW


@pytest.mark.parametrize(
    ("size", "count"),
    [
        (0, 0),
        (ENOUGH - 1, 0),
        (max(ENOUGH, WINDOW), 1 if ENOUGH <= WINDOW else WINDOWS),
        (max(ENOUGH, WINDOW) + 1, WINDOWS),
        (100_000, WINDOWS),
    ],
)
def test_windows_lie_evenly_from_the_begin_to_the_end(size, count):
    text = "".join(chr(0x4E00 + n % 20_000) for n in range(size))
    found = windows(text)
    assert len(found) == count
    if found:
        assert text.startswith(found[0])
        assert text.endswith(found[-1])


@pytest.mark.parametrize("size", [40_000, 400_000])
def test_a_page_whose_text_has_no_tags_is_seen_to_its_end(size):
    page = f"<p>{'Anfang ' * 1_000}</p><p>{'end ' * (size // 4)}"
    found = page_windows(page)
    assert "Anfang" in found[0]
    assert {word for window in found[1:] for word in window.split() if word != "Anfang"} >= {"end"}
    assert len(found) == WINDOWS
