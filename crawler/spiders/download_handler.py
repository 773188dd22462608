"""`SpiderDownloadHandler`: Scrapy's download handler for a spider, around `crawler.lease_handler`.

It fetches only the page of a lease, and returns it as Scrapy does: a response of the matching class, its body without
transfer and content encoding; or it raises one of Scrapy's exceptions.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes

from thresher.core import Capture, InputError, failure_boundary
from thresher.core import Failure as ReadingFailure
from thresher.crawler.decode_budget import DecodedBody
from thresher.crawler.lease_handler import LeaseHandler
from thresher.crawler.reading.outcome import READING_FAILED, READING_STEP, judge_failure
from thresher.crawler.reading.rendered_page import DOM_CONTENT_TYPE, RenderedPage
from thresher.crawler.robots.robots_txt import RobotsFetch
from thresher.crawler.spiders.spider_exceptions import spider_exception, truncation_exception
from thresher.crawler.spiders.spider_request import UNSUPPORTED_META
from thresher.crawler.spiders.visit import Visit
from thresher.crawler.wire import FetchFailure
from thresher.crawler.wire.http.request import is_sendable

RESERVED_HEADERS = frozenset(
    b"Connection|Content-Length|Expect|Host|Keep-Alive|Proxy-Authorization|Proxy-Connection|TE|Trailer"
    b"|Transfer-Encoding|Upgrade|User-Agent".split(b"|")
)
"""Headers that a spider cannot set: those that frame the message, and the name by which robots rules were read."""

logger = logging.getLogger(__name__)


class SpiderDownloadHandler:
    """Fetches the page of a request's visit."""

    lazy = False

    def __init__(
        self, crawler: Crawler, visits: Mapping[Request, Visit], lease_handler: LeaseHandler
    ) -> None:
        """`visits` are the open ones, by their requests; `lease_handler` fetches."""
        self._crawler, self._visits, self._lease_handler = crawler, visits, lease_handler

    @classmethod
    def from_crawler(cls, crawler: Any) -> "SpiderDownloadHandler":
        """Return the handler of a spider's crawler."""
        return cls(crawler, crawler.visits, crawler.lease_handler)

    async def download_request(self, request: Request) -> Response:
        """Return the response, and store it in the request's visit. Store there what is raised as well."""
        visit = self._visits.get(request)
        try:
            visit = _start_visit(visit, request, _name(self._crawler))
            visit.fetch_result = await self._lease_handler.fetch(visit.lease, self._extra_headers(request))
        except Exception as error:
            if visit is not None:
                visit.is_aborted = True
            self._lease_handler.stop(error)
            raise
        self._warn_unrendered(request)
        found = visit.fetch_result.result
        assert not isinstance(found, RobotsFetch)  # a spider never requests robots.txt
        failed = visit.fetch_result.reading_failure
        match found:
            case Capture() if failed is None and (not found.truncated or not self._fails_on_loss(request)):
                try:
                    with failure_boundary(READING_STEP):
                        decoded = await self._lease_handler.decode_budget.decode(found)
                    visit.reserved_bytes += decoded.reserved_bytes
                    with self._lease_handler.reading_page(visit.lease):
                        return _with_dom(
                            scrapy_response(found, request, decoded), visit.fetch_result.rendered
                        )
                except ReadingFailure as raised:
                    visit.fetch_result = replace(visit.fetch_result, reading_failure=raised)
                    visit.exception = reading_exception(raised)
            case _ if failed is not None:
                visit.exception = reading_exception(failed)
            case Capture(truncated=truncated):
                assert truncated is not None
                visit.exception = truncation_exception(truncated)
            case FetchFailure(reason=reason, detail=detail):
                visit.exception = spider_exception(judge_failure(reason).outcome, reason, detail)
            case _:
                visit.exception = IgnoreRequest("it was not requested, and goes back to the frontier")
        raise visit.exception

    def _warn_unrendered(self, request: Request) -> None:
        if self._lease_handler.can_render or not request.meta.get("playwright"):
            return
        if not self._crawler.stats.get_value("thresher/not_rendered"):
            logger.warning('meta["playwright"] asks for a browser; set crawler.render to "auto" or "always"')
        self._crawler.stats.inc_value("thresher/not_rendered")

    def _fails_on_loss(self, request: Request) -> bool:
        default = self._crawler.settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
        return bool(request.meta.get("download_fail_on_dataloss", default))

    async def close(self) -> None:
        """Do nothing: the worker owns the client and closes it."""

    def _extra_headers(self, request: Request) -> tuple[tuple[str, str], ...]:
        """Return the headers that a spider wants to send. Raise `InputError` for one that cannot be sent."""
        reserved = RESERVED_HEADERS & request.headers.keys()
        if reserved and not self._crawler.stats.get_value("thresher/headers_not_sent"):
            names = ", ".join(sorted(name.decode() for name in reserved))
            logger.warning("headers that a spider does not choose are not sent: %s", names)
        if reserved:
            self._crawler.stats.inc_value("thresher/headers_not_sent", len(reserved))
        sent = tuple(
            (name.decode("latin-1"), value.decode("latin-1"))
            for name, values in request.headers.items()
            if name not in reserved
            for value in values
        )
        for name, value in sent:
            if not is_sendable(name, value):
                raise InputError(
                    f"{_name(self._crawler)}: {request}: a request cannot have the header {name!r}"
                )
        return sent


def reading_exception(error: ReadingFailure) -> Exception:
    """Return the exception for a response whose reading raised."""
    return spider_exception(READING_FAILED.outcome, READING_FAILED.reason, str(error))


def _name(crawler: Crawler) -> str:
    assert crawler.spider is not None
    return f"spider {crawler.spider.name}"


def _start_visit(visit: Visit | None, request: Request, spider: str) -> Visit:
    if visit is None or visit.is_requested:
        raise InputError(
            f"{spider}: {request} was requested without the frontier; yield it from a callback instead"
        )
    for key in UNSUPPORTED_META.keys() & request.meta.keys():
        raise InputError(f"{spider}: {request} has meta[{key!r}]: {UNSUPPORTED_META[key]}")
    visit.is_requested = True
    return visit


def scrapy_response(capture: Capture, request: Request, decoded: DecodedBody) -> Response:
    """Return a capture as a response of Scrapy. An incomplete one has the flag `dataloss`."""
    body = decoded.body
    headers = Headers()
    for name, value in capture.headers:
        headers.appendlist(name.encode("latin-1"), value.encode("latin-1"))
    if decoded.problem is None:
        headers.pop(b"Content-Encoding", None)
    kind = responsetypes.from_args(headers=headers, url=capture.url.wire, body=body)
    return kind(
        capture.url.wire,
        status=capture.status,
        headers=headers,
        body=body,
        flags=["dataloss"] if capture.truncated else None,
        request=request,
        ip_address=ip_address(capture.peer) if capture.peer else None,
        protocol=capture.protocol.replace("http", "HTTP"),
    )


def _with_dom(response: Response, rendered: RenderedPage | None) -> Response:
    """Return the response with the page as its browser saw it, if one did."""
    if rendered is None or not rendered.html:
        return response
    headers = response.headers.copy()
    headers[b"Content-Type"] = DOM_CONTENT_TYPE
    return response.replace(body=rendered.html, headers=headers, encoding="utf-8")
