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

__all__ = ["STATUS", "Code", "Refusal", "described", "refusal_of"]


class Code(StrEnum):
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


STATUS: Final[Mapping[Code, int]] = {
    Code.BAD_JSON: 400,
    Code.INVALID_REQUEST: 422,
    Code.INVALID_RULES: 422,
    Code.INVALID_DATA: 422,
    Code.LIMIT_EXCEEDED: 422,
    Code.MISSING_EXTRA: 422,
    Code.NO_SESSION: 401,
    Code.FORBIDDEN_HOST: 403,
    Code.CROSS_SITE: 403,
    Code.BAD_CSRF: 403,
    Code.READ_ONLY: 403,
    Code.OUTSIDE_ROOTS: 403,
    Code.PROVIDER_NOT_ALLOWED: 403,
    Code.NOT_FOUND: 404,
    Code.METHOD_NOT_ALLOWED: 405,
    Code.CONFLICT: 409,
    Code.LOCKED: 409,
    Code.TOO_SLOW: 408,
    Code.TOO_LARGE: 413,
    Code.WRONG_MEDIA_TYPE: 415,
    Code.TOO_MANY_JOBS: 429,
    Code.BUSY: 429,
    Code.STORAGE: 503,
    Code.INTERNAL: 500,
}
"""The status of every code."""

_CODES: Final[tuple[tuple[type[FieldmarkError], Code], ...]] = (
    (ConfigError, Code.INVALID_RULES),
    (OptionError, Code.INVALID_RULES),
    (LimitError, Code.LIMIT_EXCEEDED),
    (DataError, Code.INVALID_DATA),
    (MissingExtra, Code.MISSING_EXTRA),
    (RunLockedError, Code.LOCKED),
    (StorageError, Code.STORAGE),
)
"""The first row that fits an error is its code."""


class Refusal(HTTPException):
    """A request that is refused: a code for programs, and a sentence for people."""

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        problems: list[JsonValue] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.problems = problems or []
        super().__init__(STATUS[code], message, dict(headers or {}))


def refusal_of(error: FieldmarkError) -> Refusal:
    """The refusal that an error of the library becomes."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), Code.INVALID_REQUEST)
    if isinstance(error, ConfigError):
        problems: list[JsonValue] = [_problem(problem) for problem in error.problems]
        return Refusal(code, "\n".join(map(_sentence, error.problems)), problems=problems)
    return Refusal(code, str(error))


def described(refusal: Refusal) -> JsonObject:
    """The body of a refusal."""
    error: JsonObject = {"code": refusal.code.value, "message": refusal.message}
    if refusal.problems:
        error["problems"] = refusal.problems
    return {"error": error}


def _sentence(problem: Problem) -> str:
    return f"{problem.message} {problem.hint}".rstrip()


def _problem(problem: Problem) -> JsonObject:
    return {"message": problem.message, "where": str(problem.location), "hint": problem.hint}
