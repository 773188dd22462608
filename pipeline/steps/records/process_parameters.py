"""`ProcessParameters`: what a worker of the process step knows besides its inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from thresher.extract.engines.page_engine import EngineName
from thresher.pipeline.steps.records.rule_set import RuleSet

if TYPE_CHECKING:
    from thresher.pipeline.dedup_index.index_screen import ScreenTask


class ProcessParameters(NamedTuple):
    """Parameters of a worker besides its inputs."""

    source: str
    rules: RuleSet
    obey: tuple[str, ...]
    markdown: bool
    links: bool
    engine: EngineName
    blocklist: str
    permutations: int
    screen: ScreenTask | None = None
    """The index that documents are looked up in before they are filtered; None if they are not."""
