"""C4's and FineWeb's rules, at their limits."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thresher.filters.rules.c4 import C4
from thresher.filters.rules.fineweb import FineWeb
from thresher.filters.text import AnalyzedText

SENTENCE = "This is a sentence that says something about number {}."


def text(body):
    return AnalyzedText(text=body, language="en", language_score=1.0)


def sentences(count):
    return "\n".join(SENTENCE.format(n) for n in range(count)).replace("{", "").replace("}", "")


def c4(body, **parameters):
    return C4(**parameters)(text(body)).reason


def fineweb(body):
    return FineWeb()(text(body)).reason


@pytest.mark.parametrize(("count", "reason"), [(4, "too_few_sentences"), (5, None)])
def test_five_sentences_are_enough(count, reason):
    assert c4(sentences(count)) == reason


def test_sentences_on_one_line_count_each():
    assert c4(sentences(5).replace("\n", " ")) is None


@pytest.mark.parametrize(
    "line",
    ["Our privacy policy has changed, as you know.", "Please enable JavaScript to go on.", "Too short."],
)
def test_lines_that_c4_takes_out_are_not_counted(line):
    assert c4(f"{sentences(4)}\n{line}") == "too_few_sentences"


def test_a_line_without_an_end_counts_only_where_terminals_are_not_asked_for():
    body = f"{sentences(4)}\nthis line has no end"
    assert c4(body) == "too_few_sentences"
    assert c4(body, terminal=False) is None


def test_code_and_filler_are_dropped():
    assert c4(sentences(9) + "\nfunction() { return 1 }.") == "curly_bracket"
    assert c4(sentences(9) + "\nLorem Ipsum dolor sit amet.") == "lorem_ipsum"


def test_prose_passes_fineweb():
    assert fineweb(sentences(20)) is None


def test_lines_must_end_as_sentences_do():
    open_lines = "\n".join(f"this line of text number {n} never comes to any end at all" for n in range(22))
    assert fineweb(f"{sentences(2)}\n{open_lines}") == "too_few_ended_lines"
    assert fineweb(f"{sentences(3)}\n{open_lines}") is None  # 3 of 25 is .12


def test_short_lines_are_at_most_two_thirds():
    short = "\n".join(f"Short line number {n} here." for n in range(67))
    assert fineweb(f"{sentences(32)}\n{short}") == "too_many_short_lines"
    assert fineweb(f"{sentences(33)}\n{short}") is None


def test_repeated_lines_are_at_most_a_hundredth_of_the_characters():
    line = SENTENCE.format(0)
    assert fineweb(f"{sentences(120)}\n{line}") is None
    assert fineweb(f"{sentences(80)}\n{line}") == "repeated_lines"
    assert FineWeb(most_repeated_characters=0.1)(text(f"{sentences(80)}\n{line}")).reason is None


def test_a_list_of_words_is_not_prose():
    body = "\n".join(f"an item of it, number {n} which goes on." for n in range(3)) + "\n" * 30
    assert fineweb(body) == "too_many_lines"


def test_a_run_of_marks_costs_no_more_than_its_length():
    assert c4(sentences(5) + "\nand so it goes on" + "!" * 300_000) is None


def test_what_drops_a_page_drops_it_only_in_a_line_that_counts():
    assert c4(sentences(9) + "\n{ }") is None
    assert c4(sentences(9) + "\nThe set { 1 } is small.") == "curly_bracket"


def test_citations_are_no_end_of_a_line():
    assert c4("\n".join(f"{SENTENCE.format(n)}[{n}]" for n in range(5))) is None


def test_lines_in_scripts_without_spaces():
    body = "\n".join(f"这是第{n}个句子，它说了一些事情。" for n in "一二三四五六七八")
    chinese = AnalyzedText(text=body, language="zh", language_score=1.0)
    assert C4()(chinese).reason is None
    assert FineWeb()(chinese).reason is None


def test_a_language_without_full_stops_is_not_asked_for_them():
    lines = "\n".join(f"this line of text number {n} never comes to any end at all" for n in range(9))
    reasons = [
        FineWeb()(AnalyzedText(text=lines, language=code, language_score=1.0)).reason for code in ("th", "de")
    ]
    assert reasons == [None, "too_few_ended_lines"]


def edited(body, **parameters):
    finding = C4(**parameters)(text(body))
    return text(body).edited(finding.edits).text


def plain_c4(body, terminal):
    """C4's lines, one after the other, as datatrove keeps them."""
    kept = []
    for raw in body.splitlines():
        line = raw.strip()
        if len(line.split()) < 3 or any(len(word) > 1000 for word in line.split()):
            continue
        line = re.sub(r"\[\d*\]|\[edit\]|\[citation needed\]", "", line)
        if terminal and (not line.endswith((".", "?", "!", '"', "'")) or line.endswith("...")):
            continue
        if "javascript" in line.lower() or "use cookies" in line.lower():
            continue
        kept.append(line)
    return "\n".join(kept).strip()


LINES = st.lists(
    st.sampled_from(
        [
            "One two three.",
            " [1] Four five six! ",
            "No end of it",
            "short",
            "",
            "  ",
            "We use cookies here.",
            "A [12][edit] b c.",
            "\x0bJavascript is needed.",
            '\t“Quoted” words are here"',
            "[1] [2] [3].",
            "trailing dots here...",
            "a" * 1001 + " b c.",
        ]
    ),
    max_size=12,
)


@given(LINES, st.booleans(), st.sampled_from(["\n", "\n\n", "\r\n", "\u2028"]))
def test_the_lines_that_are_left_are_those_of_c4(lines, terminal, separator):
    body = separator.join(lines)
    assert edited(body, terminal=terminal) == plain_c4(body, terminal)


def test_a_text_of_which_nothing_goes_has_no_edits():
    assert C4()(text(sentences(6))).edits == ()


def test_fineweb_judges_the_text_that_c4_has_left():
    listing = "\n".join(f"item {n}" for n in range(60))
    body = f"{sentences(10)}\n{listing}"
    assert fineweb(body) == "too_many_short_lines"
    assert fineweb(edited(body, terminal=False)) is None
