"""The undrop command: scopes that an operator has barred, and one of them barred no longer.

Its pages that were refused meanwhile wait again (`pipeline.crawls.retry`): the crawl log has them. Links to it that
were found meanwhile are in no log and in no frontier; they come back when a page that has them is fetched again.
"""

from thresher.core import InputError
from thresher.frontier import Scope
from thresher.pipeline.crawls.barred_scope import barred_scope
from thresher.pipeline.crawls.operator_commands import query_frontier
from thresher.pipeline.crawls.retry import RetryPlan, RetrySummary, add_retries
from thresher.pipeline.open_project import OpenProject

REASON = "dropped"
"""Reason of a page that was refused because it is barred."""


def barred_scopes(project: OpenProject, crawl: str) -> list[str]:
    """Return the scopes that are barred from a crawl."""
    return [str(scope) for scope in _barred(project, crawl)]


def undrop(project: OpenProject, crawl: str, text: str) -> RetrySummary:
    """Bar a scope no longer, and add its refused pages to the frontier once more. Pages that another scope bars are
    counted as discarded. If this is killed, it may be called again and adds nothing twice.

    Raise `InputError` if the scope is not barred and no refused page of it may wait.
    """
    scope = barred_scope(text)
    barred = _barred(project, crawl)
    query_frontier(project, crawl, lambda frontier: frontier.operator.undrop(scope))
    found = add_retries(project, RetryPlan(crawl=crawl, reasons=(REASON,), scope=scope, may_be_none=True))
    if scope not in barred and not (found.added or found.known):
        names = ", ".join(map(str, barred)) or "nothing"
        raise InputError(f"crawl {crawl!r}: {scope} is not barred; barred are: {names}")
    return found


def _barred(project: OpenProject, crawl: str) -> list[Scope]:
    return query_frontier(project, crawl, lambda frontier: frontier.operator.barred_scopes())
