"""`Chain`: the redirects by which a URL was come to, and what one that leads back to one of them is worth. Pure.

The frontier asks for a page once, so a redirect that leads back would end nowhere. Servers send back for two good reasons:

1. A cookie: who comes without it is sent away, and back (`/` to `/`, or `/` to `/welcome` to `/`). Where cookies are kept, the
   page is asked for again, with it. Where they are not, the reason says so: `needs_cookie`.
2. A spelling: `/%7Eann` to `/~ann`, `?b=2&a=1` to `?a=1&b=2`, `?utm_source=x` to the same without. The page is asked for again
   in the spelling that the server wants.

Whatever the server does, a page is asked for `MOST` times in one chain at most.

The chain travels in the note of the URL (`crawler.note`): for each exchange of it eleven octets, of which six are a hash of the
page, four a hash of the form that was requested, and one says whether a cookie was set.
"""

from hashlib import blake2b
from typing import Literal, NamedTuple

from core import Url
from frontier.identity import page_key

MOST = 3
LONGEST = 33
"""Exchanges of the longest chain: ten redirects lead on (`crawler.page.HOPS`), and each of eleven pages is asked for thrice."""
BYTES = 11
_PAGE, _FORM = 6, 4

Way = Literal["on", "again", "needs_cookie", "loop"]


class _Exchange(NamedTuple):
    page: bytes
    form: bytes
    cookie: bool


def longer(chain: bytes, url: Url, *, cookie: bool) -> bytes:
    """The chain with one more exchange: `url` was asked for, and its answer set a cookie or not."""
    page, form = _page(url), _hash(url.wire, _FORM)
    return (chain + page + form + bytes((cookie,)))[-LONGEST * BYTES :]


def way(chain: bytes, target: Url, *, cookies: bool) -> Way:
    """Where a redirect leads at the end of a chain: on, to what was not asked for in it; back to a page that is worth asking
    `again`; or nowhere. `cookies` says whether they are kept.
    """
    page, form = _page(target), _hash(target.wire, _FORM)
    exchanges = _exchanges(chain)
    asked = [at for at, exchange in enumerate(exchanges) if exchange.page == page]
    if not asked:
        return "on"
    spelt_so = [at for at in asked if exchanges[at].form == form]
    cookie = bool(spelt_so) and any(exchange.cookie for exchange in exchanges[spelt_so[-1] :])
    if len(asked) < MOST and (not spelt_so or (cookie and cookies)):
        return "again"
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
