"""Everything that the server says no to, by a code that never changes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from fastapi import HTTPException

from fieldmark.errors import (
    ConfigError,
    DataError,
    FieldmarkError,
    LimitError,
    MissingExtra,
    OptionError,
    Problem,
    RunLockedError,
    StorageError,
)
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["HTTP_STATUS", "ApiError", "ErrorCode", "error_body", "to_api_error"]


class ErrorCode(StrEnum):
    """Why a request was refused."""

    BAD_JSON = "bad_json"
    INVALID_REQUEST = "invalid_request"
    INVALID_RULES = "invalid_rules"
    INVALID_DATA = "invalid_data"
    LIMIT_EXCEEDED = "limit_exceeded"
    MISSING_EXTRA = "missing_extra"
    NO_SESSION = "no_session"
    FORBIDDEN_HOST = "forbidden_host"
    CROSS_SITE = "cross_site"
    BAD_CSRF = "bad_csrf"
    READ_ONLY = "read_only"
    OUTSIDE_ROOTS = "outside_roots"
    PROVIDER_NOT_ALLOWED = "provider_not_allowed"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CONFLICT = "conflict"
    LOCKED = "locked"
    TOO_SLOW = "too_slow"
    TOO_LARGE = "too_large"
    WRONG_MEDIA_TYPE = "wrong_media_type"
    TOO_MANY_JOBS = "too_many_jobs"
    BUSY = "busy"
    STORAGE = "storage"
    INTERNAL = "internal"


HTTP_STATUS: Final[Mapping[ErrorCode, int]] = {
    ErrorCode.BAD_JSON: 400,
    ErrorCode.INVALID_REQUEST: 422,
    ErrorCode.INVALID_RULES: 422,
    ErrorCode.INVALID_DATA: 422,
    ErrorCode.LIMIT_EXCEEDED: 422,
    ErrorCode.MISSING_EXTRA: 422,
    ErrorCode.NO_SESSION: 401,
    ErrorCode.FORBIDDEN_HOST: 403,
    ErrorCode.CROSS_SITE: 403,
    ErrorCode.BAD_CSRF: 403,
    ErrorCode.READ_ONLY: 403,
    ErrorCode.OUTSIDE_ROOTS: 403,
    ErrorCode.PROVIDER_NOT_ALLOWED: 403,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.METHOD_NOT_ALLOWED: 405,
    ErrorCode.CONFLICT: 409,
    ErrorCode.LOCKED: 409,
    ErrorCode.TOO_SLOW: 408,
    ErrorCode.TOO_LARGE: 413,
    ErrorCode.WRONG_MEDIA_TYPE: 415,
    ErrorCode.TOO_MANY_JOBS: 429,
    ErrorCode.BUSY: 429,
    ErrorCode.STORAGE: 503,
    ErrorCode.INTERNAL: 500,
}
"""The status of every code."""

_CODES: Final[tuple[tuple[type[FieldmarkError], ErrorCode], ...]] = (
    (ConfigError, ErrorCode.INVALID_RULES),
    (OptionError, ErrorCode.INVALID_RULES),
    (LimitError, ErrorCode.LIMIT_EXCEEDED),
    (DataError, ErrorCode.INVALID_DATA),
    (MissingExtra, ErrorCode.MISSING_EXTRA),
    (RunLockedError, ErrorCode.LOCKED),
    (StorageError, ErrorCode.STORAGE),
)
"""The first row that fits an error is its code."""


class ApiError(HTTPException):
    """A request that is refused: a code for programs, and a sentence for people."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        problems: list[JsonValue] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.problems = problems or []
        super().__init__(HTTP_STATUS[code], message, dict(headers or {}))


def to_api_error(error: FieldmarkError) -> ApiError:
    """The refusal that an error of the library becomes."""
    code = next(
        (code for kind, code in _CODES if isinstance(error, kind)), ErrorCode.INVALID_REQUEST
    )
    if isinstance(error, ConfigError):
        problems: list[JsonValue] = [_problem(problem) for problem in error.problems]
        return ApiError(code, "\n".join(map(_sentence, error.problems)), problems=problems)
    return ApiError(code, str(error))


def error_body(api_error: ApiError) -> JsonObject:
    """The body of a refusal."""
    error: JsonObject = {"code": api_error.code.value, "message": api_error.message}
    if api_error.problems:
        error["problems"] = api_error.problems
    return {"error": error}


def _sentence(problem: Problem) -> str:
    return f"{problem.message} {problem.hint}".rstrip()


def _problem(problem: Problem) -> JsonObject:
    return {"message": problem.message, "where": str(problem.location), "hint": problem.hint}
