"""Who a client of the console is. Pure, but for the random numbers of a session.

1. On loopback, without a token, whoever reaches the console is its user. The Host header must then be a loopback name,
   because a page of the web can give its own name the address 127.0.0.1 (DNS rebinding).
2. With a token, a client shows it: a program as `Authorization: Bearer TOKEN`, a browser once, in a form. It gets a
   cookie that holds no token and ends after `SESSION_S`.
3. With a trusted header, requests must come from the named networks of the proxy, which says who the user is.
4. A form carries a number that only a page of ours, shown to the same browser, can hold (CSRF).
"""

import hashlib
import hmac
import ipaddress
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from thresher.core import InputError
from thresher.core.standards.ip_address import mapped_address

Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
COOKIE = "thresher_console"
SESSION_S = 12 * 3600
MIN_TOKEN = 16
"""Characters of the shortest token: 64 bits if it is made of random hexadecimal digits."""
MAX_WHO = 200
LOOPBACK_NAME = re.compile(
    r"(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?", re.IGNORECASE | re.ASCII
)
_SESSION = re.compile(r"(\d{1,12})\.([0-9a-f]{32})\.([0-9a-f]{64})", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRules:
    """How clients are recognised."""

    token: str = ""
    """Empty for none."""
    proxy_header: str = ""
    """Header in which a proxy names the user, in lower case; empty for none."""
    proxy_networks: tuple[Network, ...] = ()
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    """What sessions and forms are signed with."""

    @classmethod
    def of(
        cls, *, host: str, token: str = "", proxy_header: str = "", proxy_networks: tuple[str, ...] = ()
    ) -> "AccessRules":
        """Return the rules for a console that listens at `host`. Raise `InputError` if strangers could use it."""
        if token and (len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable()):
            raise InputError(
                f"THRESHER_CONSOLE_TOKEN: give {MIN_TOKEN} printable ASCII characters or more, such as from"
                " `openssl rand -hex 32`"
            )
        if bool(proxy_header) != bool(proxy_networks):
            raise InputError(
                "--trust-proxy-header and --proxy-network belong together: without the proxy's network anybody could"
                " send the header"
            )
        if proxy_header and not re.fullmatch(r"[A-Za-z0-9-]{1,64}", proxy_header):
            raise InputError(f"--trust-proxy-header {proxy_header!r}: give the name of a header")
        if not is_loopback(host) and not token and not proxy_header:
            raise InputError(
                f"--host {host}: others can reach it; set THRESHER_CONSOLE_TOKEN, or name a proxy that authenticates"
                " with --trust-proxy-header and --proxy-network, or listen at 127.0.0.1"
            )
        # With a token, sessions outlive a restart of the console.
        key = hmac.digest(token.encode(), b"thresher console", "sha256") if token else secrets.token_bytes(32)
        return cls(
            token=token,
            proxy_header=proxy_header.lower(),
            proxy_networks=tuple(map(_network, proxy_networks)),
            key=key,
        )

    @property
    def is_open(self) -> bool:
        """Whether everybody who reaches the console is its user."""
        return not self.token and not self.proxy_header

    def is_token(self, text: str) -> bool:
        """Return whether a text is the token, in a time that does not tell how much of it is right."""
        return bool(self.token) and hmac.compare_digest(
            hashlib.sha256(text.encode(errors="replace")).digest(),
            hashlib.sha256(self.token.encode()).digest(),
        )

    def new_session(self, now_s: float) -> str:
        """Return the value of a new cookie."""
        head = f"{int(now_s) + SESSION_S}.{secrets.token_hex(16)}"
        return f"{head}.{self._sign(b'session', head)}"

    def is_session(self, cookie: str, now_s: float) -> bool:
        """Return whether a cookie is ours and has not ended."""
        found = _SESSION.fullmatch(cookie)
        if found is None or int(found[1]) <= now_s:
            return False
        return hmac.compare_digest(self._sign(b"session", f"{found[1]}.{found[2]}"), found[3])

    def form_number(self, cookie: str) -> str:
        """Return the number that the forms of a session carry."""
        return self._sign(b"form", cookie)

    def is_form_number(self, cookie: str, text: str) -> bool:
        """Return whether a form was made for the session of the cookie."""
        return hmac.compare_digest(self.form_number(cookie).encode(), text.encode(errors="replace"))

    def who(self, *, address: str, headers: Mapping[str, str], cookie: str, now_s: float) -> str | None:
        """Return the name of the client's user; None if the client must show a token first.

        `headers` have names in lower case. `address` is the network address of the client or of its proxy.
        """
        if self.proxy_header:
            user = headers.get(self.proxy_header, "").strip(
                " \t"
            )  # a line break stays: the header came twice
            if user and len(user) <= MAX_WHO and user.isprintable() and self._is_proxy(address):
                return user
        if self.token:
            kind, _, shown = headers.get("authorization", "").partition(" ")
            if kind.lower() == "bearer" and self.is_token(shown.strip()):
                return "token"
            if self.is_session(cookie, now_s):
                return "token"
        return "local" if self.is_open else None

    def is_host_allowed(self, host: str) -> bool:
        """Return whether a Host header may be that of a user."""
        return not self.is_open or LOOPBACK_NAME.fullmatch(host) is not None

    def _is_proxy(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        found = mapped_address(found) or found
        return any(found in network for network in self.proxy_networks)

    def _sign(self, purpose: bytes, text: str) -> str:
        return hmac.digest(self.key, purpose + b"\0" + text.encode(errors="replace"), "sha256").hex()


def is_loopback(host: str) -> bool:
    """Return whether only programs of this machine reach an address or a name."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    return (mapped_address(address) or address).is_loopback


def is_same_origin(headers: Mapping[str, str]) -> bool:
    """Return whether a request that changes something may come from a page of ours: a browser says where a request
    comes from (Origin, Sec-Fetch-Site); a program says nothing.
    """
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = headers.get("origin")
    if origin is None:
        return True
    scheme, _, authority = origin.partition("://")
    return scheme in {"http", "https"} and authority.lower() == headers.get("host", "").lower()


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        raise InputError(
            f"--proxy-network {text!r}: give an address or a network such as 10.0.0.0/24"
        ) from None
