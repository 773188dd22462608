"""`PaceSettings` and `BudgetSettings`: how fast hosts are asked, and how many URLs of one host or domain are let in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from thresher.core.settings import Key, optional_rule, rule

if TYPE_CHECKING:
    from thresher.frontier.lease import Budget

_DELAY = "must not be negative and must be finite"
_COUNT = optional_rule(lambda count: count >= 1, "must be at least 1")


def _is_delay(seconds: float) -> bool:
    return 0 <= seconds < math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceSettings:
    """`min_ip_delay` is a quarter of `min_delay` if it is not set, and 0 switches it off."""

    min_delay: Annotated[
        float,
        rule(_is_delay, _DELAY),
        Key("seconds between two requests to one host, whatever the number of workers"),
    ] = 1.0
    min_ip_delay: Annotated[
        float | None,
        optional_rule(_is_delay, _DELAY),
        Key("the same to one IP address, whatever the hosts; a quarter of min_delay if not set"),
    ] = None

    @property
    def ip_delay(self) -> float:
        """Seconds between two requests to one IP address."""
        return self.min_delay / 4 if self.min_ip_delay is None else self.min_ip_delay


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSettings:
    """`max_pages_per_host` and `max_pages_per_domain` are no limit if they are not set."""

    max_pages_per_host: Annotated[
        int | None, _COUNT, Key("URLs let in of one host at most; any number if not set")
    ] = None
    max_pages_per_domain: Annotated[int | None, _COUNT, Key("the same of one registered domain")] = None
    max_hosts_per_domain: Annotated[int, _COUNT, Key("host names let in of one registered domain")] = 4096

    @property
    def budget(self) -> Budget:
        """The budget that the frontier keeps."""
        from thresher.frontier.lease import Budget  # noqa: PLC0415 - most commands read only the settings

        return Budget(
            host=self.max_pages_per_host, domain=self.max_pages_per_domain, hosts=self.max_hosts_per_domain
        )
