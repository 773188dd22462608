"""`Url`: one canonical absolute URL and the keys derived from it."""

from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class Url:
    """One http or https URL.

    Two URLs whose `text` is equal are the same page; the frontier takes some others for one page too (`frontier.identity`). `wire` is the form that goes into the
    request, as the page that linked it wrote it (after WHATWG parsing, without fragment): a server may
    tell apart what the canonical form folds together.
    """

    text: str
    """Canonical form, without fragment and credentials."""
    wire: str
    """Form to request; equal to `text` unless canonicalisation folded something."""
    host: str
    """Host name without port, lower case: the key of politeness."""
    origin: str
    """`scheme://host[:port]`: the authority that one robots.txt speaks for (RFC 9309, section 2.3)."""

    @property
    def surt(self) -> str:
        """Sort-friendly form used as the key of CDXJ lines: `com,example)/path?query`.

        Host labels reversed, scheme, `www.` and default port dropped, letters lower case, as the
        Internet Archive's SURT of an http URL.
        """
        parts = urlsplit(self.text)
        host = self.host.removeprefix("www.")
        if not _is_address(host):
            host = ",".join(reversed(host.split(".")))
        port = f":{parts.port}" if parts.port else ""
        query = f"?{parts.query}" if parts.query else ""
        return f"{host}{port}){parts.path or '/'}{query}".lower()

    def __str__(self) -> str:
        return self.text


def _is_address(host: str) -> bool:
    if host[-1:].isalpha() and ":" not in host:  # a name of the web, at a fiftieth of the cost
        return False
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
