"""What a user chose for `process`, `judge` and `dedup`, by the command or in Python."""

from dataclasses import dataclass

from thresher.pipeline.configuration import FiltersConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessOptions:
    """How the sources are processed."""

    workers: int | None = None
    """Worker processes; None for one per core."""
    redo: bool = False
    """Whether earlier results are deleted first."""
    follow: bool = False
    """Whether files are processed while a running crawl seals them, until it is drained."""
    retry: bool = False
    """Whether parts in quarantine are tried again."""
    screen: bool | None = None
    """Whether documents that `dedup` knows are left out; None for what `[dedup]` says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeOptions:
    """Which set of verdicts is made, and how."""

    verdict_set: str
    filters: FiltersConfig
    """Those of the project, with the values that the user chose."""
    workers: int | None = None
    redo: bool = False
    """Whether the set is deleted first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupOptions:
    """Among which documents duplicates are found, and whether a sample of the result is checked."""

    verdict_set: str = ""
    """The set of verdicts that says which documents are kept; empty for those of `process`."""
    workers: int | None = None
    is_audited: bool = False
    sample: int | None = None
    """Documents of an audit; None for 10,000."""
