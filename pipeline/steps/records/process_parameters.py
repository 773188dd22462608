"""`ProcessParameters`: what a worker of the process step knows besides its inputs."""

from typing import NamedTuple


class ProcessParameters(NamedTuple):
    """Parameters of a worker besides its inputs."""

    source: str
    preset: str
    languages: tuple[str, ...]
    rules: tuple[str, ...]
    """Names of users' own rules."""
    obey: tuple[str, ...]
    markdown: bool
    blocklist: str
