"""`ArchiveSettings`: which pages a worker archives, and how large and old its files become."""

from dataclasses import dataclass
from typing import Annotated, Literal

from thresher.core.settings import Key
from thresher.storage.warc.compression import Compression


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings:
    """With `archive = "kept"` a note with the reason takes the place of each page that the cheap filters drop."""

    archive: Annotated[
        Literal["all", "kept"],
        Key('or "kept": a page that the cheap filters drop leaves only a note with the reason'),
    ] = "all"
    requisites: Annotated[
        bool,
        Key(
            "true also archives what pages need to look as they do: styles, scripts, images, fonts, frames, media"
        ),
    ] = False
    compression: Annotated[
        Compression, Key('of archive files; or "zstd": smaller, but few tools read it yet')
    ] = "gzip"
    max_file_bytes: int = 1 << 30
    """Bytes at which a file is sealed; sooner if the crawl is followed (`crawler.rotation`)."""
    max_file_age_s: int = 3600
    """Seconds after which a file is sealed."""
