"""Crawls, their hosts, workers and logs."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Model(BaseModel):
    """A value that does not change."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RatesView(Model):
    """The speed of a crawl over the last minute."""

    pages_per_s: float = Field(description="Settled pages per second.")
    requests_per_s: float = Field(description="Requests per second, those for robots.txt included.")
    bytes_per_s: float = Field(description="Bytes per second by which the archive grows.")
    errors_per_s: float = Field(description="Pages per second that failed.")


class UrlCounts(Model):
    """The URLs of a crawl, by state."""

    waiting: int = Field(description="Pages that wait for their host's turn, those in storage included.")
    in_storage: int = Field(description="Pages among `waiting` that lie in storage.")
    leased: int = Field(description="Pages that workers hold.")
    robots: int = Field(description="Requests for robots.txt under way.")
    later: int = Field(description="Pages that are tried again at a time.")
    scheduled: int = Field(description="Settled pages that are to be visited again.")
    settled: int = Field(description="Pages with an outcome.")
    known: int = Field(description="URLs ever made to wait; each further visit counts.")


class HostCounts(Model):
    """The hosts of a crawl."""

    known: int
    held: int = Field(description="Hosts that do not respond, and are tried again after a time.")
    given_up: int


class GateView(Model):
    """How far a crawl is ahead of the process that follows it."""

    follower: str
    unprocessed_bytes: int
    limit_bytes: int
    is_shut: bool = Field(description="Whether the crawl waits for processing.")
    reported_at: int


class SettingsView(Model):
    """The settings that hold for every worker of a crawl."""

    contact: str
    min_delay_s: float = Field(description="Seconds between two requests to one host.")
    min_ip_delay_s: float = Field(description="Seconds between two requests to one IP address.")
    max_pages_per_host: int | None
    max_pages_per_domain: int | None
    max_hosts_per_domain: int


Health = Literal["running", "waiting", "paused", "idle", "drained", "lost"]


class CrawlView(Model):
    """One crawl at one moment."""

    name: str
    health: Health = Field(
        description="`running`: pages are settled. `waiting`: something keeps the crawl back, see `waits_for`. "
        "`paused`: the operator paused it. `idle`: no worker runs. `drained`: nothing is left to do. "
        "`lost`: the frontier lost the crawl, see `waits_for`."
    )
    waits_for: str = Field(description="Who waits for whom, and why; empty if nobody waits.")
    urls: UrlCounts
    hosts: HostCounts
    requests: int = Field(description="Requests that workers started since the crawl was made.")
    archived_bytes: int = Field(description="Bytes by which the archive has grown since the crawl was made.")
    outcomes: dict[str, int] = Field(description="Settled pages by outcome.")
    discarded: dict[str, int] = Field(description="URLs that were found and not let in, by reason.")
    rates: RatesView | None = Field(description="None in the first seconds after the console started.")
    remaining_s: float | None = Field(
        description="Seconds until the pages that wait are settled at the present speed. Pages that are still to be "
        "found are not counted, so the time is a lower limit. None if the speed is 0 or not known."
    )
    gate: GateView | None = Field(description="None if no process follows the crawl.")
    settings: SettingsView


class HoldView(Model):
    """A time in which no request is sent to a host or an origin."""

    reason: str
    description: str
    ends_in_ms: int = Field(description="0: the time is over, and the next request is a probe.")


class HostView(Model):
    """How a host stands."""

    host: str
    state: Literal["asked", "held", "given_up"]
    waiting: int = Field(description="Pages that wait for the host's turn.")
    open: int = Field(description="Requests under way.")
    delay_s: float = Field(description="Seconds between two requests, as of the last one.")
    finish_in_s: float = Field(description="Seconds that the waiting pages take at least, at this delay.")
    hold: HoldView | None
    origins: dict[str, HoldView] = Field(
        description="Origins that are held while others of the host are asked."
    )
    given_up_reason: str
    given_up_description: str
    repeats: Literal["", "templates", "host", "domain"] = Field(
        description="What says nothing new, so that 1 in 64 of its URLs is requested."
    )


class HostPageView(Model):
    """Some of the hosts of a crawl, in no order."""

    hosts: list[HostView]
    cursor: str = Field(description="Pass it to get the next page; empty if this is the last.")


class PolitenessView(Model):
    """Which hosts a crawl waits for. Found by looking at some hosts every few seconds."""

    slowest: list[HostView] = Field(description="Hosts whose waiting pages take longest.")
    held: list[HostView] = Field(description="Held hosts with the most waiting pages.")
    given_up: list[HostView]
    held_by_reason: dict[str, int]
    blocked_pages: int = Field(description="Pages that wait for held hosts.")
    surveyed_hosts: int = Field(description="Hosts that were looked at.")
    is_whole: bool = Field(description="Whether that is every host.")


class ErrorView(Model):
    """Pages that ended alike."""

    outcome: str
    reason: str
    description: str
    pages: int
    examples: list[str] = Field(
        description="Some URLs, from the log of the crawl; empty until they are read."
    )


class MemberView(Model):
    """One worker of a fleet."""

    name: str
    kind: str
    node: str
    state: str
    started_at: int
    seen_at: int
    restarts: int
    cpu_s: float
    rss_bytes: int
    version: str


class FleetView(Model):
    """The workers of a crawl."""

    controller: str = Field(description="Empty if no controller holds the fleet.")
    controller_seen_at: int
    crawlers: int = Field(description="Crawlers that should run.")
    processors: int
    exporters: int
    is_paused: bool
    is_stopping: bool
    version: str
    note: str = Field(description="Why fewer members run than should; empty if all is well.")
    members: list[MemberView]


class ReportView(Model):
    """What a live worker has done since it started."""

    name: str
    kind: str
    rss_bytes: int
    requests: int
    bytes_received: int
    bytes_stored: int
    parts: int
    cpu_s: float
    store_s: float = Field(description="Seconds that calls of the storage took.")


class WorkersView(Model):
    """What the frontier knows of the workers of a crawl."""

    reports: list[ReportView] = Field(description="Workers whose last report still counts.")
    politeness_violations: int = Field(
        description="Requests, of all workers that the crawl ever had, that began before the delay of their host was "
        "over. It must be 0."
    )

    lease_holders: list[str] = Field(description="Workers that hold leases.")
    outages: dict[str, str] = Field(description="Workers that are kept from the web, and by what.")
    storage_stalls_ms: list[int] = Field(description="For how long workers have waited for the storage.")
    fleet: FleetView | None = Field(description="None if the crawl never had a fleet.")


class LogLineView(Model):
    """One line of a crawl's log."""

    serial: int = Field(description="Grows with each line that this console has read.")
    time: int
    url: str
    kind: str
    outcome: str
    reason: str
    description: str
    status: int | None
    bytes: int | None
    ms: int | None = Field(description="Milliseconds from the connection to the last byte.")
    referrer: str


class LogView(Model):
    """The newest lines of a crawl's log, the newest last."""

    lines: list[LogLineView]
    is_complete: bool = Field(description="False if lines were left out because there were too many.")
