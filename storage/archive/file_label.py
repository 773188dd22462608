"""The label of archive files: what a user wants to see in their names, between the crawl's name and the writer's."""

import re

from thresher.core import InputError
from thresher.storage.warc.cdxj import timestamp

TIMESTAMP = "{timestamp}"
LABEL = re.compile(r"(?:[A-Za-z0-9._-]|\{timestamp\})*")
MAX_LABEL_CHARACTERS = 64
"""With its time: beside a crawl's name of 100 and a writer's, a name of a file has room for 255."""


def is_label(label: str) -> bool:
    """Return whether names of files can have the label."""
    return len(label_at(label, 0)) <= MAX_LABEL_CHARACTERS and bool(LABEL.fullmatch(label))


def require_label(label: str) -> None:
    """Raise `InputError` if names of files cannot have the label."""
    if not is_label(label):
        raise InputError(
            f"{label!r} cannot stand in names of files: use letters, digits, dot, dash, underscore, {TIMESTAMP}"
        )


def label_at(label: str, date_ms: int) -> str:
    """Return the label of a file that is begun at that time."""
    return label.replace(TIMESTAMP, timestamp(date_ms))
