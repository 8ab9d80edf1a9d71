"""What is believed of a reply: one JSON object with the call's nonce, whole and in range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final, NamedTuple

from fieldmark.judges.strict_json import InvalidObjectError, strict_object
from fieldmark.model.json import JsonObject, JsonValue

__all__ = ["Mark", "UnusableReplyError", "read_marks", "text_of"]

_STOPPED: Final[frozenset[JsonValue]] = frozenset({"stop", None})
"""How a reply ends that is complete."""
_CUT: Final[Mapping[str, str]] = {
    "length": "the reply was cut off",
    "content_filter": "the endpoint refused to answer",
}
_LONGEST_REASON: Final = 2_000


class UnusableReplyError(Exception):
    """A reply that says nothing that could be believed."""


class Mark(NamedTuple):
    """The score of one id, and why."""

    score: float
    reason: str = ""


def text_of(body: JsonObject) -> str:
    """What the model wrote, if it wrote one reply to its end and did not refuse."""
    choices = body.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise UnusableReplyError("the reply does not hold exactly one choice")
    ended = choices[0].get("finish_reason")
    if isinstance(ended, dict | list) or ended not in _STOPPED:
        raise UnusableReplyError(_CUT.get(str(ended), f"the reply ended with {str(ended)[:40]!r}"))
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise UnusableReplyError("the choice holds no message")
    if message.get("refusal"):
        raise UnusableReplyError("the model refused to answer")
    content = message.get("content")
    if not isinstance(content, str) or not content.strip():
        raise UnusableReplyError("the message is empty")
    return content


def read_marks(text: str, nonce: str, ids: Sequence[str], *, reasons: bool) -> dict[str, Mark]:
    """The marks for all ids and no others, from a text that is the reply and nothing else.

    >>> read_marks('{"nonce": "n", "marks": [{"id": "a", "score": 1}]}', "n", ["a"], reasons=False)
    {'a': Mark(score=1.0, reason='')}
    """
    try:
        value = strict_object(text)
    except InvalidObjectError as error:
        raise UnusableReplyError(f"the reply is no JSON object: {error}") from None
    if value.get("nonce") != nonce:
        raise UnusableReplyError("the reply does not hold the nonce of this call")
    if set(value) != {"nonce", "marks"} or not isinstance(value["marks"], list):
        raise UnusableReplyError("the reply is not of the form that was asked for")
    marks: dict[str, Mark] = {}
    for entry in value["marks"]:
        name, mark = _mark(entry, reasons=reasons)
        if name in marks or name not in ids:
            raise UnusableReplyError("the reply marks something twice, or what was not asked")
        marks[name] = mark
    if len(marks) != len(ids):
        raise UnusableReplyError(f"the reply marks {len(marks)} of {len(ids)}")
    return marks


def _mark(entry: JsonValue, *, reasons: bool) -> tuple[str, Mark]:
    keys = {"id", "score", "reason"} if reasons else {"id", "score"}
    if not isinstance(entry, dict) or set(entry) != keys:
        raise UnusableReplyError("a mark is not of the form that was asked for")
    name, score, reason = entry["id"], entry["score"], entry.get("reason", "")
    if not isinstance(name, str) or not isinstance(reason, str):
        raise UnusableReplyError("a mark is not of the form that was asked for")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise UnusableReplyError("a score is no number")
    if not (isfinite(score) and 0 <= score <= 1):
        raise UnusableReplyError("a score is not between 0 and 1")
    return name, Mark(float(score), reason[:_LONGEST_REASON])
