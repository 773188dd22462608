"""`create_app`: the console as an ASGI application."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version

from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException as StarletteHTTPException

from thresher.core import CorruptData, InputError, ThresherError
from thresher.core.printable_address import redact_secrets
from thresher.pipeline.console.crawl_reader import UnknownCrawl
from thresher.pipeline.console.live_console import Console
from thresher.pipeline.console.web.access import AccessRules
from thresher.pipeline.console.web.api_routes import add_service_routes, api_router
from thresher.pipeline.console.web.page_rendering import compile_templates
from thresher.pipeline.console.web.pages import add_pages, error_page
from thresher.pipeline.console.web.request_guard import RequestGuard

DESCRIPTION = (
    "What the console shows, as JSON. On loopback without a token the API is open to programs of the machine; "
    "otherwise send `Authorization: Bearer TOKEN`. Requests that change something have the content type "
    "`application/json`. Errors have a body with `error`, one line."
)


def create_app(console: Console, rules: AccessRules) -> RequestGuard:
    """Return the application. It samples the project's crawls while it runs."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(compile_templates)
        sampling = asyncio.create_task(console.run())
        try:
            yield
        finally:
            sampling.cancel()
            with suppress(asyncio.CancelledError):
                await sampling
            console.close()
            await console.crawls.aclose()

    app = api_app(lifespan)
    app.state.console, app.state.rules = console, rules
    add_pages(app)
    app.add_exception_handler(ThresherError, _known_error)
    app.add_exception_handler(RequestValidationError, _wrong_parameter)
    app.add_exception_handler(StarletteHTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected_error)
    return RequestGuard(app, rules=rules)  # outermost: a response to an unexpected error has its headers too


def api_app(lifespan: object = None) -> FastAPI:
    """Return an application with the API alone, from which its description is made."""
    app = FastAPI(
        title="Thresher console",
        version=version("thresher"),
        description=DESCRIPTION,
        docs_url=None,  # they load scripts from other sites
        redoc_url=None,
        lifespan=lifespan,  # type: ignore[arg-type]
    )
    app.include_router(api_router())
    add_service_routes(app)
    return app


async def _known_error(request: Request, error: Exception) -> Response:
    status = 503
    if isinstance(error, UnknownCrawl):
        status = 404
    elif isinstance(error, InputError):
        status = 400
    elif isinstance(error, CorruptData):
        status = 500
    return _answer(request, status, redact_secrets(str(error)))


async def _unexpected_error(request: Request, _: Exception) -> Response:
    # uvicorn logs the traceback, which may name things that a user need not see.
    return _answer(request, 500, "the console failed to answer; what it printed says why")


async def _wrong_parameter(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:])
    return _answer(request, 400, f"{where}: {first['msg']}")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException | StarletteHTTPException)
    return _answer(request, error.status_code, str(error.detail), dict(error.headers or {}))


def _answer(request: Request, status: int, text: str, headers: dict[str, str] | None = None) -> Response:
    if request.url.path.startswith("/api/") or "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"error": text}, status, headers=headers)
    return error_page(request, status, text)
