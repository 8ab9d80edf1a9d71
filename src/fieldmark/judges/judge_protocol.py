"""The JSON protocol of code judges: the request for a case, and the reply with a score.

A reply is parsed strictly: anything but one valid JSON object is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NoReturn

from fieldmark.model.case import Case, CaseContext
from fieldmark.model.json import MISSING, JsonObject, JsonValue, Kind, Missing, kind_of
from fieldmark.values.json_text import name_non_finite
from fieldmark.values.strict_json import StrictJsonError, Violation, parse_strict

__all__ = ["InvalidReplyError", "JudgeReply", "encode_request", "judge_request", "read_reply"]

_MAX_DEPTH: Final = 200
_MAX_DIGITS: Final = 1_000
_MAX_QUOTED: Final = 200
_WHITESPACE: Final = " \t\r\n"


def judge_request(case: Case, config: Mapping[str, JsonValue]) -> JsonObject:
    """Return the request for a case.

    A missing side is null, and its text is empty. The last two keys are the names that newer
    versions of AgentV use for the candidate's text and the ground truth.

    >>> judge_request(Case("a", {"total": 1}, {"total": 2}), {"max_gap": 3})["candidate_answer"]
    '{"total": 2}'
    """
    context = case.context or CaseContext()
    answer = _as_text(case.candidate) if context.text is None else context.text
    return {
        "candidate_answer": answer,
        "reference_answer": _as_text(case.expected),
        "expected": case.expected,
        "candidate": None if case.candidate is MISSING else case.candidate,
        "question": _question(context.input),
        "case_id": case.id,
        "input": None if context.input is MISSING else context.input,
        "metadata": context.metadata or {},
        "config": dict(config),
        "output": answer,
        "expected_output": [{"role": "assistant", "content": case.expected}],
    }


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


def _question(case_input: JsonValue | Missing) -> str:
    """Return the text of an input: the user's messages of a conversation, or its JSON."""
    if isinstance(case_input, list) and case_input:
        messages = [
            message
            for message in case_input
            if isinstance(message, dict) and isinstance(message.get("role"), str)
        ]
        if len(messages) == len(case_input):
            texts = (
                _as_text(each.get("content", "")) for each in messages if each["role"] == "user"
            )
            return "\n".join(filter(None, texts))
    return _as_text(case_input)


class InvalidReplyError(Exception):
    """The output of a judge is not a valid reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReply:
    """The score of a judge in [0, 1], with its explanation."""

    score: float
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    reasoning: str = ""
    details: JsonObject = field(default_factory=dict)


def read_reply(raw: bytes, case_id: str | None = None) -> JudgeReply:
    """Parse a reply; unknown keys are ignored.

    With `case_id`, a reply that names a case has to name this one.

    >>> read_reply(b'{"score": 0.5, "hits": ["total"], "mood": "fair"}').hits
    ('total',)
    """
    try:
        return _read_object(_parse(raw), case_id)
    except InvalidReplyError as error:
        text = raw[: 4 * _MAX_QUOTED].decode("utf-8", "replace").strip(_WHITESPACE)
        dots = "…" if len(text) > _MAX_QUOTED else ""
        quoted = f"; it begins: {text[:_MAX_QUOTED]}{dots}" if text else ""
        raise InvalidReplyError(f"{error}{quoted}") from None


def _read_object(reply: JsonValue, case_id: str | None) -> JudgeReply:
    if not isinstance(reply, dict):
        raise InvalidReplyError(f"the reply must be an object, not {_type_name(reply)}")
    if case_id is not None and reply.get("case_id", case_id) != case_id:
        raise InvalidReplyError(f"the reply is for another case than {case_id!r}")
    if "score" not in reply:
        raise InvalidReplyError("the reply has no score")
    score = reply["score"]
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise InvalidReplyError(f"score must be a number, not {_type_name(score)}")
    if not 0 <= score <= 1:
        raise InvalidReplyError("score must lie between 0 and 1")
    hits, misses = _read_texts(reply, "hits"), _read_texts(reply, "misses")
    reasoning = reply.get("reasoning", "")
    if not isinstance(reasoning, str):
        raise InvalidReplyError(f"reasoning must be text, not {_type_name(reasoning)}")
    details = reply.get("details", {})
    if not isinstance(details, dict):
        raise InvalidReplyError(f"details must be an object, not {_type_name(details)}")
    return JudgeReply(
        score=float(score) + 0.0,  # turns -0.0 into 0.0
        hits=hits,
        misses=misses,
        reasoning=reasoning,
        details=details,
    )


def _read_texts(reply: JsonObject, key: str) -> tuple[str, ...]:
    texts = reply.get(key, [])
    if not isinstance(texts, list):
        raise InvalidReplyError(f"{key} must be a list of texts, not {_type_name(texts)}")
    for text in texts:
        if not isinstance(text, str):
            raise InvalidReplyError(f"{key} must hold texts, not {_type_name(text)}")
    return tuple(text for text in texts if isinstance(text, str))


def _type_name(value: JsonValue) -> str:
    kind = kind_of(value)
    if kind is Kind.NULL:
        return "null"
    return f"{'an' if kind[0] in 'ao' else 'a'} {kind}"


def _parse(raw: bytes) -> JsonValue:
    if not raw.strip():
        raise InvalidReplyError("there is no reply on standard output")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise InvalidReplyError(f"byte {error.start + 1} of the reply is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise InvalidReplyError("the reply begins with a byte order mark")
    try:
        return parse_strict(text, max_depth=_MAX_DEPTH, max_digits=_MAX_DIGITS, report=_refuse)
    except StrictJsonError:
        _refuse(Violation.DEPTH, "")
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            message = "the reply must be one JSON object and nothing after it"
        elif error.pos >= len(text.rstrip(_WHITESPACE)):
            message = "the reply ends too early"
        else:
            message = f"the reply is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise InvalidReplyError(message) from None


_VIOLATIONS: Final = {
    Violation.DEPTH: f"the reply is nested deeper than {_MAX_DEPTH} levels",
    Violation.DUPLICATE_KEY: "the reply has a key twice in one object",
    Violation.INTEGER_LENGTH: f"the reply holds an integer of more than {_MAX_DIGITS:,} digits",
    Violation.NON_FINITE: "the reply holds {}, which is not a finite number",
}


def _refuse(violation: Violation, detail: str) -> NoReturn:
    raise InvalidReplyError(_VIOLATIONS[violation].format(detail[:20]))
