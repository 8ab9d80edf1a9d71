"""Requests to a chat model: its response, or the grades in it after validation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from fieldmark.judges.http_client import excerpt
from fieldmark.judges.images import Image
from fieldmark.judges.llm.client import (
    LlmCallError,
    LlmClient,
    NoAnswerError,
    NotAnObjectError,
    Question,
    UnusableResponseError,
    parse_object,
)
from fieldmark.judges.llm.connection import ChatConnection, ReplyFormat
from fieldmark.judges.llm.prompts import Prompt, data_block
from fieldmark.judges.llm.response_cache import CachedResponse, CacheError
from fieldmark.judges.llm.usage_log import LlmCall, llm_threads
from fieldmark.model.json import JsonObject, JsonValue
from fieldmark.values.presence import is_blank
from fieldmark.values.text import plural

_MAX_DATA_CHARACTERS: Final = 200_000
_COMPLETE: Final[frozenset[JsonValue]] = frozenset({"stop", None})
"""The finish reasons of a complete response."""
_FILTERED: Final = "content_filter"
"""The finish reason of a filtered response, and the code in the error for a filtered request."""
_MAX_REASON: Final = 2_000
_REFUSALS: Final = frozenset({400, 404, 415, 422, 500, 501})
_FORMAT: Final = re.compile(r"response_?format|json_?schema|json_?object|grammar", re.IGNORECASE)
"""Words in the error of an endpoint that does not support a response format."""
_UNSUPPORTED: Final = re.compile(
    r"unsupported|not support|unknown|unrecogni[sz]ed|max_completion_tokens", re.IGNORECASE
)
_WITHOUT: Final[Mapping[str, str]] = {
    "max_tokens": "{{max_tokens: null, max_completion_tokens: {limit}}}",
    "temperature": "{{temperature: null}}",
    "seed": "{{seed: null}}",
}
"""The value of `request` for an endpoint that does not support a parameter."""
_THINKING: Final = re.compile(r"\s*<think>.*?</think>", re.DOTALL)
_FENCE: Final = re.compile(
    r"\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*\Z", re.DOTALL | re.IGNORECASE
)


class Grade(NamedTuple):
    """A score, its reason, and the choice that it stands for."""

    score: float
    reason: str = ""
    choice: str = ""


class Sample(NamedTuple):
    """The grades of one response by id, and its call."""

    grades: dict[str, Grade]
    call: LlmCall


def size_problem(data: JsonObject) -> str:
    """Return an error message if data is too large to be sent, otherwise an empty string."""
    too_large = len(json.dumps(data)) > _MAX_DATA_CHARACTERS
    return f"the data exceeds the limit of {_MAX_DATA_CHARACTERS:,} characters" if too_large else ""


def grade_samples(
    client: LlmClient,
    connection: ChatConnection,
    prompt: Prompt,
    data: JsonObject,
    ids: Sequence[str],
    samples: int = 1,
    images: Sequence[Image] = (),
) -> list[Sample]:
    """Request several samples of the same grades at a time; if one fails, all fail."""
    shown: JsonObject = {"images": [image.sha256 for image in images]} if images else {}
    questions: list[Question] = [
        {"data": data, "ids": list(ids), "repeat": repeat, **shown} for repeat in range(samples)
    ]
    cached = client.lookup(questions)

    def request(repeat: int) -> CachedResponse:
        grades, call = request_grades(client, connection, prompt, data, ids, repeat, images=images)
        new = CachedResponse({name: list(grade) for name, grade in grades.items()}, call)
        (stored,) = client.store([questions[repeat]], [new])
        return stored

    missing = [repeat for repeat, response in enumerate(cached) if response is None]
    if len(missing) > 1:
        threads = min(connection.concurrency, len(missing))
        with llm_threads(threads) as pool:
            requested = list(pool.map(request, missing))
    else:
        requested = list(map(request, missing))
    responses = dict(zip(missing, requested, strict=True))
    return [
        Sample(_cached_grades(response.value, ids), response.call)
        for repeat, known in enumerate(cached)
        for response in [known or responses[repeat]]
    ]


def _cached_grades(cached: JsonValue, ids: Sequence[str]) -> dict[str, Grade]:
    grades: dict[str, Grade] = {}
    for name in ids:
        match cached.get(name) if isinstance(cached, dict) else None:
            case [float() | int() as score, str(reason)]:
                grades[name] = Grade(float(score), reason)
            case [float() | int() as score, str(reason), str(choice)]:
                grades[name] = Grade(float(score), reason, choice)
            case _:
                raise CacheError("the cached response does not contain valid grades")
    return grades


def request_grades(
    client: LlmClient,
    connection: ChatConnection,
    prompt: Prompt,
    data: JsonValue,
    ids: Sequence[str],
    repeat: int = 0,
    *,
    images: Sequence[Image] = (),
    again: bool = True,
) -> Sample:
    """Request the grades of data by id from a model; any other response is an error.

    `repeat` is added to the seed, so that samples can differ. With `again`, the request is repeated
    once after an invalid response.
    """
    block = data_block(data)
    body, call, _ = request_chat(
        client,
        connection,
        lambda _: prompt.messages(block, ids, [image.url for image in images]),
        schema=prompt.schema(block.nonce, ids),
        schema_name="marks",
        images=[image.url for image in images],
        repeat=repeat,
    )
    text = response_text(body)
    try:
        grades = parse_grades(
            text, block.nonce, ids, reasons=prompt.reasons, choices=prompt.choices
        )
    except UnusableResponseError as error:
        if again:
            return request_grades(
                client, connection, prompt, data, ids, repeat, images=images, again=False
            )
        quoted = client.redact(excerpt(text))
        raise UnusableResponseError(f"{error}: {quoted!r}", invalid=True) from None
    redacted = {
        name: grade._replace(reason=client.redact(grade.reason)) for name, grade in grades.items()
    }
    return Sample(redacted, call)


class ChatResponse(NamedTuple):
    """The body of a response, its call, and the response format that was requested."""

    body: JsonObject
    call: LlmCall
    reply_format: ReplyFormat


def request_chat(
    client: LlmClient,
    connection: ChatConnection,
    messages: Callable[[ReplyFormat], list[JsonValue]],
    *,
    schema: JsonObject | None,
    schema_name: str,
    strict: bool = True,
    images: Sequence[str] = (),
    repeat: int = 0,
) -> ChatResponse:
    """Send messages in the strictest response format that the endpoint does not refuse.

    `images` are the URLs of the images in the messages. `repeat` is added to the seed.
    """
    while True:
        used = connection.offered_formats.strictest
        response_format: JsonObject | None = None
        if used is ReplyFormat.JSON_OBJECT:
            response_format = {"type": "json_object"}
        elif used is ReplyFormat.JSON_SCHEMA:
            content: JsonObject = {"name": schema_name, "strict": strict, "schema": schema}
            response_format = {"type": "json_schema", "json_schema": content}
        payload: JsonObject = {
            "model": connection.model,
            "messages": messages(used),
            "temperature": connection.temperature,
            "max_tokens": connection.max_reply_tokens,
            "seed": None if connection.seed is None else connection.seed + repeat,
            "response_format": response_format,
        }
        try:
            body, call = client.post(
                "chat/completions",
                connection.with_request_options(payload),
                connection.max_response_tokens(),
                images,
            )
        except LlmCallError as error:
            if error.refused in _REFUSALS and _FILTERED in str(error):
                raise NoAnswerError(str(error)) from None
            unsupported = error.refused in _REFUSALS and _FORMAT.search(str(error))
            if not (unsupported and connection.offered_formats.refuse(used)):
                raise _with_request_hint(error, connection) from None
        else:
            return ChatResponse(body, call, used)


def _with_request_hint(error: LlmCallError, connection: ChatConnection) -> LlmCallError:
    """Return the error of an endpoint that rejects a parameter with the option that changes it."""
    text = str(error)
    if error.refused not in _REFUSALS or not _UNSUPPORTED.search(text):
        return error
    for name, value in _WITHOUT.items():
        if name not in connection.request and re.search(rf"\b{name}\b", text):
            shown = value.format(limit=connection.max_reply_tokens)
            return LlmCallError(f"{text}; set request: {shown} for this model", error.refused)
    return error


def response_text(body: JsonObject) -> str:
    """Return the content of a response, which must contain one complete message.

    Raise NoAnswerError if the model answered without one.
    """
    choices = body.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise UnusableResponseError("the response must contain exactly one choice")
    finish_reason = choices[0].get("finish_reason")
    if isinstance(finish_reason, dict | list) or finish_reason not in _COMPLETE:
        text = str(finish_reason)
        if text == _FILTERED:
            raise NoAnswerError("the content filter of the endpoint blocked the response")
        if text == "length":
            raise UnusableResponseError("the response was truncated at the token limit")
        raise UnusableResponseError(f"unexpected finish reason {text[:40]!r}")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise UnusableResponseError("the choice does not contain a message")
    if message.get("refusal"):
        raise NoAnswerError("the model refused to respond")
    content = message.get("content")
    if not isinstance(content, str) or is_blank(content):
        raise NoAnswerError("the message content is empty or not a string")
    return content


def parse_grades(
    text: str,
    nonce: str,
    ids: Sequence[str],
    *,
    reasons: bool,
    choices: Mapping[str, float] | None = None,
) -> dict[str, Grade]:
    """Parse a JSON object that must contain the grades of exactly these ids.

    >>> text = '{"nonce": "n", "marks": [{"id": "a", "score": 1}]}'
    >>> parse_grades(text, "n", ["a"], reasons=False)
    {'a': Grade(score=1.0, reason='', choice='')}

    One `<think>` block before the object, and one code fence around it, are removed.
    """
    text = _THINKING.sub("", text, count=1) if _THINKING.match(text) else text
    fenced = _FENCE.match(text)
    try:
        value = parse_object(text if fenced is None else fenced[1])
    except NotAnObjectError as error:
        raise UnusableResponseError(f"the response is not a JSON object: {error}") from None
    if value.get("nonce") != nonce:
        raise UnusableResponseError("the response does not contain the nonce of this call")
    if set(value) != {"nonce", "marks"} or not isinstance(value["marks"], list):
        raise UnusableResponseError("the response does not have the requested structure")
    keys = {"id", "choice" if choices else "score", *(["reason"] if reasons else [])}
    grades: dict[str, Grade] = {}
    for entry in value["marks"]:
        if not isinstance(entry, dict) or set(entry) != keys:
            raise UnusableResponseError("an entry of marks does not have the requested structure")
        name, score, reason = entry["id"], entry.get("score"), entry.get("reason", "")
        choice = entry.get("choice", "")
        if choices:
            score = choices.get(choice) if isinstance(choice, str) else None
            if score is None:
                raise UnusableResponseError("a choice is not one of the given choices")
        if not isinstance(name, str) or not isinstance(reason, str):
            raise UnusableResponseError("an entry of marks does not have the requested structure")
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise UnusableResponseError("a score is not a number")
        if not 0 <= score <= 1:  # NaN neither
            raise UnusableResponseError("a score is not between 0 and 1")
        if name in grades or name not in ids:
            raise UnusableResponseError("the response contains a duplicate or unknown id")
        grades[name] = Grade(float(score), reason[:_MAX_REASON], str(choice))
    if len(grades) != len(ids):
        raise UnusableResponseError(f"expected {plural(len(ids), 'grade')}, got {len(grades)}")
    return grades
