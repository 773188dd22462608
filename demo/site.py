"""`Site`, one host that is being written, and `Expected`, the facts about all finished hosts."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Literal
from urllib.parse import urljoin

from demo.wire import Response

_ESCAPE = re.compile("%[0-9a-f]{2}", re.IGNORECASE)

LinkKind = Literal["linked", "forbidden", "unlinked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Facts about the web, as absolute URLs without fragments.

    A crawl that starts at the seeds and obeys robots.txt and nofollow must hold exactly `pages`. All other facts are
    about URLs in `pages`, except the sets of URLs that a crawl must not or cannot fetch.
    """

    pages: frozenset[str]
    """Reachable pages of status 200 and type text/html."""
    files: frozenset[str]
    """Linked files of status 200 that are not HTML."""
    forbidden: frozenset[str]
    """Linked URLs that robots.txt forbids."""
    unlinked: frozenset[str]
    """Pages to which only links lead that must not be followed: nofollow, in comments, in scripts."""
    missing: frozenset[str]
    """Linked URLs of status 404 or 410."""
    redirects: Mapping[str, str]
    """Redirects: from a URL to its direct target; every hop of a chain has an entry."""
    loops: frozenset[str]
    """Redirects that never end."""
    aliases: Mapping[str, str]
    """From a URL with a session to the URL of the same page without it."""
    exact: tuple[tuple[str, str], ...]
    """Pages with the same text: the original and its copy, on one host or on two."""
    near: tuple[tuple[str, str], ...]
    """Pages whose texts differ in a few words: the original and its copy."""
    languages: Mapping[str, str]
    """From an article (copies included) to its language."""
    charsets: Mapping[str, str]
    """From a page that is not UTF-8 and declares its charset only in the header, to that charset."""
    junk: frozenset[str]
    """Pages that both presets, gopher and fineweb, drop."""
    delays: Mapping[str, float]
    """From a host's name to its Crawl-delay in seconds."""


@dataclass(slots=True, kw_only=True)
class Site:
    """One host: its responses by request target, and the facts about them, collected while it is written."""

    name: str
    base: str
    """`http://address:port`, without a slash at the end."""
    not_found: str = "<!DOCTYPE html><title>404</title><h1>Not found</h1>"
    """HTML of the page for status 404; the request target is added to its heading."""
    delay: float | None = None
    answers: dict[str, Response] = field(default_factory=dict)
    pages: set[str] = field(default_factory=set)
    files: set[str] = field(default_factory=set)
    forbidden: set[str] = field(default_factory=set)
    unlinked: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    redirects: dict[str, str] = field(default_factory=dict)
    loops: set[str] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)
    exact: list[tuple[str, str]] = field(default_factory=list)
    near: list[tuple[str, str]] = field(default_factory=list)
    languages: dict[str, str] = field(default_factory=dict)
    charsets: dict[str, str] = field(default_factory=dict)
    junk: set[str] = field(default_factory=set)

    def url(self, target: str) -> str:
        """Return the absolute URL of a request target of this host."""
        return self.base + target

    def page(
        self,
        target: str,
        html: str | bytes,
        *,
        content_type: str = "text/html; charset=utf-8",
        linked: LinkKind = "linked",
        chunked: bool = False,
        compressed: bool = False,
    ) -> None:
        """Add a page; its text is encoded as the content type states."""
        charset = content_type.partition("charset=")[2] or "utf-8"
        body = html if isinstance(html, bytes) else html.encode(charset)
        self._put(target, content_type, body, chunked=chunked, compressed=compressed)
        {"linked": self.pages, "forbidden": self.forbidden, "unlinked": self.unlinked}[linked].add(
            self.url(target)
        )
        if charset != "utf-8":
            self.charsets[self.url(target)] = charset

    def file(self, target: str, content_type: str, body: bytes, *, linked: bool = True) -> None:
        """Add a file that is not a page."""
        self._put(target, content_type, body)
        if linked:
            self.files.add(self.url(target))

    def redirect(self, target: str, status: int, location: str, *, ends: bool = True) -> None:
        """Add a redirect; `location` is written into the header unchanged."""
        self.answers[target] = Response(status=status, headers=(("Location", location),))
        self.redirects[self.url(target)] = urljoin(self.url(target), location)
        if not ends:
            self.loops.add(self.url(target))

    def missing_page(self, target: str, status: int = 404) -> None:
        """Add a linked target that does not exist."""
        self.missing.add(self.url(target))
        if status != 404:
            self.answers[target] = Response(status=status, headers=(("Content-Type", "text/html"),))

    def answer(self, target: str) -> Response:
        """Return the response to a request target."""
        found = self.answers.get(_ESCAPE.sub(lambda match: match.group().upper(), target))
        if found is not None:
            return found
        headers = (("Content-Type", "text/html; charset=utf-8"),)
        # The body names the target, as servers do. Of two equal bodies, the one fetched later would be a revisit.
        body = self.not_found.replace("</h1>", f": {escape(target)}</h1>")
        return Response(status=404, headers=headers, body=body.encode())

    def _put(
        self, target: str, content_type: str, body: bytes, *, chunked: bool = False, compressed: bool = False
    ) -> None:
        assert target not in self.answers, f"{self.url(target)} is written twice"
        headers = (("Content-Type", content_type),)
        self.answers[target] = Response(
            status=200, headers=headers, body=body, chunked=chunked, compressed=compressed
        )


def expected(sites: Iterable[Site]) -> Expected:
    """Return the facts of all hosts together."""
    sites = list(sites)
    return Expected(
        pages=frozenset(url for site in sites for url in site.pages),
        files=frozenset(url for site in sites for url in site.files),
        forbidden=frozenset(url for site in sites for url in site.forbidden),
        unlinked=frozenset(url for site in sites for url in site.unlinked),
        missing=frozenset(url for site in sites for url in site.missing),
        redirects={source: to for site in sites for source, to in site.redirects.items()},
        loops=frozenset(url for site in sites for url in site.loops),
        aliases={alias: to for site in sites for alias, to in site.aliases.items()},
        exact=tuple(pair for site in sites for pair in site.exact),
        near=tuple(pair for site in sites for pair in site.near),
        languages={url: language for site in sites for url, language in site.languages.items()},
        charsets={url: charset for site in sites for url, charset in site.charsets.items()},
        junk=frozenset(url for site in sites for url in site.junk),
        delays={site.name: site.delay for site in sites if site.delay is not None},
    )
