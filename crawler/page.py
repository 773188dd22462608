"""From the answer of a page to the settlement of its lease: outcome, and what was found. Pure.

The same function reads an answer that has just come and one that a dead worker left in the archive, so that a
page comes to the same either way.

1. Links are followed on HTML pages only, as deep as the lease says, within its scope, and not where the page
   (meta robots) or the server (X-Robots-Tag) says nofollow and that is obeyed.
2. A redirect's target is one discovery, of the same depth, within the scope, ten hops at most. What it leads
   to is fetched under its own lease, its own robots rules, its own delay.
3. A URL that a trap would make (`frontier.trap`) is no discovery; like one out of scope it is left out and not counted.
4. An HTML page is sketched, so that the frontier can tell who says nothing new.
5. A page that is as it was when it came last (`crawler.conditional`) leads to nothing that it did not lead to then.
6. What the next visit is to know of a page is noted, where there is to be one.
7. A sitemap (`listed`) is no page: it leads to what it lists, and what it redirects to is a sitemap. Its note goes on.
8. What stands in the place of a page (`extract.suspicion`) says nothing new, whatever it says. A block is the host's way
   to say that it is busy: the page is asked for again, later.
9. Of a page that was rendered counts what its browser saw, even if the answer is as it was; where its scripts would have gone
   is a link of it.
"""

import re
from collections.abc import Container
from dataclasses import dataclass, replace

from core import Url
from crawler.answer import DENIED, HTML, Answer, is_read
from crawler.conditional import note_of, unchanged
from crawler.listed import is_in_reach, is_sitemap, leads_on, listed
from crawler.note import decode, encode
from crawler.outcome import BLOCKED, Judgement, as_browsers_read, of_response
from crawler.sitemap import listing
from crawler.sketch import NOTHING, sketch
from crawler.targets import target, targets
from extract.charset import utf8
from extract.links import links
from extract.rights import Rights, rights
from extract.suspicion import suspicion
from frontier import Discovery, Lease, NotAUrl, Outcome, Settlement, canonical
from frontier.trap import pitfall
from storage.dropped import Dropped
from storage.records import mime_of

HOPS = 10
"""Redirects followed from one URL: half of what browsers follow (Fetch standard: 20)."""

NOTHING_SAID = Rights()
UNCHANGED = Judgement(outcome=Outcome.UNCHANGED, reason="")
_LOOKS_LIKE_HTML = re.compile(
    rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_SNIFFED = 1_445  # bytes: the resource header of the MIME Sniffing standard
OBEY = ("nofollow",)
"""What pages ask of crawlers that is done where nobody says otherwise (`extract.rights`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What an answer comes to."""

    settlement: Settlement
    outlinks: tuple[str, ...] = ()
    """All that it leads to, in the form to be requested, whoever knows of it and whatever the scope."""
    rights: Rights = NOTHING_SAID
    """What it says of how it may be used."""


def settlement(
    lease: Lease, found: Answer, known: Container[str] = frozenset(), obey: Container[str] = OBEY
) -> Settlement:
    """Return how the lease ends. URLs whose text is in `known` are not worth telling the frontier again."""
    return read(lease, found, known, obey).settlement


def read(
    lease: Lease, found: Answer, known: Container[str] = frozenset(), obey: Container[str] = OBEY
) -> Reading:
    """Return what an answer comes to: `settlement`, and what goes into the archive with it."""
    before = decode(lease.note)
    is_same = found.rendering is None and unchanged(
        before, found.status, found.digest, whole=found.truncated is None
    )
    if before.kind == "page" and is_same:
        reading = Reading(settlement=settled(lease, UNCHANGED))
    else:
        reading = _read(lease, found, known, obey)
    if lease.interval_s and before.kind == "page":
        noted = replace(reading.settlement, note=encode(note_of(before, found)))
        return replace(reading, settlement=noted)
    return reading


def _read(lease: Lease, found: Answer, known: Container[str], obey: Container[str]) -> Reading:
    judgement = of_response(
        found.status,
        truncated=found.truncated,
        retry_after=found.header("retry-after"),
        now_ms=found.received_ms,
        attempt=lease.attempt,
    )
    if judgement.outcome is Outcome.REDIRECTED:
        return _redirected(lease, found)
    if found.rendering is not None and found.rendering.problem:
        judgement = replace(judgement, reason=found.rendering.problem)
    if is_sitemap(lease):
        return Reading(settlement=_of_sitemap(lease, found, judgement, known))
    again = judgement.outcome is Outcome.RETRY  # nothing is read of what is to come once more
    if again or not (is_read(found.status) and found.body and _is_html(found)):
        return Reading(
            settlement=settled(lease, judgement), rights=rights(found.headers, at_ms=found.received_ms)
        )
    (html, codec), said = utf8(found.body, found.header("content-type")), NOTHING
    match suspicion(found.header, html):
        case "block_page":
            return Reading(settlement=settled(lease, BLOCKED))
        case _ if found.status == DENIED:
            return Reading(settlement=settled(lease, judgement))
        case None:
            said = sketch(html, lease.url.text)
        case why:
            judgement = replace(judgement, reason=why)
    page = links(html, lease.url.wire, codec)
    urls = targets((*page.hrefs, *(found.rendering.went if found.rendering else ())), page.base)
    told = rights(found.headers, page.metas, at_ms=found.received_ms)
    followed: tuple[Discovery, ...] = ()
    if leads_on(lease) and not ("nofollow" in obey and "nofollow" in told.robots):
        new = (url for url in urls if url.text not in known and lease.scope.admits(url))
        followed = tuple(_discovery(lease, url, depth=lease.depth + 1, hops=0) for url in new)
    return Reading(
        settlement=settled(lease, judgement, followed, said),
        outlinks=tuple(url.wire for url in urls),
        rights=told,
    )


def settlement_of_dropped(lease: Lease, found: Dropped, received_ms: int) -> Settlement:
    """Return how the lease of a page ends that was not archived: as `settlement` had it."""
    judgement = of_response(
        found.status,
        truncated=found.truncated,
        retry_after=found.retry_after,
        now_ms=received_ms,
        attempt=lease.attempt,
    )
    urls = (target(outlink) for outlink in found.outlinks)
    links = tuple(_discovery(lease, url, depth=lease.depth + 1, hops=0) for url in urls if url is not None)
    return settled(lease, judgement, links)


def forbids_following(found: Answer, base: str) -> bool:
    """Whether the page, or its server, asks that its links not be followed. `base` is its URL."""
    return "nofollow" in rights_of(found, base).robots


def rights_of(found: Answer, base: str) -> Rights:
    """What the page, and its server, say of how it may be used."""
    metas: tuple[tuple[str, str], ...] = ()
    if 200 <= found.status < 300 and found.body and _is_html(found):
        metas = links(utf8(found.body, found.header("content-type"))[0], base).metas
    return rights(found.headers, metas, at_ms=found.received_ms)


def settled(
    lease: Lease, judgement: Judgement, discoveries: tuple[Discovery, ...] = (), said: int | None = None
) -> Settlement:
    """Return the settlement that a judgement asks for."""
    return Settlement(
        lease=lease,
        outcome=judgement.outcome,
        reason=judgement.reason,
        discoveries=discoveries,
        retry_after_ms=judgement.retry_after_ms,
        hold_ms=judgement.hold_ms,
        fault=judgement.fault,
        sketch=said,
    )


def _of_sitemap(lease: Lease, found: Answer, judgement: Judgement, known: Container[str]) -> Settlement:
    if not 200 <= found.status < 300 or judgement.outcome is Outcome.RETRY:
        return replace(settled(lease, judgement), note=lease.note)
    lists = listing(found.body)
    if (lists.left or lists.cut) and not judgement.reason:
        judgement = replace(judgement, reason="sitemap_too_long")
    discoveries = listed(lease, lists.entries, found.received_ms, known)
    return replace(settled(lease, judgement, discoveries), note=lease.note)


def _redirected(lease: Lease, found: Answer) -> Reading:
    reason = ""
    discoveries: tuple[Discovery, ...] = ()
    location = as_browsers_read(found.header("location") or "")
    try:
        url = canonical(location, lease.url.text)
    except NotAUrl:
        url = None
    if not location:
        reason = "no_location"
    elif url is None:
        reason = "bad_location"
    elif url.text == lease.url.text:
        reason = "to_itself"
    elif not (lease.scope.admits(url) or (is_sitemap(lease) and is_in_reach(lease, url))):
        reason = "out_of_scope"
    elif lease.hops >= HOPS:
        reason = "too_many_hops"
    elif pitfall(url):
        reason = "trap"
    else:
        target = _discovery(lease, url, depth=lease.depth, hops=lease.hops + 1)
        discoveries = (replace(target, note=lease.note) if is_sitemap(lease) else target,)
    ended = Settlement(lease=lease, outcome=Outcome.REDIRECTED, reason=reason, discoveries=discoveries)
    return Reading(settlement=ended, outlinks=() if url is None else (url.wire,))


def _discovery(lease: Lease, url: Url, *, depth: int, hops: int) -> Discovery:
    return Discovery(
        url=url,
        scope=lease.scope,
        depth=depth,
        max_depth=lease.max_depth,
        hops=hops,
        referrer=lease.url.wire,
        interval_s=lease.interval_s,
    )


def _is_html(found: Answer) -> bool:
    mime = mime_of(found.header("content-type"))
    return mime in HTML or (mime == "" and _LOOKS_LIKE_HTML.match(found.body[:_SNIFFED]) is not None)
