"""The JSON protocol of code judges: the request for a case, and the response with a score.

A response is parsed strictly: anything but one valid JSON object is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Final, NamedTuple

from fieldmark.evaluators.base import Score
from fieldmark.model.case import Case, CaseContext, Verdict
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Kind, Missing, kind_of
from fieldmark.values.json_text import StrictJsonError, Violation, name_non_finite, parse_strict

_MAX_DEPTH: Final = 200
_MAX_DIGITS: Final = 1_000
_MAX_QUOTED: Final = 200
_WHITESPACE: Final = " \t\r\n"
_CRITERIA: Final = ("criteria", "expected_outcome")
_PART_TYPES: Final = ("text", "file", "image")
"""The types of the parts of a message, in versions of AgentV."""
_CHECK_LISTS: Final = ("assertions", "checks")
"""The keys of a response with its checks, in versions of AgentV."""


def judge_request(case: Case, config: Mapping[str, JsonValue]) -> JsonObject:
    """Return the request for a case.

    A missing document is null, and an empty string as text. The keys from `answer` on are the
    names that versions of AgentV use for parts of the same case, with the types that the schemas
    of its SDKs require.

    >>> judge_request(Case("a", {"total": 1}, {"total": 2}), {"max_gap": 3})["candidate_answer"]
    '{"total": 2}'
    """
    context = case.context or CaseContext()
    is_missing = case.candidate is MISSING and context.text is None
    answer = _as_text(case.candidate) if context.text is None else context.text
    reference = _as_text(case.expected)
    metadata = context.metadata or {}
    criteria = next((metadata[key] for key in _CRITERIA if isinstance(metadata.get(key), str)), "")
    messages = _messages(context.input)
    texts: list[JsonObject] = [
        {"role": message["role"], "content": _content_text(message.get("content", ""))}
        for message in messages
    ]
    questions = (str(text["content"]) for text in texts if text["role"] == "user")
    return {
        "candidate_answer": answer,
        "reference_answer": reference,
        "expected": case.expected,
        "candidate": None if case.candidate is MISSING else case.candidate,
        "question": "\n".join(filter(None, questions)),
        "case_id": case.id,
        "input": [*texts],
        "metadata": metadata,
        "config": dict(config),
        "answer": answer,
        "output": [] if is_missing else [_assistant(answer)],
        "expected_output": [] if case.expected is None else [_assistant(reference)],
        "expected_messages": [] if case.expected is None else [_assistant(case.expected)],
        "input_messages": [*messages],
        "input_files": _file_names(metadata.get("input_files"), messages),
        "guideline_files": _file_names(metadata.get("guideline_files")),
        "criteria": criteria,
        "expected_outcome": criteria,
    }


def _assistant(content: JsonValue) -> JsonObject:
    return {"role": "assistant", "content": content}


def encode_request(request: JsonObject) -> bytes:
    r"""Return a request as one line of strict ASCII JSON; NaN and infinities become strings.

    >>> encode_request({"candidate": float("nan"), "question": "Größe?"})
    b'{"candidate": "NaN", "question": "Gr\\u00f6\\u00dfe?"}'
    """
    return _dump(request).encode("ascii")


def _dump(value: JsonValue) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(name_non_finite(value), allow_nan=False)


def _as_text(value: JsonValue | Missing) -> str:
    if isinstance(value, str):
        return value
    return "" if value is MISSING else _dump(value)


def _messages(case_input: JsonValue | Missing) -> list[JsonObject]:
    """Return an input as messages; anything but a list of messages is the content of one.

    The content of a message is text, an object or a list of objects.
    """
    if case_input is MISSING:
        return []
    if isinstance(case_input, list) and case_input:
        messages = [message for message in case_input if isinstance(message, dict)]
        if sum(isinstance(message.get("role"), str) for message in messages) == len(case_input):
            return messages
    structured = isinstance(case_input, dict) or _objects(case_input)
    return [{"role": "user", "content": case_input if structured else _as_text(case_input)}]


def _objects(value: JsonValue) -> list[JsonObject]:
    """Return a list of objects, or an empty list for anything else."""
    items = value if isinstance(value, list) else []
    objects = [item for item in items if isinstance(item, dict)]
    return objects if len(objects) == len(items) else []


def _content_text(content: JsonValue) -> str:
    """Return the content of a message as text: the text of its parts, or JSON."""
    text = parts_text(content)
    return _as_text(content) if text is None else text


def parts_text(content: JsonValue) -> str | None:
    """Return the text of the parts of a message, or `None` if its content is not a list of parts.

    >>> parts_text([{"type": "text", "text": "Read."}]), parts_text([{"total": 1}])
    ('Read.', None)
    """
    parts = _objects(content)
    if not parts or not all(part.get("type") in _PART_TYPES for part in parts):
        return None
    texts = (part.get("text", part.get("value")) for part in parts if part["type"] == "text")
    return "\n".join(text for text in texts if isinstance(text, str))


def _file_names(names: JsonValue, messages: Sequence[JsonObject] = ()) -> list[JsonValue]:
    """Return the distinct names of a list, and of the files in messages."""
    parts = [part for message in messages for part in _objects(message.get("content"))]
    files = [part.get("path", part.get("value")) for part in parts if part.get("type") == "file"]
    listed = names if isinstance(names, list) else []
    return list(dict.fromkeys(name for name in (*files, *listed) if isinstance(name, str)))


class InvalidResponseError(Exception):
    """The output of a judge is not a valid response."""


def parse_response(raw: bytes, pass_threshold: float, case_id: str | None = None) -> Score:
    """Parse a response; unknown keys are ignored.

    With `case_id`, a response that contains a case id must contain this one.

    >>> parse_response(b'{"score": 0.5, "hits": ["total"], "model": "m"}', 0.5).hits
    ('total',)
    """
    try:
        return _read_object(_parse(raw), pass_threshold, case_id)
    except InvalidResponseError as error:
        text = raw[: 4 * _MAX_QUOTED].decode("utf-8", "replace").strip(_WHITESPACE)
        dots = "…" if len(text) > _MAX_QUOTED else ""
        quoted = f"; response starts with: {text[:_MAX_QUOTED]}{dots}" if text else ""
        raise InvalidResponseError(f"{error}{quoted}") from None


def _read_object(response: JsonValue, pass_threshold: float, case_id: str | None) -> Score:
    if not isinstance(response, dict):
        raise InvalidResponseError(f"the response must be an object, got {_type_name(response)}")
    if case_id is not None and response.get("case_id", case_id) != case_id:
        raise InvalidResponseError(f"the response is for another case, expected {case_id!r}")
    checks = _read_checks(response)
    score = response.get("score", checks.score)
    if score is None and "score" not in response:
        raise InvalidResponseError("the response has no score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise InvalidResponseError(f"score must be a number, got {_type_name(score)}")
    if not 0 <= score <= 1:
        raise InvalidResponseError("score must be between 0 and 1")
    passes = _read_flag(response, "pass", default=score >= pass_threshold)
    details = response.get("details", {})
    if not isinstance(details, dict):
        raise InvalidResponseError(f"details must be an object, got {_type_name(details)}")
    return Score(
        score=float(score) + 0.0,  # turns -0.0 into 0.0
        verdict=Verdict.PASS if passes else Verdict.FAIL,
        hits=_read_strings(response, "hits") if "hits" in response else checks.hits,
        misses=_read_strings(response, "misses") if "misses" in response else checks.misses,
        reasoning=_read_text(response, "reasoning") or _read_text(response, "reason"),
        details=details,
        vacuous=_read_flag(response, "vacuous", default=False),
    )


class _Checks(NamedTuple):
    """The checks of a response as hits, misses and their mean score; `None` without checks."""

    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    score: float | None = None


def _read_checks(response: JsonObject) -> _Checks:
    """Read the checks of a response: objects with `text` and either `passed` or `pass`.

    A check with a `score` of its own counts with it instead of 0 or 1.
    """
    keys = [key for key in _CHECK_LISTS if key in response]
    if len(keys) > 1:
        raise InvalidResponseError(f"{' and '.join(keys)} cannot be combined")
    if not keys:
        passes = _read_flag(response, "pass", default=False)
        return _Checks(score=float(passes) if "pass" in response else None)
    key = keys[0]
    checks = response[key]
    if not isinstance(checks, list):
        raise InvalidResponseError(f"{key} must be a list of objects, got {_type_name(checks)}")
    hits: list[str] = []
    misses: list[str] = []
    scores: list[float] = []
    for check in checks:
        if not isinstance(check, dict):
            raise InvalidResponseError(f"{key} must contain only objects, got {_type_name(check)}")
        flag = "pass" if "pass" in check and "passed" not in check else "passed"
        if "text" not in check or flag not in check:
            raise InvalidResponseError(f"{key} must contain objects with text and passed")
        text, passes = _read_text(check, "text"), _read_flag(check, flag, default=False)
        score = check.get("score", int(passes))
        if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1:
            raise InvalidResponseError(f"score in {key} must be a number from 0 to 1")
        reason = _read_text(check, "reason") or _read_text(check, "evidence")
        (hits if passes else misses).append(f"{text} ({reason})" if reason and not passes else text)
        scores.append(score)
    return _Checks(tuple(hits), tuple(misses), fsum(scores) / len(scores) if scores else None)


def _read_flag(response: JsonObject, key: str, *, default: bool) -> bool:
    flag = response.get(key, default)
    if not isinstance(flag, bool):
        raise InvalidResponseError(f"{key} must be true or false, got {_type_name(flag)}")
    return flag


def _read_text(response: JsonObject, key: str) -> str:
    text = response.get(key, "")
    if not isinstance(text, str):
        raise InvalidResponseError(f"{key} must be a string, got {_type_name(text)}")
    return text


def _read_strings(response: JsonObject, key: str) -> tuple[str, ...]:
    values = response.get(key, [])
    if not isinstance(values, list):
        raise InvalidResponseError(f"{key} must be a list of strings, got {_type_name(values)}")
    for value in values:
        if not isinstance(value, str):
            raise InvalidResponseError(f"{key} must contain only strings, got {_type_name(value)}")
    return tuple(value for value in values if isinstance(value, str))


def _type_name(value: JsonValue) -> str:
    kind = kind_of(value)
    if kind is Kind.NULL:
        return "null"
    return f"{'an' if kind[0] in 'ao' else 'a'} {kind}"


def _parse(raw: bytes) -> JsonValue:
    if not raw.strip():
        raise InvalidResponseError("no response on standard output")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidResponseError(f"the response is not UTF-8 (byte {error.start + 1})") from None
    if text.startswith("\ufeff"):
        raise InvalidResponseError("the response starts with a byte order mark")
    try:
        return parse_strict(text, max_depth=_MAX_DEPTH, max_digits=_MAX_DIGITS)
    except StrictJsonError as error:
        message = _VIOLATIONS[error.violation].format(error.detail[:20])
        raise InvalidResponseError(message) from None
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            message = "the response must be a single JSON object without other text"
        elif error.pos >= len(text.rstrip(_WHITESPACE)):
            message = "the response is incomplete JSON"
        else:
            message = f"the response is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise InvalidResponseError(message) from None


_VIOLATIONS: Final = {
    Violation.DEPTH: f"the nesting of the response exceeds the limit of {_MAX_DEPTH} levels",
    Violation.DUPLICATE_KEY: "the response contains a duplicate key",
    Violation.INTEGER_LENGTH: (
        f"the response contains an integer with more than {_MAX_DIGITS:,} digits"
    ),
    Violation.NON_FINITE: "the response contains {}, which is not a finite number",
}
