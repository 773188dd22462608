"""Lines about pages of which a crawl may have less than their readers see, because no script of theirs was run."""

from collections.abc import Mapping

from thresher.frontier import Outcome

NO_LINKS = f"{Outcome.FETCHED}:no_links"
"""How the frontier counts such pages (`crawler.reading.page_reading`)."""
UNRENDERED = f"{Outcome.FETCHED}:unrendered"
"""How the frontier counts pages that say little and have scripts (`crawler.lease_result`)."""
FEWEST_PAGES = 5
"""Such pages that there must be. A person can look at fewer, and one page of scripts is no news."""


def linkless_line(name: str, outcomes: Mapping[str, int], reasons: Mapping[str, int]) -> str:
    """Return what to look at if at least `FEWEST_PAGES` pages, and half of those fetched, hold addresses but no link
    was found in any of them. Otherwise return "".
    """
    count, fetched = reasons.get(NO_LINKS, 0), outcomes.get(Outcome.FETCHED, 0)
    if count < max(FEWEST_PAGES, fetched / 2):
        return ""
    return (
        f"{count:,} of {fetched:,} fetched pages hold `<a` with an address, and no link was found in them; "
        f"look at some (thresher log {name} --reason no_links): if scripts make their links, set crawler.render; "
        "if not, report this with your version of Python"
    )


def unrendered_line(name: str, reasons: Mapping[str, int]) -> str:
    """Return how many pages say little, have scripts, and were not rendered, and what to do. Without any, return ""."""
    count = reasons.get(UNRENDERED, 0)
    if not count:
        return ""
    pages = (
        "1 fetched page says little and has" if count == 1 else f"{count:,} fetched pages say little and have"
    )
    return f"{pages} scripts that were not run (thresher log {name} --reason unrendered); crawler.render runs them"
