"""`ArchiveSettings`: which pages a worker archives, and how large and old its files become."""

from dataclasses import dataclass
from typing import Annotated, Literal

from thresher.core.settings import Key, Size, rule
from thresher.storage.archive.file_label import DEFAULT_TEMPLATE, is_template
from thresher.storage.warc.compression import Compression

MIN_FILE_BYTES = 10**6
"""Of the limit. Each file costs a seal, an index, and a request for each of the three."""
_FILE_BYTES = rule(lambda size: size >= MIN_FILE_BYTES, "must be 1MB or more")
_AGE = rule(lambda seconds: seconds >= 1, "must be 1 or more")
_NAME = rule(
    is_template,
    f'must be "{DEFAULT_TEMPLATE}", or "{{crawl}}-…~{{writer}}-{{serial}}" with letters, digits, dots, dashes,'
    " underscores, {timestamp} and {host} before the ~, 64 characters at most",
)


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
    revisits: Annotated[
        Literal["crawl", "project"],
        Key('or "project": a part of a page that another crawl has archived is not archived again'),
    ] = "crawl"
    compression: Annotated[
        Compression, Key('of archive files; or "zstd": smaller, but few tools read it yet')
    ] = "gzip"
    warc_bytes: Annotated[
        Size,
        _FILE_BYTES,
        Key("an archive file is sealed before it has more; sooner if the crawl is followed", is_size=True),
    ] = 1 << 30
    warc_age: Annotated[
        int, _AGE, Key("seconds after which an archive file is sealed; sooner if the crawl is followed")
    ] = 3600
    warc_name: Annotated[
        str,
        _NAME,
        Key(
            'names of archive files; "{crawl}-NL-{timestamp}-{host}~{writer}-{serial}" adds time and machine'
        ),
    ] = DEFAULT_TEMPLATE
    operator: Annotated[
        str, Key("who runs the crawl, for the first record of archive files; the contact if empty")
    ] = ""
    description: Annotated[str, Key("what the crawl is for, in the first record of archive files")] = ""
