"""Perplexity over pieces, as CCNet's code measures it. bench/filters/parity_ccnet.py compares it with that code."""

import io

import pytest

from thresher.filters.signals.kenlm_file import load_pieces, load_scorer
from thresher.filters.signals.perplexity import (
    MAX_PERPLEXITY,
    PerplexityRule,
    normalized,
    parse_cutoffs,
    piece_lines,
    piece_perplexity,
)
from thresher.filters.signals.signal_settings import BucketEnds, PerplexityModel
from thresher.filters.text import AnalyzedText
from thresher.filters.training import piece_training
from thresher.filters.training.kneser_ney import train_perplexity
from thresher.filters.training.piece_training import train_pieces

CORPUS = [f"The cat sat on the mat in room {n}, and the dog ran to the river." for n in range(60)]


def analyzed(text: str, language: str = "en") -> AnalyzedText:
    return AnalyzedText(text=text, language=language, language_score=1.0)


@pytest.fixture(scope="module")
def piece_model() -> bytes:
    return train_pieces(CORPUS, 60)


@pytest.fixture(scope="module")
def pieces(piece_model: bytes):
    return load_pieces(piece_model)


@pytest.fixture(scope="module")
def score(pieces):
    target = io.BytesIO()
    train_perplexity((line for text in CORPUS for line in piece_lines(text, pieces)), 3, target)
    return load_scorer(target.getvalue())


def rule_of(score, pieces, **parameters) -> PerplexityRule:
    models = parameters.pop("models", (PerplexityModel("en", "k", "s"),))
    return PerplexityRule(models=models, scorer=lambda _: score, pieces=lambda _: pieces, **parameters)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  Crème BRÛLÉE \n", "creme brulee"),
        ("1984, ３ and ४", "0000, 0 and 0"),
        ("one\ntwo\tthree\r\n\x85four\x00", "onetwothreefour"),
        ("„a” “b” «c» 「d」 《e》", '"a" "b" "c" "d" "e"'),
        ("a–b—c…d．e ► ％ ～", "a-b - c...d. e - % ~"),
        ("（一）、【二】。《三》？", '(一),[二]."三"?'),
        ("が ё й", "か е и"),
        ("‘kept’ ‚kept‘", "‘kept' ‚kept‘"),
        ("İstanbul ΣΑΣ", "istanbul σας"),
        ("\u0301\u0301", ""),
        (" \n", ""),
    ],
)
def test_a_text_is_normalized_as_by_ccnet(text: str, expected: str):
    assert normalized(text) == expected


def test_a_document_is_one_line_of_pieces(score, pieces):
    text = "The cat sat\non the mat in room 7"
    line = " ".join(pieces("the cat saton the mat in room 0"))
    assert piece_perplexity(score, pieces, text) == round(10 ** (-score(line) / (len(line.split()) + 1)), 1)


def test_what_the_model_has_seen_has_a_lower_perplexity(score, pieces):
    seen = piece_perplexity(score, pieces, "The cat sat on the mat in room 99")
    unseen = piece_perplexity(score, pieces, "Quarterly earnings exceeded expectations")
    assert seen is not None
    assert unseen is not None
    assert 1 < seen < unseen < MAX_PERPLEXITY


@pytest.mark.parametrize("text", ["", " \n", "\x00\x01", "\u0301", "\u200b"])
def test_a_text_without_pieces_is_not_measured(score, pieces, text: str):
    finding = rule_of(score, pieces, most=1.0)(analyzed(text))
    assert (finding.measurements, finding.reason) == ({}, None)


@pytest.mark.parametrize(
    ("ends", "bucket"),
    [((1.0, 2.0), 3), ((1.0, 1e6), 2), ((1e5, 1e6), 1), ((None, 1e6), 2), ((1.0, None), 3)],
)
def test_a_bucket_ends_below_its_limit(score, pieces, ends, bucket: int):
    text = analyzed("The dog sat on the cat")
    (own,) = rule_of(score, pieces)(text).measurements.values()
    head, middle = (own if end is None else end for end in ends)
    rule = rule_of(score, pieces, ends=(BucketEnds("en", head, middle),), most_bucket=1)
    finding = rule(text)
    assert finding.measurements == {"perplexity": own, "perplexity_bucket": bucket}
    assert finding.reason == (None if bucket == 1 else "perplexity_bucket")


def test_another_language_is_neither_measured_nor_dropped(score, pieces):
    rule = rule_of(score, pieces, ends=(BucketEnds("de", 1.0, 1.0),), most_bucket=1)
    german = rule(analyzed("Die Katze", "de"))
    assert (german.measurements, german.reason) == ({}, None)
    english = rule(analyzed("the cat"))
    assert (set(english.measurements), english.reason) == ({"perplexity"}, None)


def test_each_language_has_its_own_models(score, pieces):
    asked: list[str] = []

    def scorer(name: str):
        asked.append(name)
        return score

    def splitter(name: str):
        asked.append(name)
        return pieces

    models = (PerplexityModel("de", "k-de", "s-de"), PerplexityModel("en", "k-en"))
    rule = PerplexityRule(models=models, scorer=scorer, pieces=splitter)
    rule(analyzed("die katze", "de"))
    rule(analyzed("the cat", "en"))
    assert asked == ["k-de", "s-de", "k-en"]
    assert rule.recipe["models"] == [["de", "k-de", "s-de"], ["en", "k-en", ""]]


def test_the_rows_30_and_60_of_a_table_end_the_buckets():
    lines = [",de,en", "0,0,10", "30,370,270.5", "31,371,280", "60,590,570", "99,3560,3590"]
    assert parse_cutoffs(lines) == (BucketEnds("de", 370, 590), BucketEnds("en", 270.5, 570))


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([], "it needs a first line of languages"),
        (["{}"], "it needs a first line of languages"),
        ([",en", "30,5"], "it needs a first line of languages"),
        ([",en", "30,5", "60,five"], "it needs a first line of languages"),
        ([",en,de", "30,5,5", "60,6"], "it needs a first line of languages"),
        ([",en", "30,5", "60,6", "60,7"], "it needs a first line of languages"),
        ([",en", "30,5", "60,6\0"], "it needs a first line of languages"),
        ([",", "30", "60"], "it needs a first line of languages"),
        (["x", "30", "60"], "it has no language"),
        ([",en", "30,6", "60,5"], "en: 6 and 5 do not ascend from 0"),
        ([",en", "30,nan", "60,5"], "en: nan and 5 do not ascend"),
        ([",en", "30,5", "60,inf"], "en: 5 and inf do not ascend"),
    ],
)
def test_what_is_no_table_of_percentiles_is_refused(lines: list[str], problem: str):
    with pytest.raises(ValueError, match=problem):
        parse_cutoffs(lines)


def test_damaged_models_are_refused(piece_model: bytes):
    target = io.BytesIO()
    train_perplexity(["the cat sat on the mat"], 3, target)
    arpa = target.getvalue()
    for damaged in (b"", b"\x93\xff" * 99, piece_model, arpa[:20], arpa[:-9], arpa.replace(b"\t", b"\xe9")):
        with pytest.raises(ValueError, match="it is no language model, or it is cut off"):
            load_scorer(damaged)
    for damaged in (b"", b"\x93\xff" * 99, arpa, piece_model[:20], piece_model[:-1]):
        with pytest.raises(ValueError, match="it is no SentencePiece model, or it is cut off"):
            load_pieces(damaged)


def test_training_pieces_twice_gives_the_same_bytes(piece_model: bytes):
    assert train_pieces(iter(CORPUS), 60) == piece_model


def test_a_corpus_that_cannot_be_used_is_refused(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(ValueError, match="there are no words"):
        train_pieces(["", ""], 60)
    with pytest.raises(ValueError, match="Vocabulary size is smaller than required_chars"):
        train_pieces(CORPUS, 3)
    monkeypatch.setattr(piece_training, "MAX_CORPUS_CHARACTERS", 1000)
    with pytest.raises(ValueError, match="more than 1,000 characters; take a part of the corpus"):
        train_pieces(CORPUS, 60)
