"""Rows 20 to 35: connections, HTTP, TLS and addresses."""

from tests.hostile.rows import addresses, framing, heads, secure, stalls
from tests.hostile.rows.row import Row, WebAddress


def rows(there: WebAddress) -> list[Row]:
    return [row for module in (stalls, framing, heads, secure, addresses) for row in module.rows(there)]
