"""`page_key`: the text by which the frontier remembers a page, so that it recognises a second URL of the page. Pure.

1. URLs with one canonical text are one page (`frontier.urls.canonical` folds the case of percent-encodings, escapes of
   unreserved characters, sessions and tracking parameters).
2. URLs with the same parameters in another order are one page, unless the order matters on their host
   (`UrlPolicy.query_order`). Parameters are sorted by name. Parameters of one name keep their order: servers read the
   first, the last or a list of them, and scripts that append to their own address make `?page=1&page=2`. Scrapy's
   fingerprint folds all this and more (the order of values of one name, `+` and `%20`, `a` and `a=`, escapes of
   reserved characters), which servers tell apart.
3. Nothing else uses this key. The request, the archive and its index have the URL in the form that was found first.
4. A page is known once for each generation, and once more for each lease whose answer redirected back to it
   (`Discovery.again`). Once any of these is known, the page itself is known.

Of 262,000 different links on 3,356 pages of the open web, 13 pairs differ in the order of parameters alone, and each
pair is one page (bench/frontier/folding.py).
"""

import hashlib

from thresher.core import Url
from thresher.frontier.lease import Discovery
from thresher.frontier.policy import OFF, HostSwitch

_HASH_BYTES = 7  # 2 choose a bucket, 5 are the fingerprint (lua/verbs/seen.lua)


def page_key(text: str, host: str = "", query_order: HostSwitch = OFF) -> str:
    """Return the text that stands for a page, given the canonical text of one of its URLs. `query_order` says on which
    hosts the order of parameters matters.
    """
    if "&" not in text or query_order.is_on(host):
        return text
    path, _, query = text.partition("?")
    if "&" not in query:
        return text
    return f"{path}?{'&'.join(sorted(query.split('&'), key=_name))}"


def discovery_key(discovery: Discovery, query_order: HostSwitch = OFF) -> str:
    """Return the key by which a discovery is known: a second discovery with this key adds nothing."""
    key = page_key(discovery.url.text, discovery.url.host, query_order)
    if discovery.again:
        return f"{discovery.generation} {discovery.again} {key}"
    return f"{discovery.generation} {key}" if discovery.generation else key


def discovery_hash(discovery: Discovery, query_order: HostSwitch = OFF) -> bytes:
    """Return `page_hash`; if the discovery has a generation or comes from a redirect back, seven bytes of a BLAKE2b
    hash of its key follow.
    """
    found = page_hash(discovery.url, query_order)
    return (
        found + _hash(discovery_key(discovery, query_order))
        if discovery.generation or discovery.again
        else found
    )


def page_hash(url: Url, query_order: HostSwitch = OFF) -> bytes:
    """Return seven bytes of a BLAKE2b hash of the text that stands for a page."""
    return _hash(page_key(url.text, url.host, query_order))


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=_HASH_BYTES).digest()


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]
