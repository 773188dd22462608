"""`BackpressureGate`: whether a crawl waits for its follower. The rules are those of `frontier.gate_state`."""

from dataclasses import dataclass, replace

from thresher.frontier.gate_state import GateState

_OPENS_AT = (4, 5)  # of the limit: a gate that opens at the limit would flutter


@dataclass(slots=True)
class BackpressureGate:
    """The newest report, and the bytes archived since."""

    report: GateState | None = None
    until_ms: int = 0
    archived_bytes: int = 0
    """Bytes ever archived."""

    def state(self, now: int) -> GateState | None:
        """Return the newest report while it counts; None after that."""
        return self.report if now < self.until_ms else None

    def report_backlog(
        self, follower: str, backlog: int, limit: int, *, ttl_ms: int, oldest_ms: int, now: int
    ) -> GateState:
        """Take a report that counts for `ttl_ms`; return it with the decision whether the gate is shut."""
        before = self.state(now)
        part, whole = _OPENS_AT
        stays = before is not None and before.shut and backlog * whole > limit * part
        self.report = GateState(
            follower=follower,
            backlog=backlog,
            limit=limit,
            estimate=backlog,
            reported_ms=now,
            shut=backlog > limit or stays,
            oldest_ms=oldest_ms,
        )
        self.until_ms = now + ttl_ms
        return self.report

    def withdraw_backlog(self, follower: str) -> None:
        """Forget the report if it is this follower's."""
        if self.report is not None and self.report.follower == follower:
            self.report = None

    def archived(self, size: int) -> None:
        """Add archived bytes to their sum and to the estimate."""
        self.archived_bytes += size
        if self.report is not None:
            estimate = self.report.estimate + size
            shut = self.report.shut or estimate > self.report.limit
            self.report = replace(self.report, estimate=estimate, shut=shut)
