"""What a run of `dedup` found, for the command and for Python."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from thresher.pipeline.duplicates.cut_summary import CutSummary
from thresher.pipeline.funnel import REMOVAL_KINDS
from thresher.storage.manifest import Manifest

if TYPE_CHECKING:
    from thresher.pipeline.duplicates.dedup_audit import DedupAudit


@dataclass(frozen=True, slots=True, kw_only=True)
class DedupResult:
    """The removals, what was cut, and the audit if there was one."""

    manifest: Manifest
    cut: CutSummary | None
    audit: "DedupAudit | None" = None

    @property
    def removed(self) -> dict[str, int]:
        """Removed documents by kind."""
        return {kind: self.manifest.counts.get(f"{kind}.documents", 0) for kind in REMOVAL_KINDS}

    @property
    def line(self) -> str:
        """Return the counts for a reader."""
        line = "duplicates: " + ", ".join(f"{count:,} {kind}" for kind, count in self.removed.items())
        return line if self.cut is None else f"{line}\n{self.cut.line}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result for JSON."""
        body: dict[str, Any] = {"table": self.manifest.outputs[0].name, "removed": self.removed}
        if self.cut is not None:
            body["cut"] = self.cut.to_dict()
        if self.audit is not None:
            body["audit"] = self.audit.to_dict()
        return body
