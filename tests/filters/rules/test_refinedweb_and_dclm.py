"""RefinedWeb's lines and DCLM's reading of Gopher, at their limits."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from filters.rules.dclm import DclmQuality, DclmRepetition
from filters.rules.refinedweb import RefinedWebLines
from filters.text import AnalyzedText

PROSE = "the boats lay on the stones until the rain came back and that was that"


def text(body, language="en"):
    return AnalyzedText(text=body, language=language, language_score=1.0)


def edited(body, **parameters):
    return text(body).edited(RefinedWebLines(**parameters)(text(body)).edits).text


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("THIS IS LOUD and small", "THIS IS LOUD and small"),
        ("THIS IS SO LOUD now", None),
        ("12345", None),
        ("1 2345", "1 2345"),
        ("3 likes", None),
        ("1.2k Comments!", None),
        ("3 likes each", "3 likes each"),
        ("Word", None),
        ("two words", "two words"),
        ("You have 3 items in cart today", "You have 3 today"),
        ("A short teaser Read more...", "A short teaser"),
        ("Sign-in to go on", "to go on"),
        ("Sign-in", None),
        (f"{PROSE} items in cart", f"{PROSE} items in cart"),
        ("", ""),
    ],
)
def test_lines_are_removed_and_corrected(line, left):
    body = f"{PROSE}\n{line}\n{PROSE}"
    lines = [PROSE, PROSE] if left is None else [PROSE, left, PROSE]
    assert edited(body) == "\n".join(lines)


def test_a_page_that_loses_more_than_a_twentieth_of_its_words_is_dropped():
    body = "\n".join([PROSE] * 10)
    assert RefinedWebLines()(text(f"{body}\nWord\nWord")).reason is None
    assert RefinedWebLines()(text(f"{body}\n{'WORD ' * 9}")).reason == "too_many_lines_removed"


LINE = st.sampled_from(
    ["", " ", "3 likes", "One two", "LOUD LOUD", "x", "Sign-in now please", "items in cart", "plain words"]
)


@given(st.lists(LINE, max_size=10))
def test_what_is_left_are_lines_of_the_text_in_order(lines):
    body = "\n".join(lines)
    expected = []
    for line in lines:
        gone = line in {" ", "3 likes", "LOUD LOUD", "x", "items in cart"}
        if not gone:
            expected.append(line.replace("Sign-in ", ""))
    assert edited(body) == "\n".join(expected).strip()


def quality(body, language="en"):
    return DclmQuality()(text(body, language)).reason


def test_dclm_looks_at_runs_between_spaces():
    assert quality(f"{PROSE} " * 5) is None
    assert quality(PROSE) == "too_few_words"
    assert quality(f"{PROSE} " * 5 + "# ... … " * 9) == "too_many_symbols"
    assert quality(f"{PROSE} " * 5 + "1,2,3 " * 30) == "too_few_letters"
    assert quality("word and other things " * 20) is None  # one stop word, many times
    assert quality("word or other things " * 20) == "too_few_stop_words"
    assert quality("word or other things " * 20, "de") is None
    assert quality("\n".join([f"* {PROSE}"] * 10)) == "too_many_bullets"


def repetition(body):
    return DclmRepetition()(text(body)).reason


def test_dclm_counts_the_first_occurrence_too():
    words = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in ("nd", "rt")]
    others = [" ".join(words[n : n + 6]) for n in range(0, 48, 6)]
    assert repetition("\n".join(others)) is None
    assert repetition("\n".join([*others[:5], others[0], others[1], others[0]])) == "repeated_lines"
    assert repetition("two words") is None
    assert repetition("buy cheap " * 20) == "top_2_gram"


def plain_shares(words):
    total = max(sum(map(len, words)), 1)
    for n in range(2, 11):
        grams = [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]
        counts = Counter(grams)
        most = max(counts.values(), default=0)
        if n <= 4:
            longest = max((len("".join(gram)) for gram, count in counts.items() if count == most), default=0)
            yield most * longest / total if most > 1 else 0
        else:
            covered = {at + k for at, gram in enumerate(grams) if counts[gram] > 1 for k in range(n)}
            yield sum(len(words[at]) for at in covered) / total


@given(st.lists(st.sampled_from(["a", "bb", "ccc"]), max_size=40))
def test_n_grams_are_measured_as_if_each_were_looked_at(words):
    rule = DclmRepetition(lines=9, line_characters=9, paragraphs=9, paragraph_characters=9)
    measured = rule(text(" ".join(words))).measurements
    shares = [value for name, value in measured.items() if re.search("gram", name)]
    assert shares == pytest.approx(list(plain_shares(words)))
