"""What a judge answers: one strict JSON object, or an error; nothing is guessed or clamped."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Final, NoReturn

from fieldmark.model.json import JsonObject, JsonValue, Kind, kind_of
from fieldmark.values.strict_json import StrictJsonError, Violation, parse_strict

__all__ = ["BadReply", "Reply", "read_reply"]

_MAX_DEPTH: Final = 200
_MAX_DIGITS: Final = 1_000
_QUOTED: Final = 200
_BLANKS: Final = " \t\r\n"


class BadReply(Exception):
    """Output that is not a reply; says why, and how it begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A score in [0, 1] and what a judge says about it."""

    score: float
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    reasoning: str = ""
    details: JsonObject = field(default_factory=dict)


def read_reply(raw: bytes, case_id: str | None = None) -> Reply:
    """The reply that some bytes are; keys that are not known are ignored.

    With a `case_id`, a reply that names its case has to name this one.

    >>> read_reply(b'{"score": 0.5, "hits": ["total"], "mood": "fair"}').hits
    ('total',)
    """
    try:
        return _reply(_parsed(raw), case_id)
    except BadReply as error:
        raise BadReply(f"{error}{_beginning(raw)}") from None


def _reply(said: JsonValue, case_id: str | None) -> Reply:
    if not isinstance(said, dict):
        raise BadReply(f"the reply must be an object, not {_kind(said)}")
    if case_id is not None and said.get("case_id", case_id) != case_id:
        raise BadReply(f"the reply is for another case than {case_id!r}")
    return Reply(
        score=_score(said),
        hits=_texts(said, "hits"),
        misses=_texts(said, "misses"),
        reasoning=_reasoning(said),
        details=_details(said),
    )


def _score(said: JsonObject) -> float:
    if "score" not in said:
        raise BadReply("the reply has no score")
    score = said["score"]
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise BadReply(f"score must be a number, not {_kind(score)}")
    if not 0 <= score <= 1:
        raise BadReply("score must lie between 0 and 1")
    return float(score) + 0.0  # so that -0.0 is 0.0


def _texts(said: JsonObject, key: str) -> tuple[str, ...]:
    texts = said.get(key, [])
    if not isinstance(texts, list):
        raise BadReply(f"{key} must be a list of texts, not {_kind(texts)}")
    for text in texts:
        if not isinstance(text, str):
            raise BadReply(f"{key} must hold texts, not {_kind(text)}")
    return tuple(text for text in texts if isinstance(text, str))


def _reasoning(said: JsonObject) -> str:
    reasoning = said.get("reasoning", "")
    if not isinstance(reasoning, str):
        raise BadReply(f"reasoning must be text, not {_kind(reasoning)}")
    return reasoning


def _details(said: JsonObject) -> JsonObject:
    details = said.get("details", {})
    if not isinstance(details, dict):
        raise BadReply(f"details must be an object, not {_kind(details)}")
    return details


def _kind(value: JsonValue) -> str:
    kind = kind_of(value)
    if kind is Kind.NULL:
        return "null"
    return f"{'an' if kind[0] in 'ao' else 'a'} {kind}"


def _parsed(raw: bytes) -> JsonValue:
    if not raw.strip():
        raise BadReply("there is no reply on standard output")
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise BadReply(f"byte {error.start + 1} of the reply is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise BadReply("the reply begins with a byte order mark")
    try:
        return parse_strict(text, max_depth=_MAX_DEPTH, max_digits=_MAX_DIGITS, report=_refuse)
    except StrictJsonError:
        _refuse(Violation.DEPTH, "")
    except json.JSONDecodeError as error:
        raise BadReply(_explained(error, text)) from None


def _refuse(violation: Violation, detail: str) -> NoReturn:
    raise BadReply(_VIOLATIONS[violation].format(detail[:20]))


_VIOLATIONS: Final = {
    Violation.DEPTH: f"the reply is nested deeper than {_MAX_DEPTH} levels",
    Violation.DUPLICATE_KEY: "the reply has a key twice in one object",
    Violation.INTEGER_LENGTH: f"the reply holds an integer of more than {_MAX_DIGITS:,} digits",
    Violation.NON_FINITE: "the reply holds {}, which is not a finite number",
}


def _explained(error: json.JSONDecodeError, text: str) -> str:
    if error.msg == "Extra data":
        return "the reply must be one JSON object and nothing after it"
    if error.pos >= len(text.rstrip(_BLANKS)):
        return "the reply ends too early"
    return f"the reply is not JSON: {error.msg[:1].lower()}{error.msg[1:]}"


def _beginning(raw: bytes) -> str:
    text = raw[: 4 * _QUOTED].decode("utf-8", "replace").strip(_BLANKS)
    if not text:
        return ""
    dots = "…" if len(text) > _QUOTED else ""
    return f"; it begins: {text[:_QUOTED]}{dots}"
