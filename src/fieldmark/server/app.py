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
from fieldmark.server.api_errors import ApiError, ErrorCode, error_body, to_api_error
from fieldmark.server.app_state import AppState, get_state
from fieldmark.server.guards.bodies import BodyLimitMiddleware
from fieldmark.server.guards.csrf import CSRFMiddleware
from fieldmark.server.guards.headers import SecurityHeadersMiddleware
from fieldmark.server.guards.hosts import HostMiddleware
from fieldmark.server.guards.sessions import SessionMiddleware
from fieldmark.server.options import ServerOptions
from fieldmark.server.pages import api_docs, assets, page_routes
from fieldmark.server.routes import batch, cases, diff, evaluate, health, jobs, runs, strategies
from fieldmark.server.strict_json import ApiResponse
from fieldmark.version import VERSION

__all__ = ["create_app", "guarded"]

_LOG: Final = logging.getLogger(__name__)
_ABOUT: Final = """Marks extracted fields against the truth: right, wrong, missing or invented.

Every request needs the session: the cookie that the start address sets, together with the header
`x-fieldmark-csrf` for everything but GET; or `Authorization: Bearer` with the token of the start
address. Every refusal is `{"error": {"code", "message"}}`, and codes do not change.
"""
_FOR_PROGRAMS: Final = ("/api/", "/assets/")
_BY_STATUS: Final = {404: ErrorCode.NOT_FOUND, 405: ErrorCode.METHOD_NOT_ALLOWED}


def create_app(options: ServerOptions) -> ASGIApp:
    """The whole application of a server, behind its guards."""
    return guarded(_application(options), options)


def guarded(app: ASGIApp, options: ServerOptions) -> ASGIApp:
    """An application behind all guards; the last one here is asked first."""
    app = BodyLimitMiddleware(app, options.limits)
    app = CSRFMiddleware(app, options.secrets)
    app = SessionMiddleware(app, options.secrets)
    app = HostMiddleware(app, options.hosts)
    return SecurityHeadersMiddleware(app)


def _application(options: ServerOptions) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        app.state.fieldmark = AppState(options)
        try:
            yield
        finally:
            app.state.fieldmark.close()

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
    for module in (evaluate, batch, jobs, runs, cases, diff, strategies, health):
        api.include_router(module.router)
    app.include_router(api)
    for pages in (api_docs, assets, page_routes):
        app.include_router(pages.router)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(FieldmarkError, _known)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _crashed)
    return app


async def _refused(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    if isinstance(error, ApiError):
        api_error = error
        api_error.message = get_state(request).redactor.text(api_error.message)
    else:
        code = _BY_STATUS.get(error.status_code, ErrorCode.INVALID_REQUEST)
        api_error = ApiError(
            code, "There is nothing here." if code is ErrorCode.NOT_FOUND else "Not so."
        )
    return _said(request, api_error)


def _said(request: Request, api_error: ApiError) -> Response:
    """A refusal as JSON, or as a page for somebody who opened one."""
    if request.url.path.startswith(_FOR_PROGRAMS):
        return ApiResponse(error_body(api_error), api_error.status_code, api_error.headers)
    return page_routes.error_page(api_error, request, get_state(request))


async def _known(request: Request, error: Exception) -> Response:
    if not isinstance(error, FieldmarkError):
        raise error
    api_error = to_api_error(error)
    redactor = get_state(request).redactor
    problems = redactor.value(api_error.problems)
    api_error.message = redactor.text(api_error.message)
    api_error.problems = problems if isinstance(problems, list) else []
    return _said(request, api_error)


async def _invalid(request: Request, error: Exception) -> Response:
    """What is wrong with a request, all of it; what was sent is not sent back."""
    if not isinstance(error, RequestValidationError):
        raise error
    problems: list[JsonValue] = [
        _problem(each["loc"], str(each["msg"])) for each in error.errors()[:50]
    ]
    api_error = ApiError(ErrorCode.INVALID_REQUEST, "The request is not valid.", problems=problems)
    return _said(request, api_error)


def _problem(place: tuple[str | int, ...], message: str) -> JsonObject:
    where = ".".join(str(step)[:100] for step in place[:8])
    return {"message": message[:300], "where": where, "hint": ""}


async def _crashed(request: Request, error: Exception) -> Response:  # noqa: ARG001
    _LOG.error("a request failed", exc_info=error)
    api_error = ApiError(
        ErrorCode.INTERNAL, "Something went wrong in the server; its log says what."
    )
    return ApiResponse(error_body(api_error), api_error.status_code)
