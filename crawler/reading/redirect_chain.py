"""`Chain`: the redirects that led to a URL, and whether a redirect that leads back to one of them is followed. Pure.

The frontier asks for a page once, so a redirect that leads back would end nowhere. Servers send back for two good
reasons:

1. A cookie. A client without it is redirected, and redirected back (`/` to `/`, or `/` to `/welcome` to `/`). If
   cookies are kept, the page is asked for again, with the cookie. If not, the reason is `needs_cookie`.
2. A spelling: `/%7Eann` to `/~ann`, `?b=2&a=1` to `?a=1&b=2`, `?utm_source=x` to the same URL without it. The page is
   asked for again in the spelling that the server wants.

Whatever the server does, one chain asks for a page at most `MOST` times.

A chain is bytes, and travels in the note of the URL (`crawler.reading.request_state`). Each exchange takes eleven:
six of a hash of the page, four of a hash of the requested form, one that says whether the answer set a cookie.
"""

from hashlib import blake2b
from typing import Literal, NamedTuple

from core import Url
from frontier.page_key import page_key

MAX_REQUESTS_PER_PAGE = 3
MAX_EXCHANGES = 33
"""Exchanges of the longest chain: ten redirects (`crawler.reading.page_reading.MAX_REDIRECTS`) lead to eleven pages,
each asked for `MAX_REQUESTS_PER_PAGE` times."""
BYTES = 11
_PAGE, _FORM = 6, 4

RedirectDecision = Literal["follow", "ask_again", "needs_cookie", "loop"]


class _Exchange(NamedTuple):
    page: bytes
    form: bytes
    cookie: bool


def append(chain: bytes, url: Url, *, cookie: bool) -> bytes:
    """Return the chain with the exchange for `url`, whose answer set a cookie or did not."""
    return (chain + _page(url) + _hash(url.wire, _FORM) + bytes((cookie,)))[-MAX_EXCHANGES * BYTES :]


def decide(chain: bytes, target: Url, *, cookies: bool) -> RedirectDecision:
    """Decide about a redirect at the end of a chain. `cookies` says whether the crawl keeps them.

    `follow`: the chain has not asked for the page yet. `ask_again`: it has, and a cookie or the spelling is new. The
    others are reasons why the redirect ends.
    """
    page, form = _page(target), _hash(target.wire, _FORM)
    exchanges = _exchanges(chain)
    asked = [at for at, exchange in enumerate(exchanges) if exchange.page == page]
    if not asked:
        return "follow"
    same_form = [at for at in asked if exchanges[at].form == form]
    cookie = bool(same_form) and any(exchange.cookie for exchange in exchanges[same_form[-1] :])
    if len(asked) < MAX_REQUESTS_PER_PAGE and (not same_form or (cookie and cookies)):
        return "ask_again"
    return "needs_cookie" if cookie and not cookies else "loop"


def _exchanges(chain: bytes) -> list[_Exchange]:
    return [
        _Exchange(chain[at : at + _PAGE], chain[at + _PAGE : at + BYTES - 1], bool(chain[at + BYTES - 1]))
        for at in range(0, len(chain) - BYTES + 1, BYTES)
    ]


def _page(url: Url) -> bytes:
    return _hash(page_key(url.text), _PAGE)


def _hash(text: str, size: int) -> bytes:
    return blake2b(text.encode(), digest_size=size).digest()
