"""The pages of the console, rendered on the server: `add_pages`. They show what the API returns."""

import asyncio
import time
from collections.abc import Awaitable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import APIRouter, FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import ValidationError

from thresher.core import InputError, ThresherError
from thresher.pipeline.console.actions.action_requests import ACTIONS, Action, ActionRequest
from thresher.pipeline.console.archived_copy import archived_copy, stored_document
from thresher.pipeline.console.web.access import AccessRules
from thresher.pipeline.console.web.api_routes import console_of, operator_of
from thresher.pipeline.console.web.archived_page import replay_body
from thresher.pipeline.console.web.page_rendering import STATIC, render
from thresher.pipeline.console.web.request_guard import Client, session_cookie

T = TypeVar("T")
MAX_FIELDS = 40
LOGIN_PAUSE_S = 1.0
"""Seconds that an answer to a wrong token takes; wrong tokens are looked at one after another."""


def add_pages(app: FastAPI) -> None:
    """Add the pages and the static files to an application."""
    for router in (_crawl_pages(), _part_pages(), _storage_pages(), _action_pages(), _login_pages()):
        app.include_router(router, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC))


def error_page(request: Request, status: int, text: str) -> HTMLResponse:
    """Return a page that says what went wrong."""
    return _page(request, "error.html", status=status, status_code=status, text=text)


def _crawl_pages() -> APIRouter:
    router = APIRouter()

    @router.get("/")
    async def overview(request: Request) -> HTMLResponse:
        console = console_of(request)
        crawls, storage, cost, exports, runs = await asyncio.gather(
            _or_error(console.all_crawls()),
            console.storage(),
            console.cost(),
            console.exports(),
            _or_error(asyncio.to_thread(console.stored.runs)),
        )
        names = [crawl.name for crawl in crawls[0] or []]
        return _page(
            request,
            "overview.html",
            crawls=crawls,
            samples={name: console.samples(name) for name in names},
            storage=storage,
            cost=cost,
            exports=exports,
            runs=runs,
            actions=await asyncio.to_thread(console.actions.log.newest, 5),
        )

    @router.get("/crawls/{crawl}")
    async def show_crawl(request: Request, crawl: str) -> HTMLResponse:
        console = console_of(request)
        found = await console.crawl(crawl)
        if found.health == "lost":
            return _page(request, "lost.html", crawl=found)
        workers, politeness, errors, funnel, yields, log = await asyncio.gather(
            console.workers(crawl),
            console.politeness(crawl, 10),
            console.errors(crawl),
            console.funnel(crawl),
            console.yields(crawl),
            _or_error(console.logs.newest(crawl, limit=15)),
        )
        return _page(
            request,
            "crawl.html",
            crawl=found,
            samples=console.samples(crawl),
            workers=workers,
            politeness=politeness,
            errors=errors,
            funnel=funnel,
            yields=yields,
            log=log,
        )

    return router


def _part_pages() -> APIRouter:
    router = APIRouter()

    @router.get("/crawls/{crawl}/hosts")
    async def hosts(
        request: Request, crawl: str, cursor: str = "", held: bool = False, host: str = ""
    ) -> HTMLResponse:
        console = console_of(request)
        if host:
            one = await console.host(crawl, host.strip().lower()[:253])
            return _page(request, "host.html", crawl=crawl, host=one, name=host)
        page, politeness = await asyncio.gather(
            console.hosts(crawl, cursor, is_held=held), console.politeness(crawl, 50)
        )
        return _page(
            request, "hosts.html", crawl=crawl, page=page, politeness=politeness, held=held, cursor=cursor
        )

    @router.get("/crawls/{crawl}/errors")
    async def errors(request: Request, crawl: str) -> HTMLResponse:
        return _page(request, "errors.html", crawl=crawl, errors=await console_of(request).errors(crawl))

    @router.get("/crawls/{crawl}/log")
    async def log(request: Request, crawl: str) -> HTMLResponse:
        console = console_of(request)
        await console.crawl(crawl)
        return _page(request, "log.html", crawl=crawl, log=await console.logs.newest(crawl, limit=200))

    @router.get("/url")
    async def show_url(request: Request, u: str = "") -> HTMLResponse:
        text = u.strip()
        if not text:
            return _page(request, "url.html", url=None, text="")
        if "://" not in text and not text.lower().startswith("file:"):
            text = f"https://{text}"
        return _page(request, "url.html", url=await console_of(request).url(text[:4000]), text=u)

    return router


def _storage_pages() -> APIRouter:
    router = APIRouter()

    @router.get("/storage")
    async def storage(request: Request) -> HTMLResponse:
        console = console_of(request)
        found, cost, exports = await asyncio.gather(console.storage(), console.cost(), console.exports())
        return _page(request, "storage.html", storage=found, cost=cost, exports=exports)

    @router.get("/runs")
    async def runs(request: Request, step: str = "", cursor: str = "") -> HTMLResponse:
        page = await asyncio.to_thread(console_of(request).stored.runs, step, cursor)
        return _page(request, "runs.html", page=page, step=step, cursor=cursor)

    @router.get("/manifests")
    async def manifests(request: Request, step: str = "", source: str = "", cursor: str = "") -> HTMLResponse:
        page = await asyncio.to_thread(console_of(request).stored.manifests, step, source, cursor)
        return _page(request, "manifests.html", page=page, step=step, source=source, cursor=cursor)

    @router.get("/manifest")
    async def manifest(request: Request, name: str) -> HTMLResponse:
        found = await asyncio.to_thread(console_of(request).stored.manifest, name)
        return _page(request, "manifest.html", manifest=found)

    @router.get("/document")
    async def document(request: Request, part: str, id: str) -> HTMLResponse:  # noqa: A002 - the parameter's name
        found = await asyncio.to_thread(stored_document, console_of(request).stored, part, id)
        return _page(request, "document.html", document=found)

    @router.get("/copy")
    async def copy(request: Request, file: str, offset: int) -> HTMLResponse:
        found = await asyncio.to_thread(archived_copy, console_of(request).stored, file, offset)
        is_shown = await asyncio.to_thread(replay_body, found) is not None
        return _page(request, "copy.html", copy=found, file=file, offset=offset, is_shown=is_shown)

    return router


def _action_pages() -> APIRouter:
    router = APIRouter()

    @router.get("/actions")
    async def actions(request: Request) -> HTMLResponse:
        found = await asyncio.to_thread(console_of(request).actions.log.newest, 200)
        return _page(request, "actions.html", actions=found)

    @router.get("/crawls/{crawl}/actions/{name}")
    async def confirm(request: Request, crawl: str, name: str) -> HTMLResponse:
        action = _action(name)
        settings = (await console_of(request).crawl(crawl)).settings
        values = {
            key: value for key, value in request.query_params.items() if key in action.request.model_fields
        }
        return _confirm_page(request, crawl, action, values, present=settings.model_dump())

    @router.post("/crawls/{crawl}/actions/{name}")
    async def act(request: Request, crawl: str, name: str) -> Response:
        action = _action(name)
        form = await _form(request)
        client: Client = request.state.client
        rules: AccessRules = request.app.state.rules
        if not rules.is_form_number(client.cookie, form.pop("form_number", "")):
            raise HTTPException(403, "this form has ended; go back, reload the page and try again")
        values = {key: value for key, value in form.items() if value.strip()}
        try:
            body = action.request.model_validate(values)
            result = await console_of(request).act(action, body, crawl, operator_of(request))
        except ValidationError as error:
            return _confirm_page(request, crawl, action, form, _first_error(action.request, error))
        except InputError as error:
            return _confirm_page(request, crawl, action, form, str(error))
        return _page(request, "acted.html", crawl=crawl, action=action, result=result)

    return router


def _login_pages() -> APIRouter:
    router = APIRouter()
    looking = asyncio.Semaphore(1)

    @router.get("/login")
    async def login(request: Request) -> HTMLResponse:
        return _page(request, "login.html", problem="")

    @router.post("/login")
    async def check(request: Request) -> Response:
        rules: AccessRules = request.app.state.rules
        form = await _form(request)
        async with looking:
            if not rules.is_token(form.get("token", "").strip()):
                await asyncio.sleep(LOGIN_PAUSE_S)
                return _page(request, "login.html", status=403, problem="That is not the token.")
        cookie = session_cookie(rules.new_session(time.time()), is_secure=request.url.scheme == "https")
        return RedirectResponse("/", 303, headers={"set-cookie": cookie})

    @router.post("/logout")
    async def logout() -> Response:
        return RedirectResponse("/login", 303, headers={"set-cookie": session_cookie("", is_secure=False)})

    return router


def _action(name: str) -> Action:
    action = ACTIONS.get(name)
    if action is None:
        raise HTTPException(404, "there is no such action")
    return action


def _confirm_page(
    request: Request,
    crawl: str,
    action: Action,
    values: dict[str, str],
    problem: str = "",
    present: Mapping[str, object] = MappingProxyType({}),
) -> HTMLResponse:
    return _page(
        request,
        "action.html",
        status=400 if problem else 200,
        crawl=crawl,
        action=action,
        fields=action.request.model_json_schema().get("properties", {}),
        required=action.request.model_json_schema().get("required", []),
        values=values,
        problem=problem,
        present=present,
    )


def _first_error(request: type[ActionRequest], error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    field = request.model_fields.get(name)
    return f"{field.title if field else name}: {first['msg']}"


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form. Its body has a bounded length (`request_guard`)."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415, "send a form")
    try:
        text = (await request.body()).decode()
        return dict(parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS))
    except ValueError:
        raise HTTPException(400, "the form cannot be read") from None


async def _or_error(answer: Awaitable[T]) -> tuple[T | None, str]:
    """Return an answer, or why there is none: a part of a page fails alone."""
    try:
        return await answer, ""
    except ThresherError as error:
        return None, str(error)


def _page(request: Request, template: str, /, *, status: int = 200, **values: Any) -> HTMLResponse:
    client: Client = request.state.client
    rules: AccessRules = request.app.state.rules
    text = render(
        template,
        **values,
        who=client.who,
        has_login=bool(rules.token) and client.who == "token",
        form_number=rules.form_number(client.cookie),
        path=request.url.path,
    )
    return HTMLResponse(text, status)
