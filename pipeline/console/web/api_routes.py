"""The JSON API: `api_router`. The pages show what these routes return."""

import asyncio
from typing import Annotated

from fastapi import APIRouter, FastAPI, HTTPException, Path, Query, Request
from fastapi.responses import PlainTextResponse, Response
from pydantic import Field

from thresher.core import InputError
from thresher.pipeline.console.actions.action_requests import ACTIONS, Action, ActionRequest
from thresher.pipeline.console.actions.action_runner import Operator
from thresher.pipeline.console.archived_copy import archived_copy, stored_document
from thresher.pipeline.console.frontier_views import rates_view
from thresher.pipeline.console.live_console import Console
from thresher.pipeline.console.models.crawl_models import (
    CrawlView,
    ErrorView,
    HostPageView,
    HostView,
    LogView,
    Model,
    PolitenessView,
    RatesView,
    WorkersView,
)
from thresher.pipeline.console.models.service_models import ActionRecord, ActionResult, HealthView
from thresher.pipeline.console.models.storage_models import (
    CostView,
    ExportView,
    FunnelView,
    ManifestPage,
    ManifestView,
    RunPage,
    StorageView,
    YieldView,
)
from thresher.pipeline.console.models.url_models import DocumentView, UrlView
from thresher.pipeline.console.sampler import PERIOD_S
from thresher.pipeline.console.slow_reading import Reading, T
from thresher.pipeline.console.web.archived_page import HEADERS as REPLAY_HEADERS
from thresher.pipeline.console.web.archived_page import replay_body
from thresher.pipeline.console.web.request_guard import Client

READ_S = 30.0
"""Seconds that a program waits for a value that is read for the first time."""
MAX_METRICS_READ_S = 300.0
"""Seconds of reading after which `/metrics` shows the figures of before no longer."""
MAX_NAME = 400
CrawlName = Annotated[str, Path(description="Name of the crawl.", max_length=100)]
Cursor = Annotated[str, Query(description="`cursor` of the page before.", max_length=MAX_NAME)]


class ErrorBody(Model):
    """Why a request failed."""

    error: str = Field(description="One line: what is wrong, and what to do.")


class HistoryView(Model):
    """The last hour of a crawl."""

    period_s: float = Field(description="Seconds between two samples.")
    rates: list[RatesView] = Field(description="The oldest first.")
    waiting: list[int] = Field(description="Pages that waited at each sample, the oldest first.")


ERRORS: dict[int | str, dict[str, object]] = {
    400: {"model": ErrorBody, "description": "A parameter is wrong."},
    401: {"description": "The token is missing or wrong."},
    404: {"model": ErrorBody, "description": "There is no crawl, host, record or Manifest of this name."},
    503: {"model": ErrorBody, "description": "The frontier, the storage or the catalog does not respond."},
}


def console_of(request: Request) -> Console:
    """Return the console of the application."""
    console: Console = request.app.state.console
    return console


def operator_of(request: Request) -> Operator:
    """Return who sent a request."""
    client: Client = request.state.client
    return Operator(who=client.who, address=client.address)


def ready(reading: Reading[T]) -> T:
    """Return the value of a reading. Raise an error of HTTP if there is none."""
    if reading.value is not None:
        return reading.value
    text = reading.error or "it is being read; ask again"
    raise HTTPException(503, text, headers={"Retry-After": "5"})


def api_router() -> APIRouter:
    """Return the routes below `/api`."""
    router = APIRouter(prefix="/api", responses=ERRORS)
    for add in (_add_crawl_routes, _add_host_routes, _add_storage_routes, _add_run_routes, _add_page_routes):
        add(router)
    for action in ACTIONS.values():
        _add_action(router, action)

    @router.get("/actions", tags=["actions"])
    async def list_actions(request: Request) -> list[ActionRecord]:
        """The newest actions, and who asked for them."""
        return await asyncio.to_thread(console_of(request).actions.log.newest)

    return router


def _add_crawl_routes(router: APIRouter) -> None:
    @router.get("/crawls", tags=["crawls"])
    async def list_crawls(request: Request) -> list[CrawlView]:
        """Every crawl of the project."""
        return await console_of(request).all_crawls()

    @router.get("/crawls/{crawl}", tags=["crawls"])
    async def show_crawl(request: Request, crawl: CrawlName) -> CrawlView:
        """One crawl: health, URLs by state, speed, what it waits for."""
        return await console_of(request).crawl(crawl)

    @router.get("/crawls/{crawl}/history", tags=["crawls"])
    async def show_history(request: Request, crawl: CrawlName) -> HistoryView:
        """The last hour, since the console started at most."""
        samples = console_of(request).samples(crawl)
        rates = [view for each in samples.series() if (view := rates_view(each)) is not None]
        return HistoryView(period_s=PERIOD_S, rates=rates, waiting=samples.waiting())

    @router.get("/crawls/{crawl}/workers", tags=["crawls"])
    async def show_workers(request: Request, crawl: CrawlName) -> WorkersView:
        """The workers of a crawl and its fleet."""
        return await console_of(request).workers(crawl)

    @router.get("/crawls/{crawl}/errors", tags=["crawls"])
    async def list_errors(request: Request, crawl: CrawlName) -> list[ErrorView]:
        """Pages by outcome and reason, with example URLs."""
        return await console_of(request).errors(crawl)

    @router.get("/crawls/{crawl}/log", tags=["crawls"])
    async def show_log(
        request: Request,
        crawl: CrawlName,
        after: Annotated[int, Query(ge=0, description="`serial` of the last line that is known.")] = 0,
        limit: Annotated[int, Query(ge=1, le=500)] = 100,
    ) -> LogView:
        """The newest lines of the log. Ask again with `after` for those that came since."""
        await console_of(request).crawls.ask(crawl, _nothing)
        return await console_of(request).logs.newest(crawl, after=after, limit=limit)


def _add_host_routes(router: APIRouter) -> None:
    @router.get("/crawls/{crawl}/politeness", tags=["hosts"])
    async def show_politeness(request: Request, crawl: CrawlName) -> PolitenessView:
        """The slowest and the blocked hosts: why a host waits, and until when."""
        return await console_of(request).politeness(crawl)

    @router.get("/crawls/{crawl}/hosts", tags=["hosts"])
    async def list_hosts(
        request: Request,
        crawl: CrawlName,
        cursor: Cursor = "",
        held: Annotated[bool, Query(description="Leave out hosts that may be asked.")] = False,
    ) -> HostPageView:
        """Some 1,000 hosts, in no order. With `held` a page may be empty before the last."""
        return await console_of(request).hosts(crawl, cursor, is_held=held)

    @router.get("/crawls/{crawl}/hosts/{host}", tags=["hosts"])
    async def show_host(
        request: Request, crawl: CrawlName, host: Annotated[str, Path(max_length=MAX_NAME)]
    ) -> HostView:
        """One host."""
        found = await console_of(request).host(crawl, host.lower())
        if found is None:
            raise HTTPException(404, f"crawl {crawl!r}: knows no host {host!r}")
        return found


def _add_storage_routes(router: APIRouter) -> None:
    @router.get("/sources/{source}/funnel", tags=["storage"])
    async def show_funnel(request: Request, source: CrawlName) -> FunnelView:
        """How many records each filter dropped."""
        return ready(await console_of(request).funnel(source, READ_S))

    @router.get("/sources/{source}/yields", tags=["storage"])
    async def show_yields(request: Request, source: CrawlName) -> YieldView:
        """Yield by domain, of the newest parts."""
        return ready(await console_of(request).yields(source, READ_S))

    @router.get("/storage", tags=["storage"])
    async def show_storage(request: Request) -> StorageView:
        """What is stored."""
        return ready(await console_of(request).storage(READ_S))

    @router.get("/cost", tags=["storage"])
    async def show_cost(request: Request) -> CostView:
        """What the project cost so far, by source and by step."""
        return ready(await console_of(request).cost(READ_S))

    @router.get("/exports", tags=["storage"])
    async def list_exports(request: Request) -> list[ExportView]:
        """Finished exports and their mix."""
        return ready(await console_of(request).exports(READ_S))


def _add_run_routes(router: APIRouter) -> None:
    @router.get("/runs", tags=["storage"])
    async def list_runs(
        request: Request,
        step: Annotated[str, Query(max_length=100, description="Only runs of this step.")] = "",
        cursor: Cursor = "",
    ) -> RunPage:
        """Runs of steps, the newest first."""
        return await asyncio.to_thread(console_of(request).stored.runs, step, cursor)

    @router.get("/manifests", tags=["storage"])
    async def list_manifests(
        request: Request,
        step: Annotated[str, Query(max_length=100, description="Only parts of this step.")] = "",
        source: Annotated[str, Query(max_length=100, description="Only parts of this source.")] = "",
        cursor: Cursor = "",
    ) -> ManifestPage:
        """Sealed parts, by name."""
        return await asyncio.to_thread(console_of(request).stored.manifests, step, source, cursor)

    @router.get("/manifest", tags=["storage"])
    async def show_manifest(
        request: Request, name: Annotated[str, Query(max_length=MAX_NAME, description="Name in storage.")]
    ) -> ManifestView:
        """One Manifest."""
        return await asyncio.to_thread(console_of(request).stored.manifest, name)


def _add_page_routes(router: APIRouter) -> None:
    @router.get("/url", tags=["pages"])
    async def show_url(
        request: Request, u: Annotated[str, Query(max_length=4000, description="URL in any spelling.")]
    ) -> UrlView:
        """The history of a URL. While `is_searching` is true, ask again for the rest."""
        return await console_of(request).url(u)

    @router.get("/document", tags=["pages"])
    async def show_document(
        request: Request,
        part: Annotated[str, Query(max_length=MAX_NAME, description="`part` of a capture.")],
        id_: Annotated[str, Query(alias="id", max_length=100, description="`document` of a capture.")],
    ) -> DocumentView:
        """The text that was extracted from a record, and its verdict."""
        return await asyncio.to_thread(stored_document, console_of(request).stored, part, id_)

    @router.get("/replay", tags=["pages"], response_class=Response)
    async def replay(
        request: Request,
        file: Annotated[str, Query(max_length=MAX_NAME, description="`file` of a capture.")],
        offset: Annotated[int, Query(ge=0, lt=1 << 62, description="`offset` of a capture.")],
    ) -> Response:
        """The archived copy of a page, in a sandbox: nothing of it runs, and it loads nothing. The first 4 MiB."""
        copy = await asyncio.to_thread(archived_copy, console_of(request).stored, file, offset)
        body = await asyncio.to_thread(replay_body, copy)
        if body is None:
            text = f"A payload of type {copy.mime or 'unknown'} is not shown."
            return PlainTextResponse(text, headers=REPLAY_HEADERS)
        return Response(body.body, headers={**REPLAY_HEADERS, "content-type": body.media_type})


def add_service_routes(app: FastAPI) -> None:
    """Add `/healthz` and `/metrics`."""

    @app.get("/healthz", tags=["service"], responses={503: {"model": HealthView}})
    async def healthz(request: Request) -> Response:
        """Whether the frontier and the storage respond. Needs no token, and then says only whether they do."""
        health = await console_of(request).health()
        status = 200 if health.status == "ok" else 503
        shown = (
            health if request.state.client.who else health.model_copy(update={"frontier": "", "storage": ""})
        )
        return Response(shown.model_dump_json(), status, media_type="application/json")

    @app.get("/metrics", tags=["service"], response_class=PlainTextResponse)
    async def show_metrics(request: Request) -> PlainTextResponse:
        """The figures of `thresher status --metrics`, for Prometheus. 503 if they cannot be read now: a scrape of old
        figures would look as if all were well.
        """
        reading = await console_of(request).metrics()
        text = ready(reading)
        if reading.error:
            raise HTTPException(503, reading.error)
        if reading.attempt_s > MAX_METRICS_READ_S:
            raise HTTPException(
                503, f"the figures are {reading.age_s:.0f} s old: the storage hangs or is slow"
            )
        return PlainTextResponse(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_action(router: APIRouter, action: Action) -> None:
    async def act(request: Request, crawl: CrawlName, body: ActionRequest) -> ActionResult:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise InputError("send the values as application/json")
        return await console_of(request).act(action, body, crawl, operator_of(request))

    act.__annotations__["body"] = action.request
    router.add_api_route(
        f"/crawls/{{crawl}}/{action.name}",
        act,
        methods=["POST"],
        name=action.name,
        operation_id=f"{action.name.replace('-', '_')}",
        summary=action.title,
        description=action.consequence,
        tags=["actions"],
    )


async def _nothing(_: object) -> None:
    return None
