"""What a refusal holds, and which an operation may give."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel, ConfigDict

__all__ = ["ErrorDetail", "error_responses"]


class _Open(BaseModel):
    """An answer that may hold more than is described."""

    model_config = ConfigDict(extra="allow")


class ProblemModel(_Open):
    """One thing that is wrong with rules or a request."""

    message: str
    where: str = ""
    hint: str = ""


class ErrorDetail(_Open):
    """Why a request was refused."""

    code: str
    message: str
    problems: list[ProblemModel] = []


class ErrorResponse(_Open):
    """The body of every refusal."""

    error: ErrorDetail


_WORDS: Final = {
    400: "The body is not JSON.",
    401: "No session: open the start address, or send its token.",
    403: "Not allowed here.",
    404: "There is no such thing.",
    409: "Something else has changed it.",
    413: "The body is too large.",
    422: "The request, its rules or its data are not valid.",
    429: "Too much at once; try again.",
}


def error_responses(*codes: int) -> dict[int | str, dict[str, object]]:
    """The refusals of an operation, for its description."""
    return {code: {"model": ErrorResponse, "description": _WORDS[code]} for code in (401, *codes)}
