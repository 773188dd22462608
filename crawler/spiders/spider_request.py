"""What a spider's request carries through the frontier: `encode_request` writes it, and `SpiderRequest` is the decoded
form. Pure.

1. It is JSON with a version: callback and errback by the name of a method of the spider, `cb_kwargs`, `meta`, headers.
   Nothing is pickled, so that another release can read what waits in a frontier, and reading it runs no code.
2. A value that would come back as something else (a tuple, a date, an object) or not at all is an error when it is
   yielded, never a surprise when it comes back.
3. A request that has nothing but its URL is encoded as empty bytes.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scrapy import Request, Spider

from thresher.core import CorruptData, InputError
from thresher.crawler.wire.http.request import is_sendable
from thresher.frontier.request_state import MAX_SPIDER_REQUEST_BYTES

VERSION = 1
EXCHANGE_META_KEYS = frozenset({"depth", "download_latency", "download_slot", "verbatim_url"})
"""Keys of `meta` that describe one exchange; each exchange sets them anew."""
REDIRECT_URLS_KEY, REDIRECT_REASONS_KEY, REDIRECT_TIMES_KEY = (
    "redirect_urls",
    "redirect_reasons",
    "redirect_times",
)
"""Keys of `meta` with which Scrapy tells a callback which redirects led to its response."""
UNSUPPORTED_META = {
    "proxy": "proxies are the crawl's to choose",
    "bindaddress": "addresses are the crawl's to choose",
    "playwright_include_page": "a page is rendered before the spider gets it (`crawler.render`)",
    "playwright_page_methods": "a page is rendered before the spider gets it (`crawler.render`)",
}
"""Keys of `meta` that ask for something unsupported, and why it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpiderRequest:
    """How the response to a request is read."""

    callback: str = ""
    """Name of a method; empty for the spider's default callback, which is usually `parse`."""
    errback: str = ""
    cb_kwargs: Mapping[str, Any] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)
    headers: tuple[tuple[str, str], ...] = ()
    """Names and values, decoded as latin-1."""


def encode_request(request: Request, spider: Spider) -> bytes:
    """Return the bytes that keep what is needed of a request when its response has come.

    Raise `InputError` for a request that cannot be carried: any but a GET without a body, cookies, a proxy, a callback
    that is no method of the spider, `meta` or `cb_kwargs` that are no JSON, a header that no request can have, and more
    bytes than a request state may have.
    """
    if request.method != "GET" or request.body:
        raise _unsupported(
            request, spider, f"it is a {request.method}", "a frontier holds GETs without a body"
        )
    if request.cookies:
        raise _unsupported(request, spider, "it has cookies", "cookies are the crawl's to keep")
    for key in UNSUPPORTED_META.keys() & request.meta.keys():
        raise _unsupported(request, spider, f"it has meta[{key!r}]", UNSUPPORTED_META[key])
    meta = {key: value for key, value in request.meta.items() if key not in EXCHANGE_META_KEYS}
    written: dict[str, Any] = {
        "c": _name(request, spider, "callback", request.callback),
        "e": _name(request, spider, "errback", request.errback),
        "k": dict(request.cb_kwargs),
        "m": meta,
        "h": [
            [name.decode("latin-1"), value.decode("latin-1")]
            for name, values in request.headers.items()
            for value in values
        ],
    }
    for name, value in written["h"]:
        if not is_sendable(name, value):
            raise _unsupported(
                request,
                spider,
                f"no request can have its header {name!r}",
                "leave out its control characters",
            )
    fields = {key: value for key, value in written.items() if value}
    if not fields:
        return b""
    _require_json(request, spider, "cb_kwargs", request.cb_kwargs)
    _require_json(request, spider, "meta", meta)
    found = _encoded(fields)
    if len(found) > MAX_SPIDER_REQUEST_BYTES:
        raise _unsupported(
            request,
            spider,
            f"what it carries has {len(found):,} bytes, {MAX_SPIDER_REQUEST_BYTES:,} can be kept",
            "carry a key, and look up the rest in the callback",
        )
    return found


def encode_redirected(written: bytes, url: str, status: int) -> bytes:
    """Return the encoded request for the target of a redirect from `url`: the same, with the keys that Scrapy's own
    middleware sets in `meta`. If there is no room for all addresses, the first ones are dropped.
    """
    fields = _decoded(written)
    meta = dict(fields.get("m", {}))
    steps = list(
        zip(_list_value(meta, REDIRECT_URLS_KEY), _list_value(meta, REDIRECT_REASONS_KEY), strict=False)
    )
    steps.append((url, status))
    times = meta.get(REDIRECT_TIMES_KEY)
    meta[REDIRECT_TIMES_KEY] = times + 1 if isinstance(times, int) else 1
    while True:
        meta |= {
            REDIRECT_URLS_KEY: [step[0] for step in steps],
            REDIRECT_REASONS_KEY: [step[1] for step in steps],
        }
        found = _encoded({**fields, "m": meta})
        if len(found) <= MAX_SPIDER_REQUEST_BYTES:
            return found
        if not steps:
            return written
        del steps[0]


def decode_request(written: bytes) -> SpiderRequest:
    """Return the request that `encode_request` encoded. Raise `CorruptData` if it is of another version."""
    fields = _decoded(written)
    return SpiderRequest(
        callback=fields.get("c", ""),
        errback=fields.get("e", ""),
        cb_kwargs=fields.get("k", {}),
        meta=fields.get("m", {}),
        headers=tuple((name, value) for name, value in fields.get("h", [])),
    )


def _decoded(written: bytes) -> dict[str, Any]:
    if not written:
        return {}
    try:
        fields = json.loads(written.decode("utf-8", "surrogatepass"))
        version = fields["v"]
    except (ValueError, LookupError, TypeError):
        version, fields = None, {}
    if version != VERSION:
        raise CorruptData(
            f"frontier: the spider request {written[:80]!r} is of version {version}, this release reads {VERSION};"
            " crawl it to its end with the release that made it, or choose another name"
        )
    assert isinstance(fields, dict)
    return fields


def _encoded(fields: Mapping[str, Any]) -> bytes:
    return json.dumps({**fields, "v": VERSION}, ensure_ascii=False, separators=(",", ":")).encode(
        "utf-8", "surrogatepass"
    )


def _list_value(meta: Mapping[str, Any], key: str) -> list[Any]:
    found = meta.get(key)
    return found if isinstance(found, list) else []


def _name(request: Request, spider: Spider, what: str, function: Callable[..., Any] | None) -> str:
    if function is None:
        return ""
    name: str = getattr(function, "__name__", "")
    if getattr(function, "__self__", None) is not spider or getattr(spider, name, None) != function:
        raise _unsupported(
            request, spider, f"its {what} is {function!r}", "give a method of the spider, which has a name"
        )
    return name


def _require_json(request: Request, spider: Spider, what: str, value: Mapping[str, Any]) -> None:
    for key, one in value.items():
        try:
            same = json.loads(json.dumps({key: one}, allow_nan=False)) == {key: one}
        except (TypeError, ValueError, RecursionError):
            same = False
        if not same:
            raise _unsupported(
                request,
                spider,
                f"its {what}[{key!r}] is {type(one).__name__}, which does not come back from JSON unchanged",
                "carry strings, numbers, lists and dicts with string keys",
            )


def _unsupported(request: Request, spider: Spider, why: str, remedy: str) -> InputError:
    return InputError(f"spider {spider.name}: {request} cannot be carried: {why}; {remedy}")
