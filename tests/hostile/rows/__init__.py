"""All rows of the hostile web."""

from tests.hostile.rows import changes, connections, content, policy, rate, robots, scripts, urls
from tests.hostile.rows.row import Row as Row
from tests.hostile.rows.row import WebAddress

MODULES = (robots, changes, policy, rate, connections, content, urls, scripts)


def rows(there: WebAddress) -> list[Row]:
    """Return every row, in the order of the checklist."""
    found = [row for module in MODULES for row in module.rows(there)]
    names = [row.name for row in found]
    assert len(set(names)) == len(names), [name for name in names if names.count(name) > 1]
    return sorted(found, key=lambda row: row.number)
