"""`RecordRef`: the place of a record in the archive, and the id of the document that is made of it."""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRef:
    """One WARC record by position: the identity that stays the same from the archive to the token index."""

    file: str
    """Name of the WARC file under the storage root."""
    offset: int
    """First byte of the record, or of its gzip member if it is compressed."""
    length: int
    """Stored bytes, compressed if the file is."""
    digest: str
    """Payload digest as `algorithm:value`; empty if the archive has none."""


def document_id(source: str, record: RecordRef) -> str:
    """Return 32 hexadecimal digits that identify a record of a source; they are the same in every run.

    The id is computed from the place of the record, because sealed files never change, while in archives of other
    programs WARC-Record-IDs may be missing or occur twice.
    """
    return hashlib.blake2b(f"{source}\0{record.file}\0{record.offset}".encode(), digest_size=16).hexdigest()
