"""`ReadingSettings`: which directives of pages a crawl obeys, and whether it reads sitemaps."""

from dataclasses import dataclass
from typing import Annotated

from thresher.core.settings import Key, rule

_OBEYABLE = rule(
    lambda names: set(names) <= {"nofollow", "noarchive"}, "must name 'nofollow' and 'noarchive' at most"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingSettings:
    """`obey` names directives of robots metas and X-Robots-Tag headers."""

    sitemaps: Annotated[
        bool, Key("reads the sitemaps that robots.txt files name, within the crawl's scope")
    ] = True
    obey: Annotated[
        tuple[str, ...],
        _OBEYABLE,
        Key('directives to obey: "nofollow"; "noarchive" archives only a note of the page'),
    ] = ("nofollow",)
