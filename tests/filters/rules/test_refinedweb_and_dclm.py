"""RefinedWeb's lines and DCLM's reading of Gopher, at their limits."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.filters.rules.dclm import DclmQuality, DclmRepetition
from thresher.filters.rules.dclm_urls import DclmUrls
from thresher.filters.rules.dclm_words import count_runs, segmented
from thresher.filters.rules.presets import preset_rules
from thresher.filters.rules.refinedweb import RefinedWebLines
from thresher.filters.text import AnalyzedText

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


def test_a_text_without_words_is_dropped():
    assert repetition("") == repetition(" \n") == "empty"
    assert quality("") == "too_few_words"


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


@given(st.lists(st.sampled_from(["a", "bb", "ccc"]), min_size=1, max_size=40))
def test_n_grams_are_measured_as_if_each_were_looked_at(words):
    rule = DclmRepetition(lines=9, line_characters=9, paragraphs=9, paragraph_characters=9)
    measured = rule(text(" ".join(words))).measurements
    shares = [value for name, value in measured.items() if re.search("gram", name)]
    assert shares == pytest.approx(list(plain_shares(words)))


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("one two", 2),
        ('"one" (two) - 3', 1),  # a run that begins with a mark does not count
        ("no\u00a0break", 1),
        ("a\0b\x1cc", 2),
        ("½ _x é\n\nz", 3),
        ("", 0),
    ],
)
def test_dclm_counts_the_runs_of_fasttext_that_begin_with_a_letter_or_a_digit(body, count):
    assert count_runs(body) == count
    assert count_runs(f"{body} \u2003") == count_runs(f"\u2003 {body}") == count


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("don't isn’t a.b x:y 'tis rock'n'roll' 'q", "don't isn’t a.b x:y tis rock'n'roll q"),
        ("3,4 3.5 1;2 3:4 a,b 1'000 v1.2 e.g. 3.", "3,4 3.5 1;2 3 4 a b 1'000 v1.2 e.g 3"),
        ("snake_case _hidden __x__ a_1", "snake_case a_1"),
        ("e-mail/post (x) [1]", "e mail post x 1"),
        ("x² ½ naïve na\u0308ive", "x ² ½ naïve na\u0308ive"),
        ("日本語 カタカナ한국어", "日 本 語 カタカナ 한국어"),
        ("10\u202f000", "10\u202f000"),
    ],
)
def test_dclm_takes_n_grams_of_unicode_words(body, words):
    assert segmented(body) == words.split(" ")
    assert segmented(f"{body} €") == words.split(" ")  # however the rest of the text is written


def without_urls(body):
    return text(body).edited(DclmUrls()(text(body)).edits).text


@pytest.mark.parametrize(
    ("line", "left"),
    [
        ("see www.example.org/a?b=c now", "see now"),
        ("see https://example.org", "see"),
        ("see\n  http://example.org\nnow", "see\nnow"),
        ("write to jane@example.org, please", "write to, please"),
        ("see EXAMPLE.ORG or example.orga", "see EXAMPLE.ORG or example.orga"),
        ("the end.so we went", "the we went"),
        ("at 192.0.2.7:80/x and 1.2.3 and 12345.1.2.3.4", "at and 1.2.3 and 12345."),
        ("at ftp://192.0.2.7 now", "at now"),
        ("one\n\n\n\ntwo", "one\n\ntwo"),
        ("bad ...... dots .org", "bad ...... dots .org"),
        ("a" * 300 + ".com b", "a" * 44 + " b"),
    ],
)
def test_dclm_removes_addresses(line, left):
    assert without_urls(f"The boats: {line}") == f"The boats: {left}"


def test_dclm_removes_host_names_only_from_texts_that_begin_with_a_top_level_domain():
    assert without_urls("We see example.org") == "We see example.org"
    assert without_urls("We see 192.0.2.7") == "We see"
    assert without_urls("An island, see example.org") == "An island, see"


def test_a_text_that_is_only_an_address_is_dropped():
    assert DclmUrls()(text("www.example.org")).reason is None  # "ww" and "www" are no top-level domains
    assert DclmUrls()(text("example.org")).reason is None
    assert DclmUrls()(text("in.example.org")).reason == "empty"


def test_refinedweb_has_the_rules_of_dclm():
    names = [rule.name for rule in preset_rules("refinedweb", [])]
    assert names == ["dclm_urls", "dclm_quality", "dclm_repetition", "refinedweb_lines"]
    assert preset_rules("dclm", []) == preset_rules("refinedweb", [])


def test_lines_of_dclm_are_compared_without_the_space_around_them():
    lines = [f"{PROSE} {n}" for n in "abcdefgh"]
    assert (
        DclmRepetition()(text("\n".join([*lines, *(f"  {line}" for line in lines)]))).reason
        == "repeated_lines"
    )
    assert quality("\n".join([f"  * {PROSE}"] * 10)) == "too_many_bullets"
