"""`identity`: which URLs are one page to the frontier, so that the second one found is known. Pure.

1. URLs of one canonical text are one page (`frontier.canonical`: case of percent-encodings, escapes of unreserved
   characters, sessions, tracking).
2. So are URLs whose queries have the same parameters in another order, unless the crawl says that the order matters on
   their host (`Policy.query_order`). Parameters are put in order by their names. Those of one name keep their order: servers
   read a list of them, or the last, or the first, and scripts that append to their own address make `?page=1&page=2`.
   Scrapy's fingerprint folds the same, and more (values of one name, `+` and `%20`, `a` and `a=`, escapes of reserved
   characters), which servers tell apart.
3. What is asked, archived and indexed is the URL as it was found first: identity is never sent, and nothing is made of it.
4. A page is known once for each generation, and once more for each lease whose answer leads back to it (`Discovery.again`).

Of 262,000 different links of 3,356 pages of the open web 13 pairs differ in the order of parameters alone, and each is one
page (bench/folding.py).
"""

import hashlib

from frontier.lease import Discovery
from frontier.policy import OFF, Switch

_HASH = 7  # bytes: 2 choose a bucket, 5 are the fingerprint (lua/seen.lua)


def page_key(text: str, host: str = "", query_order: Switch = OFF) -> str:
    """The text that stands for a page, of the canonical text of one of its URLs. `query_order` says whether the order of
    parameters matters on its host.
    """
    if "&" not in text or query_order.of(host):
        return text
    path, _, query = text.partition("?")
    if "&" not in query:
        return text
    return f"{path}?{'&'.join(sorted(query.split('&'), key=_name))}"


def name(discovery: Discovery, query_order: Switch = OFF) -> str:
    """What a discovery is known by: another one of this name adds nothing."""
    key = page_key(discovery.url.text, discovery.url.host, query_order)
    if discovery.again:
        return f"{discovery.generation} {discovery.again} {key}"
    return f"{discovery.generation} {key}" if discovery.generation else key


def identity(discovery: Discovery, query_order: Switch = OFF) -> bytes:
    """Seven bytes of a BLAKE2b hash of the name."""
    text = discovery.url.text
    if "&" in text or discovery.generation or discovery.again:
        text = name(discovery, query_order)
    return hashlib.blake2b(text.encode(), digest_size=_HASH).digest()


def _name(parameter: str) -> str:
    return parameter.partition("=")[0]
