"""`CookieJar`: cookies that servers set, or that a login brought, within RFC 6265. Bounded, in memory, off by default.

1. A cookie goes back to the host that set it, or to the domain that it names. That domain must contain the host, and
   must not be above the host's registered domain. Path, `Secure`, `Max-Age`, `Expires` and the prefixes `__Secure-` and
   `__Host-` are obeyed.
2. The jar holds at most `MAX_COOKIES_PER_DOMAIN` received cookies of `MAX_COOKIE_BYTES` each for one registered domain,
   and at most `MAX_DOMAINS` domains. The domain whose last request is the oldest is evicted first. A server cannot
   evict the cookies of a login, which were added and not received.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC
from email.utils import parsedate_to_datetime

from thresher.crawler.wire.http.message import Headers
from thresher.crawler.wire.http.request import Target
from thresher.crawler.wire.network.dns import is_address
from thresher.frontier.urls.scope import registered_domain

MAX_COOKIES_PER_DOMAIN = 50
MAX_COOKIE_BYTES = 4096
MAX_DOMAINS = 10_000
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cookie:
    """One cookie, and where it goes."""

    name: str
    value: str = field(repr=False)
    domain: str
    only_host: bool
    """Whether the hosts under the domain do not receive it."""
    path: str
    secure: bool
    expires_at: float | None
    """Seconds since the epoch; None if it lasts as long as the jar."""
    http_only: bool = False
    """Whether scripts may not read it."""


class CookieJar:
    """The cookies of every host. `clock` returns the seconds since the epoch."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._domains: OrderedDict[str, OrderedDict[_Key, Cookie]] = OrderedDict()
        self._added: set[_Key] = set()

    def header(self, target: Target) -> str:
        """Return the value of a request's Cookie header; empty if there are no cookies for it."""
        domain = _jar_domain(target.host)
        jar = self._domains.get(domain)
        if jar is None:
            return ""
        self._domains.move_to_end(domain)
        now = self._clock()
        for key in [key for key, one in jar.items() if one.expires_at is not None and one.expires_at <= now]:
            del jar[key]
        fitting = [one for one in jar.values() if _fits(one, target)]
        fitting.sort(key=lambda one: -len(one.path))
        return "; ".join(f"{one.name}={one.value}" if one.name else one.value for one in fitting)

    def store(self, target: Target, headers: Headers, *, new_only: bool = False) -> None:
        """Store the cookies of a response; with `new_only` keep the value of a cookie that is stored already."""
        for name, value in headers:
            if name.lower() == "set-cookie" and len(value) <= 2 * MAX_COOKIE_BYTES:
                self._set(target, value, new_only)

    def add(self, cookie: Cookie, host: str) -> None:
        """Store a cookie that no response has set here. Ignore one that neither `host` nor a host under it would send,
        and one that no request can have.
        """
        is_sendable = not any(ord(each) < 0x20 or each == ";" for each in cookie.name + cookie.value)
        is_above = not cookie.only_host and _may_set_domain(cookie.domain, host)
        if is_sendable and (is_above or cookie.domain == host or cookie.domain.endswith(f".{host}")):
            self._added.add((cookie.domain, cookie.path, cookie.name))
            self._put(_jar_domain(cookie.domain), cookie)

    def __iter__(self) -> Iterator[Cookie]:
        """Yield every cookie that has not expired."""
        now = self._clock()
        for jar in self._domains.values():
            yield from (one for one in jar.values() if one.expires_at is None or one.expires_at > now)

    def _set(self, target: Target, text: str, new_only: bool) -> None:
        cookie = _parsed(target, text, self._clock())
        if cookie is not None:
            self._put(_jar_domain(target.host), cookie, new_only)

    def _put(self, domain: str, cookie: Cookie, new_only: bool = False) -> None:
        jar = self._domains.setdefault(domain, OrderedDict())
        key = (cookie.domain, cookie.path, cookie.name)
        if new_only and key in jar:
            return
        jar.pop(key, None)
        if cookie.expires_at is None or cookie.expires_at > self._clock():
            jar[key] = cookie
        received = [each for each in jar if each not in self._added]
        if len(received) > MAX_COOKIES_PER_DOMAIN:
            del jar[received[0]]
        if len(self._domains) > MAX_DOMAINS:
            self._domains.popitem(last=False)

    def __repr__(self) -> str:
        return f"<cookies of {len(self._domains)} domains>"


def _parsed(target: Target, text: str, now: float) -> Cookie | None:
    """Return the cookie of one Set-Cookie header by RFC 6265, sections 5.2 and 5.3; None if it must not be stored."""
    pair, *attributes = text.split(";")
    name, equals, value = pair.partition("=")
    name, value = (name.strip(), value.strip()) if equals else ("", pair.strip())
    if (
        not (name or value)
        or len(name) + len(value) > MAX_COOKIE_BYTES
        or any(ord(each) < 0x20 for each in name + value)
    ):
        return None
    fields: dict[str, str] = {}
    for attribute in attributes:
        key, _, attribute_value = attribute.partition("=")
        fields[key.strip().lower()] = attribute_value.strip()
    domain = fields.get("domain", "").removeprefix(".").lower()
    if domain and not _may_set_domain(domain, target.host):
        return None
    path = fields.get("path", "")
    secure = "secure" in fields
    if secure and target.scheme != "https":
        return None
    if name.lower().startswith("__secure-") and not secure:
        return None
    if name.lower().startswith("__host-") and not (secure and not domain and path == "/"):
        return None
    return Cookie(
        name=name,
        value=value,
        domain=domain or target.host,
        only_host=not domain,
        path=path if path.startswith("/") else _default_path(target.path),
        secure=secure,
        expires_at=_expiry_time(fields, now),
        http_only="httponly" in fields,
    )


def _expiry_time(fields: dict[str, str], now: float) -> float | None:
    age = fields.get("max-age", "")
    if age.removeprefix("-").isdecimal() and age.isascii():
        return now + int(age[:12])
    try:
        date = parsedate_to_datetime(fields.get("expires", ""))
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _may_set_domain(domain: str, host: str) -> bool:
    if domain == host:
        return True
    owner = _jar_domain(host)
    within = domain == owner or domain.endswith(f".{owner}")
    return within and host.endswith(f".{domain}") and not is_address(host)


def _fits(cookie: Cookie, target: Target) -> bool:
    if cookie.secure and target.scheme != "https":
        return False
    if target.host != cookie.domain and (cookie.only_host or not target.host.endswith(f".{cookie.domain}")):
        return False
    path = target.path.partition("?")[0]
    return path == cookie.path or path.startswith(
        cookie.path if cookie.path.endswith("/") else f"{cookie.path}/"
    )


def _default_path(path: str) -> str:
    return path.partition("?")[0].rpartition("/")[0] or "/"


def _jar_domain(host: str) -> str:
    return host if is_address(host) else registered_domain(host)
