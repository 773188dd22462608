"""`settle_page`: how a page's lease ends."""

from dataclasses import replace

from thresher.frontier.lease import ATTEMPTS, Outcome, Settlement
from thresher.frontier.request_state import RequestState
from thresher.frontier.testing.model.circuit import RETRY_MS, Exchange, hold_reason
from thresher.frontier.testing.model.crawl_state import CrawlState
from thresher.frontier.testing.model.entities import Host, Page
from thresher.frontier.urls.novelty import update_ring, update_standings
from thresher.frontier.urls.revisit_interval import next_interval_s
from thresher.frontier.urls.template import url_template

_ANSWERS = {Outcome.FETCHED, Outcome.UNCHANGED, Outcome.REDIRECTED, Outcome.GONE, Outcome.RETRY}


def settle_page(crawl: CrawlState, settlement: Settlement, now: int) -> bool:
    """End a lease; return False if it is not held or not a page's."""
    token = settlement.lease.token
    held = crawl.open_leases.get(token)
    if held is None or held.page is None:
        return False
    if not settlement.has_sent_request:
        crawl.uncount_request(held)
    _, host = crawl.end_lease(token, now + 1 if settlement.has_sent_request else 0)
    if held.failure:  # no request was made, so the settlement says nothing about the host
        outcome, _, reason = held.failure.partition(":")
        crawl.count_outcome(Outcome(outcome), reason)
        host.schedule(now)
        return True
    if settlement.outcome is Outcome.RETRY:
        _try_again(crawl, held.page, settlement, now)
    else:
        crawl.count_outcome(settlement.outcome, settlement.reason)
        _visit_again(crawl, held.page, settlement.outcome, settlement.next_state, now)
    if settlement.outcome in _ANSWERS or settlement.fault is not None:
        exchange = Exchange(
            fault=settlement.fault,
            reason=settlement.reason,
            hold_ms=settlement.hold_ms,
            granted_at=held.granted_at,
        )
        crawl.record_page_exchange(host, held.page, exchange, now)
    else:
        host.hold(settlement.hold_ms, now, hold_reason(settlement.reason, settlement.fault))
    if settlement.sketch is not None and crawl.policy.traps.is_on(host.name):
        _record_novelty(crawl, host, held.page, settlement.sketch, leads_on=bool(settlement.discoveries))
    host.schedule(now)
    return True


def _try_again(crawl: CrawlState, page: Page, settlement: Settlement, now: int) -> None:
    wait = settlement.retry_after_ms
    if wait is None:
        wait = crawl.scaled(RETRY_MS * 2**page.attempt)
    page.attempt += 1
    if page.attempt >= ATTEMPTS:
        crawl.count_outcome(Outcome.FAILED, settlement.reason)
    else:
        crawl.later.append((now + max(wait, 0), page))


def _visit_again(crawl: CrawlState, page: Page, outcome: Outcome, state: RequestState, now: int) -> None:
    if page.discovery.interval_s and outcome in {Outcome.FETCHED, Outcome.UNCHANGED}:
        interval_s = next_interval_s(page.discovery.interval_s, changed=outcome is Outcome.FETCHED)
        again = Page(discovery=replace(page.discovery, interval_s=interval_s, state=state))
        crawl.visits.append((now + interval_s * 1000, again))


def _record_novelty(crawl: CrawlState, host: Host, page: Page, sketch: int, *, leads_on: bool) -> None:
    """Record what the page said (`frontier.urls.novelty`)."""
    domain, name = crawl.domains[host.domain], url_template(page.discovery.url)
    domain.ring, new = update_ring(domain.ring, sketch)
    host.templates[name], host.standing, domain.standing = update_standings(
        host.template(name),
        host.standing,
        domain.standing,
        new=new,
        leads_on=leads_on,
        listed=page.discovery.listed,
    )
