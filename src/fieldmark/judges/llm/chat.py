"""Asks a chat model to grade data, and validates its reply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Final, NamedTuple

from fieldmark.judges.llm.answer_cache import CachedAnswer, CacheError
from fieldmark.judges.llm.client import (
    LlmClient,
    NotAnObjectError,
    UnusableReplyError,
    parse_object,
)
from fieldmark.judges.llm.connection import ChatConnection, ReplyFormat
from fieldmark.judges.llm.prompts import Prompt, data_block
from fieldmark.judges.llm.usage_log import LlmCall
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.presence import is_blank

__all__ = [
    "MAX_DATA_CHARACTERS",
    "Grade",
    "GradedSamples",
    "ask_for_grades",
    "grade_samples",
    "read_grades",
    "reply_text",
]

MAX_DATA_CHARACTERS: Final = 200_000
"""Larger data are not sent."""
_COMPLETE: Final[frozenset[JsonValue]] = frozenset({"stop", None})
"""The finish reasons of a complete reply."""
_INCOMPLETE: Final[Mapping[str, str]] = {
    "length": "the reply was cut off",
    "content_filter": "the endpoint refused to answer",
}
_MAX_REASON: Final = 2_000


class Grade(NamedTuple):
    """The score of one id and its reason."""

    score: float
    reason: str = ""


class GradedSamples(NamedTuple):
    """The grades of every sample by id, and their calls."""

    grades: tuple[dict[str, Grade], ...]
    calls: tuple[LlmCall, ...]


def grade_samples(
    client: LlmClient,
    connection: ChatConnection,
    prompt: Prompt,
    data: JsonObject,
    ids: Sequence[str],
    samples: int,
) -> GradedSamples:
    """Ask the same question several times; one failure is a failure of all samples."""

    def ask(repeat: int) -> list[CachedAnswer]:
        grades, call = ask_for_grades(client, connection, prompt, data, ids, repeat)
        return [CachedAnswer({name: list(grade) for name, grade in grades.items()}, call)]

    answers: list[CachedAnswer] = []
    for repeat in range(samples):
        question: JsonObject = {"data": data, "ids": list(ids), "repeat": repeat}
        (answer,) = client.lookup([question])
        if answer is None:
            (answer,) = client.ask([question], partial(ask, repeat))
        answers.append(answer)
    return GradedSamples(
        tuple(_cached_grades(each.answer, ids) for each in answers),
        tuple(each.call for each in answers),
    )


def _cached_grades(answer: JsonValue, ids: Sequence[str]) -> dict[str, Grade]:
    grades: dict[str, Grade] = {}
    for name in ids:
        match answer.get(name) if isinstance(answer, dict) else None:
            case [float() | int() as score, str(reason)]:
                grades[name] = Grade(float(score), reason)
            case _:
                raise CacheError("the cache holds something else than marks")
    return grades


def ask_for_grades(
    client: LlmClient,
    connection: ChatConnection,
    prompt: Prompt,
    data: JsonValue,
    ids: Sequence[str],
    repeat: int = 0,
) -> tuple[dict[str, Grade], LlmCall]:
    """Ask a model for the grades of data by id; a reply of any other form is an error.

    `repeat` is added to the seed, so that samples can differ.
    """
    block = data_block(data)
    payload: JsonObject = {
        "model": connection.model,
        "messages": prompt.messages(block, ids),
        "temperature": connection.temperature,
        "max_tokens": connection.max_reply_tokens,
        "seed": None if connection.seed is None else connection.seed + repeat,
    }
    if connection.reply_format is ReplyFormat.JSON_OBJECT:
        payload["response_format"] = {"type": "json_object"}
    elif connection.reply_format is ReplyFormat.JSON_SCHEMA:
        schema = prompt.schema(block.nonce, ids)
        payload["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "marks", "strict": True, "schema": schema},
        }
    body, call = client.post(
        "chat/completions", connection.with_request_options(payload), connection.longest_reply()
    )
    grades = read_grades(reply_text(body), block.nonce, ids, reasons=prompt.reasons)
    redacted = {
        name: grade._replace(reason=client.redact(grade.reason)) for name, grade in grades.items()
    }
    return redacted, call


def reply_text(body: JsonObject) -> str:
    """Return the text of a response that holds one complete reply."""
    choices = body.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise UnusableReplyError("the reply does not hold exactly one choice")
    ended = choices[0].get("finish_reason")
    if isinstance(ended, dict | list) or ended not in _COMPLETE:
        problem = _INCOMPLETE.get(str(ended), f"the reply ended with {str(ended)[:40]!r}")
        raise UnusableReplyError(problem)
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise UnusableReplyError("the choice holds no message")
    if message.get("refusal"):
        raise UnusableReplyError("the model refused to answer")
    content = message.get("content")
    if not isinstance(content, str) or is_blank(content):
        raise UnusableReplyError("the message is empty")
    return content


def read_grades(text: str, nonce: str, ids: Sequence[str], *, reasons: bool) -> dict[str, Grade]:
    """Read the grades of exactly these ids from a text that must be one JSON object.

    >>> read_grades('{"nonce": "n", "marks": [{"id": "a", "score": 1}]}', "n", ["a"], reasons=False)
    {'a': Grade(score=1.0, reason='')}
    """
    try:
        value = parse_object(text)
    except NotAnObjectError as error:
        raise UnusableReplyError(f"the reply is no JSON object: {error}") from None
    if value.get("nonce") != nonce:
        raise UnusableReplyError("the reply does not hold the nonce of this call")
    if set(value) != {"nonce", "marks"} or not isinstance(value["marks"], list):
        raise UnusableReplyError("the reply is not of the form that was asked for")
    keys = {"id", "score", "reason"} if reasons else {"id", "score"}
    grades: dict[str, Grade] = {}
    for entry in value["marks"]:
        if not isinstance(entry, dict) or set(entry) != keys:
            raise UnusableReplyError("a mark is not of the form that was asked for")
        name, score, reason = entry["id"], entry["score"], entry.get("reason", "")
        if not isinstance(name, str) or not isinstance(reason, str):
            raise UnusableReplyError("a mark is not of the form that was asked for")
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise UnusableReplyError("a score is no number")
        if not (isfinite(score) and 0 <= score <= 1):
            raise UnusableReplyError("a score is not between 0 and 1")
        if name in grades or name not in ids:
            raise UnusableReplyError("the reply marks something twice, or what was not asked")
        grades[name] = Grade(float(score), reason[:_MAX_REASON])
    if len(grades) != len(ids):
        raise UnusableReplyError(f"the reply marks {len(grades)} of {len(ids)}")
    return grades
