"""Texts are split into tokens as the tokenizers of their languages split them; counts are the same whatever was split
before.

`token_examples.json` has what the tokenizers themselves made of each run (`bench/peers/filters/split_runs.py`: spaCy
3.8.18, indic-nlp-library 0.92, as datatrove 0.10.1 assigns them).
"""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.attacks import cpu_limit
from thresher.filters import lexicon
from thresher.filters.characters import has_letter, is_word
from thresher.filters.lexicon import Lexicon, current_lexicon
from thresher.filters.text import AnalyzedText
from thresher.filters.tokens.english_tokens import ENGLISH
from thresher.filters.tokens.token_scheme import scheme_of
from thresher.filters.word_tokens import split_run

RUNS = {
    "Hello,": ["Hello", ","],
    '"(so)."': ['"', "(", "so", ")", ".", '"'],
    "don't": ["do", "n't"],
    "don’t.": ["do", "n’t", "."],
    "they'd've": ["they", "'d", "'ve"],
    "cannot": ["can", "not"],
    "its": ["its"],
    "Johns'": ["Johns", "'"],
    "John’s": ["John", "’s"],
    "Mr.": ["Mr."],
    "U.S.": ["U.S."],
    "USA.": ["USA", "."],
    "etc.)": ["etc", ".", ")"],
    "e-mail": ["e", "-", "mail"],
    "word—word": ["word", "—", "word"],
    "10-20": ["10", "-", "20"],
    "10/12/2020": ["10/12/2020"],
    "12:30": ["12:30"],
    "1,000.50": ["1,000.50"],
    "5km": ["5", "km"],
    "100%": ["100", "%"],
    "$5": ["$", "5"],
    "#1": ["#", "1"],
    "5am": ["5", "am"],
    "foo_bar": ["foo_bar"],
    "file.txt": ["file.txt"],
    "foo.Bar": ["foo", ".", "Bar"],
    "https://a.example/b-c?d=e": ["https://a.example/b-c?d=e"],
    "me@example.org,": ["me@example.org", ","],
    "wait...": ["wait", "..."],
    "a...b": ["a", "...", "b"],
    "=====": ["=", "=", "=", "=", "="],
    "--": ["--"],
    "foo()": ["foo", "(", ")"],
    ":)": [":)"],
    "well:)": ["well", ":)"],
    "☀☁": ["☀", "☁"],
    "हिन्दी": ["हिन्दी"],
}


@pytest.mark.parametrize("run", RUNS)
def test_a_run_is_split_as_spacy_splits_it(run):
    assert split_run(run, ENGLISH) == RUNS[run]


EXAMPLES = json.loads(Path(__file__).with_name("token_examples.json").read_text())


@pytest.mark.parametrize("language", EXAMPLES)
def test_a_run_is_split_as_the_tokenizer_of_its_language_splits_it(language):
    scheme = scheme_of(language)
    assert {run: split_run(run, scheme) for run in EXAMPLES[language]} == EXAMPLES[language]


@pytest.mark.parametrize(("language", "number"), [("hi", "10,000"), ("ta", "3.14"), ("bn", "12:30")])
def test_numbers_of_languages_of_india_stay_whole(language, number):
    assert split_run(f"({number})", scheme_of(language)) == ["(", number, ")"]


def test_each_language_has_its_own_tokens():
    assert split_run("dont", ENGLISH) == ["do", "nt"]
    assert split_run("dont", scheme_of("fr")) == ["dont"]
    assert analyzed("l'été", "fr").tokens == ["l'", "été"]
    assert analyzed("l'été", "de").tokens == ["l'été"]
    assert analyzed("E-Mail", "en").tokens == ["E", "-", "Mail"]


def test_languages_without_a_scheme_have_the_common_one():
    assert scheme_of("eo") is scheme_of("xyz") is scheme_of("")
    assert scheme_of("nn") is scheme_of("nb")
    assert scheme_of("hi") is scheme_of("te")


SCHEMES = {"en": ENGLISH, **{language: scheme_of(language) for language in [*EXAMPLES, "ky", "am", "mk"]}}
RUN = st.text("aB1.,-'’()$%:/é字☀\ud800", min_size=1, max_size=12)
MARKED_RUN = st.text("aBnl19.,-'’“()$%:/_+°²éßπДжاह।字☀-", min_size=1, max_size=16)


@given(RUN | MARKED_RUN, st.sampled_from(list(SCHEMES)))
def test_no_character_is_lost(run, language):
    tokens = split_run(run, SCHEMES[language])
    assert "".join(tokens) == run
    assert all(tokens)


@pytest.mark.parametrize("language", SCHEMES)
@pytest.mark.parametrize("part", ["(", ".", "'", "-", "a'", "a-", "a.", "1-", "α-", "b-b", "A.", "1.1"])
def test_a_run_of_one_part_is_split_in_linear_time(language, part):
    run = part * (20_000 // len(part))
    with cpu_limit(2.0):
        assert "".join(split_run(run, SCHEMES[language])) == run


def test_a_run_of_data_is_one_token():
    assert split_run("(" * 20_001, ENGLISH) == ["(" * 20_001]
    assert len(split_run("(" * 20_000, ENGLISH)) == 20_000


def analyzed(text, language="en"):
    return AnalyzedText(text=text, language=language, language_score=1.0)


def test_tokens_words_and_scripts():
    assert analyzed("Don't stop, she said.").tokens == ["Do", "n't", "stop", ",", "she", "said", "."]
    assert analyzed("“No” • 5 !").words == ["No", "•", "5"]
    assert analyzed("漢字とABC。").tokens == ["漢", "字", "と", "ABC", "。"]
    assert analyzed("ሰላም፡ዓለም").tokens == ["ሰላም", "ዓለም"]
    assert analyzed("").tokens == []


TEXT = st.lists(st.one_of(RUN, st.sampled_from(["the", "end.", "Yes!", "\n", "\n\n"])), max_size=40).map(
    " ".join
)


@given(TEXT, st.integers(1, 30))
def test_counts_are_those_of_the_tokens_however_long_the_pieces(text, piece):
    with pytest.MonkeyPatch.context() as patch:
        whole = analyzed(text)
        sentences = whole.sentences
        patch.setattr("thresher.filters.text.PIECE", piece)
        cut = analyzed(text)
        for each in (whole, cut):
            assert each.token_count == len(whole.tokens)
            assert each.word_count == sum(map(is_word, whole.tokens)) == len(each.words)
            assert each.word_characters == sum(map(len, whole.words))
            assert each.tokens_with_letter == sum(map(has_letter, whole.tokens))
            assert each.first_token_lengths.tolist() == list(map(len, whole.tokens))
            assert each.count_distinct(["the", "missing"]) == ("the" in whole.tokens)
        assert cut.tokens == whole.tokens
        assert cut.sentences == sentences


@given(st.lists(TEXT, min_size=2, max_size=4))
def test_counts_do_not_depend_on_the_texts_before(texts):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexicon, "MAX_RUNS", 5)
        known = [analyzed(text) for text in texts]
        again = [analyzed(text) for text in reversed(texts)]
        for one, other in zip(known, reversed(again), strict=True):
            assert (one.token_count, one.word_count, one.sentences) == (
                other.token_count,
                other.word_count,
                other.sentences,
            )
            same = (one.first_tokens[:, None] == one.first_tokens).tolist()
            assert same == (other.first_tokens[:, None] == other.first_tokens).tolist()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One. Two! Three?", 3),
        ("Mr. Smith of the U.S. left.", 1),
        ('He said "no." Then he left.', 2),
        ("one line\nanother line\n\nand a third", 3),
        ("It ended.\nAnd began.", 2),
        ("wait... what", 1),
        ("这是句子。这也是。", 2),
        ("", 0),
    ],
)
def test_sentences(text, count):
    assert analyzed(text).sentences == count


def test_a_full_lexicon_keeps_the_texts_that_it_has_split(monkeypatch):
    monkeypatch.setattr(lexicon, "MAX_RUNS", 3)
    texts = [analyzed(f"word{number} and other words") for number in range(4)]
    assert [text.token_count for text in texts] == [4] * 4
    assert all(one.tokens != other.tokens for one, other in pairwise(texts))


def test_lexicons_of_other_languages_share_their_limits(monkeypatch):
    monkeypatch.setattr(lexicon, "MAX_RUNS", 8)
    first = analyzed("un deux trois quatre cinq", "fr")
    assert first.token_count == 5
    assert current_lexicon(scheme_of("fr")) is current_lexicon(scheme_of("fr"))
    kept = current_lexicon(scheme_of("fr"))
    assert analyzed("eins zwei drei vier fünf", "de").token_count == 5
    assert current_lexicon(scheme_of("fr")) is not kept
    assert first.tokens == ["un", "deux", "trois", "quatre", "cinq"]


def test_a_lexicon_grows():
    grown = Lexicon(ENGLISH)
    runs = [f"run{number}x." for number in range(5000)]
    rows = grown.rows(grown.numbers(runs))
    assert rows[:, lexicon.TOKENS].tolist() == [2] * 5000
    assert grown.token_texts(grown.tokens(rows))[-2:] == ["run4999x", "."]
