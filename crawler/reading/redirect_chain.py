"""The redirects that led to a URL, and whether a redirect that leads back to one of them is followed. Pure.

The frontier leases a page once, so a redirect that leads back would end nowhere. Servers redirect back for two good
reasons:

1. A cookie. A client without it is redirected, and redirected back (`/` to `/`, or `/` to `/welcome` to `/`). If
   cookies are kept, the page is requested again, with the cookie. If not, the reason is `needs_cookie`.
2. A spelling: `/%7Eann` to `/~ann`, `?b=2&a=1` to `?a=1&b=2`, `?utm_source=x` to the same URL without it. The page is
   requested again in the spelling of the server.

Whatever the server does, one chain requests a page at most `MAX_REQUESTS_PER_PAGE` times.

The target of a redirect is one discovery, of the same depth, within the scope, after at most ten hops. It is fetched
under its own lease, its own robots rules and its own delay. The target of a listed URL is a listed URL; that of a
sitemap is a sitemap.

A chain is bytes, and travels in the request state of the URL (`frontier.request_state`). Each exchange takes eleven
bytes: six of a hash of the page, four of a hash of the requested form, and one that says whether the response set a
cookie.
"""

from dataclasses import replace
from hashlib import blake2b
from typing import Literal, NamedTuple

from thresher.core import Url
from thresher.crawler.reading.page_options import PageOptions
from thresher.crawler.reading.page_response import PageResponse
from thresher.crawler.reading.sitemap_discoveries import may_read_sitemap
from thresher.frontier import Discovery, Lease
from thresher.frontier.page_key import page_key
from thresher.frontier.request_state import MAX_CHAIN_BYTES, RequestState
from thresher.frontier.urls.trap import trap_reason

MAX_REDIRECTS = 10
"""Redirects followed from one URL: half of what browsers follow (Fetch standard: 20)."""
MAX_REQUESTS_PER_PAGE = 3
BYTES = 11
MAX_EXCHANGES = MAX_CHAIN_BYTES // BYTES
"""Exchanges of the longest chain: ten redirects (`MAX_REDIRECTS`) lead to eleven pages, and each page is requested
`MAX_REQUESTS_PER_PAGE` times."""
_PAGE, _FORM = 6, 4

RedirectDecision = Literal["follow", "ask_again", "needs_cookie", "loop"]


class _Exchange(NamedTuple):
    page: bytes
    form: bytes
    cookie: bool


def redirect_refusal(lease: Lease, url: Url, options: PageOptions) -> str:
    """Return why a redirect's target is not requested, whatever led to it; empty if it may be."""
    if not (lease.scope.admits(url) or (lease.state.is_list and may_read_sitemap(lease, url))):
        return "out_of_scope"
    if lease.hops >= MAX_REDIRECTS:
        return "too_many_hops"
    if trap_reason(url) and options.traps.is_on(url.host) and not lease.listed:
        return "trap"
    return ""


def redirect_discovery(
    lease: Lease, response: PageResponse, url: Url, options: PageOptions
) -> Discovery | str:
    """Return the discovery of a redirect's target, or the reason why the redirects before forbid it."""
    before = lease.state
    cookies = [value for name, value in response.headers if name.lower() == "set-cookie"]
    chain = append(before.chain, lease.url, cookie=bool(cookies))
    decision = decide(chain, url, cookies=options.cookies)
    if decision == "loop" and url.text == lease.url.text:
        return "to_itself"
    if decision in {"loop", "needs_cookie"}:
        return decision
    again = decision == "ask_again"
    # The same page keeps the state of its last capture; another one keeps only that it is read as a sitemap.
    state = before if again else RequestState(kind=before.kind, level=before.level)
    jar = (*before.cookies, *((lease.url.wire, cookie) for cookie in cookies)) if options.cookies else ()
    return Discovery(
        url=url,
        scope=lease.scope,
        depth=lease.depth,
        max_depth=lease.max_depth,
        hops=lease.hops + (not again),
        referrer=lease.url.wire,
        interval_s=lease.interval_s,
        listed=lease.listed,
        priority=lease.priority,
        generation=lease.generation if again else 0,
        again=lease.token if again else 0,
        state=replace(state, chain=chain, cookies=jar),
    )


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
