"""The values that the console shows and that its API returns. Sizes are in bytes, times in milliseconds since 1970 UTC
unless a name ends in `_s` (seconds) or `_in_ms` (milliseconds from now).
"""

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


class SourceSizes(Model):
    """What is stored of one source."""

    name: str
    kind: str
    archive_files: int
    archive_bytes: int
    responses: int
    processed: int
    kept: int
    document_bytes: int = Field(description="Documents, verdicts and signatures.")


class CostLine(Model):
    """What something took, and what that costs."""

    name: str
    cpu_s: float
    bytes_received: float = Field(description="Bytes from websites.")
    bytes_written: float
    bytes_stored: float = Field(description="Bytes that lie in storage now.")
    once: float = Field(
        description="For CPU, traffic and calls, in the currency of the prices; 0 without prices."
    )
    monthly: float = Field(description="For storage, each month.")


class CostView(Model):
    """What the project cost so far."""

    has_prices: bool = Field(description="Whether thresher.toml has prices.")
    currency: str
    total: CostLine
    sources: list[CostLine]
    steps: list[CostLine] = Field(description="`crawl` stands for the workers of crawls.")
    kept_tokens: int | None = Field(description="Tokens of kept documents, as exports count them.")
    per_million_tokens: float | None = Field(
        description="What a million kept tokens cost so far; None without prices or tokens."
    )
    has_crawl_figures: bool = Field(
        description="False if the frontier does not respond; crawls are missing then."
    )


class StorageView(Model):
    """What the storage holds."""

    uri: str
    free_bytes: int | None = Field(description="Free space of the disk; None for object storage.")
    total_bytes: int | None
    stored_bytes: int = Field(description="Bytes of everything sealed, as the Manifests say.")
    sources: list[SourceSizes]


class FunnelStage(Model):
    """What one stage dropped, or, in the last stage, what was kept."""

    name: str
    records: int
    share: float = Field(description="Share of the records that entered the funnel.")
    payload_bytes: int
    text_bytes: int
    tokens: int | None
    tokens_are_estimated: bool


class FunnelView(Model):
    """How many records each filter dropped, in the order of the filters."""

    records: int
    tokenizer: str
    stages: list[FunnelStage]


class DomainYield(Model):
    """How much of a domain was kept."""

    domain: str
    documents: int
    kept: int


class YieldView(Model):
    """Yield by domain, of the newest processed parts."""

    parts: int = Field(description="Parts that were read.")
    all_parts: int = Field(description="Parts that there are.")
    domains: list[DomainYield] = Field(description="Domains with the most documents first.")


class MixSource(Model):
    """One source of an export's mix."""

    name: str
    share: float | None = Field(description="Share of the tokens that the mix asks for.")


class ExportView(Model):
    """A finished export."""

    id: str
    documents: int
    tokens: int
    text_bytes: int
    tokenizer: str
    formats: list[str]
    sources: list[str]
    mix: list[MixSource]


class RunView(Model):
    """One run of a step."""

    name: str
    step: str
    version: int
    started_at: int
    ended_at: int
    host: str
    engine: str
    sources: list[str]
    outcome: str
    message: str
    cpu_s: float
    wall_s: float
    bytes_read: int
    bytes_written: int
    peak_rss: int
    made: int
    already: int
    redone: int
    quarantined: int


class RunPage(Model):
    """Runs, the newest first."""

    runs: list[RunView]
    cursor: str = Field(description="Pass it to get older runs; empty if there are none.")


class ManifestLine(Model):
    """A sealed part."""

    manifest: str
    step: str
    part: str
    source: str
    bytes: int
    rows: int


class ManifestPage(Model):
    """Sealed parts, in the order of their names."""

    manifests: list[ManifestLine]
    cursor: str = Field(description="Pass it to get the next page; empty if this is the last.")


class ObjectView(Model):
    """An object that a part was made from, or that belongs to it."""

    name: str
    sha256: str
    bytes: int | None
    rows: int | None


class ManifestView(Model):
    """The seal of a part."""

    name: str
    step: str
    part: str
    fingerprint: str
    recipe: str = Field(description="JSON, at most 64 KiB of it.")
    counts: dict[str, int]
    inputs: list[ObjectView] = Field(description="At most 200.")
    outputs: list[ObjectView] = Field(description="At most 200.")


class PlaceView(Model):
    """Where a URL is in the frontier of a crawl."""

    state: str = Field(
        description="`unknown`, `waiting`, `leased`, `later` (tried again at a time), `settled`, or `known`: the "
        "search among many waiting URLs ended before this one was found."
    )
    attempt: int
    due_in_ms: int | None
    visit_in_ms: int | None
    worker: str
    stored: int = Field(description="URLs of its host that wait in storage; it may be among them.")
    hold: HoldView | None


class CaptureView(Model):
    """One record of the archive, and what later steps decided about it."""

    url: str
    time: int
    status: int | None
    mime: str
    file: str
    offset: int
    length: int
    digest: str
    is_processed: bool
    document: str = Field(description="Id of the document, or of the record if there is no document.")
    part: str = Field(description="Part of the process step; empty if the record is not processed.")
    keep: bool
    rule: str
    reason: str
    title: str
    language: str
    extractor: str
    duplicate_of: str
    duplicate_kind: str
    exports: list[str] = Field(description="Ids of exports that were made from the part.")


class UrlInSource(Model):
    """What one crawl or ingest knows about a URL."""

    source: str
    place: PlaceView | None
    log: list[LogLineView]
    captures: list[CaptureView]


class UrlView(Model):
    """The history of a URL, from its discovery to exports."""

    url: str
    places: dict[str, PlaceView] = Field(description="Where the URL is in the frontier, by crawl.")
    is_searching: bool = Field(description="Whether archives and logs are still being read; ask again.")
    error: str
    sources: list[UrlInSource]


class DocumentView(Model):
    """The text that was extracted from a record, and the verdict."""

    id: str
    url: str
    title: str
    language: str
    extractor: str
    fetched_at: int
    record_file: str
    record_offset: int
    keep: bool
    rule: str
    reason: str
    measurements: dict[str, float]
    text: str
    is_cut: bool = Field(description="Whether the text is longer than what is shown.")


class ActionResult(Model):
    """The result of an action."""

    id: str
    is_done: bool = Field(description="False while it runs; the list of actions has the result later.")
    message: str


class ActionRecord(Model):
    """One line of the log of actions."""

    id: str
    time: int
    who: str
    address: str
    crawl: str
    action: str
    values: dict[str, str]
    state: Literal["begun", "done", "failed"]
    message: str


class HealthView(Model):
    """Whether the console and what it reads respond."""

    status: Literal["ok", "degraded"]
    frontier: str = Field(description="`ok`, or why it does not respond.")
    storage: str = Field(description="`ok`, or why it does not respond.")
