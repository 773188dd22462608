"""One URL from its discovery to exports."""

from pydantic import Field

from thresher.pipeline.console.models.crawl_models import HoldView, LogLineView, Model


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


class PictureView(Model):
    """A screenshot of a page in the archive."""

    kind: str = Field(description="`view`, `thumbnail` or `fullPage`.")
    file: str
    offset: int


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
    pictures: list[PictureView] = Field(description="Screenshots that were taken then.")


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
    columns: dict[str, str] = Field(
        description="What came with the document in its input, cut to 500 characters."
    )
    text: str
    is_cut: bool = Field(description="Whether the text is longer than what is shown.")
