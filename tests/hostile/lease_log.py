"""Every process that imports this module logs how each lease ended that it settles.

The frontier counts outcomes and does not keep their URLs; a test of one host among hundreds needs them.
"""

import json
import os
import time
from collections.abc import Callable
from unittest.mock import patch

from thresher.frontier import Frontier
from thresher.frontier.verbs.origins import Origins

LEDGER = "HOSTILE_LEDGER"
"""The environment variable that names the log file."""

_settle, _settle_robots, _retry_robots = Frontier.settle, Origins.settle_robots, Origins.retry_robots


def _note(*rows: dict[str, object]) -> None:
    data = "".join(json.dumps({"at": time.time(), **row}) + "\n" for row in rows)
    file = os.open(os.environ[LEDGER], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, data.encode())
    finally:
        os.close(file)


async def settle(self, settlements, **options):
    _note(
        *(
            {
                "kind": "page",
                "url": one.lease.url.text,
                "token": one.lease.token,
                "outcome": str(one.outcome),
                "reason": one.reason,
                "found": [found.url.text for found in one.discoveries][:100],
                "attempt": one.lease.attempt,
            }
            for one in settlements
        )
    )
    return await _settle(self, settlements, **options)


async def settle_robots(self, lease, *, rule, **options):
    _note(
        {
            "kind": "robots",
            "url": lease.url.text,
            "token": lease.token,
            "outcome": rule,
            "reason": options["body"].decode("latin-1")
            if options.get("body", b"")[:8] == b"address_"
            else "",
        }
    )
    return await _settle_robots(self, lease, rule=rule, **options)


async def retry_robots(self, lease, **options):
    fault = options.get("fault")
    _note(
        {
            "kind": "robots",
            "url": lease.url.text,
            "token": lease.token,
            "outcome": "again",
            "reason": options.get("reason") or str(fault or ""),
            "after_ms": options.get("after_ms"),
        }
    )
    return await _retry_robots(self, lease, **options)


if LEDGER in os.environ:  # without it, importing a name from here changes nothing
    for client, method in ((Frontier, settle), (Origins, settle_robots), (Origins, retry_robots)):
        patch.object(client, method.__name__, method).start()


def run_with_log(work: Callable[..., None], *args: object) -> None:
    """Run a worker's function, in a process that has imported this module."""
    work(*args)
