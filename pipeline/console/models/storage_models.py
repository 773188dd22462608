"""What is stored, what it cost, and how it was made."""

from pydantic import Field

from thresher.pipeline.console.models.crawl_models import Model


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
    damage: list[str] = Field(description="Damaged Manifests: the figures are of everything else.")
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
    tokens: int | None = Field(description="Null for texts without token ids.")
    text_bytes: int | None = Field(description="Bytes of the texts; null for a mix.")
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
