"""What a judge is asked: one case as one JSON object."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from fieldmark.model.case import Case, CaseContext
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Missing

__all__ = ["request_of", "written"]

_NO_CONTEXT = CaseContext()


def request_of(case: Case, config: Mapping[str, JsonValue]) -> JsonObject:
    """The request for a case; documents and configuration keep every key as it was written.

    A side that is not there is null, and its text is empty. The last two keys are how newer
    versions of AgentV call the candidate's text and the truth.

    >>> request_of(Case("a", {"total": 1}, {"total": 2}), {"max_gap": 3})["candidate_answer"]
    '{"total": 2}'
    """
    context = case.context or _NO_CONTEXT
    candidate = _value(case.candidate)
    answer = _text(case.candidate) if context.text is None else context.text
    return {
        "candidate_answer": answer,
        "reference_answer": _text(case.expected),
        "expected": case.expected,
        "candidate": candidate,
        "question": _question(context.input),
        "case_id": case.id,
        "input": _value(context.input),
        "metadata": context.metadata or {},
        "config": dict(config),
        "output": answer,
        "expected_output": [{"role": "assistant", "content": case.expected}],
    }


def written(request: JsonObject) -> bytes:
    r"""A request as strict JSON on one line, in ASCII: no judge has to guess an encoding.

    A number that JSON does not have, which a candidate may hold, is written as its name.

    >>> written({"candidate": float("nan"), "question": "Größe?"})
    b'{"candidate": "NaN", "question": "Gr\\u00f6\\u00dfe?"}'
    """
    return _dumped(request).encode("ascii")


def _dumped(value: JsonValue) -> str:
    try:
        return json.dumps(value, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False)


def _value(value: JsonValue | Missing) -> JsonValue:
    return None if value is MISSING else value


def _text(value: JsonValue | Missing) -> str:
    if isinstance(value, str):
        return value
    return "" if value is MISSING else _dumped(value)


def _question(asked: JsonValue | Missing) -> str:
    """The text of an input: itself, what a user says in it, or else its JSON."""
    if isinstance(asked, list):
        said = [_said(message) for message in asked]
        if said and None not in said:
            return "\n".join(text for text in said if text)
    return _text(asked)


def _said(message: JsonValue) -> str | None:
    """What a message of a user says; nothing for others, and no answer if it is no message."""
    if not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return None
    if message["role"] != "user":
        return ""
    return _text(message.get("content", ""))


def _finite(value: JsonValue) -> JsonValue:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, list):
        return [_finite(item) for item in value]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return value
