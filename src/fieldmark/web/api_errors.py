"""API errors: a stable code, its HTTP status and a message."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, Self

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from fieldmark.data.roots import OutsideRootsError
from fieldmark.errors import (
    ConfigError,
    DataError,
    FieldmarkError,
    LimitError,
    MissingExtra,
    OptionError,
    RunLockedError,
    StorageError,
    with_hint,
)
from fieldmark.model.json import JsonObject, JsonValue

INTERNAL_ERROR: Final = "Internal server error. The server log has the details."


class ErrorCode(StrEnum):
    """Why a request failed, with the HTTP status."""

    status: int

    def __new__(cls, value: str, status: int) -> Self:
        """Create a member whose value is only the code."""
        code = str.__new__(cls, value)
        code._value_ = value
        code.status = status
        return code

    BAD_JSON = "bad_json", 400
    NO_SESSION = "no_session", 401
    FORBIDDEN_HOST = "forbidden_host", 403
    CROSS_SITE = "cross_site", 403
    BAD_CSRF = "bad_csrf", 403
    READ_ONLY = "read_only", 403
    OUTSIDE_ROOTS = "outside_roots", 403
    PROVIDER_NOT_ALLOWED = "provider_not_allowed", 403
    NOT_FOUND = "not_found", 404
    METHOD_NOT_ALLOWED = "method_not_allowed", 405
    TOO_SLOW = "too_slow", 408
    CONFLICT = "conflict", 409
    LOCKED = "locked", 409
    TOO_LARGE = "too_large", 413
    WRONG_MEDIA_TYPE = "wrong_media_type", 415
    INVALID_REQUEST = "invalid_request", 422
    INVALID_RULES = "invalid_rules", 422
    INVALID_DATA = "invalid_data", 422
    LIMIT_EXCEEDED = "limit_exceeded", 422
    MISSING_EXTRA = "missing_extra", 422
    TOO_MANY_JOBS = "too_many_jobs", 429
    BUSY = "busy", 429
    INTERNAL = "internal", 500
    STORAGE = "storage", 503


_CODES: Final[tuple[tuple[type[FieldmarkError], ErrorCode], ...]] = (
    (OptionError, ErrorCode.INVALID_RULES),
    (LimitError, ErrorCode.LIMIT_EXCEEDED),
    (OutsideRootsError, ErrorCode.OUTSIDE_ROOTS),
    (DataError, ErrorCode.INVALID_DATA),
    (MissingExtra, ErrorCode.MISSING_EXTRA),
    (RunLockedError, ErrorCode.LOCKED),
    (StorageError, ErrorCode.STORAGE),
)
"""The first entry that matches an exception determines its code."""
_MAX_PROBLEMS: Final = 50


class ApiError(HTTPException):
    """A failed request, with a code for programs and a message for people."""

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
        super().__init__(code.status, message, dict(headers or {}))

    def details(self) -> JsonObject:
        """Return the error as JSON."""
        details: JsonObject = {"code": self.code.value, "message": self.message}
        if self.problems:
            details["problems"] = self.problems
        return details

    def body(self) -> JsonObject:
        """Return the body of the response."""
        return {"error": self.details()}


def to_api_error(error: Exception) -> ApiError:
    """Convert an exception of the library or the framework; unknown ones are internal errors."""
    match error:
        case ApiError():
            return error
        case ConfigError(problems=config_problems):
            messages = [with_hint(problem.message, problem.hint) for problem in config_problems]
            problems: list[JsonValue] = [
                {"message": problem.message, "where": str(problem.location), "hint": problem.hint}
                for problem in config_problems
            ]
            return ApiError(ErrorCode.INVALID_RULES, "\n".join(messages), problems=problems)
        case FieldmarkError():
            codes = (code for kind, code in _CODES if isinstance(error, kind))
            return ApiError(next(codes, ErrorCode.INVALID_REQUEST), str(error))
        case RequestValidationError():
            # The rejected input itself is not echoed.
            problems = [
                {
                    "message": str(problem["msg"]).removeprefix("Value error, ")[:300],
                    "where": ".".join(str(step)[:100] for step in problem["loc"][:8]),
                    "hint": "",
                }
                for problem in error.errors()[:_MAX_PROBLEMS]
            ]
            message = "The request is invalid."
            return ApiError(ErrorCode.INVALID_REQUEST, message, problems=problems)
        case HTTPException(status_code=404):
            return ApiError(ErrorCode.NOT_FOUND, "Not found.")
        case HTTPException(status_code=405):
            return ApiError(ErrorCode.METHOD_NOT_ALLOWED, "Method not allowed.")
        case HTTPException():
            return ApiError(ErrorCode.INVALID_REQUEST, "The request is invalid.")
        case _:
            return ApiError(ErrorCode.INTERNAL, INTERNAL_ERROR)
