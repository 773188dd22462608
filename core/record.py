"""`RecordRef`: where in the archive a record lies."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRef:
    """One WARC record by position: the identity that survives from the archive to the token index."""

    file: str
    """Name of the WARC file under the storage root."""
    offset: int
    """First byte of the record (of its gzip member, where it is compressed)."""
    length: int
    """Stored bytes, compressed where the file is."""
    digest: str
    """Payload digest as `algorithm:value`; empty where the archive has none."""
