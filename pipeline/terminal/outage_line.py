"""`outage_line`: the causes that keep workers from the web, in one line."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from thresher.frontier import Outage


def outage_line(outages: Mapping[str, Outage]) -> str:
    """Return each cause with its workers and its duration, most workers first. Return "" if there is none."""
    workers = Counter(outage.why for outage in outages.values())
    longest: defaultdict[str, int] = defaultdict(int)
    for outage in outages.values():
        longest[outage.why] = max(longest[outage.why], outage.ms)
    return "; ".join(
        f"{why}, for {longest[why] / 1000:,.0f} s" + (f", {count} workers" if count > 1 else "")
        for why, count in workers.most_common()
    )
