"""`FleetSettings`: the topology of a fleet, as `[fleet]` of thresher.toml declares it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from thresher.core import InputError
from thresher.core.settings import Key, optional_rule, rule
from thresher.frontier.fleet_state import MAX_MEMBERS, MemberKind

_NUMBER = rule(lambda number: 0 <= number <= MAX_MEMBERS, f"must be a number from 0 to {MAX_MEMBERS}")
_LIMIT = optional_rule(lambda number: 0 <= number <= MAX_MEMBERS, f"must be a number from 0 to {MAX_MEMBERS}")
_SHARE = rule(lambda share: 0 <= share <= 1, "must be a share from 0 to 1")
_SECONDS = rule(lambda seconds: 0 < seconds <= 86_400, "must be a number of seconds up to 86400")
_WHEN = rule(re.compile(r"drained|[1-9]\d{0,5}[mhd]").fullmatch, "must be 'drained' or a time such as '24h'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The least and the largest number of members of a kind."""

    least: int
    most: int

    def clamp(self, number: int) -> int:
        """Return the nearest number within the limits."""
        return min(max(number, self.least), self.most)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSettings:
    """`[fleet]`: what `thresher fleet start` runs. `thresher fleet scale` changes the numbers of a running fleet."""

    crawlers: Annotated[int, _NUMBER, Key("worker processes that crawl")] = 1
    min_crawlers: Annotated[
        int | None, _LIMIT, Key("with max_crawlers: the fleet scales between the two, by hosts that wait")
    ] = None
    max_crawlers: Annotated[int | None, _LIMIT, Key("the largest number; without it the number is fixed")] = (
        None
    )
    processors: Annotated[int, _NUMBER, Key("workers that process what the crawlers seal")] = 1
    min_processors: Annotated[
        int | None, _LIMIT, Key("with max_processors: the fleet scales between the two, by unprocessed bytes")
    ] = None
    max_processors: Annotated[
        int | None, _LIMIT, Key("the largest number; without it the number is fixed")
    ] = None
    release_below: Annotated[
        float, _SHARE, Key("a crawler is released while the others stay below this utilisation")
    ] = 0.5
    release_after: Annotated[
        float, _SECONDS, Key("... for so many seconds; idle processors are released too")
    ] = 60.0
    export_out: Annotated[
        str, Key('directory or "s3://bucket/prefix" of exports, each in a folder of its own; none if empty')
    ] = ""
    export_when: Annotated[
        str, _WHEN, Key('export when the crawl is drained and processed; or every "24h", "7d"')
    ] = "drained"
    export_tokenizer: Annotated[str, Key("tokenizer.json of exports; bytes are the tokens if empty")] = ""

    @property
    def numbers(self) -> Mapping[MemberKind, int]:
        """How many members of each kind run at first."""
        numbers: dict[MemberKind, int] = {
            "crawler": self.crawlers,
            "processor": self.processors,
            "exporter": 0,
        }
        return {kind: self.limits[kind].clamp(n) if kind in self.limits else n for kind, n in numbers.items()}

    @property
    def limits(self) -> Mapping[MemberKind, Limits]:
        """The kinds that the fleet scales by itself, with their limits. Raise `InputError` if limits contradict."""
        found: dict[MemberKind, Limits] = {}
        pairs: dict[MemberKind, tuple[int | None, int | None]] = {
            "crawler": (self.min_crawlers, self.max_crawlers),
            "processor": (self.min_processors, self.max_processors),
        }
        for kind, (least, most) in pairs.items():
            if most is None and least is not None:
                raise InputError(f"fleet.min_{kind}s needs fleet.max_{kind}s, the largest number; set both")
            if most is not None:
                if (least or 0) > most:
                    raise InputError(
                        f"fleet.min_{kind}s = {least} is larger than fleet.max_{kind}s = {most}; change one"
                    )
                found[kind] = Limits(least=least or 0, most=most)
        return found

    @property
    def export_interval_s(self) -> int | None:
        """Seconds between two exports; None if an export follows the end of the crawl."""
        if self.export_when == "drained":
            return None
        return int(self.export_when[:-1]) * {"m": 60, "h": 3_600, "d": 86_400}[self.export_when[-1]]
