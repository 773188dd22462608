"""Ages by the server's clock, because the clock of a node may be wrong."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types_boto3_s3.type_defs import ResponseMetadataTypeDef


def age_ms(then: datetime, now: datetime) -> int:
    """Return the milliseconds between two times; 0 if the second is earlier."""
    return max(0, int((now - then).total_seconds() * 1000))


def server_time(metadata: "ResponseMetadataTypeDef") -> datetime:
    """Return when the server answered. `metadata` is `ResponseMetadata` of its reply."""
    date = metadata["HTTPHeaders"].get("date")
    return parsedate_to_datetime(date) if date else datetime.now(UTC)
