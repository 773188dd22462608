"""`delivery`: what a spider receives of a visit: a response for its callback, an exception for its errback, or nothing.
Pure.

1. Every lease that ends for good is delivered once. The errback is called for each failure: no response, a page that is
   not requested, a status that is no success, a redirect that leads nowhere, a block page in place of the host's page,
   and a page that kills its reader (`crawler.spiders.spider_exceptions` has the exception of each).
2. Nothing is delivered if the frontier tries the page again (RETRY, except the last time), if a redirect leads on (its
   target is delivered instead), and if a page is unchanged (304).
"""

from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError

from thresher.crawler.reading.outcome import BLOCK_PAGE
from thresher.crawler.reading.page_options import PageOptions
from thresher.crawler.spiders.spider_exceptions import spider_exception
from thresher.crawler.spiders.visit import MIDDLEWARE, Visit, is_same_url, redirect_rejection, wants_redirect
from thresher.frontier import Lease, Outcome, Settlement

_NO_REDIRECTS = frozenset({"no_location", "bad_location"})
"""Redirects that Scrapy's own middleware does not follow: the response is delivered, like any status that is no
success.
"""


def delivery(
    visit: Visit,
    result: Response | Request | BaseException,
    request: Request,
    spider: Spider,
    options: PageOptions,
) -> Response | BaseException | None:
    """Return what the spider receives of a visit: a response for its callback, an exception for its errback, or None.

    `result` is what came back through the middlewares: a response, another request, or an exception.
    """
    if visit.is_open:
        return None
    is_last = visit.lease.is_last_attempt
    if isinstance(result, Request):
        return _replacement_failure(visit.lease, result, options, is_last=is_last)
    if visit.result is None:
        return result
    page = visit.result.decision
    assert isinstance(page, Settlement)
    if wants_redirect(visit, request, spider):
        return result
    leads_on = page.outcome is Outcome.REDIRECTED and page.discoveries
    if leads_on or page.outcome is Outcome.UNCHANGED or (page.outcome is Outcome.RETRY and not is_last):
        return None
    return (isinstance(result, Response) and _failure_of_page(page, result)) or result


def _replacement_failure(
    lease: Lease, other: Request, options: PageOptions, *, is_last: bool
) -> BaseException | None:
    """Return why a request that a middleware gave in place of the lease's fails; None if it does not."""
    if is_same_url(lease, other):
        return spider_exception(Outcome.FAILED, MIDDLEWARE) if is_last else None
    reason = redirect_rejection(lease, other, options)
    return IgnoreRequest(reason) if reason else None


def _failure_of_page(page: Settlement, response: Response) -> BaseException | None:
    """Return why a page fails although there is a response; None if the spider decides that."""
    is_redirect = page.outcome is Outcome.REDIRECTED and not page.discoveries
    if page.outcome in {Outcome.FAILED, Outcome.REFUSED} or (
        is_redirect and page.reason not in _NO_REDIRECTS
    ):
        return spider_exception(page.outcome, page.reason)
    # For any other status Scrapy raises it itself.
    if page.reason == BLOCK_PAGE.reason and 200 <= response.status < 300:
        return HttpError(response, f"{page.reason}: the response is no page")
    return None
