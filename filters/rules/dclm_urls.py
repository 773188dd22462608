"""`DclmUrls`: remove URLs and IP addresses from the text, as DCLM-Baseline and its RefinedWeb do.

Source: mlfoundations/dclm, baselines_configs/dclm_baseline_refinedweb.yaml (`url_removal_modifier`, then
`newline_removal_modifier`) and mappers/modifiers.py.

1. A host name that ends with a top-level domain in lower case goes, with its scheme, its path and up to ten characters
   of white space before it.
2. DCLM looks for host names only in texts that begin with the letters of a top-level domain, in any case: those that
   begin with "The" (`.th`), not those that begin with "We". Its code tests the start of the text where it means to
   test all of it. This rule does the same, because that code made the dataset.
3. IPv4 addresses go from every text in the same way.
4. Of more than two line breaks in a row, two stay.

Unlike there, top-level domains are those of the Public Suffix List with `RETIRED`, not those of a copy of IANA's
database that still has former brands (`.duck`, `.vista`).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, ClassVar

from thresher.core import Edit
from thresher.filters.edits import apply, compose, removals
from thresher.filters.text import AnalyzedText, Finding
from thresher.filters.top_level import top_level_domains

MAX_HOST = 256
"""Characters of a host name before its top-level domain."""
MAX_SPACE = 10
"""Characters of white space that go with an address."""
LONGEST_TOP_LEVEL = 24
"""Characters of the longest top-level domain that a text may begin with."""
RETIRED = frozenset({"an", "bl", "bq", "eh", "mf", "tp", "um"})
"""Country codes in IANA's root zone database that are retired or were never assigned; DCLM's list has them."""
_HOST = re.compile(r"(?<![a-zA-Z0-9@:%._+~#=-])(?:\.?[a-zA-Z0-9@:%_+~#=-]++\.|\.\.)[a-zA-Z0-9@:%._+~#=-]*+")
"""A run of the characters of host names in which a dot has a character before it."""
_TOP_LEVEL = re.compile(r"(?:xn--)?[^\W_A-Z]\w{1,62}+")
_PATH = re.compile(r"[a-zA-Z0-9()@:%_+.~#?&/=-]*+")
_IPV4 = re.compile(r"(?<!\w)[0-2]?[0-9]{1,2}(?:\.[0-2]?[0-9]{1,2}){3}")
_BREAKS = re.compile(r"\n{3,}+")
_SCHEMES = ("http://", "https://", "ftp://")
_LONGEST_SCHEME = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class DclmUrls:
    """Remove URLs, host names and IP addresses, and leave one blank line at most."""

    name: ClassVar[str] = "dclm_urls"
    measures: ClassVar[tuple[str, ...]] = ("dclm_urls",)

    @property
    def recipe(self) -> Mapping[str, Any]:
        """The version of the patterns."""
        return {**asdict(self), "version": 1}

    def __call__(self, text: AnalyzedText) -> Finding:
        """Count and remove the addresses; drop the document if nothing is left."""
        hosts = list(_hosts(text.known)) if _begins_with_top_level(text.known) else []
        edits = removals(hosts)
        edited = apply(text.known, edits)
        numbers = list(_ip_addresses(edited)) if edited.count(".") > 2 else []
        if numbers:
            edits = compose(edits, removals(numbers))
            edited = apply(text.known, edits)
        breaks = [Edit(found.start() + 2, found.end()) for found in _BREAKS.finditer(edited)]
        edits = compose(edits, breaks) if breaks else edits
        return Finding(
            measurements={"dclm_urls": float(len(hosts) + len(numbers))},
            reason=None if edited else "empty",
            edits=edits,
        )


@cache
def _names() -> frozenset[str]:
    return top_level_domains() | RETIRED


def _begins_with_top_level(text: str) -> bool:
    start, names = text[:LONGEST_TOP_LEVEL].lower(), _names()
    return any(start[:end] in names for end in range(2, len(start) + 1))


def _hosts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each host name with its surroundings, in order."""
    names = _names()
    done = removed = 0
    while (run := _HOST.search(text, done)) is not None:
        start, done = run.start(), run.end()
        ends = [
            (dot, found.end())
            for dot in _dots(run)
            if (found := _TOP_LEVEL.match(text, dot + 1)) is not None and found[0] in names
        ]
        if not ends:
            continue
        near = [each for each in ends if each[0] - start <= MAX_HOST]
        dot, end = near[-1] if near else ends[0]
        start = max(start, dot - MAX_HOST)
        path = _PATH.match(text, end)
        done = end if path is None else path.end()
        yield _with_scheme(text, start, removed), done
        removed = done


def _dots(run: re.Match[str]) -> Iterator[int]:
    """Yield the places of the dots in a run that have a character of the run before them."""
    place = run.start()
    while (place := run.string.find(".", place + 1, run.end())) >= 0:
        yield place


def _ip_addresses(text: str) -> Iterator[tuple[int, int]]:
    done = 0
    while (found := _IPV4.search(text, done)) is not None:
        path = _PATH.match(text, found.end())
        end = found.end() if path is None else path.end()
        yield _with_scheme(text, found.start(), done), end
        done = end


def _with_scheme(text: str, start: int, least: int) -> int:
    """Return where a scheme and white space before `start` begin, at `least` or behind it."""
    before = text[max(start - _LONGEST_SCHEME, least) : start]
    scheme = next((scheme for scheme in _SCHEMES if before.endswith(scheme)), "")
    start -= len(scheme)
    spaces = text[max(start - MAX_SPACE, least) : start]
    return start - (len(spaces) - len(spaces.rstrip()))
