"""`ProcessParameters`: what a worker of the process step knows besides its inputs."""

from typing import NamedTuple

from extract.engines.page_engine import EngineName
from pipeline.steps.records.rule_set import RuleSet


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
