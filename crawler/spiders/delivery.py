"""`delivery`: what a spider gets of a visit: a response for its callback, an exception for its errback, or nothing. Pure.

1. Every lease that ends for good is delivered once. The errback is called for each failure: no response, a page that is not
   asked for, a status that is no success, a redirect that leads nowhere, a page that something between us and the host sent in its
   place, one that kills what reads it (`crawler.spiders.spider_exceptions` says by which exception).
2. Nothing is delivered of what the frontier tries again (RETRY, but for the last time), of a redirect that leads on, whose
   target is delivered in its place, and of a page that is as it was (304).
"""

from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpError

from crawler.reading.outcome import BLOCK_PAGE
from crawler.reading.page_options import PageOptions
from crawler.spiders.spider_exceptions import spider_exception
from crawler.spiders.visit import MIDDLEWARE, Visit, is_same_url, redirect_rejection, wants_redirect
from frontier import Lease, Outcome, Settlement

_NO_REDIRECTS = frozenset({"no_location", "bad_location"})
"""Redirects that Scrapy's own middleware takes for none: the response is delivered, as of any status that is no success."""


def delivery(
    visit: Visit,
    result: Response | Request | BaseException,
    request: Request,
    spider: Spider,
    options: PageOptions,
) -> Response | BaseException | None:
    """Return what the spider is to have of a visit: a response for its callback, or an exception for its errback, or nothing.

    `result` is what came back through the middlewares: a response, another request, or what was raised.
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
    """Why a request that a middleware gave in the place of the lease's comes to nothing; None where it does not."""
    if is_same_url(lease, other):
        return spider_exception(Outcome.FAILED, MIDDLEWARE) if is_last else None
    reason = redirect_rejection(lease, other, options)
    return IgnoreRequest(reason) if reason else None


def _failure_of_page(page: Settlement, response: Response) -> BaseException | None:
    """Why a page comes to nothing although there is a response; None where that is the spider's to say."""
    is_redirect = page.outcome is Outcome.REDIRECTED and not page.discoveries
    if page.outcome in {Outcome.FAILED, Outcome.REFUSED} or (
        is_redirect and page.reason not in _NO_REDIRECTS
    ):
        return spider_exception(page.outcome, page.reason)
    if (
        page.reason == BLOCK_PAGE.reason and 200 <= response.status < 300
    ):  # of any other status Scrapy makes it itself
        return HttpError(response, f"{page.reason}: the response is no page")
    return None
