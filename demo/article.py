"""`Article`: a text composed from a bank of sentences, and near copies of it with a few words changed.

Two articles on one topic share sentence patterns but few whole sentences, because most patterns have slots. Their
similarity is far below that of near duplicates, and the similarity of a near copy is far above.
"""

import re
import unicodedata
from dataclasses import dataclass, replace
from random import Random

from demo.bank import Bank, Topic

OF_TOPIC = 9
"""Sentences of its topic in an article. They have about 20 words each; with the general sentences, an article has 200
words or more.
"""
OF_GENERAL = 4
CHANGES = 3
"""Places changed in a near copy at most: each affects about six of the article's 200 or more 5-word shingles at most.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """One text with its title and author."""

    language: str
    topic: str
    """Key of its topic."""
    title: str
    author: str
    date: str
    """Day in ISO 8601."""
    paragraphs: tuple[tuple[str, ...], ...]
    """Paragraphs, each a sequence of sentences."""

    @property
    def slug(self) -> str:
        """The title as part of a URL, in its own letters."""
        return "-".join(re.findall(r"\w+", unicodedata.normalize("NFC", self.title).lower()))


def compose(bank: Bank, topic: Topic, rng: Random) -> Article:
    """Write an article on the topic."""
    town, person, river = rng.choice(bank.towns), rng.choice(bank.persons), rng.choice(bank.rivers)
    sentences = rng.sample(topic.sentences, OF_TOPIC)
    for general in rng.sample(bank.general, OF_GENERAL):
        sentences.insert(rng.randint(1, len(sentences)), general)
    filled = [
        sentence.format(
            town=town if rng.random() < 2 / 3 else rng.choice(bank.towns),
            person=person if rng.random() < 2 / 3 else rng.choice(bank.persons),
            river=river,
            year=rng.randint(1791, 1996),
            count=rng.randint(12, 96),
        )
        for sentence in sentences
    ]
    return Article(
        language=bank.labels["language"],
        topic=topic.key,
        title=rng.choice(topic.titles).format(
            town=town, person=person, river=river, count=rng.randint(12, 96)
        ),
        author=rng.choice(bank.persons),
        date=f"{rng.randint(2009, 2024)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}",
        paragraphs=_paragraphs(filled, rng),
    )


def near_copy(article: Article, bank: Bank, rng: Random) -> Article:
    """Return the article with up to `CHANGES` numbers or towns changed; if it has none, without its last sentence."""
    text = "\n\n".join("\n".join(sentences) for sentences in article.paragraphs)
    places = list(re.finditer("|".join([r"\d+", *map(re.escape, bank.towns)]), text))
    for place in sorted(rng.sample(places, min(CHANGES, len(places))), key=lambda e: e.start(), reverse=True):
        old = place.group()
        new = str(int(old) + 1) if old.isdigit() else rng.choice([town for town in bank.towns if town != old])
        text = text[: place.start()] + new + text[place.end() :]
    paragraphs = [tuple(paragraph.split("\n")) for paragraph in text.split("\n\n")]
    if not places:
        paragraphs[-1] = paragraphs[-1][:-1]
    return replace(article, paragraphs=tuple(paragraphs))


def _paragraphs(sentences: list[str], rng: Random) -> tuple[tuple[str, ...], ...]:
    paragraphs = []
    while sentences:
        length = rng.choice((3, 3, 4))
        length = len(sentences) if len(sentences) - length < 2 else length
        paragraphs.append(tuple(sentences[:length]))
        sentences = sentences[length:]
    return tuple(paragraphs)
