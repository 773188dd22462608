"""`Scope`: how far from its seed a crawl may follow links.

`any` admits every URL; `domain` the URLs of the seed's registered domain; `host` those of its host name, whatever
scheme or port; `prefix` those that begin as the seed does, up to the last slash of its path.
"""

from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal, cast, get_args

from thresher.core import InputError, Url

if TYPE_CHECKING:
    from tldextract import TLDExtract

ScopeKind = Literal["any", "domain", "host", "prefix"]

_KINDS: tuple[str, ...] = get_args(ScopeKind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A kind of scope and its anchor. `str(scope)` and `Scope.parse` are inverses."""

    kind: ScopeKind
    anchor: str
    """Registered domain, host name or URL prefix; empty for `any`."""

    @classmethod
    def of(cls, kind: ScopeKind, url: Url) -> "Scope":
        """Return the scope of that kind around `url`."""
        match kind:
            case "any":
                return cls(kind=kind, anchor="")
            case "domain":
                return cls(kind=kind, anchor=registered_domain(url.host))
            case "host":
                return cls(kind=kind, anchor=url.host)
            case "prefix":
                return cls(kind=kind, anchor=_folder(url.text))

    @classmethod
    def parse(cls, text: str) -> "Scope":
        """Return the scope that `str` wrote. Raise `InputError` if the text is no scope."""
        kind, _, anchor = text.partition(":")
        if kind not in _KINDS or (kind == "any") != (anchor == ""):
            raise InputError(f"not a scope: {text!r}; write any, or domain:, host: or prefix: and its anchor")
        return cls(kind=cast("ScopeKind", kind), anchor=anchor)

    def admits(self, url: Url) -> bool:
        """Return whether a link to `url` may be followed."""
        match self.kind:
            case "any":
                return True
            case "domain":
                return registered_domain(url.host) == self.anchor
            case "host":
                return url.host == self.anchor
            case "prefix":
                return url.text.startswith(self.anchor)

    def __str__(self) -> str:
        return f"{self.kind}:{self.anchor}" if self.anchor else self.kind


@lru_cache(maxsize=65_536)
def registered_domain(host: str) -> str:
    """Return the part of a host name that somebody registered, by the Public Suffix List.

    An IP address, a single label and a public suffix are their own domain. Under a suffix that the list does not know,
    the domain is the last two labels (the list's prevailing rule `*`).
    """
    if _is_address(host) or "." not in host:
        return host
    found = _suffixes()(host)
    if found.suffix:
        return f"{found.domain}.{found.suffix}" if found.domain else host
    return ".".join(host.rsplit(".", 2)[-2:])


@cache
def _suffixes() -> "TLDExtract":
    import tldextract  # noqa: PLC0415 - it imports requests, and many commands need no domain

    return tldextract.TLDExtract(
        suffix_list_urls=(),  # only the list that the package carries: the same answer on every machine, offline
        cache_dir=None,
        include_psl_private_domains=True,  # two customers of one hosting domain are two owners
    )


def _is_address(host: str) -> bool:
    """Return whether the host is an IP address: in a parsed URL nothing else ends in a number (URL standard, host
    parser).
    """
    return host.startswith("[") or host.rpartition(".")[2].isdigit()


def _folder(text: str) -> str:
    path = text.partition("?")[0]
    return path[: path.rindex("/") + 1]
