"""What `thresher verify` found. A result says what was checked, whichever of the audits checked it."""

from dataclasses import dataclass

from thresher.storage.manifest import Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """What was checked, and its damage, one line each."""

    files: int
    bytes: int
    damage: tuple[str, ...]
    redo: tuple[str, ...] = ()
    """Names of the Manifests of damaged parts that can be made again."""
    unreadable: tuple[str, ...] = ()
    """Names of unreadable Manifests of other steps, of runs and of lists."""
    indexes: tuple[Manifest, ...] = ()
    """Archive parts with an intact WARC file and a damaged index."""
    archives: tuple[Manifest, ...] = ()
    """Archive parts with a damaged WARC file."""
    logs: tuple[Manifest, ...] = ()
    """Parts of a crawl log with a damaged file."""
    differences: tuple[str, ...] = ()
    """Differences between two readers of an ingested archive file whose bytes are those that were sealed."""
    unread: tuple[str, ...] = ()
    """Archive files that warcio cannot read, one line each."""
    unfinished: tuple[str, ...] = ()
    """Open archive files without a writer, one line each."""
    garbage: int = 0
    """Number of outputs of attempts that were never sealed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossCheck:
    """The result of reading archive files a second time with warcio, one line each."""

    damage: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """Files that warcio does not read."""

    def plus(self, other: "CrossCheck") -> "CrossCheck":
        """Return both results together."""
        return CrossCheck(
            damage=(*self.damage, *other.damage),
            differences=(*self.differences, *other.differences),
            unread=(*self.unread, *other.unread),
        )
