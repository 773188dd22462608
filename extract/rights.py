"""`Rights`: what a page, and its server, say of how it may be used. Pure; nothing is guessed.

1. `X-Robots-Tag` and `<meta name="robots">`, and what either says to us by name, are one list of directives. What is said to
   another agent by name is not said to us.
2. `none` is `noindex` and `nofollow`; `nocache` is `noarchive`. `unavailable_after` stands in the list where its date had
   passed when the page was fetched. Directives that are not in `DIRECTIVES` are passed over.
3. TDM-Reservation (TDMRep, W3C community group): reserved where the header or the `<meta>` says 1. `/.well-known/tdmrep.json`
   is not asked for.

What is done about it is a policy of who asks; `refusal` names the first directive that is to be obeyed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from core.product import PRODUCT_TOKEN

DIRECTIVES = frozenset(
    ("noindex", "nofollow", "noarchive", "nosnippet", "noimageindex", "notranslate", "noai", "noimageai")
)
EXPIRED = "unavailable_after"
RESERVED = "tdm-reservation"
OBEYABLE = (*sorted(DIRECTIVES - {"nofollow"}), RESERVED, EXPIRED)
"""What a document may be dropped for."""
METAS = frozenset(("robots", PRODUCT_TOKEN, RESERVED, "tdm-policy"))
"""Names of <meta>s that are read."""
LONGEST_POLICY = 2_000
"""Characters of the address of a policy."""

_MEANS = {"none": ("noindex", "nofollow"), "nocache": ("noarchive",)}
_NAMED = re.compile(r"\s*([\w-]+)\s*:\s*(.*)", re.DOTALL)
_WITH_VALUE = frozenset((EXPIRED, "max-snippet", "max-image-preview", "max-video-preview"))
_WEEKDAY = re.compile(r"\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\s*,", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """As far as anything was said."""

    robots: tuple[str, ...] = ()
    """Directives in force, sorted."""
    tdm_reservation: str = ""
    """`1` where text and data mining is reserved, `0` where it says that it is not; else empty."""
    tdm_policy: str = ""
    """Address of what may be done all the same, as written."""

    def refusal(self, obey: Iterable[str]) -> str | None:
        """The reason code of the first of some directives that is said; None where none is."""
        said = {*self.robots, *((RESERVED,) if self.tdm_reservation == "1" else ())}
        return next((each.replace("-", "_") for each in obey if each in said), None)


def rights(
    headers: Iterable[tuple[str, str]] = (), metas: Iterable[tuple[str, str]] = (), *, at_ms: int = 0
) -> Rights:
    """What headers and <meta>s (name in lower case, content) say of a page that was fetched at `at_ms`."""
    robots: set[str] = set()
    tdm: dict[str, str] = {}
    for written, value in headers:
        name = written.lower()
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
        tdm_policy=tdm.get("tdm-policy", "")[:LONGEST_POLICY],
    )


def _set_tdm_field(tdm: dict[str, str], name: str, value: str) -> None:
    """The last that is said counts, but a reservation is never taken back."""
    if not (name == RESERVED and tdm.get(name) == "1"):
        tdm[name] = value.strip()


def _directives(value: str, at_ms: int) -> Iterator[str]:
    ours = True
    # The comma behind the day of a date is none between directives; the day says nothing.
    for part in _WEEKDAY.sub("", value).split(","):
        said = part
        named = _NAMED.fullmatch(said)
        if named is not None and named[1].lower() not in _WITH_VALUE:
            ours, said = named[1].lower() in {PRODUCT_TOKEN, "robots"}, named[2]
            named = _NAMED.fullmatch(said)
        if not ours:
            continue
        if named is not None:
            if named[1].lower() == EXPIRED and _has_passed(named[2], at_ms):
                yield EXPIRED
            continue
        for word in said.lower().split():
            yield from (each for each in _MEANS.get(word, (word,)) if each in DIRECTIVES)


def _has_passed(written: str, at_ms: int) -> bool:
    """Whether a date had passed; one that cannot be read never has."""
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = read(written.strip())
        except (ValueError, OverflowError):
            continue
        moment = date if date.tzinfo else date.replace(tzinfo=UTC)
        return moment.timestamp() * 1000 <= at_ms
    return False
