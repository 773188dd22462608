"""`settle`: how a page's lease ends."""

from dataclasses import replace

from frontier.lease import ATTEMPTS, Outcome, Settlement
from frontier.testing.circuit import RETRY_MS, rest_reason
from frontier.testing.crawl import Crawl
from frontier.testing.state import Host, Page
from frontier.urls.novelty import heard, said
from frontier.urls.revisit_interval import next_interval_s
from frontier.urls.template import template

_ANSWERS = {Outcome.FETCHED, Outcome.UNCHANGED, Outcome.REDIRECTED, Outcome.GONE, Outcome.RETRY}


def settle(crawl: Crawl, settlement: Settlement, now: int) -> bool:
    """End a lease; False where it is not held, or not a page's."""
    token = settlement.lease.token
    held = crawl.promises.get(token)
    if held is None or held.page is None:
        return False
    if not settlement.asked:
        crawl.spare(held)
    _, host = crawl.finish(token, now + 1 if settlement.asked else 0)
    if held.failure:  # nothing was asked: the settlement says nothing of the host
        outcome, _, reason = held.failure.partition(":")
        crawl.conclude(Outcome(outcome), reason)
        host.place(now)
        return True
    if settlement.outcome is Outcome.RETRY:
        _try_again(crawl, held.page, settlement, now)
    else:
        crawl.conclude(settlement.outcome, settlement.reason)
        _visit_again(crawl, held.page, settlement.outcome, settlement.note, now)
    if settlement.outcome in _ANSWERS or settlement.fault is not None:
        crawl.judge_page(
            host, held.page, settlement.fault, settlement.hold_ms, held.granted, now, reason=settlement.reason
        )
    else:
        host.hold(settlement.hold_ms, now, rest_reason(settlement.reason, settlement.fault))
    if settlement.sketch is not None and crawl.policy.traps.of(host.name):
        _hear(crawl, host, held.page, settlement.sketch, leads_on=bool(settlement.discoveries))
    host.place(now)
    return True


def _try_again(crawl: Crawl, page: Page, settlement: Settlement, now: int) -> None:
    wait = settlement.retry_after_ms
    if wait is None:
        wait = crawl.scaled(RETRY_MS * 2**page.attempt)
    page.attempt += 1
    if page.attempt >= ATTEMPTS:
        crawl.conclude(Outcome.FAILED, settlement.reason)
    else:
        crawl.later.append((now + max(wait, 0), page))


def _visit_again(crawl: Crawl, page: Page, outcome: Outcome, note: bytes, now: int) -> None:
    if page.found.interval_s and outcome in {Outcome.FETCHED, Outcome.UNCHANGED}:
        interval_s = next_interval_s(page.found.interval_s, changed=outcome is Outcome.FETCHED)
        again = Page(found=replace(page.found, interval_s=interval_s, note=note))
        crawl.visits.append((now + interval_s * 1000, again))


def _hear(crawl: Crawl, host: Host, page: Page, sketch: int, *, leads_on: bool) -> None:
    """The page said this: `frontier.urls.novelty`."""
    domain, name = crawl.domains[host.domain], template(page.found.url)
    domain.ring, new = heard(domain.ring, sketch)
    host.templates[name], host.standing, domain.standing = said(
        host.template(name),
        host.standing,
        domain.standing,
        new=new,
        leads_on=leads_on,
        listed=page.found.listed,
    )
