"""`CardFacts`: what the cards of a dataset say besides its files: languages, licences, and what filters left out."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thresher.shards.funnel_picture import PICTURE_NAME, funnel_picture

CREATIVE_COMMONS = re.compile(r"https?://(?:www\.)?creativecommons\.org/licenses/([a-z-]+)/(\d\.\d)\b")
ZERO = re.compile(r"https?://(?:www\.)?creativecommons\.org/publicdomain/zero/1\.0\b")
SPDX = frozenset(
    (
        "mit",
        "apache-2.0",
        "bsd-2-clause",
        "bsd-3-clause",
        "gpl-2.0",
        "gpl-3.0",
        "lgpl-3.0",
        "agpl-3.0",
        "mpl-2.0",
    )
) | frozenset(("cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "unlicense", "isc", "odc-by", "pddl"))
"""Names of licences that the Hugging Face Hub knows, and that inputs write."""
OTHERS = "(others)"
"""Stands for all values that are too rare to be listed."""
SIZES = ((10**3, "n<1K"), (10**4, "1K<n<10K"), (10**5, "10K<n<100K"), (10**6, "100K<n<1M"), (10**7, "1M<n<10M"),
         (10**8, "10M<n<100M"), (10**9, "100M<n<1B"), (10**10, "1B<n<10B"), (10**11, "10B<n<100B"))  # fmt: skip
"""The classes of size that data cards have."""
MAX_LISTED = 20
"""Lines of a table in a card at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """What the cards say besides the files."""

    id_bytes: int
    """Bytes of a token id; 0 without a tokenizer."""
    contents: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Documents by `language` and by `license`; an empty text stands for documents without one."""
    stages: Sequence[Mapping[str, Any]] = ()
    """Stages of the funnel: `stage`, `documents`, `share`."""

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages, the most frequent ones first."""
        found = self.contents.get("language", {})
        names = sorted(found, key=lambda name: (-found[name], name))
        return tuple(name for name in names if name not in {"", OTHERS})

    @property
    def license_name(self) -> str:
        """The licence as the Hugging Face Hub names it; `other` for several, and `unknown` if no document has one."""
        found = set(self.contents.get("license", {})) - {""}
        if not found:
            return "unknown"
        name = found.pop().strip().lower()
        if found or "" in self.contents["license"]:
            return "other"
        if match := CREATIVE_COMMONS.match(name):
            return f"cc-{match[1]}-{match[2]}"
        return "cc0-1.0" if ZERO.match(name) else name if name in SPDX else "other"

    @property
    def front_matter(self) -> str:
        """Lines for the front matter of a card: its languages and its licence."""
        if not self.contents:
            return ""
        languages = "".join(f"- {name}\n" for name in self.languages)
        listed = f"language:\n{languages}" if languages else ""
        return f"{listed}license: {self.license_name}\n"

    @property
    def pictures(self) -> Mapping[str, bytes]:
        """The files that the sections show, by their names beside the card; none if there is no funnel."""
        return {PICTURE_NAME: funnel_picture(self.stages)} if self.stages else {}

    @property
    def sections(self) -> str:
        """The sections of a card about languages, licences and filters; empty if nothing is known."""
        parts = [
            _table("Languages", "language", self.contents.get("language", {})),
            _table("Licences that documents state", "licence", self.contents.get("license", {})),
            _funnel(self.stages),
        ]
        return "".join(f"\n{part}" for part in parts if part)


def size_category(rows: int) -> str:
    """Return the class of size of a dataset, as data cards name it."""
    return next((name for limit, name in SIZES if rows < limit), "100B<n<1T")


def _table(heading: str, column: str, found: Mapping[str, int]) -> str:
    if not found:
        return ""
    names = sorted(found, key=lambda name: (name == OTHERS, -found[name], name))
    rows = [(name or "(none)", found[name]) for name in names[:MAX_LISTED]]
    if rest := sum(found[name] for name in names[MAX_LISTED:]):
        rows.append((OTHERS, rest))
    lines = "".join(f"| {_cell(name)} | {count:,} |\n" for name, count in rows)
    return f"## {heading}\n\n| {column} | documents |\n|---|---|\n{lines}"


def _funnel(stages: Sequence[Mapping[str, Any]]) -> str:
    lines = "".join(
        f"| {_cell(str(each['stage']))} | {each['documents']:,} | {each['share']:.2%} |\n" for each in stages
    )
    if not lines:
        return ""
    return (
        "## From the archive to the dataset\n\nThe filters in their order, with the records that each one left out. "
        "`rights` are pages that ask not to be used.\n\n"
        f"![Records that each filter left out]({PICTURE_NAME})\n\n"
        f"| stage | records | share |\n|---|---|---|\n{lines}"
    )


def _cell(text: str) -> str:
    """Return a text of strangers so that it stays within its cell."""
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return plain.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("`", "'")[:200]
