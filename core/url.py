"""`Url`: one canonical absolute URL and the keys derived from it."""

from dataclasses import dataclass

from thresher.core.surt import surt


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """One http or https URL.

    Two URLs with equal `text` are the same page; the frontier takes some others for one page too (`frontier.page_key`).
    `wire` is the form that goes into the request, as the page with the link wrote it (after WHATWG parsing, without
    fragment): a server may tell apart forms that the canonical form folds together.
    """

    text: str
    """Canonical form, without fragment and credentials."""
    wire: str
    """Form to request; equal to `text` unless the canonical form folds something."""
    host: str
    """Host name without port, in lower case; delays are kept by it."""
    origin: str
    """`scheme://host[:port]`: the authority for which one robots.txt holds (RFC 9309, section 2.3)."""

    @property
    def surt(self) -> str:
        """Key of its records in CDXJ indexes, `com,example)/path?query` (`core.surt`)."""
        return surt(self.wire)

    def __str__(self) -> str:
        return self.text
