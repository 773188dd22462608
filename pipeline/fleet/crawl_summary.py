"""The summary of a crawl: how many pages it fetched, why others were not, and whether it is drained.

Pure. Counts are those of one command: the frontier's counts at its end, minus those at its start.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from thresher.frontier import Outcome, Stats
from thresher.pipeline.terminal.reasons import describe, describe_with_code
from thresher.pipeline.terminal.script_lines import linkless_line, unrendered_line

REASONS_SHOWN = 5
"""Number of reasons that are named, most frequent first. The log has them all."""
REASONED_OUTCOMES = (Outcome.FAILED, Outcome.REFUSED, Outcome.GONE)
"""Outcomes whose reasons are named, because no page was kept. Outcomes that a user can fix come first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlSummary:
    """The state of a crawl when its command ends."""

    before: Stats
    """The counts when the command began."""
    stats: Stats
    interrupted: bool = False
    """Whether a signal ended it, and not the frontier or a limit."""
    holds: Mapping[str, int] = field(default_factory=dict)
    """Held hosts, by reason code."""
    outage: str = ""
    """What kept workers from the web (`pipeline.terminal.outage_line`), if no page was settled afterwards; else ""."""

    @property
    def outcomes(self) -> dict[str, int]:
        """Pages that this command settled, by outcome."""
        return dict(Counter(self.stats.outcomes) - Counter(self.before.outcomes))

    @property
    def reasons(self) -> dict[str, int]:
        """Pages that this command settled with a reason, by `outcome:reason`."""
        return dict(Counter(self.stats.reasons) - Counter(self.before.reasons))

    @property
    def requests(self) -> int:
        """Requests sent during the command, for pages and robots.txt, by all commands on this crawl."""
        return self.stats.requests - self.before.requests

    @property
    def failed(self) -> int:
        """Pages that failed in this command."""
        return self.outcomes.get(Outcome.FAILED, 0)

    @property
    def remaining(self) -> int:
        """Pages that wait, now or for a time, or are leased."""
        return self.stats.waiting + self.stats.later + self.stats.leased


def body(name: str, summary: CrawlSummary) -> dict[str, Any]:
    """Return the summary for programs: the frontier's state, and under `run` what this command did."""
    return {
        **asdict(summary.stats),
        "drained": summary.stats.is_drained,
        "interrupted": summary.interrupted,
        "holds": dict(summary.holds),
        "outage": summary.outage,
        "linkless": linkless_line(name, summary.outcomes, summary.reasons),
        "unrendered": unrendered_line(name, summary.reasons),
        "run": {"requests": summary.requests, "outcomes": summary.outcomes, "reasons": summary.reasons},
    }


def lines(name: str, summary: CrawlSummary) -> list[str]:
    """Return the summary for people. The first line alone says whether all is well."""
    settled = {outcome: count for outcome, count in summary.outcomes.items() if count}
    fetched = settled.get(Outcome.FETCHED, 0) + settled.get(Outcome.UNCHANGED, 0)
    if fetched:
        result = ", ".join(f"{settled[outcome]:,} {outcome}" for outcome in Outcome if outcome in settled)
    else:
        result = f"nothing fetched{_nothing_fetched_reason(summary, settled)}"
    requests = (
        f" ({summary.requests:,} {'request' if summary.requests == 1 else 'requests'})"
        if summary.requests
        else ""
    )
    first = f"{name}: {result}{requests}; {_state(summary)}"
    scripts = (
        linkless_line(name, summary.outcomes, summary.reasons),
        unrendered_line(name, summary.reasons),
    )
    return [
        first,
        *(f"  {line}" for line in scripts if line),
        *_reason_lines(summary),
        *_hold_lines(name, summary),
    ]


def _nothing_fetched_reason(summary: CrawlSummary, settled: Mapping[str, int]) -> str:
    causes = [summary.outage] if summary.outage else []
    causes += [f"{count:,} {outcome}" for outcome, count in sorted(settled.items())]
    if held := sum(summary.holds.values()):
        causes.append(f"{held:,} {'host' if held == 1 else 'hosts'} held")
    frequent = Counter(summary.holds)
    for code, count in summary.reasons.items():  # several outcomes may have one reason
        frequent[code.partition(":")[2]] += count
    causes += [describe(code) for code, _ in _ordered(frequent)[:1]]
    if causes:
        return f": {', '.join(causes)}"
    return "" if summary.remaining else ", because nothing waited"


def _state(summary: CrawlSummary) -> str:
    stats = summary.stats
    if stats.is_drained:
        return "the frontier is drained"
    wait = f"{summary.remaining:,} URLs wait" if summary.remaining != 1 else "1 URL waits"
    return f"{'interrupted; ' if summary.interrupted else ''}{wait}, run again to continue"


def _reason_lines(summary: CrawlSummary) -> Iterator[str]:
    found = Counter(
        {
            code: count
            for code, count in summary.reasons.items()
            if code.partition(":")[0] in REASONED_OUTCOMES
        }
    )
    frequent = _ordered(found)[:REASONS_SHOWN]
    for code, count in sorted(
        frequent, key=lambda pair: REASONED_OUTCOMES.index(Outcome(pair[0].partition(":")[0]))
    ):
        outcome, _, reason = code.partition(":")
        yield f"  {count:,} {outcome}: {describe_with_code(reason)}"
    if rest := found.total() - sum(count for _, count in frequent):
        yield f"  {rest:,} more for other reasons"


def _hold_lines(name: str, summary: CrawlSummary) -> Iterator[str]:
    for code, count in _ordered(Counter(summary.holds))[:REASONS_SHOWN]:
        yield f"  {count:,} {'host' if count == 1 else 'hosts'} held: {describe_with_code(code)}"
    if summary.outage:
        yield f"  waited for the web: {summary.outage}"
    if summary.holds and not summary.stats.is_drained:
        yield f"  until when: thresher frontier hosts {name}"


def _ordered(counts: Counter[str]) -> list[tuple[str, int]]:
    """Return the most frequent first, and equals by name."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
