"""`RequestGuard`: ASGI middleware that refuses what no page of ours sends, before anything reads it, and that puts the
security headers on every response.

1. The body of a request has `MAX_BODY` bytes at most, and its address `MAX_TARGET`.
2. Who the client is stands in `scope["state"]` as `Client`. A client without a token gets 401, or the page that asks
   for it; only `OPEN_PATHS` need none.
3. A request that changes something must come from a page of ours (`access.is_same_origin`).
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from starlette.exceptions import HTTPException

from thresher.pipeline.console.web.access import COOKIE, SESSION_S, AccessRules, is_same_origin

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MAX_BODY = 64 << 10
MAX_TARGET = 8 << 10
TOO_LARGE = f"a request has at most {MAX_BODY:,} bytes"
RESPONSE_S = 60.0
"""Seconds within which a response must be sent: a client that reads slower is cut off."""
OPEN_PATHS = frozenset(
    {"/healthz", "/login", "/static/console.css", "/static/console.js", "/static/icon.svg"}
)
SAFE_METHODS = frozenset({"GET", "HEAD"})
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; frame-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": PAGE_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer a browser hides the origin of our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-dns-prefetch-control": "off",
    "cache-control": "no-store",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """Who sent a request."""

    who: str
    address: str
    cookie: str
    """The session of the browser; it may have begun with this request."""
    is_program: bool
    """Whether the request came with a token and not from a page."""


class RequestGuard:
    """Guards an ASGI application."""

    def __init__(self, app: App, *, rules: AccessRules, clock: Callable[[], float] = time.time) -> None:
        self._app, self._rules, self._clock = app, rules, clock

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Required by ASGI."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        headers = _headers(scope["headers"])
        now_s = self._clock()
        sessions = (
            each for each in _cookies(headers.get("cookie", "")) if self._rules.is_session(each, now_s)
        )
        cookie = next(sessions, "")
        is_new = not cookie
        address = (scope.get("client") or ("", 0))[0]
        who = self._rules.who(address=address, headers=headers, cookie=cookie, now_s=now_s)
        if is_new and (who is not None):
            cookie = self._rules.new_session(now_s)
        refusal = self._refusal(scope, headers, who)
        client = Client(who=who or "", address=address, cookie=cookie, is_program="authorization" in headers)
        scope.setdefault("state", {})["client"] = client
        is_set = is_new and who is not None and not client.is_program and scope["path"] not in OPEN_PATHS
        fresh = session_cookie(cookie, is_secure=scope["scheme"] == "https") if is_set else ""
        sender = _Sender(send, fresh)
        if refusal is not None:
            await _refuse(sender, *refusal, wants_page=_wants_page(headers, scope["path"]))
            return
        await self._answer(scope, _limited(receive), sender)

    async def _answer(self, scope: MutableMapping[str, Any], receive: Receive, send: "_Sender") -> None:
        try:
            async with asyncio.timeout(RESPONSE_S):
                await self._app(scope, receive, send)
        except TimeoutError:
            if not send.has_started:
                await _refuse(send, 503, f"no answer within {RESPONSE_S:g} s", wants_page=False)
            raise

    def _refusal(
        self, scope: MutableMapping[str, Any], headers: dict[str, str], who: str | None
    ) -> tuple[int, str] | None:
        """Return status and text of a refusal; None if the request goes on."""
        if not self._rules.is_host_allowed(headers.get("host", "")):
            return 421, "this console answers to localhost and 127.0.0.1 alone; see docs/guides/console.md"
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"") > MAX_TARGET:
            return 414, f"an address has at most {MAX_TARGET:,} bytes"
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            return 413, TOO_LARGE
        if scope["method"] not in SAFE_METHODS and not is_same_origin(headers):
            return 403, "the request comes from another site"
        if who is None and scope["path"] not in OPEN_PATHS:
            return 401, "show the token"
        return None


def session_cookie(value: str, *, is_secure: bool) -> str:
    """Return a Set-Cookie header for a session."""
    secure = "; Secure" if is_secure else ""
    return f"{COOKIE}={value}; Path=/; Max-Age={SESSION_S}; HttpOnly; SameSite=Strict{secure}"


class _Sender:
    """Puts headers on the start of a response, unless the response has its own."""

    def __init__(self, send: Send, cookie: str) -> None:
        self._send, self._cookie = send, cookie
        self.has_started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_started = True
            own = [(name.lower(), value) for name, value in message.get("headers", [])]
            named = {name for name, _ in own}
            more = [
                (name.encode(), value.encode())
                for name, value in HEADERS.items()
                if name.encode() not in named
            ]
            if self._cookie and b"set-cookie" not in named:
                more.append((b"set-cookie", self._cookie.encode()))
            message = {**message, "headers": [*own, *more]}
        await self._send(message)


def _limited(receive: Receive) -> Receive:
    """Return a `receive` that raises once the body is too long: a chunked body says no length."""
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MAX_BODY:
            raise HTTPException(413, TOO_LARGE)
        return message

    return limited


async def _refuse(send: Send, status: int, text: str, *, wants_page: bool) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    body = f"{text}\n".encode()
    if status == 401 and wants_page:
        status, headers = 303, [*headers, (b"location", b"/login")]
    elif status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _wants_page(headers: dict[str, str], path: str) -> bool:
    return "text/html" in headers.get("accept", "") and not path.startswith("/api/")


def _headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Return headers by name in lower case. One that came twice has both values, each on a line of its own: no rule
    takes such a value, so nobody can put a second user beside the one that a proxy names.
    """
    found: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}\n{value}" if name in found else value
    return found


def _cookies(header: str) -> list[str]:
    """Return the values of all cookies with our name. Other programs of the same host set cookies too, in any syntax
    and even under our name, because cookies do not know ports.
    """
    pairs = (each.partition("=") for each in re.split(r"[;\n]", header))
    return [value.strip() for name, _, value in pairs if name.strip() == COOKIE]
