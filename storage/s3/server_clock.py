"""Ages by the server's clock: what a node believes of the time is nothing to go by."""

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any


def age_ms(then: datetime, now: datetime) -> int:
    """Milliseconds between two times, none where the second is earlier."""
    return max(0, int((now - then).total_seconds() * 1000))


def server_time(reply: dict[str, Any]) -> datetime:
    """When the server answered."""
    date = reply["ResponseMetadata"]["HTTPHeaders"].get("date")
    return parsedate_to_datetime(date) if date else datetime.now(UTC)
