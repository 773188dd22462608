"""The nouns that travel between the packages.

A URL enters as a `Url`. The request that fetched it, with its response, is a `Capture`; its place in the archive is a
`RecordRef`. The text found in the record is a `Document`, and the filters' decision about it is a `Verdict`, which is
stored beside it. All of them are frozen values: nothing here opens a file, a socket or a clock, and nothing here needs
more than the standard library. One function looks around: `installation.extras.install_command`.
"""

if __name__ != "thresher.core":
    raise ImportError("import thresher.core: `core` is its folder in a checkout")

from thresher.core.capture import Capture, Timing, TlsSession
from thresher.core.document import Document
from thresher.core.errors import Conflict, CorruptData, InputError, Interruption, ThresherError, Unavailable
from thresher.core.failure import Failure, failure_boundary
from thresher.core.record import RecordRef, document_id
from thresher.core.url import Url
from thresher.core.verdict import Edit, Verdict

__all__ = [
    "Capture",
    "Conflict",
    "CorruptData",
    "Document",
    "Edit",
    "Failure",
    "InputError",
    "Interruption",
    "RecordRef",
    "ThresherError",
    "Timing",
    "TlsSession",
    "Unavailable",
    "Url",
    "Verdict",
    "document_id",
    "failure_boundary",
]
