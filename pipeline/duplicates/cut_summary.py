"""What the cut step took out of the documents of some sources."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from thresher.filters.dedup.dedup_versions import CUT_KINDS
from thresher.pipeline.configuration import DedupConfig
from thresher.pipeline.steps.cuts import cut_results
from thresher.storage.manifest import Manifest
from thresher.storage.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class CutSummary:
    """The sums of a run of the cut step."""

    characters: dict[str, int]
    """Characters that were cut out of documents that stay, by kind: `paragraph`, `line`, `substring`."""
    documents: int
    """Documents that were cut and stay."""
    too_short: int
    """Documents that were dropped because too few words were left."""

    @property
    def line(self) -> str:
        """The sums as a sentence."""
        kinds = ", ".join(f"{count:,} of {kind}s" for kind, count in self.characters.items())
        return f"cut characters: {kinds}; in {self.documents:,} documents; {self.too_short:,} too short"

    def to_dict(self) -> dict[str, Any]:
        """Return the sums for JSON."""
        return asdict(self)


def find(
    store: Store, sources: Sequence[str], config: DedupConfig, removed: Manifest, verdict_set: str = ""
) -> CutSummary | None:
    """Return the sums of the run that cut these sources after the removals, or None if there is none."""
    cut = cut_results.find(store, sources, config, removed, verdict_set)
    if cut is None:
        return None
    return CutSummary(
        characters={kind: cut.counts.get(f"{kind}.characters", 0) for kind in CUT_KINDS},
        documents=cut.counts.get("cut.documents", 0),
        too_short=cut.counts.get(f"{cut_results.TOO_SHORT}.documents", 0),
    )
