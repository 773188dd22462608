"""`RecordRef`: the place of a record in the archive."""

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
