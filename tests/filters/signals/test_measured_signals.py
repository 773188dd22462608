"""Word lists, benchmarks, classifiers and perplexity: what they measure, and whom they drop."""

import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest
import zstandard

from tests.filters.signals.every_signal import EVERY_SIGNAL
from tests.shared import shared_file
from thresher.filters.models.fasttext_layout import labels
from thresher.filters.signals.benchmark_texts import texts_of
from thresher.filters.signals.classifier_rule import ClassifierRule
from thresher.filters.signals.contamination import (
    ContaminationRule,
    benchmark_hashes,
    decode_hashes,
    encode_hashes,
    ngram_hashes,
)
from thresher.filters.signals.fasttext_file import load_classifier, load_predictor, model_input
from thresher.filters.signals.kenlm_file import load_scorer
from thresher.filters.signals.perplexity import MAX_PERPLEXITY, PerplexityRule, model_lines, perplexity
from thresher.filters.signals.signal_rules import signal_rules
from thresher.filters.signals.signal_settings import PerplexityModel
from thresher.filters.signals.word_lists import (
    LIST_NAME,
    Phrases,
    WordListRule,
    decode_lists,
    encode_lists,
    parse_list,
)
from thresher.filters.text import AnalyzedText
from thresher.filters.thresholds import relaxed, thresholds_of
from thresher.filters.training.classifier_training import TrainingOptions, train_classifier
from thresher.filters.training.kneser_ney import train_perplexity

SMALL = TrainingOptions(dimensions=8, buckets=1000, epochs=10)


def analyzed(text: str, language: str = "en") -> AnalyzedText:
    return AnalyzedText(text=text, language=language, language_score=1.0)


@pytest.fixture(scope="module")
def classifier_bytes() -> bytes:
    good = [("good", f"the bread was baked in the morning of day {n}") for n in range(200)]
    bad = [("bad", f"click here to win cash number {n} now") for n in range(200)]
    return train_classifier([*good, *bad], SMALL)


@pytest.fixture(scope="module")
def arpa() -> bytes:
    target = io.BytesIO()
    train_perplexity([f"the cat sat on the mat in room {n % 7}" for n in range(50)], 3, target)
    return target.getvalue()


# Word lists


def lists_rule(lists: dict[str, list[str]], most: float = 0.0) -> WordListRule:
    phrases = decode_lists(encode_lists(lists))
    return WordListRule(lists="signals/words-0.json", most=most, phrases=lambda _: phrases)


@pytest.mark.parametrize(
    ("text", "language", "share"),
    [
        ("a class of bass players", "en", 0.0),
        ("an ASS and a class", "en", 1 / 5),
        ("a bad word here and bad luck", "en", 2 / 7),
        ("mauvais mot", "fr", 1 / 2),
        ("mauvais mot", "en", 0.0),
        ("这是坏话。", "zh", 2 / 4),
        ("both are listed", "de", 1 / 3),
        ("", "en", 0.0),
    ],
)
def test_listed_words_and_phrases_are_counted_by_language(text: str, language: str, share: float):
    lists = {"en": ["ass", "bad word"], "fr": ["mauvais"], "zh": ["坏话"], "": ["both"]}
    found = lists_rule(lists)(analyzed(text, language))
    assert found.measurements == {"listed_words": share}
    assert found.reason == ("listed_words" if share else None)


def test_a_language_without_a_list_is_not_measured():
    finding = lists_rule({"en": ["ass"]})(analyzed("ass", "de"))
    assert (finding.measurements, finding.reason) == ({}, None)


def test_a_share_may_be_allowed():
    assert lists_rule({"": ["damn"]}, most=0.25)(analyzed("a damn good thing")).reason is None


def test_comments_and_blank_lines_are_no_entries():
    assert parse_list(["# a list", "", "  two words ", "one", "one"]) == ["one", "two words"]


@pytest.mark.parametrize(
    ("file", "language"),
    [
        *(("en", "en"), ("fr.txt", "fr"), ("de-AT", "de"), ("fr-CA-u-sd-caqc", "fr"), ("kab", "kab")),
        *(("README.md", None), ("LICENSE", None), ("USERS.md", None), ("words.json", None)),
    ],
)
def test_a_list_is_named_as_a_language(file: str, language: str | None):
    found = LIST_NAME.fullmatch(file)
    assert (found and found[1]) == language


@pytest.mark.shared
def test_the_published_lists_have_entries_of_every_language():
    import tarfile

    with (
        zstandard.open(shared_file("lists/ldnoobw.tar.zst"), "rb") as file,
        tarfile.open(fileobj=file, mode="r|") as tar,
    ):
        lists = {
            member.name.rpartition("/")[2]: parse_list(content.read().decode().splitlines())
            for member in tar
            if (content := tar.extractfile(member)) is not None
        }
    assert len(lists) >= 20
    for language in ("en", "de", "ja"):
        rule = lists_rule({language: lists[language]})
        (worst, *_) = lists[language]
        assert rule(analyzed(worst, language)).reason == "listed_words"


# Benchmarks


QUESTION = (
    "Which of the following animals lays its eggs in the nests of other birds and never raises its young"
)


def contamination_rule(texts: list[str], n: int = 13, most: float = 0.0) -> ContaminationRule:
    hashes = decode_hashes(encode_hashes(benchmark_hashes(texts, n)[0]))
    return ContaminationRule(benchmarks="signals/ngrams-0.u64", n=n, most=most, hashes=lambda _: hashes)


def test_a_question_is_found_whatever_its_case_and_punctuation():
    rule = contamination_rule([QUESTION])
    finding = rule(analyzed(f"Quiz! {QUESTION.upper().replace(' ', ', ')}? The cuckoo."))
    assert finding.reason == "benchmark"
    assert finding.measurements["contaminated_ngrams"] == pytest.approx(7 / 10)


def test_twelve_words_in_a_row_are_no_contamination_by_thirteen():
    words = QUESTION.split()
    rule = contamination_rule([QUESTION])
    assert rule(analyzed(" ".join([*words[:12], "and", *words[7:]]))).reason is None


def test_another_order_of_the_same_words_is_another_ngram():
    forward, back = (ngram_hashes(words, 3) for words in (["a", "b", "c"], ["c", "b", "a"]))
    assert forward.tolist() != back.tolist()
    assert len({*ngram_hashes([str(n % 50) + str(n) for n in range(5000)], 8).tolist()}) == 4993


def test_hits_are_those_of_a_set():
    chance = np.random.default_rng(3)
    for size in (0, 1, 7, 1000):
        known = np.unique(chance.integers(0, 1 << 64, size, np.uint64))
        asked = np.concatenate([chance.integers(0, 1 << 64, 500, np.uint64), known[: size // 2]])
        expected = sum(each in {*known.tolist()} for each in asked.tolist())
        assert decode_hashes(encode_hashes(known)).hits(asked) == expected
    assert decode_hashes(encode_hashes(known)).hits(np.empty(0, np.uint64)) == 0


def test_a_long_text_is_read_piece_by_piece_with_the_same_result(monkeypatch: pytest.MonkeyPatch):
    text = analyzed(" ".join(f"word{n % 400} bad word" for n in range(300)) + f" {QUESTION}" * 5 + "x" * 300)
    rules = (contamination_rule([QUESTION]), lists_rule({"": ["bad"]}))
    whole = [rule(text).measurements for rule in rules]
    monkeypatch.setattr("thresher.filters.text.MAX_PLAIN", 400)
    assert [rule(text).measurements for rule in rules] == whole


def test_texts_that_are_too_short_are_counted():
    hashes, short = benchmark_hashes([QUESTION, "too short"], 13)
    assert (len(hashes), short) == (7, 1)
    assert (np.diff(hashes.astype(object)) > 0).all()


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        (
            "b.jsonl",
            b'{"q": "one", "choices": ["two", {"x": "three"}], "n": 4}\n\n{"q": "five"}\n',
            ["one", "two", "three", "five"],
        ),
        ("b.json", b'[{"q": "one"}, "two"]', ["one", "two"]),
        ("b.txt", b"one\n\ntwo\n", ["one\n", "two\n"]),
        ("b.txt", b"\xef\xbb\xbfone\n", ["one\n"]),
    ],
)
def test_every_string_of_a_benchmark_is_a_text(name: str, data: bytes, expected: list[str]):
    assert list(texts_of(name, data)) == expected


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("b.csv", b"one", "its name must end in"),
        ("b.jsonl", b"{]", "line 1 is not JSON"),
        ("b.txt", b"\xff", "not UTF-8"),
        ("b.json", b"[" * 200_000 + b"]" * 200_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_benchmark_is_refused(name: str, data: bytes, problem: str):
    with pytest.raises(ValueError, match=problem):
        list(texts_of(name, data))


# Classifiers


def test_a_trained_classifier_tells_its_labels_apart(classifier_bytes: bytes):
    assert sorted(labels(classifier_bytes)) == ["bad", "good"]
    score = load_classifier(classifier_bytes)
    assert score("the bread of the morning", "good") > 0.7 > 0.3 > score("win cash now", "good")
    assert score("win cash now", "no such label") == 0.0
    assert load_predictor(classifier_bytes)("win cash now")[0] == "bad"


def test_training_twice_gives_the_same_bytes_whatever_the_order():
    examples = [(label, f"{label} text {n} {n * 7 % 13}") for n in range(50) for label in ("a", "b")]
    assert train_classifier(examples, SMALL) == train_classifier(examples[::-1], SMALL)


def test_a_model_is_stored_with_a_byte_for_two_numbers():
    examples = [(label, f"{label} text {n}") for n in range(50) for label in ("a", "b")]
    sizes = [
        len(train_classifier(examples, TrainingOptions(dimensions=16, buckets=buckets, epochs=1)))
        for buckets in (1000, 2000)
    ]
    assert sizes[1] - sizes[0] == 1000 * 8, "8 bytes an n-gram, and not 64"


@pytest.mark.parametrize(
    ("least", "most", "text", "reason"),
    [
        (0.5, 1.0, "the bread of the morning", None),
        (0.5, 1.0, "win cash now", "low_quality"),
        (0.0, 0.5, "the bread of the morning", "high_quality"),
    ],
)
def test_a_score_beyond_a_limit_drops_the_document(
    classifier_bytes: bytes, least: float, most: float, text: str, reason: str | None
):
    score = load_classifier(classifier_bytes)
    rule = ClassifierRule(
        name="quality", model="m", label="good", least=least, most=most, classifier=lambda _: score
    )
    assert rule(analyzed(text)).reason == reason


@pytest.mark.parametrize("text", ["", "\n\n", "a\0b", "lone \ud800 surrogate", "x" * 3_000_000, "😀" * 1000])
def test_odd_texts_have_a_score_and_a_perplexity(classifier_bytes: bytes, arpa: bytes, text: str):
    assert 0 <= load_classifier(classifier_bytes)(text, "good") <= 1
    assert 0 <= perplexity(load_scorer(arpa), text) <= MAX_PERPLEXITY
    assert "\n" not in model_input(text)


def test_a_phrase_is_found_as_fast_in_a_long_list_and_a_long_text():
    """A million phrases that begin alike, and a text of nothing but their first word: neither multiplies the other."""
    phrases = Phrases.of(f"the w{number}" for number in range(100_000))
    assert phrases.count(["the"] * 200_000) == 0
    assert phrases.count(["the", "w7", "the", "no", "the", "w99999"]) == 4
    nested = Phrases.of(["a", "a b c", "a b"])
    assert nested.count(["a", "b", "c", "a", "b", "a"]) == 6


@pytest.mark.parametrize("data", [b"", b"not a model" * 20, b"\xbb\x16O/\x0c\0\0\0" + b"\0" * 200])
def test_what_is_no_classifier_is_refused(data: bytes):
    with pytest.raises(ValueError, match="it is no"):
        labels(data)


# Perplexity


def test_lines_are_read_in_lower_case_with_digits_as_0():
    assert list(model_lines("The Cat, 42!\n\n  \nRoom 7")) == ["the cat 00", "room 0"]


def test_what_the_model_has_seen_has_a_lower_perplexity(arpa: bytes):
    score = load_scorer(arpa)
    seen = perplexity(score, "the cat sat on the mat in room 3")
    shuffled = perplexity(score, "mat the in cat room on sat the 3")
    unseen = perplexity(score, "quarterly earnings exceeded expectations")
    assert 1 < seen < shuffled < unseen < MAX_PERPLEXITY
    rule = PerplexityRule(
        models=(PerplexityModel("", "m"),), most=shuffled, scorer=lambda _: score, pieces=lambda _: str.split
    )
    assert rule(analyzed("quarterly earnings exceeded expectations")).reason == "high_perplexity"
    assert rule(analyzed("the cat sat on the mat")).reason is None


# All of them


def test_every_limit_is_a_threshold_of_judge():
    rules = signal_rules(replace(EVERY_SIGNAL, mask=("email",)), None)
    names = ["license", "word_list", "contamination", "toxicity", "quality", "perplexity", "pii"]
    assert [rule.name for rule in rules] == names
    assert [len(thresholds_of(rule)) for rule in rules] == [0, 1, 1, 2, 2, 3, 0]
    for rule in rules:
        json.dumps(dict(rule.recipe))
        assert all(abs(each.value) == math.inf for each in thresholds_of(relaxed(rule)))
