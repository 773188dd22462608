"""Rows 36 to 42 and 50 to 55: what is in a body."""

from tests.hostile.rows import bodies, documents, sitemaps, state
from tests.hostile.rows.row import Row, WebAddress


def rows(there: WebAddress) -> list[Row]:
    return [row for module in (bodies, documents, sitemaps, state) for row in module.rows(there)]
