"""Turns the frontier's values into those that the console shows. Pure."""

from collections.abc import Mapping
from typing import Literal

from thresher.frontier import CrawlFigures, CrawlSettings, GateState, Hold, HostState, Stats, UrlState
from thresher.frontier.fleet_state import FleetState
from thresher.pipeline.console.crawl_facts import CrawlFacts
from thresher.pipeline.console.host_survey import seconds_to_finish
from thresher.pipeline.console.models.crawl_models import (
    CrawlView,
    FleetView,
    GateView,
    Health,
    HoldView,
    HostCounts,
    HostView,
    MemberView,
    RatesView,
    ReportView,
    SettingsView,
    UrlCounts,
)
from thresher.pipeline.console.models.url_models import PlaceView
from thresher.pipeline.console.sampler import Rates
from thresher.pipeline.reports.status import wait_reason
from thresher.pipeline.terminal.outage_line import outage_line
from thresher.pipeline.terminal.reasons import describe

MICRO = 1_000_000
MAX_REPORTS = 500
"""Workers that are shown."""


def crawl_view(name: str, facts: CrawlFacts, rates: Rates | None) -> CrawlView:
    """Return what the first page says of a crawl."""
    stats, fleet = facts.stats, facts.fleet
    waits = wait_reason(stats, facts.gate, facts.stalls_ms, outage_line(dict(facts.outages)))
    is_paused = fleet is not None and fleet.wanted.is_paused
    left = stats.waiting + stats.leased + stats.later
    speed = rates.pages_per_s if rates else 0.0
    return CrawlView(
        name=name,
        health=_health(facts, rates, waits=waits, is_paused=is_paused),
        waits_for="fleet paused by the operator" if is_paused else waits,
        urls=_urls(stats),
        hosts=HostCounts(known=stats.hosts, held=stats.held, given_up=stats.dead),
        requests=stats.requests,
        archived_bytes=facts.archived_bytes,
        outcomes=dict(stats.outcomes),
        discarded=dict(stats.discarded),
        rates=rates_view(rates),
        remaining_s=left / speed if speed > 0 else None,
        gate=_gate(facts.gate),
        settings=_settings(facts.settings),
    )


def lost_crawl_view(name: str, error: str) -> CrawlView:
    """Return the view of a crawl that the frontier has lost."""
    nothing = Stats(waiting=0, leased=0, later=0, robots=0, hosts=0, seen=0, outcomes={}, reasons={})
    return CrawlView(
        name=name,
        health="lost",
        waits_for=error,
        urls=_urls(nothing),
        hosts=HostCounts(known=0, held=0, given_up=0),
        requests=0,
        archived_bytes=0,
        outcomes={},
        discarded={},
        rates=None,
        remaining_s=None,
        gate=None,
        settings=_settings(CrawlSettings()),
    )


def rates_view(rates: Rates | None) -> RatesView | None:
    """Return the rates for people."""
    if rates is None:
        return None
    return RatesView(
        pages_per_s=rates.pages_per_s,
        requests_per_s=rates.requests_per_s,
        bytes_per_s=rates.bytes_per_s,
        errors_per_s=rates.errors_per_s,
    )


def host_view(host: HostState) -> HostView:
    """Return how a host stands, with the descriptions of reasons."""
    state: Literal["asked", "held", "given_up"] = "held" if host.rest else "asked"
    state = "given_up" if host.dead_reason else state
    return HostView(
        host=host.host,
        state=state,
        waiting=host.waiting,
        open=host.open,
        delay_s=host.delay_ms / 1000,
        finish_in_s=seconds_to_finish(host),
        hold=hold_view(host.rest),
        origins={origin: _hold(rest) for origin, rest in host.origins},
        given_up_reason=host.dead_reason,
        given_up_description=describe(host.dead_reason),
        repeats=host.repeats,
    )


def hold_view(rest: Hold | None) -> HoldView | None:
    """Return a hold with the description of its reason."""
    return None if rest is None else _hold(rest)


def place_view(place: UrlState) -> PlaceView:
    """Return where a URL is."""
    return PlaceView(
        state=place.state,
        attempt=place.attempt,
        due_in_ms=place.due_ms,
        visit_in_ms=place.visit_ms,
        worker=place.worker,
        stored=place.stored,
        hold=hold_view(place.rest),
    )


def fleet_view(state: FleetState | None) -> FleetView | None:
    """Return the fleet of a crawl; None if it never had one."""
    if state is None:
        return None
    return FleetView(
        controller=state.controller or "",
        controller_seen_at=state.controller_seen_at_ms,
        crawlers=state.wanted.crawlers,
        processors=state.wanted.processors,
        exporters=state.wanted.exporters,
        is_paused=state.wanted.is_paused,
        is_stopping=state.wanted.is_stopping,
        version=state.wanted.version,
        note=state.note,
        members=[
            MemberView(
                name=member.name,
                kind=member.kind,
                node=member.node,
                state=member.state,
                started_at=member.started_at_ms,
                seen_at=member.seen_at_ms,
                restarts=member.restarts,
                cpu_s=member.cpu_seconds,
                rss_bytes=member.rss_bytes,
                version=member.version,
            )
            for member in state.members
        ],
    )


def report_views(figures: CrawlFigures) -> list[ReportView]:
    """Return what each live worker has done."""
    return [
        ReportView(
            name=name,
            kind=report.kind,
            rss_bytes=report.rss_bytes,
            requests=report.figures.requests,
            bytes_received=report.figures.bytes_received,
            bytes_stored=report.figures.bytes_stored,
            parts=report.figures.parts,
            cpu_s=report.figures.cpu_us / MICRO,
            store_s=report.figures.store_us / MICRO,
        )
        for name, report in sorted(figures.workers.items())[:MAX_REPORTS]
    ]


def split_reason(key: str, counts: Mapping[str, int]) -> tuple[str, str, int]:
    """Return outcome, reason and count of an entry of `Stats.reasons`."""
    outcome, _, reason = key.partition(":")
    return outcome, reason, counts[key]


def _health(facts: CrawlFacts, rates: Rates | None, *, waits: str, is_paused: bool) -> Health:
    if facts.stats.is_drained:
        return "drained"
    if is_paused:
        return "paused"
    has_crawlers = facts.lease_holders or any(
        report.kind == "crawler" for report in facts.figures.workers.values()
    )
    is_moving = bool(has_crawlers or (rates and rates.requests_per_s > 0))
    if waits and waits != "process for crawl":
        return "waiting"
    return "running" if is_moving else "idle"


def _urls(stats: Stats) -> UrlCounts:
    return UrlCounts(
        waiting=stats.waiting,
        in_storage=stats.tail,
        leased=stats.leased,
        robots=stats.robots,
        later=stats.later,
        scheduled=stats.scheduled,
        settled=sum(stats.outcomes.values()),
        known=stats.seen,
    )


def _gate(gate: GateState | None) -> GateView | None:
    if gate is None:
        return None
    return GateView(
        follower=gate.follower,
        unprocessed_bytes=gate.estimate,
        limit_bytes=gate.limit,
        is_shut=gate.shut,
        reported_at=gate.reported_ms,
    )


def _settings(settings: CrawlSettings) -> SettingsView:
    return SettingsView(
        contact=settings.contact,
        min_delay_s=settings.min_delay_ms / 1000,
        min_ip_delay_s=settings.min_ip_delay_ms / 1000,
        max_pages_per_host=settings.budget.host,
        max_pages_per_domain=settings.budget.domain,
        max_hosts_per_domain=settings.budget.hosts,
    )


def _hold(rest: Hold) -> HoldView:
    return HoldView(reason=rest.reason, description=describe(rest.reason), ends_in_ms=rest.ms)
