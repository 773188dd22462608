"""Names of archive files: a template with which a user says what stands between the crawl's name and the writer's.

Every name ends with writer and serial, behind a `~` if there is anything of the user's. So no two files have one name,
and any process finds the writer in a name, whatever the template was (`storage.archive.open_files`).
"""

import re

from thresher.core import InputError
from thresher.storage.warc.cdxj import timestamp

DEFAULT_TEMPLATE = "{crawl}-{writer}-{serial}"
TIMESTAMP, HOST = "{timestamp}", "{host}"
LABEL = re.compile(r"(?:[A-Za-z0-9._-]|\{timestamp\})*")
TEMPLATE = re.compile(r"\{crawl\}-(?:((?:[A-Za-z0-9._-]|\{timestamp\}|\{host\})+)~)?\{writer\}-\{serial\}")
MAX_LABEL_CHARACTERS = 64
"""With its time: beside a crawl's name of 100 and a writer's, a name of a file has room for 255."""
MAX_HOST_CHARACTERS = 20


def is_template(template: str) -> bool:
    """Return whether a template gives every file a name of its own, in which the writer can be found."""
    return TEMPLATE.fullmatch(template) is not None and is_label(
        label_of(template, "x" * MAX_HOST_CHARACTERS)
    )


def label_of(template: str, host: str) -> str:
    """Return what a template has between crawl and writer, on the machine of that name; empty if there is nothing."""
    found = TEMPLATE.fullmatch(template)
    own = re.sub(r"[^A-Za-z0-9_-]", "-", host.partition(".")[0])[:MAX_HOST_CHARACTERS]
    return ((found and found[1]) or "").replace(HOST, own)


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
