"""The ASGI application: routes, error handling and middleware."""

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
from fieldmark.version import VERSION
from fieldmark.web import pages
from fieldmark.web.api_errors import ErrorCode, to_api_error
from fieldmark.web.app_state import AppState, get_state
from fieldmark.web.middleware import with_middleware
from fieldmark.web.responses import ApiResponse
from fieldmark.web.routes import (
    about,
    analyses,
    batch,
    cases,
    diff,
    evaluate,
    jobs,
    review,
    runs,
    strategies,
)
from fieldmark.web.server_options import ServerOptions

_LOG: Final = logging.getLogger(__name__)
_DESCRIPTION: Final = """\
Compares predictions with ground truth field by field: match, wrong value, wrong type, missing or
extra.

The server prints an address with an access token when it starts. Programs send this token in the
header `Authorization: Bearer TOKEN`. Browsers use the session cookie that the address sets, and all
methods except GET also require the header `x-fieldmark-csrf`. Every error response is
`{"error": {"code", "message", "problems"}}`; codes are stable.
"""
_JSON_PATHS: Final = ("/api/", "/assets/")


def create_app(options: ServerOptions) -> ASGIApp:
    """Return the application with all middleware."""
    return with_middleware(create_api(options), options)


def create_api(options: ServerOptions) -> FastAPI:
    """Return the application without middleware: all routes, and the OpenAPI document."""

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
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        lifespan=lifespan,
    )
    api = APIRouter(prefix="/api")
    for module in (
        evaluate, batch, jobs, runs, diff, analyses, review, cases, strategies, about,
    ):  # fmt: skip
        api.include_router(module.router)
    app.include_router(api)
    for router in (about.pages, pages.router):
        app.include_router(router)
    for kind in (RequestValidationError, FieldmarkError, HTTPException, Exception):
        app.add_exception_handler(kind, _handle_error)
    return app


async def _handle_error(request: Request, error: Exception) -> Response:
    """Respond to an exception with JSON, or with a page if a page was requested."""
    api_error = to_api_error(error)
    if api_error.code is ErrorCode.INTERNAL:
        _LOG.error("request failed", exc_info=error)
        return ApiResponse(api_error.body(), api_error.status_code)
    state = get_state(request)
    state.redactor.redact_error(api_error)
    if request.url.path.startswith(_JSON_PATHS):
        return ApiResponse(api_error.body(), api_error.status_code, api_error.headers)
    return pages.error_page(api_error, pages.PageRenderer(request, state))
