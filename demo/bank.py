"""`Bank`: the sentences of one language, written by hand in `banks/<language>.txt`.

The file has sections that begin with `== `. `labels` holds the words of the page around an article (name = text).
`town`, `person` and `river` hold values for the slots of a sentence. `general` holds sentences that fit any topic. Each
`topic KEY: TITLE` holds titles (after `# `) and sentences. A slot is `{town}`, `{person}`, `{river}`, `{year}` or
`{count}`. Every sentence can stand alone, so any order of them makes sense.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

BANKS = Path(__file__).parent / "banks"


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One subject that a magazine writes about."""

    key: str
    """Part of URLs, ASCII."""
    name: str
    titles: tuple[str, ...]
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """The sentences, labels and slot values of one language."""

    labels: Mapping[str, str]
    towns: tuple[str, ...]
    persons: tuple[str, ...]
    rivers: tuple[str, ...]
    general: tuple[str, ...]
    topics: tuple[Topic, ...]


@cache
def bank(language: str) -> Bank:
    """Return the bank of a language: en, de, fr or es."""
    sections = read_sections(BANKS / f"{language}.txt")
    return Bank(
        labels={key.strip(): text.strip() for key, _, text in (e.partition("=") for e in sections["labels"])},
        towns=tuple(sections["town"]),
        persons=tuple(sections["person"]),
        rivers=tuple(sections["river"]),
        general=tuple(sections["general"]),
        topics=tuple(_topic(name, lines) for name, lines in sections.items() if name.startswith("topic ")),
    )


def read_sections(file: Path) -> dict[str, list[str]]:
    """Return the lines of each section by its heading, without empty lines."""
    sections: dict[str, list[str]] = {}
    for line in file.read_text("utf-8").split("\n"):
        if line.startswith("== "):
            lines = sections.setdefault(line[3:], [])
        elif line:
            lines.append(line)
    return sections


def _topic(heading: str, lines: list[str]) -> Topic:
    key, _, name = heading.removeprefix("topic ").partition(": ")
    titles = tuple(line[2:] for line in lines if line.startswith("# "))
    return Topic(
        key=key, name=name, titles=titles, sentences=tuple(e for e in lines if not e.startswith("# "))
    )
