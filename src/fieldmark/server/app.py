"""The application: routes inside, guards around them."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from fieldmark.errors import FieldmarkError
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.server.answers import Reply
from fieldmark.server.desk import Desk, desk_of
from fieldmark.server.guards.bodies import Bodies
from fieldmark.server.guards.crossing import Crossing
from fieldmark.server.guards.headers import Headers
from fieldmark.server.guards.hosts import Hosts
from fieldmark.server.guards.sessions import Sessions
from fieldmark.server.options import ServerOptions
from fieldmark.server.pages import assets, docs, show
from fieldmark.server.refusals import Code, Refusal, described, refusal_of
from fieldmark.server.routes import about, batch, cases, diff, evaluate, jobs, runs, strategies
from fieldmark.version import VERSION

__all__ = ["create_app", "guarded"]

_LOG: Final = logging.getLogger(__name__)
_ABOUT: Final = """Marks extracted fields against the truth: right, wrong, missing or invented.

Every request needs the session: the cookie that the start address sets, together with the header
`x-fieldmark-csrf` for everything but GET; or `Authorization: Bearer` with the token of the start
address. Every refusal is `{"error": {"code", "message"}}`, and codes do not change.
"""
_FOR_PROGRAMS: Final = ("/api/", "/assets/")
_BY_STATUS: Final = {404: Code.NOT_FOUND, 405: Code.METHOD_NOT_ALLOWED}


def create_app(options: ServerOptions) -> ASGIApp:
    """The whole application of a server, behind its guards."""
    return guarded(_application(options), options)


def guarded(app: ASGIApp, options: ServerOptions) -> ASGIApp:
    """An application behind all guards; the last one here is asked first."""
    app = Bodies(app, options.bounds)
    app = Crossing(app, options.secrets)
    app = Sessions(app, options.secrets)
    app = Hosts(app, options.hosts)
    return Headers(app)


def _application(options: ServerOptions) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.desk = Desk(options)
        try:
            yield
        finally:
            app.state.desk.close()

    app = FastAPI(
        title="fieldmark",
        version=VERSION,
        description=_ABOUT,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
    )
    api = APIRouter(prefix="/api")
    for module in (evaluate, batch, jobs, runs, cases, diff, strategies, about):
        api.include_router(module.router)
    app.include_router(api)
    for pages in (docs, assets, show):
        app.include_router(pages.router)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(FieldmarkError, _known)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _crashed)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    if isinstance(error, Refusal):
        refusal = error
        refusal.message = desk_of(request).hiding.text(refusal.message)
    else:
        code = _BY_STATUS.get(error.status_code, Code.INVALID_REQUEST)
        refusal = Refusal(code, "There is nothing here." if code is Code.NOT_FOUND else "Not so.")
    return _said(request, refusal)


def _said(request: Request, refusal: Refusal) -> Response:
    """A refusal as JSON, or as a page for somebody who opened one."""
    if request.url.path.startswith(_FOR_PROGRAMS):
        return Reply(described(refusal), refusal.status_code, refusal.headers)
    return show.refused(refusal, request, desk_of(request))


async def _known(request: Request, error: Exception) -> Response:
    if not isinstance(error, FieldmarkError):
        raise error
    refusal = refusal_of(error)
    hiding = desk_of(request).hiding
    problems = hiding.value(refusal.problems)
    refusal.message = hiding.text(refusal.message)
    refusal.problems = problems if isinstance(problems, list) else []
    return _said(request, refusal)


async def _invalid(request: Request, error: Exception) -> Response:
    """What is wrong with a request, all of it; what was sent is not sent back."""
    if not isinstance(error, RequestValidationError):
        raise error
    problems: list[JsonValue] = [
        _problem(each["loc"], str(each["msg"])) for each in error.errors()[:50]
    ]
    refusal = Refusal(Code.INVALID_REQUEST, "The request is not valid.", problems=problems)
    return _said(request, refusal)


def _problem(place: tuple[str | int, ...], message: str) -> JsonObject:
    where = ".".join(str(step)[:100] for step in place[:8])
    return {"message": message[:300], "where": where, "hint": ""}


async def _crashed(request: Request, error: Exception) -> Response:  # noqa: ARG001
    _LOG.error("a request failed", exc_info=error)
    refusal = Refusal(Code.INTERNAL, "Something went wrong in the server; its log says what.")
    return Reply(described(refusal), refusal.status_code)
