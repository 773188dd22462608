"""`Rights`: the statements of a page and its server about its use. Pure; nothing is guessed.

1. `X-Robots-Tag`, `<meta name="robots">` and directives in either that name this crawler form one list. Directives that
   name another agent are ignored.
2. `none` means `noindex` and `nofollow`; `nocache` means `noarchive`. `unavailable_after` is in the list if its date
   had passed when the page was fetched. Directives that are not in `DIRECTIVES` are ignored.
3. TDM-Reservation (TDMRep, W3C community group): text and data mining is reserved if the header or the `<meta>` says 1.
   `/.well-known/tdmrep.json` is not fetched.

The caller decides which statements it obeys; `Rights.refusal` returns the first of them that the page makes.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime

from thresher.core.product import PRODUCT_TOKEN
from thresher.core.standards.moment import parse_moment

DIRECTIVES = frozenset(
    ("noindex", "nofollow", "noarchive", "nosnippet", "noimageindex", "notranslate", "noai", "noimageai")
)
EXPIRED = "unavailable_after"
RESERVED = "tdm-reservation"
OBEYABLE = (*sorted(DIRECTIVES - {"nofollow"}), RESERVED, EXPIRED)
"""Statements for which a document may be dropped."""
METAS = frozenset(("robots", PRODUCT_TOKEN, RESERVED, "tdm-policy"))
"""Names of the <meta>s that are read."""
MAX_POLICY_LENGTH = 2_000
"""Characters of a policy's URL at most."""

_SYNONYMS = {"none": ("noindex", "nofollow"), "nocache": ("noarchive",)}
_NAMED = re.compile(r"\s*([\w-]+)\s*:\s*(.*)", re.DOTALL | re.ASCII)
_WITH_VALUE = frozenset((EXPIRED, "max-snippet", "max-image-preview", "max-video-preview"))
_WEEKDAY = re.compile(r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\s*,", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """The statements about the use of one page; empty where it makes none."""

    robots: tuple[str, ...] = ()
    """Directives in force, sorted."""
    tdm_reservation: str = ""
    """`1` if text and data mining is reserved, `0` if the page says that it is not, otherwise empty."""
    tdm_policy: str = ""
    """URL of the policy that states the permitted uses, as written."""

    def refusal(self, obey: Iterable[str]) -> str | None:
        """Return the reason code of the first statement in `obey` that the page makes; None if it makes none."""
        stated = {*self.robots, *((RESERVED,) if self.tdm_reservation == "1" else ())}
        return next((statement.replace("-", "_") for statement in obey if statement in stated), None)


def rights(
    headers: Iterable[tuple[str, str]] = (), metas: Iterable[tuple[str, str]] = (), *, at_ms: int = 0
) -> Rights:
    """Return the rights in the headers and <meta>s (name in lower case, content) of a page fetched at `at_ms`."""
    robots: set[str] = set()
    tdm: dict[str, str] = {}
    for header, value in headers:
        name = header.lower()
        if name == "x-robots-tag":
            robots.update(_directives(value, at_ms))
        elif name.startswith("tdm-"):
            _set_tdm_field(tdm, name, value)
    for name, content in metas:
        if name in {"robots", PRODUCT_TOKEN}:
            robots.update(_directives(content, at_ms))
        elif name.startswith("tdm-"):
            _set_tdm_field(tdm, name, content)
    reservation = tdm.get(RESERVED, "")
    return Rights(
        robots=tuple(sorted(robots)),
        tdm_reservation=reservation if reservation in {"0", "1"} else "",
        tdm_policy=tdm.get("tdm-policy", "")[:MAX_POLICY_LENGTH],
    )


def _set_tdm_field(tdm: dict[str, str], name: str, value: str) -> None:
    """Set a field: the last statement counts, except that nothing revokes a reservation."""
    if not (name == RESERVED and tdm.get(name) == "1"):
        tdm[name] = value.strip()


def _directives(value: str, at_ms: int) -> Iterator[str]:
    applies = True
    # A comma after a weekday does not separate directives, so weekdays are removed.
    for part in _WEEKDAY.sub("", value).split(","):
        directive = part
        named = _NAMED.fullmatch(directive)
        if named is not None and named[1].lower() not in _WITH_VALUE:
            applies, directive = named[1].lower() in {PRODUCT_TOKEN, "robots"}, named[2]
            named = _NAMED.fullmatch(directive)
        if not applies:
            continue
        if named is not None:
            if named[1].lower() == EXPIRED and _has_passed(named[2], at_ms):
                yield EXPIRED
            continue
        for word in directive.lower().split():
            yield from (name for name in _SYNONYMS.get(word, (word,)) if name in DIRECTIVES)


def _has_passed(date_text: str, at_ms: int) -> bool:
    """Return whether the date `date_text` had passed at `at_ms`; a date that cannot be read never has."""
    for read in (parse_moment, parsedate_to_datetime):
        try:
            date = read(date_text.strip())
        except (ValueError, OverflowError):
            continue
        moment = date if date.tzinfo else date.replace(tzinfo=UTC)
        return moment.timestamp() * 1000 <= at_ms
    return False
