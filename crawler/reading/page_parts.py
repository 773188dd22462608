"""`PageParts`: what was fetched for a page besides itself, and how much was left out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from uuid import UUID, uuid5

from thresher.core import Capture


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """One exchange for a page, besides its own."""

    capture: Capture
    kind: str
    """What the page needed it for: `script`, `stylesheet`, `xhr` (which includes `fetch`), `preflight`, `image`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageParts:
    """The parts of one page."""

    subresources: tuple[Subresource, ...] = ()
    refusals: Mapping[str, int] = field(default_factory=dict)
    """Number of parts that were left out or are incomplete, by reason."""
    login: str = ""
    """The profile and the host of the login under which they were fetched; empty if there was none. It is not
    archived.
    """

    def facts(self) -> Iterator[tuple[str, str]]:
        """Yield what the archive says of them: their number, and the refusals."""
        yield "parts", str(len(self.subresources))
        for reason, count in sorted(self.refusals.items()):
            yield f"refused-{reason}", str(count)


def subresource_id(page: UUID, number: int) -> UUID:
    """Return the id of the response record of a subresource; `page` is the id of the page's own record."""
    return uuid5(page, f"part-{number}")
